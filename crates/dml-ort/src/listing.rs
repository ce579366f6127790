//! ONNX Runtime's list of devices: the devices, and the hardware that each belongs to.

use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use dml::vk::DeviceType;
use dml::{Instance, InstanceDesc, PhysicalDevice};

use crate::abi::{CPU, GPU, INFO, OrtEpDevice, OrtEpFactory, OrtHardwareDevice, WARNING};
use crate::api::{Api, Logger};
use crate::boundary::Result;
use crate::memory::MemoryInfo;
use crate::process;

/// The metadata key of an entry with the device's UUID.
pub(crate) const UUID: &str = "uuid";

/// An entry of the list that is released unless ONNX Runtime gets it.
pub(crate) struct Entry {
    api: Api,
    raw: *mut OrtEpDevice,
}

impl Entry {
    /// The entry for ONNX Runtime, which owns it from now on.
    pub(crate) fn into_raw(self) -> *mut OrtEpDevice {
        ManuallyDrop::new(self).raw
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // SAFETY: it was made by this library, and nobody else has it.
        unsafe { self.api.ep.ReleaseEpDevice()(self.raw) };
    }
}

/// The list of devices.
pub(crate) struct Listing {
    api: Api,
    logger: Logger,
    /// The memory of all devices, if this system has it.
    memory: Option<MemoryInfo>,
    /// Whether to list GPUs that ONNX Runtime does not find.
    allows_virtual: AtomicBool,
    /// The listed devices that ONNX Runtime did not find. ONNX Runtime refers to them until the factory is released.
    virtual_devices: Mutex<Vec<VirtualDevice>>,
    /// An instance that keeps drivers loaded: some leak a little memory each time they are unloaded, which would
    /// add up over sessions.
    instance: Mutex<Option<Instance>>,
}

struct VirtualDevice(*mut OrtHardwareDevice);

// SAFETY: the pointer is only handed to ONNX Runtime, which may be called on any thread.
unsafe impl Send for VirtualDevice {}

impl Listing {
    pub(crate) fn new(api: Api, logger: Logger, memory: Option<MemoryInfo>) -> Self {
        Self {
            api,
            logger,
            memory,
            allows_virtual: AtomicBool::new(false),
            virtual_devices: Mutex::default(),
            instance: Mutex::default(),
        }
    }

    /// Sets whether to list GPUs that ONNX Runtime does not find.
    pub(crate) fn allow_virtual(&self, is_allowed: bool) {
        self.allows_virtual.store(is_allowed, Ordering::Relaxed);
    }

    /// The usable devices of this machine, best first. Without Vulkan the list is empty, which is logged and
    /// not an error, so that an application may register the library on every machine.
    fn devices(&self) -> Vec<(usize, PhysicalDevice)> {
        if let Err(forked) = process::check() {
            self.logger.log(WARNING, &format!("no device: {forked}"));
            return vec![];
        }
        let mut kept = self.instance.lock().unwrap_or_else(PoisonError::into_inner);
        let found = Instance::new(&InstanceDesc::default())
            .and_then(|it| kept.insert(it).physical_devices());
        let mut all = match found {
            Ok(all) => all.into_iter().enumerate().collect::<Vec<_>>(),
            Err(error) => {
                self.logger.log(WARNING, &format!("no device: {error}"));
                return vec![];
            }
        };
        all.retain(|(_, device)| match device.unsuitable() {
            None => true,
            Some(reason) => {
                let name = &device.info().name;
                self.logger.log(INFO, &format!("{name} is not listed: {reason}"));
                false
            }
        });
        all.sort_by_key(|(_, device)| device.info().preference());
        all
    }

    /// ONNX Runtime's hardware for a device: a GPU with the same vendor and device id; else a virtual GPU, if the
    /// application allows these; else the CPU.
    ///
    /// # Safety
    ///
    /// The hardware is alive.
    unsafe fn hardware(
        &self,
        device: &PhysicalDevice,
        hardware: &[*const OrtHardwareDevice],
    ) -> Result<Option<*const OrtHardwareDevice>> {
        let (info, ort) = (device.info(), self.api.ort);
        // SAFETY: the hardware is alive, here and below.
        let is_of =
            |it: *const OrtHardwareDevice, kind| unsafe { ort.HardwareDevice_Type()(it) } == kind;
        let cpu = hardware.iter().copied().find(|it| is_of(*it, CPU));
        if matches!(info.device_type, DeviceType::Cpu | DeviceType::Other) {
            return Ok(cpu);
        }
        let gpu = hardware.iter().copied().find(|it| {
            // SAFETY: as above.
            let vendor = unsafe { ort.HardwareDevice_VendorId()(*it) };
            // SAFETY: as above.
            let number = unsafe { ort.HardwareDevice_DeviceId()(*it) };
            is_of(*it, GPU) && (vendor, number) == (info.vendor_id, info.device_id)
        });
        match gpu {
            None if self.allows_virtual.load(Ordering::Relaxed) => {
                self.virtual_device(device).map(Some)
            }
            found => Ok(found.or(cpu)),
        }
    }

