//! Capability caps: a device that behaves as if it had less.

use std::fmt;

use super::{ApiVersion, Capabilities, Enabling, Feature, Features, Limit};
use crate::types::InvalidField;

/// What a device is to be treated as, at most: the device of a profile, or any part of it.
///
/// What is not stated stays as it is. A cap only lowers: where it states more than the host device
/// has, the device keeps what it has, and [`CapabilityCap::apply`] says so. So it does for the sizes of
/// subgroups, which nothing can change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapabilityCap {
    api_version: Option<ApiVersion>,
    /// The features that the cap is about, and which of them the device offers.
    stated: Features,
    offered: Features,
    limits: [Option<u64>; Limit::ALL.len()],
    no_transfer_usage: bool,
}

impl CapabilityCap {
    /// The cap that changes nothing.
    pub const NONE: Self = Self {
        api_version: None,
        stated: Features::NONE,
        offered: Features::NONE,
        limits: [None; Limit::ALL.len()],
        no_transfer_usage: false,
    };

    /// The same, using no later version of Vulkan than `version`.
    #[must_use]
    pub fn with_api_version(mut self, version: ApiVersion) -> Self {
        self.api_version = Some(version);
        self
    }

    /// The same, stating whether the device offers `feature`: if not, it is neither offered nor
    /// enabled.
    #[must_use]
    pub fn with_feature(mut self, feature: Feature, offered: bool) -> Self {
        self.stated = self.stated.with(feature, true);
        self.offered = self.offered.with(feature, offered);
        self
    }

    /// The same, offering no optional feature that a kernel could use.
    #[must_use]
    pub fn without_features(self) -> Self {
        let used = |it: &Feature| it.enabling() == Enabling::WhereOffered;
        Feature::ALL.into_iter().filter(used).fold(self, |cap, it| cap.with_feature(it, false))
    }

    /// The same with a value of `limit`.
    ///
    /// # Errors
    /// No device could have the value: 0, or an alignment that is no power of two up to 256.
    pub fn with_limit(mut self, limit: Limit, value: u64) -> Result<Self, InvalidField> {
        limit.check(value)?;
        self.limits[limit as usize] = Some(value);
        Ok(self)
    }

    /// The same, where buffers have no transfer usage: no fills, updates and copies.
    #[must_use]
    pub fn without_transfer_usage(mut self) -> Self {
        self.no_transfer_usage = true;
        self
    }

    /// The latest version of Vulkan to use.
    pub fn api_version(&self) -> Option<ApiVersion> {
        self.api_version
    }

    /// What is stated about `feature`.
    pub fn feature(&self, feature: Feature) -> Option<bool> {
        self.stated.has(feature).then(|| self.offered.has(feature))
    }

    /// What is stated about `limit`.
    pub fn limit(&self, limit: Limit) -> Option<u64> {
        self.limits[limit as usize]
    }

    /// Whether buffers have no transfer usage.
    pub fn no_transfer_usage(&self) -> bool {
        self.no_transfer_usage
    }

    /// `host` lowered to what the cap states.
    pub fn apply(&self, host: &Capabilities) -> CapResult {
        let mut capped = CapResult { capabilities: host.clone(), shortfalls: Vec::new() };
        for feature in Feature::ALL {
            match (self.feature(feature), host.features.has(feature)) {
                (Some(false), _) => {
                    capped.capabilities.features =
                        capped.capabilities.features.with(feature, false);
                }
                (Some(true), false) => capped.shortfalls.push(Shortfall::Feature(feature)),
                _ => {}
            }
        }
        for limit in Limit::ALL {
            let Some(wanted) = self.limit(limit) else { continue };
            let available = host.limits.get(limit);
            let lower = limit.lower(available, wanted);
            capped.capabilities.limits = capped.capabilities.limits.with(limit, lower);
            if lower != wanted {
                capped.shortfalls.push(Shortfall::Limit { limit, wanted, available });
            }
        }
        capped
    }

    /// What is missing where the host device has only version `available` of Vulkan.
    pub fn api_version_shortfall(&self, available: ApiVersion) -> Option<Shortfall> {
        let wanted = self.api_version.filter(|wanted| wanted.exceeds(available))?;
        Some(Shortfall::ApiVersion { wanted, available })
    }

    /// The device that the cap describes by itself, where there is no host device: what is not
    /// stated is as little as Vulkan allows.
    pub fn alone(&self) -> Capabilities {
        let mut least = Capabilities::vulkan_minimum();
        // A device that does not state its largest buffer fits one into its largest allocation, and one
        // that states a single size of subgroups has no others.
        for (stated, others) in [
            (Limit::MaxMemoryAllocationSize, &[Limit::MaxBufferSize][..]),
            (Limit::SubgroupSize, &[Limit::MinSubgroupSize, Limit::MaxSubgroupSize]),
        ] {
            if let Some(value) = self.limit(stated) {
                least.limits =
                    others.iter().fold(least.limits, |limits, other| limits.with(*other, value));
            }
        }
        let has = |feature: &Feature| {
            self.feature(*feature).unwrap_or_else(|| least.features.has(*feature))
        };
        Capabilities {
            features: Feature::ALL.into_iter().filter(has).collect(),
            limits: Limit::ALL.into_iter().fold(least.limits, |limits, limit| {
                match self.limit(limit) {
                    Some(value) => limits.with(limit, value),
                    None => limits,
                }
            }),
        }
    }
}

/// A device under a cap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapResult {
    /// What is left of it.
    pub capabilities: Capabilities,
    /// What the cap states and the device does not have.
    pub shortfalls: Vec<Shortfall>,
}

/// Something that a cap states and that its host device cannot represent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shortfall {
    /// The device lacks the feature.
    Feature(Feature),
    /// The device promises less.
    Limit {
        /// Which limit.
        limit: Limit,
        /// What the cap states.
        wanted: u64,
        /// What the device has.
        available: u64,
    },
    /// The device is older.
    ApiVersion {
        /// What the cap states.
        wanted: ApiVersion,
        /// What the device has.
        available: ApiVersion,
    },
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Feature(feature) => write!(f, "{feature} (not offered)"),
            Self::Limit { limit, wanted, available } => {
                write!(f, "{} {wanted} (it is {available})", limit.name())
            }
            Self::ApiVersion { wanted, available } => {
                write!(f, "Vulkan {wanted} (it is {available})")
            }
        }
    }
}

#[cfg(test)]
mod tests;
