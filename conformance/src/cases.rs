//! Every case of a feature level, generated from the schema and from the operators' corner cases.

use std::fmt;

use dml::core::schema::OperatorSchema;
use dml::{AbstractOperator, DataType, FeatureLevel};
use dml_ops::Operator;
use dml_ops::reference::Case as CornerCase;

use crate::rules;

/// Dimension counts that a descriptor can have.
const RANKS: std::ops::RangeInclusive<usize> = 1..=8;

/// The stable name of a case: `5_1/diagonal_matrix/int64/rank3/offset_past_right`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CaseId {
    level: FeatureLevel,
    operator: &'static str,
    data_type: DataType,
    rank: usize,
    name: String,
}

impl fmt::Display for CaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, operator, data_type, rank, name } = self;
        let operator = operator.to_lowercase();
        let data_type = data_type.name().to_lowercase();
        write!(f, "{level}/{operator}/{data_type}/rank{rank}/{name}")
    }
}

/// What must happen.
#[derive(Clone, Debug)]
pub enum Expectation {
    /// The operator executes and its outputs are the reference's, bit for bit.
    Outputs(Box<CornerCase>),
    /// Compilation refuses it because of the feature level, naming the lowest level that accepts
    /// it, or that none does.
    NeedsLevel(Option<FeatureLevel>),
    /// Compilation refuses the descriptor, naming this field.
    InvalidField(&'static str),
    /// It compiles, and binding refuses the output.
    InvalidBinding(BadBinding),
}

/// A wrong way to bind an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadBinding {
    /// 4 bytes less than the tensor needs.
    TooSmall,
    /// At an offset that is no multiple of 16.
    Unaligned,
    /// Reaching past the end of its buffer.
    OutOfBuffer,
    /// Not at all.
    Missing,
}

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its stable name.
    pub id: CaseId,
    /// The level that the device is created at.
    pub level: FeatureLevel,
    /// The operator.
    pub operator: AbstractOperator,
    /// What must happen.
    pub expectation: Expectation,
}

/// Every case of `level`, in a fixed order.
pub fn generate(level: FeatureLevel) -> Vec<Case> {
    dml_ops::OPERATORS.iter().flat_map(|operator| operator_cases(*operator, level)).collect()
}

fn operator_cases(operator: &dyn Operator, level: FeatureLevel) -> Vec<Case> {
    let mut cases = Vec::new();
    for data_type in DataType::ALL {
        for rank in RANKS {
            let make = |name: &str, operator_desc, expectation| Case {
                id: CaseId {
                    level,
                    operator: operator.schema().name,
                    data_type,
                    rank,
                    name: name.to_owned(),
                },
                level,
                operator: operator_desc,
                expectation,
            };
            match refusal(operator.schema(), level, data_type, rank) {
                Some((name, needs)) => {
                    let minimal = operator.reference().minimal(data_type, rank);
                    cases.push(make(name, minimal, Expectation::NeedsLevel(needs)));
                }
                None => {
                    for case in operator.reference().cases(data_type, rank) {
                        let desc = case.operator.clone();
                        cases.push(make(case.name, desc, Expectation::Outputs(Box::new(case))));
                    }
                    for rule in rules::cases(operator, data_type, rank) {
                        cases.push(make(rule.name, rule.operator, rule.expectation));
                    }
                }
            }
        }
    }
    cases
}

/// Why `level` refuses tensors of this type and rank, and the lowest level that does not: found by
/// asking every level in turn, apart from how validation finds it.
fn refusal(
    schema: &OperatorSchema,
    level: FeatureLevel,
    data_type: DataType,
    rank: usize,
) -> Option<(&'static str, Option<FeatureLevel>)> {
    let accepts = |level| {
        schema.table_at(level).map(|table| {
            let types = table.tensors.iter().all(|tensor| tensor.data_types.contains(data_type));
            let ranks = table.tensors.iter().all(|tensor| tensor.ranks.contains(rank));
            (types, ranks)
        })
    };
    let needs = FeatureLevel::ALL.into_iter().find(|level| accepts(*level) == Some((true, true)));
    match accepts(level) {
        None => Some(("refused_operator", needs)),
        Some((false, _)) => Some(("refused_data_type", needs)),
        Some((true, false)) => Some(("refused_dimension_count", needs)),
        Some((true, true)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(level: FeatureLevel) -> Vec<String> {
        generate(level).iter().map(|case| case.id.to_string()).collect()
    }

    #[test]
    fn ids_are_stable_and_unique() {
        let mut ids: Vec<String> = FeatureLevel::ALL.into_iter().flat_map(ids).collect();
        assert!(ids.contains(&"5_1/diagonal_matrix/int64/rank3/offset_past_right".to_owned()));
        assert!(ids.contains(&"2_0/diagonal_matrix/float32/rank4/doc_default_identity".to_owned()));
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }

    #[test]
    fn every_level_type_and_rank_has_a_case() {
        for level in FeatureLevel::ALL {
            let ids = ids(level);
            for data_type in DataType::ALL {
                for rank in RANKS {
                    let data_type = data_type.name().to_lowercase();
                    let prefix = format!("{level}/diagonal_matrix/{data_type}/rank{rank}/");
                    assert!(ids.iter().any(|id| id.starts_with(&prefix)), "{prefix}");
                }
            }
        }
    }

    #[test]
    fn a_refusal_knows_the_level_that_accepts() {
        let schema = dml_ops::OPERATORS[0].schema();
        let refusal = |level, data_type, rank| refusal(schema, level, data_type, rank);
        use DataType::{Float32, Int32, Int64, Uint4};
        use FeatureLevel as Level;
        assert_eq!(refusal(Level::V2_0, Float32, 4), None);
        assert_eq!(refusal(Level::V1_0, Float32, 4), Some(("refused_operator", Some(Level::V2_0))));
        assert_eq!(refusal(Level::V2_0, Int32, 4), Some(("refused_data_type", Some(Level::V2_1))));
        assert_eq!(
            refusal(Level::V3_1, Float32, 2),
            Some(("refused_dimension_count", Some(Level::V4_0)))
        );
        assert_eq!(refusal(Level::V5_0, Int64, 2), Some(("refused_data_type", Some(Level::V5_1))));
        assert_eq!(refusal(Level::V6_4, Uint4, 2), Some(("refused_data_type", None)));
        assert_eq!(refusal(Level::V6_4, Int64, 5), Some(("refused_dimension_count", None)));
    }
}
