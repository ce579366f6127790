//! Owning mode: operators in one call. Needs a queue.

use std::time::Duration;

use dml::Submission;

use crate::boundary::{Result, call};
use crate::handle::{Object, create, get, remove};
use crate::memory::write;
use crate::operator::OperatorObject;
use crate::table::{DmlVkBufferBinding, bindings, counts, look_up};
use crate::types::{BOOL, DmlVkOperator, DmlVkSubmission, HRESULT};

/// Waiting as long as it takes.
const FOREVER: u64 = u64::MAX;

impl Object for Submission {
    const KIND: &'static str = "submission";
}

/// Initializes an operator and waits: copies the inputs that are OWNED_BY_DML to where executions read
/// them. All other inputs are all zeros; where none is owned `input_count` may be 0.
///
/// # Safety
///
/// `inputs` is null or points to `input_count` bindings. Work of the caller's that uses the buffers has
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

/// Executes an operator and waits: binds, records, submits, in one call. Resources that it needs are
/// allocated.
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

/// Starts an operator and returns at once, with a handle to wait on. Submissions execute one after the
/// other.
///
/// # Safety
///
/// `inputs` and `outputs` are null or point to as many bindings as stated; `submission` is null or a
/// place for a handle. Work of the caller's that uses the buffers has completed.
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

/// Waits until the work has completed, at most `timeout` nanoseconds (UINT64_MAX: as long as it takes),
/// and says whether it has.
///
/// # Safety
///
/// `completed` is null, where the answer is of no interest, or a place for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_wait_submission(
    submission: DmlVkSubmission,
    timeout: u64,
    completed: *mut BOOL,
) -> HRESULT {
    call("dmlvk_wait_submission", || {
        let submission = get::<Submission, _>(submission)?;
        let is_complete = if timeout == FOREVER {
            submission.wait()?;
            true
        } else {
            submission.wait_timeout(Duration::from_nanos(timeout))?
        };
        if completed.is_null() {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { write(completed, is_complete.into(), "completed") }
    })
}

/// Destroys a submission's handle, which waits for the work.
#[unsafe(no_mangle)]
pub extern "C" fn dmlvk_destroy_submission(submission: DmlVkSubmission) -> HRESULT {
    call("dmlvk_destroy_submission", || remove::<Submission, _>(submission))
}
