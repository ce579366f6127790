//! Capability caps: a device treated as one with fewer features and lower limits.

use std::fmt;

use super::{ApiVersion, Capabilities, Enabling, Feature, Features, Limit};
use crate::types::InvalidField;

/// Upper bounds on the features, limits and Vulkan version that a device is treated as having: a whole profile,
/// or any part of one.
///
/// Values that the cap does not state remain unchanged. A cap only lowers: if it states more than the host
/// device has, the device's value remains, and [`CapabilityCap::apply`] reports a [`Shortfall`]. The same holds
/// for facts such as the sizes of subgroups, which cannot be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapabilityCap {
    api_version: Option<ApiVersion>,
    /// The features that the cap states.
    stated: Features,
    /// The stated features that the device offers.
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

    /// This cap, with no later version of Vulkan than `version`.
    #[must_use]
    pub fn with_api_version(mut self, version: ApiVersion) -> Self {
        self.api_version = Some(version);
        self
    }

    /// This cap, with a statement whether the device offers `feature`. If not, the feature is neither offered nor
    /// enabled.
    #[must_use]
    pub fn with_feature(mut self, feature: Feature, offered: bool) -> Self {
        self.stated = self.stated.with(feature, true);
        self.offered = self.offered.with(feature, offered);
        self
    }

    /// This cap, without any optional feature that a kernel could use.
    #[must_use]
    pub fn without_features(self) -> Self {
        let used = |it: &Feature| it.enabling() == Enabling::WhereOffered;
        Feature::ALL.into_iter().filter(used).fold(self, |cap, it| cap.with_feature(it, false))
    }

    /// This cap, with the value `value` of `limit`.
    ///
    /// # Errors
    /// No device could have the value: 0, or an alignment that is not a power of two up to 256.
    pub fn with_limit(mut self, limit: Limit, value: u64) -> Result<Self, InvalidField> {
        limit.check(value)?;
        self.limits[limit as usize] = Some(value);
        Ok(self)
    }

    /// This cap, for buffers without transfer usage: no fills, updates and copies.
    #[must_use]
    pub fn without_transfer_usage(mut self) -> Self {
        self.no_transfer_usage = true;
        self
    }

    /// The latest version of Vulkan to use, if stated.
    pub fn api_version(&self) -> Option<ApiVersion> {
        self.api_version
    }

    /// Whether the device offers `feature`; `None` if the cap does not state it.
    pub fn feature(&self, feature: Feature) -> Option<bool> {
        self.stated.has(feature).then(|| self.offered.has(feature))
    }

    /// The value of `limit`; `None` if the cap does not state it.
    pub fn limit(&self, limit: Limit) -> Option<u64> {
        self.limits[limit as usize]
    }

    /// Whether buffers have no transfer usage.
    pub fn no_transfer_usage(&self) -> bool {
        self.no_transfer_usage
    }

    /// The capabilities `host`, lowered to the values of the cap, and the values that `host` falls short of.
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

    /// The shortfall if the host device only has version `available` of Vulkan; `None` if that is enough.
    pub fn api_version_shortfall(&self, available: ApiVersion) -> Option<Shortfall> {
        let wanted = self.api_version.filter(|wanted| wanted.exceeds(available))?;
        Some(Shortfall::ApiVersion { wanted, available })
    }

    /// The device that the cap describes without a host device: values that are not stated are the least that
    /// Vulkan allows.
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

/// A device's capabilities under a cap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapResult {
    /// The lowered capabilities.
    pub capabilities: Capabilities,
    /// The features and limits that the cap states and the device does not have.
    pub shortfalls: Vec<Shortfall>,
}

/// A capability that a cap states and its host device does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shortfall {
    /// The device lacks the feature.
    Feature(Feature),
    /// The device's limit is lower, or its alignment larger.
    Limit {
        /// The limit.
        limit: Limit,
        /// The cap's value.
        wanted: u64,
        /// The device's value.
        available: u64,
    },
    /// The device has an older version of Vulkan.
    ApiVersion {
        /// The cap's version.
        wanted: ApiVersion,
        /// The device's version.
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
