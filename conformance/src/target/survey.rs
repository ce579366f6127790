//! Finds the targets of a run.

use dml::core::Capabilities;
use dml::core::capabilities::ApiVersion;
use dml::profiles::{self, Profile};
use dml::{CapabilityCap, DeviceOptions, DeviceSelector, Instance, PhysicalDevice};
use serde::{Deserialize, Serialize};

use super::groups::{Effect, distinct};
use super::{Opening, Target, TargetLocation, profile_run};
use crate::results::{DeviceIdentity, ProfileRun};

/// The devices, profiles and options of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Survey {
    /// The devices.
    pub devices: Devices,
    /// The profiles.
    pub profiles: Profiles,
    /// The options for opening them.
    pub opening: Opening,
}

/// The selected devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Devices {
    /// Every usable Vulkan device.
    All,
    /// The device that the text of a [`DeviceSelector`] names.
    One(String),
    /// The host interpreter.
    Interpreter,
}

/// The selected profiles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profiles {
    /// No profile: devices as they are, and the interpreter with Vulkan's minimal limits.
    AsIs,
    /// Under the profile with this name or in this file.
    One(String),
    /// Every built-in profile; those with equal effect on a device run once.
    All,
}

impl Survey {
    /// The targets, of which there is at least one.
    ///
    /// # Errors
    /// There is no Vulkan device, or not the selected one; a profile is missing or invalid.
    pub fn targets(&self) -> anyhow::Result<Vec<Target>> {
        let roles = self.profiles.roles()?;
        if self.devices == Devices::Interpreter {
            return Ok(interpreters(roles, self.opening));
        }
        let mut targets = Vec::new();
        for selector in self.selectors()? {
            targets.extend(self.on_device(&selector, &roles)?);
        }
        Ok(targets)
    }

    /// The texts of selectors that find the devices again in another process.
    fn selectors(&self) -> anyhow::Result<Vec<String>> {
        let instance = Instance::new(&self.opening.instance())?;
        let all = instance.physical_devices()?;
        let chosen: Vec<PhysicalDevice> = match &self.devices {
            Devices::One(selector) => vec![instance.select(&selector.parse()?)?],
            _ => all.iter().filter(|device| device.unsuitable().is_none()).cloned().collect(),
        };
        if chosen.is_empty() {
            // Its error explains what was found and what to install.
            instance.select(&DeviceSelector::Best)?;
        }
        let uuid = |device: &PhysicalDevice| device.info().device_uuid_text();
        let selector = |device: &PhysicalDevice| {
            // Two devices of the same model may have one UUID.
            let is_alone = all.iter().filter(|other| uuid(other) == uuid(device)).count() == 1;
            let index = all.iter().position(|other| other.raw() == device.raw());
            match index {
                Some(index) if !is_alone => format!("index:{index}"),
                _ => format!("uuid:{}", uuid(device)),
            }
        };
        Ok(chosen.iter().map(selector).collect())
    }

    fn on_device(&self, selector: &str, roles: &[Role]) -> anyhow::Result<Vec<Target>> {
        let mut instances = Vec::new();
        let mut opened = self.opening;
        let mut effects = Vec::new();
        for Role { profile, cap } in roles {
            let options = self.opening.options(selector.parse()?, *cap)?;
            opened.robust_access = options.robust_access;
            opened.staged_transfers = options.staged_transfers;
            opened.work_bound = options.work_bound.map(|bound| bound.dispatch);
            let physical = physical(&mut instances, &options)?;
            let (capabilities, shortfalls) = physical.capped(cap);
            let shortfalls: Vec<_> = shortfalls.iter().map(ToString::to_string).collect();
            let profile = profile.clone().map(|run| ProfileRun { shortfalls, ..run });
            let version = usable_version(&physical, cap);
            let effective = (capabilities, version, cap.no_transfer_usage());
            effects.push(Effect { profile, effective });
        }
        let Some((_, first)) = instances.first() else { return Ok(Vec::new()) };
        let target = |group: Effect<(Capabilities, _, _)>| {
            let place = TargetLocation::Device { selector: selector.to_owned() };
            let capabilities = &group.effective.0;
            Target::new(identity(first), group.profile, capabilities, place, opened)
        };
        Ok(distinct(effects).into_iter().map(target).collect())
    }
}

/// A profile that a device runs under, or none.
struct Role {
    /// The profile; `None` for the device as it is.
    profile: Option<ProfileRun>,
    cap: CapabilityCap,
}

impl Profiles {
    /// The profile in the environment variable `DML_PROFILE`, or devices as they are.
    pub fn from_environment() -> Self {
        match std::env::var(profiles::VARIABLE) {
            Ok(name) if !name.is_empty() => Self::One(name),
            _ => Self::AsIs,
        }
    }

    fn roles(&self) -> anyhow::Result<Vec<Role>> {
        let role = |source: &str, profile: &Profile| Role {
            profile: Some(profile_run(source, profile)),
            cap: profile.cap,
        };
        Ok(match self {
            Self::AsIs => vec![Role { profile: None, cap: CapabilityCap::NONE }],
            Self::One(source) => vec![role(source, &profiles::find(source)?)],
            Self::All => profiles::all()?.iter().map(|it| role(&it.name, it)).collect(),
        })
    }
}

