//! Factors of 8-bit integers as they are, four of them in each word: for kernels of dot products.
//!
//! The four are neighbours along the depth. A tensor that lies so is read in place; another one is copied, its bytes in
//! words of four depths, and the words of neighbouring rows or columns side by side. Where the depth is no multiple of
//! four, the last words are filled up with the zero point, which adds nothing to a sum; so are the margins of a
//! convolution's input.

use dml_core::{DataType, Error, Strategy, TensorLayout};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, QUAD};
use dml_spirv::product::Sign;

use super::factor::{ProductRecorder, Words};
use crate::Target;
use crate::ir::space::{IterationSpace, Operand, bytes_shown};
use crate::ir::{BufferPosition, Bytes, Computation, ZeroPoints};

/// The number of integers in a word.
pub(crate) const BYTES: u32 = 4;

/// The least number of products of a sum for which bytes are read by words.
const LEAST_PRODUCTS: u32 = 3;

/// A tensor of 8-bit integers as words of four depths.
pub(crate) struct PackedBytes {
    /// Their strides count words; that of the depth is from a word to the next.
    pub(crate) words: Words,
    pub(crate) bytes: Bytes,
}

/// How a tensor of bytes is multiplied.
#[derive(Clone, Copy)]
pub(crate) struct ByteStorage<'a> {
    /// The dimension that products are added up along.
    pub(crate) depth: usize,
    /// The dimension of the contraction's rows or columns that the zero point may have elements for, and whose words
    /// are neighbours in a copy.
    pub(crate) line: usize,
    /// The tensor's dimension that the zero point's second dimension goes along.
    pub(crate) channels: usize,
    /// The number of zero points before and after the elements of each dimension.
    pub(crate) margins: &'a [[u32; 2]],
}

impl Target<'_> {
    /// Whether products of 8-bit integers are computed by the device's dot products: on GPUs. CPU drivers have no such
    /// instruction, and compile what they make of it for longer; they compute by it where tiles are asked for.
    pub(crate) fn has_dot_products(&self) -> bool {
        use Strategy::{RegisterTiles, SharedTiles32, SharedTiles64, SharedTiles128};
        const TILES: [Strategy; 4] = [RegisterTiles, SharedTiles32, SharedTiles64, SharedTiles128];
        let is_asked_for = self.tuning.strategy.is_some_and(|strategy| TILES.contains(&strategy));
        self.native_types().dot_product && (self.tuning.shared_tiles || is_asked_for)
    }
}

/// A tensor of bytes that is copied to words.
struct Copy<'a> {
    tensor: &'a TensorLayout,
    from: Operand,
    zero_point: Option<Operand>,
    storage: ByteStorage<'a>,
    /// The words of a copy: of the elements with their margins.
    strides: Vec<i64>,
}

/// Some words along the depth, and the number of bytes of each.
#[derive(Clone, Copy)]
struct Depths {
    first: u32,
    words: u32,
    bytes: u32,
}

