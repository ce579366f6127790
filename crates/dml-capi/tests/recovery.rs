//! Failures of Vulkan through the C functions, and what works afterwards, on every device.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "a C program's calls")]

mod common;

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

/// The bytes of the output below.
const SIZE: u64 = 40_400;

/// 100 rows of floats with a diagonal of sevens, by a kernel.
struct Work {
    operator: DmlVkOperator,
    buffer: DmlVkBuffer,
}

impl Work {
    /// Compiles, creates a buffer, executes and reads: the first code that is not success.
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
        let operator = succeeded(Diagonal::new(1, &[100, 101], SIZE, 1, 7.0).compile(device, 0))?;
        let buffer = succeeded(try_create_buffer(device, SIZE)).inspect_err(|_| {
            // SAFETY: nothing is in flight.
            ok(unsafe { dmlvk_destroy_operator(operator) });
        })?;
        Ok(Self { operator, buffer })
    }

    fn execute_and_read(&self) -> Result<Vec<u8>, HRESULT> {
        succeeded((execute(self.operator, self.output()), ()))?;
        succeeded(try_read(self.buffer, 0, SIZE.try_into().unwrap()))
    }

    fn output(&self) -> DmlVkBufferBinding {
        DmlVkBufferBinding { buffer: self.buffer, offset: 0, size: SIZE }
    }
}

fn succeeded<T>((code, value): (HRESULT, T)) -> Result<T, HRESULT> {
    if code == 0 { Ok(value) } else { Err(code) }
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
        assert!(injected >= 15, "{injected} failures");
        destroy(device);
    });
}

#[test]
fn a_device_that_cannot_be_created_for_want_of_memory_can_be_created_again() {
    each_injected(|index, injector| {
        for name in ["vkCreateInstance", "vkCreateDevice", "vkCreateSemaphore"] {
            fail(injector, name, Code::ERROR_OUT_OF_HOST_MEMORY);
            let desc = DmlVkDeviceDesc { require_validation: 0, ..device_desc() };
            let (code, device) = try_create_device(&desc);
            refused(code, E_OUTOFMEMORY, name);
            assert!(device.is_null());
            assert_eq!(injector.live_objects(), []);
            injector.arm(None);
            let device = create_device(index, 0, 0);
            assert_eq!(Work::answer(device), Ok(expected()));
            destroy(device);
        }
    });
}

/// Every call on a lost device reports that it is lost.
fn assert_lost(device: DmlVkDevice, work: &Work, submission: DmlVkSubmission) {
    let lost = |code| refused(code, DXGI_ERROR_DEVICE_REMOVED, "the device was lost");
    assert_eq!(dmlvk_get_device_removed_reason(device), DXGI_ERROR_DEVICE_REMOVED);
    lost(execute(work.operator, work.output()));
    let (code, ticket) = submit(work.operator, work.output());
    lost(code);
    assert!(ticket.is_null());
    let mut completed = 7;
    for timeout in [0, 1000, u64::MAX] {
        // SAFETY: there is a place for the answer.
        lost(unsafe { dmlvk_wait_submission(submission, timeout, &raw mut completed) });
    }
    let (code, bytes) = try_read(work.buffer, 0, 8);
    lost(code);
    assert_eq!(bytes, [0xEE; 8], "a failed read leaves the caller's bytes alone");
    lost(write(work.buffer, 0, &bytes));
    let (code, buffer) = try_create_buffer(device, 64);
    lost(code);
    let (code, operator) = Diagonal::new(1, &[9, 9], 324, 0, 1.0).compile(device, 0);
    lost(code);
    assert!(operator.is_null() && buffer.is_null());
    lost(try_create_table(work.operator, DMLVK_PHASE_EXECUTE, &[work.output()]).0);
}

#[test]
fn loss_is_sticky_everything_can_be_destroyed_and_a_new_device_works() {
    for name in ["vkQueueSubmit", "vkWaitSemaphores"] {
        each_injected(|index, injector| {
            let device = create_device(index, 0, 0);
            let work = Work::new(device).unwrap();
            let (code, submission) = submit(work.operator, work.output());
            ok(code);
            fail(injector, name, Code::ERROR_DEVICE_LOST);
            refused(execute(work.operator, work.output()), DXGI_ERROR_DEVICE_REMOVED, name);
            injector.arm(None);
            assert_lost(device, &work, submission);
            // While the lost one is still there, and after it is gone.
            let new = create_device(index, 0, 0);
            assert_eq!(Work::answer(new), Ok(expected()));
            ok(dmlvk_destroy_submission(submission));
            destroy(device);
            assert_eq!(Work::answer(new), Ok(expected()));
            destroy(new);
        });
    }
}
