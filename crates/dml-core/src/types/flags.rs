//! DirectML's execution flags.

/// DML_EXECUTION_FLAGS: hints for compilation. None of them changes a result of this runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExecutionFlags(u32);

impl ExecutionFlags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// Allows half precision for FLOAT32 tensors. This runtime never uses it.
    pub const ALLOW_HALF_PRECISION_COMPUTATION: Self = Self(1);
    /// Disables vendor-specific commands. This runtime has none.
    pub const DISABLE_META_COMMANDS: Self = Self(2);
    /// Allows descriptors to change between recording and execution. It has no effect, because a binding table
    /// never changes: other buffers are bound with another table.
    pub const DESCRIPTORS_VOLATILE: Self = Self(4);

    /// The flags with DirectML's bits; compilation refuses bits that have no meaning.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Checks that the flags have a meaning.
    ///
    /// # Errors
    /// A message about unknown bits.
    pub fn check(self) -> Result<(), String> {
        if self.0 > 7 {
            return Err(format!("{:#x} has unknown bits; accepted: 0 to 7", self.0));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_accepted_and_the_rest_is_refused() {
        assert_eq!(ExecutionFlags::NONE.check(), Ok(()));
        assert_eq!(ExecutionFlags::from_bits(7).check(), Ok(()));
        assert_eq!(ExecutionFlags::DESCRIPTORS_VOLATILE.check(), Ok(()));
        assert!(ExecutionFlags::from_bits(8).check().unwrap_err().contains("0x8"));
    }
}
