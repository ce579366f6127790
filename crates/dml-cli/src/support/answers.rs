//! The answers for an operator's tensors.

use dml::DataType;
use dml::core::MAX_DIMENSION_COUNT;
use dml::core::schema::{FieldKind, OperatorSchema};
use dml::support::{self, Support};

use super::Subject;

/// The dimension counts that are asked about.
pub(super) const RANKS: std::ops::RangeInclusive<usize> = 1..=MAX_DIMENSION_COUNT;

/// The answers for tensor fields that all have the same ones: a row for each data type, with an answer
/// for each rank.
pub(super) struct Answers {
    pub(super) fields: Vec<&'static str>,
    pub(super) rows: Vec<(DataType, Vec<Support>)>,
}

/// The answers for each tensor of an operator; tensors with the same ones share an entry.
pub(super) fn of_tensors(subject: &Subject, schema: &'static OperatorSchema) -> Vec<Answers> {
    let mut found: Vec<Answers> = Vec::new();
    for field in schema.fields.iter().filter(|field| field.kind != FieldKind::Attribute) {
        let ask = |data_type, rank| {
            // A field without a table, which no operator has, is accepted nowhere.
            support::query_tensor(schema, field.name, data_type, rank, subject.level)
                .unwrap_or(Support::Never)
        };
        let row = |data_type| (data_type, RANKS.map(|rank| ask(data_type, rank)).collect());
        let rows: Vec<_> = DataType::ALL.into_iter().map(row).collect();
        match found.iter_mut().find(|answers| answers.rows == rows) {
            Some(same) => same.fields.push(field.name),
            None => found.push(Answers { fields: vec![field.name], rows }),
        }
    }
    found
}

/// The best answer for a data type, over all tensors and ranks of an operator.
pub(super) fn best(
    subject: &Subject,
    schema: &'static OperatorSchema,
    data_type: DataType,
) -> Support {
    let ask = |rank| support::query(schema, data_type, rank, subject.level);
    RANKS.map(ask).max_by_key(|it| preference(*it)).unwrap_or(Support::Never)
}

/// Orders the answers by how good they are; of two levels that are needed the lower one is better.
fn preference(support: Support) -> (u8, u32) {
    match support {
        Support::Never => (0, 0),
        Support::Undocumented => (1, 0),
        Support::NeedsLevel(level) => (2, u32::MAX - level.dml_value()),
        Support::NotImplemented => (3, 0),
        Support::Emulated(_) => (4, 0),
        Support::Native => (5, 0),
    }
}
