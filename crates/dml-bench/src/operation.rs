//! An operator or a graph on one shape: inputs of small numbers, and the expected output, computed on the
//! host in another way than on the device.

use std::fmt;
use std::rc::Rc;

use dml::core::schema::FieldKind;
use dml::core::validate;
use dml::{
    AbstractOperator, CompiledOperator, DataType, Device, ExecutionFlags, FeatureLevel, GraphDesc,
    GraphOptions, TensorDesc, TensorLayout, f16,
};

/// Computes the elements of the output from those of each input, in storage order.
type Meaning = dyn Fn(&[Vec<f32>]) -> Vec<f32>;

/// An operator or a graph, its inputs, and its expected output.
#[derive(Clone)]
pub(crate) struct Operation {
    what: What,
    inputs: Vec<Input>,
    output: TensorLayout,
    meaning: Rc<Meaning>,
    /// The allowed relative error of an element; 0 if bytes are compared.
    pub(crate) tolerance: f32,
}

#[derive(Clone)]
enum What {
    Operator(AbstractOperator),
    Graph(GraphDesc, GraphOptions),
}

#[derive(Clone)]
struct Input {
    layout: TensorLayout,
    /// The element at an index.
    number: Rc<dyn Fn(u64) -> f32>,
}

/// The largest magnitude of whole numbers in inputs.
const MOST: u64 = 30;
/// A factor for each input, by which inputs differ.
const FACTORS: [u64; 3] = [0x9E37_79B9, 0x85EB_CA6B, 0xC2B2_AE35];

impl Operation {
    /// A valid operator with one output.
    pub(crate) fn new(
        operator: impl Into<AbstractOperator>,
        meaning: impl Fn(&[Vec<f32>]) -> Vec<f32> + 'static,
    ) -> Self {
        let operator = operator.into();
        let checked = validate(&operator, FeatureLevel::HIGHEST).expect("a valid operator");
        let of = |kind| checked.present_tensors(kind).map(|(_, it)| it.clone()).collect::<Vec<_>>();
        let [output] = <[_; 1]>::try_from(of(FieldKind::Output)).expect("one output");
        Self::of(What::Operator(operator), of(FieldKind::Input), output, meaning)
    }

    /// A graph, fused or not, of `inputs` with one output.
    pub(crate) fn of_graph(
        (graph, fuse): (GraphDesc, bool),
        inputs: &[TensorDesc],
        output: &TensorDesc,
        meaning: impl Fn(&[Vec<f32>]) -> Vec<f32> + 'static,
    ) -> Self {
        let options = GraphOptions { fuse };
        let layout = |it| TensorLayout::new(it).expect("a valid tensor");
        let inputs = inputs.iter().map(layout).collect();
        Self::of(What::Graph(graph, options), inputs, layout(output), meaning)
    }

    fn of(
        what: What,
        inputs: Vec<TensorLayout>,
        output: TensorLayout,
        meaning: impl Fn(&[Vec<f32>]) -> Vec<f32> + 'static,
    ) -> Self {
        let input = |(at, layout): (usize, TensorLayout)| Input {
            layout,
            number: Rc::new(move |index| whole(index, at, MOST)),
        };
        let inputs = inputs.into_iter().enumerate().map(input).collect();
        Self { what, inputs, output, meaning: Rc::new(meaning), tolerance: 0.0 }
    }

    /// This operation with whole numbers of at most this magnitude in every input.
    pub(crate) fn with_most(mut self, most: u64) -> Self {
        for (at, input) in self.inputs.iter_mut().enumerate() {
            input.number = Rc::new(move |index| whole(index, at, most));
        }
        self
    }

    /// This operation with other numbers in one input.
    pub(crate) fn with_input(mut self, at: usize, number: impl Fn(u64) -> f32 + 'static) -> Self {
        self.inputs[at].number = Rc::new(number);
        self
    }

    /// This operation with an allowed relative error of elements.
    pub(crate) fn within(self, tolerance: f32) -> Self {
        Self { tolerance, ..self }
    }

    /// Compiles the operator for `device`.
    ///
    /// # Errors
    /// The device refuses it, or failed.
    pub(crate) fn compile(&self, device: &Device) -> dml::Result<CompiledOperator> {
        match &self.what {
            What::Operator(operator) => device.compile(operator.clone()),
            What::Graph(graph, options) => {
                device.compile_graph_with(graph, ExecutionFlags::NONE, *options)
            }
        }
    }

    /// The output's layout.
    pub(crate) fn output(&self) -> &TensorLayout {
        &self.output
    }

