//! The recorder with which a family builds an operator's program.

use dml_core::schema::FieldKind;
use dml_core::{Error, TensorLayout, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::Value;
use dml_spirv::functions as f;
use dml_spirv::reduce::{ROUNDED_SUM_F32, Reducer, SUM_I32};

use super::buffer::{Buffer, Content, Stage};
use super::computation::Computation;
use super::contraction::{BufferPosition, Matrices, OPERANDS, SUMS, Sums, WholeMatrices};
use super::node::{Band, Fill, Map, Node, Reduce, RowOrder, Stored};
use super::numbers::ZeroPoints;
use super::ordered::{Scan, Sort};
use super::program::Program;
use super::reduction::Reduction;
use super::space::{IterationSpace, Operand, SLACK};
use crate::Target;

/// Kernels read four words of a table at a time.
const TABLE_ALIGNMENT: u64 = 16;

/// A program while it is being recorded.
pub(crate) struct Recorder<'a> {
    operator: &'a Validated,
    target: &'a Target<'a>,
    program: Program,
}

impl<'a> Recorder<'a> {
    /// A program without nodes.
    pub(crate) fn new(operator: &'a Validated, target: &'a Target<'a>) -> Self {
        Self { operator, target, program: Program::of(operator) }
    }

    /// The operands of the inputs in binding order; `None` for an input that is left out.
    ///
    /// # Errors
    /// [`Error::Internal`] if no kernel moves elements of such a width.
    pub(crate) fn inputs(&self) -> Result<Vec<Option<Operand>>, Error> {
        self.operands(FieldKind::Input, Buffer::Input)
    }

    /// The operands of the outputs in binding order; `None` for an output that is left out.
    ///
    /// # Errors
    /// [`Error::Internal`] if no kernel moves elements of such a width.
    pub(crate) fn outputs(&self) -> Result<Vec<Option<Operand>>, Error> {
        self.operands(FieldKind::Output, Buffer::Output)
    }

    fn operands(
        &self,
        kind: FieldKind,
        buffer: fn(u32) -> Buffer,
    ) -> Result<Vec<Option<Operand>>, Error> {
        let of = |(index, tensor): (u32, Option<&TensorLayout>)| {
            tensor
                .map(|tensor| Operand::of(self.program.operator, buffer(index), tensor))
                .transpose()
        };
        let tensors = self.operator.tensors(kind).map(|(_, tensor)| tensor);
        (0..).zip(tensors).map(of).collect()
    }

    /// A constant element with strides of 0.
    pub(crate) fn constant(&mut self, width: ElementWidth, bits: u64) -> Operand {
        let alignment = u64::from(width.bytes());
        let bytes = bits.to_le_bytes()[..width.bytes() as usize].to_vec();
        Operand::at(self.program.declare(Content::Constant { bytes, alignment }), width, 0)
    }

    /// A buffer of constant words.
    pub(crate) fn constants(&mut self, words: &[u32]) -> Buffer {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.program.declare(Content::Constant { bytes, alignment: 4 })
    }

    /// A table of constant words: an element for each coordinate of `sizes`, with slack after them. Equal
    /// tables share a buffer.
    pub(crate) fn table(&mut self, mut words: Vec<u32>, sizes: &[u32]) -> Operand {
        words.extend([0; SLACK]);
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let content = Content::Constant { bytes, alignment: TABLE_ALIGNMENT };
        let known = self.program.locals.iter().position(|local| *local == content);
        let buffer = known.map_or_else(|| self.program.declare(content), Buffer::Local);
        Operand { has_slack: true, ..Operand::at(buffer, ElementWidth::B32, 0).packed(sizes) }
    }

    /// A buffer of `count` elements for one execution.
    pub(crate) fn temporary(&mut self, width: ElementWidth, count: u64) -> Operand {
        self.place(width, count, Stage::Execution)
    }

    /// A buffer for one execution, of the elements of a tensor of `sizes` in row-major order without gaps.
    pub(crate) fn packed_temporary(&mut self, width: ElementWidth, sizes: &[u32]) -> Operand {
        let count = sizes.iter().map(|size| u64::from(*size)).product();
        self.temporary(width, count).packed(sizes)
    }

    /// A buffer of `count` elements that depend only on these operands: computed at initialization and kept,
    /// where all of them are available by then; otherwise computed in every execution.
    pub(crate) fn derived(&mut self, of: &[&Operand], width: ElementWidth, count: u64) -> Operand {
        let stages = of.iter().filter_map(|it| it.buffer).map(|it| self.program.stage(it));
        let stage = Stage::of_derived(stages);
        self.place(width, count, stage)
    }

    fn place(&mut self, width: ElementWidth, count: u64, stage: Stage) -> Operand {
        Operand::at(self.program.declare(Content::Computed { width, count, stage }), width, 0)
    }

    /// Whether an operand is a local buffer that every execution writes.
    pub(crate) fn is_temporary(&self, operand: &Operand) -> bool {
        let local = operand.buffer.filter(|buffer| matches!(buffer, Buffer::Local(_)));
        local.is_some_and(|local| self.program.stage(local) == Stage::Execution)
    }

