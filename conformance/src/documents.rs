//! The operators and types that each feature level accepts, from DirectML's reference, not from the runtime's
//! schema: a wrong row there must fail cases, not change their expectation.
//!
//! The tables are those of the reference's pages as data, with the contradictions of the documents resolved;
//! `support_tables.rs` beside the two files defines their form.

mod page;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use dml::core::FieldValue;
use dml::core::schema::FieldSchema;
use dml::{AbstractOperator, DataType, FeatureLevel};
use serde::Deserialize;
use serde_json::Value;

use page::{Entry, Exception, Page, Table, TensorLimits, page};

const TABLES: &str = include_str!("../../crates/dml-core/tests/data/directml_support_tables.json");

const EXCEPTIONS: &str =
    include_str!("../../crates/dml-core/tests/data/directml_support_exceptions.json");

static PAGES: LazyLock<BTreeMap<String, Page>> = LazyLock::new(|| {
    let rows: Vec<Value> = serde_json::from_str(TABLES).expect("a test reads the embedded tables");
    let exceptions: Vec<Exception> =
        serde_json::from_str(EXCEPTIONS).expect("a test reads the embedded exceptions");
    let page = |row| page(row, &exceptions).expect("a test reads the embedded tables");
    rows.iter().map(page).collect()
});

const PART_LEVELS: &str =
    include_str!("../../crates/dml-core/tests/data/directml_part_levels.json");

static PARTS: LazyLock<Vec<Statement>> = LazyLock::new(|| {
    let rows: Vec<PartRow> = serde_json::from_str(PART_LEVELS).expect("a test reads the levels");
    rows.into_iter().map(|row| row.part().expect("a test reads the levels")).collect()
});

/// A statement in an operator's page or the history beside the tables: the level from which a tensor may be
/// left out, or a choice is available, or, without either, the operator may be nested, if that is later than
/// its use.
struct Statement {
    row: PartRow,
    from: FeatureLevel,
}

#[derive(Deserialize)]
struct PartRow {
    operator: String,
    left_out: Option<String>,
    choice: Option<String>,
    value: Option<u32>,
    from: String,
}

impl PartRow {
    fn part(self) -> Option<Statement> {
        let from = self.from.parse().ok()?;
        Some(Statement { row: self, from })
    }
}

impl Statement {
    fn is(&self, operator: &str, left_out: Option<&str>) -> bool {
        let row = &self.row;
        (row.operator.as_str(), row.left_out.as_deref()) == (operator, left_out)
            && row.choice.is_none()
    }

    fn is_choice(&self, operator: &str, choice: &str, value: u32) -> bool {
        let row = &self.row;
        (row.operator.as_str(), row.choice.as_deref(), row.value)
            == (operator, Some(choice), Some(value))
    }
}

/// A tensor whose support is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tensor<'a> {
    /// The tensor's field.
    pub(crate) field: &'a str,
    /// Its type.
    pub(crate) data_type: DataType,
    /// Its rank.
    pub(crate) rank: usize,
}

/// The tensors of `operator`, in the order of its fields.
pub(crate) fn tensors(operator: &AbstractOperator) -> Vec<Tensor<'_>> {
    let tensor = |(field, desc): (&'static str, &dml::TensorDesc)| Tensor {
        field,
        data_type: desc.data_type,
        rank: desc.sizes.len(),
    };
    operator.tensors().map(tensor).collect()
}

/// The answer whether a level accepts an operator with its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The level accepts it.
    Accepted,
    /// The level does not have the operator.
    NoOperator,
    /// The level does not accept the type of a tensor.
    NoDataType,
    /// The level accepts all types, but not the rank of a tensor.
    NoRank,
}

/// Whether `level` accepts the tensors of `operator`, each by the row of its field. Operators without a page
/// are accepted by no level.
pub(crate) fn ask(operator: &AbstractOperator, level: FeatureLevel) -> Answer {
    ask_choice(operator.schema().name, choice(operator), level, &tensors(operator))
}

/// The name of the operator's choice, if its support depends on that.
fn choice(operator: &AbstractOperator) -> Option<&'static str> {
    let varied = operator.schema().varied.as_ref()?;
    let field = operator.schema().fields.iter().find(|field| field.name == varied.field)?;
    let Some(FieldValue::Uint(number)) = operator.field(varied.field) else { return None };
    let mut values = field.enumeration?.values.iter();
    values.find(|(_, value)| value == number).map(|(name, _)| *name)
}

