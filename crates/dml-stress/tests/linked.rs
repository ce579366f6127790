//! Linked kernels on every device against their twins on the host: every function, and loads and
//! stores of every width, class of strides and number of dimensions.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]

mod common;

use common::each_device;
use common::run::{Run, packed, word};
use dml::vk::Device;
use dml_reference::Random;
use dml_spirv::element_wise::{
    AccessPattern, DIMENSIONS, ElementFormula, ElementWise, KernelOperand, MAX_INPUTS,
    OperandRecord, Record,
};
use dml_spirv::functions::{self, F16_TO_F32, F32_TO_F16, Function, LOG_SUM_F32};
use dml_spirv::kernels::{ACTIVATIONS, F32, REDUCTIONS, ROUNDING};
use dml_spirv::{ElementWidth, NativeTypes};

/// Arguments of a function, many of them at edges.
fn elements(random: &mut Random, width: ElementWidth, count: usize) -> Vec<u8> {
    let edges = [0_u64, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0x7c00, 0x7c01, 0x7fff_ffff]
        .into_iter()
        .chain([0x8000_0000, 0x7f80_0000, 0x7f80_0001, 0xff80_0000, 0x477f_efff, 0x477f_f000])
        .chain([0x4f00_0000, 0xcf00_0000, 0x4f80_0000, 0x5f80_0000, 0x3300_0000, 0x3880_0000])
        .chain([0x7ff0_0000_0000_0000, 0x7ff0_0000_0000_0001, 0xffef_ffff_ffff_ffff, u64::MAX])
        .chain([0x40ef_fdff_ffff_ffff, 0x40ef_fe00_0000_0000, 0x47ef_ffff_f000_0000])
        .chain([0x36a0_0000_0000_0000, 0x3e60_0000_0000_0001, 0xc3e0_0000_0000_0000]);
    let edges: Vec<u64> = edges.collect();
    let mut element = || {
        let bits = u64::from(random.word()) << 32 | u64::from(random.word());
        match random.word() % 3 {
            0 => edges[random.word() as usize % edges.len()],
            1 => bits >> (random.word() % 64),
            // Doubles near the limits of other types.
            _ => bits & 0x800f_ffff_ffff_ffff | u64::from(1023 - 40 + random.word() % 120) << 52,
        }
    };
    let bytes = width.bytes() as usize;
    (0..count).flat_map(|_| element().to_le_bytes()[..bytes].to_vec()).collect()
}

/// -1.5 and 0.375: their products are inexact, and no sum with them cancels. As integers of 64 bits the first
/// four are a range.
const PARAMETERS: [u32; 8] = [0xbfc0_0000, 0x3ec0_0000, 1, 0x7ec0_0000, 0, 5, 7, 9];

/// Makes a float at least 1, like the sum of a row whose logarithm is taken.
fn at_least_1(bytes: &mut [u8]) {
    let magnitude = word(bytes, 0) & 0x7fff_ffff;
    bytes.copy_from_slice(&magnitude.max(1.0_f32.to_bits()).to_le_bytes());
}

fn run_of(function: &'static Function, count: u32) -> Run {
    let [input, output] = function.widths();
    let operand = |width| KernelOperand { width, access: AccessPattern::Whole };
    let mut random = Random::new(function.name);
    let kernel = ElementWise {
        inputs: vec![operand(input); function.arity],
        output: operand(output),
        second: None,
        outer_dimensions: 0,
        program: ElementFormula::of(function),
    };
    let mut sizes = [1; DIMENSIONS];
    sizes[DIMENSIONS - 1] = count;
    let inputs = [packed(); MAX_INPUTS];
    let parameters = PARAMETERS[..function.parameters].to_vec();
    let record = Record { sizes, inputs, output: packed(), parameters };
    let count = count as usize;
    let mut inputs: Vec<_> =
        (0..function.arity).map(|_| elements(&mut random, input, count)).collect();
    if std::ptr::eq(function, &raw const LOG_SUM_F32) {
        inputs[0].chunks_exact_mut(4).for_each(at_least_1);
    }
    Run { kernel, record, inputs, output: vec![0xa5; count * output.bytes() as usize] }
}

/// Whether the `at`-th float is a result that every device promises: any NaN for NaN; and subnormal numbers,
/// in the result or in the arguments, may be taken for 0: two such values that are added change the result by
/// less than two of the least normal number.
fn is_float(run: &Run, at: usize, [expected, found]: [u32; 2]) -> bool {
    let is_tiny = |it: f32| it != 0.0 && it.abs() < f32::MIN_POSITIVE;
    let [expected, found] = [expected, found].map(f32::from_bits);
    let mut read = run.inputs.iter().map(|input| f32::from_bits(word(input, at)));
    let is_near = (expected - found).abs() < 2.0 * f32::MIN_POSITIVE;
    let may_vanish = is_near || is_tiny(expected) || read.any(is_tiny);
    let is_same = expected.to_bits() == found.to_bits();
    may_vanish || is_same || (expected.is_nan() && found.is_nan())
}

/// Whether some device may round or flush the function's results differently.
fn computes_floats(function: &Function) -> bool {
    let of_floats = [&ACTIVATIONS, &F32, &REDUCTIONS, &ROUNDING];
    of_floats.iter().any(|of_float| std::ptr::eq(*of_float, function.library))
        || function.name.starts_with("dequantize")
        || std::ptr::eq(function, &raw const LOG_SUM_F32)
}

