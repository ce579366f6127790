//! Kernels of dot products of bytes, by the signs of both factors.

use super::Sign;

const HEADER_WORDS: usize = 5;
const OP_S_DOT: u32 = 4450;
const OP_U_DOT: u32 = 4451;
const OP_SU_DOT: u32 = 4452;

/// The linked SPIR-V module `words`, whose dot products are all of unsigned integers, with factors of these signs.
/// Their types stay unsigned words: the instruction decides how it reads the bytes.
pub(super) fn with_signs(mut words: Vec<u32>, rows: Sign, columns: Sign) -> Vec<u32> {
    // An instruction has its code, type and result, and then both factors. Of two signs the signed one is first.
    let (opcode, is_exchanged) = match (rows, columns) {
        (Sign::Unsigned, Sign::Unsigned) => (OP_U_DOT, false),
        (Sign::Signed, Sign::Signed) => (OP_S_DOT, false),
        (Sign::Signed, Sign::Unsigned) => (OP_SU_DOT, false),
        (Sign::Unsigned, Sign::Signed) => (OP_SU_DOT, true),
    };
    let mut rest = words.get_mut(HEADER_WORDS..).unwrap_or_default();
    while let Some(first) = rest.first().copied() {
        let (instruction, next) = rest.split_at_mut((first >> 16) as usize);
        if let [code, _, _, row, column, ..] = instruction
            && *code & 0xffff == OP_U_DOT
        {
            *code = *code & 0xffff_0000 | opcode;
            if is_exchanged {
                std::mem::swap(row, column);
            }
        }
        rest = next;
    }
    words
}
