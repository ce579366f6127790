//! `kernels/functions/memory.glsl` on the host.

use dml_core::host::{HostDispatch, HostError};

use super::PushConstants;
use super::program::{AccessPattern, KernelOperand, OUTPUT};
use super::record::{Coordinate, Space};
use crate::functions::NOWHERE;

/// The operands of a kernel in the iteration space of a dispatch.
pub(crate) struct KernelOperands<'k> {
    /// The operands that are read.
    pub(crate) inputs: &'k [KernelOperand],
    /// The operand that is written.
    pub(crate) output: KernelOperand,
    pub(crate) space: Space,
}

impl<'k> KernelOperands<'k> {
    /// The operands in the space of `dispatch`, whose kernel has so many outer dimensions.
    pub(crate) fn of(
        inputs: &'k [KernelOperand],
        output: KernelOperand,
        outer_dimensions: usize,
        dispatch: &HostDispatch<'_>,
    ) -> Self {
        let space = Space::of(outer_dimensions, |index| dispatch.uniform_word(index));
        Self { inputs, output, space }
    }

    /// The element of an input at the position `x` in a row, `by` elements further on.
    pub(crate) fn load(
        &self,
        dispatch: &mut HostDispatch<'_>,
        coordinate: &Coordinate,
        (input, by): (usize, u32),
        x: u32,
    ) -> Result<u64, HostError> {
        let at = match self.inputs[input].access {
            AccessPattern::Repeated(shift) => x >> shift,
            _ => x,
        };
        let element = self.space.element(input, coordinate, at).wrapping_add(by);
        match self.inputs[input].access {
            AccessPattern::Index => Ok(element.into()),
            _ if by == NOWHERE => Ok(0),
            _ => self.load_element(dispatch, input, element),
        }
    }

    fn load_element(
        &self,
        dispatch: &mut HostDispatch<'_>,
        number: usize,
        element: u32,
    ) -> Result<u64, HostError> {
        let operand = self.inputs[number];
        let (word, shift) = place(dispatch, operand, number, element);
        let binding = self.stored(number);
        let low = u64::from(dispatch.load(binding, word)? >> shift);
        Ok(match operand.width.bits() {
            64 => low | u64::from(dispatch.load(binding, word.wrapping_add(1))?) << 32,
            bits => low_bits(low, bits),
        })
    }

    /// Writes an element of the output.
    pub(crate) fn store(
        &self,
        dispatch: &mut HostDispatch<'_>,
        element: u32,
        value: u64,
    ) -> Result<(), HostError> {
        let binding = self.stored(self.inputs.len());
        store_element(dispatch, (self.output, OUTPUT, binding), element, value)
    }

    /// Writes the first element of a row to an input.
    pub(crate) fn store_to_input(
        &self,
        dispatch: &mut HostDispatch<'_>,
        coordinate: &Coordinate,
        input: usize,
        value: u64,
    ) -> Result<(), HostError> {
        let element = self.space.element(input, coordinate, 0);
        let binding = self.stored(input);
        store_element(dispatch, (self.inputs[input], input, binding), element, value)
    }

    /// Writes a quad of elements, each with its value. Narrow elements of a whole quad fill whole words.
    pub(crate) fn store_quad(
        &self,
        dispatch: &mut HostDispatch<'_>,
        quad: &[(u32, u64)],
    ) -> Result<(), HostError> {
        let bits = self.output.width.bits();
        if self.output.access != AccessPattern::Whole || bits >= 32 {
            return quad.iter().try_for_each(|(at, value)| self.store(dispatch, *at, *value));
        }
        for elements in quad.chunks((32 / bits) as usize) {
            let (word, _) = place(dispatch, self.output, OUTPUT, elements[0].0);
            let value = elements
                .iter()
                .rev()
                .fold(0, |word, (_, value)| word << bits | low_bits(*value, bits));
            dispatch.store(self.stored(self.inputs.len()), word, low_word(value))?;
        }
        Ok(())
    }

    /// How many of the first `number` inputs have a binding.
    fn stored(&self, number: usize) -> usize {
        self.inputs[..number].iter().filter(|it| it.access != AccessPattern::Index).count()
    }
}

/// Writes an element of an operand, which has a number and a binding.
fn store_element(
    dispatch: &mut HostDispatch<'_>,
    (operand, number, binding): (KernelOperand, usize, usize),
    element: u32,
    value: u64,
) -> Result<(), HostError> {
    let (word, shift) = place(dispatch, operand, number, element);
    let low = low_word(value);
    match operand.width.bits() {
        64 => {
            dispatch.store(binding, word, low)?;
            dispatch.store(binding, word.wrapping_add(1), low_word(value >> 32))
        }
        32 => dispatch.store(binding, word, low),
        bits => {
            let mask = u32::MAX >> (32 - bits) << shift;
            dispatch.atomic_and(binding, word, !mask)?;
            dispatch.atomic_or(binding, word, low << shift & mask)
        }
    }
}

fn low_bits(value: u64, bits: u32) -> u64 {
    value & (u64::MAX >> (64 - bits))
}

/// The low 32 bits of an element.
pub(crate) fn low_word(value: u64) -> u32 {
    u32::try_from(low_bits(value, 32)).expect("32 bits")
}

/// Which word of the push constants is the first operand's base word.
const BASE_WORDS: usize = PushConstants::BASE_WORDS_AT as usize / 4;

/// The first word of an element, counted from the descriptor's start, and its place in that word.
fn place(
    dispatch: &HostDispatch<'_>,
    operand: KernelOperand,
    number: usize,
    element: u32,
) -> (u32, u32) {
    let bits = operand.width.bits();
    let (words, shift) = match bits {
        64 => (element.wrapping_mul(2), 0),
        32 => (element, 0),
        _ => (element / (32 / bits), element % (32 / bits) * bits),
    };
    (dispatch.push_word(BASE_WORDS + number).wrapping_add(words), shift)
}
