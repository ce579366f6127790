//! `kernels/element_wise.comp` and `kernels/functions/memory.glsl` on the host.

use dml_core::host::{HostDispatch, HostError};

use super::program::{Access, OUTPUT, Operand};
use super::record::{QUAD, Space};
use super::{ElementWise, PushConstants};
use crate::twins::dispatch::for_each_index;

/// Runs the kernel for every quad of a dispatch.
pub(super) fn run(kernel: &ElementWise, dispatch: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let space = Space::of(kernel.skeleton_dimensions(), |index| dispatch.uniform_word(index));
    let push = PushConstants::of(dispatch);
    for_each_index(dispatch, push.first_group, push.count, |dispatch, index| {
        let (coordinate, x) = space.coordinate(index);
        let mut quad = Vec::with_capacity(QUAD as usize);
        for lane in 0..QUAD.min(space.inner() - x) {
            let mut elements = Vec::with_capacity(kernel.inputs.len());
            for (number, operand) in kernel.inputs.iter().enumerate() {
                let lane = if operand.access == Access::Single { 0 } else { lane };
                let element = space.element(number, &coordinate, x + lane);
                elements.push(load(dispatch, *operand, number, element)?);
            }
            quad.push(kernel.program.run(&elements, |index| space.parameter(index)));
        }
        if kernel.output.access == Access::Whole && kernel.output.width.bits() < 32 {
            return store_whole(dispatch, kernel, space.element(OUTPUT, &coordinate, x), &quad);
        }
        for (value, lane) in quad.into_iter().zip(0..) {
            store(dispatch, kernel, space.element(OUTPUT, &coordinate, x + lane), value)?;
        }
        Ok(())
    })
}

/// Writes a quad of elements narrower than a word, which fill whole words.
fn store_whole(
    dispatch: &mut HostDispatch<'_>,
    kernel: &ElementWise,
    element: u32,
    quad: &[u64],
) -> Result<(), HostError> {
    let bits = kernel.output.width.bits();
    let (first, _) = place(dispatch, kernel.output, OUTPUT, element);
    for (values, word) in quad.chunks((32 / bits) as usize).zip(first..) {
        let value =
            values.iter().rev().fold(0, |word, value| word << bits | low_bits(*value, bits));
        dispatch.store(kernel.inputs.len(), word, low_word(value))?;
    }
    Ok(())
}

fn low_bits(value: u64, bits: u32) -> u64 {
    value & (u64::MAX >> (64 - bits))
}

fn low_word(value: u64) -> u32 {
    u32::try_from(low_bits(value, 32)).expect("32 bits")
}

/// Which word of the push constants is the first operand's base word.
const BASE_WORDS: usize = PushConstants::BASE_WORDS_AT as usize / 4;

/// The first word of an element, counted from the descriptor's start, and its place in that word.
fn place(dispatch: &HostDispatch<'_>, operand: Operand, number: usize, element: u32) -> (u32, u32) {
    let bits = operand.width.bits();
    let (words, shift) = match bits {
        64 => (element.wrapping_mul(2), 0),
        32 => (element, 0),
        _ => (element / (32 / bits), element % (32 / bits) * bits),
    };
    (dispatch.push_word(BASE_WORDS + number).wrapping_add(words), shift)
}

fn load(
    dispatch: &mut HostDispatch<'_>,
    operand: Operand,
    number: usize,
    element: u32,
) -> Result<u64, HostError> {
    let (word, shift) = place(dispatch, operand, number, element);
    let low = u64::from(dispatch.load(number, word)? >> shift);
    Ok(match operand.width.bits() {
        64 => low | u64::from(dispatch.load(number, word.wrapping_add(1))?) << 32,
        bits => low_bits(low, bits),
    })
}

fn store(
    dispatch: &mut HostDispatch<'_>,
    kernel: &ElementWise,
    element: u32,
    value: u64,
) -> Result<(), HostError> {
    let (word, shift) = place(dispatch, kernel.output, OUTPUT, element);
    let (binding, low) = (kernel.inputs.len(), low_word(value));
    match kernel.output.width.bits() {
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
