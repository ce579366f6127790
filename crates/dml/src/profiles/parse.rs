//! The form of profile files.

use std::path::Path;

use dml_core::capabilities::{ApiVersion, Capabilities, CapabilityCap, Feature, Limit};
use dml_core::suggestion;
use toml::{Table, Value};

use super::error::{Error, InvalidKey};
use super::{Origin, Profile};

/// Limits by key; a key has several limits if Vulkan has an array.
const LIMITS: [(&str, &[Limit]); 16] = [
    ("maxStorageBufferRange", &[Limit::MaxStorageBufferRange]),
    ("minStorageBufferOffsetAlignment", &[Limit::MinStorageBufferOffsetAlignment]),
    ("maxUniformBufferRange", &[Limit::MaxUniformBufferRange]),
    ("minUniformBufferOffsetAlignment", &[Limit::MinUniformBufferOffsetAlignment]),
    ("maxPerStageDescriptorStorageBuffers", &[Limit::MaxPerStageDescriptorStorageBuffers]),
    ("maxPerStageDescriptorUniformBuffers", &[Limit::MaxPerStageDescriptorUniformBuffers]),
    (
        "maxComputeWorkGroupCount",
        &[
            Limit::MaxComputeWorkGroupCountX,
            Limit::MaxComputeWorkGroupCountY,
            Limit::MaxComputeWorkGroupCountZ,
        ],
    ),
    ("maxComputeWorkGroupInvocations", &[Limit::MaxComputeWorkGroupInvocations]),
    (
        "maxComputeWorkGroupSize",
        &[
            Limit::MaxComputeWorkGroupSizeX,
            Limit::MaxComputeWorkGroupSizeY,
            Limit::MaxComputeWorkGroupSizeZ,
        ],
    ),
    ("maxComputeSharedMemorySize", &[Limit::MaxComputeSharedMemorySize]),
    ("subgroupSize", &[Limit::SubgroupSize]),
    ("minSubgroupSize", &[Limit::MinSubgroupSize]),
    ("maxSubgroupSize", &[Limit::MaxSubgroupSize]),
    ("maxPushConstantsSize", &[Limit::MaxPushConstantsSize]),
    ("maxMemoryAllocationSize", &[Limit::MaxMemoryAllocationSize]),
    ("maxBufferSize", &[Limit::MaxBufferSize]),
];

/// Limits that the files of devices may leave out; the default is Vulkan's minimum.
const ASSUMED: [Limit; 4] = [
    Limit::MaxUniformBufferRange,
    Limit::MinUniformBufferOffsetAlignment,
    Limit::MaxPerStageDescriptorUniformBuffers,
    Limit::MaxComputeSharedMemorySize,
];

/// Features that the files of devices do not state, and the version of Vulkan that requires them.
const REQUIRED: [(Feature, ApiVersion); 1] =
    [(Feature::ShaderIntegerDotProduct, ApiVersion::new(1, 3))];

/// Keys whose value is an array of three integers.
const ARRAYS: [&str; 2] = ["maxComputeWorkGroupCount", "maxComputeWorkGroupSize"];

const KEYS: [&str; 8] =
    ["about", "device", "driver", "source", "api_version", "transfer_usage", "features", "limits"];

pub(crate) fn profile(file: &str, text: &str) -> Result<Profile, Error> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let index = before.matches('\n').count();
        let line = text.lines().nth(index).unwrap_or_default().trim();
        let problem = format!("line {}: {} in `{line}`", index + 1, error.message());
        Error::Syntax { file: file.to_owned(), problem }
    })?;
    let read = || {
        known(&table, "", &KEYS)?;
        Ok((origin(&table)?, cap(&table)?))
    };
    let (origin, cap) = read().map_err(|key| Error::Key { file: file.to_owned(), key })?;
    let name = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Profile { name, origin, cap })
}

fn origin(table: &Table) -> Result<Origin, InvalidKey> {
    if !table.contains_key("device") {
        let foreign = ["driver", "source"].into_iter().find(|key| table.contains_key(*key));
        return match foreign {
            Some(key) => Err(InvalidKey::new(key, "stands without device", "a device as well")),
            None => Ok(Origin::MadeUp(required(table, "about")?)),
        };
    }
    // The profile of a real device must state its version of Vulkan.
    required(table, "api_version")?;
    Ok(Origin::Device {
        device: required(table, "device")?,
        driver: required(table, "driver")?,
        source: required(table, "source")?,
    })
}

fn cap(table: &Table) -> Result<CapabilityCap, InvalidKey> {
    let mut cap = CapabilityCap::NONE;
    if table.contains_key("api_version") {
        let text = required(table, "api_version")?;
        cap = cap.with_api_version(text.parse().map_err(|_| {
            InvalidKey::new(
                "api_version",
                format!("\"{text}\" is not a version"),
                "\"1.1\" and above",
            )
        })?);
    }
    if let Some(value) = table.get("transfer_usage")
        && !boolean("transfer_usage", value)?
    {
        cap = cap.without_transfer_usage();
    }
    let cap = limits(features(cap, table)?, table)?;
    Ok(if table.contains_key("device") { assumed(cap) } else { cap })
}

