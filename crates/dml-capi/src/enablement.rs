//! The features and extensions that a caller should enable on its own device.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::{LazyLock, Mutex, PoisonError};

use dml::ash::vk;
use dml::core::capabilities::{CapabilityCap, Features};
use dml::vk::{DeviceDesc, Enablement, PhysicalDevice, RawPhysicalDevice};

use crate::boundary::{Failure, Result, call};
use crate::memory::{read_sized, write};
use crate::types::{HRESULT, PFN_vkGetInstanceProcAddr, VkInstance, VkPhysicalDevice};

/// A physical device of the caller's, for dmlvk_get_enablement.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DmlVkEnablementDesc {
    /// sizeof(DmlVkEnablementDesc).
    pub struct_size: u32,
    /// VkApplicationInfo::apiVersion of the instance: at least VK_API_VERSION_1_1.
    pub api_version: u32,
    /// The loader's vkGetInstanceProcAddr.
    pub get_instance_proc_addr: PFN_vkGetInstanceProcAddr,
    /// The instance.
    pub instance: VkInstance,
    /// The physical device.
    pub physical_device: VkPhysicalDevice,
    /// DMLVK_FEATURE_* of the features that are not to be enabled; may be 0.
    pub unwanted_features: u64,
}

/// Features and extensions to enable at vkCreateDevice. The pointers are valid as long as the library is
/// loaded, and their targets must not be changed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DmlVkEnablement {
    /// DMLVK_FEATURE_* of the features that are enabled with `chain` and `extensions`, for DmlVkRawDeviceDesc.
    /// Some are properties of the device, which only need their extension.
    pub features: u64,
    /// The features as a chain of structures, for VkDeviceCreateInfo::pNext or the end of the caller's chain;
    /// pEnabledFeatures must be null. The chain has a VkPhysicalDeviceFeatures2, and structures of single
    /// extensions: a program with one of these or a VkPhysicalDeviceVulkan12Features in its own chain sets
    /// the members there instead.
    pub chain: *const c_void,
    /// Device extensions, for VkDeviceCreateInfo::ppEnabledExtensionNames, and for DmlVkRawDeviceDesc.
    pub extensions: *const *const c_char,
    /// The number of extensions.
    pub extension_count: u32,
    /// 0.
    pub reserved: u32,
}

/// Gives the features and extensions that the library can use, to enable on the caller's own device. Only
/// timelineSemaphore is required, and only if the library submits to a queue. The caller states the enabled
/// ones to dmlvk_wrap_device; the library uses no others.
///
/// Fails with E_INVALIDARG if a handle is null, the physical device does not belong to the instance, the version
/// is below 1.1, or a feature is unknown.
///
/// # Safety
///
/// `desc` is null or points to a DmlVkEnablementDesc; `enablement` is null or points to memory for a
/// DmlVkEnablement. The handles are valid and belong together.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_get_enablement(
    desc: *const DmlVkEnablementDesc,
    enablement: *mut DmlVkEnablement,
) -> HRESULT {
    call("dmlvk_get_enablement", || {
        // SAFETY: the caller's promise.
        let desc = unsafe { read_sized(desc, "desc") }?;
        // SAFETY: the caller's promise.
        let found = kept(unsafe { ask(&desc) }?);
        let answer = DmlVkEnablement {
            features: found.features.bits(),
            chain: ptr::from_ref(found.chain).cast(),
            extensions: found.extensions.as_ptr(),
            extension_count: u32::try_from(found.extensions.len()).unwrap_or(0),
            reserved: 0,
        };
        // SAFETY: the caller's promise.
        unsafe { write(enablement, answer, "enablement") }
    })
}

/// # Safety
///
/// As [`dmlvk_get_enablement`].
unsafe fn ask(desc: &DmlVkEnablementDesc) -> Result<Enablement> {
    let get_instance_proc_addr = desc
        .get_instance_proc_addr
        .ok_or_else(|| Failure::invalid("desc.get_instance_proc_addr", "null"))?;
    let unwanted = features(desc.unwanted_features, "desc.unwanted_features")?;
    let raw = RawPhysicalDevice {
        get_instance_proc_addr,
        entry_points: dml::EntryPoints::default(),
        instance: desc.instance,
        api_version: desc.api_version,
        instance_extensions: &[],
        physical_device: desc.physical_device,
    };
    // SAFETY: the caller's promise.
    let physical = unsafe { PhysicalDevice::from_raw(&raw) }?;
    let cap = unwanted.iter().fold(CapabilityCap::NONE, |cap, it| cap.with_feature(it, false));
    Ok(physical.enablement(&DeviceDesc { cap, ..DeviceDesc::default() }))
}

/// The features of these bits.
pub(crate) fn features(bits: u64, name: &str) -> Result<Features> {
    Features::from_bits(bits).ok_or_else(|| {
        let known = Features::ALL.bits();
        let problem = format_args!("{bits:#x} has unknown bits (accepted: bits of {known:#x})");
        Failure::invalid(name, problem)
    })
}

/// A cached answer, which C has pointers into.
#[derive(Clone, Copy)]
struct CachedEnablement {
    features: Features,
    chain: &'static vk::PhysicalDeviceFeatures2<'static>,
    extensions: &'static [*const c_char],
}

// SAFETY: the pointers are to names that are part of the library, and nothing of it is ever changed.
unsafe impl Send for CachedEnablement {}

/// The cached answer for `found`, which is never freed. There is one for each combination of features and
/// extensions.
fn kept(mut found: Enablement) -> CachedEnablement {
    type Key = (Features, Vec<&'static CStr>);
    static KEPT: LazyLock<Mutex<HashMap<Key, CachedEnablement>>> = LazyLock::new(Mutex::default);
    found.extensions.sort_unstable();
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    *kept.entry((found.features, found.extensions.clone())).or_insert_with(|| {
        let extensions = found.extensions.iter().map(|extension| extension.as_ptr()).collect();
        let features = found.features;
        let chain = Box::leak(Box::new(Box::leak(Box::new(found)).chain()));
        CachedEnablement { features, chain, extensions: Vec::leak(extensions) }
    })
}

#[cfg(test)]
mod tests {
    use dml::core::capabilities::Feature;

    use super::*;

    #[test]
    fn every_feature_has_a_bit_of_its_own_and_no_other_bit_is_accepted() {
        for feature in Feature::ALL {
            let bit = 1 << feature as u64;
            let found = features(bit, "features").ok();
            assert_eq!(found, Some(Features::NONE.with(feature, true)));
        }
        assert!(features(1 << 63, "features").is_err());
    }
}
