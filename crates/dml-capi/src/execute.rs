//! Owning mode: operators in one call. Needs a queue.

use dml::Submission;

use crate::boundary::{Result, call};
use crate::handle::{create, get};
use crate::operator::OperatorObject;
use crate::table::{DmlVkBufferBinding, bindings, counts, look_up};
use crate::types::{DmlVkOperator, DmlVkSubmission, HRESULT};

/// Initializes an operator and waits: copies the inputs that are OWNED_BY_DML into the persistent resource.
/// The bindings of all other inputs are all zeros. If no input is owned, `input_count` may be 0.
///
/// # Safety
///
/// `inputs` is null or points to `input_count` bindings. The caller's work that uses the buffers has
/// completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_initialize_operator(
    compiled: DmlVkOperator,
    inputs: *const DmlVkBufferBinding,
    input_count: u32,
) -> HRESULT {
    call("dmlvk_initialize_operator", || {
        let object = get::<OperatorObject, _>(compiled)?;
        let (most, _) = counts(&object.operator);
        // SAFETY: the caller's promise.
        let inputs = unsafe { look_up(inputs, input_count, most, "inputs") }?;
        Ok(object.device.initialize(&object.operator, &bindings(&inputs))?)
    })
}

/// Executes an operator and waits: binds, records and submits in one call. The resources that the operator needs
/// are allocated.
///
/// # Safety
///
/// As dmlvk_submit_operator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_execute_operator(
    compiled: DmlVkOperator,
    inputs: *const DmlVkBufferBinding,
    input_count: u32,
    outputs: *const DmlVkBufferBinding,
    output_count: u32,
) -> HRESULT {
    call("dmlvk_execute_operator", || {
        // SAFETY: the caller's promise.
        let submission =
            unsafe { submit(compiled, (inputs, input_count), (outputs, output_count)) };
        Ok(submission?.wait()?)
    })
}

/// Submits an operator and returns without waiting, with a handle to wait on. Submissions execute one after
/// the other.
///
/// # Safety
///
/// `inputs` and `outputs` are null or point to as many bindings as stated; `submission` is null or points to
/// memory for a handle. The caller's work that uses the buffers has completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_submit_operator(
    compiled: DmlVkOperator,
    inputs: *const DmlVkBufferBinding,
    input_count: u32,
    outputs: *const DmlVkBufferBinding,
    output_count: u32,
    submission: *mut DmlVkSubmission,
) -> HRESULT {
    let (inputs, outputs) = ((inputs, input_count), (outputs, output_count));
    // SAFETY: the caller's promise.
    let make = || unsafe { submit(compiled, inputs, outputs) };
    // SAFETY: the caller's promise.
    unsafe { create("dmlvk_submit_operator", (submission, "submission"), Some(compiled), make) }
}

/// # Safety
///
/// Both lists are null or point to as many bindings as stated.
unsafe fn submit(
    compiled: DmlVkOperator,
    inputs: (*const DmlVkBufferBinding, u32),
    outputs: (*const DmlVkBufferBinding, u32),
) -> Result<Submission> {
    let object = get::<OperatorObject, _>(compiled)?;
    let most = counts(&object.operator);
    // SAFETY: the caller's promise.
    let inputs = unsafe { look_up(inputs.0, inputs.1, most.0, "inputs") }?;
    // SAFETY: the caller's promise.
    let outputs = unsafe { look_up(outputs.0, outputs.1, most.1, "outputs") }?;
    Ok(object.device.submit(&object.operator, &bindings(&inputs), &bindings(&outputs))?)
}