fn ask_choice(
    operator: &str,
    choice: Option<&str>,
    level: FeatureLevel,
    tensors: &[Tensor<'_>],
) -> Answer {
    let Some(table) = table_at(operator, choice, level) else { return Answer::NoOperator };
    let all = |accepts: &dyn Fn(&TensorLimits, &Tensor<'_>) -> bool| {
        tensors.iter().all(|tensor| table.get(tensor.field).is_some_and(|row| accepts(row, tensor)))
    };
    if !all(&|row, tensor| row.data_types.contains(&tensor.data_type)) {
        Answer::NoDataType
    } else if !all(&|row, tensor| row.ranks.contains(&tensor.rank)) {
        Answer::NoRank
    } else {
        Answer::Accepted
    }
}

/// The lowest level that accepts an operator with all of its tensors, which a refusal names; `None` if no
/// level does.
pub(crate) fn needed_level(operator: &AbstractOperator) -> Option<FeatureLevel> {
    needed_for(operator.schema().name, choice(operator), &tensors(operator))
}

fn needed_for(
    operator: &str,
    choice: Option<&str>,
    tensors: &[Tensor<'_>],
) -> Option<FeatureLevel> {
    let takes =
        |level: &FeatureLevel| ask_choice(operator, choice, *level, tensors) == Answer::Accepted;
    FeatureLevel::ALL.into_iter().find(takes)
}

/// The lowest level that accepts the tensors that `operator` leaves out, its choice and its nested operators;
/// `None` if these do not affect the level.
pub(crate) fn level_of_parts(operator: &AbstractOperator) -> Option<FeatureLevel> {
    let name = operator.schema().name;
    let level = |(field, value): (&FieldSchema, &FieldValue)| match value {
        FieldValue::Tensor(None) => {
            PARTS.iter().find(|it| it.is(name, Some(field.name))).map(|it| it.from)
        }
        FieldValue::Uint(value) => {
            PARTS.iter().find(|it| it.is_choice(name, field.name, *value)).map(|it| it.from)
        }
        FieldValue::OperatorDesc(Some(nested)) => {
            let nested = nested.schema().name;
            let introduced =
                FeatureLevel::ALL.into_iter().find(|it| table_at(nested, None, *it).is_some());
            introduced.max(PARTS.iter().find(|it| it.is(nested, None)).map(|it| it.from))
        }
        _ => None,
    };
    operator.schema().fields.iter().zip(operator.fields()).filter_map(level).max()
}

/// The first type and the first rank that `level` accepts for the tensor `field` of `operator`; those of the
/// highest level if `level` does not have the operator. `None` if no level has it.
pub(crate) fn first(operator: &str, level: FeatureLevel, field: &str) -> Option<(DataType, usize)> {
    let at = |level| table_at(operator, None, level);
    let table = at(level).or_else(|| at(FeatureLevel::HIGHEST));
    let row = table?.get(field)?;
    Some((*row.data_types.first()?, *row.ranks.start()))
}

/// The types that `level` accepts for the tensor `field` of `operator`, for any choice.
pub(crate) fn types(operator: &str, level: FeatureLevel, field: &str) -> Vec<DataType> {
    let choices = PAGES.get(operator).into_iter().flat_map(|page| &page.0);
    let choices: BTreeSet<Option<&str>> =
        choices.map(|choice| choice.choices.first().map(String::as_str)).collect();
    let rows =
        choices.into_iter().filter_map(|choice| table_at(operator, choice, level)?.get(field));
    let types: BTreeSet<DataType> = rows.flat_map(|row| row.data_types.iter().copied()).collect();
    types.into_iter().collect()
}

/// The table that applies to a choice: the highest one at or below `level`; without a choice, the highest of
/// any choice.
fn table_at(operator: &str, choice: Option<&str>, level: FeatureLevel) -> Option<&'static Table> {
    let is_chosen = |entry: &&Entry| match choice {
        Some(choice) if !entry.choices.is_empty() => entry.choices.iter().any(|it| it == choice),
        _ => true,
    };
    let mut entries = PAGES.get(operator)?.0.iter().rev().filter(is_chosen);
    entries.find(|entry| entry.level <= level).map(|entry| &entry.table)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_tables_are_read_completely() {
        assert_eq!(PAGES.len(), 177);
        assert_eq!(PAGES.values().map(|page| page.0.len()).sum::<usize>(), 438 + 2);
        for operator in dml_ops::OPERATORS.iter() {
            assert!(PAGES.contains_key(operator.schema().name), "{}", operator.schema().name);
        }
    }

    /// The schema's tables agree for every operator whose tables depend on no attribute: both have the same
    /// resolutions of contradictions.
    #[test]
    fn every_page_is_the_schema_s() {
        let mut rows = 0;
        for schema in dml::core::operators::OPERATORS.iter().filter(|it| it.varied.is_none()) {
            let tables = schema.every_tables().flat_map(|(_, tables)| tables.iter());
            let of_schema = tables.map(|table| {
                let cells = table.tensors.iter().map(|cell| {
                    let types =
                        DataType::ALL.into_iter().filter(|it| cell.data_types.contains(*it));
                    (cell.field, cell.ranks.iter().collect(), types.collect())
                });
                (table.level, cells.collect::<BTreeSet<_>>())
            });
            let of_page = PAGES[schema.name].0.iter().map(|entry| {
                let cells = entry.table.iter().map(|(field, row)| {
                    let types: BTreeSet<_> = row.data_types.iter().copied().collect();
                    (field.as_str(), row.ranks.clone().collect::<BTreeSet<_>>(), types)
                });
                (entry.level, cells.collect::<BTreeSet<_>>())
            });
            let of_page: Vec<_> = of_page.collect();
            assert_eq!(of_schema.collect::<Vec<_>>(), of_page, "{}", schema.name);
            rows += of_page.len();
        }
        assert_eq!(rows, 438 + 2 - 17, "all but REDUCE's");
    }

    #[test]
    fn other_documents_decide_where_they_contradict_a_page() {
        use Answer::{Accepted, NoDataType, NoOperator, NoRank};
        use DataType::{Float32, Int64};
        use FeatureLevel as Level;
        let ask = |name, field, level, data_type, rank| {
            ask_choice(name, None, level, &[Tensor { field, data_type, rank }])
        };
        assert_eq!(ask("TOP_K", "InputTensor", Level::V1_0, Float32, 4), Accepted);
        assert_eq!(ask("MAX_UNPOOLING", "InputTensor", Level::V2_0, Float32, 4), Accepted);
        assert_eq!(ask("SCATTER_ELEMENTS", "InputTensor", Level::V1_0, Float32, 4), NoOperator);
        let join = |level, data_type, rank| ask("JOIN", "OutputTensor", level, data_type, rank);
        assert_eq!(join(Level::V3_0, Float32, 2), NoRank);
        assert_eq!(join(Level::V3_1, Float32, 2), Accepted);
        assert_eq!(join(Level::V4_0, Int64, 2), NoDataType);
        assert_eq!(join(Level::V4_1, Int64, 2), Accepted);
        let adam = |level, rank| ask("ADAM_OPTIMIZER", "GradientTensor", level, Float32, rank);
        assert_eq!((adam(Level::V3_1, 8), adam(Level::V4_0, 8)), (NoRank, Accepted));
    }

    /// Rows copied from the pages by hand.
    #[test]
    fn a_page_s_rows_decide() {
        use Answer::{Accepted, NoDataType, NoOperator, NoRank};
        use DataType::{Float32, Int32, Int64, Uint4};
        use FeatureLevel as Level;
        let name = "DIAGONAL_MATRIX";
        let output = |data_type, rank| Tensor { field: "OutputTensor", data_type, rank };
        let ask = |name, level, data_type, rank| {
            ask_choice(name, None, level, &[output(data_type, rank)])
        };
        assert_eq!(ask(name, Level::V1_0, Float32, 4), NoOperator);
        assert_eq!(ask(name, Level::V2_0, Float32, 4), Accepted);
        assert_eq!(ask(name, Level::V2_0, Int32, 4), NoDataType);
        assert_eq!(ask(name, Level::V3_1, Float32, 2), NoRank);
        assert_eq!(ask(name, Level::V5_0, Int64, 2), NoDataType);
        assert_eq!(ask(name, Level::V5_1, Int64, 2), Accepted);
        assert_eq!(ask(name, Level::V6_4, Uint4, 2), NoDataType);
        assert_eq!(ask("NO_SUCH_OPERATOR", Level::V6_4, Float32, 4), NoOperator);
        let needed = |data_type, rank| needed_for(name, None, &[output(data_type, rank)]);
        assert_eq!(needed(Float32, 4), Some(Level::V2_0));
        assert_eq!(needed(Int32, 4), Some(Level::V2_1));
        assert_eq!(needed(Int32, 2), Some(Level::V4_0));
        assert_eq!(needed(Int32, 5), None);
    }

    /// CAST's rows: at 1_0 FLOAT32 to INT8 with 4 dimensions, from 3_0 INT32, from 3_1 1 to 8
    /// dimensions, from 4_1 FLOAT64.
    #[test]
    fn each_tensor_is_looked_up_in_its_own_row() {
        use Answer::{Accepted, NoDataType, NoRank};
        use DataType::{Float32, Float64, Int4, Int8, Int32, Uint32};
        use FeatureLevel as Level;
        let cast = |from, to, rank| {
            [("InputTensor", from), ("OutputTensor", to)].map(|(field, data_type)| Tensor {
                field,
                data_type,
                rank,
            })
        };
        let check = |level, tensors: [Tensor<'_>; 2], answer, needed| {
            assert_eq!(ask_choice("CAST", None, level, &tensors), answer, "{tensors:?}");
            if answer != Accepted {
                assert_eq!(needed_for("CAST", None, &tensors), needed, "{tensors:?}");
            }
        };
        check(Level::V1_0, cast(Float32, Int8, 4), Accepted, None);
        check(Level::V1_0, cast(Float32, Int32, 4), NoDataType, Some(Level::V3_0));
        check(Level::V1_0, cast(Int32, Float64, 4), NoDataType, Some(Level::V4_1));
        check(Level::V3_0, cast(Int32, Float64, 4), NoDataType, Some(Level::V4_1));
        check(Level::V3_0, cast(Int32, Float32, 2), NoRank, Some(Level::V3_1));
        check(Level::V6_4, cast(Float32, Int4, 4), NoDataType, None);
        // GATHER's indices have types of their own.
        let gather = |indices| {
            [("InputTensor", Float32), ("IndicesTensor", indices), ("OutputTensor", Float32)]
                .map(|(field, data_type)| Tensor { field, data_type, rank: 4 })
        };
        assert_eq!(ask_choice("GATHER", None, Level::V1_0, &gather(Uint32)), Accepted);
        assert_eq!(ask_choice("GATHER", None, Level::V1_0, &gather(Int32)), NoDataType);
        let unknown = [Tensor { field: "NoSuchTensor", data_type: Float32, rank: 4 }];
        assert_eq!(ask_choice("CAST", None, Level::V6_4, &unknown), NoDataType);
    }

    /// Validation of CAST for every pair of types at every rank and level.
    #[test]
    fn validation_names_the_level_that_the_pages_do() {
        use dml::core::operators::CAST;
        use dml::core::{Error, FieldValue, validate};
        use dml_reference::Signature;
        for (level, signature) in
            FeatureLevel::ALL.into_iter().flat_map(|it| Signature::all(&CAST).map(move |s| (it, s)))
        {
            let desc = |it: &DataType| dml::TensorDesc::packed(*it, &vec![1; signature.rank]);
            let fields =
                signature.types.iter().map(|data_type| FieldValue::Tensor(Some(desc(data_type))));
            let operator = AbstractOperator::new(&CAST, fields.collect()).unwrap();
            let tensors = tensors(&operator);
            let is_accepted = ask_choice("CAST", None, level, &tensors) == Answer::Accepted;
            match validate(&operator, level) {
                Ok(_) => assert!(is_accepted, "{level} {signature:?}"),
                Err(Error::FeatureLevel(refusal)) => {
                    assert!(!is_accepted, "{level} {signature:?}");
                    let needed = needed_for("CAST", None, &tensors);
                    assert_eq!(refusal.needs, needed, "{level} {signature:?}");
                }
                Err(other) => panic!("{level} {signature:?}: {other}"),
            }
        }
    }
}
