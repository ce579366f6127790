//! Float controls: execution modes of kernels that fix the rounding and special values of floats.

use std::collections::BTreeSet;

use super::{Feature, Features};

const HEADER_WORDS: usize = 5;
const OP_EXTENSION: u32 = 10;
const OP_ENTRY_POINT: u32 = 15;
const OP_EXECUTION_MODE: u32 = 16;
const OP_CAPABILITY: u32 = 17;
const OP_FUNCTION: u32 = 54;
/// The SPIR-V capabilities Float16 and Float64.
const FLOAT16: u32 = 9;
const FLOAT64: u32 = 10;
const EXTENSION: &str = "SPV_KHR_float_controls";

/// An execution mode for floats of one width, with SPIR-V's numbers of its capability and of the mode.
struct FloatMode {
    feature: Feature,
    capability: u32,
    mode: u32,
    width: u32,
}

impl FloatMode {
    const fn keeps_subnormals(feature: Feature, width: u32) -> Self {
        Self { feature, capability: 4464, mode: 4459, width }
    }

    const fn keeps_zeros_infinities_and_nan(feature: Feature, width: u32) -> Self {
        Self { feature, capability: 4466, mode: 4461, width }
    }

    const fn rounds_to_nearest(feature: Feature, width: u32) -> Self {
        Self { feature, capability: 4467, mode: 4462, width }
    }
}

/// The modes that the results of kernels rely on: zeros keep their sign, infinities and NaN are values, and
/// results are rounded to the nearest number, halves to even. Subnormal 32-bit numbers may become zeros;
/// subnormal 16-bit numbers are kept.
///
/// A device without independence of widths (roundingModeIndependence, denormBehaviorIndependence) has the
/// features of 16 bits only if these modes are allowed together.
const MODES: [FloatMode; 5] = [
    FloatMode::keeps_zeros_infinities_and_nan(Feature::ShaderSignedZeroInfNanPreserveFloat32, 32),
    FloatMode::rounds_to_nearest(Feature::ShaderRoundingModeRteFloat32, 32),
    FloatMode::keeps_zeros_infinities_and_nan(Feature::ShaderSignedZeroInfNanPreserveFloat16, 16),
    FloatMode::rounds_to_nearest(Feature::ShaderRoundingModeRteFloat16, 16),
    FloatMode::keeps_subnormals(Feature::ShaderDenormPreserveFloat16, 16),
];

/// The SPIR-V module `words` with all modes declared that `enabled` allows: for 32-bit floats, and for 16-bit
/// floats if the module uses them.
///
/// Without these declarations a driver may choose the rounding, and may assume that there are no signed zeros,
/// infinities or NaN. Modes that the module declares already are kept, and a module with 64-bit floats remains
/// unchanged.
pub fn with_float_modes(words: &[u32], enabled: Features) -> Vec<u32> {
    let places = if words.len() > HEADER_WORDS { ModuleDeclarations::of(words) } else { None };
    let Some(places) = places else { return words.to_vec() };
    let is_missing = |mode: &&FloatMode| enabled.has(mode.feature) && places.misses(mode);
    let modes: Vec<&FloatMode> = MODES.iter().filter(is_missing).collect();
    if modes.is_empty() {
        return words.to_vec();
    }
    let capabilities: BTreeSet<u32> = modes.iter().map(|mode| mode.capability).collect();
    let mut declared = words[..HEADER_WORDS].to_vec();
    for code in capabilities.difference(&places.capabilities) {
        declared.extend([instruction(OP_CAPABILITY, 2), *code]);
    }
    declared.extend(&words[HEADER_WORDS..places.extensions]);
    if !places.has_extension {
        declared.extend(extension());
    }
    declared.extend(&words[places.extensions..places.modes]);
    for it in &modes {
        declared.extend([instruction(OP_EXECUTION_MODE, 4), places.entry_point, it.mode, it.width]);
    }
    declared.extend(&words[places.modes..]);
    declared
}

/// The declarations of a module, and the word offsets at which further ones are inserted.
#[derive(Default)]
struct ModuleDeclarations {
    capabilities: BTreeSet<u32>,
    has_extension: bool,
    /// Execution modes with one operand, and that operand: for modes of floats, the width.
    declared: Vec<(u32, u32)>,
    /// The offset after the last capability.
    extensions: usize,
    /// The offset after the last entry point.
    modes: usize,
    entry_point: u32,
}

impl ModuleDeclarations {
    /// Scans a module; `None` if it must remain unchanged.
    fn of(words: &[u32]) -> Option<Self> {
        let mut places = Self { extensions: HEADER_WORDS, ..Self::default() };
        let mut at = HEADER_WORDS;
        while let Some(first) = words.get(at) {
            let end = at + usize::try_from(first >> 16).unwrap_or(0).max(1);
            let operands = words.get(at + 1..end)?;
            match (first & 0xffff, operands) {
                (OP_CAPABILITY, [code]) => {
                    places.capabilities.insert(*code);
                    places.extensions = end;
                }
                (OP_EXTENSION, name) => places.has_extension |= *name == extension()[1..],
                (OP_ENTRY_POINT, [_, id, ..]) => {
                    (places.modes, places.entry_point) = (end, *id);
                }
                (OP_EXECUTION_MODE, [_, mode, width]) => places.declared.push((*mode, *width)),
                (OP_FUNCTION, _) => break,
                _ => {}
            }
            at = end;
        }
        (places.modes > 0 && !places.capabilities.contains(&FLOAT64)).then_some(places)
    }

