//! The stable ids of cases.

use std::fmt;
use std::str::FromStr;

use dml::FeatureLevel;
use dml::core::schema::OperatorSchema;
use dml_reference::Signature;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The stable id of a case: `5_1/diagonal_matrix/int64/rank3/offset_past_right`. If tensors differ in type,
/// the types are separated by dashes: `5_1/cast/float32-int8/rank4/same_sizes`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CaseId {
    /// The feature level.
    pub level: FeatureLevel,
    /// The operator's name in lower case.
    pub operator: String,
    /// The data types and the rank of its tensors.
    pub signature: Signature,
    /// The special attribute, shape or layout of the case, in snake case.
    pub name: String,
}

impl CaseId {
    pub(super) fn new(
        level: FeatureLevel,
        schema: &OperatorSchema,
        signature: &Signature,
        name: &str,
    ) -> Self {
        let operator = operator_word(schema);
        Self { level, operator, signature: signature.clone(), name: name.to_owned() }
    }

    /// The seed and the index of a random case, `random_SEED_INDEX`; `None` for other cases.
    pub fn random(&self) -> Option<(u64, u32)> {
        let (seed, index) = self.name.strip_prefix("random_")?.split_once('_')?;
        let parsed = (seed.parse().ok()?, index.parse().ok()?);
        // Every case has one id: no leading zeros or signs.
        (self.name == format!("random_{}_{}", parsed.0, parsed.1)).then_some(parsed)
    }
}

impl fmt::Display for CaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, operator, signature, name } = self;
        write!(f, "{}{name}", prefix(*level, operator, signature))
    }
}

/// An operator's name in ids.
pub(super) fn operator_word(schema: &OperatorSchema) -> String {
    schema.name.to_lowercase()
}

/// The common beginning of an operator's ids at a level.
pub(super) fn operator_prefix(level: FeatureLevel, operator: &str) -> String {
    format!("{level}/{operator}/")
}

/// An id without its last part.
pub(super) fn prefix(level: FeatureLevel, operator: &str, signature: &Signature) -> String {
    let types = signature.type_names().to_lowercase();
    format!("{}{types}/rank{}/", operator_prefix(level, operator), signature.rank)
}

impl FromStr for CaseId {
    type Err = NotACase;

    fn from_str(text: &str) -> Result<Self, NotACase> {
        parse(text).ok_or_else(|| NotACase(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<CaseId> {
    let mut parts = text.splitn(5, '/');
    let mut next = || parts.next().filter(|part| !part.is_empty());
    let level = next()?.parse().ok()?;
    let operator = next()?.to_owned();
    let types = next()?.to_uppercase();
    let rank = next()?.strip_prefix("rank")?.parse().ok()?;
    let name = next()?.to_owned();
    Some(CaseId { level, operator, signature: Signature::from_names(&types, rank)?, name })
}

/// A text that cannot be the id of a case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a case id; expected LEVEL/OPERATOR/TYPE/RANK/NAME, \
     such as 5_1/diagonal_matrix/int64/rank3/offset_past_right"
)]
pub struct NotACase(String);

impl Serialize for CaseId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CaseId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_back() {
        let text = "5_1/diagonal_matrix/int64/rank3/offset_past_right";
        let id: CaseId = text.parse().unwrap();
        assert_eq!(id.to_string(), text);
        assert_eq!((id.level, id.signature.rank), (FeatureLevel::V5_1, 3));
        assert_eq!((&*id.operator, &*id.name), ("diagonal_matrix", "offset_past_right"));
        assert_eq!(serde_json::to_string(&id).unwrap(), format!("{text:?}"));
        let pair = "5_1/cast/float32-int8/rank4/same_sizes";
        let id: CaseId = pair.parse().unwrap();
        assert_eq!((&*id.signature.type_names(), &*id.to_string()), ("FLOAT32-INT8", pair));
    }

    #[test]
    fn random_cases_carry_their_seed() {
        let random = |name: &str| {
            let id: CaseId = format!("5_1/a/int8/rank2/{name}").parse().unwrap();
            id.random()
        };
        assert_eq!(random("random_7_12"), Some((7, 12)));
        for name in ["random_7", "random_7_12_1", "random_07_12", "random_+7_12", "random__1"] {
            assert_eq!(random(name), None, "{name}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_an_example() {
        for text in ["", "5_1", "9_9/a/int8/rank2/b", "5_1/a/int8-int7/rank2/b", "5_1/a/int8/2/b"] {
            let error = text.parse::<CaseId>().unwrap_err().to_string();
            assert!(error.contains("5_1/diagonal_matrix"), "{error}");
        }
        assert!("5_1/a/int8/rank2/".parse::<CaseId>().is_err());
    }
}
