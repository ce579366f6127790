//! The answers for an operator's tensors.

use dml::DataType;
use dml::core::capabilities::{Feature, Features};
use dml::core::schema::{FieldKind, OperatorSchema};
use dml::core::{Capabilities, MAX_DIMENSION_COUNT};
use dml::support::{self, Support};

use super::Subject;
use super::native::NativeFeatures;

/// The dimension counts of the answers.
pub(super) const RANKS: std::ops::RangeInclusive<usize> = 1..=MAX_DIMENSION_COUNT;

/// The operator of the answers, with the features that its kernels use.
pub(super) struct Operator<'a> {
    schema: &'static OperatorSchema,
    subject: &'a Subject,
    /// The features of the kernels that are selected on the subject.
    used: NativeFeatures,
    /// The features of the kernels that are selected on a device with every feature.
    usable: NativeFeatures,
}

/// An answer for one tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) support: Support,
    /// For an emulated type: the features any of which would make it native.
    pub(super) native_with: Vec<Feature>,
}

/// The answers for tensor fields with equal answers: a row for each data type, with an answer for each
/// rank.
pub(super) struct Answers {
    pub(super) fields: Vec<&'static str>,
    pub(super) rows: Vec<(DataType, Vec<Answer>)>,
}

impl<'a> Operator<'a> {
    pub(super) fn of(subject: &'a Subject, schema: &'static OperatorSchema) -> Self {
        let features =
            |capabilities: &Capabilities| NativeFeatures::of(schema, subject.level, capabilities);
        let all = Capabilities { features: Features::ALL, ..subject.offered.clone() };
        Self { schema, subject, used: features(&subject.offered), usable: features(&all) }
    }

    /// The answers for each of the operator's tensors; tensors with equal answers share an entry.
    pub(super) fn tensors(&self) -> Vec<Answers> {
        let fields = self.schema.fields.iter();
        let mut found: Vec<Answers> = Vec::new();
        for field in fields.filter(|field| field.kind != FieldKind::Attribute) {
            let row = |data_type| {
                (data_type, RANKS.map(|rank| self.ask(field.name, data_type, rank)).collect())
            };
            let rows: Vec<_> = DataType::ALL.into_iter().map(row).collect();
            match found.iter_mut().find(|answers| answers.rows == rows) {
                Some(same) => same.fields.push(field.name),
                None => found.push(Answers { fields: vec![field.name], rows }),
            }
        }
        found
    }

    fn ask(&self, field: &str, data_type: DataType, rank: usize) -> Answer {
        let level = self.subject.level;
        let support = support::query_tensor(self.schema, field, data_type, rank, level);
        // A field without a table, which no operator has, is accepted nowhere.
        let support = support.unwrap_or(Support::Never);
        let of = |features: &NativeFeatures| features.of_tensor(field, data_type);
        self.answer(support, data_type, [of(&self.used), of(&self.usable)])
    }

    /// The best answer for a data type, over all tensors and ranks.
    pub(super) fn best(&self, data_type: DataType) -> Answer {
        let ask = |rank| support::query(self.schema, data_type, rank, self.subject.level);
        let best = RANKS.map(ask).max_by_key(|it| preference(*it)).unwrap_or(Support::Never);
        let of = |features: &NativeFeatures| features.of_type(data_type);
        self.answer(best, data_type, [of(&self.used), of(&self.usable)])
    }

    fn answer(
        &self,
        support: Support,
        data_type: DataType,
        [used, usable]: [Features; 2],
    ) -> Answer {
        let support = support.with_kernels(data_type, used);
        let mut native_with = Vec::new();
        if matches!(support, Support::Emulated(_)) {
            let features = support::hardware_features(data_type).iter().copied();
            native_with.extend(features.filter(|feature| usable.has(*feature)));
        }
        Answer { support, native_with }
    }
}

/// The rank of an answer: a better answer is greater, and a lower needed level is better.
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
