//! Failures of Vulkan through the C functions, and what works afterwards, on every device.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "a C program's calls")]

mod common;

use std::ptr;
use std::sync::{Mutex, PoisonError};

use common::*;
use dml::ash::vk::Result as Code;
use dml_fault::{Fault, Injector};
use dmlvk::*;

const E_OUTOFMEMORY: HRESULT = 0x8007_000E_u32.cast_signed();
const DXGI_ERROR_DEVICE_REMOVED: HRESULT = 0x887A_0005_u32.cast_signed();

/// There is one injector in a process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Calls `test` for each device with an injector that every device passes.
fn each_injected(test: impl Fn(usize, &Injector)) {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for index in 0..device_count() {
        let injector = Injector::new().unwrap();
        injector.inject_everywhere();
        test(index, &injector);
        assert_eq!(injector.live_objects(), []);
        assert_eq!(injector.foreign_destructions(), []);
    }
}

fn fail(injector: &Injector, name: &'static str, result: Code) {
    injector.arm(Some(Fault::Named { name, first: 1, count: 1, result }));
}

/// 24 float elements of two rows with a diagonal of sevens, by a kernel.
struct Work {
    operator: DmlVkOperator,
    buffer: DmlVkBuffer,
}

impl Work {
    /// Compiles, creates a buffer, executes and reads: the first code that is no success.
    fn answer(device: DmlVkDevice) -> Result<Vec<u8>, HRESULT> {
        let work = Self::new(device)?;
        let bytes = work.execute_and_read();
        // SAFETY: nothing is in flight.
        ok(unsafe { dmlvk_destroy_operator(work.operator) });
        ok(dmlvk_destroy_buffer(work.buffer));
        bytes
    }

    fn new(device: DmlVkDevice) -> Result<Self, HRESULT> {
        // Too large for an inline update: pipelines and descriptor sets are made.
        let (code, operator) = Diagonal::new(1, &[100, 101], 40_400, 1, 7.0).compile(device, 0);
        succeeded(code)?;
        let mut buffer = ptr::null_mut();
        // SAFETY: there is a place for the handle.
        let created = unsafe { dmlvk_create_buffer(device, 40_400, &raw mut buffer) };
        if created != 0 {
            // SAFETY: nothing is in flight.
            ok(unsafe { dmlvk_destroy_operator(operator) });
        }
        succeeded(created)?;
        Ok(Self { operator, buffer })
    }

    fn execute_and_read(&self) -> Result<Vec<u8>, HRESULT> {
        succeeded(self.execute())?;
        let mut bytes = vec![0xEE; 40_400];
        // SAFETY: there is place for as many bytes.
        let code = unsafe { dmlvk_read_buffer(self.buffer, 0, bytes.as_mut_ptr().cast(), 40_400) };
        succeeded(code)?;
        Ok(bytes)
    }

    fn execute(&self) -> HRESULT {
        let output = DmlVkBufferBinding { buffer: self.buffer, offset: 0, size: 40_400 };
        // SAFETY: there is one binding.
        unsafe { dmlvk_execute_operator(self.operator, ptr::null(), 0, &raw const output, 1) }
    }

    fn submit(&self) -> (HRESULT, DmlVkSubmission) {
        let output = DmlVkBufferBinding { buffer: self.buffer, offset: 0, size: 40_400 };
        let mut submission = ptr::null_mut();
        // SAFETY: there is one binding, and a place for the handle.
        let code = unsafe {
            dmlvk_submit_operator(
                self.operator,
                ptr::null(),
                0,
                &raw const output,
                1,
                &raw mut submission,
            )
        };
        (code, submission)
    }
}

fn succeeded(code: HRESULT) -> Result<(), HRESULT> {
    if code == 0 { Ok(()) } else { Err(code) }
}

fn expected() -> Vec<u8> {
    let cells = (0..100 * 101).map(|at| if at % 101 == at / 101 + 1 { 7f32 } else { 0.0 });
    cells.flat_map(f32::to_le_bytes).collect()
}

#[test]
fn after_out_of_memory_the_same_device_answers_the_next_request() {
    each_injected(|index, injector| {
        let device = create_device(index, 0, 0);
        let mut injected = 0;
        // Pipelines are made once: the calls of a later request are those of any other.
        assert_eq!(Work::answer(device), Ok(expected()));
        injector.arm(None);
        assert_eq!(Work::answer(device), Ok(expected()));
        let calls = injector.calls();
        for (number, entry_point) in (1..).zip(calls) {
            for result in [Code::ERROR_OUT_OF_HOST_MEMORY, Code::ERROR_OUT_OF_DEVICE_MEMORY] {
                if !entry_point.failures().contains(&result) {
                    continue;
                }
                injector.arm(Some(Fault::Call { number, result }));
                let answer = Work::answer(device);
                let hit = injector.hit();
                injector.arm(None);
                if hit.is_some() && entry_point.name() != "vkSetDebugUtilsObjectNameEXT" {
                    injected += 1;
                    if let Ok(bytes) = answer {
                        assert_eq!(bytes, expected(), "{hit:?}");
                    } else {
                        assert_eq!(answer, Err(E_OUTOFMEMORY), "{hit:?}: {}", message());
                        assert!(message().contains("out of"), "{}", message());
                    }
                }
                assert_eq!(dmlvk_get_device_removed_reason(device), 0, "{hit:?}");
                assert_eq!(Work::answer(device), Ok(expected()), "after {hit:?}");
            }
        }
        assert!(injected >= 20, "{injected} failures");
        // SAFETY: nothing is in flight.
        ok(unsafe { dmlvk_destroy_device(device) });
    });
}

