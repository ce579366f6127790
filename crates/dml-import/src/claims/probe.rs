//! A node by itself. Sizes that are guessed for a whole graph do not always fit the constants of a node: a
//! convolution after values of which nothing is known, for example, has as many channels as its filter, and
//! what is split into parts is as long as all of them. So sizes are taken from the node itself.

use std::collections::BTreeSet;

use dml_core::FeatureLevel;

use crate::error::Result;
use crate::graph::{Dimension, GraphInput, ValueId, fixed};
use crate::onnx::{Source, SourceAttribute, SourceTensor, SourceValue};

use super::Claim;
use super::round::{GUESSES, Round, Verdict};

/// Ranks that are tried where they are open.
const RANKS: std::ops::RangeInclusive<usize> = 1..=4;
/// How many sizes are tried, and how large they are at most.
const MOST_SIZES: usize = 12;
const LARGEST: u64 = 1 << 20;
/// How many assignments of different sizes to open dimensions are tried.
const MOST_ASSIGNMENTS: usize = 512;
/// Of how many inputs the first open dimension may be 1 alone.
const MOST_FLAT: usize = 4;
/// A constant with more elements is a weight, whose values are no sizes.
const FEW: usize = 64;

/// What is found of a node by itself.
pub(super) enum Found {
    Runs(Claim),
    /// Nothing of it is open, or no shape decides whether it runs.
    Settled,
    /// These sizes were tried for what is open, and none fits.
    None(Vec<u64>),
}

/// How the node with this number runs with some shapes that are made of its own sizes.
pub(super) fn claim(source: &Source, index: usize, level: FeatureLevel) -> Result<Found> {
    let alone = Alone::new(source, index)?;
    if !alone.is_open() || !alone.round.depends_on_shapes() {
        return Ok(Found::Settled);
    }
    for rank in RANKS {
        for sizes in alone.assignments(rank) {
            let verdict = alone.round.verdicts_for(level, alone.shapes(&sizes, rank))?.pop();
            if let Some(Verdict::Runs(claim)) = verdict {
                return Ok(Found::Runs(claim));
            }
        }
        if !alone.has_open_rank() {
            break;
        }
    }
    Ok(Found::None(alone.sizes))
}

/// How the node with this number runs on a device without graphs: as operators that are executed one by one.
/// No shape that it runs with may need a graph, or a higher level.
pub(super) fn single(source: &Source, index: usize, level: FeatureLevel) -> Result<Claim> {
    let alone = Alone::new(source, index)?;
    if let Some(input) = alone.round.first_unknown_to_host() {
        return Ok(Claim::Refused(super::decided_by_a_run(input)));
    }
    let mut verdict = Verdict::Blocked;
    for (size, rank) in GUESSES {
        let sizes = vec![size; alone.open_dimensions(rank)];
        let found = alone.round.single_operators(level, alone.shapes(&sizes, rank))?;
        verdict = verdict.or(found);
    }
    if alone.is_open() && !matches!(verdict, Verdict::NeedsLevel(_)) {
        // Uniform sizes come first: each is tried, and others until the node runs.
        let uniform = alone.sizes.len();
        for (number, sizes) in alone.assignments(*RANKS.end()).enumerate() {
            if number >= uniform && !matches!(verdict, Verdict::Refused(_) | Verdict::Blocked) {
                break;
            }
            let shapes = alone.shapes(&sizes, *RANKS.end());
            verdict = verdict.or(alone.round.single_operators(level, shapes)?);
        }
    }
    Ok(super::claim_of(verdict))
}

/// A node with what it reads.
struct Alone {
    round: Round,
    /// Those that may be what is open: the node's own sizes, largest first, and 1.
    sizes: Vec<u64>,
}

