//! Records the program of an operator on rows: reductions to one element for each row in a local buffer, and
//! computations of the row's elements with it.

use dml_core::schema::FieldKind;
use dml_core::{DataType, Error, TensorLayout, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, ElementFormula, Value};
use dml_spirv::functions::{self as f, Function};
use dml_spirv::reduce::{GREATEST_F32, Reducer, SUM_F32};

use crate::Target;
use crate::ir::space::{IterationSpace, Operand, leading};
use crate::ir::{self, Computation, Recorder, Reduction};
use crate::lowering::conversion::conversion;
use crate::lowering::scale::write_scales;

/// Some of a space's dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axes {
    /// The dimensions that are reduced: those along a row.
    Reduced,
    /// The other dimensions, with one coordinate for each row.
    Kept,
}

/// The sizes of a space.
pub(crate) type Sizes = [u32; DIMENSIONS];

/// The operands of an operator on rows, and the nodes so far.
pub(crate) struct Rows<'a> {
    pub(crate) operator: &'a Validated,
    pub(crate) recorder: Recorder<'a>,
    /// The sizes of the first input.
    pub(crate) sizes: Sizes,
    axes: [bool; DIMENSIONS],
    /// The first input's type.
    pub(crate) data_type: DataType,
    pub(crate) input: Operand,
    /// The other inputs, broadcast to the sizes; `None` for an absent one.
    pub(crate) others: Vec<Option<Operand>>,
    outputs: Vec<Option<Operand>>,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(operator: &'a Validated, target: &'a Target<'a>) -> Result<Self, Error> {
        let tensor = operator.required_tensor("InputTensor")?;
        let recorder = Recorder::new(operator, target);
        let mut inputs = recorder.inputs()?;
        let outputs = recorder.outputs()?;
        let missing = || Error::internal(operator.schema().name, "a tensor is missing");
        let others = inputs.split_off(1).into_iter();
        let tensors = operator.tensors(FieldKind::Input).skip(1).map(|(_, tensor)| tensor);
        let others = others.zip(tensors).map(|(operand, tensor)| {
            let sizes = leading(tensor?.sizes(), 1);
            operand.map(|operand| operand.repeated(&sizes))
        });
        let others = others.collect();
        Ok(Self {
            operator,
            recorder,
            sizes: leading(tensor.sizes(), 1),
            axes: axes(operator)?,
            data_type: tensor.data_type(),
            input: inputs.pop().flatten().ok_or_else(missing)?,
            others,
            outputs,
        })
    }

    /// The rows of an operator that is fused into another one: of `input` in single precision, which has the
    /// sizes of the output.
    pub(crate) fn fused(
        activation: &'a Validated,
        recorder: Recorder<'a>,
        tensor: &TensorLayout,
        [input, output]: [Operand; 2],
    ) -> Result<Self, Error> {
        Ok(Self {
            operator: activation,
            recorder,
            sizes: leading(tensor.sizes(), 1),
            axes: axes_of(activation, tensor.sizes().len())?,
            data_type: DataType::Float32,
            input,
            others: vec![],
            outputs: vec![Some(output)],
        })
    }

    /// The output at an index.
    pub(crate) fn output(&self, index: usize) -> Result<Operand, Error> {
        let output = self.outputs.get(index).cloned().flatten();
        output.ok_or_else(|| Error::internal(self.operator.schema().name, "an output is missing"))
    }

    /// The conversion of the first input's elements to single precision.
    pub(crate) fn widening(&self) -> Vec<&'static Function> {
        conversion(self.data_type, DataType::Float32)
    }

    /// A program that begins with the first input's element in single precision, and that element.
    pub(crate) fn of_element(&self) -> (ElementFormula, Value) {
        let mut program = ElementFormula::default();
        let element = program.apply_all(self.widening(), Value::Input(0));
        (program, element)
    }

    /// The sizes with the dimensions of the other axes set to 1.
    pub(crate) fn sizes_of(&self, axes: Axes) -> Sizes {
        let is_reduced = axes == Axes::Reduced;
        std::array::from_fn(|at| if self.axes[at] == is_reduced { self.sizes[at] } else { 1 })
    }

    /// The number of elements in a row.
    pub(crate) fn length(&self) -> u64 {
        self.sizes_of(Axes::Reduced).iter().map(|size| u64::from(*size)).product()
    }

    /// An index generator for the elements of a row, from 0.
    pub(crate) fn numbers(&self) -> Operand {
        Operand::numbers(0, Default::default()).packed(&self.sizes_of(Axes::Reduced))
    }

    /// The maximum of each row, in single precision.
    pub(crate) fn greatest(&mut self) -> Result<Operand, Error> {
        self.reduce(
            vec![],
            Reduction {
                program: ElementFormula::chain(self.widening()),
                ..Reduction::of(&GREATEST_F32)
            },
        )
    }

    /// The power of two for each row that keeps squares of its elements in range; `None` if they always are.
    pub(crate) fn scales(&mut self) -> Result<Option<Operand>, Error> {
        if self.data_type != DataType::Float32 {
            return Ok(None);
        }
        let program = ElementFormula::of(&f::ABSOLUTE_F32);
        let greatest =
            self.reduce(vec![], Reduction { program, ..Reduction::of(&GREATEST_F32) })?;
        let (sizes, scales) = (self.sizes_of(Axes::Kept), self.like_rows(ElementWidth::B32));
        write_scales(&mut self.recorder, sizes, greatest, scales.clone())?;
        Ok(Some(scales))
    }

    /// The mean over each row of the results of `program` on its elements and those of `others`, in single
    /// precision: the sum is rounded, and then the quotient.
    pub(crate) fn mean(
        &mut self,
        others: Vec<Operand>,
        program: ElementFormula,
    ) -> Result<Operand, Error> {
        let reduction = self.reduction_to_mean(program, &[]);
        self.reduce(others, reduction)
    }

    /// The reduction to that mean, with `chain` applied to it.
    pub(crate) fn reduction_to_mean(
        &self,
        program: ElementFormula,
        chain: &[&'static Function],
    ) -> Reduction {
        // The length is rounded above 2^24.
        let parameters = vec![(self.length() as f32).to_bits()];
        let mut last = ElementFormula::default();
        let mean = last.apply(&f::DIVIDE_BY_F32, [Value::Input(0), Value::Parameter(0)]);
        last.apply_all(chain.iter().copied(), mean);
        Reduction { program, last, parameters, ..Reduction::of(&SUM_F32) }
    }

    /// The maximum of each row, and the result of `sum` on the exponentials `e^(x - maximum)`.
    pub(crate) fn powers(&mut self, sum: &'static Reducer) -> Result<[Operand; 2], Error> {
        let greatest = self.greatest()?;
        let (mut program, element) = self.of_element();
        program.apply(&f::EXP_BELOW_F32, [element, Value::Input(1)]);
        let reduction = Reduction { program, ..Reduction::of(sum) };
        let sum = self.reduce(vec![greatest.clone()], reduction)?;
        Ok([greatest, sum])
    }

    /// A constant number, broadcast.
    pub(crate) fn single(&mut self, number: f32) -> Operand {
        self.recorder.constant(ElementWidth::B32, number.to_bits().into())
    }

    /// The results of `program` on operands with one element for each row.
    pub(crate) fn of_rows(
        &mut self,
        inputs: Vec<Operand>,
        program: ElementFormula,
    ) -> Result<Operand, Error> {
        self.of_rows_with(inputs, program, vec![])
    }

    /// As [`Self::of_rows`], with parameters for the program.
    pub(crate) fn of_rows_with(
        &mut self,
        inputs: Vec<Operand>,
        program: ElementFormula,
        parameters: Vec<u32>,
    ) -> Result<Operand, Error> {
        let (sizes, output) = (self.sizes_of(Axes::Kept), self.like_rows(ElementWidth::B32));
        let computation = Computation { program, parameters, packed: None };
        let space = IterationSpace { sizes, inputs, output: output.clone() };
        self.recorder.map(space, computation)?;
        Ok(output)
    }

    /// Writes the results of `program` on `inputs`.
    pub(crate) fn compute(
        &mut self,
        sizes: Sizes,
        inputs: Vec<Operand>,
        output: Operand,
        program: ElementFormula,
    ) -> Result<(), Error> {
        let computation = Computation::of(program);
        self.recorder.map(IterationSpace { sizes, inputs, output }, computation)
    }

    /// Temporary memory for one element for each row.
    fn like_rows(&mut self, width: ElementWidth) -> Operand {
        self.temporary(width, self.sizes_of(Axes::Kept))
    }

    /// Temporary memory for numbers in single precision.
    pub(crate) fn temporary_of(&mut self, sizes: Sizes) -> Operand {
        self.temporary(ElementWidth::B32, sizes)
    }

    /// Temporary memory for elements of these sizes.
    pub(crate) fn temporary(&mut self, width: ElementWidth, sizes: Sizes) -> Operand {
        self.recorder.packed_temporary(width, &sizes)
    }

    /// Reduces each row of the first input's elements and those of `others` to one element.
    pub(crate) fn reduce(
        &mut self,
        others: Vec<Operand>,
        reduction: Reduction,
    ) -> Result<Operand, Error> {
        let output = self.like_rows(reduction.reducer.width());
        self.reduce_to(output.clone(), others, reduction)?;
        Ok(output)
    }

    /// Reduces each row of `elements`, which have the first input's coordinates.
    pub(crate) fn reduce_of(
        &mut self,
        elements: Operand,
        reduction: Reduction,
    ) -> Result<Operand, Error> {
        let output = self.like_rows(reduction.reducer.width());
        self.reduce_inputs_to(output.clone(), vec![elements], reduction)?;
        Ok(output)
    }

    /// As [`Self::reduce`], into `output`, which is broadcast along a row.
    pub(crate) fn reduce_to(
        &mut self,
        output: Operand,
        others: Vec<Operand>,
        reduction: Reduction,
    ) -> Result<(), Error> {
        let inputs = [vec![self.input.clone()], others].concat();
        self.reduce_inputs_to(output, inputs, reduction)
    }

    fn reduce_inputs_to(
        &mut self,
        output: Operand,
        inputs: Vec<Operand>,
        reduction: Reduction,
    ) -> Result<(), Error> {
        let strides = std::array::from_fn(|at| if self.axes[at] { 0 } else { output.strides[at] });
        let output = Operand { strides, ..output };
        self.recorder.reduce(IterationSpace { sizes: self.sizes, inputs, output }, reduction)
    }

    /// Writes elements of the first output, in a space of `sizes`.
    pub(crate) fn write(
        &mut self,
        sizes: Sizes,
        inputs: Vec<Operand>,
        program: ElementFormula,
    ) -> Result<(), Error> {
        let output = self.output(0)?;
        self.recorder.map(IterationSpace { sizes, inputs, output }, Computation::of(program))
    }

    /// The recorded program.
    pub(crate) fn finish(self) -> ir::Program {
        self.recorder.finish()
    }
}

/// Whether each of the 8 dimensions of a space, the last of which are the input's, goes along rows: those
/// that a field names, the spatial ones, all, or the last one.
fn axes(operator: &Validated) -> Result<[bool; 8], Error> {
    axes_of(operator, operator.required_tensor("InputTensor")?.sizes().len())
}

/// As [`axes`], for an operator on a tensor of `rank` dimensions, which may be nested.
fn axes_of(operator: &Validated, rank: usize) -> Result<[bool; 8], Error> {
    let has = |name| operator.schema().has_field(name);
    let mut of_tensor = vec![0; rank];
    if has("Axes") {
        operator.uint_array("Axes")?.iter().for_each(|axis| of_tensor[*axis as usize] = 1);
    } else if has("CrossChannel") {
        let first = if operator.bool("CrossChannel")? { 1 } else { 2 };
        of_tensor.iter_mut().skip(first).for_each(|it| *it = 1);
    } else if has("Axis") {
        of_tensor[operator.uint("Axis")? as usize] = 1;
    } else if has("OutputScaleTensor") {
        of_tensor.fill(1);
    } else if !has("MeanTensor") {
        of_tensor[rank - 1] = 1;
    }
    Ok(leading(&of_tensor, 0).map(|is_axis| is_axis == 1))
}