    fn virtual_device(&self, device: &PhysicalDevice) -> Result<*const OrtHardwareDevice> {
        let info = device.info();
        let metadata = self.api.pairs(&[("is_virtual", "1"), ("Description", &info.name)]);
        let made = self.api.get(ptr::null_mut(), |out| {
            let create = self.api.ep.CreateHardwareDevice();
            let (vendor, name) = (info.vendor_id, c"dmlvk".as_ptr());
            // SAFETY: the texts and the pairs are copied.
            unsafe { create(GPU, vendor, info.device_id, name, metadata.raw, out) }
        })?;
        let mut all = self.virtual_devices.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(VirtualDevice(made));
        Ok(made)
    }

    /// # Safety
    ///
    /// As [`Listing::entries`].
    unsafe fn entry(
        &self,
        factory: *mut OrtEpFactory,
        (index, device): &(usize, PhysicalDevice),
        hardware: *const OrtHardwareDevice,
    ) -> Result<Entry> {
        let info = device.info();
        let metadata = self.api.pairs(&[
            ("name", &info.name),
            (UUID, &info.device_uuid_text()),
            ("index", &index.to_string()),
            ("type", &info.device_type.to_string()),
            ("driver", &info.driver_name),
        ]);
        let raw = self.api.get(ptr::null_mut(), |out| {
            let create = self.api.ep.CreateEpDevice();
            // SAFETY: the caller's promise; the pairs are copied.
            unsafe { create(factory, hardware, metadata.raw, ptr::null(), out) }
        })?;
        let entry = Entry { api: self.api, raw };
        if let Some(memory) = self.memory {
            // SAFETY: the entry was just made, and the description is alive as long as the factory.
            let added = unsafe { self.api.ep.EpDevice_AddAllocatorInfo()(raw, memory.raw) };
            self.api.check(added)?;
        }
        Ok(entry)
    }

    /// ONNX Runtime's list: an entry for each device, best first.
    ///
    /// # Safety
    ///
    /// The hardware is alive; the factory is alive as long as its entries are used.
    pub(crate) unsafe fn entries(
        &self,
        factory: *mut OrtEpFactory,
        hardware: &[*const OrtHardwareDevice],
        room: usize,
    ) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for device in self.devices() {
            // SAFETY: the caller's promise.
            match unsafe { self.hardware(&device.1, hardware) }? {
                Some(hardware) if entries.len() < room => {
                    // SAFETY: the caller's promise.
                    entries.push(unsafe { self.entry(factory, &device, hardware) }?);
                }
                _ => {
                    let name = &device.1.info().name;
                    let message = format!("{name} is not listed: there is no place for it");
                    self.logger.log(WARNING, &message);
                }
            }
        }
        Ok(entries)
    }
}

impl Drop for Listing {
    fn drop(&mut self) {
        let all = self.virtual_devices.get_mut().unwrap_or_else(PoisonError::into_inner);
        for device in all.drain(..) {
            // SAFETY: it was made by this object, whose entries are gone.
            unsafe { self.api.ep.ReleaseHardwareDevice()(device.0) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::abi::{OrtApi, OrtEpApi};
    use crate::boundary::Failure;

    static RELEASED: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn release(_entry: *mut OrtEpDevice) {
        RELEASED.fetch_add(1, Ordering::Relaxed);
    }

    #[test]
    fn entries_are_released_where_a_later_one_fails() {
        let ort = Box::leak(Box::new(OrtApi::with(&[])));
        let release: unsafe extern "C" fn(*mut OrtEpDevice) = release;
        let ep = Box::leak(Box::new(OrtEpApi::with(&[(1, release as *const _)])));
        let api = Api { ort, ep };
        let entry = || Ok(Entry { api, raw: ptr::null_mut() });
        let list = |last| [entry(), entry(), last].into_iter().collect::<Result<Vec<Entry>>>();
        assert!(list(Err(Failure::invalid("no room"))).is_err());
        assert_eq!(RELEASED.load(Ordering::Relaxed), 2);
        let handed_over = list(entry()).unwrap().into_iter().map(Entry::into_raw);
        assert_eq!(handed_over.count(), 3);
        assert_eq!(RELEASED.load(Ordering::Relaxed), 2);
    }
}
