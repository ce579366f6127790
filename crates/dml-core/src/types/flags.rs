//! DirectML's execution flags.

/// DML_EXECUTION_FLAGS: hints for compilation. None of them changes a result of this runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExecutionFlags(u32);

impl ExecutionFlags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// Half precision may be used where the tensors are FLOAT32. It never is.
    pub const ALLOW_HALF_PRECISION_COMPUTATION: Self = Self(1);
    /// No vendor-specific commands. There are none.
    pub const DISABLE_META_COMMANDS: Self = Self(2);
    /// Descriptors may change between recording and execution. A binding table never changes, so that
    /// nothing has to be done for it: whoever binds other buffers makes another table.
    pub const DESCRIPTORS_VOLATILE: Self = Self(4);

    /// The flags with DirectML's bits; compilation refuses bits that have no meaning.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Checks that the flags have a meaning.
    ///
    /// # Errors
    /// What is wrong: unknown bits.
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
