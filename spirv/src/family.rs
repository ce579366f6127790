use dml_core::kernel::KernelVariant;

/// The width of the elements that a kernel variant moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// 8-bit elements, four in a word.
    B8,
    /// 16-bit elements, two in a word.
    B16,
    /// 32-bit elements.
    B32,
    /// 64-bit elements, each two words.
    B64,
}

impl Family {
    /// Every family, by width.
    pub const ALL: [Self; 4] = [Self::B8, Self::B16, Self::B32, Self::B64];

    /// The family of elements of `bits` bits; `None` where no kernel moves such elements.
    pub fn from_element_bits(bits: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.bits() == bits)
    }

    /// Bits of an element.
    pub fn bits(self) -> u32 {
        match self {
            Self::B8 => 8,
            Self::B16 => 16,
            Self::B32 => 32,
            Self::B64 => 64,
        }
    }

    /// Bytes of an element.
    pub fn bytes(self) -> u32 {
        self.bits() / 8
    }
}

/// A kernel with a variant for every family.
#[derive(Debug)]
pub struct Kernel {
    pub(crate) b8: &'static KernelVariant,
    pub(crate) b16: &'static KernelVariant,
    pub(crate) b32: &'static KernelVariant,
    pub(crate) b64: &'static KernelVariant,
}

impl Kernel {
    /// The variant for elements of `family`.
    pub fn variant(&self, family: Family) -> &'static KernelVariant {
        match family {
            Family::B8 => self.b8,
            Family::B16 => self.b16,
            Family::B32 => self.b32,
            Family::B64 => self.b64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn element_bits_select_the_family() {
        for family in Family::ALL {
            assert_eq!(Family::from_element_bits(family.bits()), Some(family));
        }
        for bits in [0, 1, 4, 12, 24, 128] {
            assert_eq!(Family::from_element_bits(bits), None);
        }
    }
}
