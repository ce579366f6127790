//! Wrong rows in the tables of what a feature level accepts, and refusals that name the wrong field.

use dml::core::schema::{OperatorSchema, SupportTable, TensorSupport};
use dml::core::{DataTypeSet, Error, Validated, validate};
use dml::{AbstractOperator, DataType, FeatureLevel};
use dml_conformance::cases::{Case, Filter, all};
use dml_conformance::execute::Lowering;
use dml_conformance::pattern::Pattern;

use crate::{check_found, interpreter, on_a_device};

/// Validates against a table in which one row says something else.
struct WrongRow {
    /// The row is the operator's table that applies at this level.
    level: FeatureLevel,
    data_type: DataType,
    accepted: bool,
}

impl WrongRow {
    /// The schema with the changed row. It lives as long as the program, as any schema does.
    fn schema(&self, right: &'static OperatorSchema) -> &'static OperatorSchema {
        let changed = right.table_at(self.level).map(|table| table.level);
        let tables = right.tables.iter().map(|table| {
            if Some(table.level) != changed {
                return SupportTable { ..*table };
            }
            let tensors = table.tensors.iter().map(|tensor| self.tensor(tensor));
            let tensors: &'static [TensorSupport] = Vec::leak(tensors.collect());
            SupportTable { tensors, ..*table }
        });
        let tables: &'static [SupportTable] = Vec::leak(tables.collect());
        Box::leak(Box::new(OperatorSchema { tables, varied: None, ..*right }))
    }

    fn tensor(&self, right: &TensorSupport) -> TensorSupport {
        let kept = |data_type: &DataType| {
            if *data_type == self.data_type {
                self.accepted
            } else {
                right.data_types.contains(*data_type)
            }
        };
        let types: Vec<DataType> = DataType::ALL.into_iter().filter(kept).collect();
        TensorSupport { data_types: DataTypeSet::of(&types), ..*right }
    }
}

impl Lowering for WrongRow {
    fn validate(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
    ) -> Result<Validated, Error> {
        let schema = self.schema(operator.schema());
        validate(&AbstractOperator::new(schema, operator.fields().to_vec())?, level)
    }
}

/// One case for each level, type and rank.
fn cases() -> Vec<Case> {
    let chosen =
        |case: &Case| case.id.name.starts_with("refused_") || case.id.name == "offset_zero";
    let pattern = diagonal();
    let filter = Filter::new(Some(&pattern));
    let cases = FeatureLevel::ALL.into_iter().flat_map(|level| all(level, &filter));
    cases.filter(chosen).collect()
}

/// The cases of the operator whose tables are changed.
fn diagonal() -> Pattern {
    "*/diagonal_matrix/*".parse().unwrap()
}

fn check(row: &WrongRow, words: &str) {
    let cases = cases();
    on_a_device(row, |name, executor| check_found(name, &cases, executor, words));
    check_found("host interpreter", &cases, &interpreter(row), words);
}

#[test]
fn a_row_that_accepts_too_much_is_found() {
    let (level, data_type) = (FeatureLevel::V4_0, DataType::Int64);
    check(
        &WrongRow { level, data_type, accepted: true },
        "4_0/diagonal_matrix/int64/rank2/refused_data_type: accepted, but it must be refused",
    );
}

#[test]
fn a_row_that_accepts_too_little_is_found() {
    let (level, data_type) = (FeatureLevel::V5_1, DataType::Int64);
    check(
        &WrongRow { level, data_type, accepted: false },
        "5_1/diagonal_matrix/int64/rank3/offset_zero: refused: ",
    );
}

/// Refuses what is broken, but names the tensor's other field, element or tensor.
struct WrongPath {
    right: &'static str,
    wrong: &'static str,
}

impl Lowering for WrongPath {
    fn validate(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
    ) -> Result<Validated, Error> {
        validate(operator, level).map_err(|mut error| {
            if let Error::Invalid { field, .. } = &mut error {
                field.path = field.path.replace(self.right, self.wrong);
            }
            error
        })
    }
}

#[test]
fn a_refusal_that_names_another_path_is_found() {
    let is_rule = |case: &Case| case.id.name.starts_with("rule_");
    let pattern = diagonal();
    let filter = Filter::new(Some(&pattern));
    let cases: Vec<Case> = all(FeatureLevel::HIGHEST, &filter).filter(is_rule).collect();
    for (right, wrong) in
        [("Sizes[2]", "Sizes[1]"), ("Sizes[2]", "Sizes"), ("OutputTensor", "InputTensor")]
    {
        let words = "/rank3/rule_size_zero: expected a refusal of OutputTensor.Sizes[2], found";
        check_found(wrong, &cases, &interpreter(&WrongPath { right, wrong }), words);
    }
}
