//! Runs tests on every device of the machine, with a check that the validation layer reports nothing.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

pub(crate) mod band;
pub(crate) mod graphs;
mod one_driver;
pub(crate) mod ordered;
pub(crate) mod reference;

use std::sync::{Mutex, PoisonError};

use dml::{
    Buffer, BufferBinding, CapabilityCap, CompiledOperator, Device, DeviceOptions,
    DiagonalMatrixDesc, FillValueConstantDesc, Instance, InstanceDesc, PipelineCache, ScalarUnion,
    TensorDesc, Validation,
};

/// Set by `cargo xtask test`: tests then run under the validation layer or fail.
pub(crate) fn validation() -> Validation {
    match std::env::var("DML_TEST_VALIDATION").as_deref() {
        Ok("required") => Validation::Required,
        _ => Validation::Off,
    }
}

/// The default options, but without the user's folders, which tests neither read nor write.
pub(crate) fn options() -> DeviceOptions {
    DeviceOptions { pipeline_cache: PipelineCache::Off, ..DeviceOptions::default() }
}

/// Runs `test` on every device, and fails on any validation message.
pub(crate) fn on_every_device(test: impl Fn(&Device)) {
    let instance = InstanceDesc { validation: validation(), ..InstanceDesc::default() };
    run(&DeviceOptions { instance, ..options() }, test);
}

/// Runs `test` on every device under the cap, and fails on any validation message.
pub(crate) fn on_every_device_under(cap: CapabilityCap, test: impl Fn(&Device)) {
    on_every_device_as(&DeviceOptions { cap: Some(cap), ..options() }, test);
}

/// Runs `test` on every device, opened with these options, and fails on any validation message.
pub(crate) fn on_every_device_as(options: &DeviceOptions, test: impl Fn(&Device)) {
    let instance = InstanceDesc { validation: validation(), ..InstanceDesc::default() };
    let options = DeviceOptions { instance, ..options.clone() };
    run(&options.resolved().unwrap(), test);
}

/// Runs `test` on the device that the bytes of its subject choose, always the same one, and fails on any validation
/// message; on every device with `DML_TEST_EVERY_DRIVER=1`. For tests that compare nothing between devices: the
/// suite compares the bits of kernels, and making their pipelines takes most of the time of such a test. The
/// device still has the pipelines of tests before, and stays open to the end: what it would leak is not seen here.
pub(crate) fn on_one_device(subject: &[u8], test: impl Fn(&Device)) {
    let unused = UNUSED_DEVICES.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let opened = unused.unwrap_or_else(Opened::new);
    for (at, device) in opened.devices.iter().enumerate() {
        if !one_driver::runs(at, opened.devices.len(), subject) {
            continue;
        }
        test(device);
        let messages = opened.instance.take_validation_messages();
        assert!(messages.is_empty(), "{}: {messages:#?}", device.vulkan().info().name);
    }
    UNUSED_DEVICES.lock().unwrap_or_else(PoisonError::into_inner).push(opened);
}

/// The devices of an instance, all with the default options.
struct Opened {
    devices: Vec<Device>,
    instance: Instance,
}

impl Opened {
    fn new() -> Self {
        let instance = InstanceDesc { validation: validation(), ..InstanceDesc::default() };
        let options = DeviceOptions { instance, ..options() };
        let instance = Instance::new(&options.instance).expect(NO_LOADER);
        let all = instance.physical_devices().unwrap().into_iter();
        let suitable = all.filter(|physical| physical.unsuitable().is_none());
        let devices: Vec<_> =
            suitable.map(|physical| Device::on_with(&physical, &options).unwrap()).collect();
        assert!(!devices.is_empty(), "{NO_DEVICE}");
        Self { devices, instance }
    }
}

/// Devices that no test uses now, of instances that no other thread uses: see [`UNUSED`].
static UNUSED_DEVICES: Mutex<Vec<Opened>> = Mutex::new(Vec::new());

const NO_LOADER: &str = "a Vulkan loader; run `cargo xtask test`";
const NO_DEVICE: &str = "there is no Vulkan device; run `cargo xtask test`";

/// Instances that no test uses now, by the version of Vulkan that they are limited to; nothing else of their
/// descriptions differs. Creating one loads the drivers and the validation layer, which takes longer than most
/// tests; so the tests of a program take turns with a few.
static UNUSED: Mutex<Vec<(Option<u32>, Instance)>> = Mutex::new(Vec::new());

/// An instance that no other thread uses, so that its validation messages are those of one test.
fn instance_of(desc: &InstanceDesc) -> Instance {
    let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(place) = unused.iter().position(|(version, _)| *version == desc.max_api_version) {
        return unused.swap_remove(place).1;
    }
    drop(unused);
    Instance::new(desc).expect(NO_LOADER)
}

/// Runs `test` on every device; a test that panics drops its instance with all messages.
fn run(options: &DeviceOptions, test: impl Fn(&Device)) {
    let instance = instance_of(&options.instance);
    let mut tested = 0;
    for physical in instance.physical_devices().unwrap() {
        if physical.unsuitable().is_some() {
            continue;
        }
        let device = Device::on_with(&physical, options).unwrap();
        test(&device);
        drop(device);
        let messages = instance.take_validation_messages();
        assert!(messages.is_empty(), "{}: {messages:#?}", physical.info().name);
        tested += 1;
    }
    assert!(tested > 0, "{NO_DEVICE}");
    let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
    unused.push((options.instance.max_api_version, instance));
}

/// An operator with the value on one diagonal.
pub(crate) fn diagonal(tensor: &TensorDesc, offset: i32, value: f32) -> DiagonalMatrixDesc {
    DiagonalMatrixDesc { output_tensor: tensor.clone(), offset, value }
}

/// An operator that fills a tensor with a scalar of the tensor's type.
pub(crate) fn constant(tensor: &TensorDesc, value: ScalarUnion) -> FillValueConstantDesc {
    let (output_tensor, value_data_type) = (tensor.clone(), tensor.data_type);
    FillValueConstantDesc { output_tensor, value_data_type, value }
}

/// Executes an operator without inputs on a buffer of its own.
pub(crate) fn execute(device: &Device, operator: &CompiledOperator) -> Buffer {
    let buffer = device.create_buffer(operator.output_size(0)).unwrap();
    device.execute(operator, &[], &[Some(BufferBinding::whole(&buffer))]).unwrap();
    buffer
}
