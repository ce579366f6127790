//! The size and the shared memory of a SPIR-V module's work group.

use std::collections::HashMap;

use super::Limit;

const OP_EXECUTION_MODE: u32 = 16;
const OP_TYPE_BOOL: u32 = 20;
const OP_TYPE_INT: u32 = 21;
const OP_TYPE_FLOAT: u32 = 22;
const OP_TYPE_VECTOR: u32 = 23;
const OP_TYPE_MATRIX: u32 = 24;
const OP_TYPE_ARRAY: u32 = 28;
const OP_TYPE_STRUCT: u32 = 30;
const OP_TYPE_POINTER: u32 = 32;
const OP_VARIABLE: u32 = 59;
const STORAGE_WORKGROUP: u32 = 4;
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

/// The size and the shared memory of a work group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkGroup {
    /// Invocations in each dimension.
    pub size: [u32; 3],
    /// The total bytes of the variables in shared memory, without padding between their members.
    pub shared_bytes: u64,
}

/// A type of a shared variable or of a part of one.
enum Type {
    /// A scalar of this many bytes.
    Scalar(u64),
    /// A vector or matrix: the id of the component type, and the number of components.
    Several(u32, u32),
    /// An array: the id of the element type, and the id of the constant with its length.
    Array(u32, u32),
    /// A structure: the ids of its members' types.
    Struct(Vec<u32>),
}

#[derive(Default)]
struct ModuleFacts {
    literal: Option<[u32; 3]>,
    ids: Option<[u32; 3]>,
    built_in: Option<u32>,
    constants: HashMap<u32, u32>,
    composites: HashMap<u32, [u32; 3]>,
    spec_ids: HashMap<u32, u32>,
    types: HashMap<u32, Type>,
    /// The type behind each pointer type to shared memory.
    shared_pointers: HashMap<u32, u32>,
    /// The types of the variables in shared memory.
    shared: Vec<u32>,
}

/// The work group of the only entry point of `words`, with the values of `specialization` by constant id.
/// `None` if the module is malformed or states no size.
pub fn work_group(words: &[u32], specialization: &HashMap<u32, u32>) -> Option<WorkGroup> {
    let found = scan(words.get(HEADER_WORDS..)?)?;
    let value = |id: u32| {
        let specialized = found.spec_ids.get(&id).and_then(|spec_id| specialization.get(spec_id));
        specialized.or_else(|| found.constants.get(&id)).copied()
    };
    // The built-in takes precedence over the execution mode.
    let ids = match found.built_in {
        Some(id) => Some(*found.composites.get(&id)?),
        None => found.ids,
    };
    let size = match ids {
        Some([x, y, z]) => [value(x)?, value(y)?, value(z)?],
        None => found.literal?,
    };
    let bytes = found.shared.iter().map(|ty| found.bytes(*ty, &value));
    let shared_bytes = bytes.sum::<Option<u64>>()?;
    Some(WorkGroup { size, shared_bytes })
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
    /// The size of a type in bytes; `value` gives the values of constants.
    fn bytes(&self, ty: u32, value: &dyn Fn(u32) -> Option<u32>) -> Option<u64> {
        let times = |count: u32, ty| self.bytes(ty, value)?.checked_mul(count.into());
        match self.types.get(&ty)? {
            Type::Scalar(bytes) => Some(*bytes),
            Type::Several(ty, count) => times(*count, *ty),
            Type::Array(ty, length) => times(value(*length)?, *ty),
            Type::Struct(members) => members.iter().map(|member| self.bytes(*member, value)).sum(),
        }
    }

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
            (OP_TYPE_POINTER, [id, STORAGE_WORKGROUP, ty]) => {
                self.shared_pointers.insert(*id, *ty);
            }
            (OP_VARIABLE, [pointer, _, STORAGE_WORKGROUP, ..]) => {
                self.shared.extend(self.shared_pointers.get(pointer));
            }
            _ => self.note_type(opcode, operands),
        }
    }

    /// Records a type. Types are declared after their parts, so no type contains itself.
    fn note_type(&mut self, opcode: u32, operands: &[u32]) {
        let (id, ty) = match (opcode, operands) {
            (OP_TYPE_BOOL, [id]) => (id, Type::Scalar(4)),
            (OP_TYPE_INT | OP_TYPE_FLOAT, [id, bits, ..]) => {
                (id, Type::Scalar(u64::from(bits / 8)))
            }
            (OP_TYPE_VECTOR | OP_TYPE_MATRIX, [id, ty, count]) => (id, Type::Several(*ty, *count)),
            (OP_TYPE_ARRAY, [id, ty, length]) => (id, Type::Array(*ty, *length)),
            (OP_TYPE_STRUCT, [id, members @ ..]) => (id, Type::Struct(members.to_vec())),
            _ => return,
        };
        let is_known = |part: &u32| self.types.contains_key(part);
        let is_whole = match &ty {
            Type::Scalar(_) => true,
            Type::Several(part, _) | Type::Array(part, _) => is_known(part),
            Type::Struct(parts) => parts.iter().all(is_known),
        };
        if is_whole {
            self.types.entry(*id).or_insert(ty);
        }
    }
}

