//! How kernels ask a driver to treat floats of 32 bits.

use super::{Feature, Features};

const HEADER_WORDS: usize = 5;
const OP_EXTENSION: u32 = 10;
const OP_ENTRY_POINT: u32 = 15;
const OP_EXECUTION_MODE: u32 = 16;
const OP_CAPABILITY: u32 = 17;
const OP_FUNCTION: u32 = 54;
/// The capabilities of floats of other widths, `Float16` and `Float64`.
const OTHER_FLOATS: [u32; 2] = [9, 10];
const EXTENSION: &str = "SPV_KHR_float_controls";
const WIDTH: u32 = 32;

/// One way to treat floats, with SPIR-V's numbers of its capability and its execution mode.
struct FloatMode {
    feature: Feature,
    capability: u32,
    mode: u32,
}

/// The modes that the results of kernels rely on: zeros keep their sign, infinities and NaN are values, and
/// results are rounded to the nearest number, of two to the even one.
const MODES: [FloatMode; 2] = [
    FloatMode {
        feature: Feature::ShaderSignedZeroInfNanPreserveFloat32,
        capability: 4466,
        mode: 4461,
    },
    FloatMode { feature: Feature::ShaderRoundingModeRteFloat32, capability: 4467, mode: 4462 },
];

/// The SPIR-V module `words` with every mode of floats of 32 bits declared that `enabled` allows.
///
/// Without these declarations a driver may choose how it rounds, and may assume that there are no zeros with
/// a sign, infinities or NaN. A module that declares modes by itself stays as it is, and so does one with
/// floats of another width, whose modes may depend on each other (roundingModeIndependence).
pub fn with_float_modes(words: &[u32], enabled: Features) -> Vec<u32> {
    let modes: Vec<&FloatMode> = MODES.iter().filter(|mode| enabled.has(mode.feature)).collect();
    let is_module = words.len() > HEADER_WORDS && !modes.is_empty();
    let places = if is_module { Places::of(words) } else { None };
    let Some(places) = places else { return words.to_vec() };
    let mut declared = words[..HEADER_WORDS].to_vec();
    for mode in &modes {
        declared.extend([instruction(OP_CAPABILITY, 2), mode.capability]);
    }
    declared.extend(&words[HEADER_WORDS..places.extensions]);
    declared.extend(extension());
    declared.extend(&words[places.extensions..places.modes]);
    for mode in &modes {
        declared.extend([instruction(OP_EXECUTION_MODE, 4), places.entry_point, mode.mode, WIDTH]);
    }
    declared.extend(&words[places.modes..]);
    declared
}

/// Where in a module declarations are inserted.
struct Places {
    /// After the last capability.
    extensions: usize,
    /// After the last entry point.
    modes: usize,
    entry_point: u32,
}

impl Places {
    /// `None` for a module that stays as it is.
    fn of(words: &[u32]) -> Option<Self> {
        let mut places = Self { extensions: HEADER_WORDS, modes: 0, entry_point: 0 };
        let mut at = HEADER_WORDS;
        while let Some(first) = words.get(at) {
            let end = at + usize::try_from(first >> 16).unwrap_or(0).max(1);
            let operands = words.get(at + 1..end)?;
            match (first & 0xffff, operands) {
                (OP_CAPABILITY, [code]) if OTHER_FLOATS.contains(code) => return None,
                (OP_CAPABILITY, _) => places.extensions = end,
                (OP_EXTENSION, name) if *name == extension()[1..] => return None,
                (OP_ENTRY_POINT, [_, id, ..]) => {
                    (places.modes, places.entry_point) = (end, *id);
                }
                (OP_FUNCTION, _) => break,
                _ => {}
            }
            at = end;
        }
        (places.modes > 0).then_some(places)
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

/// The first word of an instruction of so many words, which are few.
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

    fn both() -> Features {
        MODES.iter().fold(Features::NONE, |features, mode| features.with(mode.feature, true))
    }

    #[test]
    fn float_modes_that_are_enabled_are_declared() {
        let declared = with_float_modes(&module(&[SHADER]), both());
        assert_eq!(required_features(&declared), Ok(both()));
        let one = Features::NONE.with(Feature::ShaderRoundingModeRteFloat32, true);
        let declared = with_float_modes(&module(&[SHADER]), one);
        assert_eq!(required_features(&declared), Ok(one));
        assert_eq!(with_float_modes(&module(&[SHADER]), Features::NONE), module(&[SHADER]));
    }

    #[test]
    fn declarations_are_in_the_order_that_spirv_asks_for() {
        let declared = with_float_modes(&module(&[SHADER]), both());
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
    fn modules_with_modes_or_floats_of_other_widths_stay_as_they_are() {
        for capability in OTHER_FLOATS {
            let words = module(&[SHADER, capability]);
            assert_eq!(with_float_modes(&words, both()), words);
        }
        let declared = with_float_modes(&module(&[SHADER]), both());
        assert_eq!(with_float_modes(&declared, both()), declared);
        // No module at all.
        assert_eq!(with_float_modes(&[1, 2, 3], both()), [1, 2, 3]);
    }
}