/// The cap of a real device, with the values that its file does not state: Vulkan's minimum for limits, and
/// only the features that every device of its version has.
fn assumed(mut cap: CapabilityCap) -> CapabilityCap {
    let least = Capabilities::vulkan_minimum();
    for feature in Feature::ALL.into_iter().filter(|it| !least.features.has(*it)) {
        if cap.feature(feature).is_none() {
            let is_required = REQUIRED.iter().any(|(required, since)| {
                *required == feature && cap.api_version().is_some_and(|version| version >= *since)
            });
            cap = cap.with_feature(feature, is_required);
        }
    }
    let unstated = |it: &&Limit| cap.limit(**it).is_none();
    ASSUMED.iter().filter(unstated).fold(cap, |cap, limit| {
        cap.with_limit(*limit, least.limits.get(*limit)).expect("Vulkan's own limit is one")
    })
}

fn features(mut cap: CapabilityCap, table: &Table) -> Result<CapabilityCap, InvalidKey> {
    for (key, value) in section(table, "features", &Feature::ALL.map(Feature::name))? {
        let offered = boolean(&format!("features.{key}"), value)?;
        for feature in Feature::ALL.into_iter().filter(|feature| feature.name() == key) {
            cap = cap.with_feature(feature, offered);
        }
    }
    Ok(cap)
}

fn limits(mut cap: CapabilityCap, table: &Table) -> Result<CapabilityCap, InvalidKey> {
    for (key, value) in section(table, "limits", &LIMITS.map(|(key, _)| key))? {
        let path = format!("limits.{key}");
        let values = integers(&path, value, ARRAYS.contains(&key.as_str()))?;
        let members = LIMITS.iter().filter(|(name, _)| name == key).flat_map(|(_, limits)| *limits);
        for (limit, value) in members.zip(values) {
            cap = cap.with_limit(*limit, value).map_err(|error| {
                InvalidKey::new(&path, format!("{value} {}", error.problem), error.accepted)
            })?;
        }
    }
    Ok(cap)
}

/// The keys and values of an optional table.
fn section<'a>(
    table: &'a Table,
    name: &str,
    accepted: &[&str],
) -> Result<impl Iterator<Item = (&'a String, &'a Value)>, InvalidKey> {
    let section = match table.get(name) {
        None => None,
        Some(Value::Table(section)) => Some(section),
        Some(other) => return Err(wrong(name, other, "a table")),
    };
    if let Some(section) = section {
        known(section, &format!("{name}."), accepted)?;
    }
    Ok(section.into_iter().flatten())
}

fn known(table: &Table, prefix: &str, accepted: &[&str]) -> Result<(), InvalidKey> {
    match table.keys().find(|key| !accepted.contains(&key.as_str())) {
        Some(key) => {
            let problem = format!("unknown key{}", suggestion(key, accepted.iter().copied()));
            Err(InvalidKey::new(format!("{prefix}{key}"), problem, accepted.join(", ")))
        }
        None => Ok(()),
    }
}

/// A text that is not empty.
fn required(table: &Table, key: &str) -> Result<String, InvalidKey> {
    match table.get(key) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.clone()),
        Some(other) => Err(wrong(key, other, "a text")),
        None => Err(InvalidKey::new(key, "is missing", "a text")),
    }
}

fn boolean(path: &str, value: &Value) -> Result<bool, InvalidKey> {
    value.as_bool().ok_or_else(|| wrong(path, value, "true, false"))
}

/// One integer, or the three integers of an array.
fn integers(path: &str, value: &Value, is_array: bool) -> Result<Vec<u64>, InvalidKey> {
    let integer =
        |value: &Value| value.as_integer().and_then(|as_integer| u64::try_from(as_integer).ok());
    let values: Option<Vec<u64>> = match value {
        Value::Array(values) if is_array && values.len() == 3 => {
            values.iter().map(integer).collect()
        }
        single if !is_array => integer(single).map(|it| vec![it]),
        _ => None,
    };
    let accepted = if is_array {
        "three integers, each 1 and more, such as [65535, 65535, 65535]"
    } else {
        "an integer, 1 and more"
    };
    values
        .filter(|values| values.iter().all(|value| *value > 0))
        .ok_or_else(|| wrong(path, value, accepted))
}

fn wrong(path: &str, value: &Value, accepted: &str) -> InvalidKey {
    InvalidKey::new(path, format!("{value} is not accepted"), accepted)
}

#[cfg(test)]
mod tests;
