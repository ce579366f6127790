//! The features that a SPIR-V module needs.

use super::{Feature, Features};

const HEADER_WORDS: usize = 5;
const OP_EXECUTION_MODE: u32 = 16;
const OP_CAPABILITY: u32 = 17;
const OP_FUNCTION: u32 = 54;
/// `Shader` and `GroupNonUniform`: every Vulkan 1.1 device with compute support allows them. And
/// `DotProductInput4x8BitPacked`, of no use without `DotProduct`.
const ALWAYS_ALLOWED: [u32; 3] = [1, 61, 6018];
/// The number of a float execution mode plus this is the number of the capability of the same name.
const CAPABILITY_OF_MODE: u32 = 5;

/// Why the features of a module cannot be determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownNeed {
    /// The words are not a SPIR-V module.
    #[error("it is not a SPIR-V module")]
    Malformed,
    /// No feature of the table allows a capability.
    #[error("it needs SPIR-V's capability {code}, and no feature of dml-core's table allows that")]
    Capability {
        /// The capability's number.
        code: u32,
    },
    /// No feature of the table allows an execution mode for floats of a width.
    #[error(
        "it declares SPIR-V's execution mode {mode} for floats of {width} bits, and no feature of dml-core's table allows that"
    )]
    FloatMode {
        /// The mode's number.
        mode: u32,
        /// Bits of the floats.
        width: u32,
    },
}

/// The features that a device needs for the SPIR-V module `words`: for its capabilities, and for its float
/// execution modes.
///
/// # Errors
/// [`UnknownNeed`]: the module is malformed, or needs a capability or mode that no known feature allows.
pub fn required_features(words: &[u32]) -> Result<Features, UnknownNeed> {
    let mut words = words.get(HEADER_WORDS..).ok_or(UnknownNeed::Malformed)?;
    let mut features = Features::NONE;
    while let Some(first) = words.first() {
        let length = usize::try_from(first >> 16).unwrap_or(0).max(1);
        let instruction = words.get(..length).ok_or(UnknownNeed::Malformed)?;
        match (first & 0xffff, &instruction[1..]) {
            (OP_CAPABILITY, [code]) => features = features.with_all(of_capability(*code)?),
            (OP_EXECUTION_MODE, [_, mode, width]) => {
                features = features.with_all(of_float_mode(*mode, *width)?);
            }
            // Capabilities and modes are declared before functions.
            (OP_FUNCTION, _) => break,
            _ => {}
        }
        words = &words[length..];
    }
    Ok(features)
}

fn of_capability(code: u32) -> Result<Option<Feature>, UnknownNeed> {
    let mut allowing = Feature::ALL.into_iter().filter(|feature| allows(*feature, code));
    match allowing.next() {
        // The execution mode determines the feature.
        Some(feature) if is_of_floats(feature) => Ok(None),
        Some(feature) => Ok(Some(feature)),
        None if ALWAYS_ALLOWED.contains(&code) => Ok(None),
        None => Err(UnknownNeed::Capability { code }),
    }
}

/// `mode` is any execution mode with one operand.
fn of_float_mode(mode: u32, width: u32) -> Result<Option<Feature>, UnknownNeed> {
    let code = mode + CAPABILITY_OF_MODE;
    let mut of_mode =
        Feature::ALL.into_iter().filter(|it| allows(*it, code) && is_of_floats(*it)).peekable();
    if of_mode.peek().is_none() {
        return Ok(None);
    }
    let of_width = of_mode
        .find(|it| it.capability().is_some_and(|capability| capability.float_width == Some(width)));
    of_width.map(Some).ok_or(UnknownNeed::FloatMode { mode, width })
}

fn allows(feature: Feature, code: u32) -> bool {
    feature.capability().is_some_and(|capability| capability.code == code)
}

fn is_of_floats(feature: Feature) -> bool {
    feature.capability().is_some_and(|capability| capability.float_width.is_some())
}

impl Features {
    fn with_all(self, more: Option<Feature>) -> Self {
        more.map_or(self, |feature| self.with(feature, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module of these instructions: opcode and operands.
    fn module(instructions: &[&[u32]]) -> Vec<u32> {
        let mut words = vec![0; HEADER_WORDS];
        for instruction in instructions {
            let length = u32::try_from(instruction.len()).unwrap();
            words.push(length << 16 | instruction[0]);
            words.extend(&instruction[1..]);
        }
        words
    }

    #[test]
    fn every_capability_of_the_table_needs_the_feature_of_its_row() {
        for feature in Feature::ALL {
            let Some(capability) = feature.capability() else { continue };
            let mut instructions =
                vec![vec![OP_CAPABILITY, 1], vec![OP_CAPABILITY, capability.code]];
            if let Some(width) = capability.float_width {
                let mode = capability.code - CAPABILITY_OF_MODE;
                instructions.push(vec![OP_EXECUTION_MODE, 4, mode, width]);
            }
            let instructions: Vec<&[u32]> = instructions.iter().map(Vec::as_slice).collect();
            let found = required_features(&module(&instructions));
            assert_eq!(found, Ok(Features::NONE.with(feature, true)), "{feature}");
        }
    }

    #[test]
    fn what_every_device_has_needs_no_feature() {
        let local_size: &[u32] = &[OP_EXECUTION_MODE, 4, 17, 64, 1, 1];
        let words =
            module(&[&[OP_CAPABILITY, 1], &[OP_CAPABILITY, 61], local_size, &[OP_FUNCTION]]);
        assert_eq!(required_features(&words), Ok(Features::NONE));
    }

    #[test]
    fn what_no_feature_allows_is_refused() {
        let capability = module(&[&[OP_CAPABILITY, 2]]);
        assert_eq!(required_features(&capability), Err(UnknownNeed::Capability { code: 2 }));
        let mode = module(&[&[OP_CAPABILITY, 4467], &[OP_EXECUTION_MODE, 4, 4462, 64]]);
        let error = UnknownNeed::FloatMode { mode: 4462, width: 64 };
        assert_eq!(required_features(&mode), Err(error));
        for words in [&[][..], &[0; 4], &[0, 0, 0, 0, 0, 9 << 16]] {
            assert_eq!(required_features(words), Err(UnknownNeed::Malformed), "{words:?}");
        }
    }
}