    /// Adds a Map: applies `computation` at every coordinate of `space`.
    ///
    /// # Errors
    /// As [`Program::record`].
    pub(crate) fn map(
        &mut self,
        space: IterationSpace,
        computation: Computation,
    ) -> Result<(), Error> {
        self.program.record(Node::Map(Map { space, computation }))
    }

    /// Adds a Reduce along the dimensions of `space` in which the output's stride is 0.
    ///
    /// # Errors
    /// As [`Program::record`].
    pub(crate) fn reduce(
        &mut self,
        space: IterationSpace,
        reduction: Reduction,
    ) -> Result<(), Error> {
        let order = RowOrder::Flattened;
        self.program.record(Node::Reduce(Reduce { space, reduction, order, grids: None }))
    }

    /// Adds a Reduce of windows, whose dimensions are reduced one after the other.
    ///
    /// # Errors
    /// As [`Program::record`].
    pub(crate) fn reduce_windows(
        &mut self,
        space: IterationSpace,
        reduction: Reduction,
    ) -> Result<(), Error> {
        let order = RowOrder::Nested;
        self.program.record(Node::Reduce(Reduce { space, reduction, order, grids: None }))
    }

    /// Adds a Reduce of grids whose rows and columns an input of the node gives: [`Reduce::grids`].
    ///
    /// # Errors
    /// As [`Program::record`].
    pub(crate) fn reduce_grids(
        &mut self,
        space: IterationSpace,
        grids: usize,
        reduction: Reduction,
    ) -> Result<(), Error> {
        let (order, grids) = (RowOrder::Flattened, Some(grids));
        self.program.record(Node::Reduce(Reduce { space, reduction, order, grids }))
    }

    /// Adds a Contract. No two of the sums write the same element.
    ///
    /// # Errors
    /// [`Error::Internal`] if an operand exceeds its buffer.
    pub(crate) fn contract(&mut self, all: Vec<Sums>) -> Result<(), Error> {
        for sums in &all {
            for operand in 0..OPERANDS {
                let place = sums.places[operand];
                let dimensions =
                    sums.dimensions().map(|dimension| (dimension.size, dimension.strides[operand]));
                self.program.check(
                    Some(place.buffer),
                    place.base,
                    0,
                    dimensions,
                    ElementWidth::B32,
                )?;
            }
            let lines = sums.columns.iter().map(|column| column.size).product();
            for (zeros, size) in sums.numbers.zero_points().into_iter().zip([sums.row.size, lines])
            {
                let Some(ZeroPoints { buffer, base, stride }) = zeros.copied() else { continue };
                self.program.check(Some(buffer), base, 0, [(size, stride)], ElementWidth::B8)?;
            }
            self.program.check_stage(Some(sums.places[SUMS].buffer), false)?;
        }
        self.program.push(Node::Contract(all));
        Ok(())
    }

    /// Adds a product of matrices: a Contract, or for a matrix and a vector a Reduce, whose rows more
    /// invocations share. Its end adds the values that the sums go on from.
    ///
    /// # Errors
    /// As [`Self::contract`].
    pub(crate) fn multiply(&mut self, sums: Sums) -> Result<(), Error> {
        let Some(space) = sums.of_a_vector() else { return self.contract(vec![sums]) };
        let addend = sums.goes_on.then(|| space.output.clone());
        self.multiply_vector(space, addend, sums.numbers.are_integers())
    }

    /// As [`Self::multiply`], for sums that go on from values that nobody reads afterwards; returns the place of
    /// the results. Those of a vector get memory of their own, so that the Map that reads them can become the end.
    ///
    /// # Errors
    /// As [`Self::contract`].
    pub(crate) fn multiply_anew(&mut self, sums: Sums) -> Result<BufferPosition, Error> {
        let Some(mut space) = sums.of_a_vector() else {
            let place = sums.places[SUMS];
            self.contract(vec![sums])?;
            return Ok(place);
        };
        let addend = space.output.clone();
        let dimensions = space.sizes.into_iter().zip(addend.strides);
        let last: i64 = dimensions.map(|(size, stride)| i64::from(size - 1) * stride).sum();
        let output = self.temporary(addend.width, last.unsigned_abs() + 1);
        space.output = Operand { strides: addend.strides, ..output };
        let place = BufferPosition::of(&space.output);
        self.multiply_vector(space, Some(addend), sums.numbers.are_integers())?;
        Ok(place)
    }

    fn multiply_vector(
        &mut self,
        mut space: IterationSpace,
        addend: Option<Operand>,
        are_integers: bool,
    ) -> Result<(), Error> {
        let (multiply, reducer, add) = match are_integers {
            true => (&f::MULTIPLY_I32, &SUM_I32, &f::ADD_I32),
            false => (&f::MULTIPLY_F32, &ROUNDED_SUM_F32, &f::ADD_F32),
        };
        let mut reduction = Reduction::of(reducer);
        reduction.program.apply(multiply, [Value::Input(0), Value::Input(1)]);
        if let Some(addend) = addend {
            reduction.last.apply(add, [Value::Input(1), Value::Input(0)]);
            reduction.ends = 1;
            space.inputs.push(addend);
        }
        self.reduce(space, reduction)
    }

