//! Softmax, norms, GELU and attention as exporters write them, decomposed into many operators: they become the nodes that
//! one operator records, with the bits of the operators one by one.

use dml_core::graph::GraphValue;
use dml_core::operators::{
    ElementWiseConstantPowDesc, ElementWiseDivideDesc, ElementWiseExpDesc, ElementWiseMaxDesc,
    ElementWiseSqrtDesc, ElementWiseSubtractDesc, ElementWiseTanhDesc,
};

use super::*;

/// Rows and their elements.
const ROWS: [u32; 4] = [1, 2, 3, 40];
/// One element for each row.
const KEPT: [u32; 4] = [1, 2, 3, 1];

/// A graph while operators are added to it, each on FLOAT32.
pub(super) struct TestGraph(pub(super) GraphBuilder);

/// A value, and its sizes.
pub(super) type Sized = (GraphValue, [u32; 4]);

/// A binary operator is its descriptor and two values, the second of which may be broadcast.
macro_rules! binary {
    ($name:ident, $desc:ident) => {
        pub(super) fn $name(&mut self, a: Sized, b: Sized) -> Sized {
            let sizes = std::array::from_fn(|at| a.1[at].max(b.1[at]));
            let desc = $desc {
                a_tensor: broadcast(a.1, sizes),
                b_tensor: broadcast(b.1, sizes),
                output_tensor: packed(sizes),
            };
            (self.0.operator(desc, &[a.0, b.0]), sizes)
        }
    };
}

macro_rules! unary {
    ($name:ident, $desc:ident $(, $field:ident: $value:expr)*) => {
        pub(super) fn $name(&mut self, (value, sizes): Sized) -> Sized {
            let desc = $desc {
                input_tensor: packed(sizes),
                output_tensor: packed(sizes),
                scale_bias: None,
                $($field: $value)*
            };
            (self.0.operator(desc, &[value]), sizes)
        }
    };
}

impl TestGraph {
    binary!(add, ElementWiseAddDesc);
    binary!(subtract, ElementWiseSubtractDesc);
    binary!(multiply, ElementWiseMultiplyDesc);
    binary!(divide, ElementWiseDivideDesc);
    binary!(max, ElementWiseMaxDesc);
    unary!(exp, ElementWiseExpDesc);
    unary!(sqrt, ElementWiseSqrtDesc);
    unary!(erf, ElementWiseErfDesc);
    unary!(tanh, ElementWiseTanhDesc);
    unary!(square, ElementWiseConstantPowDesc, exponent: 2.0);

    pub(super) fn input(&mut self, sizes: [u32; 4]) -> Sized {
        (self.0.input(), sizes)
    }

    /// A number, as exporters write it: a constant of one element.
    pub(super) fn number(&mut self, number: f32) -> Sized {
        (self.0.constant(number.to_le_bytes().to_vec()), [1; 4])
    }

    /// One element of each row.
    pub(super) fn reduce(&mut self, function: ReduceFunction, (value, sizes): Sized) -> Sized {
        let kept = [sizes[0], sizes[1], sizes[2], 1];
        let desc = ReduceDesc {
            function,
            input_tensor: packed(sizes),
            output_tensor: packed(kept),
            axes: vec![3],
        };
        (self.0.operator(desc, &[value]), kept)
    }

    /// `e^(x - max) / sum`.
    pub(super) fn softmax(&mut self, x: Sized) -> Sized {
        let greatest = self.reduce(ReduceFunction::Max, x);
        let less = self.subtract(x, greatest);
        let powers = self.exp(less);
        let sum = self.reduce(ReduceFunction::Sum, powers);
        self.divide(powers, sum)
    }

    /// A product of matrices, the second one transposed where that is asked for.
    pub(super) fn product(&mut self, a: Sized, b: Sized, trans_b: MatrixTransform) -> Sized {
        let columns = if trans_b == MatrixTransform::None { b.1[3] } else { b.1[2] };
        let sizes = [a.1[0], a.1[1], a.1[2], columns];
        let desc = gemm([packed(a.1), packed(b.1), packed(sizes)], trans_b);
        (self.0.operator(desc, &[a.0, b.0]), sizes)
    }

