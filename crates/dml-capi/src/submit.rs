//! Submissions of several binding tables, ordered by the caller's semaphores.

use std::time::Duration;

use dml::vk::{BindingTable, Phase, Recorder, SemaphoreValue, SubmitSemaphores};
use dml::{Device, Submission};

use crate::boundary::{Result, call};
use crate::handle::{Object, create, get, remove};
use crate::memory::{read_array, read_sized, reserved, write};
use crate::types::{BOOL, DmlVkBindingTable, DmlVkDevice, DmlVkSubmission, HRESULT, VkSemaphore};

/// The timeout that means no timeout.
const FOREVER: u64 = u64::MAX;
/// The most tables or semaphores of a submission.
const MOST: usize = 1 << 20;

impl Object for Submission {
    const KIND: &'static str = "submission";
}

/// A semaphore to wait for or to signal.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DmlVkSemaphoreValue {
    /// The semaphore, of the device's VkDevice.
    pub semaphore: VkSemaphore,
    /// The value of a timeline semaphore; ignored for a binary one.
    pub value: u64,
}

/// The caller's semaphores that order a submission.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DmlVkSemaphores {
    /// sizeof(DmlVkSemaphores).
    pub struct_size: u32,
    /// The number of semaphores to wait for.
    pub wait_count: u32,
    /// The semaphores to wait for before any work of the submission begins.
    pub wait: *const DmlVkSemaphoreValue,
    /// The semaphores to signal when all work of the submission has completed.
    pub signal: *const DmlVkSemaphoreValue,
    /// The number of semaphores to signal.
    pub signal_count: u32,
    /// 0.
    pub reserved: u32,
}

/// ID3D12CommandQueue::ExecuteCommandLists: records binding tables one after the other, submits them together,
/// and returns without waiting, with a handle to wait on. Each table sees the writes of the tables before it.
/// Submissions execute one after the other. Needs a queue.
///
/// # Safety
///
/// `tables` is null or points to `table_count` handles; `semaphores` is null for no semaphores, or points to a
/// DmlVkSemaphores whose arrays have the stated lengths; `submission` is null or points to memory for a handle.
/// The caller's work that uses the buffers has completed, or the semaphores wait for it. The semaphores live
/// until the submission has completed, and follow Vulkan's rules for vkQueueSubmit; those to wait for are
/// signalled eventually.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_submit_tables(
    device: DmlVkDevice,
    table_count: u32,
    tables: *const DmlVkBindingTable,
    semaphores: *const DmlVkSemaphores,
    submission: *mut DmlVkSubmission,
) -> HRESULT {
    let make = || {
        let vulkan = get::<Device, _>(device)?.vulkan().clone();
        // SAFETY: the caller's promise.
        let tables = unsafe { read_array(tables, table_count, MOST, "tables") }?;
        let mut recorder = Recorder::new(&vulkan)?;
        for table in tables {
            let table = get::<BindingTable, _>(table)?;
            recorder.barrier_all();
            match table.phase() {
                Phase::Initialize => recorder.initialize(&table)?,
                Phase::Execute => recorder.dispatch(&table)?,
            }
        }
        // SAFETY: the caller's promise.
        let [wait, signal] = unsafe { read_semaphores(semaphores) }?;
        let semaphores = SubmitSemaphores { wait: &wait, signal: &signal };
        // SAFETY: the caller's promise.
        Ok(unsafe { vulkan.submit_with(recorder.finish()?, &semaphores) }?)
    };
    // SAFETY: the caller's promise.
    unsafe { create("dmlvk_submit_tables", (submission, "submission"), Some(device), make) }
}

/// # Safety
///
/// `semaphores` is null or points to a DmlVkSemaphores whose arrays have the stated lengths.
unsafe fn read_semaphores(semaphores: *const DmlVkSemaphores) -> Result<[Vec<SemaphoreValue>; 2]> {
    if semaphores.is_null() {
        return Ok([const { Vec::new() }; 2]);
    }
    // SAFETY: the caller's promise.
    let given: DmlVkSemaphores = unsafe { read_sized(semaphores, "semaphores") }?;
    reserved(given.reserved, "semaphores.reserved")?;
    // SAFETY: the caller's promise.
    let wait = unsafe { read_array(given.wait, given.wait_count, MOST, "semaphores.wait") }?;
    // SAFETY: the caller's promise.
    let signal =
        unsafe { read_array(given.signal, given.signal_count, MOST, "semaphores.signal") }?;
    let value =
        |it: DmlVkSemaphoreValue| SemaphoreValue { semaphore: it.semaphore, value: it.value };
    Ok([wait, signal].map(|all| all.into_iter().map(value).collect()))
}

/// Waits until the work has completed, at most `timeout` nanoseconds (UINT64_MAX: without a limit), and tells
/// whether it has.
///
/// # Safety
///
/// `completed` is null if the answer is not needed, or points to memory for it.
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

/// Destroys a submission's handle. This waits for the work.
#[unsafe(no_mangle)]
pub extern "C" fn dmlvk_destroy_submission(submission: DmlVkSubmission) -> HRESULT {
    call("dmlvk_destroy_submission", || remove::<Submission, _>(submission))
}
