//! Dispatches that compute every element of an output from elements of the inputs.
//!
//! A space is coalesced and divided into boxes. For each box a kernel is linked for the layout of its rows:
//! whole quads, rows with gaps or ends within a quad, or a single element. Several integers narrower than a
//! word are computed at once where rows are whole multiples of four words. Plain copies along another
//! dimension use tiles where these are preferred ([`transpose`]). The only loop is in 64-bit divisions: 128
//! iterations for the two of each register, far from the 65,535 after which lavapipe ends an invocation's
//! loops.

use dml_core::plan::{Slot, Step};
use dml_core::{Error, Strategy};
use dml_spirv::element_wise::{
    AccessPattern, DIMENSIONS, ElementFormula, ElementWise, QUAD, Second, Value,
};
use dml_spirv::functions::{SPLAT_8, SPLAT_16};

use super::{Schedule, transpose};
use crate::Target;
use crate::ir::Computation;
use crate::ir::space::IterationSpace;
use crate::schedule::boxes::TensorBox;
use crate::schedule::constants::Constants;
use crate::schedule::cost;
use crate::schedule::dispatches::Dispatches;
use crate::schedule::piece::{KernelAccess, Piece, Work};

/// A single row of at least this many elements gets a dispatch of its own for the elements that do not fill a
/// quad: on lavapipe whole rows take two thirds of the time.
const WORTH_A_TAIL: u32 = 1 << 12;

/// The steps that compute `space`. Errors name `operator` and `field`.
///
/// # Errors
/// As [`Dispatches::push`].
pub(crate) fn steps(
    operator: &'static str,
    field: &'static str,
    space: IterationSpace<Slot>,
    computation: &Computation,
    target: &Target<'_>,
    constants: &mut Constants,
) -> Result<Vec<Step>, Error> {
    let space = space.coalesced();
    let mut dispatches = Dispatches::new(operator, field, target);
    let alignment = dispatches.alignment();
    let placements: Vec<_> = space.stored().map(|it| it.placement(alignment)).collect();
    for part in dispatches.boxes(space.sizes, &placements)? {
        for part in whole_and_rest(&part, &space) {
            let piece = Piece::of(&space, &part, alignment);
            let is_copied = computation.program.steps.is_empty();
            if is_copied && transpose::dispatch(&piece, &mut dispatches, constants)? {
                continue;
            }
            dispatch(&piece, computation, &mut dispatches, constants)?;
        }
    }
    Ok(dispatches.into_steps())
}

/// Divides a long single row that is no multiple of four words into the greatest such multiple and the rest.
fn whole_and_rest(
    part: &TensorBox<DIMENSIONS>,
    space: &IterationSpace<Slot>,
) -> Vec<TensorBox<DIMENSIONS>> {
    const LAST: usize = DIMENSIONS - 1;
    let inner = part.sizes[LAST];
    let narrowest =
        space.operands().map(|operand| operand.width.bits()).min().unwrap_or(32).min(32);
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

/// The program, the operands that it is applied to, with the output last, and the elements of a row; all of
/// them of words where the functions can take these.
fn taken(piece: &Piece<'_>, computation: &Computation) -> (ElementFormula, Vec<KernelAccess>, u32) {
    match computation.packed.as_ref().zip(piece.elements_of_words()) {
        Some((program, per_word)) => {
            let taken: Vec<KernelAccess> =
                piece.operands().map(|operand| piece.take_words(operand, per_word)).collect();
            (in_words(program, &taken, per_word), taken, piece.inner() / per_word)
        }
        None => {
            let taken = piece.operands().map(|operand| piece.take(operand)).collect();
            (computation.program.clone(), taken, piece.inner())
        }
    }
}

/// Adds the dispatch of the kernel that computes a piece.
fn dispatch(
    piece: &Piece<'_>,
    computation: &Computation,
    dispatches: &mut Dispatches<'_>,
    constants: &mut Constants,
) -> Result<(), Error> {
    let (program, taken, inner) = taken(piece, computation);
    let mut parameters = computation.parameters.clone();
    let second = piece.second_result().map(|second_result| {
        parameters.push(second_result.distance);
        let distance = u32::try_from(parameters.len() - 1).expect("programs have few parameters");
        Second { value: second_result.value, distance }
    });
    let (mut record, inputs, output) = piece.record(&taken, &parameters);
    record.sizes[DIMENSIONS - 1] = inner;
    let of_an_element = program.steps.len().max(1) as u64;
    let operations = cost::elements(&record.sizes).saturating_mul(of_an_element);
    let outer_dimensions = record.outer_dimensions();
    let kernel = ElementWise { program, inputs, output, second, outer_dimensions };
    let block = record.words(kernel.skeleton_dimensions());
    let variant = kernel.variant(dispatches.target().native_types());
    let work = Work { count: record.quads(), operations, of_a_group: None };
    piece.dispatch(&variant, &block, work, dispatches, constants)
}

impl Schedule<'_> {
    /// Adds the steps that compute `space`.
    ///
    /// # Errors
    /// As [`steps`]; [`Error::DeviceLimit`] if the operator would have too many steps.
    pub(super) fn map(
        &mut self,
        space: IterationSpace<Slot>,
        computation: &Computation,
    ) -> Result<(), Error> {
        let (name, field) = (self.origin.operator, self.origin.field);
        let constants = &mut self.constants;
        let is_kept = space.output.buffer == Some(Slot::Persistent);
        let steps = steps(name, field, space, computation, self.target, constants)?;
        if transpose::is_among(&steps) {
            self.strategy = Strategy::TransposeTiles;
        }
        if is_kept {
            self.kept.init.extend(steps);
            return Ok(());
        }
        self.extend(field, steps)
    }
}

/// A program for words, which first repeats the elements of inputs that are the same everywhere.
fn in_words(program: &ElementFormula, inputs: &[KernelAccess], per_word: u32) -> ElementFormula {
    let splat = if per_word == 4 { &SPLAT_8 } else { &SPLAT_16 };
    let mut all = ElementFormula::default();
    let mut values: Vec<Value> = (0..inputs.len()).map(Value::Input).collect();
    for (value, input) in values.iter_mut().zip(inputs) {
        if input.operand.access == AccessPattern::Single {
            *value = all.apply(splat, [*value]);
        }
    }
    let repeated = all.steps.len();
    for step in &program.steps {
        let value = |it: &Value| match *it {
            Value::Input(index) => values[index],
            Value::Result(index) => Value::Result(index + repeated),
            parameter @ Value::Parameter(_) => parameter,
        };
        all.apply(step.function, step.arguments.iter().map(value));
    }
    all
}

#[cfg(test)]
mod tests;
