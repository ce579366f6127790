//! How large the kernels are that are linked for element-wise operators, and what SwiftShader takes to
//! make pipelines of them: its compiler takes more than linear memory and time, up to gibibytes for
//! one kernel.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test tells, and may panic")]

mod common;

use std::collections::BTreeMap;
use std::process::Command;

use common::options;
use dml::core::plan::{Plan, Step};
use dml::core::{Capabilities, Tuning, validate};
use dml::ops::{Target, TransferUse};
use dml::{
    AbstractOperator, CastDesc, DataType, Device, ElementWiseAddDesc, ElementWiseIdentityDesc,
    FeatureLevel, Instance, InstanceDesc, TensorDesc,
};

/// Set in the process whose memory is measured: the index of the device.
const DEVICE: &str = "DML_TEST_PIPELINES_DEVICE";

/// The largest kernel, FLOAT64 scaled and biased in eight dimensions, has 20 KB. SwiftShader takes 6 MB
/// and 60 ms for it.
const MOST_BYTES: usize = 22 << 10;

/// SwiftShader takes 64 MB beside the 60 that the process has before.
const MOST_GROWTH: u64 = 160 << 20;

/// Kernels in all; fewer say that the operators below are not what they were.
const KERNELS: usize = 250;

/// The layouts of inputs and of the output: in whole quads, the same element everywhere in a row, and
/// in as many dimensions as there are with gaps everywhere.
fn layouts() -> [[TensorDesc; 2]; 3] {
    let packed = |sizes: &[u32]| TensorDesc::packed(DataType::Float32, sizes);
    let whole = packed(&[64, 64]);
    let repeated = whole.clone().with_strides(&[1, 0]);
    let gaps = packed(&[2, 3, 2, 3, 2, 3, 2, 5]).with_strides(&[2000, 640, 310, 101, 50, 16, 8, 1]);
    [[whole.clone(), whole.clone()], [repeated, whole], [gaps.clone(), gaps]]
}

/// Every element-wise operator with tensors of every type.
fn operators() -> Vec<AbstractOperator> {
    let all = [
        [DataType::Float64, DataType::Float32, DataType::Float16, DataType::Int64].as_slice(),
        &[DataType::Int32, DataType::Int16, DataType::Int8, DataType::Uint64],
        &[DataType::Uint32, DataType::Uint16, DataType::Uint8],
    ];
    let types = all.concat();
    let mut all: Vec<AbstractOperator> = Vec::new();
    for [input, output] in layouts() {
        let of = |tensor: &TensorDesc, data_type| TensorDesc { data_type, ..tensor.clone() };
        for &from in &types {
            for &to in &types {
                let (input_tensor, output_tensor) = (of(&input, from), of(&output, to));
                all.push(CastDesc { input_tensor, output_tensor }.into());
            }
            let identity = |scale_bias| ElementWiseIdentityDesc {
                input_tensor: of(&input, from),
                output_tensor: of(&output, from),
                scale_bias,
            };
            all.extend([identity(None).into(), identity(Some([2.0, 1.0])).into()]);
            let [a_tensor, b_tensor] = [of(&output, from), of(&input, from)];
            let output_tensor = of(&output, from);
            all.push(ElementWiseAddDesc { a_tensor, b_tensor, output_tensor }.into());
        }
    }
    // No type is summed that is only moved.
    all.retain(|operator| validate(operator, FeatureLevel::HIGHEST).is_ok());
    all
}

/// The kernels of a plan: their names and the bytes of their modules.
fn kernels(plan: &Plan) -> impl Iterator<Item = (String, usize)> {
    plan.steps().filter_map(|step| match step {
        Step::Dispatch(it) => {
            Some((it.kernel.variant.name.to_string(), it.kernel.variant.spirv.len()))
        }
        _ => None,
    })
}

#[test]
fn kernels_of_element_wise_operators_are_small() {
    let capabilities = &Capabilities::vulkan_minimum();
    let target = Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::Allowed };
    let mut all = BTreeMap::new();
    for operator in operators() {
        let validated = validate(&operator, FeatureLevel::HIGHEST).unwrap();
        all.extend(kernels(&dml::ops::lower(&validated, &target).unwrap()));
    }
    let mut by_size: Vec<_> = all.into_iter().map(|(name, bytes)| (bytes, name)).collect();
    by_size.sort_unstable_by(|a, b| b.cmp(a));
    println!("{} kernels, the largest: {:#?}", by_size.len(), &by_size[..8]);
    assert!(by_size.len() >= KERNELS, "{}", by_size.len());
    assert!(by_size[0].0 <= MOST_BYTES, "{:?}", by_size[0]);
}

/// In a process of its own, without layers: others would count.
#[test]
fn swiftshader_makes_the_pipelines_of_element_wise_operators_in_little_memory() {
    const NAME: &str = "swiftshader_makes_the_pipelines_of_element_wise_operators_in_little_memory";
    if let Ok(index) = std::env::var(DEVICE) {
        return make_pipelines(index.parse().unwrap());
    }
    let instance = Instance::new(&InstanceDesc::default()).unwrap();
    let devices = instance.physical_devices().unwrap();
    let index = devices.iter().position(|device| device.info().name.contains("SwiftShader"));
    let index = index.expect("SwiftShader is there; run `cargo xtask test`");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([NAME, "--exact", "--nocapture"]).env(DEVICE, index.to_string());
    command.env_remove("VK_INSTANCE_LAYERS");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}");
    print!("{text}");
}

fn make_pipelines(index: usize) {
    let instance = Instance::new(&InstanceDesc::default()).unwrap();
    let physical = instance.physical_devices().unwrap().swap_remove(index);
    let device = Device::on_with(&physical, &options()).unwrap();
    let operators = operators();
    let before = peak_memory();
    let mut largest = (0, "none".to_owned());
    for operator in operators {
        let peak = peak_memory();
        let compiled = device.compile(operator).unwrap();
        let growth = peak_memory() - peak;
        largest = kernels(compiled.vulkan().plan())
            .map(|(name, _)| (growth, name))
            .fold(largest, Ord::max);
    }
    let (growth, pipelines) = (peak_memory() - before, device.vulkan().pipeline_count());
    println!("{pipelines} pipelines take {growth} bytes beside {before}; most of them {largest:?}");
    assert!(pipelines >= KERNELS, "{pipelines}");
    assert!(growth <= MOST_GROWTH, "{growth} bytes; most of them {largest:?}");
}

/// The most bytes of memory that this process has had.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kibibytes << 10
}
