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
    /// Descriptors may change after recording. Vulkan's may not.
    pub const DESCRIPTORS_VOLATILE: Self = Self(4);

    /// The flags with DirectML's bits; compilation refuses bits that have no meaning.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Checks that the flags can be honoured.
    ///
    /// # Errors
    /// What is wrong: unknown bits, or DESCRIPTORS_VOLATILE.
    pub fn check(self) -> Result<(), String> {
        let volatile = Self::DESCRIPTORS_VOLATILE.0;
        if self.0 & volatile != 0 {
            let problem = "DESCRIPTORS_VOLATILE cannot be honoured: Vulkan does not allow the \
                           descriptors of a recorded command buffer to change; accepted: 0 to 3";
            return Err(problem.to_owned());
        }
        if self.0 > 3 {
            return Err(format!("{:#x} has unknown bits; accepted: 0 to 3", self.0));
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
        assert_eq!(ExecutionFlags::from_bits(3).check(), Ok(()));
        assert!(ExecutionFlags::DESCRIPTORS_VOLATILE.check().unwrap_err().contains("VOLATILE"));
        assert!(ExecutionFlags::from_bits(8).check().unwrap_err().contains("0x8"));
    }
}
