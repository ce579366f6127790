//! The code that runs before each replaced call.

use std::mem::transmute;
use std::sync::atomic::{AtomicUsize, Ordering};

use dml_vk::ash::vk::{self, Handle as _};

use crate::books;
use crate::entry_point::EntryPoint;
use crate::watch::Inside;

/// The driver's own vkDeviceWaitIdle.
static DEVICE_WAIT_IDLE: AtomicUsize = AtomicUsize::new(0);

/// Records a call; returns the result that it is to return instead of calling the driver, if any.
pub(crate) fn enter(entry_point: &'static EntryPoint, on: &impl Dispatched) -> Option<vk::Result> {
    let device = on.device();
    let (result, is_new_loss) = books::called(entry_point, device)?;
    if let (true, Some(device)) = (is_new_loss, device) {
        finish_work(vk::Device::from_raw(device));
    }
    Some(result)
}

/// Stores the driver's vkDeviceWaitIdle.
pub(crate) fn waits_with(function: unsafe extern "system" fn()) {
    DEVICE_WAIT_IDLE.store(function as usize, Ordering::SeqCst);
}

/// Waits until `device` has finished all submitted work.
fn finish_work(device: vk::Device) {
    let address = DEVICE_WAIT_IDLE.load(Ordering::SeqCst);
    if address == 0 {
        return;
    }
    // SAFETY: the address is that of the original, and looked up under this name.
    let wait = unsafe { transmute::<usize, vk::PFN_vkDeviceWaitIdle>(address) };
    let _inside = Inside::new("vkDeviceWaitIdle");
    // SAFETY: the device is alive, as it is being called; the injector's device has one queue, and who
    // calls it does so for nobody else.
    let result = unsafe { wait(device) };
    if result != vk::Result::SUCCESS {
        log::error!("vkDeviceWaitIdle before an injected loss: {result:?}");
    }
}

/// The first argument of an entry point.
pub(crate) trait Dispatched {
    /// The device that is called, if the call can report its loss.
    fn device(&self) -> Option<u64> {
        None
    }
}

impl Dispatched for vk::Instance {}
impl Dispatched for vk::PhysicalDevice {}
impl Dispatched for vk::CommandBuffer {}
impl<T> Dispatched for *const T {}
impl<T> Dispatched for *mut T {}

impl Dispatched for vk::Device {
    fn device(&self) -> Option<u64> {
        Some(self.as_raw())
    }
}

impl Dispatched for vk::Queue {
    fn device(&self) -> Option<u64> {
        books::device_of(*self)
    }
}
