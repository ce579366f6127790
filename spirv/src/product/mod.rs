//! Kernels for matrix products: sums of products for tiles of rows and columns, added in a fixed order.

mod bytes;
mod cooperative;
mod fused;
mod host;
mod record;

use dml_core::host::HostDispatch;
use dml_core::kernel::{KernelModule, Shared};
use dml_core::plan::Access as Touch;

use crate::element_wise::{AccessPattern, KernelOperand, LinkedKernel, LinkedKernels};
use crate::link::{self, Source};
use crate::{ElementWidth, kernels};

pub use cooperative::{CooperativeRecord, MATRICES_OF_A_GROUP, cooperative};
pub use record::*;

/// The kernels that have been linked.
static LINKED: LinkedKernels<Product> = LinkedKernels::new();

/// A kernel that computes sums of products of 32-bit words. It is independent of sizes and strides.
///
/// Rows are at binding 0, columns at 1, and the sums at the binding of an element-wise kernel's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// The sums that an invocation or a work group computes together.
    pub tile: Tile,
    /// Whether columns are read as quads: their innermost dimension has stride 1 and a multiple of four
    /// elements, and all starts and other strides are multiples of four.
    pub columns_are_whole: bool,
    /// The type of the words, and how they are multiplied and added.
    pub arithmetic: Arithmetic,
}

/// The type and the rounding of products and sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// Integers of 32 bits, which wrap.
    Integers,
    /// FLOAT32: each product is rounded, then the sum.
    Floats,
    /// FLOAT32, where the driver may fuse a multiplication and the addition that follows. The twin on the host
    /// fuses nothing: it gives the bits of [`Arithmetic::Floats`].
    FusedFloats,
    /// FLOAT32 that FLOAT16 has as well, whose products are exact: each is added to its sum by one operation, with one
    /// rounding. The bits are those of [`Arithmetic::Floats`]. Only for tiles that a work group shares.
    Halves,
    /// Dot products of four integers of 8 bits, which a word has, added up as integers of 32 bits, which wrap. From
    /// each factor its zero point is subtracted, if there is one: rows have theirs at binding 2, columns at 3.
    Bytes {
        /// Whether the first factor's integers are signed.
        rows: Sign,
        /// Whether the second factor's integers are signed.
        columns: Sign,
    },
}

/// Whether integers of 8 bits are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sign {
    /// -128 to 127.
    Signed,
    /// 0 to 255.
    Unsigned,
}

impl Arithmetic {
    /// All kinds of arithmetic.
    pub const ALL: [Self; 8] = [
        Self::Floats,
        Self::Integers,
        Self::FusedFloats,
        Self::Halves,
        Self::Bytes { rows: Sign::Signed, columns: Sign::Signed },
        Self::Bytes { rows: Sign::Signed, columns: Sign::Unsigned },
        Self::Bytes { rows: Sign::Unsigned, columns: Sign::Signed },
        Self::Bytes { rows: Sign::Unsigned, columns: Sign::Unsigned },
    ];

    /// The part of the skeletons' names that tells arithmetics apart.
    fn skeleton(self) -> &'static str {
        match self {
            Self::Integers => "i32",
            Self::Floats | Self::FusedFloats => "f32",
            Self::Halves => "f16",
            Self::Bytes { .. } => "bytes",
        }
    }

    /// The suffix that a kernel's name has after its skeleton's.
    fn name(self) -> &'static str {
        match self {
            Self::Integers | Self::Floats | Self::Halves => "",
            Self::FusedFloats => " fused",
            Self::Bytes { rows, columns } => match (rows, columns) {
                (Sign::Signed, Sign::Signed) => " i8 i8",
                (Sign::Signed, Sign::Unsigned) => " i8 u8",
                (Sign::Unsigned, Sign::Signed) => " u8 i8",
                (Sign::Unsigned, Sign::Unsigned) => " u8 u8",
            },
        }
    }

    /// Whether there are kernels of such a tile.
    pub fn has(self, tile: Tile) -> bool {
        match self {
            Self::Integers | Self::Floats | Self::FusedFloats => true,
            Self::Halves => tile.is_shared() && !tile.is_of_few_rows(),
            // Lavapipe, for which tall tiles are, compiles so many dot products for seconds.
            Self::Bytes { .. } => tile != Tile::Tall && !tile.is_of_few_rows(),
        }
    }

    /// The number of elements in a word of a factor.
    pub fn elements_of_a_word(self) -> u32 {
        match self {
            Self::Bytes { .. } => 4,
            Self::Integers | Self::Floats | Self::FusedFloats | Self::Halves => 1,
        }
    }
}

/// The sums that one invocation computes, or one work group whose invocations share the elements that they read.
/// The order of additions is the same for all tiles.
///
/// Except for [`Tile::Row`] and tiles of few rows, rows are read as quads: their stride is 1, and all starts and other strides are
/// multiples of four. Elements after the last row are read up to such a multiple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tile {
    /// An invocation has eight columns of one row, of any strides.
    Row,
    /// A work group of 256 has 64 columns of 16 rows, of any strides; there is one dimension of columns, and one of
    /// depths. It adds up [parts](Record::part) of sums.
    Few,
    /// As [`Tile::Few`], with columns that are read as quads of depths: their innermost stride is 1, the depths of
    /// each part a multiple of four, as are all starts and other strides.
    FewDeep,
    /// An invocation has eight columns of eight rows.
    Registers,
    /// An invocation has eight columns of 16 rows, and reads quads as pairs of 64 bits.
    Tall,
    /// A work group of 64 has 32 columns of 32 rows.
    Shared32,
    /// A work group of 128 has 64 columns of 64 rows.
    Shared64,
    /// A work group of 256 has 128 columns of 128 rows.
    Shared128,
}

