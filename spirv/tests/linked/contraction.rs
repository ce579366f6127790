//! The instructions that may be contracted, and the buffers that may be the same.

use dml_spirv::product::{Arithmetic, Product, Tile};

use super::every_kernel;

/// Where each instruction of a module begins.
pub(crate) fn instructions(words: &[u32]) -> impl Iterator<Item = &[u32]> {
    let mut at = 5;
    std::iter::from_fn(move || {
        let start = at;
        at += (*words.get(start)? >> 16) as usize;
        Some(&words[start..at])
    })
}

const OP_DECORATE: u32 = 71;
pub(crate) const OP_VARIABLE: u32 = 59;
/// OpFAdd, OpFSub, OpFMul and OpFDiv.
const ROUNDED: [u32; 4] = [129, 131, 133, 136];
const NO_CONTRACTION: u32 = 42;
const ALIASED: u32 = 20;
pub(crate) const STORAGE_BUFFER: u32 = 12;

/// How the names of kernels end whose multiplications and additions may be fused.
const FUSED: &str = "arithmetic: FusedFloats }";

#[test]
fn nothing_is_contracted_unless_it_may_be_and_buffers_may_be_the_same() {
    let mut found = [0, 0];
    for (name, link) in every_kernel().into_iter().filter(|(name, _)| !name.ends_with(FUSED)) {
        let words = link();
        let is_decorated = |id: u32, decoration: u32| {
            instructions(&words)
                .any(|it| it[0] & 0xffff == OP_DECORATE && it[1..] == [id, decoration])
        };
        for it in instructions(&words) {
            let opcode = it[0] & 0xffff;
            if ROUNDED.contains(&opcode) {
                assert!(is_decorated(it[2], NO_CONTRACTION), "{name}: {it:?}");
                found[0] += 1;
            }
            if opcode == OP_VARIABLE && it[3] == STORAGE_BUFFER {
                assert!(is_decorated(it[2], ALIASED), "{name}: {it:?}");
                found[1] += 1;
            }
        }
    }
    assert!(found.iter().all(|it| *it > 0), "{found:?}");
}

#[test]
fn fused_kernels_differ_from_exact_ones_in_what_may_be_contracted_alone() {
    let mut fused = 0;
    for product in Product::all().filter(|it| it.arithmetic == Arithmetic::FusedFloats) {
        let exact = Product { arithmetic: Arithmetic::Floats, ..product };
        let is_kept = |it: &&[u32]| {
            it[0] & 0xffff != OP_DECORATE || it.get(2).copied() != Some(NO_CONTRACTION)
        };
        let [exact_words, words] = [exact, product].map(Product::spirv);
        assert!(instructions(&words).eq(instructions(&exact_words).filter(is_kept)), "{product:?}");
        assert!(words.len() < exact_words.len(), "{product:?}: nothing is decorated");
        assert_eq!(words[..5], exact_words[..5]);
        let names = [exact, product].map(|it| it.variant().name.clone());
        assert!(names[1].contains(" fused") && !names[0].contains("fused"), "{names:?}");
        fused += 1;
    }
    // Columns are whole or not, but for quads of depths.
    assert_eq!(fused, 2 * Tile::ALL.len() - 1);
}
