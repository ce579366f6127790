//! Kernels that transpose tiles: rows of the input along one dimension become rows of the output along another.

mod host;
mod record;

use std::sync::LazyLock;

use dml_core::host::HostDispatch;
use dml_core::kernel::{KernelModule, Shared};
use dml_core::plan::Access as Touch;

use crate::element_wise::{AccessPattern, KernelOperand, LinkedKernel};
use crate::link::{self, Source};
use crate::{ElementWidth, kernels};

pub use record::*;

/// The invocations of a work group if the device allows so many: four to eight units for each.
pub const TILE_INVOCATIONS: u32 = 256;

/// A kernel that copies elements of one width. It is independent of sizes and strides.
///
/// A work group copies a square tile of elements. The input's elements are adjacent along the dimension `x`,
/// the output's along the dimension `y`. It reads and writes units: words of elements narrower than a word,
/// else elements. The input is at binding 0, and the output at the binding of an element-wise kernel's
/// output. Both windows begin at a multiple of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transpose {
    /// The width of the elements.
    pub width: ElementWidth,
}

impl Transpose {
    /// Every kernel.
    pub fn all() -> impl Iterator<Item = Self> {
        ElementWidth::ALL.into_iter().map(|width| Self { width })
    }

    /// The number of elements in a unit.
    pub fn elements_of_unit(self) -> u32 {
        32 / self.width.bits().min(32)
    }

    /// The number of elements along each side of a tile.
    pub fn side(self) -> u32 {
        if self.elements_of_unit() > 1 { 64 } else { 32 }
    }

    fn skeleton(self) -> &'static Source {
        match self.width {
            ElementWidth::B4 => unreachable!("no kernel writes elements of 4 bits"),
            ElementWidth::B8 => &kernels::COPY_TILES_B8,
            ElementWidth::B16 => &kernels::COPY_TILES_B16,
            ElementWidth::B32 => &kernels::COPY_TILES_B32,
            ElementWidth::B64 => &kernels::COPY_TILES_B64,
        }
    }

    /// The kernel's SPIR-V.
    pub fn spirv(self) -> Vec<u32> {
        link::link(self.skeleton(), &[])
    }

    /// The kernel as plans name it, linked at the first call.
    pub fn variant(self) -> Shared<KernelModule> {
        let at = ElementWidth::ALL.iter().position(|it| *it == self.width);
        Shared::Static(&Self::modules()[at.expect("a width of elements that kernels write")])
    }

    /// Whether `variant` is such a kernel.
    pub fn is(variant: &KernelModule) -> bool {
        Self::modules().contains(variant)
    }

    fn modules() -> &'static [KernelModule; 4] {
        static MODULES: LazyLock<[KernelModule; 4]> =
            LazyLock::new(|| ElementWidth::ALL.map(|width| Transpose { width }.module()));
        &MODULES
    }

    fn module(self) -> KernelModule {
        let skeleton = self.skeleton();
        let operand = KernelOperand { width: self.width, access: AccessPattern::Whole };
        let host = move |dispatch: &mut HostDispatch<'_>| host::run(self, dispatch);
        let name = skeleton.name.to_owned();
        let linked = LinkedKernel { name, spirv: self.spirv(), skeleton, host: Box::new(host) };
        linked.module(&[operand], Touch::Write)
    }
}
