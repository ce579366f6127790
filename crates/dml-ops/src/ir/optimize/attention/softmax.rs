//! The row group of a softmax: weights of scores, and their sum.

use dml_spirv::ElementWidth;
use dml_spirv::attention::{GREATEST, SUM};
use dml_spirv::element_wise::{DIMENSIONS, ElementFormula as Functions, Formula, Source, Value};
use dml_spirv::reduce::{Elements, GREATEST_F32, Reducer, SUM_F32};

use crate::ir::optimize::merge::append;
use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Buffer, Map, Node, Reduce, RowGroup, RowOrder, with_parameters_from};

/// Queries, keys and values come before the other inputs.
const FACTORS: usize = 3;

/// The members of a softmax, or of what comes before its last division.
pub(super) struct Softmax<'a> {
    pub(super) sizes: &'a [u32; DIMENSIONS],
    /// Products, or what a Map makes of them, as the members read them.
    pub(super) scores: &'a Operand,
    /// The weights, or their shares, as the last member writes them.
    pub(super) written: &'a Operand,
    /// The sums of weights.
    pub(super) sums: &'a Operand,
    greatest: &'a Operand,
    weights: &'a Operand,
    /// Other inputs of scores, weights and shares.
    pub(super) inputs: Vec<&'a Operand>,
    pub(super) score: Formula,
    pub(super) weight: Formula,
    pub(super) share: Option<Formula>,
    pub(super) parameters: Vec<u32>,
}

impl<'a> Softmax<'a> {
    /// The softmax of a group whose members are the greatest score, weights, their sum, and at most a Map of weights and sums;
    /// `None` for another group. `has_products` tells which buffers have products, or what a Map has
    /// made of them.
    pub(super) fn of(group: &'a RowGroup, has_products: impl Fn(Buffer) -> bool) -> Option<Self> {
        let (first, second, third, fourth) = match group.members.as_slice() {
            [a, b, c] => (&a.node, &b.node, &c.node, None),
            [a, b, c, d] => (&a.node, &b.node, &c.node, Some(&d.node)),
            _ => return None,
        };
        let (greatest, weights) = (reduce(first, &GREATEST_F32)?, map(second)?);
        let sums = reduce(third, &SUM_F32)?;
        let share = match fourth {
            Some(fourth) => Some(map(fourth)?),
            None => None,
        };
        let scores = &greatest.space.inputs;
        let scores = scores.iter().find(|score| score.buffer.is_some_and(&has_products))?;
        let mut softmax = Self {
            sizes: &greatest.space.sizes,
            scores,
            written: share.map_or(&weights.space.output, |it| &it.space.output),
            sums: &sums.space.output,
            greatest: &greatest.space.output,
            weights: &weights.space.output,
            inputs: vec![],
            score: none(),
            weight: none(),
            share: None,
            parameters: vec![],
        };
        softmax.score = softmax.formula(
            &greatest.space,
            &greatest.reduction.program,
            &greatest.reduction.parameters,
            SoftmaxOperand::Product,
        )?;
        let of_map = |softmax: &mut Self, map: &'a Map, kept| {
            let (program, parameters) = (&map.computation.program, &map.computation.parameters);
            softmax.formula(&map.space, program, parameters, kept)
        };
        softmax.weight = of_map(&mut softmax, weights, SoftmaxOperand::Product)?;
        if let Some(share) = share {
            softmax.share = Some(of_map(&mut softmax, share, SoftmaxOperand::Weight)?);
        }
        let adds_weights = sums.reduction.program.steps.is_empty()
            && matches!(sums.space.inputs.as_slice(), [it] if softmax.is(it, softmax.weights));
        let same_sizes =
            [&weights.space, &sums.space].into_iter().chain(share.map(|share| &share.space));
        let mut same_sizes = same_sizes.map(|same_size| same_size.sizes == greatest.space.sizes);
        (adds_weights && same_sizes.all(|same_size| same_size)).then_some(softmax)
    }

    /// Goes on from the products that a Map reads as `product`, where the members read what it has made of them.
    pub(super) fn after(&mut self, map: &'a Map, product: &Operand) -> Option<()> {
        let Map { space, computation } = map;
        let first = u32::try_from(self.parameters.len()).ok()?;
        self.parameters.extend(&computation.parameters);
        let program = with_parameters_from(&computation.program, first);
        let mut sources = vec![];
        let mut next = FACTORS + self.inputs.len();
        for operand in &space.inputs {
            if operand == product {
                sources.push(Source::Kept);
            } else {
                sources.push(Source::Operand(next));
                next += 1;
            }
        }
        let before = Formula { sources, program };
        self.score = composed(&before, &self.score);
        self.weight = composed(&before, &self.weight);
        Some(())
    }

    /// The buffers that members write for each other, but not what is read of the softmax as a whole.
    pub(super) fn inside(&self) -> impl Iterator<Item = Buffer> {
        let share = self.share.as_ref().map(|_| self.weights);
        let all = [self.greatest, self.sums].into_iter().chain(share);
        all.filter_map(|it| it.buffer).collect::<Vec<_>>().into_iter()
    }

    /// A program with its sources; `kept` says which value it goes on from.
    fn formula(
        &mut self,
        space: &'a IterationSpace,
        program: &Functions,
        parameters: &[u32],
        kept: SoftmaxOperand,
    ) -> Option<Formula> {
        let mut sources = vec![];
        for operand in &space.inputs {
            let (known, source) = match operand.buffer {
                it if it == self.scores.buffer && kept == SoftmaxOperand::Product => {
                    (self.scores, Source::Kept)
                }
                it if it == self.weights.buffer && kept == SoftmaxOperand::Weight => {
                    (self.weights, Source::Kept)
                }
                it if it == self.greatest.buffer => (self.greatest, Source::Row(GREATEST)),
                it if it == self.sums.buffer && kept == SoftmaxOperand::Weight => {
                    (self.sums, Source::Row(SUM))
                }
                _ => {
                    sources.push(self.input(operand)?);
                    continue;
                }
            };
            sources.push(self.is(operand, known).then_some(source)?);
        }
        let first = u32::try_from(self.parameters.len()).ok()?;
        self.parameters.extend(parameters);
        Some(Formula { sources, program: with_parameters_from(program, first) })
    }

    /// An operand that no member writes.
    fn input(&mut self, operand: &'a Operand) -> Option<Source> {
        let written = [self.scores, self.greatest, self.weights, self.sums, self.written];
        let is_written = written.iter().any(|it| it.buffer == operand.buffer);
        if is_written || !operand.is_plain() || operand.repeats > 0 {
            return None;
        }
        let known = self.inputs.iter().position(|input| *input == operand);
        Some(Source::Operand(
            FACTORS
                + known.unwrap_or_else(|| {
                    self.inputs.push(operand);
                    self.inputs.len() - 1
                }),
        ))
    }

    /// Whether an operand is the view that `known` is.
    fn is(&self, operand: &Operand, known: &Operand) -> bool {
        operand.buffer == known.buffer
            && operand.base == known.base
            && operand.lies_as(known, self.sizes)
            && operand.width == ElementWidth::B32
    }
}