/// The device, opened with an instance of the Vulkan version that the cap allows, because a device's features
/// depend on it.
fn physical(
    instances: &mut Vec<(Option<u32>, PhysicalDevice)>,
    options: &DeviceOptions,
) -> anyhow::Result<PhysicalDevice> {
    let version = options.instance.max_api_version;
    if let Some((_, physical)) = instances.iter().find(|(made_for, _)| *made_for == version) {
        return Ok(physical.clone());
    }
    let physical = Instance::new(&options.instance)?.select(&options.selector)?;
    instances.push((version, physical.clone()));
    Ok(physical)
}

/// The version of Vulkan that is used, without its patch version, which has no effect.
fn usable_version(physical: &PhysicalDevice, cap: &CapabilityCap) -> (u32, u32) {
    // The runtime uses no functionality of later versions.
    const NEWEST: ApiVersion = ApiVersion::new(1, 3);
    let text = physical.info().api_version_text();
    let device = text.parse().unwrap_or(NEWEST);
    let stated = cap.api_version().unwrap_or(NEWEST);
    let least = [device, stated, NEWEST].into_iter().map(|it| (it.major, it.minor)).min();
    least.unwrap_or((1, 1))
}

fn interpreters(roles: Vec<Role>, opening: Opening) -> Vec<Target> {
    let effect = |Role { profile, cap }: Role| Effect {
        profile,
        effective: (cap.alone(), cap.no_transfer_usage()),
    };
    let target = |group: Effect<(Capabilities, bool)>| {
        let capabilities = &group.effective.0;
        let opened = Opening { robust_access: None, staged_transfers: None, ..opening };
        Target::new(interpreter(), group.profile, capabilities, TargetLocation::Interpreter, opened)
    };
    distinct(roles.into_iter().map(effect).collect()).into_iter().map(target).collect()
}

fn interpreter() -> DeviceIdentity {
    DeviceIdentity {
        name: DeviceIdentity::INTERPRETER.to_owned(),
        kind: DeviceIdentity::INTERPRETER.to_owned(),
        vendor_id: 0,
        device_id: 0,
        api_version: String::new(),
        driver_name: env!("CARGO_PKG_NAME").to_owned(),
        driver_info: env!("CARGO_PKG_VERSION").to_owned(),
        driver_version: 0,
        driver_id: 0,
        uuid: String::new(),
    }
}

fn identity(physical: &PhysicalDevice) -> DeviceIdentity {
    let info = physical.info();
    DeviceIdentity {
        name: info.name.clone(),
        kind: info.device_type.to_string(),
        vendor_id: info.vendor_id,
        device_id: info.device_id,
        api_version: info.api_version_text(),
        driver_name: info.driver_name.clone(),
        driver_info: info.driver_info.clone(),
        driver_version: info.driver_version,
        driver_id: info.driver_id.as_raw(),
        uuid: info.device_uuid_text(),
    }
}

#[cfg(test)]
mod tests {
    use dml_reference::Signature;

    use super::*;

    fn targets(profiles: Profiles) -> Vec<Target> {
        let devices = Devices::Interpreter;
        Survey { devices, profiles, opening: Opening::default() }.targets().unwrap()
    }

    #[test]
    fn the_interpreter_stands_in_for_every_profile() {
        let all = targets(Profiles::All);
        let covered: usize =
            all.iter().map(|target| 1 + target.run.profile.as_ref().unwrap().also.len()).sum();
        assert_eq!(covered, profiles::names().count());
        let limits = |name: &str| {
            let target = targets(Profiles::One(name.to_owned())).remove(0);
            target.run.limits["maxStorageBufferRange"]
        };
        assert_eq!(limits("storage-range-16-kib"), 16_384);
        // Vulkan's minimum, where a profile does not say.
        assert_eq!(limits("api-1-1"), 1 << 27);
        assert_eq!(targets(Profiles::AsIs).len(), 1);
    }

    #[test]
    fn support_follows_the_features_of_the_target() {
        let target = targets(Profiles::One("no-optional-features".to_owned())).remove(0);
        let answers = target.support(&[dml::FeatureLevel::V5_1]);
        let answer = |data_type: &str| {
            let is_asked = |it: &&crate::results::Support| {
                let (types, ranks) = (&it.at.data_types, &it.at.ranks);
                let has_type = types.iter().any(|it| it == data_type);
                it.operator == "DIAGONAL_MATRIX" && has_type && ranks.contains(&2)
            };
            answers.iter().find(is_asked).unwrap().answer.clone()
        };
        assert_eq!((&*answer("FLOAT32"), &*answer("INT64")), ("native", "emulated"));
        assert_eq!(answer("UINT4"), "never");
        let signatures = |it: &&dml_ops::Operator| Signature::all(it.schema()).count();
        let all: usize = dml_ops::OPERATORS.iter().map(signatures).sum();
        let places: u64 = answers.iter().map(|answer| answer.at.places_at_a_level()).sum();
        assert_eq!(places, all as u64);
        // Few enough to be read.
        assert!(answers.len() < 4 * dml_ops::OPERATORS.len(), "{}", answers.len());
    }
}
