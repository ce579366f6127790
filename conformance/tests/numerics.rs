//! Devices of fast numerics: near enough to the reference, and the same bits from run to run.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use dml::core::operators::{ActivationReluDesc, ConvolutionDesc, GemmDesc};
use dml::core::plan::Plan;
use dml::core::{Error, Validated, validate};
use dml::{
    AbstractOperator, DataType, Device, FeatureLevel, MatrixTransform, Numerics, TensorDesc,
};
use dml_conformance::agreement::compare;
use dml_conformance::cases::{Case, Expectation, listing};
use dml_conformance::execute::{Details, DeviceMemory, memory};
use dml_conformance::results::{Agreement, ResultCode};
use dml_conformance::runner::run_in_process;
use dml_conformance::target::{Devices, Opening, Profiles, Survey, Target};
use dml_ops::Target as LoweringTarget;
use dml_reference::{Case as CornerCase, Random, descriptors};

fn fast_targets() -> Vec<Target> {
    let validation = std::env::var("DML_TEST_VALIDATION").as_deref() == Ok("required");
    let opening = Opening { validation, ..Opening::default() };
    let (devices, profiles) = (Devices::All, Profiles::from_environment());
    let targets = Survey { devices, profiles, opening }.targets();
    let targets = targets.expect("a Vulkan device; run `cargo xtask test`").into_iter();
    targets.map(|target| target.with_numerics(Numerics::Fast)).collect()
}

fn tensor(sizes: &[u32]) -> TensorDesc {
    TensorDesc::packed(DataType::Float32, sizes)
}

/// Matrices of 40 rows and 24 columns: tiles of every kind have some.
fn gemm() -> AbstractOperator {
    GemmDesc {
        alpha: -1.25,
        ..descriptors::gemm(
            [tensor(&[1, 2, 40, 200]), tensor(&[1, 2, 200, 24]), tensor(&[1, 2, 40, 24])],
            MatrixTransform::None,
        )
    }
    .into()
}

fn convolution() -> AbstractOperator {
    ConvolutionDesc {
        start_padding: vec![1; 2],
        end_padding: vec![1; 2],
        ..descriptors::convolution([
            tensor(&[1, 16, 5, 7]),
            tensor(&[20, 16, 3, 3]),
            tensor(&[1, 20, 5, 7]),
        ])
    }
    .into()
}

/// An operator whose results fast numerics do not change.
fn relu() -> AbstractOperator {
    let (input_tensor, output_tensor) = (tensor(&[1, 1, 40, 24]), tensor(&[1, 1, 40, 24]));
    ActivationReluDesc { input_tensor, output_tensor }.into()
}

/// The operator with two inputs of all digits and both signs, whose products cancel.
fn case(name: &str, operator: AbstractOperator) -> Case {
    let mut random = Random::new(name);
    let validated = validate(&operator, FeatureLevel::HIGHEST).unwrap();
    let inputs = validated.tensors(dml::core::schema::FieldKind::Input);
    let elements = inputs.filter_map(|(_, layout)| layout).map(|layout| {
        let mut element = || (random.word() as f32 / 2_147_483_648.0 - 1.0).to_bits().into();
        (0..layout.element_count()).map(|_| element()).collect()
    });
    let corner = CornerCase::new(name.to_owned(), operator.clone()).with_inputs(elements.collect());
    Case {
        id: format!("6_4/{name}/float32/rank4/value_of_both_signs").parse().unwrap(),
        level: FeatureLevel::HIGHEST,
        operator,
        expectation: Expectation::Outputs(Box::new(corner)),
    }
}

fn cases() -> [Case; 3] {
    [case("gemm", gemm()), case("convolution", convolution()), case("activation_relu", relu())]
}

/// Leaves out the last step.
fn last_step_missing(operator: &Validated, target: &LoweringTarget<'_>) -> Result<Plan, Error> {
    let mut plan = dml_ops::lower(operator, target)?;
    plan.exec.pop();
    Ok(plan)
}

#[test]
fn sums_that_cancel_are_near_enough_and_devices_are_compared_by_others_alone() {
    let cases = cases();
    let mut runs = vec![];
    for target in fast_targets() {
        let run = |lowering| {
            run_in_process(&target, &listing(&cases), lowering, Details::Failures, |_| ()).unwrap()
        };
        let title = target.title();
        assert!(title.ends_with(" with fast numerics"), "{title}");
        let (right, wrong) = (run(None), run(Some(&last_step_missing)));
        for (index, Case { id, .. }) in cases.iter().enumerate() {
            let problem = right.problem(index).map(|it| it.detail.clone());
            assert_eq!(problem, None, "{title}: {id}");
            assert_eq!(wrong.result(index).result, ResultCode::Fail, "{title}: {id}");
        }
        runs.push(right);
    }
    let is_alone = runs.len() < 2;
    let expected = Agreement { compared: 1, agreed: 1 };
    assert_eq!(compare(&mut runs), (!is_alone).then_some(expected));
}

/// The bytes of the output after an execution on new buffers.
fn output(device: &Device, case: &Case) -> Vec<u8> {
    let Expectation::Outputs(corner) = &case.expectation else { panic!("it has outputs") };
    let compiled = device.compile(case.operator.clone()).unwrap();
    let memory = memory(compiled.operator().unwrap(), corner, device.numerics()).unwrap();
    let buffers = DeviceMemory::new(device, corner, &memory).unwrap();
    let (inputs, outputs) = (buffers.inputs(&memory, false), buffers.outputs(&memory));
    device.execute(&compiled, &inputs, &outputs).unwrap();
    let after = buffers.read_back(device, &memory).unwrap();
    memory.check(&after).unwrap();
    after.outputs.into_iter().next().flatten().unwrap()
}

#[test]
fn a_device_gives_the_same_bits_twice_and_kernels_say_that_they_are_fused() {
    for target in fast_targets() {
        for case in cases() {
            let run = || {
                let (_instance, device) = target.device().unwrap().expect("a device");
                assert_eq!(device.numerics(), Numerics::Fast);
                let plan =
                    device.compile(case.operator.clone()).unwrap().vulkan().plan().describe();
                let is_of_products = !case.id.operator.contains("relu");
                assert_eq!(plan.contains("_f32 fused"), is_of_products, "{plan}");
                output(&device, &case)
            };
            assert_eq!(run(), run(), "{}: {}", target.title(), case.id);
        }
    }
}
