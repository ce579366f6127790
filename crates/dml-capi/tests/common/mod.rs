//! The library's functions as a C program calls them, on every device.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(unreachable_pub, reason = "a module of several test crates")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod borrowing;
#[path = "../../../dml-vk/tests/common/caller.rs"]
pub mod caller;
pub mod descs;
pub mod graph;

use std::ffi::{CStr, CString};
use std::ptr;

pub use caller::validation;
pub use descs::*;
use dml::Validation;
use dmlvk::*;

use borrowing::Borrowing;

pub const E_INVALIDARG: HRESULT = 0x8007_0057_u32.cast_signed();
pub const DXGI_ERROR_UNSUPPORTED: HRESULT = 0x887A_0004_u32.cast_signed();

pub fn message() -> String {
    // SAFETY: the library returns a C string of this thread.
    unsafe { CStr::from_ptr(dmlvk_last_message()) }.to_string_lossy().into_owned()
}

#[track_caller]
pub fn ok(code: HRESULT) {
    assert_eq!(code, 0, "{}", message());
}

/// Asserts a code and a part of the message.
#[track_caller]
pub fn refused(code: HRESULT, wanted: HRESULT, part: &str) {
    let message = message();
    assert_eq!(code, wanted, "{message}");
    assert!(message.contains(part), "`{message}` lacks `{part}`");
}

/// How many devices there are: at least one.
pub fn device_count() -> usize {
    let instance = dml::Instance::new(&dml::InstanceDesc::default()).unwrap();
    let count = instance.physical_devices().unwrap().len();
    assert!(count > 0, "there is no Vulkan device: run these tests with `cargo xtask test`");
    count
}

/// How the best device is created.
pub fn device_desc() -> DmlVkDeviceDesc {
    DmlVkDeviceDesc {
        struct_size: size_of::<DmlVkDeviceDesc>().try_into().unwrap(),
        minimum_feature_level: 0,
        maximum_feature_level: 0,
        require_validation: (validation() == Validation::Required).into(),
        device: ptr::null(),
        profile: ptr::null(),
        numerics: DMLVK_NUMERICS_EXACT,
        reserved: 0,
    }
}

/// The result of a function, and the handle that it writes.
pub fn made<H>(call: impl FnOnce(*mut *mut H) -> HRESULT) -> (HRESULT, *mut H) {
    let mut handle = ptr::null_mut();
    (call(&raw mut handle), handle)
}

/// The handle of a call that must succeed.
#[track_caller]
fn handle<H>((code, handle): (HRESULT, *mut H)) -> *mut H {
    ok(code);
    handle
}

pub fn try_create_device(desc: &DmlVkDeviceDesc) -> (HRESULT, DmlVkDevice) {
    // SAFETY: both pointers are to what the function asks for.
    made(|place| unsafe { dmlvk_create_device(desc, place) })
}

/// Creates the `index`-th device between two levels.
pub fn create_device(index: usize, minimum: u32, maximum: u32) -> DmlVkDevice {
    let name = CString::new(index.to_string()).unwrap();
    let desc = DmlVkDeviceDesc {
        minimum_feature_level: minimum,
        maximum_feature_level: maximum,
        device: name.as_ptr(),
        ..device_desc()
    };
    let device = handle(try_create_device(&desc));
    assert!(!device.is_null());
    device
}

/// The descriptor of a DIAGONAL_MATRIX, filled as a C program does.
pub struct Diagonal {
    sizes: Box<[u32]>,
    pub buffer: Box<DML_BUFFER_TENSOR_DESC>,
    pub tensor: Box<DML_TENSOR_DESC>,
    pub desc: Box<DML_DIAGONAL_MATRIX_OPERATOR_DESC>,
    pub operator: DML_OPERATOR_DESC,
}

impl Diagonal {
    pub fn new(data_type: u32, sizes: &[u32], bytes: u64, offset: i32, value: f32) -> Self {
        let sizes: Box<[u32]> = sizes.into();
        let buffer = Box::new(DML_BUFFER_TENSOR_DESC {
            DataType: data_type,
            Flags: 0,
            DimensionCount: sizes.len().try_into().unwrap(),
            Sizes: sizes.as_ptr(),
            Strides: ptr::null(),
            TotalTensorSizeInBytes: bytes,
            GuaranteedBaseOffsetAlignment: 0,
        });
        let tensor = Box::new(DML_TENSOR_DESC { Type: 1, Desc: ptr::from_ref(&*buffer).cast() });
        let desc = Box::new(DML_DIAGONAL_MATRIX_OPERATOR_DESC {
            OutputTensor: &raw const *tensor,
            Offset: offset,
            Value: value,
        });
        let operator = DML_OPERATOR_DESC { Type: 93, Desc: ptr::from_ref(&*desc).cast() };
        Self { sizes, buffer, tensor, desc, operator }
    }

