//! Devices that the runtime creates, and functions for all devices.

use std::ffi::{CStr, c_char};

use dml::{
    CapabilityCap, Device, DeviceOptions, DeviceSelector, FeatureLevel, HResult, InstanceDesc,
    Numerics, Validation, profiles,
};

use crate::boundary::{Failure, Result, S_FALSE, S_OK, call_for_code};
use crate::handle::{Object, create, get, remove};
use crate::memory::{read_sized, reserved, text};
use crate::types::{BOOL, DML_FEATURE_LEVEL, DmlVkDevice, DmlVkNumerics, HRESULT};

/// The version of this interface. It changes with every change that requires programs to be compiled again.
pub const DMLVK_ABI_VERSION: u32 = 3;

/// Results have the same bits on all devices: each product is rounded before it is added. The default.
pub const DMLVK_NUMERICS_EXACT: DmlVkNumerics = 0;
/// In sums of FLOAT32 products the driver may fuse a multiplication and the following addition, which is twice
/// as fast on some GPUs. Sums may then differ between devices; on one device they have the same bits from run
/// to run. All other results are those of DMLVK_NUMERICS_EXACT.
pub const DMLVK_NUMERICS_FAST: DmlVkNumerics = 1;

/// The options of dmlvk_create_device. Zeros mean the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DmlVkDeviceDesc {
    /// sizeof(DmlVkDeviceDesc).
    pub struct_size: u32,
    /// DirectML's minimum feature level: creation fails if the maximum is below it. 0: no minimum.
    pub minimum_feature_level: DML_FEATURE_LEVEL,
    /// The feature level of the device: operators, dimension counts and data types of higher levels are
    /// refused. 0: the highest level.
    pub maximum_feature_level: DML_FEATURE_LEVEL,
    /// Whether creation requires VK_LAYER_KHRONOS_validation.
    pub require_validation: BOOL,
    /// The device, as UTF-8: part of its name, its index, its UUID, or "best". Null: the best one.
    pub device: *const c_char,
    /// A device profile that caps the device's features and limits, as UTF-8: a name or the path of a file
    /// (docs/profiles.md). Null: the profile in the environment variable DML_PROFILE. Empty: no cap, whatever
    /// the environment says.
    pub profile: *const c_char,
    /// DMLVK_NUMERICS_*.
    pub numerics: DmlVkNumerics,
    /// 0.
    pub reserved: u32,
}

impl Object for Device {
    const KIND: &'static str = "device";
}

/// A device is made from no other object.
pub(crate) const NO_PARENT: Option<DmlVkDevice> = None;

/// The library's version of this interface. It must be DMLVK_ABI_VERSION of the header.
#[unsafe(no_mangle)]
pub extern "C" fn dmlvk_abi_version() -> u32 {
    DMLVK_ABI_VERSION
}

/// Creates a device that owns its Vulkan objects: instance, device, queue and memory.
///
/// Fails with DXGI_ERROR_UNSUPPORTED if there is no Vulkan or no usable device, or if the minimum feature level
/// is above the maximum; with E_INVALIDARG if a level, the numerics, the size, a text or the profile (also that
/// of the environment) is invalid, or if no device or several devices match `device`.
///
/// # Safety
///
/// `desc` is null or points to a DmlVkDeviceDesc whose texts are null or strings; `device` is null or points to
/// memory for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_create_device(
    desc: *const DmlVkDeviceDesc,
    device: *mut DmlVkDevice,
) -> HRESULT {
    let make = || {
        // SAFETY: the caller's promise.
        let desc = unsafe { read_sized(desc, "desc") }?;
        let levels = levels(desc.minimum_feature_level, desc.maximum_feature_level)?;
        let numerics = numerics(desc.numerics, "desc.numerics")?;
        reserved(desc.reserved, "desc.reserved")?;
        // SAFETY: the caller's promise.
        let selector = match unsafe { utf8(desc.device, "desc.device") }? {
            None => DeviceSelector::Best,
            Some(text) => text.parse()?,
        };
        // SAFETY: the caller's promise.
        let cap = match unsafe { utf8(desc.profile, "desc.profile") }? {
            None => None,
            Some("") => Some(CapabilityCap::NONE),
            Some(text) => Some(profiles::find(text).map_err(dml::Error::from)?.cap),
        };
        let validation =
            if desc.require_validation == 0 { Validation::Off } else { Validation::Required };
        let instance = InstanceDesc { validation, ..InstanceDesc::default() };
        Ok(Device::open_with(&DeviceOptions { selector, cap, instance, numerics, ..levels })?)
    };
    // SAFETY: the caller's promise.
    unsafe { create("dmlvk_create_device", (device, "device"), NO_PARENT, make) }
}

