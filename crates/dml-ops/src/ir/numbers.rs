//! The numbers of a contraction: how its words are read, multiplied and added.

use dml_spirv::product::Sign;

use super::buffer::Buffer;

/// The numbers that a contraction multiplies and adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Numbers<B = Buffer> {
    /// FLOAT32: each product is rounded, then the sum.
    Floats,
    /// FLOAT32 that FLOAT16 has as well: products are exact, only sums are rounded.
    Halves,
    /// Integers of 32 bits, which wrap.
    Integers,
    /// Four integers of 8 bits in each word of rows and of columns, and sums of 32 bits, which wrap. From each factor
    /// its zero point is subtracted. A depth is one of words.
    Bytes([Bytes<B>; 2]),
}

/// The integers of 8 bits of one factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes<B = Buffer> {
    pub(crate) sign: Sign,
    /// 0 where it is left out.
    pub(crate) zero_points: Option<ZeroPoints<B>>,
}

/// The zero points of the rows, or of the columns, in a buffer: integers of 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ZeroPoints<B = Buffer> {
    pub(crate) buffer: B,
    /// The offset of the first one in bytes.
    pub(crate) base: i64,
    /// Bytes from that of a row, or of the only dimension of columns, to the next; 0 where all have the same.
    pub(crate) stride: i64,
}

impl<B> Numbers<B> {
    /// Whether sums are integers, which can be added up in any order.
    pub(crate) fn are_integers(&self) -> bool {
        !matches!(self, Self::Floats | Self::Halves)
    }

    /// The number of products that a depth has: of the elements of a word.
    pub(crate) fn products_of_a_depth(&self) -> u64 {
        match self {
            Self::Floats | Self::Halves | Self::Integers => 1,
            Self::Bytes(_) => 4,
        }
    }

    /// The zero points of rows and columns.
    pub(crate) fn zero_points(&self) -> [Option<&ZeroPoints<B>>; 2] {
        match self {
            Self::Floats | Self::Halves | Self::Integers => [None, None],
            Self::Bytes(factors) => factors.each_ref().map(|it| it.zero_points.as_ref()),
        }
    }

    /// These numbers with rows and columns exchanged.
    pub(crate) fn transposed(self) -> Self {
        match self {
            Self::Bytes([rows, columns]) => Self::Bytes([columns, rows]),
            numbers => numbers,
        }
    }
}

impl Numbers {
    /// These numbers with the zero points placed by `place`.
    pub(crate) fn placed<T>(&self, place: impl Fn(ZeroPoints) -> ZeroPoints<T>) -> Numbers<T> {
        match self {
            Self::Floats => Numbers::Floats,
            Self::Halves => Numbers::Halves,
            Self::Integers => Numbers::Integers,
            Self::Bytes(factors) => Numbers::Bytes(factors.map(|Bytes { sign, zero_points }| {
                Bytes { sign, zero_points: zero_points.map(&place) }
            })),
        }
    }
}