    /// The operator, which must compile.
    pub fn compiled(&self, device: DmlVkDevice) -> DmlVkOperator {
        handle(self.compile(device, 0))
    }

    pub fn compile(&self, device: DmlVkDevice, flags: u32) -> (HRESULT, DmlVkOperator) {
        // SAFETY: the descriptor is complete and lives long enough.
        made(|place| unsafe { dmlvk_compile_operator(device, &self.operator, flags, place) })
    }
}

pub fn try_create_buffer(device: DmlVkDevice, size: u64) -> (HRESULT, DmlVkBuffer) {
    // SAFETY: there is a place for the handle.
    made(|place| unsafe { dmlvk_create_buffer(device, size, place) })
}

pub fn create_buffer(device: DmlVkDevice, size: u64) -> DmlVkBuffer {
    handle(try_create_buffer(device, size))
}

/// Executes an operator that has no input.
pub fn execute(operator: DmlVkOperator, output: DmlVkBufferBinding) -> HRESULT {
    // SAFETY: there is one binding.
    unsafe { dmlvk_execute_operator(operator, ptr::null(), 0, &raw const output, 1) }
}

/// Submits an operator with one output, without waiting.
pub fn submit(operator: DmlVkOperator, output: DmlVkBufferBinding) -> (HRESULT, DmlVkSubmission) {
    // SAFETY: there is one binding, and a place for the handle.
    made(|place| unsafe { dmlvk_submit_operator(operator, ptr::null(), 0, &output, 1, place) })
}

/// Destroys a device of which nothing is in flight.
#[track_caller]
pub fn destroy(device: DmlVkDevice) {
    // SAFETY: nothing is in flight.
    ok(unsafe { dmlvk_destroy_device(device) });
}

pub fn nothing() -> DmlVkBufferBinding {
    DmlVkBufferBinding { buffer: ptr::null_mut(), offset: 0, size: 0 }
}

pub fn no_bindings() -> DmlVkBindings {
    DmlVkBindings {
        struct_size: size_of::<DmlVkBindings>().try_into().unwrap(),
        input_count: 0,
        inputs: ptr::null(),
        outputs: ptr::null(),
        output_count: 0,
        reserved: 0,
        temporary: nothing(),
        persistent: nothing(),
    }
}

/// Bindings with these outputs and nothing else.
pub fn bindings(outputs: &[DmlVkBufferBinding]) -> Borrowing<'_, DmlVkBindings> {
    let bindings = DmlVkBindings {
        outputs: outputs.as_ptr(),
        output_count: outputs.len().try_into().unwrap(),
        ..no_bindings()
    };
    Borrowing::new(bindings, outputs)
}

pub fn try_create_table(
    operator: DmlVkOperator,
    phase: DmlVkPhase,
    outputs: &[DmlVkBufferBinding],
) -> (HRESULT, DmlVkBindingTable) {
    let bindings = bindings(outputs);
    // SAFETY: both pointers are to what the function asks for.
    made(|place| unsafe { dmlvk_create_binding_table(operator, phase, bindings.as_ptr(), place) })
}

pub fn create_table(operator: DmlVkOperator, outputs: &[DmlVkBufferBinding]) -> DmlVkBindingTable {
    handle(try_create_table(operator, DMLVK_PHASE_EXECUTE, outputs))
}

/// Reads into bytes that were something else.
pub fn try_read(buffer: DmlVkBuffer, offset: u64, size: usize) -> (HRESULT, Vec<u8>) {
    let mut bytes = vec![0xEE; size];
    let (place, size) = (bytes.as_mut_ptr().cast(), size.try_into().unwrap());
    // SAFETY: there is place for as many bytes.
    (unsafe { dmlvk_read_buffer(buffer, offset, place, size) }, bytes)
}

pub fn read(buffer: DmlVkBuffer, offset: u64, size: usize) -> Vec<u8> {
    let (code, bytes) = try_read(buffer, offset, size);
    ok(code);
    bytes
}

pub fn write(buffer: DmlVkBuffer, offset: u64, bytes: &[u8]) -> HRESULT {
    let (place, size) = (bytes.as_ptr().cast(), bytes.len().try_into().unwrap());
    // SAFETY: there are as many bytes.
    unsafe { dmlvk_write_buffer(buffer, offset, place, size) }
}
