//! The answers as JSON.

use dml::DataType;
use dml::core::kernel::Feature;
use dml::core::schema::OperatorSchema;
use dml::support::{Emulation, Support, data_type_supported};
use serde::Serialize;

use super::Subject;
use super::answers::{self, RANKS};

#[derive(Serialize)]
struct Document {
    /// The device, or the profile if the answers are for it alone.
    subject: String,
    feature_level: String,
    offered_features: Vec<&'static str>,
    /// The capabilities that the profile states and the device lacks.
    shortfalls: Vec<String>,
    /// Data types that at least one operator runs with.
    tensor_data_types: Vec<&'static str>,
    operators: Vec<Operator>,
}

#[derive(Serialize)]
struct Operator {
    name: &'static str,
    number: u32,
    introduced: String,
    implemented: bool,
    tensors: Vec<Tensors>,
}

/// Tensor fields with the same answers.
#[derive(Serialize)]
struct Tensors {
    fields: Vec<&'static str>,
    answers: Vec<Answer>,
}

#[derive(Serialize)]
struct Answer {
    data_type: &'static str,
    rank: usize,
    answer: &'static str,
    /// The lowest level that accepts the type.
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<String>,
    /// How the type is emulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'static str>,
    /// The features any of which would make the type native.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    native_with: Vec<&'static str>,
}

impl Answer {
    fn new(data_type: DataType, rank: usize, answer: &answers::Answer) -> Self {
        let support = answer.support;
        let level = match support {
            Support::NeedsLevel(level) => Some(level.to_string()),
            _ => None,
        };
        let emulation = match support {
            Support::Emulated(emulation) => Some(emulation),
            _ => None,
        };
        Self {
            data_type: data_type.name(),
            rank,
            answer: support.name(),
            level,
            method: emulation.map(Emulation::name),
            native_with: answer.native_with.iter().map(|feature| feature.name()).collect(),
        }
    }
}

/// The answers for `operators`.
pub(super) fn document(
    subject: &Subject,
    operators: &[&'static OperatorSchema],
) -> serde_json::Result<String> {
    let supported = |it: &DataType| data_type_supported(*it, subject.level);
    serde_json::to_string_pretty(&Document {
        subject: subject.name.clone(),
        feature_level: subject.level.to_string(),
        offered_features: subject.offered.features.iter().map(Feature::name).collect(),
        shortfalls: subject.shortfalls.clone(),
        tensor_data_types: DataType::ALL
            .iter()
            .filter(|it| supported(it))
            .map(|it| it.name())
            .collect(),
        operators: operators.iter().map(|schema| operator(subject, schema)).collect(),
    })
}

fn operator(subject: &Subject, schema: &'static OperatorSchema) -> Operator {
    let tensors = answers::Operator::of(subject, schema).tensors().into_iter().map(|answers| {
        let row = |(data_type, row): (DataType, Vec<answers::Answer>)| {
            RANKS.zip(row).map(move |(rank, answer)| Answer::new(data_type, rank, &answer))
        };
        Tensors {
            fields: answers.fields,
            answers: answers.rows.into_iter().flat_map(row).collect(),
        }
    });
    Operator {
        name: schema.name,
        number: schema.operator_type,
        introduced: schema.introduced().to_string(),
        implemented: schema.implemented,
        tensors: tensors.collect(),
    }
}
