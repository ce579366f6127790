//! `dml devices`: the list of Vulkan devices.

use std::io::Write as _;

use dml::core::capabilities::{Feature, Features};
use dml::vk::DeviceDesc;
use dml::{DeviceOptions, DeviceSelector, Instance, PhysicalDevice};
use dml_file::stdout;
use serde::Serialize;

use crate::ProfileArgs;

/// The arguments of `dml devices`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print a JSON array, with all limits
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    profile: ProfileArgs,
}

#[derive(Debug, Serialize)]
struct Entry {
    index: usize,
    /// Whether commands without --device use this device.
    default: bool,
    name: String,
    #[serde(rename = "type")]
    device_type: String,
    uuid: String,
    driver_name: String,
    driver_info: String,
    api_version: String,
    /// Why the device cannot be used; absent if it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    unusable: Option<String>,
    /// The optional features that the device offers.
    features: Vec<&'static str>,
    /// The optional features that the runtime enables.
    enabled_features: Vec<&'static str>,
    limits: Limits,
    /// The capabilities that the profile states and the device lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shortfalls: Vec<String>,
}

/// The limits, under Vulkan's names.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Limits {
    max_storage_buffer_range: u64,
    min_storage_buffer_offset_alignment: u64,
    max_uniform_buffer_range: u64,
    min_uniform_buffer_offset_alignment: u64,
    max_per_stage_descriptor_storage_buffers: u32,
    max_per_stage_descriptor_uniform_buffers: u32,
    max_compute_work_group_count: [u32; 3],
    max_compute_work_group_invocations: u32,
    max_compute_work_group_size: [u32; 3],
    max_compute_shared_memory_size: u32,
    subgroup_size: u32,
    min_subgroup_size: u32,
    max_subgroup_size: u32,
    max_push_constants_size: u32,
    max_memory_allocation_size: u64,
    max_buffer_size: u64,
}

impl Entry {
    fn new(index: usize, device: &PhysicalDevice, default: bool, desc: &DeviceDesc) -> Self {
        let info = device.info();
        let (capabilities, shortfalls) = device.capped(&desc.cap);
        let enabled = device.enablement(desc).features;
        let names = |features: Features| features.iter().map(Feature::name).collect();
        let limits = &capabilities.limits;
        Self {
            index,
            default,
            name: info.name.clone(),
            device_type: info.device_type.to_string(),
            uuid: info.device_uuid_text(),
            driver_name: info.driver_name.clone(),
            driver_info: info.driver_info.clone(),
            api_version: info.api_version_text(),
            unusable: device.unsuitable().map(str::to_owned),
            features: names(capabilities.features),
            enabled_features: names(enabled),
            shortfalls: shortfalls.iter().map(ToString::to_string).collect(),
            limits: Limits {
                max_storage_buffer_range: limits.max_storage_buffer_range,
                min_storage_buffer_offset_alignment: limits.min_storage_buffer_offset_alignment,
                max_uniform_buffer_range: limits.max_uniform_buffer_range,
                min_uniform_buffer_offset_alignment: limits.min_uniform_buffer_offset_alignment,
                max_per_stage_descriptor_storage_buffers: limits
                    .max_per_stage_descriptor_storage_buffers,
                max_per_stage_descriptor_uniform_buffers: limits
                    .max_per_stage_descriptor_uniform_buffers,
                max_compute_work_group_count: limits.max_compute_work_group_count,
                max_compute_work_group_invocations: limits.max_compute_work_group_invocations,
                max_compute_work_group_size: limits.max_compute_work_group_size,
                max_compute_shared_memory_size: limits.max_compute_shared_memory_size,
                subgroup_size: limits.subgroup_size,
                min_subgroup_size: limits.min_subgroup_size,
                max_subgroup_size: limits.max_subgroup_size,
                max_push_constants_size: limits.max_push_constants_size,
                max_memory_allocation_size: limits.max_memory_allocation_size,
                max_buffer_size: limits.max_buffer_size,
            },
        }
    }

    fn text(&self) -> String {
        let Self { index, name, device_type, uuid, driver_name, driver_info, api_version, .. } =
            self;
        let default = if self.default { " (default)" } else { "" };
        let driver = format!("{driver_name} {driver_info}");
        let mut lines = vec![
            format!("{index}: {name}{default}"),
            format!("   {device_type}, Vulkan {api_version}, {}", driver.trim()),
            format!("   UUID {uuid}"),
        ];
        let limits = &self.limits;
        lines.push(format!(
            "   storage range {}, buffer {}, allocation {}, offset alignment {}, \
             shared memory {}, subgroups of {}",
            bytes(limits.max_storage_buffer_range),
            bytes(limits.max_buffer_size),
            bytes(limits.max_memory_allocation_size),
            limits.min_storage_buffer_offset_alignment,
            bytes(limits.max_compute_shared_memory_size.into()),
            limits.subgroup_size,
        ));
        let enabled = |name: &&'static str| self.enabled_features.contains(name);
        let (on, off): (Vec<_>, Vec<_>) = self.features.iter().copied().partition(enabled);
        for (title, names) in [("enabled", on), ("supported, not enabled", off)] {
            if !names.is_empty() {
                lines.push(format!("   {title}: {}", names.join(", ")));
            }
        }
        if !self.shortfalls.is_empty() {
            lines.push("   stated by the profile, but missing:".to_owned());
            lines.extend(self.shortfalls.iter().map(|shortfall| format!("     {shortfall}")));
        }
        if let Some(reason) = &self.unusable {
            lines.push(format!("   cannot be used: {reason}"));
        }
        lines.join("\n")
    }
}

/// Prints every device; without any, the error tells what to install.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let cap = args.profile.cap()?;
    let options = DeviceOptions { cap: Some(cap), ..DeviceOptions::default() }.resolved()?;
    let instance = Instance::new(&options.instance)?;
    let devices = instance.physical_devices()?;
    // Without any device, the error explains what to install.
    let default = match instance.select(&DeviceSelector::Best) {
        Err(error) if devices.is_empty() => return Err(error.into()),
        selected => selected.ok().map(|device| device.raw()),
    };
    let without_robust_access = options.robust_access == Some(false);
    let desc = DeviceDesc { cap, without_robust_access, ..DeviceDesc::default() };
    let devices = devices.iter().enumerate();
    let entry = |(index, device): (usize, &PhysicalDevice)| {
        Entry::new(index, device, default == Some(device.raw()), &desc)
    };
    let entries: Vec<_> = devices.map(entry).collect();
    if args.json {
        writeln!(stdout(), "{}", serde_json::to_string_pretty(&entries)?)?;
    } else {
        let texts: Vec<String> = entries.iter().map(Entry::text).collect();
        writeln!(stdout(), "{}", texts.join("\n"))?;
    }
    Ok(())
}

/// A byte count in the largest binary unit that keeps it readable.
fn bytes(count: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.iter().find(|(unit, _)| count >= *unit) {
        Some((unit, name)) if count.is_multiple_of(*unit) => format!("{} {name}", count / unit),
        #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
        Some((unit, name)) => format!("{:.2} {name}", count as f64 / *unit as f64),
        None => format!("{count} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_counts_are_readable() {
        assert_eq!(bytes(1 << 27), "128 MiB");
        assert_eq!(bytes((1 << 32) - 1), "4.00 GiB");
        assert_eq!(bytes(100), "100 B");
    }
}