#[test]
fn a_device_that_cannot_be_created_for_want_of_memory_can_be_created_again() {
    each_injected(|index, injector| {
        for name in ["vkCreateInstance", "vkCreateDevice", "vkCreateSemaphore"] {
            fail(injector, name, Code::ERROR_OUT_OF_HOST_MEMORY);
            let mut device = ptr::null_mut();
            let desc = DmlVkDeviceDesc {
                struct_size: size_of::<DmlVkDeviceDesc>().try_into().unwrap(),
                minimum_feature_level: 0,
                maximum_feature_level: 0,
                require_validation: 0,
                device: ptr::null(),
                profile: ptr::null(),
            };
            // SAFETY: both pointers are to what the function asks for.
            let code = unsafe { dmlvk_create_device(&raw const desc, &raw mut device) };
            refused(code, E_OUTOFMEMORY, name);
            assert!(device.is_null());
            assert_eq!(injector.live_objects(), []);
            injector.arm(None);
            let device = create_device(index, 0, 0);
            assert_eq!(Work::answer(device), Ok(expected()));
            // SAFETY: nothing is in flight.
            ok(unsafe { dmlvk_destroy_device(device) });
        }
    });
}

/// Everything that is asked of a lost device says that it is lost.
fn assert_lost(device: DmlVkDevice, work: &Work, submission: DmlVkSubmission) {
    let lost = |code| refused(code, DXGI_ERROR_DEVICE_REMOVED, "the device was lost");
    assert_eq!(dmlvk_get_device_removed_reason(device), DXGI_ERROR_DEVICE_REMOVED);
    lost(work.execute());
    let (code, ticket) = work.submit();
    lost(code);
    assert!(ticket.is_null());
    let mut completed = 7;
    for timeout in [0, 1000, u64::MAX] {
        // SAFETY: there is a place for the answer.
        lost(unsafe { dmlvk_wait_submission(submission, timeout, &raw mut completed) });
    }
    let mut bytes = [0xEE; 8];
    // SAFETY: there is place for as many bytes.
    lost(unsafe { dmlvk_read_buffer(work.buffer, 0, bytes.as_mut_ptr().cast(), 8) });
    assert_eq!(bytes, [0xEE; 8], "a failed read leaves the caller's bytes alone");
    // SAFETY: there are as many bytes.
    lost(unsafe { dmlvk_write_buffer(work.buffer, 0, bytes.as_ptr().cast(), 8) });
    let mut buffer = ptr::null_mut();
    // SAFETY: there is a place for the handle.
    lost(unsafe { dmlvk_create_buffer(device, 64, &raw mut buffer) });
    let (code, operator) = Diagonal::new(1, &[9, 9], 324, 0, 1.0).compile(device, 0);
    lost(code);
    assert!(operator.is_null() && buffer.is_null());
    let outputs = [DmlVkBufferBinding { buffer: work.buffer, offset: 0, size: 40_400 }];
    let (bindings, mut table) = (bindings(&outputs), ptr::null_mut());
    // SAFETY: both pointers are to what the function asks for.
    lost(unsafe {
        dmlvk_create_binding_table(
            work.operator,
            DMLVK_PHASE_EXECUTE,
            bindings.as_ptr(),
            &raw mut table,
        )
    });
}

#[test]
fn loss_is_sticky_everything_can_be_destroyed_and_a_new_device_works() {
    for name in ["vkQueueSubmit", "vkWaitSemaphores"] {
        each_injected(|index, injector| {
            let device = create_device(index, 0, 0);
            let work = Work::new(device).unwrap();
            let (code, submission) = work.submit();
            ok(code);
            fail(injector, name, Code::ERROR_DEVICE_LOST);
            refused(work.execute(), DXGI_ERROR_DEVICE_REMOVED, name);
            injector.arm(None);
            assert_lost(device, &work, submission);
            // While the lost one is still there, and after it is gone.
            let new = create_device(index, 0, 0);
            assert_eq!(Work::answer(new), Ok(expected()));
            ok(dmlvk_destroy_submission(submission));
            // SAFETY: nothing is in flight on a lost device.
            ok(unsafe { dmlvk_destroy_device(device) });
            assert_eq!(Work::answer(new), Ok(expected()));
            // SAFETY: nothing is in flight.
            ok(unsafe { dmlvk_destroy_device(new) });
        });
    }
}
