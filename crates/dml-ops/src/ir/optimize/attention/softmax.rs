//! The row group of a softmax: weights of scores, and their sum.

use dml_spirv::ElementWidth;
use dml_spirv::attention::{GREATEST, SUM};
use dml_spirv::element_wise::{DIMENSIONS, ElementFormula as Functions, Formula, Source, Value};
use dml_spirv::reduce::{Elements, GREATEST_F32, Reducer, SUM_F32};

use crate::ir::optimize::merge::append;
use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{
    Buffer, Computation, Map, Node, Reduce, Reduction, RowGroup, RowOrder, with_parameters_from,
};

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
    pub(super) sums: Operand,
    greatest: Operand,
    weights: &'a Operand,
    /// The greatest scores and the sums before their epilogues.
    reduced: [&'a Operand; 2],
    /// Other inputs of scores, weights, epilogues and shares.
    pub(super) inputs: Vec<Operand>,
    pub(super) score: Formula,
    pub(super) greatest_epilogue: Option<Formula>,
    pub(super) weight: Formula,
    pub(super) sum_epilogue: Option<Formula>,
    pub(super) share: Option<Formula>,
    pub(super) parameters: Vec<u32>,
}

/// The nodes of a softmax.
struct Nodes<'a> {
    greatest: &'a Reduce,
    /// Maps of one element of each row: what a sink makes of the greatest score, and of the sum.
    greatest_epilogue: Option<&'a Map>,
    weights: &'a Map,
    sums: &'a Reduce,
    sum_epilogue: Option<&'a Map>,
    share: Option<&'a Map>,
}

impl<'a> Nodes<'a> {
    fn of(group: &'a RowGroup) -> Option<Self> {
        let mut members = group.members.iter().map(|member| &member.node).peekable();
        let greatest = reduce(members.next()?, &GREATEST_F32)?;
        let is_of_rows =
            |node: &&Node| map(node).is_some_and(|it| it.space.sizes != greatest.space.sizes);
        let greatest_epilogue = members.next_if(is_of_rows).and_then(map);
        let weights = map(members.next()?)?;
        let sums = reduce(members.next()?, &SUM_F32)?;
        let sum_epilogue = members.next_if(is_of_rows).and_then(map);
        let share = match members.next() {
            Some(node) => Some(map(node)?),
            None => None,
        };
        let nodes = Self { greatest, greatest_epilogue, weights, sums, sum_epilogue, share };
        let mut of_elements =
            [&weights.space, &sums.space].into_iter().chain(share.map(|it| &it.space));
        let same_sizes = of_elements.all(|space| space.sizes == greatest.space.sizes);
        (members.next().is_none() && same_sizes).then_some(nodes)
    }

    /// A view of one element of each row, in the space of all elements.
    fn of_row(&self, operand: &Operand) -> Operand {
        let IterationSpace { sizes, output, .. } = &self.greatest.space;
        let goes_along = |at: usize| sizes[at] > 1 && output.strides[at] == 0;
        let strides =
            std::array::from_fn(|at| if goes_along(at) { 0 } else { operand.strides[at] });
        Operand { strides, ..operand.clone() }
    }
}

