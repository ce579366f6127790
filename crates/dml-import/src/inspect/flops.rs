//! Counts an operator's arithmetic from its tensors' sizes: a product that is added to a sum counts 2, any
//! other computed element 1, and a moved element 0.

use dml_core::schema::FieldKind;
use dml_core::{AbstractOperator, FieldValue, TensorDesc};

/// Operators that move, select or generate elements.
const MOVING: &[&str] = &[
    "CAST",
    "SLICE",
    "SLICE1",
    "SLICE_GRAD",
    "SPLIT",
    "JOIN",
    "PADDING",
    "PADDING1",
    "TILE",
    "SPACE_TO_DEPTH",
    "SPACE_TO_DEPTH1",
    "DEPTH_TO_SPACE",
    "DEPTH_TO_SPACE1",
    "REVERSE_SUBSEQUENCES",
    "UNFOLD",
    "GATHER",
    "GATHER_ELEMENTS",
    "GATHER_ND",
    "GATHER_ND1",
    "SCATTER_ELEMENTS",
    "SCATTER_ND",
    "ONE_HOT",
    "NONZERO_COORDINATES",
    "FILL_VALUE_CONSTANT",
    "FILL_VALUE_SEQUENCE",
    "DIAGONAL_MATRIX",
    "DIAGONAL_MATRIX1",
    "MAX_UNPOOLING",
    "ELEMENT_WISE_IDENTITY",
    "ACTIVATION_IDENTITY",
];

/// Operators whose cost is proportional to their input's elements, with the factor.
const OF_INPUT: &[(&str, u64)] = &[
    ("REDUCE", 1),
    ("ARGMIN", 1),
    ("ARGMAX", 1),
    ("TOP_K", 1),
    ("TOP_K1", 1),
    // Mean, variance (2), difference and quotient.
    ("MEAN_VARIANCE_NORMALIZATION", 5),
    ("MEAN_VARIANCE_NORMALIZATION1", 5),
    ("MEAN_VARIANCE_NORMALIZATION2", 5),
    // Maximum, difference, exponential, sum and quotient.
    ("ACTIVATION_SOFTMAX", 5),
    ("ACTIVATION_SOFTMAX1", 5),
    ("ACTIVATION_LOG_SOFTMAX", 5),
    ("ACTIVATION_LOG_SOFTMAX1", 5),
];

/// The operator's arithmetic: exact for products and convolutions, a convention for others.
pub(super) fn flops(operator: &AbstractOperator) -> u64 {
    let name = operator.schema().name;
    let of = Sizes(operator);
    if MOVING.contains(&name) {
        return 0;
    }
    if let Some((_, each)) = OF_INPUT.iter().find(|(other, _)| *other == name) {
        return of.count("InputTensor").saturating_mul(*each);
    }
    match name {
        "GEMM"
        | "MATRIX_MULTIPLY_INTEGER"
        | "MATRIX_MULTIPLY_INTEGER_TO_FLOAT"
        | "QUANTIZED_LINEAR_MATRIX_MULTIPLY" => of.product(),
        "CONVOLUTION" | "CONVOLUTION_INTEGER" | "QUANTIZED_LINEAR_CONVOLUTION" => of.convolution(),
        "RNN" | "LSTM" | "GRU" => of.recurrent(),
        "MULTIHEAD_ATTENTION" | "MULTIHEAD_ATTENTION1" => of.attention(),
        _ => match operator.field("WindowSize").or_else(|| operator.field("WindowSizes")) {
            Some(FieldValue::UintArray(window)) => all([of.output(), count(window)]),
            _ => of.output(),
        },
    }
}

fn all(factors: impl IntoIterator<Item = u64>) -> u64 {
    factors.into_iter().fold(1, u64::saturating_mul)
}

fn count(sizes: &[u32]) -> u64 {
    all(sizes.iter().map(|size| u64::from(*size)))
}

/// The operator's sizes and fields.
struct Sizes<'a>(&'a AbstractOperator);

