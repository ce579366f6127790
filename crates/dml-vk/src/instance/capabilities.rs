//! Queries the properties, limits and features of a physical device.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::sync::Arc;

use ash::{khr, vk};
use dml_core::capabilities::{Capabilities, Feature, Features, Limits};

use crate::instance::InstanceShared;
use crate::instance::features::{FeatureStructures, PropertyStructures, known};
use crate::instance::info::{DeviceInfo, DeviceType};

/// The physical device to query.
pub(crate) struct Source<'a> {
    pub(crate) instance: &'a Arc<InstanceShared>,
    pub(crate) handle: vk::PhysicalDevice,
    pub(crate) extensions: &'a HashSet<CString>,
}

/// The results of the queries.
pub(crate) struct DeviceAnswers {
    pub(crate) info: DeviceInfo,
    pub(crate) capabilities: Capabilities,
    pub(crate) non_coherent_atom_size: u64,
}

impl Source<'_> {
    /// Queries everything. A device of Vulkan 1.0 is only asked for its identity.
    pub(crate) fn query(&self) -> DeviceAnswers {
        let core = self.instance.table.core();
        // SAFETY: the handle was enumerated from this instance, which is alive.
        let basic = unsafe { core.get_physical_device_properties(self.handle) };
        let version = basic.api_version.min(self.instance.api_version);
        if version < vk::API_VERSION_1_1 {
            return DeviceAnswers {
                info: info(&basic, &vk::PhysicalDeviceIDProperties::default(), None),
                capabilities: Capabilities::vulkan_minimum(),
                non_coherent_atom_size: basic.limits.non_coherent_atom_size,
            };
        }
        self.query_1_1(version)
    }

    fn query_1_1(&self, version: u32) -> DeviceAnswers {
        let known = known(version, self.extensions);
        let has_driver = self.has(version, vk::API_VERSION_1_2, khr::driver_properties::NAME);
        let has_maintenance4 = self.has(version, vk::API_VERSION_1_3, khr::maintenance4::NAME);
        let mut id = vk::PhysicalDeviceIDProperties::default();
        let mut maintenance3 = vk::PhysicalDeviceMaintenance3Properties::default();
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut maintenance4 = vk::PhysicalDeviceMaintenance4Properties::default();
        let mut sizes = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
        let mut of_features = PropertyStructures::default();
        let mut properties = vk::PhysicalDeviceProperties2::default()
            .push_next(&mut id)
            .push_next(&mut maintenance3);
        properties = of_features.chain(known, properties);
        if has_driver {
            properties = properties.push_next(&mut driver);
        }
        if has_maintenance4 {
            properties = properties.push_next(&mut maintenance4);
        }
        if known.has(Feature::SubgroupSizeControl) {
            properties = properties.push_next(&mut sizes);
        }
        let core = self.instance.table.core();
        // SAFETY: the device supports 1.1; every chained structure is one that it knows.
        unsafe { core.get_physical_device_properties2(self.handle, &mut properties) };
        let basic = properties.properties;
        let features = self.features(known).or(of_features.features());
        let size = of_features.subgroup.subgroup_size;
        let of_kernels_choice = [sizes.min_subgroup_size, sizes.max_subgroup_size];
        let has_choice = features.has(Feature::SubgroupSizeControl);
        let [min_subgroup_size, max_subgroup_size] =
            if has_choice { of_kernels_choice } else { [size; 2] };
        let max_allocation = maintenance3.max_memory_allocation_size;
        let limits = Limits {
            max_memory_allocation_size: max_allocation,
            max_buffer_size: if has_maintenance4 {
                maintenance4.max_buffer_size
            } else {
                max_allocation
            },
            cooperative_matrix_size: match features.has(Feature::CooperativeMatrix) {
                true => self.cooperative_matrix_size(),
                false => [0; 3],
            },
            subgroup_size: size,
            min_subgroup_size,
            max_subgroup_size,
            ..limits(&basic.limits)
        };
        DeviceAnswers {
            info: info(&basic, &id, has_driver.then_some(&driver)),
            capabilities: Capabilities { features, limits },
            non_coherent_atom_size: basic.limits.non_coherent_atom_size,
        }
    }

    /// The features in `known` that the device supports.
    fn features(&self, known: Features) -> Features {
        let core = self.instance.table.core();
        let answers = FeatureStructures::answered(known, |chain| {
            // SAFETY: the device supports 1.1; every chained structure is one that it knows.
            unsafe { core.get_physical_device_features2(self.handle, chain) };
        });
        answers.features()
    }

    /// The largest cooperative matrices of FLOAT16 with sums of FLOAT32. The device has the extension.
    fn cooperative_matrix_size(&self) -> [u32; 3] {
        let table = self.instance.table.cooperative_matrix();
        let get = table.get_physical_device_cooperative_matrix_properties_khr;
        let mut count = 0;
        // SAFETY: the device has the extension; without a place for them, only their number is told.
        let told = unsafe { get(self.handle, &raw mut count, std::ptr::null_mut()) };
        let mut all = vec![vk::CooperativeMatrixPropertiesKHR::default(); count as usize];
        // SAFETY: `all` has `count` elements, each with its structure's type.
        let got = unsafe { get(self.handle, &raw mut count, all.as_mut_ptr()) };
        if told != vk::Result::SUCCESS || got != vk::Result::SUCCESS {
            return [0; 3];
        }
        let serves = |it: &&vk::CooperativeMatrixPropertiesKHR<'_>| {
            let factors = [it.a_type, it.b_type] == [vk::ComponentTypeKHR::FLOAT16; 2];
            let sums = [it.c_type, it.result_type] == [vk::ComponentTypeKHR::FLOAT32; 2];
            factors && sums && it.scope == vk::ScopeKHR::SUBGROUP
        };
        let sizes = all.iter().take(count as usize).filter(serves);
        let sizes = sizes.map(|size| [size.m_size, size.n_size, size.k_size]);
        sizes.max_by_key(|size| size.iter().product::<u32>()).unwrap_or_default()
    }

    /// Whether the device has the functionality of `extension`, as an extension or in the core.
    fn has(&self, version: u32, core_since: u32, extension: &CStr) -> bool {
        version >= core_since || self.extensions.contains(extension)
    }
}

