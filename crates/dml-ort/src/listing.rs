//! ONNX Runtime's list of devices: which there are, and which hardware each is.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use dml::vk::DeviceType;
use dml::{Instance, InstanceDesc, PhysicalDevice};

use crate::abi::{CPU, GPU, INFO, OrtEpDevice, OrtEpFactory, OrtHardwareDevice, WARNING};
use crate::api::{Api, Logger};
use crate::boundary::Result;

/// Under which key an entry says which device it is.
pub(crate) const UUID: &str = "uuid";

/// What lists devices.
pub(crate) struct Listing {
    api: Api,
    logger: Logger,
    /// Whether the application wants GPUs listed that ONNX Runtime does not find.
    allows_virtual: AtomicBool,
    /// Those devices. ONNX Runtime refers to them until the factory is released.
    virtual_devices: Mutex<Vec<VirtualDevice>>,
    /// Keeps drivers loaded: some leave a little behind each time that they are unloaded, which sessions
    /// that come and go would add up.
    instance: Mutex<Option<Instance>>,
}

struct VirtualDevice(*mut OrtHardwareDevice);

// SAFETY: the pointer is only handed to ONNX Runtime, which may be called on any thread.
unsafe impl Send for VirtualDevice {}

impl Listing {
    pub(crate) fn new(api: Api, logger: Logger) -> Self {
        Self {
            api,
            logger,
            allows_virtual: AtomicBool::new(false),
            virtual_devices: Mutex::default(),
            instance: Mutex::default(),
        }
    }

    /// Whether GPUs are listed that ONNX Runtime does not find.
    pub(crate) fn allow_virtual(&self, is_allowed: bool) {
        self.allows_virtual.store(is_allowed, Ordering::Relaxed);
    }

    /// The devices of this machine that can be used, best first. Without Vulkan there are none, which is
    /// logged and no error: an application may register the library wherever it runs.
    fn devices(&self) -> Vec<(usize, PhysicalDevice)> {
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

    /// The hardware that ONNX Runtime knows a device as: a GPU by its numbers; else a virtual one, if the
    /// application allows those; else the CPU.
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
    ) -> Result<*mut OrtEpDevice> {
        let info = device.info();
        let metadata = self.api.pairs(&[
            ("name", &info.name),
            (UUID, &info.device_uuid_text()),
            ("index", &index.to_string()),
            ("type", &info.device_type.to_string()),
            ("driver", &info.driver_name),
        ]);
        self.api.get(ptr::null_mut(), |out| {
            let create = self.api.ep.CreateEpDevice();
            // SAFETY: the caller's promise; the pairs are copied.
            unsafe { create(factory, hardware, metadata.raw, ptr::null(), out) }
        })
    }

    /// ONNX Runtime's list: an entry for each device, best first.
    ///
    /// # Safety
    ///
    /// The hardware is alive; the factory is, as long as its entries are used.
    pub(crate) unsafe fn entries(
        &self,
        factory: *mut OrtEpFactory,
        hardware: &[*const OrtHardwareDevice],
        room: usize,
    ) -> Result<Vec<*mut OrtEpDevice>> {
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