impl Sizes<'_> {
    fn tensor(&self, field: &str) -> Option<&TensorDesc> {
        match self.0.field(field)? {
            FieldValue::Tensor(tensor) => tensor.as_ref(),
            _ => None,
        }
    }

    fn uint(&self, field: &str) -> u32 {
        match self.0.field(field) {
            Some(FieldValue::Uint(value)) => *value,
            _ => 0,
        }
    }

    /// The number of elements of a tensor; 0 if it is left out.
    fn count(&self, field: &str) -> u64 {
        self.tensor(field).map_or(0, |tensor| count(&tensor.sizes))
    }

    /// The size of a dimension, counted from the last one.
    fn counted_from_last(&self, field: &str, at: usize) -> u64 {
        let size = self.tensor(field).and_then(|tensor| tensor.sizes.iter().rev().nth(at));
        size.map_or(0, |size| u64::from(*size))
    }

    /// The number of elements of the largest output.
    fn output(&self) -> u64 {
        let outputs = self.0.bindings(FieldKind::Output);
        outputs.filter_map(|(_, tensor)| Some(count(&tensor?.sizes))).max().unwrap_or(0)
    }

    /// Each element of the output is a sum over a row of A.
    fn product(&self) -> u64 {
        let is_transposed = self.uint("TransA") != 0;
        all([2, self.output(), self.counted_from_last("ATensor", usize::from(is_transposed))])
    }

    /// Each output element takes a whole filter; in a transposed convolution each input element does.
    fn convolution(&self) -> u64 {
        let window = match self.0.field("Strides") {
            Some(FieldValue::UintArray(strides)) => strides.len(),
            _ => 0,
        };
        // The filter's input channels, and its window.
        let each = all((0..=window).map(|at| self.counted_from_last("FilterTensor", at)));
        let is_backward = self.uint("Direction") != 0;
        let elements = if is_backward { self.count("InputTensor") } else { self.output() };
        all([2, elements, each])
    }

    /// Each step multiplies its input by the weights, and the state by the recurrent weights.
    fn recurrent(&self) -> u64 {
        let weights = self.count("WeightTensor").saturating_add(self.count("RecurrenceTensor"));
        let [steps, sequences] = [2, 1].map(|at| self.counted_from_last("InputTensor", at));
        all([2, weights, steps, sequences])
    }

    /// Scores are products of queries and keys, and outputs are products of scores and values.
    fn attention(&self) -> u64 {
        let heads = match self.uint("QueryHeadCount") {
            0 => self.uint("HeadCount"),
            count => count,
        };
        let [queries, values] = [1, 0].map(|at| self.counted_from_last("OutputTensor", at));
        let batches = self.counted_from_last("OutputTensor", 2);
        let width = match self.tensor("QueryTensor") {
            Some(_) => self.counted_from_last("QueryTensor", 0),
            // [.., heads, 2 or 3, width of a head]
            None => {
                let stacked = ["StackedQueryKeyTensor", "StackedQueryKeyValueTensor"];
                let of_head =
                    stacked.map(|field| self.counted_from_last(field, 0)).into_iter().max();
                all([u64::from(heads), of_head.unwrap_or(0)])
            }
        };
        let keys = [
            ("KeyTensor", 1),
            ("StackedQueryKeyTensor", 3),
            ("StackedKeyValueTensor", 3),
            ("StackedQueryKeyValueTensor", 3),
        ];
        let keys = keys
            .map(|(field, at)| self.counted_from_last(field, at))
            .into_iter()
            .max()
            .unwrap_or(0);
        let keys = keys.saturating_add(self.counted_from_last("PastKeyTensor", 1));
        all([2, batches, queries, keys, width.saturating_add(values)])
    }
}

#[cfg(test)]
mod tests {
    use dml_core::DataType::Float32;
    use dml_core::operators::{
        ActivationReluDesc, ConvolutionDesc, ElementWiseIdentityDesc, GemmDesc,
    };
    use dml_reference::descriptors::{self, gemm};

    use super::*;

    fn tensor(sizes: &[u32]) -> TensorDesc {
        TensorDesc::packed(Float32, sizes)
    }

    #[test]
    fn a_product_is_two_for_each_element_of_a_row() {
        let gemm = |trans_a, a: &[u32]| GemmDesc {
            trans_a,
            ..gemm(
                [tensor(a), tensor(&[1, 2, 5, 7]), tensor(&[1, 2, 3, 7])],
                dml_core::MatrixTransform::None,
            )
        };
        let transform = dml_core::MatrixTransform::None;
        assert_eq!(flops(&gemm(transform, &[1, 2, 3, 5]).into()), 2 * 2 * 3 * 7 * 5);
        let transform = dml_core::MatrixTransform::Transpose;
        assert_eq!(flops(&gemm(transform, &[1, 2, 5, 3]).into()), 2 * 2 * 3 * 7 * 5);
    }

    #[test]
    fn a_convolution_is_its_filter_for_each_place() {
        let direction = dml_core::ConvolutionDirection::Forward;
        let forward = convolution(direction, [1, 4, 8, 8], [6, 2, 3, 3], [1, 6, 6, 6]);
        assert_eq!(flops(&forward), 2 * (6 * 6 * 6) * (2 * 3 * 3));
        let direction = dml_core::ConvolutionDirection::Backward;
        let backward = convolution(direction, [1, 6, 6, 6], [6, 2, 3, 3], [1, 4, 8, 8]);
        assert_eq!(flops(&backward), 2 * (6 * 6 * 6) * (2 * 3 * 3));
    }

    fn convolution(
        direction: dml_core::ConvolutionDirection,
        input: [u32; 4],
        filter: [u32; 4],
        output: [u32; 4],
    ) -> AbstractOperator {
        ConvolutionDesc {
            direction,
            group_count: 2,
            ..descriptors::convolution([tensor(&input), tensor(&filter), tensor(&output)])
        }
        .into()
    }

    #[test]
    fn elements_are_one_each_and_nothing_where_they_are_moved() {
        let [input_tensor, output_tensor] = [tensor(&[2, 3]), tensor(&[2, 3])];
        assert_eq!(flops(&ActivationReluDesc { input_tensor, output_tensor }.into()), 6);
        let [input_tensor, output_tensor] = [tensor(&[2, 3]), tensor(&[2, 3])];
        let scale_bias = None;
        let moved = ElementWiseIdentityDesc { input_tensor, output_tensor, scale_bias };
        assert_eq!(flops(&moved.into()), 0);
    }

    #[test]
    fn the_operators_that_are_named_exist() {
        let named = MOVING.iter().copied().chain(OF_INPUT.iter().map(|(name, _)| *name));
        let unknown: Vec<_> =
            named.filter(|named| dml_core::operators::find(named).is_none()).collect();
        assert_eq!(unknown, Vec::<&str>::new());
    }
}
