//! `kernels/sort.comp`: sorts numbers of 64 bits in a work group's shared memory, and keeps the least ones.

use std::sync::LazyLock;

use dml_core::host::{HostDispatch, HostError};
use dml_core::kernel::{KernelModule, Shared};
use dml_core::plan::Access as Touch;

use crate::element_wise::{AccessPattern, KernelOperand, LinkedKernel, PushConstants};
use crate::twins::dispatch::for_each_group_below;
use crate::{ElementWidth, kernels, link};

/// A work group has 2^11 numbers.
pub const NUMBER_BITS: u32 = 11;
const NUMBERS: u32 = 1 << NUMBER_BITS;

/// The rows that one dispatch sorts, which follow each other without gaps.
///
/// Blocks have 2^n numbers. Even blocks of a row are sorted upwards and odd ones downwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The number of all rows' numbers together.
    pub numbers: u32,
    /// The exponent of the row length: rows have 2^length numbers.
    pub length: u32,
    /// The exponents n of the first blocks that are sorted, and of the last ones. In blocks larger than a
    /// work group's numbers, only numbers of one work group are compared.
    pub blocks: [u32; 2],
    /// How often two of the last blocks are merged to their least numbers, and these sorted. The last blocks
    /// are then smaller than a work group's numbers.
    pub halvings: u32,
    /// The first number of the input in its window, and of the output.
    pub starts: [u32; 2],
}

impl Record {
    /// The number of work groups.
    pub fn count(&self) -> u32 {
        self.numbers.div_ceil(NUMBERS)
    }

    /// The number of comparisons that each number takes part in.
    pub fn comparisons(&self) -> u32 {
        let [first, last] = self.blocks;
        let of_block = |block: u32| block.min(NUMBER_BITS);
        (first..=last).map(of_block).sum::<u32>() + self.halvings * (1 + last)
    }

    /// The uniform block.
    pub fn words(&self) -> Vec<u32> {
        let ([first, last], [input, output]) = (self.blocks, self.starts);
        vec![self.numbers, self.length, first, last, self.halvings, input, output, 0]
    }
}

/// The kernel. The input is at binding 0, and the kept numbers at the binding of an element-wise kernel's output.
pub fn sort() -> Shared<KernelModule> {
    static MODULE: LazyLock<KernelModule> = LazyLock::new(|| {
        let skeleton = &kernels::SORT;
        let (name, spirv) = (skeleton.name.to_owned(), link::link(skeleton, &[]));
        let input = KernelOperand { width: ElementWidth::B64, access: AccessPattern::Ragged };
        let linked = LinkedKernel { name, spirv, skeleton, host: Box::new(run) };
        linked.module(&[input], Touch::Write)
    });
    Shared::Static(&MODULE)
}

const INPUT_AT: usize = 0;
const OUTPUT_AT: usize = 1;

/// Runs the kernel for every work group of a dispatch.
fn run(dispatch: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let [all, length, first_block, last_block, halvings, input, output] =
        std::array::from_fn(|at| dispatch.uniform_word(at));
    let push = PushConstants::of(dispatch);
    let [from, to] = [(push.base_words[0], input), (push.base_words[7], output)]
        .map(|(base, start)| base.wrapping_add(start.wrapping_mul(2)));
    for_each_group_below(dispatch, push.first_group, push.count, |dispatch, group| {
        let first = group * NUMBERS;
        let mut numbers = vec![u64::MAX; NUMBERS as usize];
        for (number, at) in numbers.iter_mut().zip(first..all) {
            let words = [0, 1].map(|word| from.wrapping_add(at.wrapping_mul(2) + word));
            let low = dispatch.load(INPUT_AT, words[0])?;
            *number = u64::from(low) | u64::from(dispatch.load(INPUT_AT, words[1])?) << 32;
        }
        for block in first_block..=last_block {
            merge(&mut numbers, block, length, first);
        }
        for turn in 1..=halvings {
            let of_two = numbers.chunks_exact(2 << last_block);
            let least = of_two.flat_map(|two| {
                let (one, other) = two.split_at(two.len() / 2);
                one.iter().zip(other).map(|(one, other)| *one.min(other))
            });
            numbers = least.collect();
            merge(&mut numbers, last_block, length - turn, first >> turn);
        }
        for (number, at) in numbers.into_iter().zip(first >> halvings..all >> halvings) {
            for (word, value) in (0..).zip([number, number >> 32]) {
                let low = (value & u64::from(u32::MAX)).try_into().expect("32 bits");
                dispatch.store(OUTPUT_AT, to.wrapping_add(at.wrapping_mul(2) + word), low)?;
            }
        }
        Ok(())
    })
}

/// Compares the numbers of blocks of 2^block numbers, the first of which has the number `first`.
fn merge(numbers: &mut [u64], block: u32, length: u32, first: u32) {
    for part in (0..block.min(NUMBER_BITS)).rev() {
        for at in (0..numbers.len()).filter(|at| at >> part & 1 == 0) {
            let number = first + u32::try_from(at).expect("a number of a work group");
            let descends = block < length && number >> block & 1 == 1;
            let other = at + (1 << part);
            let is_wrong =
                if descends { numbers[at] < numbers[other] } else { numbers[other] < numbers[at] };
            if is_wrong {
                numbers.swap(at, other);
            }
        }
    }
}