impl Alone {
    fn new(source: &Source, index: usize) -> Result<Self> {
        let node = source.nodes[index].clone();
        let is_read = |name: &str| !name.is_empty() && node.inputs.iter().any(|it| it == name);
        let values = source.nodes.iter().flat_map(|it| &it.outputs).chain(&source.inputs);
        let inputs: Vec<SourceValue> = values.filter(|it| is_read(&it.name)).cloned().collect();
        let constants =
            source.constants.iter().filter(|(name, _)| is_read(name)).cloned().collect();
        let written = node.outputs.iter().map(|it| it.name.clone());
        let outputs = written.filter(|name| !name.is_empty()).collect();
        let alone = Source { opset: source.opset, inputs, constants, nodes: vec![node], outputs };
        Ok(Self { sizes: sizes(&alone), round: Round::new(&alone, &[None])? })
    }

    fn inputs(&self) -> &[GraphInput] {
        &self.round.graph.inputs
    }

    fn is_open(&self) -> bool {
        self.inputs().iter().any(is_open)
    }

    fn has_open_rank(&self) -> bool {
        self.inputs().iter().any(|input| input.shape.is_none())
    }

    /// How many sizes are open where inputs of open rank have this one.
    fn open_dimensions(&self, rank: usize) -> usize {
        let is_open = |it: &&Dimension| !matches!(it, Dimension::Known(_));
        let count = |input: &GraphInput| match &input.shape {
            Some(shape) => shape.iter().filter(is_open).count(),
            None => rank,
        };
        self.inputs().iter().map(count).sum()
    }

    /// Sizes for all dimensions that are open: the same everywhere, then 1 for the first ones of some inputs,
    /// then any.
    fn assignments(&self, rank: usize) -> impl Iterator<Item = Vec<u64>> {
        let places = self.open_dimensions(rank);
        let uniform = self.sizes.iter().map(move |size| vec![*size; places]);
        let firsts = self.first_open(rank);
        let flats = 1..1usize << firsts.len().min(MOST_FLAT);
        let flat = self.sizes.iter().flat_map(move |size| {
            let firsts = firsts.clone();
            flats.clone().map(move |flat| {
                let mut sizes = vec![*size; places];
                let is_flat = firsts.iter().enumerate().filter(|(bit, _)| flat >> bit & 1 == 1);
                is_flat.for_each(|(_, place)| sizes[*place] = 1);
                sizes
            })
        });
        uniform.chain(flat).chain(mixed(&self.sizes, places))
    }

    /// The number of each input's first open dimension among all open ones.
    fn first_open(&self, rank: usize) -> Vec<usize> {
        let mut first = 0;
        let mut all = Vec::new();
        for input in self.inputs() {
            let shape = input.shape.clone().unwrap_or_else(|| vec![Dimension::ANY; rank]);
            let open = shape.iter().filter(|it| !matches!(it, Dimension::Known(_))).count();
            all.extend((open > 0).then_some(first));
            first += open;
        }
        all
    }

    /// The shape of each input, with `sizes` for what is open.
    fn shapes(&self, sizes: &[u64], rank: usize) -> impl Fn(&GraphInput) -> Vec<u64> {
        let mut sizes = sizes.iter().copied();
        let mut shapes: Vec<(ValueId, Vec<u64>)> = Vec::new();
        for input in self.inputs() {
            let shape = input.shape.clone().unwrap_or_else(|| vec![Dimension::ANY; rank]);
            let size = |it: &Dimension| match it {
                Dimension::Known(size) => *size,
                _ => sizes.next().unwrap_or(1),
            };
            shapes.push((input.value, shape.iter().map(size).collect()));
        }
        move |input| {
            let found = shapes.iter().find(|(value, _)| *value == input.value);
            found.map(|(_, shape)| shape.clone()).unwrap_or_default()
        }
    }
}

fn is_open(input: &GraphInput) -> bool {
    input.shape.as_deref().and_then(fixed).is_none()
}

