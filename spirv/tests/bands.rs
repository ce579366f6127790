//! The twins of the kernels that know bands of diagonals, against a loop over elements.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]

use std::ops::Range;

use dml_core::host::{HostBuffer, HostMemory, interpret};
use dml_core::plan::{Dispatch, KernelKey, Slot, Step, Window};
use dml_spirv::{Family, Kernel, kernels, twins};

const ALIGNMENT: u64 = 256;
const SIZES: [u32; 4] = [2, 3, 4, 5];
/// Rows and batches with padding.
const OUTPUT_STRIDES: [u32; 4] = [97, 31, 7, 1];
/// Every batch shows the same matrix, columns outermost.
const INPUT_STRIDES: [u32; 4] = [0, 0, 1, 4];
const DIAGONALS: u32 = 4 + 5 - 1;
const VALUE: u64 = 0x2817_F6E5_D4C3_9281;
const UNTOUCHED: u8 = 0xA5;

fn indices() -> impl Iterator<Item = [u32; 4]> {
    let [_, size1, height, width] = SIZES;
    (0..SIZES.iter().product()).map(move |index| {
        let row = index / width;
        let batch = row / height;
        [batch / size1, batch % size1, row % height, index % width]
    })
}

fn element(strides: [u32; 4], index: [u32; 4]) -> usize {
    index.iter().zip(strides).map(|(index, stride)| (index * stride) as usize).sum()
}

fn bytes(strides: [u32; 4], family: Family) -> usize {
    let last = element(strides, SIZES.map(|size| size - 1));
    ((last + 1) * family.bytes() as usize).next_multiple_of(4)
}

/// The low and the high word of the value, with zeros above a narrow element.
fn value(family: Family) -> (u32, u32) {
    let bits = VALUE & (u64::MAX >> (64 - family.bits()));
    (u32::try_from(bits & 0xffff_ffff).unwrap(), u32::try_from(bits >> 32).unwrap())
}

fn step(kernel: &Kernel, family: Family, windows: &[(Slot, usize)], push: Vec<u8>) -> Step {
    let variant = kernel.variant(family);
    let windows = windows.iter().zip(variant.bindings).zip(0..);
    Step::Dispatch(Dispatch {
        kernel: KernelKey { variant, specialization: vec![32] },
        windows: windows
            .map(|(((slot, size), binding), index)| Window {
                slot: *slot,
                range: 0..*size as u64,
                access: binding.access,
                base_word_at: index * 4,
            })
            .collect(),
        push_constants: push,
        groups: [5, 1, 1],
    })
}

fn bound(bytes: Vec<u8>, offset: u64) -> HostBuffer {
    HostBuffer { size: bytes.len() as u64 - offset, bytes, offset }
}

/// Input bytes that are all different from their neighbours.
fn input(family: Family) -> Vec<u8> {
    (0..=255u8).cycle().take(16 + bytes(INPUT_STRIDES, family)).collect()
}

/// Runs one step and compares it with `expected`, which is given each element's diagonal and the
/// input's bytes, and returns what the element becomes, `None` where it is not written.
fn check<'a>(
    step: Step,
    family: Family,
    constants: &[u8],
    input: &'a [u8],
    expected: impl Fn(u32, &'a [u8]) -> Option<Vec<u8>>,
) {
    let width = family.bytes() as usize;
    let output = vec![UNTOUCHED; 272 + bytes(OUTPUT_STRIDES, family)];
    let mut wanted = output.clone();
    for index in indices() {
        let at = 16 + element(INPUT_STRIDES, index) * width;
        let [_, _, y, x] = index;
        if let Some(new) = expected(SIZES[2] - 1 - y + x, &input[at..at + width]) {
            let at = 272 + element(OUTPUT_STRIDES, index) * width;
            wanted[at..at + width].copy_from_slice(&new[..width]);
        }
    }
    let mut memory = HostMemory {
        inputs: vec![Some(bound(input.to_vec(), 16))],
        outputs: vec![Some(bound(output, 272))],
        constants: bound(constants.to_vec(), 0),
        ..HostMemory::default()
    };
    interpret(&[step], &mut memory, ALIGNMENT).unwrap();
    assert_eq!(memory.outputs[0].as_ref().unwrap().bytes, wanted, "{family:?}");
}

fn bands() -> impl Iterator<Item = Range<u32>> {
    (0..=DIAGONALS).flat_map(|begin| (begin..=DIAGONALS).map(move |end| begin..end))
}

#[test]
fn diagonal_band_writes_a_band_and_nothing_else() {
    let [stride0, stride1, stride2, stride3] = OUTPUT_STRIDES;
    let [size0, size1, height, width] = SIZES;
    for (family, band) in Family::ALL.into_iter().flat_map(|f| bands().map(move |b| (f, b))) {
        if band.is_empty() {
            continue;
        }
        let columns = (band.end - band.start).min(width);
        let (value_low, value_high) = value(family);
        let push = twins::diagonal_band::PushConstants {
            base_word: 0,
            first_group: 0,
            count: size0 * size1 * height * columns,
            columns,
            size1,
            height,
            width,
            stride0,
            stride1,
            stride2,
            stride3,
            band_begin: band.start,
            band_end: band.end,
            value_low,
            value_high,
        };
        let output = (Slot::Output(0), bytes(OUTPUT_STRIDES, family));
        let step = step(&kernels::DIAGONAL_BAND, family, &[output], push.to_bytes());
        check(step, family, &[], &input(family), |diagonal, _| {
            band.contains(&diagonal).then(|| VALUE.to_le_bytes().to_vec())
        });
    }
}

#[test]
fn diagonal_merge_writes_the_input_around_a_band_that_may_come_around() {
    for (family, band) in Family::ALL.into_iter().flat_map(|f| bands().map(move |b| (f, b))) {
        for inverted in [false, true] {
            let (begin, end) =
                if inverted { (band.end, band.start) } else { (band.start, band.end) };
            let (value_low, value_high) = value(family);
            let push = twins::diagonal_merge::PushConstants {
                base_word: 0,
                input_word: 0,
                constants_word: 0,
                first_group: 0,
                count: SIZES.iter().product(),
                band_begin: begin,
                band_length: end.wrapping_sub(begin),
                value_low,
                value_high,
            };
            let constants = twins::diagonal_merge::Constants {
                size1: SIZES[1],
                height: SIZES[2],
                width: SIZES[3],
                output_strides: OUTPUT_STRIDES,
                input_strides: INPUT_STRIDES,
            }
            .to_bytes();
            let windows = [
                (Slot::Output(0), bytes(OUTPUT_STRIDES, family)),
                (Slot::Input(0), bytes(INPUT_STRIDES, family)),
                (Slot::Constants, constants.len()),
            ];
            let step = step(&kernels::DIAGONAL_MERGE, family, &windows, push.to_bytes());
            // An empty band has no inverse here: its length is 0 either way.
            let inverted = inverted && !band.is_empty();
            check(step, family, &constants, &input(family), |diagonal, input| {
                let value = band.contains(&diagonal) != inverted;
                Some(if value { VALUE.to_le_bytes().to_vec() } else { input.to_vec() })
            });
        }
    }
}
