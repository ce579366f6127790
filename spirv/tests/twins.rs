//! The kernels' twins through the interpreter, against a loop over elements.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]

mod common;

use common::{bytes_to, element, indices};
use dml_core::Capabilities;
use dml_core::host::{HostBuffer, HostError, HostMemory, interpret};
use dml_core::kernel::KernelModule;
use dml_core::plan::{Cost, Dispatch, Fill, KernelKey, Slot, Step, Window};
use dml_spirv::twins::PushBlock as _;
use dml_spirv::{ElementWidth, Kernel, kernels, twins};

const OUTPUT: Slot = Slot::Output(0);
const UNTOUCHED: u8 = 0xA5;
const VALUE: [u8; 8] = [0x81, 0x92, 0xC3, 0xD4, 0xE5, 0xF6, 0x17, 0x28];

/// A tensor with a diagonal that starts at (`row_begin`, `column_begin`).
#[derive(Clone, Copy, Debug)]
struct Case {
    sizes: [u32; 4],
    strides: [u32; 4],
    row_begin: u32,
    column_begin: u32,
    /// The first element, counted from where the tensor is bound.
    start: u32,
}

impl Case {
    fn packed(sizes: [u32; 4], row_begin: u32, column_begin: u32) -> Self {
        let [_, size1, height, width] = sizes;
        let strides = [size1 * height * width, height * width, width, 1];
        Self { sizes, strides, row_begin, column_begin, start: 0 }
    }

    fn diagonal_length(&self) -> u32 {
        (self.sizes[2] - self.row_begin).min(self.sizes[3] - self.column_begin)
    }

    /// Its number, counted from the bottom left corner.
    fn first_diagonal(&self) -> u32 {
        self.sizes[2] - 1 - self.row_begin + self.column_begin
    }

    fn element(&self, index: [u32; 4]) -> usize {
        element(self.start, self.strides, index)
    }

    /// Bytes from the start to the end of the last element, as a multiple of 4.
    fn size(&self, element_width: ElementWidth) -> usize {
        bytes_to(self.element(self.sizes.map(|size| size - 1)), element_width)
    }

    /// Writes the value on the diagonal into `bytes`, and zeros elsewhere if told to.
    fn apply(&self, element_width: ElementWidth, zeros: bool, bytes: &mut [u8]) {
        let width = element_width.bytes() as usize;
        for index in indices(self.sizes) {
            let [_, _, y, x] = index;
            let on_diagonal = y >= self.row_begin
                && x >= self.column_begin
                && y - self.row_begin == x - self.column_begin;
            let start = self.element(index) * width;
            let element = &mut bytes[start..start + width];
            if on_diagonal {
                element.copy_from_slice(&VALUE[..width]);
            } else if zeros {
                element.fill(0);
            }
        }
    }
}

fn cases() -> Vec<Case> {
    vec![
        Case::packed([1, 1, 1, 1], 0, 0),
        Case::packed([1, 1, 3, 3], 0, 0),
        Case::packed([2, 3, 5, 7], 0, 2),
        Case::packed([3, 2, 7, 5], 4, 0),
        Case::packed([1, 1, 1, 70], 0, 69),
        Case::packed([2, 1, 70, 1], 69, 0),
        Case::packed([5, 1, 13, 11], 0, 0),
        // Rows and batches with padding.
        Case { strides: [50, 23, 7, 1], ..Case::packed([2, 2, 3, 4], 0, 1) },
        // Padding between the elements of a row.
        Case { strides: [90, 41, 13, 3], ..Case::packed([2, 2, 3, 4], 1, 0) },
        // Columns outermost.
        Case { strides: [3, 0, 1, 6], ..Case::packed([2, 1, 3, 5], 0, 0) },
        // After the first element of a word.
        Case { start: 1, ..Case::packed([2, 3, 5, 7], 0, 2) },
        Case { start: 3, strides: [90, 41, 13, 3], ..Case::packed([2, 2, 3, 4], 1, 0) },
    ]
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().unwrap())
}

/// The low and high words of the value, with zeros above a narrow element.
fn value(element_width: ElementWidth) -> (u32, u32) {
    let mut bytes = [0; 8];
    let width = element_width.bytes() as usize;
    bytes[..width].copy_from_slice(&VALUE[..width]);
    (word(&bytes[..4]), word(&bytes[4..]))
}

fn scatter(case: &Case, element_width: ElementWidth, first_group: u32) -> (Vec<u8>, u32) {
    let (value_low, value_high) = value(element_width);
    let diagonal_length = case.diagonal_length();
    let count = case.sizes[0] * case.sizes[1] * diagonal_length;
    let push = twins::diagonal_scatter::PushConstants {
        base_word: u32::MAX,
        first_group,
        count,
        diagonal_length,
        size1: case.sizes[1],
        stride0: case.strides[0],
        stride1: case.strides[1],
        diagonal_stride: case.strides[2] + case.strides[3],
        start: case.start + case.row_begin * case.strides[2] + case.column_begin * case.strides[3],
        value_low,
        value_high,
    };
    (push.to_bytes(), count)
}

