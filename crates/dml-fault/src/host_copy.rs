//! Host copies that are held at their beginning.
//!
//! Memory is made to look as if it were not coherent, so that the runtime invalidates it at the beginning of every copy
//! between the host and mapped memory: a call in which a test can hold the copy.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use dml_vk::EntryPoints;
use dml_vk::ash::vk;

/// Longer than any test takes: a lock that is never released fails the test instead of hanging it.
const LONG: Duration = Duration::from_secs(120);

static HELD: Mutex<Option<Gate>> = Mutex::new(None);
static REFUSES_BUFFERS: AtomicBool = AtomicBool::new(false);
static REFUSED_BUFFERS: AtomicUsize = AtomicUsize::new(0);

/// The channels by which a copying thread says that it has begun, and waits to go on.
struct Gate {
    least: u64,
    begun: Sender<()>,
    may_go_on: Receiver<()>,
}

/// Holds host copies of the process as long as it lives.
#[derive(Debug)]
pub struct HostCopies(());

/// A host copy that does not go on before it is released.
#[derive(Debug)]
pub struct HeldCopy {
    begun: Receiver<()>,
    go_on: Sender<()>,
}

impl HostCopies {
    /// Makes every instance that is created from now on one whose host copies are seen. One lives at a time.
    pub fn watched() -> Self {
        EntryPoints::set_default(Some(entry_points()));
        Self(())
    }

    /// Holds the next host copy of at least `size` bytes.
    pub fn hold_next(&self, size: u64) -> HeldCopy {
        let ((begun, is_begun), (go_on, may_go_on)) = (channel(), channel());
        let gate = Gate { least: size, begun, may_go_on };
        *HELD.lock().unwrap_or_else(PoisonError::into_inner) = Some(gate);
        HeldCopy { begun: is_begun, go_on }
    }

    /// Whether the device has no memory for further buffers.
    pub fn refuse_buffers(&self, refuses: bool) {
        REFUSES_BUFFERS.store(refuses, Ordering::SeqCst);
    }

    /// The number of buffers that were refused so far.
    pub fn refused_buffers(&self) -> usize {
        REFUSED_BUFFERS.load(Ordering::SeqCst)
    }
}

impl Drop for HostCopies {
    fn drop(&mut self) {
        EntryPoints::set_default(None);
        self.refuse_buffers(false);
    }
}

impl HeldCopy {
    /// Waits until the copy has begun.
    ///
    /// # Panics
    ///
    /// If it does not begin within two minutes.
    pub fn wait_until_begun(&self) {
        self.begun.recv_timeout(LONG).expect("no such host copy has begun");
    }

    /// Lets the copy go on.
    ///
    /// # Panics
    ///
    /// If the copy was held for longer than two minutes, and went on by itself.
    pub fn release(self) {
        self.go_on.send(()).expect("the copy was held for too long");
    }
}

/// Called at the beginning of a host copy of so many bytes.
fn begins(size: u64) {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let gate = held.take_if(|gate| gate.least <= size);
    drop(held);
    if let Some(Gate { begun, may_go_on, .. }) = gate
        && begun.send(()).is_ok()
    {
        // After an error the test has failed, or fails in `release`.
        let _ = may_go_on.recv_timeout(LONG);
    }
}

fn entry_points() -> EntryPoints {
    crate::replacing! {
        vkGetPhysicalDeviceMemoryProperties = PFN_vkGetPhysicalDeviceMemoryProperties(
            device: vk::PhysicalDevice,
            found: *mut vk::PhysicalDeviceMemoryProperties,
        ), |original| {
            // SAFETY: the caller keeps the function's own contract.
            unsafe { original(device, found) };
            // SAFETY: the driver has filled it.
            for memory in unsafe { &mut (*found).memory_types } {
                memory.property_flags &= !vk::MemoryPropertyFlags::HOST_COHERENT;
            }
        }
        vkInvalidateMappedMemoryRanges = PFN_vkInvalidateMappedMemoryRanges(
            device: vk::Device,
            count: u32,
            ranges: *const vk::MappedMemoryRange<'_>,
        ) -> vk::Result, |original| {
            let length = usize::try_from(count).expect("as many fit memory");
            // SAFETY: there are so many, by the caller's contract.
            let all = unsafe { std::slice::from_raw_parts(ranges, length) };
            begins(all.iter().map(|range| range.size).sum());
            // SAFETY: the caller keeps the function's own contract.
            unsafe { original(device, count, ranges) }
        }
        vkCreateBuffer = PFN_vkCreateBuffer(
            device: vk::Device,
            info: *const vk::BufferCreateInfo<'_>,
            callbacks: *const vk::AllocationCallbacks<'_>,
            buffer: *mut vk::Buffer,
        ) -> vk::Result, |original| {
            if REFUSES_BUFFERS.load(Ordering::SeqCst) {
                REFUSED_BUFFERS.fetch_add(1, Ordering::SeqCst);
                return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
            }
            // SAFETY: the caller keeps the function's own contract.
            unsafe { original(device, info, callbacks, buffer) }
        }
    }
}
