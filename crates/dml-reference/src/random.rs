//! Pseudo-random numbers, and random tensors and values for cases.

mod values;

pub(super) use values::EDGES;

use std::collections::VecDeque;

use dml_core::{DataType, TensorDesc, TensorLayout};

/// The approximate limit on the elements of a random tensor.
const MOST_ELEMENTS: u32 = 2048;

/// A generator: SplitMix64 seeded with a text, which gives the same numbers on every machine, or bytes from a
/// fuzzer.
#[derive(Clone, Debug)]
pub struct Random(Source);

#[derive(Clone, Debug)]
enum Source {
    SplitMix(u64),
    Bytes(VecDeque<u8>),
}

impl Random {
    /// A generator that depends only on `seed`.
    pub fn new(seed: &str) -> Self {
        // FNV-1a.
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(Source::SplitMix(seed.bytes().fold(0xcbf2_9ce4_8422_2325, hash)))
    }

    /// A generator that takes numbers from `bytes` in order, as few bytes as each needs, and gives zeros at
    /// their end.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(Source::Bytes(bytes.iter().copied().collect()))
    }

    /// A random 64-bit number.
    pub fn bits(&mut self) -> u64 {
        match &mut self.0 {
            Source::SplitMix(state) => split_mix(state),
            Source::Bytes(bytes) => take(bytes, 8),
        }
    }

    /// A random 32-bit number.
    pub fn word(&mut self) -> u32 {
        let high = match &mut self.0 {
            Source::SplitMix(state) => split_mix(state) >> 32,
            Source::Bytes(bytes) => take(bytes, 4),
        };
        u32::try_from(high).unwrap_or(u32::MAX)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: u32) -> u32 {
        let end = end.max(1);
        match &mut self.0 {
            Source::SplitMix(_) => self.word() % end,
            Source::Bytes(bytes) => {
                let count = (end - 1).checked_ilog2().map_or(0, |log| log / 8 + 1);
                let number = take(bytes, count) % u64::from(end);
                u32::try_from(number).unwrap_or(u32::MAX)
            }
        }
    }

    /// True about once in `times`.
    pub fn one_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    /// One of `choices`, which must not be empty.
    pub fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())].clone()
    }

    /// A number below `count`, which must be small and not 0.
    fn index(&mut self, count: usize) -> usize {
        self.below(u32::try_from(count).unwrap_or(u32::MAX)) as usize
    }

    /// Sizes of a small tensor, sometimes with one long dimension.
    pub fn sizes(&mut self, rank: usize) -> Vec<u32> {
        let mut sizes = vec![1; rank];
        let mut left = MOST_ELEMENTS;
        let long = self.one_in(3).then(|| self.index(rank));
        if let Some(long) = long {
            sizes[long] = 1 + self.below(left);
            left /= sizes[long];
        }
        for at in (0..rank).rev().filter(|at| Some(*at) != long) {
            let most = self.pick(&[1, 3, 8, 20]);
            sizes[at] = 1 + self.below(left.min(most));
            left /= sizes[at];
        }
        sizes
    }

    /// A tensor whose elements have distinct addresses: packed, or with dimensions in any order and padding
    /// between them, and sometimes with more bytes than necessary.
    pub fn tensor(&mut self, data_type: DataType, sizes: &[u32]) -> TensorDesc {
        let mut tensor = TensorDesc::packed(data_type, sizes);
        if !self.one_in(3) {
            tensor = tensor.with_strides(&self.strides(sizes));
        }
        if self.one_in(4) {
            let least = TensorLayout::new(&tensor).map_or(0, |layout| layout.total_size());
            tensor = tensor.with_total_size(least + u64::from(self.below(40)));
        }
        tensor
    }

    /// A tensor for an input, whose elements may share addresses.
    pub fn input_tensor(&mut self, data_type: DataType, sizes: &[u32]) -> TensorDesc {
        if !self.one_in(4) {
            return self.tensor(data_type, sizes);
        }
        let mut strides = self.strides(sizes);
        for stride in &mut strides {
            if self.one_in(2) {
                *stride = 0;
            }
        }
        TensorDesc::packed(data_type, sizes).with_strides(&strides)
    }

    /// A tensor's offset in its buffer, a multiple of 16.
    pub fn offset(&mut self) -> u64 {
        if self.one_in(2) { 0 } else { 16 * u64::from(self.below(40)) }
    }

    /// The index of a diagonal, counted from the main diagonal to the right: within the matrix, just outside of
    /// it, or extreme.
    pub fn diagonal(&mut self, sizes: &[u32]) -> i32 {
        let [.., height, width] = *sizes else { return 0 };
        let signed = |size: u32| i32::try_from(size).unwrap_or(i32::MAX);
        let (height, width) = (signed(height), signed(width));
        let any = i64::from(self.below((height + width + 4).cast_unsigned())) - i64::from(height);
        let any = i32::try_from(any - 2).unwrap_or(0);
        let edges = [-height - 1, -height, 1 - height, 0, 1, width - 1, width, width + 1];
        let extremes = [i32::MIN, i32::MIN + 1, i32::MAX - 1, i32::MAX];
        match self.below(8) {
            0 => self.pick(&extremes),
            1 | 2 => self.pick(&edges),
            _ => any,
        }
    }

    /// Strides with distinct addresses for all elements: dimensions in any order, each stride beyond the extent
    /// of the inner ones.
    fn strides(&mut self, sizes: &[u32]) -> Vec<u32> {
        let mut order: Vec<usize> = (0..sizes.len()).rev().collect();
        if self.one_in(2) {
            for last in (1..order.len()).rev() {
                order.swap(last, self.index(last + 1));
            }
        }
        let padded = self.one_in(2);
        let mut strides = vec![0; sizes.len()];
        let mut next = if self.one_in(4) { 3 } else { 1 };
        for at in order {
            // The stride of a dimension of size 1 is never used.
            strides[at] = if sizes[at] == 1 && self.one_in(4) { u32::MAX } else { next };
            next = next * sizes[at] + if padded { self.below(4) } else { 0 };
        }
        strides
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// The next `count` bytes as a little-endian number.
fn take(bytes: &mut VecDeque<u8>, count: u32) -> u64 {
    (0..count).fold(0, |number, at| number | u64::from(bytes.pop_front().unwrap_or(0)) << (8 * at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_used_up_in_their_order() {
        let mut random = Random::from_bytes(&[7, 1, 2, 3, 4, 0xff, 9, 5]);
        assert_eq!(random.below(256), 7);
        assert_eq!(random.below(1), 0, "takes no byte");
        assert_eq!(random.word(), 0x0403_0201);
        assert_eq!(random.below(300), 0x9ff % 300);
        assert_eq!(random.bits(), 5);
        assert_eq!((random.word(), random.below(9)), (0, 0));
        assert!(random.one_in(2));
        assert_eq!(random.sizes(3), [1, 1, 1]);
    }

    #[test]
    fn a_seed_always_gives_the_same_numbers() {
        let numbers = |seed| {
            let mut random = Random::new(seed);
            [random.bits(), random.bits(), u64::from(random.below(10))]
        };
        assert_eq!(numbers("a"), numbers("a"));
        assert_ne!(numbers("a"), numbers("b"));
        // Fixed, since a change would change every random case.
        assert_eq!(Random::new("a").bits(), 0x5f29_c2aa_dd9b_8527);
    }

    #[test]
    fn tensors_are_legal_small_and_of_every_kind() {
        let mut random = Random::new("tensors");
        let mut kinds = [0; 4];
        for rank in (1..=8).cycle().take(4000) {
            let sizes = random.sizes(rank);
            let tensor = random.tensor(DataType::Int16, &sizes);
            let layout = TensorLayout::new(&tensor).unwrap();
            layout.check_disjoint().unwrap();
            assert!(layout.element_count() <= u64::from(MOST_ELEMENTS), "{tensor:?}");
            assert!(layout.total_size() <= 1 << 17, "{tensor:?}");
            kinds[0] += u32::from(layout.is_packed());
            kinds[1] += u32::from(layout.is_dense() && !layout.is_packed());
            kinds[2] += u32::from(!layout.is_dense());
            let input = random.input_tensor(DataType::Int16, &sizes);
            let input = TensorLayout::new(&input).unwrap();
            kinds[3] += u32::from(input.check_disjoint().is_err());
        }
        assert!(kinds.iter().all(|count| *count > 100), "{kinds:?}");
    }

    #[test]
    fn diagonals_are_inside_at_the_edges_and_extreme() {
        let mut random = Random::new("diagonals");
        let found: Vec<i32> = (0..2000).map(|_| random.diagonal(&[2, 5, 7])).collect();
        for wanted in [-6, -5, -4, 0, 6, 7, 8, i32::MIN, i32::MAX] {
            assert!(found.contains(&wanted), "{wanted}");
        }
    }
}