    fn misses(&self, mode: &FloatMode) -> bool {
        let has_floats = mode.width == 32 || self.capabilities.contains(&FLOAT16);
        has_floats && !self.declared.contains(&(mode.mode, mode.width))
    }
}

/// The instruction that names the extension.
fn extension() -> Vec<u32> {
    let mut bytes = EXTENSION.as_bytes().to_vec();
    // A text ends with a zero, and fills whole words.
    bytes.resize((bytes.len() / 4 + 1) * 4, 0);
    let (text, _) = bytes.as_chunks::<4>();
    let text = text.iter().copied().map(u32::from_le_bytes);
    std::iter::once(instruction(OP_EXTENSION, 1 + bytes.len() / 4)).chain(text).collect()
}

/// The first word of an instruction of `words` words.
fn instruction(opcode: u32, words: usize) -> u32 {
    opcode | u32::try_from(words).unwrap_or(0) << 16
}

#[cfg(test)]
mod tests {
    use super::super::required_features;
    use super::*;

    const SHADER: u32 = 1;
    const OP_MEMORY_MODEL: u32 = 14;

    /// A module of these instructions, opcode and operands, with one entry point.
    fn module(capabilities: &[u32]) -> Vec<u32> {
        let mut words = vec![0x0723_0203, 0x0001_0300, 0, 9, 0];
        for code in capabilities {
            words.extend([instruction(OP_CAPABILITY, 2), *code]);
        }
        words.extend([instruction(OP_MEMORY_MODEL, 3), 0, 1]);
        // GLCompute, the id 4, "main".
        words.extend([instruction(OP_ENTRY_POINT, 5), 5, 4, u32::from_le_bytes(*b"main"), 0]);
        words.extend([instruction(OP_EXECUTION_MODE, 6), 4, 17, 64, 1, 1]);
        words.extend([instruction(OP_FUNCTION, 5), 1, 4, 0, 2]);
        words
    }

    /// The features of all modes of floats of these widths.
    fn modes(widths: &[u32]) -> Features {
        let features = MODES.iter().filter(|it| widths.contains(&it.width)).map(|it| it.feature);
        features.fold(Features::NONE, |all, feature| all.with(feature, true))
    }

    #[test]
    fn float_modes_that_are_enabled_are_declared_for_the_floats_that_a_module_has() {
        let all = modes(&[16, 32]);
        let declared = with_float_modes(&module(&[SHADER]), all);
        assert_eq!(required_features(&declared), Ok(modes(&[32])));
        let declared = with_float_modes(&module(&[SHADER, FLOAT16]), all);
        assert_eq!(required_features(&declared), Ok(all.with(Feature::ShaderFloat16, true)));
        let one = Features::NONE.with(Feature::ShaderRoundingModeRteFloat32, true);
        let declared = with_float_modes(&module(&[SHADER]), one);
        assert_eq!(required_features(&declared), Ok(one));
        assert_eq!(with_float_modes(&module(&[SHADER]), Features::NONE), module(&[SHADER]));
    }

    #[test]
    fn declarations_are_in_the_order_that_spirv_asks_for() {
        let declared = with_float_modes(&module(&[SHADER]), modes(&[32]));
        let mut opcodes = Vec::new();
        let mut at = HEADER_WORDS;
        while let Some(first) = declared.get(at) {
            opcodes.push(first & 0xffff);
            at += usize::try_from(first >> 16).unwrap();
        }
        let expected = [
            [OP_CAPABILITY, OP_CAPABILITY, OP_CAPABILITY, OP_EXTENSION, OP_MEMORY_MODEL],
            [OP_ENTRY_POINT, OP_EXECUTION_MODE, OP_EXECUTION_MODE, OP_EXECUTION_MODE, OP_FUNCTION],
        ];
        assert_eq!(opcodes, expected.concat());
    }

    #[test]
    fn what_a_module_declares_is_not_declared_again() {
        let module = module(&[SHADER, FLOAT16]);
        let of_16 = with_float_modes(&module, modes(&[16]));
        let declared = with_float_modes(&of_16, modes(&[16, 32]));
        let all = modes(&[16, 32]).with(Feature::ShaderFloat16, true);
        assert_eq!(required_features(&declared), Ok(all));
        assert_eq!(declared.len(), with_float_modes(&module, modes(&[16, 32])).len());
        assert_eq!(with_float_modes(&declared, modes(&[16, 32])), declared);
    }

    #[test]
    fn modules_with_floats_of_64_bits_and_what_is_no_module_stay_as_they_are() {
        let words = module(&[SHADER, FLOAT64]);
        assert_eq!(with_float_modes(&words, modes(&[16, 32])), words);
        assert_eq!(with_float_modes(&[1, 2, 3], modes(&[16, 32])), [1, 2, 3]);
    }
}