    /// Compiles the graph and explains its plan; the results are checked against the operators one by one.
    fn explanation(mut self, result: Sized, what: &str) -> Explanation {
        self.0.output(result.0);
        check(&valid(&self.0.finish()), &mut Random::new(what), what)
    }

    /// The kinds of nodes of each executed part.
    fn parts(self, result: Sized, what: &str) -> Vec<String> {
        let explanation = self.explanation(result, what);
        explanation.parts.iter().map(|part| kinds(&part.program).join(" ")).collect()
    }
}

pub(super) fn packed(sizes: [u32; 4]) -> TensorDesc {
    TensorDesc::packed(DataType::Float32, &sizes)
}

/// A tensor of `from` as one of `to`: where a size is 1, with a stride of 0.
fn broadcast(from: [u32; 4], to: [u32; 4]) -> TensorDesc {
    let mut strides = [0; 4];
    let mut next = 1;
    for at in (0..4).rev() {
        strides[at] = if from[at] == 1 { 0 } else { next };
        next *= from[at];
    }
    packed(to).with_strides(&strides)
}

/// The kinds of the nodes of a program's text, members of groups not among them.
pub(super) fn kinds(text: &str) -> Vec<&'static str> {
    let of = |line: &str| {
        let node = line.strip_prefix("  ").filter(|it| !it.starts_with(' '))?;
        let named = |kind: &&str| node == *kind || node.contains(&format!("= {kind} "));
        ["rows", "map", "reduce", "contract"].into_iter().find(named)
    };
    text.lines().filter_map(of).collect()
}

#[test]
fn softmax_is_one_node() {
    let mut form = TestGraph(GraphBuilder::new());
    let x = form.input(ROWS);
    let result = form.softmax(x);
    assert_eq!(form.parts(result, "softmax"), ["rows"]);
}

/// A Map that reads a softmax as a tensor of other sizes, with an addend that shows them, is a kernel of its own: fused
/// with the end of the softmax, it would take that out of the group.
#[test]
fn a_group_keeps_its_end_where_the_reader_has_other_sizes() {
    let mut form = TestGraph(GraphBuilder::new());
    let [x, addend] = [[1, 1, 6, 40], [1, 2, 1, 40]].map(|it| form.input(it));
    let shares = form.softmax(x);
    let result = form.add((shares.0, [1, 2, 3, 40]), addend);
    let parts = form.explanation(result, "a reshaped softmax").parts;
    assert_eq!(parts.iter().map(|part| part.steps).sum::<usize>(), 2, "{parts:?}");
}

/// No kernel of a group ends with a reduction, so the last one is a step of its own.
#[test]
fn as_many_members_of_a_group_as_possible_are_one_kernel() {
    let mut form = TestGraph(GraphBuilder::new());
    let x = form.input(ROWS);
    let shares = form.softmax(x);
    form.0.output(shares.0);
    let greatest = form.reduce(ReduceFunction::Max, shares);
    let parts = form.explanation(greatest, "the greatest of a softmax").parts;
    let [group] = parts.as_slice() else { panic!("{parts:?}") };
    assert_eq!(kinds(&group.program), ["rows"]);
    assert_eq!(group.steps, 2, "{:?}", group.kernels);
}

/// The last Map reads what another member writes, element by element and transposed: the kernel alone has it.
#[test]
fn a_transposed_view_of_what_a_group_computes_is_read_from_memory() {
    const SQUARE: [u32; 4] = [1, 1, 4, 4];
    let mut form = TestGraph(GraphBuilder::new());
    let x = form.input(SQUARE);
    let reduce = |form: &mut TestGraph, function, value: Sized| {
        let desc = ReduceDesc {
            function,
            input_tensor: packed(SQUARE),
            output_tensor: packed([1; 4]),
            axes: vec![2, 3],
        };
        (form.0.operator(desc, &[value.0]), [1; 4])
    };
    let mean = reduce(&mut form, ReduceFunction::Average, x);
    let less = form.subtract(x, mean);
    let squares = reduce(&mut form, ReduceFunction::SumSquare, less);
    let share = form.divide(less, squares);
    let product = ElementWiseMultiplyDesc {
        a_tensor: packed(SQUARE),
        b_tensor: packed(SQUARE).with_strides(&[16, 16, 1, 4]),
        output_tensor: packed(SQUARE),
    };
    let result = (form.0.operator(product, &[share.0, less.0]), SQUARE);
    form.explanation(result, "transposed");
}

