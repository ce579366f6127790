//! Checks against a feature level: the operator itself, its tensors' data types and dimension counts,
//! which tensors may be left out, and which operators may be nested.

use crate::error::{Error, LevelRefusal};
use crate::operators::fusion::{Fusion, fusions_in};
use crate::operators::implemented_summary;
use crate::schema::operator::{AbstractOperator, FieldValue, element_path};
use crate::schema::{FieldSchema, OperatorSchema, SupportTable, TensorSupport, table_at};
use crate::tensor::{MAX_DIMENSION_COUNT, TensorDesc};
use crate::types::FeatureLevel;

/// The support tables of an operator, and the device's level.
#[derive(Clone, Copy)]
pub(super) struct Levels {
    schema: &'static OperatorSchema,
    tables: &'static [SupportTable],
    table: &'static SupportTable,
    level: FeatureLevel,
}

impl Levels {
    /// Fails if the level does not have the operator.
    pub(super) fn new(operator: &AbstractOperator, level: FeatureLevel) -> Result<Self, Error> {
        let schema = operator.schema();
        let tables = operator.support_tables();
        match table_at(tables, level) {
            Some(table) => Ok(Self { schema, tables, table, level }),
            None => Err(Error::FeatureLevel(Box::new(LevelRefusal {
                operator: schema.name,
                introduced: schema.introduced(),
                field: None,
                needs: Some(schema.introduced()),
                created_at: level,
                allowed: None,
            }))),
        }
    }

    /// Checks a tensor's data type, then its dimension count. `path` is the tensor's path in messages.
    pub(super) fn tensor(
        &self,
        field: &FieldSchema,
        path: &str,
        desc: &TensorDesc,
    ) -> Result<(), Error> {
        let support = self.table.tensor(field.name).ok_or_else(|| {
            let problem = format!("no support table for {} at {}", field.name, self.table.level);
            Error::internal(self.schema.name, problem)
        })?;
        if support.types_documented() {
            // A dimension count that no level accepts comes first: a higher level would not help.
            let rank = desc.sizes.len();
            if self.lowest(support, |s| s.ranks.contains(rank)).is_none() {
                self.rank(support, path, desc)?;
            }
            self.data_type(support, path, desc)?;
            return self.rank(support, path, desc);
        }
        self.rank(support, path, desc)?;
        Err(Error::Undocumented { operator: self.schema.name, field: format!("{path}.DataType") })
    }