/// The most rows of [`Tile::Few`].
pub const MOST_FEW_ROWS: u32 = 16;

impl Tile {
    /// All tiles.
    pub const ALL: [Self; 8] = [
        Self::Row,
        Self::Few,
        Self::FewDeep,
        Self::Registers,
        Self::Tall,
        Self::Shared32,
        Self::Shared64,
        Self::Shared128,
    ];

    /// The numbers of rows and columns in a tile.
    pub fn sides(self) -> [u32; 2] {
        match self {
            Self::Row => [1, 8],
            Self::Few | Self::FewDeep => [MOST_FEW_ROWS, 64],
            Self::Registers => [8, 8],
            Self::Tall => [16, 8],
            Self::Shared32 => [32; 2],
            Self::Shared64 => [64; 2],
            Self::Shared128 => [128; 2],
        }
    }

    /// Whether a tile belongs to a work group, not to an invocation.
    pub fn is_shared(self) -> bool {
        !matches!(self, Self::Row | Self::Registers | Self::Tall)
    }

    /// Whether a work group has few rows, and parts of their sums.
    pub fn is_of_few_rows(self) -> bool {
        matches!(self, Self::Few | Self::FewDeep)
    }

    /// Whether rows are read by elements.
    pub(crate) fn reads_elements(self) -> bool {
        self == Self::Row || self.is_of_few_rows()
    }

    /// The part of the skeletons' names that tells tiles apart.
    fn name(self) -> &'static str {
        match self {
            Self::Row => "1",
            Self::Few => "few",
            Self::FewDeep => "few_deep",
            Self::Registers => "8",
            Self::Tall => "16",
            Self::Shared32 => "tiles_32",
            Self::Shared64 => "tiles_64",
            Self::Shared128 => "tiles_128",
        }
    }
}

/// Whether results of a kernel may differ between devices, because one fuses multiplications with additions and
/// another rounds both.
pub fn is_fused(kernel: &KernelModule) -> bool {
    Product::of(kernel).is_some_and(|it| it.arithmetic == Arithmetic::FusedFloats)
}

impl Product {
    /// Every kernel.
    pub fn all() -> impl Iterator<Item = Self> {
        let kernels = Tile::ALL.into_iter().flat_map(|tile| {
            let of = move |columns_are_whole| {
                let of = move |arithmetic| Self { tile, columns_are_whole, arithmetic };
                Arithmetic::ALL.map(of)
            };
            [false, true].into_iter().flat_map(of)
        });
        // Quads are of columns or of depths.
        let has_columns = |it: &Self| it.tile != Tile::FewDeep || !it.columns_are_whole;
        kernels.filter(move |it| it.arithmetic.has(it.tile) && has_columns(it))
    }

    /// The product that a kernel was linked for; `None` if it is no kernel of products.
    pub fn of(kernel: &KernelModule) -> Option<Self> {
        LINKED.key(kernel)
    }

    fn skeleton(self) -> &'static Source {
        let whole = if self.columns_are_whole { "_whole" } else { "" };
        let numbers = self.arithmetic.skeleton();
        let name = format!("product_{}{whole}_{numbers}", self.tile.name());
        let found = kernels::LINKED.iter().find(|it| it.name == name);
        found.expect("every combination is compiled, a test links all")
    }

    /// The kernel's SPIR-V.
    pub fn spirv(self) -> Vec<u32> {
        let linked = link::link(self.skeleton(), &[]);
        match self.arithmetic {
            Arithmetic::FusedFloats => fused::without_no_contraction(&linked),
            Arithmetic::Bytes { rows, columns } => bytes::with_signs(linked, rows, columns),
            Arithmetic::Integers | Arithmetic::Floats | Arithmetic::Halves => linked,
        }
    }

    /// The kernel as plans name it, linked if nobody has it now.
    pub fn variant(self) -> Shared<KernelModule> {
        LINKED.get(self, |_| self.module())
    }

    fn module(self) -> KernelModule {
        let skeleton = self.skeleton();
        let operand = |is_whole| KernelOperand {
            width: ElementWidth::B32,
            access: if is_whole { AccessPattern::Whole } else { AccessPattern::Ragged },
        };
        let quads =
            [!self.tile.reads_elements(), self.columns_are_whole || self.tile == Tile::FewDeep];
        let has_zero_points = matches!(self.arithmetic, Arithmetic::Bytes { .. });
        let zero_points = has_zero_points.then(|| [operand(false); 2]);
        let inputs: Vec<KernelOperand> =
            quads.map(operand).into_iter().chain(zero_points.into_iter().flatten()).collect();
        let host = move |dispatch: &mut HostDispatch<'_>| host::run(self, dispatch);
        let name = format!("{}{}", skeleton.name, self.arithmetic.name());
        let linked = LinkedKernel { name, spirv: self.spirv(), skeleton, host: Box::new(host) };
        // Sums may be added to the output's values.
        linked.module(&inputs, Touch::ReadWrite)
    }
}
