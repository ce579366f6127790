//! Kernels that copy elements by tiles: rows of the input along one dimension become rows of the output along
//! another.

mod host;
mod record;

use std::sync::LazyLock;

use dml_core::host::HostDispatch;
use dml_core::kernel::KernelModule;
use dml_core::plan::Access as Touch;

use crate::element_wise::{Access, LinkedKernel, Operand};
use crate::link::{self, Source};
use crate::{ElementWidth, kernels};

pub use record::*;

/// Invocations of a work group where the device allows so many: four to eight units for each.
pub const TILE_INVOCATIONS: u32 = 256;

/// A kernel that copies elements of a width. Sizes and strides are no part of it.
///
/// A work group has a tile of as many elements along the dimension `x`, along which the input has them next to each
/// other, as along the dimension `y`, along which the output has. It reads and writes units: words of elements
/// narrower than a word, else elements. The input is at binding 0, and the output at that of an element-wise kernel's
/// output. Both windows begin at a multiple of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transpose {
    /// How wide elements are.
    pub width: ElementWidth,
}

impl Transpose {
    /// Every kernel.
    pub fn all() -> impl Iterator<Item = Self> {
        ElementWidth::ALL.into_iter().map(|width| Self { width })
    }

    /// Elements of a unit.
    pub fn elements_of_unit(self) -> u32 {
        32 / self.width.bits().min(32)
    }

    /// Elements of a tile in each direction.
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

    /// The kernel as plans name it, made at the first call and never given up.
    pub fn variant(self) -> &'static KernelModule {
        let at = ElementWidth::ALL.iter().position(|it| *it == self.width);
        &Self::modules()[at.expect("a width of elements that kernels write")]
    }

    /// Whether `variant` is such a kernel.
    pub fn is(variant: &'static KernelModule) -> bool {
        Self::modules().as_ptr_range().contains(&std::ptr::from_ref(variant))
    }

    fn modules() -> &'static [KernelModule; 4] {
        static MODULES: LazyLock<[KernelModule; 4]> =
            LazyLock::new(|| ElementWidth::ALL.map(|width| Transpose { width }.module()));
        &MODULES
    }

    fn module(self) -> KernelModule {
        let skeleton = self.skeleton();
        let operand = Operand { width: self.width, access: Access::Whole };
        let host = move |dispatch: &mut HostDispatch<'_>| host::run(self, dispatch);
        let name = skeleton.name.to_owned();
        let linked = LinkedKernel { name, spirv: self.spirv(), skeleton, host: Box::new(host) };
        linked.module(&[operand], Touch::Write)
    }
}
