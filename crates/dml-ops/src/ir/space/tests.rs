use std::collections::BTreeSet;

use super::*;
use dml_reference::Random;

fn operand(strides: [i64; DIMENSIONS]) -> Operand {
    Operand { strides, ..Operand::at(Buffer::Input(0), ElementWidth::B32, 0) }
}

fn sizes_of(space: &IterationSpace) -> Vec<u32> {
    space.sizes.iter().copied().skip_while(|size| *size == 1).collect()
}

/// The elements of all operands that belong together, the output's last, for every coordinate.
pub(crate) fn tuples<B: Clone>(space: &IterationSpace<B>) -> Vec<Vec<i64>> {
    let total: u32 = space.sizes.iter().product();
    let tuple = |mut index: u32| {
        let mut elements: Vec<i64> = space.operands().map(|operand| operand.base).collect();
        for dimension in (0..DIMENSIONS).rev() {
            let at = i64::from(index % space.sizes[dimension]);
            index /= space.sizes[dimension];
            for (element, operand) in elements.iter_mut().zip(space.operands()) {
                *element += at * operand.strides[dimension];
            }
        }
        elements
    };
    (0..total).map(tuple).collect()
}

#[test]
fn packed_tensors_are_one_row() {
    let strides = [0, 0, 0, 0, 105, 35, 7, 1];
    let sizes = [1, 1, 1, 1, 2, 3, 5, 7];
    let space = IterationSpace { sizes, inputs: vec![operand(strides)], output: operand(strides) };
    assert_eq!(sizes_of(&space.coalesced()), [210]);
}

#[test]
fn a_bias_leaves_what_is_before_and_after_its_channels() {
    let sizes = [1, 1, 1, 1, 2, 3, 5, 7];
    let output = operand([0, 0, 0, 0, 105, 35, 7, 1]);
    let bias = operand([0, 0, 0, 0, 0, 1, 0, 0]);
    let space = IterationSpace { sizes, inputs: vec![bias], output }.coalesced();
    assert_eq!(sizes_of(&space), [2, 3, 35]);
    assert_eq!(space.inputs[0].strides[5..], [0, 1, 0]);
}

#[test]
fn an_output_that_is_transposed_is_walked_as_it_lies() {
    let sizes = [1, 1, 1, 1, 1, 1, 3, 4];
    let output = operand([0, 0, 0, 0, 0, 0, 1, 3]);
    let space = IterationSpace { sizes, inputs: vec![output.clone()], output }.coalesced();
    assert_eq!(sizes_of(&space), [12]);
}

#[test]
fn an_output_that_is_walked_backwards_is_walked_forwards() {
    let sizes = [1, 1, 1, 1, 1, 1, 1, 5];
    let mut output = operand([0, 0, 0, 0, 0, 0, 0, -1]);
    output.base = 4;
    let input = operand([0, 0, 0, 0, 0, 0, 0, 2]);
    let space = IterationSpace { sizes, inputs: vec![input], output }.coalesced();
    assert_eq!((space.output.base, space.output.strides[7]), (0, 1));
    assert_eq!((space.inputs[0].base, space.inputs[0].strides[7]), (8, -2));
}

#[test]
fn coalescing_keeps_together_what_belongs_together() {
    let mut random = Random::new("spaces");
    let mut fewer = 0;
    for _ in 0..2000 {
        let sizes: [u32; DIMENSIONS] = std::array::from_fn(|_| random.pick(&[1, 1, 1, 2, 3]));
        let mut next = 1_i64;
        let mut packed = [0; DIMENSIONS];
        for dimension in (0..DIMENSIONS).rev() {
            packed[dimension] = next * if random.one_in(6) { -1 } else { 1 };
            next = next * i64::from(sizes[dimension]) + i64::from(random.one_in(6));
        }
        if random.one_in(3) {
            packed.swap(random.below(8) as usize, random.below(8) as usize);
        }
        let mut input = || {
            let chance = random.pick(&[1, 4, 100]);
            operand(packed.map(|it| if random.one_in(chance) { 0 } else { it }))
        };
        let space =
            IterationSpace { sizes, inputs: vec![input(), input()], output: operand(packed) };
        let coalesced = space.clone().coalesced();
        let sorted = |space| tuples(space).into_iter().collect::<BTreeSet<_>>();
        assert_eq!(sorted(&coalesced), sorted(&space), "{space:?}");
        let strides = coalesced.output.strides;
        assert!(strides.is_sorted_by(|a, b| *a == 0 || a >= b), "{coalesced:?}");
        fewer += u32::from(sizes_of(&coalesced).len() < sizes_of(&space).len());
    }
    assert!(fewer > 500, "{fewer}");
}