/// The value that a formula goes on from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SoftmaxOperand {
    Product,
    Weight,
}

/// `then`, of what `first` computes where it goes on from a value.
fn composed(first: &Formula, then: &Formula) -> Formula {
    let mut sources = first.sources.clone();
    let mut program = first.program.clone();
    let inputs: Vec<Value> = (0..sources.len()).map(Value::Input).collect();
    let kept = if program.steps.is_empty() { inputs[0] } else { program.last() };
    let mut values = vec![];
    for source in &then.sources {
        if *source == Source::Kept {
            values.push(kept);
        } else {
            values.push(Value::Input(sources.len()));
            sources.push(*source);
        }
    }
    append(&mut program, &then.program, &values, 0);
    Formula { sources, program }
}

fn none() -> Formula {
    Formula { sources: vec![], program: Functions::default() }
}

/// A reduction of rows by a reducer, with nothing after it.
fn reduce<'a>(node: &'a Node, reducer: &'static Reducer) -> Option<&'a Reduce> {
    let Node::Reduce(reduce) = node else { return None };
    let Reduce { reduction, order, grids, .. } = reduce;
    let is_plain = *reduction.reducer == *reducer
        && reduction.last.steps.is_empty()
        && reduction.ends == 0
        && reduction.elements == Elements::Values
        && *order == RowOrder::Flattened
        && grids.is_none();
    is_plain.then_some(reduce)
}

fn map(node: &Node) -> Option<&Map> {
    let Node::Map(map) = node else { return None };
    let output = &map.space.output;
    (output.width == ElementWidth::B32 && output.is_plain()).then_some(map)
}
