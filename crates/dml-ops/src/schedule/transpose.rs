//! Transpositions: copies whose input is contiguous along another dimension than the output, by tiles, so
//! that a GPU reads and writes whole lines of memory. CPU drivers read single words as fast, and would have
//! to pay for the barriers of work groups.

use dml_core::kernel::can_run;
use dml_core::plan::{Slot, Step};
use dml_core::{Error, Strategy};
use dml_spirv::element_wise::DIMENSIONS;
use dml_spirv::transpose::{Dimension, Record, Transpose};

use super::modulo_2_32;
use crate::Target;
use crate::ir::space::Operand;
use crate::schedule::constants::Constants;
use crate::schedule::cost;
use crate::schedule::dispatches::{Alignment, Dispatches};
use crate::schedule::piece::{Piece, Work};

const LAST: usize = DIMENSIONS - 1;

/// Adds a dispatch that copies the elements of a piece by tiles, if possible and preferred; returns whether it did.
///
/// # Errors
/// As [`Dispatches::push`].
pub(super) fn dispatch(
    piece: &Piece<'_>,
    dispatches: &mut Dispatches<'_>,
    constants: &mut Constants,
) -> Result<bool, Error> {
    let Some((kernel, record)) = transposition(piece) else { return Ok(false) };
    if !is_preferred(kernel, &record, dispatches.target()) {
        return Ok(false);
    }
    let operations = cost::elements(&piece.sizes);
    let work = Work { count: record.count(kernel), operations, of_a_group: None };
    piece.dispatch(&kernel.variant(), &record.words(kernel), work, dispatches, constants)?;
    Ok(true)
}

/// Whether one of the steps copies by tiles.
pub(super) fn is_among(steps: &[Step]) -> bool {
    let is_it = |it: &Step| matches!(it, Step::Dispatch(it) if Transpose::is(&it.kernel.variant));
    steps.iter().any(is_it)
}

/// Whether the device has enough memory for a tile, and tiles are worth their barrier: they are at least half
/// full in each direction.
fn is_preferred(kernel: Transpose, record: &Record, target: &Target<'_>) -> bool {
    let is_half_full = |it: Dimension| it.size >= kernel.side() / 2;
    if !can_run(&kernel.variant(), target.capabilities) {
        return false;
    }
    match target.tuning.strategy {
        Some(strategy) => strategy == Strategy::TransposeTiles,
        None => target.tuning.shared_tiles && [record.x, record.y].into_iter().all(is_half_full),
    }
}

/// The kernel and the record for a piece with one input; `None` where both operands are contiguous along the
/// same dimension, or where elements of a word do not belong together.
fn transposition(piece: &Piece<'_>) -> Option<(Transpose, Record)> {
    let operands: Vec<(&Operand<Slot>, u32)> = piece.operands().collect();
    let [(input, from), (output, to)] = operands[..] else { return None };
    let is_copied = |it: &Operand<Slot>| it.buffer.is_some() && it.is_plain();
    let is_one = input.width == output.width && is_copied(input) && is_copied(output);
    if !is_one || piece.alignment() != Alignment::Quads {
        return None;
    }
    let kernel = Transpose { width: output.width };
    let x = neighbours(piece, input)?;
    let units = Units { of: kernel.elements_of_unit().into() };
    let outer = (0..LAST).rev().filter(|at| *at != x && piece.sizes[*at] > 1);
    let outer = outer.map(|at| {
        let strides = [input, output].map(|it| units.between(it.strides[at]));
        Some(Dimension { size: piece.sizes[at], strides: [strides[0]?, strides[1]?] })
    });
    let record = Record {
        x: Dimension {
            size: piece.sizes[x],
            strides: [units.along(input.strides[x])?, units.between(output.strides[x])?],
        },
        y: Dimension {
            size: units.whole(piece.sizes[LAST])?,
            strides: [units.between(input.strides[LAST])?, units.along(output.strides[LAST])?],
        },
        outer: outer.collect::<Option<_>>()?,
        starts: [units.between(from.into())?, units.between(to.into())?],
    };
    Some((kernel, record))
}

/// The dimension along which the input is contiguous, if the output is contiguous along another one.
fn neighbours(piece: &Piece<'_>, input: &Operand<Slot>) -> Option<usize> {
    let stride = |at: usize| input.strides[at].unsigned_abs();
    let is_nearer = |at: &usize| piece.sizes[*at] > 1 && (1..stride(LAST)).contains(&stride(*at));
    let nearest = (0..LAST).filter(is_nearer).min_by_key(|at| stride(*at));
    nearest.filter(|_| piece.inner() > 1)
}

/// Elements that are copied together: all elements of a word, or a single one.
#[derive(Clone, Copy)]
struct Units {
    /// The number of elements of a unit.
    of: i64,
}

impl Units {
    /// A number of elements in units; `None` if these are not whole units.
    fn between(self, elements: i64) -> Option<u32> {
        (elements % self.of == 0).then(|| modulo_2_32(elements / self.of))
    }

    /// The stride from one unit to the next along a dimension along which units lie; `None` if their elements
    /// are not adjacent.
    fn along(self, stride: i64) -> Option<u32> {
        (self.of == 1 || stride == 1).then(|| modulo_2_32(stride))
    }

    /// The size, if it is a multiple of a unit.
    fn whole(self, size: u32) -> Option<u32> {
        (i64::from(size) % self.of == 0).then_some(size)
    }
}

#[cfg(test)]
mod tests;
