//! What the environment decides of a device: its capability cap, and whether its access is robust.

use std::ffi::OsString;

use dml_core::CapabilityCap;
use dml_vk::packed_version;

use crate::device::DeviceOptions;
use crate::error::{Error, Result};

impl DeviceOptions {
    /// The same options with nothing left to the environment: `cap` is what the environment variable
    /// `DML_PROFILE` says where it was `None`, `pipeline_cache` what `DML_PIPELINE_CACHE` says,
    /// `robust_access` what `DML_ROBUST_ACCESS` says, and `instance` uses no later version of Vulkan than the cap states. Whoever creates the [`crate::Instance`] creates it from this.
    ///
    /// # Errors
    /// [`crate::Error::Profile`]: `DML_PROFILE` names no profile, or a wrong one, or is set for a program
    /// that was built without the feature `profiles`. [`Error::Environment`]: `DML_ROBUST_ACCESS` is
    /// neither `on` nor `off`.
    pub fn resolved(&self) -> Result<Self> {
        let mut options = self.clone();
        let cap = match self.cap {
            Some(cap) => cap,
            None => from_environment()?,
        };
        options.cap = Some(cap);
        options.pipeline_cache = self.pipeline_cache.resolved();
        if options.robust_access.is_none() {
            options.robust_access = Some(is_robust(std::env::var_os(ROBUST_ACCESS))?);
        }
        if let Some(version) = cap.api_version().map(packed_version) {
            let before = options.instance.max_api_version.unwrap_or(u32::MAX);
            options.instance.max_api_version = Some(before.min(version));
        }
        Ok(options)
    }
}

const ROBUST_ACCESS: &str = "DML_ROBUST_ACCESS";

fn is_robust(variable: Option<OsString>) -> Result<bool> {
    match variable.filter(|value| !value.is_empty()) {
        None => Ok(true),
        Some(value) if value == "on" => Ok(true),
        Some(value) if value == "off" => Ok(false),
        Some(value) => Err(Error::Environment {
            variable: ROBUST_ACCESS,
            value: value.display().to_string(),
            accepted: "on, off",
        }),
    }
}

#[cfg(feature = "profiles")]
fn from_environment() -> Result<CapabilityCap> {
    let profile = dml_profiles::from_environment()?;
    Ok(profile.map_or(CapabilityCap::NONE, |profile| profile.cap))
}

/// A wish that cannot be granted is not ignored.
#[cfg(not(feature = "profiles"))]
fn from_environment() -> Result<CapabilityCap> {
    match std::env::var_os("DML_PROFILE") {
        Some(value) if !value.is_empty() => Err(Error::Profile(
            "DML_PROFILE is set, but this program was built without the feature `profiles` of the \
             crate dml"
                .to_owned(),
        )),
        _ => Ok(CapabilityCap::NONE),
    }
}

#[cfg(test)]
mod tests {
    use dml_core::capabilities::ApiVersion;

    use super::*;

    #[test]
    fn robust_access_is_on_or_off() {
        let chosen = |value: &str| is_robust(Some(value.into())).map_err(|it| it.to_string());
        assert_eq!([chosen("on"), chosen(""), chosen("off")], [Ok(true), Ok(true), Ok(false)]);
        assert!(is_robust(None).unwrap());
        let error = "DML_ROBUST_ACCESS is 'no'; accepted: on, off";
        assert_eq!(chosen("no"), Err(error.to_owned()));
    }

    #[test]
    fn the_instance_uses_no_later_version_than_the_cap() {
        let cap = Some(CapabilityCap::NONE.with_api_version(ApiVersion::new(1, 1)));
        let options = DeviceOptions { cap, ..DeviceOptions::default() };
        let version = packed_version(ApiVersion::new(1, 1));
        assert_eq!(options.resolved().unwrap().instance.max_api_version, Some(version));
        let cap = Some(CapabilityCap::NONE.with_api_version(ApiVersion::new(1, 3)));
        let mut options = DeviceOptions { cap, ..DeviceOptions::default() };
        options.instance.max_api_version = Some(version);
        assert_eq!(options.resolved().unwrap().instance.max_api_version, Some(version));
    }
}
