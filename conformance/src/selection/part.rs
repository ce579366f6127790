//! Parts of all cases: the same ones on every machine and in every version.

use std::fmt;
use std::str::FromStr;

use crate::cases::{Kind, Listed, Listing};

/// One of several parts of all cases: `2/3`. Only its id determines the part that a case is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The index of the part, from 1.
    index: u64,
    /// The number of parts.
    count: u64,
}

impl Shard {
    pub(super) fn has(self, id: &str) -> bool {
        // FNV-1a, which is the same on every machine and in every version.
        let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        // The low bits of neighbouring ids follow a pattern, the high ones do not.
        (hash >> 32) % self.count == self.index - 1
    }

    /// The cases of this part, and every case that a device must refuse, which costs next to nothing. The feature
    /// level has no influence, so that levels share the results of a case as they do without a part.
    pub fn sample(self, cases: &Listing) -> Listing {
        let is_chosen = |case: &&Listed| {
            let id = case.id.to_string();
            let without_level = id.split_once('/').map_or(id.as_str(), |(_, rest)| rest);
            case.kind == Kind::Refusal || self.has(without_level)
        };
        cases.iter().filter(is_chosen).cloned().collect()
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(index, count)| {
            Some(Self { index: index.parse().ok()?, count: count.parse().ok()? })
        });
        parts
            .filter(|shard| shard.index >= 1 && shard.index <= shard.count)
            .ok_or_else(|| "accepted: I/N with I from 1 to N, such as 2/3".to_owned())
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// The part of the cases that slow devices run: `SwiftShader=1/4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    device: String,
    /// The part of the cases.
    pub part: Shard,
}

impl Sample {
    /// Whether it is for a device of this name.
    pub fn is_for(&self, device: &str) -> bool {
        device.to_lowercase().contains(&self.device.to_lowercase())
    }
}

impl FromStr for Sample {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let accepted = "accepted: DEVICE=I/N, such as SwiftShader=1/4";
        let (device, part) = text.split_once('=').ok_or(accepted)?;
        if device.is_empty() {
            return Err(accepted.to_owned());
        }
        Ok(Self { device: device.to_owned(), part: part.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use dml::FeatureLevel;

    use super::*;
    use crate::cases::generate;

    #[test]
    fn a_shard_is_one_of_its_number() {
        assert_eq!("2/3".parse::<Shard>().unwrap().to_string(), "2/3");
        for text in ["0/3", "4/3", "1/0", "1", "a/b", "-1/3", ""] {
            assert!(text.parse::<Shard>().unwrap_err().contains("such as 2/3"), "{text}");
        }
    }

    #[test]
    fn a_sample_is_for_devices_whose_names_contain_a_word() {
        let sample: Sample = "swiftshader=1/4".parse().unwrap();
        assert_eq!(sample.part.to_string(), "1/4");
        assert!(sample.is_for("SwiftShader Device (Subzero)") && !sample.is_for("llvmpipe"));
        for text in ["1/4", "=1/4", "a=4", ""] {
            assert!(text.parse::<Sample>().unwrap_err().contains("accepted: "), "{text}");
        }
    }

    #[test]
    fn a_sample_has_the_same_cases_of_every_level_and_all_refusals() {
        let both = [FeatureLevel::V5_1, FeatureLevel::V6_4].into_iter().flat_map(generate);
        let cases: Listing =
            both.map(Listed::generated).filter(|case| case.id.operator == "gemm").collect();
        let sample = "1/4".parse::<Shard>().unwrap().sample(&cases);
        let refusals =
            |cases: &[Listed]| cases.iter().filter(|case| case.kind == Kind::Refusal).count();
        assert_eq!(refusals(&sample), refusals(&cases));
        let names = |level: FeatureLevel| -> Vec<String> {
            let executed =
                sample.iter().filter(|it| it.kind != Kind::Refusal && it.id.level == level);
            executed.map(|executed| executed.id.to_string()[4..].to_owned()).collect()
        };
        let (before, after) = (names(FeatureLevel::V5_1), names(FeatureLevel::V6_4));
        assert!(before.len() > 20 && before.iter().all(|name| after.contains(name)), "{before:?}");
        let executed = cases.len() - refusals(&cases);
        let sampled = sample.len() - refusals(&sample);
        assert!((executed / 6..executed / 3).contains(&sampled), "{sampled} of {executed}");
    }
}
