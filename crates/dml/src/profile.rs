//! Which capability cap a device is created with: the options', or that of the environment.

use dml_core::CapabilityCap;
use dml_vk::packed_version;

use crate::device::DeviceOptions;
#[cfg(not(feature = "profiles"))]
use crate::error::Error;
use crate::error::Result;

impl DeviceOptions {
    /// The same options with nothing left to the environment: `cap` is what the environment variable
    /// `DML_PROFILE` says where it was `None`, `pipeline_cache` what `DML_PIPELINE_CACHE` says, and
    /// `instance` uses no later version of Vulkan than the cap states. Whoever creates the [`crate::Instance`] creates it from this.
    ///
    /// # Errors
    /// [`crate::Error::Profile`]: `DML_PROFILE` names no profile, or a wrong one, or is set for a program
    /// that was built without the feature `profiles`.
    pub fn resolved(&self) -> Result<Self> {
        let mut options = self.clone();
        let cap = match self.cap {
            Some(cap) => cap,
            None => from_environment()?,
        };
        options.cap = Some(cap);
        options.pipeline_cache = self.pipeline_cache.resolved();
        if let Some(version) = cap.api_version().map(packed_version) {
            let before = options.instance.max_api_version.unwrap_or(u32::MAX);
            options.instance.max_api_version = Some(before.min(version));
        }
        Ok(options)
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
