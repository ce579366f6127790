//! Which cases a run is about.

use std::fmt;
use std::str::FromStr;

use dml::FeatureLevel;

use crate::cases::{self, Case, CaseId, Finder};
use crate::pattern::Pattern;
use crate::results;

/// Which cases are chosen.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The feature levels.
    pub levels: Vec<FeatureLevel>,
    /// A glob that ids must match, or one id.
    pub filter: Option<Pattern>,
    /// Random cases for each operator, data type and rank, at the highest of the levels.
    pub random: u32,
    /// What they are made from.
    pub seed: u64,
    /// One of several parts.
    pub shard: Option<Shard>,
    /// Exactly these; levels and random cases do not matter then.
    pub case_list: Option<Vec<CaseId>>,
}

impl Selection {
    /// The cases, in a fixed order. Listed ids that are no cases are left out: reading a list has
    /// refused them.
    pub fn cases(&self) -> Vec<Case> {
        let mut finder = Finder::default();
        let all = match (&self.case_list, self.named_case(&mut finder)) {
            (Some(ids), _) => ids.iter().filter_map(|id| finder.find(id)).collect(),
            (None, Some(case)) => vec![case],
            (None, None) => self.generated(),
        };
        let is_chosen = |case: &Case| {
            let id = case.id.to_string();
            self.filter.as_ref().is_none_or(|filter| filter.is_match(&id))
                && self.shard.is_none_or(|shard| shard.has(&id))
        };
        all.into_iter().filter(is_chosen).collect()
    }

    /// Whether nothing but levels and random cases was chosen, and all levels.
    pub fn is_full(&self) -> bool {
        let all_levels = FeatureLevel::ALL.iter().all(|level| self.levels.contains(level));
        let narrowed = self.filter.is_some() || self.shard.is_some() || self.case_list.is_some();
        all_levels && !narrowed
    }

    /// The same for a report.
    pub fn describe(&self) -> results::Selection {
        results::Selection {
            levels: self.levels.iter().map(ToString::to_string).collect(),
            filter: self.filter.as_ref().map(|filter| filter.glob().to_owned()),
            random: self.random,
            seed: self.seed,
            shard: self.shard.map(|shard| shard.to_string()),
            case_list: self.case_list.is_some(),
        }
    }

    /// The case that the filter names in full: a random one needs no `--random` and `--seed` then.
    fn named_case(&self, finder: &mut Finder) -> Option<Case> {
        let id: CaseId = self.filter.as_ref()?.glob().parse().ok()?;
        if self.levels.contains(&id.level) { finder.find(&id) } else { None }
    }

    fn generated(&self) -> Vec<Case> {
        let fixed = self.levels.iter().flat_map(|level| cases::generate(*level));
        let highest = self.levels.iter().max();
        let random = highest.map(|level| cases::random(*level, self.random, self.seed));
        fixed.chain(random.into_iter().flatten()).collect()
    }
}

/// One of several parts of all cases: `2/3`. Which part a case is in depends on its id alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which part, from 1.
    index: u64,
    /// How many there are.
    count: u64,
}

impl Shard {
    fn has(self, id: &str) -> bool {
        // FNV-1a: the same on every machine and in every version.
        let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        // The low bits of neighbouring ids follow a pattern, the high ones do not.
        (hash >> 32) % self.count == self.index - 1
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

/// Reads a list of ids: one a line; empty lines and what follows a `#` do not count.
///
/// # Errors
/// A line is no id, or that of no case; the message names the line.
pub fn parse_case_list(text: &str) -> Result<Vec<CaseId>, String> {
    let mut finder = Finder::default();
    let mut ids = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let id: CaseId = line.parse().map_err(|error| format!("line {number}: {error}"))?;
        if finder.find(&id).is_none() {
            return Err(format!("line {number}: there is no case {id}"));
        }
        ids.push(id);
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(levels: &[FeatureLevel]) -> Selection {
        let levels = levels.to_vec();
        Selection { levels, filter: None, random: 0, seed: 0, shard: None, case_list: None }
    }

    fn filter(text: &str) -> Option<Pattern> {
        Some(text.parse().unwrap())
    }

    fn ids(selection: &Selection) -> Vec<String> {
        selection.cases().iter().map(|case| case.id.to_string()).collect()
    }

    #[test]
    fn shards_are_all_cases_and_share_none() {
        let all = selection(&[FeatureLevel::V3_0]);
        let shard =
            |text: &str| ids(&Selection { shard: Some(text.parse().unwrap()), ..all.clone() });
        let parts = ["1/3", "2/3", "3/3"].map(shard);
        let count = ids(&all).len();
        assert!(
            parts.iter().all(|part| part.len() > count / 4),
            "{:?}",
            parts.each_ref().map(Vec::len)
        );
        let mut union = parts.concat();
        assert_eq!(union.len(), count);
        let mut all = ids(&all);
        union.sort();
        all.sort();
        assert_eq!(union, all);
    }

    #[test]
    fn a_shard_is_one_of_its_number() {
        assert_eq!("2/3".parse::<Shard>().unwrap().to_string(), "2/3");
        for text in ["0/3", "4/3", "1/0", "1", "a/b", "-1/3", ""] {
            assert!(text.parse::<Shard>().unwrap_err().contains("such as 2/3"), "{text}");
        }
    }

    #[test]
    fn a_list_has_ids_and_comments() {
        let text = "# chosen\n\n5_1/diagonal_matrix/int64/rank3/offset_zero # why\n";
        let list = parse_case_list(text).unwrap();
        let listed = Selection { case_list: Some(list), ..selection(&[FeatureLevel::V1_0]) };
        assert_eq!(ids(&listed), ["5_1/diagonal_matrix/int64/rank3/offset_zero"]);
    }

    #[test]
    fn a_wrong_line_is_named() {
        let error = |text: &str| parse_case_list(text).unwrap_err();
        assert!(error("\nnonsense\n").starts_with("line 2: \"nonsense\" is no id"));
        let unknown = "5_1/diagonal_matrix/int64/rank3/nothing";
        assert_eq!(error(unknown), format!("line 1: there is no case {unknown}"));
    }

    #[test]
    fn random_cases_are_of_the_highest_level() {
        let two = Selection { random: 1, ..selection(&[FeatureLevel::V2_1, FeatureLevel::V2_0]) };
        let ids = ids(&two);
        let random: Vec<_> = ids.iter().filter(|id| id.ends_with("/random_0_0")).collect();
        assert!(!random.is_empty() && random.iter().all(|id| id.starts_with("2_1/")), "{random:?}");
    }

    #[test]
    fn a_filter_that_is_an_id_needs_no_seed() {
        let id = "6_4/diagonal_matrix/int8/rank2/random_99_5";
        let one = Selection { filter: filter(id), ..selection(&FeatureLevel::ALL) };
        assert_eq!(ids(&one), [id]);
        let other_level = Selection { filter: filter(id), ..selection(&[FeatureLevel::V5_1]) };
        assert!(ids(&other_level).is_empty());
    }
}