/// Whether both are NaN after a conversion of halves: hardware that converts them need not keep their bits.
fn are_converted_nan(function: &Function, numbers: [u32; 2]) -> bool {
    const SINGLE: (u32, u32) = (0x7fff_ffff, 0x7f80_0000);
    const HALF: (u32, u32) = (0x7fff, 0x7c00);
    let converted = [(&raw const F16_TO_F32, SINGLE), (&raw const F32_TO_F16, HALF)];
    let of_function = converted.into_iter().find(|(it, _)| std::ptr::eq(*it, function));
    of_function.is_some_and(|(_, (magnitude, infinity))| {
        numbers.iter().all(|number| number & magnitude > infinity)
    })
}

/// No optional types, and those of a device.
fn every_types(device: &Device) -> [NativeTypes; 2] {
    [NativeTypes::NONE, NativeTypes::of(device.capabilities().features)]
}

#[test]
fn functions_give_what_their_twins_give() {
    each_device(|device| {
        for function in functions::all() {
            let run = run_of(function, 4096);
            let expected = run.on_host();
            for types in every_types(device) {
                check(function, &run, [&expected, &run.on(device, types)]);
            }
        }
    });
}

fn check(function: &'static Function, run: &Run, [expected, found]: [&[u8]; 2]) {
    for at in 0..expected.len() / 4 {
        let [expected, found] = [expected, found].map(|it| word(it, at));
        let is_right = expected == found
            || are_converted_nan(function, [expected, found])
            || (computes_floats(function) && is_float(run, at, [expected, found]));
        assert!(is_right, "{function:?}: word {at} is {found:#x}, not {expected:#x}");
    }
}

/// A copy in a space of `outer` dimensions of rows and operands of these access classes, whose output has gaps.
fn copy(
    random: &mut Random,
    width: ElementWidth,
    [input, output]: [AccessPattern; 2],
    outer: usize,
) -> Run {
    let is_whole = |access| access == AccessPattern::Whole;
    let mut sizes = [1; DIMENSIONS];
    for size in &mut sizes[DIMENSIONS - 1 - outer..DIMENSIONS - 1] {
        *size = 1 + random.word() % 3;
    }
    let quads = 1 + random.word() % 5;
    let any_whole = is_whole(input) || is_whole(output);
    sizes[DIMENSIONS - 1] = if any_whole { 4 * quads } else { 4 * quads - random.word() % 4 };
    let mut place = |access: AccessPattern| {
        let gap = |random: &mut Random| random.word() % 3;
        let inner = match access {
            AccessPattern::Whole => 1,
            AccessPattern::Ragged => 1 + gap(random),
            _ => 0,
        };
        let unit = if is_whole(access) { 4 } else { 1 };
        let mut strides = [0; DIMENSIONS];
        strides[DIMENSIONS - 1] = inner;
        let mut row = (sizes[DIMENSIONS - 1] * inner).max(1);
        for dimension in (0..DIMENSIONS - 1).rev() {
            strides[dimension] = row + unit * gap(random);
            row = strides[dimension] * sizes[dimension];
        }
        (OperandRecord { start: unit * gap(random), strides }, row)
    };
    let ((from, from_span), (to, to_span)) = (place(input), place(output));
    let bytes = |record: &OperandRecord, span: u32| {
        ((record.start + span) * width.bytes()).next_multiple_of(16) as usize
    };
    let mut inputs = [OperandRecord::default(); MAX_INPUTS];
    inputs[0] = from;
    let data = (0..bytes(&from, from_span)).map(|_| random.word().to_le_bytes()[0]);
    Run {
        inputs: vec![data.collect()],
        output: vec![0xa5; bytes(&to, to_span)],
        kernel: ElementWise {
            program: ElementFormula::default(),
            inputs: vec![KernelOperand { width, access: input }],
            output: KernelOperand { width, access: output },
            second: None,
            outer_dimensions: outer,
        },
        record: Record { sizes, inputs, output: to, parameters: Vec::new() },
    }
}

/// The expected result of a copy, element by element.
fn copied(run: &Run) -> Vec<u8> {
    let mut bytes = run.output.clone();
    let Record { sizes, inputs, output, .. } = &run.record;
    let width = run.kernel.output.width.bytes() as usize;
    let total: u32 = sizes.iter().product();
    for index in 0..total {
        let (mut rest, mut from, mut to) = (index, inputs[0].start, output.start);
        for dimension in (0..DIMENSIONS).rev() {
            let at = rest % sizes[dimension];
            rest /= sizes[dimension];
            from += at * inputs[0].strides[dimension];
            to += at * output.strides[dimension];
        }
        let (from, to) = (from as usize * width, to as usize * width);
        bytes[to..to + width].copy_from_slice(&run.inputs[0][from..from + width]);
    }
    bytes
}

#[test]
fn loads_and_stores_reach_every_element_and_nothing_else() {
    let mut random = Random::new("linked");
    let mut runs = Vec::new();
    for width in ElementWidth::ALL {
        for input in [AccessPattern::Whole, AccessPattern::Ragged, AccessPattern::Single] {
            for output in [AccessPattern::Whole, AccessPattern::Ragged] {
                for outer in 0..DIMENSIONS {
                    runs.push(copy(&mut random, width, [input, output], outer));
                }
            }
        }
    }
    each_device(|device| {
        for run in &runs {
            let expected = copied(run);
            assert!(run.on_host() == expected, "the twin of {:?}", run.kernel);
            for types in every_types(device) {
                let found = run.on(device, types);
                assert!(found == expected, "{:?} {types:?} {:?}", run.kernel, run.record);
            }
        }
    });
}
