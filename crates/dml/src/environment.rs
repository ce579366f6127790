//! Device options that the environment sets: the capability cap, robust access, the work bound and staged
//! transfers.

use std::ffi::OsString;

use dml_core::CapabilityCap;
use dml_core::plan::WorkBound;
use dml_vk::packed_version;

use crate::device::DeviceOptions;
use crate::error::{Error, Result};

impl DeviceOptions {
    /// The options with all values from the environment filled in: `cap` from `DML_PROFILE` if it was
    /// `None`, `pipeline_cache` from `DML_PIPELINE_CACHE`, `robust_access` from `DML_ROBUST_ACCESS`, `work_bound`
    /// from `DML_WORK_BOUND`, `staged_transfers` (with the feature `testing`) from `DML_STAGED_TRANSFERS`.
    /// `instance` is limited to the cap's version of Vulkan: a caller that creates the [`crate::Instance`] must use
    /// the resolved `instance`.
    ///
    /// # Errors
    /// [`crate::Error::Profile`]: `DML_PROFILE` names an unknown or invalid profile, or is set for a program
    /// that was built without the feature `profiles`. [`Error::Environment`]: `DML_ROBUST_ACCESS` or
    /// `DML_STAGED_TRANSFERS` is neither `on` nor `off`, or `DML_WORK_BOUND` neither a number above 0 nor `off`.
    pub fn resolved(&self) -> Result<Self> {
        let mut options = self.clone();
        let cap = match self.cap {
            Some(cap) => cap,
            None => from_environment()?,
        };
        options.cap = Some(cap);
        options.pipeline_cache = self.pipeline_cache.resolved();
        if options.robust_access.is_none() {
            options.robust_access = Some(switch(ROBUST_ACCESS)?.unwrap_or(true));
        }
        if options.work_bound.is_none() {
            options.work_bound = work_bound(std::env::var_os(WORK_BOUND))?;
        }
        #[cfg(feature = "testing")]
        if options.staged_transfers.is_none() {
            let is_staged = switch(STAGED_TRANSFERS)?.unwrap_or(false);
            options.staged_transfers = Some(is_staged && !cap.no_transfer_usage());
        }
        if let Some(version) = cap.api_version().map(packed_version) {
            let before = options.instance.max_api_version.unwrap_or(u32::MAX);
            options.instance.max_api_version = Some(before.min(version));
        }
        Ok(options)
    }
}

const ROBUST_ACCESS: &str = "DML_ROBUST_ACCESS";
const WORK_BOUND: &str = "DML_WORK_BOUND";
#[cfg(feature = "testing")]
const STAGED_TRANSFERS: &str = "DML_STAGED_TRANSFERS";

/// The value of an environment variable, `on` or `off`; `None` if it is not set.
fn switch(variable: &'static str) -> Result<Option<bool>> {
    switched(variable, std::env::var_os(variable))
}

fn switched(variable: &'static str, value: Option<OsString>) -> Result<Option<bool>> {
    match value.filter(|value| !value.is_empty()) {
        None => Ok(None),
        Some(value) if value == "on" => Ok(Some(true)),
        Some(value) if value == "off" => Ok(Some(false)),
        Some(value) => Err(Error::Environment {
            variable,
            value: value.display().to_string(),
            accepted: "on, off",
        }),
    }
}

/// The bound that a number of operations stands for, or `off`; `None` where the variable is not set.
fn work_bound(value: Option<OsString>) -> Result<Option<WorkBound>> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    let bound = value.to_str().and_then(|text| match text {
        "off" => Some(WorkBound::NONE),
        _ => text.parse().ok().filter(|parse| *parse > 0).map(WorkBound::of_dispatch),
    });
    let refused = || Error::Environment {
        variable: WORK_BOUND,
        value: value.display().to_string(),
        accepted: "a number of operations, off",
    };
    bound.map(Some).ok_or_else(refused)
}

#[cfg(feature = "profiles")]
fn from_environment() -> Result<CapabilityCap> {
    let profile = crate::profiles::from_environment()?;
    Ok(profile.map_or(CapabilityCap::NONE, |profile| profile.cap))
}

/// Without the feature `profiles`, a profile in the environment is an error.
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
    fn a_switch_in_the_environment_is_on_or_off_or_absent() {
        let chosen = |value: &str| {
            switched(ROBUST_ACCESS, Some(value.into())).map_err(|error| error.to_string())
        };
        let expected = [Ok(Some(true)), Ok(None), Ok(Some(false))];
        assert_eq!([chosen("on"), chosen(""), chosen("off")], expected);
        assert_eq!(switched(ROBUST_ACCESS, None).unwrap(), None);
        let error = "DML_ROBUST_ACCESS is 'no'; accepted: on, off";
        assert_eq!(chosen("no"), Err(error.to_owned()));
    }

    #[test]
    fn a_work_bound_in_the_environment_is_a_number_or_off_or_absent() {
        let chosen = |value: &str| work_bound(Some(value.into())).map_err(|it| it.to_string());
        assert_eq!(chosen("1000"), Ok(Some(WorkBound { dispatch: 1000, batch: 4000 })));
        assert_eq!([chosen("off"), chosen("")], [Ok(Some(WorkBound::NONE)), Ok(None)]);
        let error =
            |value| format!("DML_WORK_BOUND is '{value}'; accepted: a number of operations, off");
        assert_eq!(["0", "1e9"].map(chosen), ["0", "1e9"].map(|it| Err(error(it))));
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