impl WorkGroup {
    /// The least values of device limits that the work group needs.
    pub fn needed_limits(&self) -> [(Limit, u64); 5] {
        let [x, y, z] = self.size.map(u64::from);
        [
            (Limit::MaxComputeWorkGroupSizeX, x),
            (Limit::MaxComputeWorkGroupSizeY, y),
            (Limit::MaxComputeWorkGroupSizeZ, z),
            (Limit::MaxComputeWorkGroupInvocations, x.saturating_mul(y).saturating_mul(z)),
            (Limit::MaxComputeSharedMemorySize, self.shared_bytes),
        ]
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

    fn size(words: &[u32], specialization: &HashMap<u32, u32>) -> Option<[u32; 3]> {
        work_group(words, specialization).map(|it| it.size)
    }

    #[test]
    fn a_literal_size_is_found() {
        let words = module(&[&[OP_EXECUTION_MODE, 4, MODE_LOCAL_SIZE, 8, 2, 1]]);
        assert_eq!(size(&words, &HashMap::new()), Some([8, 2, 1]));
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
        assert_eq!(size(&words, &HashMap::new()), Some([64, 1, 1]));
        assert_eq!(size(&words, &HashMap::from([(3, 128)])), Some([128, 1, 1]));
    }

    #[test]
    fn a_malformed_module_has_none() {
        assert_eq!(size(&[], &HashMap::new()), None);
        assert_eq!(size(&[0; 6], &HashMap::new()), None);
        assert_eq!(size(&module(&[&[OP_DECORATE, 1]])[..6], &HashMap::new()), None);
    }

    #[test]
    fn shared_variables_are_counted_with_their_specialized_lengths() {
        let variables = module(&[
            &[OP_EXECUTION_MODE, 4, MODE_LOCAL_SIZE, 8, 2, 1],
            &[OP_DECORATE, 11, DECORATION_SPEC_ID, 3],
            &[OP_TYPE_FLOAT, 5, 32],
            &[OP_TYPE_INT, 6, 16, 0],
            &[OP_TYPE_VECTOR, 7, 5, 4],
            &[OP_CONSTANT, 6, 10, 3],
            &[OP_SPEC_CONSTANT, 6, 11, 64],
            &[OP_TYPE_ARRAY, 12, 7, 11],
            &[OP_TYPE_STRUCT, 13, 5, 6],
            &[OP_TYPE_ARRAY, 14, 13, 10],
            &[OP_TYPE_POINTER, 20, STORAGE_WORKGROUP, 12],
            &[OP_TYPE_POINTER, 21, STORAGE_WORKGROUP, 14],
            &[OP_TYPE_POINTER, 22, 1, 12],
            &[OP_VARIABLE, 20, 30, STORAGE_WORKGROUP],
            &[OP_VARIABLE, 21, 31, STORAGE_WORKGROUP],
            &[OP_VARIABLE, 22, 32, 1],
        ]);
        let shared = |values| work_group(&variables, &values).map(|it| it.shared_bytes);
        assert_eq!(shared(HashMap::new()), Some(64 * 16 + 3 * 6));
        assert_eq!(shared(HashMap::from([(3, 100)])), Some(100 * 16 + 3 * 6));
    }

    #[test]
    fn a_type_that_is_part_of_itself_is_none() {
        let circle = module(&[
            &[OP_EXECUTION_MODE, 4, MODE_LOCAL_SIZE, 8, 2, 1],
            &[OP_TYPE_STRUCT, 5, 5],
            &[OP_TYPE_VECTOR, 6, 7, 2],
            &[OP_TYPE_VECTOR, 7, 6, 2],
            &[OP_TYPE_POINTER, 20, STORAGE_WORKGROUP, 6],
            &[OP_VARIABLE, 20, 30, STORAGE_WORKGROUP],
        ]);
        assert_eq!(work_group(&circle, &HashMap::new()), None);
    }
}
