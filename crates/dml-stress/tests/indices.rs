//! Every operator with indices, of indices that are anything: on the host interpreter, which refuses every
//! access beyond a window, and on every device. Both must give the reference's bytes and keep those around.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]

mod common;

use common::each_device;
use dml::core::operators as op;
use dml::core::schema::{FieldKind, OperatorSchema};
use dml::core::{Capabilities, Tuning, validate};
use dml::{AbstractOperator, Device, DeviceOptions, FeatureLevel};
use dml_conformance::execute::DeviceMemory;
use dml_ops::reference::{Case, Memory, Random, Signature, run_on_host};
use dml_ops::{Target, TransferUse};

/// Cases of each operator.
const CASES: usize = 60;

static OPERATORS: [&OperatorSchema; 9] = [
    &op::GATHER,
    &op::GATHER_ELEMENTS,
    &op::GATHER_ND,
    &op::GATHER_ND1,
    &op::SCATTER_ELEMENTS,
    &op::SCATTER_ND,
    &op::ONE_HOT,
    &op::MAX_UNPOOLING,
    &op::REVERSE_SUBSEQUENCES,
];

/// What is written where two indices may be equal: then it is the same, whichever comes last.
fn is_written_anywhere(operator: &AbstractOperator, field: &str) -> bool {
    field == "UpdatesTensor" || operator.schema().name == "MAX_UNPOOLING" && field == "InputTensor"
}

/// A random case whose elements are any bits.
fn case(schema: &'static OperatorSchema, random: &mut Random, signatures: &[Signature]) -> Case {
    let reference = dml_ops::find(schema.operator_type).unwrap().reference();
    let signature = random.pick(signatures);
    let mut case = reference.random(random, &signature);
    let validated = validate(&case.operator, FeatureLevel::HIGHEST).unwrap();
    for (path, layout) in validated.present_tensors(FieldKind::Input) {
        let (count, data_type) = (layout.element_count(), layout.data_type());
        let mask = u64::MAX >> (64 - data_type.bits());
        let once = random.bits() & mask;
        let any = |random: &mut Random| match random.below(3) {
            // Near a small dimension's ends, counted from either one, and next to 2^32.
            0 => u64::from(random.below(40)).wrapping_sub(20) & mask,
            1 => (1 << 32 | u64::from(random.below(3))) & mask,
            _ => random.element(data_type) & mask,
        };
        let is_once = is_written_anywhere(&case.operator, path.field.name);
        case.inputs.push((0..count).map(|_| if is_once { once } else { any(random) }).collect());
    }
    case
}

/// Checks a case on the host, and what it gives on a device.
fn check(case: &Case, device: &Device) {
    let operator = validate(&case.operator, FeatureLevel::HIGHEST).unwrap();
    let implementation = dml_ops::find(operator.schema().operator_type).unwrap();
    let memory = Memory::new(implementation.reference(), &operator, case).unwrap();
    let name = format!("{:?}", case.operator);
    let capabilities = &Capabilities::vulkan_minimum();
    let target = Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::Allowed };
    let plan = implementation.lower(&operator, &target).unwrap();
    let host = run_on_host(&plan, &case.aliases(), &memory, capabilities).expect(&name);
    memory.check(&host).unwrap_or_else(|it| panic!("on the host: {name}: {it}"));
    let compiled = device.compile(case.operator.clone()).unwrap();
    let on_device = DeviceMemory::new(device, case, &memory).unwrap();
    let (inputs, outputs) = (on_device.inputs(&memory, false), on_device.outputs(&memory));
    device.execute(&compiled, &inputs, &outputs).unwrap();
    let found = on_device.read_back(device, &memory).unwrap();
    memory.check(&found).unwrap_or_else(|it| panic!("on a device: {name}: {it}"));
}

#[test]
fn indices_that_are_anything_touch_nothing_else() {
    each_device(|device| {
        let device = Device::from_vulkan(device.clone(), &DeviceOptions::default()).unwrap();
        for schema in OPERATORS {
            let reference = dml_ops::find(schema.operator_type).unwrap().reference();
            let accepted =
                |it: &Signature| validate(&reference.minimal(it), FeatureLevel::HIGHEST).is_ok();
            let signatures: Vec<Signature> = Signature::all(schema).filter(accepted).collect();
            let mut random = Random::new(schema.name);
            for _ in 0..CASES {
                random.bits();
                check(&case(schema, &mut random, &signatures), &device);
            }
        }
    });
}
