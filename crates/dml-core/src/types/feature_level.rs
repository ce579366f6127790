//! DirectML's feature levels.

use super::named_enum::named_enum;

named_enum! {
    /// DML_FEATURE_LEVEL: the operators, data types and dimension counts that a device accepts. Each level
    /// accepts everything that lower levels accept.
    ///
    /// The numbers are DirectML's: 16 bits, the major and the minor version in the upper two nibbles.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(u32)]
    FeatureLevel
    /// Reads `5_1`, `5.1` or `DML_FEATURE_LEVEL_5_1`.
    called "feature level", as |text| {
        text.strip_prefix("DML_FEATURE_LEVEL_").unwrap_or(text).replace('.', "_")
    },
    /// DirectML's name without the prefix `DML_FEATURE_LEVEL_`.
    name;
    /// DirectML 1.0.0
    V1_0 = 0x1000, "1_0";
    /// DirectML 1.1.0
    V2_0 = 0x2000, "2_0";
    /// DirectML 1.2.0
    V2_1 = 0x2100, "2_1";
    /// DirectML 1.4.0
    V3_0 = 0x3000, "3_0";
    /// DirectML 1.5.0
    V3_1 = 0x3100, "3_1";
    /// DirectML 1.6.0
    V4_0 = 0x4000, "4_0";
    /// DirectML 1.7.0
    V4_1 = 0x4100, "4_1";
    /// DirectML 1.8.0
    V5_0 = 0x5000, "5_0";
    /// DirectML 1.9.0
    V5_1 = 0x5100, "5_1";
    /// DirectML 1.10.0
    V5_2 = 0x5200, "5_2";
    /// DirectML 1.11.0
    V6_0 = 0x6000, "6_0";
    /// DirectML 1.12.0
    V6_1 = 0x6100, "6_1";
    /// DirectML 1.13.0
    V6_2 = 0x6200, "6_2";
    /// DirectML 1.14.0
    V6_3 = 0x6300, "6_3";
    /// DirectML 1.15.0
    V6_4 = 0x6400, "6_4";
}

impl FeatureLevel {
    /// The highest level, which is the default of devices.
    pub const HIGHEST: Self = Self::V6_4;

    /// DirectML's number of the level.
    pub const fn dml_value(self) -> u32 {
        self as u32
    }

    /// The level with DirectML's number `value`.
    pub fn from_dml_value(value: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.dml_value() == value)
    }
}

impl Default for FeatureLevel {
    fn default() -> Self {
        Self::HIGHEST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifteen_levels_ascend_and_round_trip() {
        assert!(FeatureLevel::ALL.is_sorted());
        for level in FeatureLevel::ALL {
            assert_eq!(level.to_string().parse(), Ok(level));
            assert_eq!(FeatureLevel::from_dml_value(level.dml_value()), Some(level));
        }
        assert_eq!(FeatureLevel::ALL.last(), Some(&FeatureLevel::HIGHEST));
    }

    #[test]
    fn names_are_read_in_every_common_spelling() {
        assert_eq!("5.1".parse(), Ok(FeatureLevel::V5_1));
        assert_eq!("DML_FEATURE_LEVEL_2_0".parse(), Ok(FeatureLevel::V2_0));
        let error = "7_0".parse::<FeatureLevel>().unwrap_err().to_string();
        assert!(error.starts_with("unknown feature level '7_0'; accepted: 1_0, 2_0"), "{error}");
    }

    #[test]
    fn numbers_are_directml_s() {
        for level in FeatureLevel::ALL {
            let value = level.dml_value();
            assert_eq!(level.name(), format!("{}_{}", value >> 12, (value >> 8) & 0xf));
        }
        assert_eq!(FeatureLevel::V2_1.dml_value(), 8448);
        assert_eq!(FeatureLevel::V6_4.dml_value(), 25600);
        assert_eq!(FeatureLevel::from_dml_value(0x5300), None);
    }
}