impl<'a> Softmax<'a> {
    /// The softmax of a group whose members are the greatest score, weights, their sum, and at most a Map of weights and sums;
    /// a Map of rows may follow the greatest score and the sum. `None` for another group. `has_products` tells which buffers
    /// have products, or what a Map has made of them.
    pub(super) fn of(group: &'a RowGroup, has_products: impl Fn(Buffer) -> bool) -> Option<Self> {
        let nodes = Nodes::of(group)?;
        let Nodes { greatest, greatest_epilogue, weights, sums, sum_epilogue, share } = nodes;
        let scores = &greatest.space.inputs;
        let scores = scores.iter().find(|score| score.buffer.is_some_and(&has_products))?;
        let result = |reduce: &'a Reduce, epilogue: Option<&'a Map>| {
            epilogue.map_or(&reduce.space.output, |map| &map.space.output)
        };
        let mut softmax = Self {
            sizes: &greatest.space.sizes,
            scores,
            written: share.map_or(&weights.space.output, |it| &it.space.output),
            sums: nodes.of_row(result(sums, sum_epilogue)),
            greatest: nodes.of_row(result(greatest, greatest_epilogue)),
            weights: &weights.space.output,
            reduced: [&greatest.space.output, &sums.space.output],
            inputs: vec![],
            score: none(),
            greatest_epilogue: None,
            weight: none(),
            sum_epilogue: None,
            share: None,
            parameters: vec![],
        };
        let known = KnownOperands { kept: Some(scores.clone()), rows: vec![] };
        let Reduction { program, parameters, .. } = &greatest.reduction;
        softmax.score =
            softmax.formula(greatest.space.inputs.clone(), program, parameters, &known)?;
        let [reduced_greatest, reduced_sums] = softmax.reduced.map(|it| nodes.of_row(it));
        let rows = vec![(reduced_greatest, Source::Row(GREATEST))];
        softmax.greatest_epilogue =
            softmax.epilogue(&nodes, greatest_epilogue, KnownOperands { kept: None, rows })?;
        let ended_greatest = (softmax.greatest.clone(), Source::Row(GREATEST));
        let known =
            KnownOperands { kept: Some(scores.clone()), rows: vec![ended_greatest.clone()] };
        softmax.weight = softmax.of_map(weights, &known)?;
        let rows = vec![ended_greatest.clone(), (reduced_sums, Source::Row(SUM))];
        softmax.sum_epilogue =
            softmax.epilogue(&nodes, sum_epilogue, KnownOperands { kept: None, rows })?;
        if let Some(share) = share {
            let rows = vec![ended_greatest, (softmax.sums.clone(), Source::Row(SUM))];
            let known = KnownOperands { kept: Some(softmax.weights.clone()), rows };
            softmax.share = Some(softmax.of_map(share, &known)?);
        }
        let adds_weights = sums.reduction.program.steps.is_empty()
            && matches!(sums.space.inputs.as_slice(), [it] if softmax.is(it, softmax.weights));
        adds_weights.then_some(softmax)
    }

    fn of_map(&mut self, map: &Map, known: &KnownOperands) -> Option<Formula> {
        let Map { space, computation } = map;
        self.formula(space.inputs.clone(), &computation.program, &computation.parameters, known)
    }

    /// The formula of a Map of rows, of which there may be none: `Some(None)` then.
    fn epilogue(
        &mut self,
        nodes: &Nodes<'_>,
        map: Option<&Map>,
        known: KnownOperands,
    ) -> Option<Option<Formula>> {
        let Some(Map { space, computation }) = map else { return Some(None) };
        let inputs = space.inputs.iter().map(|input| nodes.of_row(input)).collect();
        let Computation { program, parameters, .. } = computation;
        Some(Some(self.formula(inputs, program, parameters, &known)?))
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
        let all = [&self.greatest, &self.sums].into_iter().chain(self.reduced).chain(share);
        all.filter_map(|it| it.buffer).collect::<Vec<_>>().into_iter()
    }

    /// A program with its sources.
    fn formula(
        &mut self,
        inputs: Vec<Operand>,
        program: &Functions,
        parameters: &[u32],
        known: &KnownOperands,
    ) -> Option<Formula> {
        let mut sources = vec![];
        for operand in inputs {
            let source = match known.named(&operand) {
                Some((named, source)) => self.is(&operand, named).then_some(source)?,
                None => self.input(operand)?,
            };
            sources.push(source);
        }
        let first = u32::try_from(self.parameters.len()).ok()?;
        self.parameters.extend(parameters);
        Some(Formula { sources, program: with_parameters_from(program, first) })
    }

    /// An operand that no member writes.
    fn input(&mut self, operand: Operand) -> Option<Source> {
        let written = [self.scores, &self.greatest, self.weights, &self.sums, self.written];
        let mut written = written.into_iter().chain(self.reduced);
        let is_written = written.any(|it| it.buffer == operand.buffer);
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

/// The operands of a formula that are values of the kernel.
struct KnownOperands {
    /// The value that the formula goes on from.
    kept: Option<Operand>,
    /// Values of rows.
    rows: Vec<(Operand, Source)>,
}

impl KnownOperands {
    /// The operand in the same buffer.
    fn named(&self, operand: &Operand) -> Option<(&Operand, Source)> {
        let kept = self.kept.iter().map(|it| (it, Source::Kept));
        let mut all = kept.chain(self.rows.iter().map(|(it, source)| (it, *source)));
        all.find(|(it, _)| it.buffer == operand.buffer)
    }
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
