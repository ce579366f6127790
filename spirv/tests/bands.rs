//! The twins of the kernels that know bands of diagonals, against a loop over elements.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]

mod common;

use std::ops::Range;

use common::{bytes_to, element, indices};
use dml_core::Capabilities;
use dml_core::host::{HostBuffer, HostMemory, interpret};
use dml_core::plan::{Cost, Dispatch, KernelKey, Slot, Step, Window};
use dml_spirv::twins::PushBlock as _;
use dml_spirv::{ElementWidth, Kernel, kernels, twins};

const SIZES: [u32; 4] = [2, 3, 4, 5];
/// Rows and batches with padding.
const OUTPUT_STRIDES: [u32; 4] = [97, 31, 7, 1];
/// Every batch shows the same matrix, columns outermost.
const INPUT_STRIDES: [u32; 4] = [0, 0, 1, 4];
/// Where the first elements are in their windows.
const OUTPUT_START: u32 = 3;
const INPUT_START: u32 = 1;
const DIAGONALS: u32 = 4 + 5 - 1;
const VALUE: u64 = 0x2817_F6E5_D4C3_9281;
const UNTOUCHED: u8 = 0xA5;

fn output_element(index: [u32; 4]) -> usize {
    element(OUTPUT_START, OUTPUT_STRIDES, index)
}

fn input_element(index: [u32; 4]) -> usize {
    element(INPUT_START, INPUT_STRIDES, index)
}

fn bytes(element: fn([u32; 4]) -> usize, element_width: ElementWidth) -> usize {
    bytes_to(element(SIZES.map(|size| size - 1)), element_width)
}

/// The output, and the value with zeros above a narrow element.
fn matrices(element_width: ElementWidth) -> twins::Matrices {
    let bits = VALUE & (u64::MAX >> (64 - element_width.bits()));
    let [_, size1, height, width] = SIZES;
    twins::Matrices {
        start: OUTPUT_START,
        size1,
        height,
        width,
        value_low: u32::try_from(bits & 0xffff_ffff).unwrap(),
        value_high: u32::try_from(bits >> 32).unwrap(),
    }
}

fn step(
    kernel: &Kernel,
    element_width: ElementWidth,
    windows: &[(Slot, usize)],
    push: Vec<u8>,
) -> Step {
    let variant = kernel.variant(element_width);
    let windows = windows.iter().zip(variant.bindings.iter()).zip(0..);
    Step::Dispatch(Dispatch {
        kernel: KernelKey { variant: variant.into(), specialization: vec![32, 2] },
        windows: windows
            .map(|(((slot, size), binding), index)| Window {
                slot: *slot,
                range: 0..*size as u64,
                access: binding.access,
                base_word_at: index * 4,
            })
            .collect(),
        push_constants: push,
        uniform: None,
        groups: [3, 1, 1],
        is_concurrent: false,
        cost: Cost::default(),
    })
}

fn bound(bytes: Vec<u8>, offset: u64) -> HostBuffer {
    HostBuffer { size: bytes.len() as u64 - offset, bytes, offset }
}

/// Input bytes that are all different from their neighbours.
fn input(element_width: ElementWidth) -> Vec<u8> {
    (0..=255u8).cycle().take(16 + bytes(input_element, element_width)).collect()
}

/// Runs one step and compares it with `expected`, which is given each element's diagonal and the
/// input's bytes, and returns what the element becomes, `None` where it is not written.
fn check<'a>(
    step: Step,
    element_width: ElementWidth,
    constants: &[u8],
    input: &'a [u8],
    expected: impl Fn(u32, &'a [u8]) -> Option<Vec<u8>>,
) {
    let width = element_width.bytes() as usize;
    let output = vec![UNTOUCHED; 272 + bytes(output_element, element_width)];
    let mut wanted = output.clone();
    for index in indices(SIZES) {
        let at = 16 + input_element(index) * width;
        let [_, _, y, x] = index;
        if let Some(new) = expected(SIZES[2] - 1 - y + x, &input[at..at + width]) {
            let at = 272 + output_element(index) * width;
            wanted[at..at + width].copy_from_slice(&new[..width]);
        }
    }
    let mut memory = HostMemory {
        inputs: vec![Some(bound(input.to_vec(), 16))],
        outputs: vec![Some(bound(output, 272))],
        constants: bound(constants.to_vec(), 0),
        ..HostMemory::default()
    };
    interpret(&[step], &mut memory, &Capabilities::vulkan_minimum()).unwrap();
    assert_eq!(memory.outputs[0].as_ref().unwrap().bytes, wanted, "{element_width:?}");
}

fn bands() -> impl Iterator<Item = Range<u32>> {
    (0..=DIAGONALS).flat_map(|begin| (begin..=DIAGONALS).map(move |end| begin..end))
}

#[test]
fn diagonal_band_writes_a_band_and_nothing_else() {
    let [size0, size1, height, width] = SIZES;
    for (element_width, band) in
        ElementWidth::ALL.into_iter().flat_map(|f| bands().map(move |b| (f, b)))
    {
        if band.is_empty() {
            continue;
        }
        let columns = (band.end - band.start).min(width);
        let push = twins::diagonal_band::PushConstants {
            base_word: 0,
            first_group: 0,
            count: size0 * size1 * height * columns,
            columns,
            matrices: matrices(element_width),
            strides: OUTPUT_STRIDES,
            band_begin: band.start,
            band_end: band.end,
        };
        let output = (Slot::Output(0), bytes(output_element, element_width));
        let step = step(&kernels::DIAGONAL_BAND, element_width, &[output], push.to_bytes());
        check(step, element_width, &[], &input(element_width), |diagonal, _| {
            band.contains(&diagonal).then(|| VALUE.to_le_bytes().to_vec())
        });
    }
}

#[test]
fn diagonal_merge_writes_the_input_around_a_band_that_may_come_around() {
    for (element_width, band) in
        ElementWidth::ALL.into_iter().flat_map(|f| bands().map(move |b| (f, b)))
    {
        for inverted in [false, true] {
            let (begin, end) =
                if inverted { (band.end, band.start) } else { (band.start, band.end) };
            let push = twins::diagonal_merge::PushConstants {
                base_word: 0,
                input_word: 0,
                constants_word: 0,
                first_group: 0,
                count: SIZES.iter().product(),
                matrices: matrices(element_width),
                input_start: INPUT_START,
                band_begin: begin,
                band_length: end.wrapping_sub(begin),
            };
            let constants = twins::diagonal_merge::Constants {
                output_strides: OUTPUT_STRIDES,
                input_strides: INPUT_STRIDES,
            }
            .to_bytes();
            let windows = [
                (Slot::Output(0), bytes(output_element, element_width)),
                (Slot::Input(0), bytes(input_element, element_width)),
                (Slot::Constants, constants.len()),
            ];
            let step = step(&kernels::DIAGONAL_MERGE, element_width, &windows, push.to_bytes());
            // An empty band has no inverse here: its length is 0 either way.
            let inverted = inverted && !band.is_empty();
            check(step, element_width, &constants, &input(element_width), |diagonal, input| {
                let value = band.contains(&diagonal) != inverted;
                Some(if value { VALUE.to_le_bytes().to_vec() } else { input.to_vec() })
            });
        }
    }
}
