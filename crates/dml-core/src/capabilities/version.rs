//! Versions of Vulkan.

use std::fmt;
use std::str::FromStr;

use crate::types::UnknownName;

/// A version of Vulkan, such as 1.1 or 1.3.230.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApiVersion {
    /// The major version.
    pub major: u32,
    /// The minor version, which determines the core's features.
    pub minor: u32,
    /// The patch version, which is ignored in comparisons of features.
    pub patch: u32,
}

impl ApiVersion {
    /// The version without a patch.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor, patch: 0 }
    }

    /// Whether this version has core features that `other` does not have.
    pub fn exceeds(self, other: Self) -> bool {
        (self.major, self.minor) > (other.major, other.minor)
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.patch > 0 { write!(f, ".{}", self.patch) } else { Ok(()) }
    }
}

impl FromStr for ApiVersion {
    type Err = UnknownName;

    /// Reads `1.1` or `1.1.176`. Versions below 1.1 are refused.
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let unknown = || UnknownName::new("Vulkan version", text, "1.1 and above, such as 1.1.176");
        let parts = text.split('.').map(str::parse).collect::<Result<Vec<u32>, _>>();
        let version = match parts.map_err(|_| unknown())?[..] {
            [major, minor] => Self::new(major, minor),
            [major, minor, patch] => Self { major, minor, patch },
            _ => return Err(unknown()),
        };
        // The widths that Vulkan packs a version into.
        let fits = version.major < 1 << 7 && version.minor < 1 << 10 && version.patch < 1 << 12;
        if fits && version >= Self::new(1, 1) { Ok(version) } else { Err(unknown()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_with_and_without_patch() {
        let parse = |text: &str| text.parse::<ApiVersion>();
        assert_eq!(parse("1.1"), Ok(ApiVersion::new(1, 1)));
        assert_eq!(parse("1.3.230").map(|it| it.to_string()), Ok("1.3.230".to_owned()));
        for text in ["", "1", "1.0.9", "1.x", "1.2.3.4", "1.2000", "-1.2"] {
            assert!(parse(text).unwrap_err().to_string().contains("accepted: 1.1"), "{text}");
        }
    }

    #[test]
    fn patches_add_nothing_to_the_core() {
        let old = ApiVersion { patch: 100, ..ApiVersion::new(1, 1) };
        assert!(!old.exceeds(ApiVersion::new(1, 1)) && ApiVersion::new(1, 2).exceeds(old));
    }
}
