//! Common parts of this crate's tests: all devices, and a guard against validation messages.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(unreachable_pub, reason = "a module of several test crates")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "the caller's side of Vulkan")]

pub mod caller;
pub mod kernels;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use caller::validation;
use dml_core::plan::Plan;
use dml_fault::{Injector, usable_devices};
use dml_vk::{
    BindingTable, Bindings, Buffer, BufferBinding, BufferDesc, BufferUsage, CompileInput,
    CompiledOperator, Device, DeviceDesc, EntryPoints, Error, Instance, InstanceDesc,
    MemoryLocation, Recorder, ValidationLog,
};

/// Fails the test when it ends with validation messages that nobody took.
///
/// Declare it before everything that belongs to the instance, so that it is dropped last and sees
/// what is reported while objects are destroyed.
pub struct NoMessages(pub ValidationLog);

impl Drop for NoMessages {
    fn drop(&mut self) {
        let messages = self.0.take();
        if !std::thread::panicking() {
            assert!(messages.is_empty(), "validation messages: {messages:#?}");
        }
    }
}

/// Creates an instance, with validation where the environment asks for it.
pub fn instance_with(desc: InstanceDesc) -> (NoMessages, Instance) {
    let instance = match Instance::new(&InstanceDesc { validation: validation(), ..desc }) {
        Ok(instance) => instance,
        Err(error) => panic!("{error}\nrun these tests with `cargo xtask test`"),
    };
    (NoMessages(instance.validation_log()), instance)
}

pub fn instance() -> (NoMessages, Instance) {
    instance_with(InstanceDesc::default())
}

/// Runs `test` on every device, and fails if there is none.
pub fn each_device(test: impl Fn(&Device)) {
    each_device_with(InstanceDesc::default(), &DeviceDesc::default(), test);
}

pub fn each_device_with(instance: InstanceDesc, desc: &DeviceDesc, test: impl Fn(&Device)) {
    let (_messages, instance) = instance_with(instance);
    for physical in usable_devices(&instance) {
        println!("on {}", physical.info().name);
        test(&Device::with_desc(&physical, desc).unwrap());
    }
}

/// A lock for tests that replace functions: such tests run one at a time.
pub fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn each_device_through(entry_points: EntryPoints, test: impl Fn(&Device)) {
    let instance = InstanceDesc { entry_points, ..InstanceDesc::default() };
    each_device_with(instance, &DeviceDesc::default(), test);
}

/// Runs `test` on every device with an injector that its calls pass.
pub fn each_injected_device(test: impl Fn(&Injector, &Device)) {
    let _guard = one_at_a_time();
    let injector = Injector::new().unwrap();
    each_device_through(injector.entry_points(), |device| {
        test(&injector, device);
        injector.arm(None);
    });
    assert_eq!(injector.live_objects(), []);
}

/// The number of calls of each function since the injector was armed.
pub fn counts<const N: usize>(injector: &Injector, names: [&str; N]) -> [usize; N] {
    let calls = injector.calls();
    names.map(|name| calls.iter().filter(|call| call.name() == name).count())
}

/// Compiles a plan that also serves buffers of storage usage.
pub fn try_compile(device: &Device, plan: Plan) -> Result<CompiledOperator, Error> {
    try_compile_both(device, CompileInput { plan, storage_only: None })
}

pub fn try_compile_both(device: &Device, input: CompileInput) -> Result<CompiledOperator, Error> {
    // SAFETY: the kernels of these tests are valid, and keep inside their windows.
    unsafe { device.compile(input) }
}

pub fn compile(device: &Device, plan: Plan) -> CompiledOperator {
    try_compile(device, plan).unwrap()
}

pub fn part(buffer: &Buffer, offset: u64, size: u64) -> Option<BufferBinding<'_>> {
    Some(BufferBinding { buffer, offset, size })
}

/// A table for an operator whose only binding is an output.
pub fn try_bind(
    compiled: &CompiledOperator,
    buffer: &Buffer,
    offset: u64,
    size: u64,
) -> Result<BindingTable, Error> {
    let outputs = [part(buffer, offset, size)];
    BindingTable::new(compiled, &Bindings { outputs: &outputs, ..Bindings::default() })
}

/// A table for an operator whose only binding is an output, bound to the whole of a buffer.
pub fn bind(compiled: &CompiledOperator, buffer: &Buffer) -> BindingTable {
    try_bind(compiled, buffer, 0, buffer.size()).unwrap()
}

/// Records something, submits it, and waits.
pub fn run(device: &Device, record: impl FnOnce(&mut Recorder) -> Result<(), Error>) {
    let mut recorder = Recorder::new(device).unwrap();
    record(&mut recorder).unwrap();
    device.submit(recorder.finish().unwrap()).unwrap().wait().unwrap();
}

pub fn execute(device: &Device, table: &BindingTable) {
    run(device, |recorder| recorder.dispatch(table));
}

/// A buffer in device memory for every use.
pub fn buffer(device: &Device, size: u64) -> Buffer {
    buffer_with(device, size, BufferUsage::all(), MemoryLocation::Device)
}

pub fn buffer_with(
    device: &Device,
    size: u64,
    usage: BufferUsage,
    location: MemoryLocation,
) -> Buffer {
    device.create_buffer(&BufferDesc { size, usage, location, name: "test" }).unwrap()
}

/// Bytes that differ from their neighbours and from the bytes 256 further on.
pub fn pattern(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at % 251).try_into().unwrap()).collect()
}

pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}