/// Every assignment of `sizes` to so many places, or some where those are too many.
fn mixed(sizes: &[u64], places: usize) -> impl Iterator<Item = Vec<u64>> {
    let count = u32::try_from(places).ok().and_then(|it| sizes.len().checked_pow(it));
    let is_every = count.is_some_and(|it| it <= MOST_ASSIGNMENTS);
    let count = if places < 2 { 0 } else { count.unwrap_or(usize::MAX).min(MOST_ASSIGNMENTS) };
    let mut state = 1u64;
    (0..count).map(move |number| {
        let mut rest = number;
        let mut digit = |_| {
            let digit = rest % sizes.len();
            rest /= sizes.len();
            if is_every {
                return sizes[digit];
            }
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Fewer than 2^31 sizes: the upper bits are the random ones.
            sizes[usize::try_from(state >> 33).unwrap_or(0) % sizes.len()]
        };
        (0..places).map(&mut digit).collect()
    })
}

/// The sizes that a node has by itself: those of what it reads, the numbers in its constants and attributes,
/// and what several of these come to. Largest first, and 1.
fn sizes(alone: &Source) -> Vec<u64> {
    let mut found = BTreeSet::new();
    let constants = alone.constants.iter().flat_map(|(_, it)| it.shape.iter().copied());
    let inputs = alone.inputs.iter().filter_map(|it| it.shape.as_ref()).flatten().flatten();
    found.extend(constants.chain(inputs.copied()));
    for (_, constant) in &alone.constants {
        add_numbers(&integers(constant), &mut found);
    }
    for (_, attribute) in alone.nodes.iter().flat_map(|node| &node.attributes) {
        match attribute {
            SourceAttribute::Int(one) => add_numbers(&[*one], &mut found),
            SourceAttribute::Ints(all) => add_numbers(all, &mut found),
            SourceAttribute::Tensor(tensor) => add_numbers(&integers(tensor), &mut found),
            _ => {}
        }
    }
    let fits = |size: &u64| (2..=LARGEST).contains(size);
    found.into_iter().rev().filter(fits).take(MOST_SIZES).chain([1]).collect()
}

/// Adds each number, their sum and their product; the square of one by itself, which is what blocks of
/// two dimensions have.
fn add_numbers(numbers: &[i64], sizes: &mut BTreeSet<u64>) {
    let numbers: Vec<u64> = numbers.iter().filter_map(|it| u64::try_from(*it).ok()).collect();
    let product = numbers.iter().try_fold(1u64, |product, it| product.checked_mul(*it));
    let sum = numbers.iter().try_fold(0u64, |sum, it| sum.checked_add(*it));
    let square = match numbers.as_slice() {
        [only] => only.checked_mul(*only),
        _ => None,
    };
    sizes.extend(numbers.into_iter().chain(product).chain(sum).chain(square));
}

/// The values of a small constant of integers.
fn integers(tensor: &SourceTensor) -> Vec<i64> {
    const INT32: i32 = 6;
    const INT64: i32 = 7;
    let number = |bytes: &[u8]| match *bytes {
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => i64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    };
    let width = match tensor.element {
        INT32 => 4,
        INT64 => 8,
        _ => return vec![],
    };
    tensor.bytes.chunks_exact(width).take(FEW).map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_assignments_are_all_tried_and_of_many_some() {
        let all: BTreeSet<Vec<u64>> = mixed(&[5, 3, 1], 2).collect();
        assert_eq!(all.len(), 9);
        let some: BTreeSet<Vec<u64>> = mixed(&[5, 3, 2, 1], 8).collect();
        assert!((MOST_ASSIGNMENTS / 2..=MOST_ASSIGNMENTS).contains(&some.len()), "{}", some.len());
        assert!(mixed(&[5, 3], 1).next().is_none());
    }

    #[test]
    fn numbers_give_themselves_their_sum_and_their_product() {
        let mut found = BTreeSet::new();
        add_numbers(&[2, 3, -1], &mut found);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [2, 3, 5, 6]);
        let mut found = BTreeSet::new();
        add_numbers(&[i64::MAX, i64::MAX, 3], &mut found);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [3, i64::MAX.unsigned_abs()]);
    }
}
