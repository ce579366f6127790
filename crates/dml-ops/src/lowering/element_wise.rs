//! Dispatches that compute every element of an output from the inputs' elements that belong to it.
//!
//! A space is coalesced and divided into boxes; for each box the kernel is linked that fits how its
//! rows lie: in whole quads, with gaps or ends between, or the same element everywhere. Integers
//! narrower than a word are taken several at a time where rows are whole multiples of four words.
//! The only loop is that of a division of 64 bits, 128 iterations for the two of each register: far from
//! the 65,535 that lavapipe gives an invocation.

use std::ops::Range;

use dml_core::Error;
use dml_core::plan::{Access as Touch, Step, Window};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{
    self, Access, DIMENSIONS, ElementWise, OperandRecord, Program, PushConstants, QUAD, Record,
    Value,
};
use dml_spirv::functions::{SPLAT_8, SPLAT_16};

use crate::Target;
use crate::lowering::boxes::TensorBox;
use crate::lowering::constants::Constants;
use crate::lowering::dispatches::Dispatches;
use crate::lowering::iteration::{Alignment, IterationSpace, Operand};

/// A row of at least so many elements, by itself, is worth a dispatch of its own for those that do
/// not fill a quad: on lavapipe whole rows take two thirds of the time.
const WORTH_A_TAIL: u32 = 1 << 12;

/// Windows of fewer bytes show hardly more than a quad, so they begin at any word. No device is known to
/// have such.
const SMALL_WINDOW: u64 = 64;

/// What becomes of the elements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Computation {
    /// For the elements of each input.
    pub(crate) program: Program,
    /// For words that have several elements each, of operands that are all equally wide; none where
    /// the program cannot do that.
    pub(crate) packed: Option<Program>,
    /// The program's parameters.
    pub(crate) parameters: Vec<u32>,
}

impl Computation {
    /// Elements as they are.
    pub(crate) fn copy() -> Self {
        Self { packed: Some(Program::default()), ..Self::default() }
    }
}

/// The steps that compute `space`. Refusals name `operator` and `field`.
///
/// # Errors
/// As [`Dispatches::push`].
pub(crate) fn steps(
    operator: &'static str,
    field: &'static str,
    space: IterationSpace,
    computation: &Computation,
    target: &Target<'_>,
    constants: &mut Constants,
) -> Result<Vec<Step>, Error> {
    let space = space.coalesced();
    let mut dispatches = Dispatches::new(operator, field, target);
    let alignment =
        if target.max_window() < SMALL_WINDOW { Alignment::Words } else { Alignment::Quads };
    let placements: Vec<_> = space.operands().map(|it| it.placement(alignment)).collect();
    for part in dispatches.boxes(space.sizes, &placements)? {
        for part in whole_and_rest(&part, &space) {
            Piece::of(&space, &part, alignment).dispatch(
                computation,
                &mut dispatches,
                constants,
            )?;
        }
    }
    Ok(dispatches.into_steps())
}

/// A long single row that is no multiple of four words: as much of it as is, and the rest.
fn whole_and_rest(
    part: &TensorBox<DIMENSIONS>,
    space: &IterationSpace,
) -> Vec<TensorBox<DIMENSIONS>> {
    const LAST: usize = DIMENSIONS - 1;
    let inner = part.sizes[LAST];
    let narrowest = space.operands().map(|it| it.width.bits()).min().unwrap_or(32).min(32);
    let rest = inner % (QUAD * (32 / narrowest));
    let is_row = part.sizes[..LAST].iter().all(|size| *size == 1);
    if rest == 0 || inner < WORTH_A_TAIL || !is_row {
        return vec![*part];
    }
    let (mut whole, mut tail) = (*part, *part);
    whole.sizes[LAST] -= rest;
    tail.origin[LAST] += inner - rest;
    tail.sizes[LAST] = rest;
    vec![whole, tail]
}

/// A box, as one kernel takes it.
struct Piece<'a> {
    space: &'a IterationSpace,
    sizes: [u32; DIMENSIONS],
    alignment: Alignment,
    /// For each operand its bytes, and the element at the box's origin from the start of those.
    views: Vec<(Range<u64>, u32)>,
}

/// An operand of a piece, as a kernel takes it.
struct Taken {
    operand: element_wise::Operand,
    record: OperandRecord,
}

impl<'a> Piece<'a> {
    fn of(space: &'a IterationSpace, part: &TensorBox<DIMENSIONS>, alignment: Alignment) -> Self {
        let views = space.operands().map(|operand| {
            let view = operand.placement(alignment).view(part);
            (view.range, view.start)
        });
        Self { space, sizes: part.sizes, alignment, views: views.collect() }
    }

    fn operands(&self) -> impl Iterator<Item = (&Operand, u32)> {
        self.space.operands().zip(self.views.iter().map(|(_, start)| *start))
    }

    fn inner(&self) -> u32 {
        self.sizes[DIMENSIONS - 1]
    }

    /// The program, what it is applied to, the output last, and the elements of a row: of words where
    /// that can be.
    fn taken(&self, computation: &Computation) -> (Program, Vec<Taken>, u32) {
        match computation.packed.as_ref().zip(self.elements_of_words()) {
            Some((program, per_word)) => {
                let taken: Vec<Taken> =
                    self.operands().map(|it| self.take_words(it, per_word)).collect();
                (in_words(program, &taken, per_word), taken, self.inner() / per_word)
            }
            None => {
                let taken = self.operands().map(|it| self.take(it)).collect();
                (computation.program.clone(), taken, self.inner())
            }
        }
    }