fn info(
    basic: &vk::PhysicalDeviceProperties,
    id: &vk::PhysicalDeviceIDProperties<'_>,
    driver: Option<&vk::PhysicalDeviceDriverProperties<'_>>,
) -> DeviceInfo {
    let text = |string: &CStr| string.to_string_lossy().into_owned();
    DeviceInfo {
        name: basic.device_name_as_c_str().map(text).unwrap_or_default(),
        vendor_id: basic.vendor_id,
        device_id: basic.device_id,
        device_type: DeviceType::from_vk(basic.device_type),
        api_version: basic.api_version,
        driver_version: basic.driver_version,
        driver_id: driver.map(|driver| driver.driver_id).unwrap_or_default(),
        driver_name: driver
            .and_then(|driver| driver.driver_name_as_c_str().ok())
            .map(text)
            .unwrap_or_default(),
        driver_info: driver
            .and_then(|driver| driver.driver_info_as_c_str().ok())
            .map(text)
            .unwrap_or_default(),
        device_uuid: id.device_uuid,
    }
}

/// The limits in VkPhysicalDeviceLimits; other limits get the least value that Vulkan allows.
fn limits(limits: &vk::PhysicalDeviceLimits) -> Limits {
    Limits {
        max_storage_buffer_range: u64::from(limits.max_storage_buffer_range),
        min_storage_buffer_offset_alignment: limits.min_storage_buffer_offset_alignment,
        max_uniform_buffer_range: u64::from(limits.max_uniform_buffer_range),
        min_uniform_buffer_offset_alignment: limits.min_uniform_buffer_offset_alignment,
        max_per_stage_descriptor_storage_buffers: limits.max_per_stage_descriptor_storage_buffers,
        max_per_stage_descriptor_uniform_buffers: limits.max_per_stage_descriptor_uniform_buffers,
        max_compute_work_group_count: limits.max_compute_work_group_count,
        max_compute_work_group_invocations: limits.max_compute_work_group_invocations,
        max_compute_work_group_size: limits.max_compute_work_group_size,
        max_compute_shared_memory_size: limits.max_compute_shared_memory_size,
        max_push_constants_size: limits.max_push_constants_size,
        ..Capabilities::vulkan_minimum().limits
    }
}
