//! `kernels/copy_tiles.comp` on the host.

use dml_core::host::{HostDispatch, HostError};

use super::Transpose;
use super::record::Block;
use crate::ElementWidth;
use crate::element_wise::PushConstants;
use crate::twins::dispatch::for_each_group_below;

const INPUT_AT: usize = 0;
const OUTPUT_AT: usize = 1;

/// Runs the kernel for every tile of a dispatch.
pub(super) fn run(kernel: Transpose, dispatch: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let block = Block::of(|index| dispatch.uniform_word(index));
    let push = PushConstants::of(dispatch);
    let bases = [push.base_words[0], push.base_words[7]];
    for_each_group_below(dispatch, push.first_group, push.count, |dispatch, group| {
        let (tile, starts) = block.tile(group);
        Tile { kernel, block: &block, bases, starts }.copy(dispatch, tile)
    })
}

/// The state that all elements of a tile share.
struct Tile<'a> {
    kernel: Transpose,
    block: &'a Block,
    /// The first word of the windows of input and output.
    bases: [u32; 2],
    /// The units at the coordinate 0 of x and y.
    starts: [u32; 2],
}

impl Tile<'_> {
    /// Writes every unit of the tile with this number along x and y.
    fn copy(&self, dispatch: &mut HostDispatch<'_>, tile: [u32; 2]) -> Result<(), HostError> {
        let (side, in_unit) = (self.kernel.side(), self.kernel.elements_of_unit());
        let [xs, ys] = [0, 1].map(|at| {
            let first = tile[at] * side;
            first..self.block.sizes()[at].min(first + side)
        });
        for x in xs {
            for y in ys.clone().step_by(in_unit as usize) {
                self.write(dispatch, x, y)?;
            }
        }
        Ok(())
    }

    /// Writes the unit that begins with the element at `y`.
    fn write(&self, dispatch: &mut HostDispatch<'_>, x: u32, y: u32) -> Result<(), HostError> {
        let in_unit = self.kernel.elements_of_unit();
        let [along_x, along_y] = self.block.output_strides();
        let unit = moved(self.starts[1], [x, y / in_unit], [along_x, along_y]);
        if self.kernel.width == ElementWidth::B64 {
            let read = self.input_word(x, y);
            for word in 0..2 {
                let value = dispatch.load(INPUT_AT, read.wrapping_add(word))?;
                dispatch.store(OUTPUT_AT, self.word(1, unit).wrapping_add(word), value)?;
            }
            return Ok(());
        }
        let bits = self.kernel.width.bits();
        let mut value = 0;
        for at in 0..in_unit {
            let word = dispatch.load(INPUT_AT, self.input_word(x, y + at))?;
            let element = word >> (x % in_unit * bits) & u32::MAX >> (32 - bits);
            value |= element << (at * bits);
        }
        dispatch.store(OUTPUT_AT, self.word(1, unit), value)
    }

    /// The first word of the input's unit that has an element.
    fn input_word(&self, x: u32, y: u32) -> u32 {
        let unit = x / self.kernel.elements_of_unit();
        self.word(0, moved(self.starts[0], [unit, y], self.block.input_strides()))
    }

    /// The first word of a unit of an operand.
    fn word(&self, operand: usize, unit: u32) -> u32 {
        let words = if self.kernel.width == ElementWidth::B64 { 2 } else { 1 };
        self.bases[operand].wrapping_add(unit.wrapping_mul(words))
    }
}

fn moved(start: u32, at: [u32; 2], strides: [u32; 2]) -> u32 {
    let terms = at.into_iter().zip(strides).map(|(at, stride)| at.wrapping_mul(stride));
    terms.fold(start, u32::wrapping_add)
}
