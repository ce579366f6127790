//! How many invocations a work group of a SPIR-V module has.

use std::collections::HashMap;

const OP_EXECUTION_MODE: u32 = 16;
const OP_EXECUTION_MODE_ID: u32 = 331;
const OP_CONSTANT: u32 = 43;
const OP_CONSTANT_COMPOSITE: u32 = 44;
const OP_SPEC_CONSTANT: u32 = 50;
const OP_SPEC_CONSTANT_COMPOSITE: u32 = 51;
const OP_DECORATE: u32 = 71;
const DECORATION_SPEC_ID: u32 = 1;
const DECORATION_BUILT_IN: u32 = 11;
const BUILT_IN_WORKGROUP_SIZE: u32 = 25;
const MODE_LOCAL_SIZE: u32 = 17;
const MODE_LOCAL_SIZE_ID: u32 = 38;
const HEADER_WORDS: usize = 5;

#[derive(Default)]
struct ModuleFacts {
    literal: Option<[u32; 3]>,
    ids: Option<[u32; 3]>,
    built_in: Option<u32>,
    constants: HashMap<u32, u32>,
    composites: HashMap<u32, [u32; 3]>,
    spec_ids: HashMap<u32, u32>,
}

/// The work group size of the only entry point of `words`, with `specialization` giving values by
/// constant id. `None` where the module is malformed or states none.
pub(crate) fn local_size(words: &[u32], specialization: &HashMap<u32, u32>) -> Option<[u32; 3]> {
    let found = scan(words.get(HEADER_WORDS..)?)?;
    let value = |id: &u32| {
        let specialized = found.spec_ids.get(id).and_then(|spec_id| specialization.get(spec_id));
        specialized.or_else(|| found.constants.get(id)).copied()
    };
    // The built-in takes precedence over the execution mode.
    let ids = match found.built_in {
        Some(id) => Some(*found.composites.get(&id)?),
        None => found.ids,
    };
    match ids {
        Some([x, y, z]) => Some([value(&x)?, value(&y)?, value(&z)?]),
        None => found.literal,
    }
}

fn scan(mut words: &[u32]) -> Option<ModuleFacts> {
    let mut found = ModuleFacts::default();
    while let Some(first) = words.first() {
        let length = usize::try_from(first >> 16).ok().filter(|length| *length > 0)?;
        let operands = words.get(1..length)?;
        found.note(first & 0xffff, operands);
        words = words.get(length..)?;
    }
    Some(found)
}

impl ModuleFacts {
    fn note(&mut self, opcode: u32, operands: &[u32]) {
        match (opcode, operands) {
            (OP_EXECUTION_MODE, [_, MODE_LOCAL_SIZE, x, y, z]) => {
                self.literal = Some([*x, *y, *z]);
            }
            (OP_EXECUTION_MODE_ID, [_, MODE_LOCAL_SIZE_ID, x, y, z]) => {
                self.ids = Some([*x, *y, *z]);
            }
            (OP_CONSTANT | OP_SPEC_CONSTANT, [_, id, value]) => {
                self.constants.insert(*id, *value);
            }
            (OP_CONSTANT_COMPOSITE | OP_SPEC_CONSTANT_COMPOSITE, [_, id, x, y, z]) => {
                self.composites.insert(*id, [*x, *y, *z]);
            }
            (OP_DECORATE, [id, DECORATION_SPEC_ID, spec_id]) => {
                self.spec_ids.insert(*id, *spec_id);
            }
            (OP_DECORATE, [id, DECORATION_BUILT_IN, BUILT_IN_WORKGROUP_SIZE]) => {
                self.built_in = Some(*id);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_literal_size_is_found() {
        let words = module(&[&[OP_EXECUTION_MODE, 4, MODE_LOCAL_SIZE, 8, 2, 1]]);
        assert_eq!(local_size(&words, &HashMap::new()), Some([8, 2, 1]));
    }

    #[test]
    fn a_specialized_size_wins_over_the_literal() {
        let words = module(&[
            &[OP_EXECUTION_MODE, 4, MODE_LOCAL_SIZE, 1, 1, 1],
            &[OP_DECORATE, 10, DECORATION_SPEC_ID, 3],
            &[OP_DECORATE, 12, DECORATION_BUILT_IN, BUILT_IN_WORKGROUP_SIZE],
            &[OP_SPEC_CONSTANT, 6, 10, 64],
            &[OP_CONSTANT, 6, 11, 1],
            &[OP_SPEC_CONSTANT_COMPOSITE, 7, 12, 10, 11, 11],
        ]);
        assert_eq!(local_size(&words, &HashMap::new()), Some([64, 1, 1]));
        assert_eq!(local_size(&words, &HashMap::from([(3, 128)])), Some([128, 1, 1]));
    }

    #[test]
    fn a_malformed_module_has_none() {
        assert_eq!(local_size(&[], &HashMap::new()), None);
        assert_eq!(local_size(&[0; 6], &HashMap::new()), None);
        assert_eq!(local_size(&module(&[&[OP_DECORATE, 1]])[..6], &HashMap::new()), None);
    }
}