    fn dispatch(
        &self,
        computation: &Computation,
        dispatches: &mut Dispatches<'_>,
        constants: &mut Constants,
    ) -> Result<(), Error> {
        let (program, mut inputs, inner) = self.taken(computation);
        let output = inputs.pop().expect("the output");
        let mut record = Record {
            sizes: self.sizes,
            inputs: Default::default(),
            output: output.record,
            parameters: computation.parameters.clone(),
        };
        record.sizes[DIMENSIONS - 1] = inner;
        for (place, input) in record.inputs.iter_mut().zip(&inputs) {
            *place = input.record;
        }
        let kernel = ElementWise {
            program,
            inputs: inputs.iter().map(|input| input.operand).collect(),
            output: output.operand,
            outer_dimensions: record.outer_dimensions(),
        };
        let block = record.words(kernel.skeleton_dimensions());
        let block = constants.add_uniform(block.into_iter().flat_map(u32::to_le_bytes).collect());
        let count = u32::try_from(record.quads()).expect("less than the elements of a tensor");
        let push = PushConstants { count, ..Default::default() };
        let variant = kernel.variant();
        let access = variant.bindings.last().map_or(Touch::ReadWrite, |output| output.access);
        dispatches.push_with_block(variant, &self.windows(access), &push, Some(block))
    }

    fn windows(&self, output_access: Touch) -> Vec<Window> {
        let inputs = self.space.inputs.iter().zip(0..);
        let inputs =
            inputs.map(|(it, index)| (it, Touch::Read, PushConstants::base_word_at(index)));
        let output = (&self.space.output, output_access, PushConstants::BASE_WORD_OF_OUTPUT_AT);
        let windows = inputs.chain([output]).zip(&self.views);
        windows
            .map(|((operand, access, base_word_at), (range, _))| Window {
                slot: operand.slot,
                range: range.clone(),
                access,
                base_word_at,
            })
            .collect()
    }

    /// Whether rows are whole multiples of `count` elements, and start at such.
    fn is_in_multiples(&self, (operand, start): (&Operand, u32), count: u32) -> bool {
        let outer = self.sizes.iter().zip(&operand.strides).take(DIMENSIONS - 1);
        let mut outer = outer.filter(|(size, _)| **size > 1);
        self.alignment == Alignment::Quads
            && self.inner().is_multiple_of(count)
            && start.is_multiple_of(count)
            && outer.all(|(_, stride)| stride % i64::from(count) == 0)
    }

    fn take(&self, (operand, start): (&Operand, u32)) -> Taken {
        let access = match operand.strides[DIMENSIONS - 1] {
            0 if self.inner() > 1 => Access::Single,
            1 if self.is_in_multiples((operand, start), QUAD) => Access::Whole,
            _ => Access::Ragged,
        };
        let operand_of_kernel = element_wise::Operand { width: operand.width, access };
        let strides = operand.strides.map(modulo_2_32);
        Taken { operand: operand_of_kernel, record: OperandRecord { start, strides } }
    }

    /// How many elements a word has where all operands can be taken by words.
    fn elements_of_words(&self) -> Option<u32> {
        let width = self.space.output.width;
        let per_word = 32 / width.bits().min(32);
        let fits = |it: (&Operand, u32)| match it.0.strides[DIMENSIONS - 1] {
            0 => it.0 != &self.space.output,
            stride => stride == 1 && self.is_in_multiples(it, QUAD * per_word),
        };
        let is_alike = self.space.operands().all(|it| it.width == width);
        (per_word > 1 && is_alike && self.operands().all(fits)).then_some(per_word)
    }

    /// As [`Self::take`], but of operands that are no single elements in words.
    fn take_words(&self, (operand, start): (&Operand, u32), per_word: u32) -> Taken {
        if operand.strides[DIMENSIONS - 1] == 0 {
            return self.take((operand, start));
        }
        let words = Operand {
            width: ElementWidth::B32,
            strides: std::array::from_fn(|at| match at == DIMENSIONS - 1 {
                true => 1,
                false => operand.strides[at] / i64::from(per_word),
            }),
            ..operand.clone()
        };
        let taken = self.take((&words, start / per_word));
        let operand = element_wise::Operand { access: Access::Whole, ..taken.operand };
        Taken { operand, ..taken }
    }
}

/// Kernels add strides modulo 2^32, which is right for negative ones as well.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "modulo 2^32")]
fn modulo_2_32(stride: i64) -> u32 {
    stride as u32
}

/// A program for words, where inputs that are single elements are repeated in them first.
fn in_words(program: &Program, inputs: &[Taken], per_word: u32) -> Program {
    let splat = if per_word == 4 { &SPLAT_8 } else { &SPLAT_16 };
    let mut all = Program::default();
    let mut values: Vec<Value> = (0..inputs.len()).map(Value::Input).collect();
    for (value, input) in values.iter_mut().zip(inputs) {
        if input.operand.access == Access::Single {
            *value = all.apply(splat, vec![*value]);
        }
    }
    let repeated = all.steps.len();
    for step in &program.steps {
        let value = |it: &Value| match *it {
            Value::Input(index) => values[index],
            Value::Result(index) => Value::Result(index + repeated),
            parameter @ Value::Parameter(_) => parameter,
        };
        all.apply(step.function, step.arguments.iter().map(value).collect());
    }
    all
}

#[cfg(test)]
mod tests;
