//! `fill_write.comp`: writes one value to every element of a tensor, and no byte between the elements
//! of a strided one.

use dml_core::host::{HostDispatch, HostError};

use super::dispatch::{add_with_carry, for_each_run};
use super::element::{Pattern, store};
use super::push::push_constants;
use crate::ElementWidth;

// The length of `sizes` is a literal: rustc 1.95 crashes on closures that capture an array field with
// a named one.
push_constants! {
    @patched base_word at BASE_WORD_AT, constants_word at CONSTANTS_WORD_AT;
    /// Words from the start of the descriptor to the window's first byte.
    base_word: u32,
    /// Words from the start of the second descriptor to [`Constants`].
    constants_word: u32,
    /// The first group of this dispatch, if several dispatches share the work.
    first_group: u32,
    /// The number of elements, at least 1.
    count: u32,
    /// The first element, counted from the window's first word.
    start: u32,
    /// Elements in each dimension, outermost first; unused dimensions have size 1.
    sizes: [u32; 8],
    /// The value's low 32 bits, zero above a narrower element.
    value_low: u32,
    /// The value's high 32 bits, for 64-bit elements.
    value_high: u32,
}

/// The parameters that do not fit into the push constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// Distance between neighbours in each dimension, in elements.
    pub strides: [u32; DIMENSIONS],
}

impl Constants {
    /// The bytes of the constant block.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.strides.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// As many dimensions as a tensor can have.
pub const DIMENSIONS: usize = 8;

const CONSTANTS: usize = 1;

element_widths!(run: b8 = B8, b16 = B16, b32 = B32, b64 = B64);

fn run(dispatch: &mut HostDispatch<'_>, element_width: ElementWidth) -> Result<(), HostError> {
    let push = PushConstants::of(dispatch);
    let mut strides = [0; DIMENSIONS];
    for (at, stride) in (push.constants_word..).zip(&mut strides) {
        *stride = dispatch.load(CONSTANTS, at)?;
    }
    let pattern = Pattern { low: push.value_low, high: push.value_high };
    for_each_run(dispatch, push.first_group, push.count, |dispatch, run| {
        let step = coordinate_of(run.step, push.sizes);
        let mut at = coordinate_of(run.first, push.sizes);
        for _ in 0..run.count {
            let terms = at.iter().zip(strides).map(|(at, stride)| at.wrapping_mul(stride));
            let element = terms.fold(push.start, u32::wrapping_add);
            store(dispatch, element_width, push.base_word, element, pattern)?;
            advance(&mut at, step, push.sizes);
        }
        Ok(())
    })
}

fn coordinate_of(mut index: u32, sizes: [u32; DIMENSIONS]) -> [u32; DIMENSIONS] {
    let mut coordinate = [0; DIMENSIONS];
    for (at, size) in coordinate.iter_mut().zip(sizes).rev() {
        *at = index % size;
        index /= size;
    }
    coordinate
}

/// Advances a coordinate by `step` elements. After the last element the result is meaningless.
fn advance(at: &mut [u32; DIMENSIONS], step: [u32; DIMENSIONS], sizes: [u32; DIMENSIONS]) {
    let mut carry = 0;
    for ((at, step), size) in at.iter_mut().zip(step).zip(sizes).rev() {
        add_with_carry(size, step, at, &mut carry);
    }
}
