//! Selects one of several physical devices.

use std::str::FromStr;

use dml_core::suggestion;

use crate::error::{Error, Result};
use crate::instance::info::uuid_text;
use crate::instance::physical::PhysicalDevice;

/// Selects a physical device.
///
/// As text: `best`, a number (`1` or `index:1`), 32 hexadecimal digits with or without hyphens (or
/// `uuid:...`); any other text (or `name:...`) is a part of the name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DeviceSelector {
    /// The first in the order of [`DeviceInfo::preference`](crate::DeviceInfo::preference); among equals
    /// the loader's order.
    #[default]
    Best,
    /// The n-th device in the loader's order, from 0.
    Index(usize),
    /// The only device whose name contains this text; upper and lower case are equal.
    Name(String),
    /// The device with this deviceUUID.
    Uuid([u8; 16]),
}

impl FromStr for DeviceSelector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let invalid = |problem: &str| Error::invalid("device", format!("'{text}' {problem}"));
        if text.is_empty() {
            return Err(invalid("is empty; accepted: a name, an index, a UUID or best"));
        }
        if text.eq_ignore_ascii_case("best") {
            return Ok(Self::Best);
        }
        if let Some(name) = text.strip_prefix("name:") {
            return Ok(Self::Name(name.to_owned()));
        }
        if let Some(index) = text.strip_prefix("index:") {
            return index.parse().map(Self::Index).map_err(|_| invalid("is not an index"));
        }
        if let Some(uuid) = text.strip_prefix("uuid:") {
            return parse_uuid(uuid)
                .map(Self::Uuid)
                .ok_or_else(|| invalid("is not a UUID: it needs 32 hexadecimal digits"));
        }
        if let Some(uuid) = parse_uuid(text) {
            return Ok(Self::Uuid(uuid));
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().map(Self::Index).map_err(|_| invalid("is not an index"));
        }
        Ok(Self::Name(text.to_owned()))
    }
}

fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    if digits.len() != 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(&digits, 16).ok().map(u128::to_be_bytes)
}

/// The device that `selector` selects.
pub(crate) fn choose(
    devices: Vec<PhysicalDevice>,
    selector: &DeviceSelector,
) -> Result<PhysicalDevice> {
    if devices.is_empty() {
        return Err(Error::NoDevice { reason: "the loader lists none".to_owned() });
    }
    let matching = matching(&devices, selector);
    if let ([index], _) | ([index, ..], DeviceSelector::Best) = (matching.as_slice(), selector) {
        let chosen = devices[*index].clone();
        return chosen.check_usable().map(|()| chosen);
    }
    let names = devices.iter().map(|device| device.info().name.as_str());
    let problem = problem(selector, !matching.is_empty(), names);
    let devices = list(&devices);
    Err(match selector {
        DeviceSelector::Best => Error::NoDevice { reason: format!("devices are: {devices}") },
        _ => Error::DeviceSelection { problem, devices },
    })
}

/// The reason why `selector` selects none of the devices with these `names`: none has the property that it
/// asks for, or several have (`is_ambiguous`).
fn problem<'a>(
    selector: &DeviceSelector,
    is_ambiguous: bool,
    names: impl Iterator<Item = &'a str>,
) -> String {
    let count = if is_ambiguous { "several devices" } else { "no device" };
    match selector {
        DeviceSelector::Best => format!("{count} that can be used"),
        DeviceSelector::Index(index) => format!("{count} {index}"),
        DeviceSelector::Name(part) => {
            let hint = if is_ambiguous { String::new() } else { suggestion(part, names) };
            format!("{count} whose name contains '{part}'{hint}")
        }
        DeviceSelector::Uuid(uuid) => format!("{count} with the UUID {}", uuid_text(uuid)),
    }
}

/// The indices that match, the best first. `Best` never matches an unusable device.
fn matching(devices: &[PhysicalDevice], selector: &DeviceSelector) -> Vec<usize> {
    let mut found: Vec<usize> = (0..devices.len())
        .filter(|index| {
            let device = &devices[*index];
            match selector {
                DeviceSelector::Best => device.unsuitable().is_none(),
                DeviceSelector::Index(wanted) => index == wanted,
                DeviceSelector::Name(part) => {
                    device.info().name.to_lowercase().contains(&part.to_lowercase())
                }
                DeviceSelector::Uuid(uuid) => device.info().device_uuid == *uuid,
            }
        })
        .collect();
    found.sort_by_key(|index| devices[*index].info().preference());
    found
}

fn list(devices: &[PhysicalDevice]) -> String {
    let line = |(index, device): (usize, &PhysicalDevice)| {
        let info = device.info();
        let reason = device.unsuitable().map_or(String::new(), |why| format!(", unusable: {why}"));
        format!(
            "{index}: {} ({}, {}{reason})",
            info.name,
            info.device_type,
            info.device_uuid_text()
        )
    };
    devices.iter().enumerate().map(line).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_names_a_device_in_four_ways() {
        let uuid = "6d657361-3232-2e33-2e36-000000000001";
        let parse = |text: &str| text.parse::<DeviceSelector>().unwrap();
        assert_eq!(parse("Best"), DeviceSelector::Best);
        assert_eq!(parse("1"), DeviceSelector::Index(1));
        assert_eq!(parse("index:12"), DeviceSelector::Index(12));
        assert_eq!(parse("llvm"), DeviceSelector::Name("llvm".into()));
        assert_eq!(parse("name:3"), DeviceSelector::Name("3".into()));
        let DeviceSelector::Uuid(bytes) = parse(uuid) else { panic!("not a UUID") };
        assert_eq!(bytes[..4], [0x6d, 0x65, 0x73, 0x61]);
        assert_eq!(parse(&uuid.replace('-', "").to_uppercase()), parse(uuid));
    }

    #[test]
    fn a_wrong_selection_says_what_was_asked_for() {
        let names = ["llvmpipe (LLVM 15.0.6, 256 bits)", "SwiftShader Device (LLVM 10.0.0)"];
        let message = |text: &str, is_ambiguous| {
            problem(&text.parse().unwrap(), is_ambiguous, names.into_iter())
        };
        assert_eq!(message("7", false), "no device 7");
        assert_eq!(message("lavapip", false), "no device whose name contains 'lavapip'");
        let similar = "no device whose name contains 'swiftshadr' \
                       (did you mean SwiftShader Device (LLVM 10.0.0)?)";
        assert_eq!(message("swiftshadr", false), similar);
        assert_eq!(message("llvm", true), "several devices whose name contains 'llvm'");
        let uuid = "6d657361-3232-2e33-2e36-000000000001";
        assert_eq!(message(uuid, false), format!("no device with the UUID {uuid}"));
        assert_eq!(message(uuid, true), format!("several devices with the UUID {uuid}"));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "index:x", "uuid:12", "99999999999999999999999"] {
            assert!(text.parse::<DeviceSelector>().unwrap_err().is_invalid(), "{text}");
        }
    }
}