/// Scales of channels that are read again and again are one operand each of the Map after a group's kernel.
#[test]
fn scales_of_channels_are_read_once() {
    const CHANNELS: [u32; 4] = [1, 40, 3, 5];
    let mut form = TestGraph(GraphBuilder::new());
    let [x, a, b] = [CHANNELS, [1, 40, 3, 1], [1, 40, 3, 1]].map(|it| form.input(it));
    let desc = ReduceDesc {
        function: ReduceFunction::Average,
        input_tensor: packed(CHANNELS),
        output_tensor: packed([1, 40, 1, 1]),
        axes: vec![2, 3],
    };
    let mean = (form.0.operator(desc, &[x.0]), [1, 40, 1, 1]);
    let mut result = form.subtract(x, mean);
    for _ in 0..4 {
        let scaled = form.multiply(result, a);
        result = form.add(scaled, b);
    }
    let parts = form.explanation(result, "scales").parts;
    assert_eq!(parts.iter().map(|part| part.steps).sum::<usize>(), 2, "{parts:?}");
}

#[test]
fn layer_normalization_is_one_node() {
    let mut form = TestGraph(GraphBuilder::new());
    let [x, scale, bias] = [ROWS, [1, 1, 1, 40], [1, 1, 1, 40]].map(|it| form.input(it));
    let mean = form.reduce(ReduceFunction::Average, x);
    let less = form.subtract(x, mean);
    let square = form.square(less);
    let variance = form.reduce(ReduceFunction::Average, square);
    let epsilon = form.number(1e-5);
    let sum = form.add(variance, epsilon);
    let deviation = form.sqrt(sum);
    let normal = form.divide(less, deviation);
    let scaled = form.multiply(normal, scale);
    let result = form.add(scaled, bias);
    assert_eq!(form.parts(result, "layer norm"), ["rows"]);
}

#[test]
fn root_mean_square_normalization_is_one_node() {
    let mut form = TestGraph(GraphBuilder::new());
    let [x, scale] = [ROWS, [1, 1, 1, 40]].map(|it| form.input(it));
    let square = form.square(x);
    let mean = form.reduce(ReduceFunction::Average, square);
    let [epsilon, one] = [1e-6, 1.0].map(|it| form.number(it));
    let sum = form.add(mean, epsilon);
    let root = form.sqrt(sum);
    let reciprocal = form.divide(one, root);
    let normal = form.multiply(x, reciprocal);
    let result = form.multiply(normal, scale);
    assert_eq!(result.1, ROWS);
    assert_eq!(reciprocal.1, KEPT);
    assert_eq!(form.parts(result, "RMS norm"), ["rows"]);
}

#[test]
fn gelu_is_one_node() {
    let mut form = TestGraph(GraphBuilder::new());
    let x = form.input(ROWS);
    let [root, one, half] = [std::f32::consts::SQRT_2, 1.0, 0.5].map(|it| form.number(it));
    let divided = form.divide(x, root);
    let error = form.erf(divided);
    let sum = form.add(error, one);
    let product = form.multiply(x, sum);
    let result = form.multiply(product, half);
    assert_eq!(form.parts(result, "GELU"), ["map"]);
}

#[test]
fn attention_is_two_products_and_its_softmax() {
    let mut form = TestGraph(GraphBuilder::new());
    let [query, key, value] = [[1, 2, 3, 8], [1, 2, 40, 8], [1, 2, 40, 8]].map(|it| form.input(it));
    let scores = form.product(query, key, MatrixTransform::Transpose);
    let scale = form.number(8.0_f32.sqrt().recip());
    let scaled = form.multiply(scores, scale);
    let shares = form.softmax(scaled);
    let result = form.product(shares, value, MatrixTransform::None);
    let parts = form.parts(result, "attention");
    let all = parts.join(" ");
    assert_eq!(all.matches("contract").count(), 2, "{parts:?}");
    assert_eq!(all.matches("rows").count(), 1, "{parts:?}");
    assert_eq!(all.split(' ').filter(|it| *it == "reduce").count(), 0, "{parts:?}");
}
