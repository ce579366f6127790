//! Kernels that add up products: tiles of rows and columns, one product after the other.

mod host;
mod record;

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use dml_core::host::HostDispatch;
use dml_core::kernel::KernelModule;
use dml_core::plan::Access as Touch;

use crate::element_wise::{Access, Made, Operand};
use crate::link::{self, Source};
use crate::{ElementWidth, kernels};

pub use record::*;

/// What is linked already.
static LINKED: LazyLock<Mutex<HashMap<Product, &'static KernelModule>>> =
    LazyLock::new(Mutex::default);

/// A kernel that adds up products of words. Sizes and strides are no part of it.
///
/// Rows are at binding 0, columns at 1, and the sums at the binding of an element-wise kernel's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// How many rows an invocation has.
    pub rows: Rows,
    /// Whether columns are read as quads: their innermost dimension has stride 1 and a multiple of four of
    /// them, and all else begins at a multiple of four.
    pub columns_are_whole: bool,
    /// Whether words are integers, which wrap, or floats.
    pub are_integers: bool,
}

/// The rows of an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rows {
    /// One, of any strides.
    One,
    /// Eight, read as quads: their stride is 1, and all else begins at a multiple of four. What is read after
    /// the last row is up to such a multiple.
    Eight,
}

impl Rows {
    /// How many they are.
    pub fn count(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Eight => 8,
        }
    }
}

impl Product {
    /// Every kernel.
    pub fn all() -> impl Iterator<Item = Self> {
        let kernels = [Rows::One, Rows::Eight].into_iter().flat_map(|rows| {
            let of = move |columns_are_whole| {
                let of = move |are_integers| Self { rows, columns_are_whole, are_integers };
                [false, true].map(of)
            };
            [false, true].map(of)
        });
        kernels.flatten()
    }

    fn skeleton(self) -> &'static Source {
        match (self.rows, self.columns_are_whole, self.are_integers) {
            (Rows::One, false, false) => &kernels::PRODUCT_1_F32,
            (Rows::One, false, true) => &kernels::PRODUCT_1_I32,
            (Rows::One, true, false) => &kernels::PRODUCT_1_WHOLE_F32,
            (Rows::One, true, true) => &kernels::PRODUCT_1_WHOLE_I32,
            (Rows::Eight, false, false) => &kernels::PRODUCT_8_F32,
            (Rows::Eight, false, true) => &kernels::PRODUCT_8_I32,
            (Rows::Eight, true, false) => &kernels::PRODUCT_8_WHOLE_F32,
            (Rows::Eight, true, true) => &kernels::PRODUCT_8_WHOLE_I32,
        }
    }

    /// The kernel's SPIR-V.
    pub fn spirv(self) -> Vec<u32> {
        link::link(self.skeleton(), &[])
    }

    /// The kernel as plans name it, made at the first call and never given up.
    pub fn variant(self) -> &'static KernelModule {
        let mut linked = LINKED.lock().unwrap_or_else(PoisonError::into_inner);
        linked.entry(self).or_insert_with(|| Box::leak(Box::new(self.made())))
    }

    fn made(self) -> KernelModule {
        let skeleton = self.skeleton();
        let operand = |is_whole| Operand {
            width: ElementWidth::B32,
            access: if is_whole { Access::Whole } else { Access::Ragged },
        };
        let inputs = [self.rows == Rows::Eight, self.columns_are_whole].map(operand);
        let host = move |dispatch: &mut HostDispatch<'_>| host::run(self, dispatch);
        let name = skeleton.name.to_owned();
        let made = Made { name, spirv: self.spirv(), skeleton, host: Box::new(host) };
        // Sums may go on from what is there.
        made.module(&inputs, Touch::ReadWrite)
    }
}
