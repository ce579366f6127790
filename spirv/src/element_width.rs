use std::slice;

use dml_core::kernel::KernelModule;

/// The width of the elements that a kernel variant moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ElementWidth {
    /// 4-bit elements, eight in a word; inputs of linked kernels only.
    B4,
    /// 8-bit elements, four in a word.
    B8,
    /// 16-bit elements, two in a word.
    B16,
    /// 32-bit elements.
    B32,
    /// 64-bit elements, each two words.
    B64,
}

impl ElementWidth {
    /// The widths of elements that kernels write, by width.
    pub const ALL: [Self; 4] = [Self::B8, Self::B16, Self::B32, Self::B64];

    /// The element width for elements of `bits` bits; `None` if no kernel writes such elements.
    pub fn from_element_bits(bits: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|element_width| element_width.bits() == bits)
    }

    /// The bits of an element.
    pub fn bits(self) -> u32 {
        match self {
            Self::B4 => 4,
            Self::B8 => 8,
            Self::B16 => 16,
            Self::B32 => 32,
            Self::B64 => 64,
        }
    }

    /// The bytes of an element of whole bytes.
    ///
    /// # Panics
    /// For [`Self::B4`].
    pub fn bytes(self) -> u32 {
        assert!(self != Self::B4, "two elements of 4 bits share a byte");
        self.bits() / 8
    }

    /// The bytes of so many elements, rounded up to whole bytes.
    pub fn bytes_of(self, count: u64) -> u64 {
        match self {
            Self::B4 => count.div_ceil(2),
            _ => count.saturating_mul(self.bytes().into()),
        }
    }
}

/// A kernel with a variant for every element width.
#[derive(Debug)]
pub struct Kernel {
    pub(crate) b8: &'static KernelModule,
    pub(crate) b16: &'static KernelModule,
    pub(crate) b32: &'static KernelModule,
    pub(crate) b64: &'static KernelModule,
}

impl Kernel {
    /// The variant for elements of `element width` that every device can run.
    pub fn variant(&self, element_width: ElementWidth) -> &'static KernelModule {
        self.of(element_width)
    }

    /// All variants for elements of `element_width`, best first, for [`select`](dml_core::kernel::select).
    /// Today every element width has one.
    pub fn variants(&self, element_width: ElementWidth) -> &[&'static KernelModule] {
        slice::from_ref(self.of(element_width))
    }

    fn of(&self, element_width: ElementWidth) -> &&'static KernelModule {
        match element_width {
            ElementWidth::B4 => unreachable!("no kernel writes elements of 4 bits"),
            ElementWidth::B8 => &self.b8,
            ElementWidth::B16 => &self.b16,
            ElementWidth::B32 => &self.b32,
            ElementWidth::B64 => &self.b64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_variant_of_each_kernel_is_that_for_every_device() {
        for element_width in ElementWidth::ALL {
            let kernel = &crate::kernels::DIAGONAL_WRITE;
            let last = kernel.variants(element_width).last().copied();
            assert_eq!(last, Some(kernel.variant(element_width)));
            assert!(last.is_some_and(|last| last.required_features.is_empty()));
        }
    }

    #[test]
    fn element_bits_select_the_width() {
        for element_width in ElementWidth::ALL {
            assert_eq!(ElementWidth::from_element_bits(element_width.bits()), Some(element_width));
        }
        for bits in [0, 1, 4, 12, 24, 128] {
            assert_eq!(ElementWidth::from_element_bits(bits), None);
        }
    }
}