fn write(case: &Case, element_width: ElementWidth, first_group: u32) -> (Vec<u8>, u32) {
    let (value_low, value_high) = value(element_width);
    let count = case.sizes.iter().product();
    let push = twins::diagonal_write::PushConstants {
        base_word: u32::MAX,
        first_group,
        count,
        matrices: twins::Matrices {
            start: case.start,
            size1: case.sizes[1],
            height: case.sizes[2],
            width: case.sizes[3],
            value_low,
            value_high,
        },
        strides: case.strides,
        band_begin: case.first_diagonal(),
        band_length: 1,
    };
    (push.to_bytes(), count)
}

type Push = fn(&Case, ElementWidth, u32) -> (Vec<u8>, u32);

fn dispatch(
    kernel: &Kernel,
    element_width: ElementWidth,
    size: usize,
    local_size: u32,
    push_constants: Vec<u8>,
    groups: [u32; 3],
) -> Step {
    let variant = kernel.variant(element_width);
    let access = variant.bindings[0].access;
    Step::Dispatch(Dispatch {
        kernel: KernelKey {
            variant: variant.into(),
            specialization: specialization(variant, local_size),
        },
        windows: vec![Window { slot: OUTPUT, range: 0..size as u64, access, base_word_at: 0 }],
        push_constants,
        uniform: None,
        groups,
        is_concurrent: false,
        cost: Cost::default(),
    })
}

/// Indices of one invocation of the kernels that take runs, in these tests.
const RUN_LENGTH: u32 = 3;

fn specialization(variant: &KernelModule, local_size: u32) -> Vec<u32> {
    [local_size, RUN_LENGTH][..variant.specialization_constants.len()].to_vec()
}

/// Every way to spread a dispatch: in one line, over three dimensions with groups to spare, and in
/// two dispatches.
fn spreads(
    kernel: &Kernel,
    push: Push,
    case: &Case,
    element_width: ElementWidth,
) -> Vec<Vec<Step>> {
    let size = case.size(element_width);
    let step = |local_size, first_group, groups| {
        let (bytes, _) = push(case, element_width, first_group);
        dispatch(kernel, element_width, size, local_size, bytes, groups)
    };
    let (_, count) = push(case, element_width, 0);
    // Groups of so many indices for each invocation.
    let run: u32 = specialization(kernel.variant(element_width), 1).iter().product();
    let count = count.div_ceil(run);
    let plane = count.div_ceil(3 * 2 * 4);
    let half = count.div_ceil(8);
    vec![
        vec![step(64, 0, [count.div_ceil(64), 1, 1])],
        vec![step(3, 0, [2, plane, 4])],
        vec![step(4, 0, [half, 1, 1]), step(4, half, [1, half, 1])],
    ]
}

fn check(kernel: &Kernel, push: Push, zero_filled: bool) {
    for case in cases() {
        for element_width in ElementWidth::ALL {
            let size = case.size(element_width);
            for (spread, steps) in
                spreads(kernel, push, &case, element_width).into_iter().enumerate()
            {
                for offset in [0, 16, 272] {
                    let mut memory = memory(size, offset);
                    let mut expected = memory.outputs[0].clone().unwrap().bytes;
                    let bound = &mut expected[offset..offset + size];
                    let mut all = Vec::new();
                    if zero_filled {
                        let range = 0..size as u64;
                        all.push(Step::Fill(Fill { slot: OUTPUT, range, pattern: 0 }));
                        bound.fill(0);
                    }
                    all.extend(steps.iter().cloned());
                    case.apply(element_width, !zero_filled, bound);
                    interpret(&all, &mut memory, &Capabilities::vulkan_minimum()).unwrap();
                    let actual = memory.outputs[0].clone().unwrap().bytes;
                    assert_eq!(actual, expected, "{case:?} {element_width:?} {spread} at {offset}");
                }
            }
        }
    }
}

/// A tensor bound at `offset`, with bytes around it that nobody may touch.
fn memory(size: usize, offset: usize) -> HostMemory {
    let bytes = vec![UNTOUCHED; offset + size + 64];
    let output = HostBuffer { bytes, offset: offset as u64, size: size as u64 };
    HostMemory { outputs: vec![Some(output)], ..HostMemory::default() }
}

#[test]
fn diagonal_scatter_writes_the_diagonals() {
    check(&kernels::DIAGONAL_SCATTER, scatter, true);
}

#[test]
fn diagonal_write_writes_every_element_and_nothing_between() {
    check(&kernels::DIAGONAL_WRITE, write, false);
}

#[test]
fn a_twin_that_leaves_its_window_is_reported() {
    let case = Case::packed([1, 1, 3, 3], 0, 0);
    for element_width in ElementWidth::ALL {
        let (push, _) = write(&case, element_width, 0);
        let size = case.size(element_width) - 4;
        let steps = [dispatch(&kernels::DIAGONAL_WRITE, element_width, size, 64, push, [1, 1, 1])];
        let result = interpret(&steps, &mut memory(size, 0), &Capabilities::vulkan_minimum());
        assert!(
            matches!(result, Err(HostError::OutOfDescriptor { .. })),
            "{element_width:?} {result:?}"
        );
    }
}