    /// Adds a contraction by cooperative matrices.
    ///
    /// # Errors
    /// As [`Self::contract`].
    pub(crate) fn contract_whole(&mut self, matrices: WholeMatrices) -> Result<(), Error> {
        for Matrices { place, count, .. } in &matrices.operands {
            let last = count.saturating_sub(1);
            self.program.check(place.buffer, place.base, last, [], place.width)?;
        }
        self.program.check_stage(matrices.operands[SUMS].place.buffer, false)?;
        self.program.push(Node::ContractWhole(Box::new(matrices)));
        Ok(())
    }

    /// Adds a [`Scan`] of packed elements in a buffer of their own, and returns the numbers of states.
    ///
    /// # Errors
    /// [`Error::Internal`] if the elements exceed their buffer.
    pub(crate) fn scan(
        &mut self,
        sizes: [u32; 3],
        reducer: &'static Reducer,
        elements: Operand,
    ) -> Result<Vec<Operand>, Error> {
        let count = sizes.iter().map(|size| u64::from(*size)).product();
        self.check_packed(&elements, count)?;
        if sizes[1] == 1 {
            let rests = reducer.joins()[1..].iter().map(|it| self.constant(it.widths()[1], 0));
            return Ok([elements].into_iter().chain(rests).collect());
        }
        let mut place = |width| {
            let strides = elements.strides;
            Operand { strides, ..self.temporary(width, count) }
        };
        let (of_elements, width) = (elements.clone(), reducer.width());
        let ends_there = Scan::passes_along(sizes[1]).is_multiple_of(2);
        let mut results = vec![if ends_there { of_elements } else { place(width) }];
        results.extend(reducer.joins()[1..].iter().map(|_| place(width)));
        let scan = Scan { sizes, reducer, elements, results: results.clone() };
        self.program.push(Node::Scan(scan));
        Ok(results)
    }

    /// Adds a [`Sort`] of packed numbers in a buffer of their own, and returns the operand of the least ones.
    ///
    /// # Errors
    /// [`Error::Internal`] if the numbers exceed their buffer.
    pub(crate) fn sort(
        &mut self,
        rows: u32,
        [length, wanted]: [u32; 2],
        numbers: Operand,
    ) -> Result<Operand, Error> {
        self.check_packed(&numbers, u64::from(rows) << length)?;
        let mut sort = Sort { rows, length, wanted, result: numbers.clone(), numbers };
        if length > wanted || !sort.passes().is_multiple_of(2) {
            sort.result = self.temporary(sort.numbers.width, u64::from(rows) << wanted);
        }
        let result = sort.result.clone();
        self.program.push(Node::Sort(sort));
        Ok(result)
    }

    /// Checks that an operand is `count` packed elements of a buffer that nodes other than Maps may write.
    fn check_packed(&self, elements: &Operand, count: u64) -> Result<(), Error> {
        let last = count.saturating_sub(1);
        self.program.check(elements.buffer, elements.base, last, [], elements.width)?;
        self.program.check_stage(elements.buffer, false)
    }

    /// Adds a Move: copies the one input of `space`.
    ///
    /// # Errors
    /// As [`Program::record`].
    pub(crate) fn move_elements(&mut self, space: IterationSpace) -> Result<(), Error> {
        self.program.record(Node::Move(space))
    }

    /// Adds a Fill of the first output with `value`, the bits of an element with zeros above.
    pub(crate) fn fill(&mut self, tensor: &TensorLayout, width: ElementWidth, value: u64) {
        let output = first_output(tensor);
        self.program.push(Node::Fill(Fill { output, width, value }));
    }

    /// Adds a [`Band`] of `value`, the bits of an element with zeros above, in the diagonals `begin..end`.
    pub(crate) fn band(&mut self, tensor: &TensorLayout, [begin, end]: [i64; 2], value: u64) {
        let buffer = Buffer::Input(0);
        let input = self.program.input(buffer);
        let input = input.map(|input| Stored { buffer, tensor: input.tensor.clone() });
        let output = first_output(tensor);
        self.program.push(Node::Band(Band { input, output, begin, end, value }));
    }

    /// Allows each input of `space` with the output's layout to be bound to the output's bytes.
    pub(crate) fn allow_in_place(&mut self, space: &IterationSpace) {
        let Some(Buffer::Output(output)) = space.output.buffer else { return };
        let inputs = self.program.inputs_as_output(space);
        self.program.in_place.extend(inputs.into_iter().map(|input| (input, output)));
    }

    /// The device that the program is made for.
    pub(crate) fn target(&self) -> &Target<'a> {
        self.target
    }

    /// The most bytes of a tensor that one descriptor can show.
    pub(crate) fn most_shown(&self) -> u64 {
        self.target.max_window()
    }

    /// The recorded program.
    pub(crate) fn finish(self) -> Program {
        self.program
    }
}

/// The first output as a whole tensor.
fn first_output(tensor: &TensorLayout) -> Stored {
    Stored { buffer: Buffer::Output(0), tensor: tensor.clone() }
}