    /// Bytes of the output, up to a whole word.
    pub(crate) fn bytes(&self) -> u64 {
        let bits = self.output.element_count() * u64::from(self.output.data_type().bits());
        (bits / 8).next_multiple_of(4)
    }

    /// The sizes of each input.
    pub(crate) fn input_sizes(&self) -> Vec<Vec<u32>> {
        self.inputs.iter().map(|input| input.layout.sizes().to_vec()).collect()
    }

    fn numbers(&self) -> Vec<Vec<f32>> {
        let of = |it: &Input| (0..it.layout.span()).map(|at| (it.number)(at)).collect();
        self.inputs.iter().map(of).collect()
    }

    /// The bytes of every input.
    pub(crate) fn inputs(&self) -> Vec<Vec<u8>> {
        let encoded = |(it, numbers): (&Input, Vec<f32>)| encode(it.layout.data_type(), &numbers);
        self.inputs.iter().zip(self.numbers()).map(encoded).collect()
    }

    /// The bytes of the output up to its last element.
    pub(crate) fn expected(&self) -> Vec<u8> {
        encode(self.output.data_type(), &(self.meaning)(&self.numbers()))
    }
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Operator(operator) => operator.fmt(f),
            What::Graph(graph, _) => graph.fmt(f),
        }
    }
}

/// Numbers above 0 and up to `most`; each input has its own.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
pub(crate) fn share(input: usize, most: f32) -> impl Fn(u64) -> f32 {
    move |index| (1 + mixed(index, input) % 64) as f32 * (most / 64.0)
}

/// Whole numbers that differ from their neighbours, and from row to row.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn whole(index: u64, input: usize, most: u64) -> f32 {
    (mixed(index, input) % (2 * most + 1)) as f32 - most as f32
}

/// 48 pseudo-random bits for each element of an input.
pub(crate) fn mixed(index: u64, input: usize) -> u64 {
    index.wrapping_mul(FACTORS[input % FACTORS.len()]) >> 16
}

/// The numbers as elements of a data type, rounded to the nearest.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole numbers that the type has"
)]
fn encode(data_type: DataType, numbers: &[f32]) -> Vec<u8> {
    let all = numbers.iter();
    match data_type {
        DataType::Float32 => all.flat_map(|it| it.to_le_bytes()).collect(),
        DataType::Float16 => all.flat_map(|it| f16::from_f32(*it).to_le_bytes()).collect(),
        DataType::Uint32 => all.flat_map(|it| (*it as u32).to_le_bytes()).collect(),
        DataType::Int8 => all.flat_map(|it| (*it as i8).to_le_bytes()).collect(),
        other => unreachable!("no case has {other}"),
    }
}

#[cfg(test)]
mod tests {
    use dml::core::operators::ElementWiseAddDesc;

    use super::*;

    fn sum(data_type: DataType) -> Operation {
        let tensor = || TensorDesc::packed(data_type, &[3, 5]);
        let (a_tensor, b_tensor, output_tensor) = (tensor(), tensor(), tensor());
        let desc = ElementWiseAddDesc { a_tensor, b_tensor, output_tensor };
        Operation::new(desc, |inputs| {
            inputs[0].iter().zip(&inputs[1]).map(|(a, b)| a + b).collect()
        })
    }

    #[test]
    fn inputs_differ_and_the_output_is_made_of_them() {
        let floats = |bytes: &[u8]| -> Vec<f32> {
            let (words, _) = bytes.as_chunks::<4>();
            words.iter().copied().map(f32::from_le_bytes).collect()
        };
        let sum = sum(DataType::Float32);
        let [a, b] = [0, 1].map(|at| floats(&sum.inputs()[at]));
        let sums: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        assert_eq!(floats(&sum.expected()), sums);
        assert!(a != b && sums.iter().any(|sum| *sum != sums[0]));
        assert_eq!((sum.bytes(), sum.input_sizes()), (60, vec![vec![3, 5]; 2]));
    }

    #[test]
    fn numbers_are_encoded_in_each_type() {
        assert_eq!(encode(DataType::Int8, &[-1.0, 60.0]), [0xFF, 60]);
        assert_eq!(encode(DataType::Uint32, &[258.0]), [2, 1, 0, 0]);
        assert_eq!(encode(DataType::Float16, &[-1.0, 60.0]), [0x00, 0xBC, 0x80, 0x53]);
        assert_eq!(encode(DataType::Float32, &[-1.0]), [0, 0, 0x80, 0xBF]);
        assert_eq!(sum(DataType::Int8).inputs()[0].len(), 15);
    }
}