    /// Checks whether the level allows a tensor that is left out.
    pub(super) fn left_out(&self, field: &FieldSchema) -> Result<(), Error> {
        match field.optional_from {
            Some(needs) if self.level < needs => {
                let given = (field.name.to_owned(), "null".to_owned());
                Err(self.refusal(given, Some(needs), "a tensor".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Checks whether an operator may be nested at `path`.
    pub(super) fn nested(&self, path: &str, nested: &OperatorSchema) -> Result<(), Error> {
        let number = nested.operator_type;
        let found = fusions_in(self.schema).find(|it| it.operator.operator_type == number);
        let needs = found.map(Fusion::level);
        if needs.is_some_and(|needs| needs <= self.level) {
            return Ok(());
        }
        let allowed = fusions_in(self.schema).filter(|it| it.level() <= self.level);
        let allowed: Vec<&str> = allowed.map(|allowed| allowed.operator.name).collect();
        let given = (path.to_owned(), nested.name.to_owned());
        Err(self.refusal(given, needs, allowed.join(", ")))
    }

    fn data_type(
        &self,
        support: &TensorSupport,
        path: &str,
        desc: &TensorDesc,
    ) -> Result<(), Error> {
        if support.data_types.contains(desc.data_type) {
            return Ok(());
        }
        let type_alone = self.lowest(support, |s| s.data_types.contains(desc.data_type));
        let needs = self.accepting(support, desc).or(type_alone);
        let given = match needs == type_alone {
            true => desc.data_type.to_string(),
            false => format!("{} with {} dimensions", desc.data_type, desc.sizes.len()),
        };
        let given = (format!("{path}.DataType"), given);
        Err(self.refusal(given, needs, support.data_types.to_string()))
    }

    /// Checks the dimension count. Counts that no tensor can have are left to the rules of tensors.
    fn rank(&self, support: &TensorSupport, path: &str, desc: &TensorDesc) -> Result<(), Error> {
        let rank = desc.sizes.len();
        if support.ranks.contains(rank) || !is_rank(rank) {
            return Ok(());
        }
        let needs = self.accepting(support, desc);
        let given = (format!("{path}.DimensionCount"), rank.to_string());
        Err(self.refusal(given, needs, support.ranks.to_string()))
    }

    /// The lowest level that accepts both the type and the dimension count of a tensor.
    fn accepting(&self, support: &TensorSupport, desc: &TensorDesc) -> Option<FeatureLevel> {
        self.lowest(support, |s| {
            s.ranks.contains(desc.sizes.len())
                && (!s.types_documented() || s.data_types.contains(desc.data_type))
        })
    }

    fn lowest(
        &self,
        support: &TensorSupport,
        accepts: impl Fn(&TensorSupport) -> bool,
    ) -> Option<FeatureLevel> {
        let accepting = |it: &&SupportTable| it.tensor(support.field).is_some_and(&accepts);
        self.tables.iter().find(accepting).map(|table| table.level)
    }

    fn refusal(
        &self,
        given: (String, String),
        needs: Option<FeatureLevel>,
        allowed: String,
    ) -> Error {
        Error::FeatureLevel(Box::new(LevelRefusal {
            operator: self.schema.name,
            introduced: self.schema.introduced(),
            field: Some(given),
            needs,
            created_at: self.level,
            allowed: Some(allowed),
        }))
    }
}

fn is_rank(rank: usize) -> bool {
    (1..=MAX_DIMENSION_COUNT).contains(&rank)
}

/// Checks an implemented operator on a device whose level does not have it: names the level that
/// accepts it with these tensors, or states that no level does.
pub(super) fn refuse_before_introduction(
    operator: &AbstractOperator,
    level: FeatureLevel,
) -> Error {
    let schema = operator.schema();
    match highest_refusal(operator, schema.introduced()) {
        Some(refusal) => seen_from(level, refusal),
        None => Levels::new(operator, level)
            .err()
            .unwrap_or_else(|| Error::internal(schema.name, "the level has the operator")),
    }
}

/// The refusal of `level` that no level accepts, or that needs the highest level.
pub(super) fn highest_refusal(operator: &AbstractOperator, level: FeatureLevel) -> Option<Error> {
    let needs = |error: &Error| match error {
        Error::FeatureLevel(refusal) => Some(refusal.needs.map_or((true, level), |it| (false, it))),
        _ => None,
    };
    let refusals = refusals(operator, level).into_iter();
    // `max_by_key` gives the last of equal ones, so the reverse gives the first.
    refusals.rev().filter(|refusal| needs(refusal).is_some()).max_by_key(needs)
}

/// The error of an operator that is not implemented: that no level accepts it, that the reference does not state
/// its types, that the device's level is too low, or that it is not implemented; the first of these that holds.
pub(super) fn refuse_unimplemented(operator: &AbstractOperator, level: FeatureLevel) -> Error {
    // The highest level's refusals are those of all levels, because each level accepts all of the one below.
    let always = refusals(operator, FeatureLevel::HIGHEST);
    let (undocumented, never): (Vec<Error>, Vec<Error>) =
        always.into_iter().partition(|error| matches!(error, Error::Undocumented { .. }));
    let never = never.into_iter().map(|error| seen_from(level, error));
    let first = never.chain(undocumented).chain(highest_refusal(operator, level)).next();
    first.unwrap_or_else(|| Error::NotImplemented {
        operator: operator.schema().name,
        implemented: implemented_summary(),
    })
}

/// A refusal by another level, as an error for a device of `level`: without the list of values that the other
/// level accepts, because it is not the device's.
fn seen_from(level: FeatureLevel, error: Error) -> Error {
    match error {
        Error::FeatureLevel(refusal) => Error::FeatureLevel(Box::new(LevelRefusal {
            created_at: level,
            allowed: None,
            ..*refusal
        })),
        other => other,
    }
}

/// Everything that `level` refuses.
fn refusals(operator: &AbstractOperator, level: FeatureLevel) -> Vec<Error> {
    let levels = match Levels::new(operator, level) {
        Ok(levels) => levels,
        Err(error) => return vec![error],
    };
    let mut found = Vec::new();
    for (value, field) in operator.fields().iter().zip(operator.schema().fields) {
        match value {
            FieldValue::Tensor(None) => found.extend(levels.left_out(field).err()),
            FieldValue::Tensor(Some(desc)) => {
                found.extend(levels.tensor(field, field.name, desc).err());
            }
            FieldValue::TensorArray(descs) => {
                for (index, desc) in descs.iter().enumerate() {
                    let path = element_path(field.name, index);
                    found.extend(levels.tensor(field, &path, desc).err());
                }
            }
            FieldValue::OperatorDesc(Some(nested)) => {
                found.extend(levels.nested(field.name, nested.schema()).err());
            }
            FieldValue::OperatorDescArray(operators) => {
                for (index, nested) in operators.iter().enumerate() {
                    let path = element_path(field.name, index);
                    found.extend(levels.nested(&path, nested.schema()).err());
                }
            }
            _ => {}
        }
    }
    found
}
