//! Evaluates a node by itself. Sizes guessed for a whole graph do not always fit the constants of a node: a
//! convolution of an unknown value, for example, needs as many channels as its filter has, and a Split needs
//! the sum of its parts. So the sizes tried are taken from the node itself.

use std::collections::BTreeSet;

use dml_core::FeatureLevel;

use crate::error::Result;
use crate::graph::{Dimension, GraphInput, ValueId, fixed};
use crate::onnx::{Source, SourceAttribute, SourceTensor, SourceValue};

use super::Claim;
use super::round::{GUESSES, Round, Verdict};

/// Ranks that are tried where they are open.
const RANKS: std::ops::RangeInclusive<usize> = 1..=4;
/// The number of sizes that are tried, and the largest one.
const MOST_SIZES: usize = 12;
const LARGEST: u64 = 1 << 20;
/// How many assignments of differing sizes to open dimensions are tried.
const MOST_ASSIGNMENTS: usize = 512;
/// The number of inputs whose first open dimension is tried as 1 while all others have another size.
const MOST_FLAT: usize = 4;
/// A constant with more elements is a weight, whose values are not sizes.
const FEW: usize = 64;

/// The result of evaluating a node by itself.
pub(super) enum ProbeResult {
    Runs(Claim),
    /// The node has no open shape, or no shape decides whether it runs.
    Settled,
    /// The node runs with none of these sizes.
    None(Vec<u64>),
}

/// Tries the node with this index for shapes made of the node's own sizes.
pub(super) fn claim(source: &Source, index: usize, level: FeatureLevel) -> Result<ProbeResult> {
    let alone = Alone::new(source, index)?;
    if !alone.is_open() || !alone.round.depends_on_shapes() {
        return Ok(ProbeResult::Settled);
    }
    for rank in RANKS {
        for sizes in alone.assignments(rank) {
            let verdict = alone.round.verdicts_for(level, alone.shapes(&sizes, rank))?.pop();
            if let Some(Verdict::Runs(claim)) = verdict {
                return Ok(ProbeResult::Runs(claim));
            }
        }
        if !alone.has_open_rank() {
            break;
        }
    }
    Ok(ProbeResult::None(alone.sizes))
}

/// The claim of the node with this index on a device without graphs, where operators are executed one by one.
/// The node is refused if any shape that it runs with needs a graph or a higher feature level.
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
        // Uniform sizes come first: all of them are tried, and then others until the node runs.
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

/// A node as the only one of a graph, with the values that it reads as inputs.
struct Alone {
    round: Round,
    /// Candidates for open sizes: the node's own sizes, largest first, and 1.
    sizes: Vec<u64>,
}

impl Alone {
    fn new(source: &Source, index: usize) -> Result<Self> {
        let node = source.nodes[index].clone();
        let is_read =
            |name: &str| !name.is_empty() && node.inputs.iter().any(|input| input == name);
        let values = source.nodes.iter().flat_map(|node| &node.outputs).chain(&source.inputs);
        let inputs: Vec<SourceValue> =
            values.filter(|value| is_read(&value.name)).cloned().collect();
        let constants =
            source.constants.iter().filter(|(name, _)| is_read(name)).cloned().collect();
        let written = node.outputs.iter().map(|output| output.name.clone());
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

    /// The number of open dimensions if inputs of open rank have this rank.
    fn open_dimensions(&self, rank: usize) -> usize {
        let is_open = |it: &&Dimension| !matches!(it, Dimension::Known(_));
        let count = |input: &GraphInput| match &input.shape {
            Some(shape) => shape.iter().filter(is_open).count(),
            None => rank,
        };
        self.inputs().iter().map(count).sum()
    }

    /// Assignments to all open dimensions: uniform sizes first, then with 1 for the first open dimension of
    /// some inputs, then mixed sizes.
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

    /// For each input, the index of its first open dimension among all open dimensions.
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

    /// The shape of each input, with `sizes` for the open dimensions.
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

/// All assignments of `sizes` to this many `places`, or a random selection if there are too many.
fn mixed(sizes: &[u64], places: usize) -> impl Iterator<Item = Vec<u64>> {
    let count = u32::try_from(places).ok().and_then(|it| sizes.len().checked_pow(it));
    let is_every = count.is_some_and(|count| count <= MOST_ASSIGNMENTS);
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
            // There are fewer than 2^31 sizes, and the upper bits of the generator are the random ones.
            sizes[usize::try_from(state >> 33).unwrap_or(0) % sizes.len()]
        };
        (0..places).map(&mut digit).collect()
    })
}

/// A node's own sizes: the sizes of the tensors that it reads, the numbers in its integer constants and
/// attributes, and the sums and products of these. Largest first, and 1 last.
fn sizes(alone: &Source) -> Vec<u64> {
    let mut found = BTreeSet::new();
    let constants = alone.constants.iter().flat_map(|(_, it)| it.shape.iter().copied());
    let inputs = alone.inputs.iter().filter_map(|input| input.shape.as_ref()).flatten().flatten();
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

/// Adds each number, their sum and their product; of a single number its square, the area of a square block.
fn add_numbers(numbers: &[i64], sizes: &mut BTreeSet<u64>) {
    let numbers: Vec<u64> =
        numbers.iter().filter_map(|number| u64::try_from(*number).ok()).collect();
    let product = numbers.iter().try_fold(1u64, |product, it| product.checked_mul(*it));
    let sum = numbers.iter().try_fold(0u64, |sum, it| sum.checked_add(*it));
    let square = match numbers.as_slice() {
        [only] => only.checked_mul(*only),
        _ => None,
    };
    sizes.extend(numbers.into_iter().chain(product).chain(sum).chain(square));
}

/// The values of an integer tensor of few elements; empty for others.
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