/// # Safety
///
/// `pointer` is null or points to a string that outlives the result.
unsafe fn utf8<'a>(pointer: *const c_char, name: &str) -> Result<Option<&'a str>> {
    // SAFETY: the caller's promise.
    let text = unsafe { text(pointer) }.map(CStr::to_str).transpose();
    text.map_err(|_| Failure::invalid(name, "no UTF-8"))
}

/// The options with these two levels; 0 means the default.
pub(crate) fn levels(minimum: u32, maximum: u32) -> Result<DeviceOptions> {
    let level = |value: u32, name: &str| match value {
        0 => Ok(None),
        value => FeatureLevel::from_dml_value(value).map(Some).ok_or_else(|| {
            let accepted = FeatureLevel::ALL.map(|it| format!("{:#x}", it.dml_value())).join(", ");
            Failure::invalid(name, format_args!("{value:#x} (accepted: 0, {accepted})"))
        }),
    };
    Ok(DeviceOptions {
        minimum_feature_level: level(minimum, "minimum_feature_level")?,
        feature_level: level(maximum, "maximum_feature_level")?.unwrap_or_default(),
        ..DeviceOptions::default()
    })
}

/// The numerics with this number.
pub(crate) fn numerics(value: DmlVkNumerics, name: &str) -> Result<Numerics> {
    match value {
        DMLVK_NUMERICS_EXACT => Ok(Numerics::Exact),
        DMLVK_NUMERICS_FAST => Ok(Numerics::Fast),
        other => {
            let accepted = "DMLVK_NUMERICS_EXACT (0) or DMLVK_NUMERICS_FAST (1)";
            Err(Failure::invalid(name, format_args!("{other}, expected {accepted}")))
        }
    }
}

/// Destroys a device and all objects made from it; their handles are invalid from then on. Waits for work that
/// this library submitted. Objects that the caller owns are not destroyed.
///
/// S_FALSE: the device is destroyed, but another thread is still in a call on it, and a wrapped VkDevice must
/// not be destroyed before that call has returned.
///
/// # Safety
///
/// Command buffers that were recorded from binding tables of the device have completed, and are not
/// submitted again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_destroy_device(device: DmlVkDevice) -> HRESULT {
    call_for_code("dmlvk_destroy_device", || {
        let live = get::<Device, _>(device)?.vulkan().live_objects();
        remove::<Device, _>(device)?;
        Ok(if live.count() == 0 { S_OK } else { S_FALSE })
    })
}

/// DXGI_ERROR_DEVICE_REMOVED if the VkDevice was lost, else S_OK. A lost device stays lost: destroy it and
/// create another.
#[unsafe(no_mangle)]
pub extern "C" fn dmlvk_get_device_removed_reason(device: DmlVkDevice) -> HRESULT {
    call_for_code("dmlvk_get_device_removed_reason", || {
        let lost = get::<Device, _>(device)?.vulkan().is_lost();
        Ok(if lost { HResult::DXGI_ERROR_DEVICE_REMOVED.0.cast_signed() } else { S_OK })
    })
}
