//! Kernels whose multiplications and additions the driver may fuse.

const HEADER_WORDS: usize = 5;
const OP_DECORATE: u32 = 71;
const NO_CONTRACTION: u32 = 42;

/// The SPIR-V module `words` without the decoration NoContraction, which keeps a driver from making one
/// rounding of a multiplication and the addition that follows. Nothing else of it changes: where a driver fuses
/// nothing, results are the same bits.
pub(super) fn without_no_contraction(words: &[u32]) -> Vec<u32> {
    let (header, mut rest) = words.split_at(HEADER_WORDS);
    let mut kept = header.to_vec();
    while let Some(first) = rest.first() {
        let (instruction, next) = rest.split_at((first >> 16) as usize);
        let is_decoration = first & 0xffff == OP_DECORATE;
        if !(is_decoration && instruction.get(2) == Some(&NO_CONTRACTION)) {
            kept.extend(instruction);
        }
        rest = next;
    }
    kept
}
