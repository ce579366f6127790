//! Weights that operators own: those that they repack or convert before they multiply, which is then done once,
//! at initialization.

use dml_core::operators::{
    CONVOLUTION, CONVOLUTION_INTEGER, GEMM, GRU, LSTM, MATRIX_MULTIPLY_INTEGER,
    MATRIX_MULTIPLY_INTEGER_TO_FLOAT, QUANTIZED_LINEAR_CONVOLUTION,
    QUANTIZED_LINEAR_MATRIX_MULTIPLY, RNN,
};
use dml_core::schema::{FieldKind, OperatorSchema};
use dml_core::{AbstractOperator, DataType};

use crate::graph::DeviceNode;

/// A tensor, and its zero point or "".
type Factor = [&'static str; 2];

const FILTER: Factor = ["FilterTensor", "FilterZeroPointTensor"];
const A: Factor = ["ATensor", "AZeroPointTensor"];
const B: Factor = ["BTensor", "BZeroPointTensor"];
const OF_INPUTS: Factor = ["WeightTensor", ""];
const OF_STATES: Factor = ["RecurrenceTensor", ""];

/// The factors of each operator that may be weights.
const FACTORS: [(&OperatorSchema, &[Factor]); 10] = [
    (&CONVOLUTION, &[FILTER]),
    (&CONVOLUTION_INTEGER, &[FILTER]),
    (&QUANTIZED_LINEAR_CONVOLUTION, &[FILTER]),
    (&GEMM, &[A, B]),
    (&MATRIX_MULTIPLY_INTEGER, &[A, B]),
    (&MATRIX_MULTIPLY_INTEGER_TO_FLOAT, &[A, B]),
    (&QUANTIZED_LINEAR_MATRIX_MULTIPLY, &[A, B]),
    (&RNN, &[OF_INPUTS, OF_STATES]),
    (&LSTM, &[OF_INPUTS, OF_STATES]),
    (&GRU, &[OF_INPUTS, OF_STATES]),
];

/// A node's operator, with flag OWNED_BY_DML on such weights. Nodes that are constant themselves own none: they
/// are executed once, and may read weights that another operator of their graph writes.
pub(super) fn owning_weights(
    nodes: &[DeviceNode],
    index: usize,
    is_constant: &[bool],
) -> AbstractOperator {
    let node = &nodes[index];
    let operator = &node.operator;
    if is_constant[index] {
        return operator.clone();
    }
    let of = FACTORS.iter().find(|(schema, _)| *schema == operator.schema());
    let factors = of.map_or(&[][..], |(_, factors)| factors);
    let is_gainful = |factor: &&Factor| {
        // FLOAT32 matrices of GEMM mostly need no repacking.
        operator.schema() != &GEMM || type_of(operator, factor[0]) != Some(DataType::Float32)
    };
    let known =
        factors.iter().filter(|factor| factor.iter().all(|name| is_known(node, name, is_constant)));
    known
        .filter(is_gainful)
        .flatten()
        .fold(operator.clone(), |operator, name| operator.owning(name))
}

fn type_of(operator: &AbstractOperator, name: &str) -> Option<DataType> {
    operator.tensors().find(|(field, _)| *field == name).map(|(_, tensor)| tensor.data_type)
}

/// Whether a field's tensor is constant, or absent.
fn is_known(node: &DeviceNode, name: &str, is_constant: &[bool]) -> bool {
    let fields = node.operator.bindings(FieldKind::Input).map(|(path, _)| path.field.name);
    let bound = fields.zip(&node.inputs).find(|(field, _)| *field == name);
    let storage = bound.and_then(|(_, storage)| storage.as_ref());
    storage.is_none_or(|storage| super::division::is_constant(storage, is_constant))
}