impl ProductRecorder<'_> {
    /// Whether the factors `names` are multiplied by dot products: the target has them, sums have more than a product
    /// or two, and each zero point is one of a row or of a column, or of all.
    pub(crate) fn has_dot_products(
        &self,
        names: [[&'static str; 2]; 2],
        storage: [ByteStorage<'_>; 2],
    ) -> Result<bool, Error> {
        if !self.are_integers || !self.recorder.target().has_dot_products() {
            return Ok(false);
        }
        for ([name, zero], storage) in names.into_iter().zip(storage) {
            let sizes = self.operator.required_tensor(name)?.sizes();
            let of_lines = DIMENSIONS - sizes.len() + storage.line;
            let zero = self.zero_point(zero, sizes.len(), storage.channels)?;
            let mut strides = zero.iter().flat_map(|it| it.0.strides.iter().enumerate());
            let is_of_lines = strides.all(|(at, stride)| *stride == 0 || at == of_lines);
            // A dispatch reads the zero points of all lines.
            let stride = zero.map_or(0, |zero| zero.0.strides[of_lines].unsigned_abs());
            let reach = stride.saturating_mul(u64::from(sizes[storage.line]) - 1);
            let is_shown = bytes_shown(ElementWidth::B8, reach) <= self.recorder.most_shown();
            if sizes[storage.depth] < LEAST_PRODUCTS || !is_of_lines || !is_shown {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The bytes of the tensor `name`, whose zero points are those of the tensor `zero`.
    pub(crate) fn packed_bytes(
        &mut self,
        [name, zero]: [&'static str; 2],
        storage: ByteStorage<'_>,
    ) -> Result<PackedBytes, Error> {
        let tensor = self.operator.required_tensor(name)?;
        let rank = tensor.sizes().len();
        let (from, data_type) = self.required(name)?;
        let zero_point = self.zero_point(zero, rank, storage.channels)?.map(|it| it.0);
        let sign = if data_type == DataType::Int8 { Sign::Signed } else { Sign::Unsigned };
        let zero_points = zero_point.as_ref().and_then(|zero_point| {
            let stride = zero_point.strides[DIMENSIONS - rank + storage.line];
            Some(ZeroPoints { buffer: zero_point.buffer?, base: zero_point.base, stride })
        });
        let bytes = Bytes { sign, zero_points };
        let has_margins = storage.margins.iter().any(|margin| *margin != [0, 0]);
        let in_place = words_in_place(tensor, &from, storage.depth).filter(|_| !has_margins);
        let words = match in_place {
            Some(words) => words,
            None => self.copied_to_words(tensor, from, zero_point, storage)?,
        };
        Ok(PackedBytes { words, bytes })
    }

    /// Copies bytes to words of four depths.
    fn copied_to_words(
        &mut self,
        tensor: &TensorLayout,
        from: Operand,
        zero_point: Option<Operand>,
        storage: ByteStorage<'_>,
    ) -> Result<Words, Error> {
        let (strides, count) = strides_of_words(tensor, storage);
        let sources: Vec<&Operand> = [&from].into_iter().chain(&zero_point).collect();
        let output = self.recorder.derived(&sources, ElementWidth::B8, count * u64::from(BYTES));
        let buffer = output.buffer.expect("a buffer of the program");
        let copy = Copy { tensor, from, zero_point, storage, strides };
        if let Some(depths) = copy.filled_up() {
            let zero = match &copy.zero_point {
                Some(zero) => zero.clone(),
                None => self.recorder.constant(ElementWidth::B8, 0),
            };
            self.recorder.map(copy.zeros(depths, &zero, &output), Computation::copy())?;
        }
        for depths in copy.parts() {
            self.recorder.map(copy.elements(depths, &output), Computation::copy())?;
        }
        Ok(Words {
            place: BufferPosition { buffer, base: 0, has_slack: true },
            strides: copy.strides,
        })
    }
}

/// The strides of the words of a copy, and their number.
fn strides_of_words(tensor: &TensorLayout, storage: ByteStorage<'_>) -> (Vec<i64>, u64) {
    let ByteStorage { depth, line, .. } = storage;
    let rank = tensor.sizes().len();
    let others = (0..rank).filter(|at| ![depth, line].contains(at));
    let order: Vec<usize> = [depth].into_iter().chain(others).chain([line]).collect();
    let mut strides = vec![0; rank];
    let mut next = 1_i64;
    for at in order.into_iter().rev() {
        strides[at] = next;
        let size = storage.size(tensor, at);
        next *= i64::from(match at {
            _ if at == line => size.next_multiple_of(QUAD),
            _ if at == depth => size.div_ceil(BYTES),
            _ => size,
        });
    }
    // A quad of words may begin at any of them.
    (strides, next.cast_unsigned() + u64::from(QUAD - 1))
}

impl ByteStorage<'_> {
    /// The size of a tensor's dimension with its margins.
    fn size(&self, tensor: &TensorLayout, at: usize) -> u32 {
        tensor.sizes()[at] + self.margin(at).iter().sum::<u32>()
    }

    fn margin(&self, at: usize) -> [u32; 2] {
        self.margins.get(at).copied().unwrap_or_default()
    }
}

impl Copy<'_> {
    /// The words of the depth, and the bytes in the last one if it is not whole.
    fn whole_and_rest(&self) -> (u32, u32) {
        let depth = self.tensor.sizes()[self.storage.depth];
        (depth / BYTES, depth % BYTES)
    }

    /// The words that are filled with the zero point: all where there are margins, else the last one of the depth where
    /// it is not whole.
    fn filled_up(&self) -> Option<Depths> {
        let (whole, rest) = self.whole_and_rest();
        let last = u32::from(rest > 0);
        match self.storage.margins.iter().any(|margin| *margin != [0, 0]) {
            true => Some(Depths { first: 0, words: whole + last, bytes: BYTES }),
            false => (rest > 0).then_some(Depths { first: whole, words: 1, bytes: BYTES }),
        }
    }

    /// The words that elements are copied to: whole ones, and the last one.
    fn parts(&self) -> impl Iterator<Item = Depths> + use<> {
        let (whole, rest) = self.whole_and_rest();
        let parts = [
            Depths { first: 0, words: whole, bytes: BYTES },
            Depths { first: whole, words: 1, bytes: rest },
        ];
        parts.into_iter().filter(|part| part.words > 0 && part.bytes > 0)
    }

    /// Writes zero points to words, with their margins.
    fn zeros(&self, depths: Depths, zero: &Operand, output: &Operand) -> IterationSpace {
        let sizes = (0..self.strides.len()).map(|at| self.storage.size(self.tensor, at));
        self.space(depths, &sizes.collect::<Vec<_>>(), zero, output.clone())
    }

    /// Copies elements to words.
    fn elements(&self, depths: Depths, output: &Operand) -> IterationSpace {
        let mut output = output.clone();
        for (at, stride) in self.strides.iter().enumerate() {
            let [before, _] = self.storage.margin(at);
            output.base += i64::from(before) * stride * i64::from(BYTES);
        }
        self.space(depths, self.tensor.sizes(), &self.from, output)
    }

    /// The space of some words of the depth: the tensor's dimensions, and the bytes of a word as the last one.
    fn space(
        &self,
        Depths { first, words, bytes }: Depths,
        sizes: &[u32],
        from: &Operand,
        mut output: Operand,
    ) -> IterationSpace {
        const INNER: usize = DIMENSIONS - 1;
        let rank = sizes.len();
        let mut all = [1; DIMENSIONS];
        let mut input = Operand { strides: [0; DIMENSIONS], ..from.clone() };
        output.strides = [0; DIMENSIONS];
        for (at, size) in sizes.iter().enumerate() {
            let to = INNER - rank + at;
            all[to] = if at == self.storage.depth { words } else { *size };
            input.strides[to] = from.strides[DIMENSIONS - rank + at];
            output.strides[to] = self.strides[at] * i64::from(BYTES);
        }
        let depth = INNER - rank + self.storage.depth;
        let of_depth = input.strides[depth];
        input.strides[depth] *= i64::from(BYTES);
        (all[INNER], input.strides[INNER], output.strides[INNER]) = (bytes, of_depth, 1);
        input.base += i64::from(first) * input.strides[depth];
        output.base += i64::from(first) * output.strides[depth];
        IterationSpace { sizes: all, inputs: vec![input], output }
    }
}

/// The words of a tensor of bytes that lies as they do.
fn words_in_place(tensor: &TensorLayout, bytes: &Operand, depth: usize) -> Option<Words> {
    let of_a_word = i64::from(BYTES);
    let sizes = tensor.sizes();
    let mut strides = bytes.strides[DIMENSIONS - sizes.len()..].to_vec();
    let is_along_depth = strides[depth] == 1 && sizes[depth].is_multiple_of(BYTES);
    if !is_along_depth || bytes.base % of_a_word != 0 {
        return None;
    }
    for (at, stride) in strides.iter_mut().enumerate().filter(|(at, _)| *at != depth) {
        if sizes[at] > 1 && *stride % of_a_word != 0 {
            return None;
        }
        *stride /= of_a_word;
    }
    let place =
        BufferPosition { buffer: bytes.buffer?, base: bytes.base / of_a_word, has_slack: false };
    Some(Words { place, strides })
}
