//! The node that computes an attention, of its members' dimensions, operands and programs.

use dml_spirv::ElementWidth;
use dml_spirv::attention::{Passes, SUM};
use dml_spirv::element_wise::{DIMENSIONS, ElementFormula as Functions, Formula, Source};

use super::axes::{Axes, Axis};
use super::order::{Aligned, Order, Roles};
use super::softmax::Softmax;
use crate::ir::space::Operand;
use crate::ir::{
    Along, Attention, BufferPosition, Formulas, Input, Map, SUMS, Sums, with_parameters_from,
};

/// Operands of the softmax's dimensions, before its other inputs.
const SCORES: usize = 0;
const WEIGHTS: usize = 1;
const SUM_OF_WEIGHTS: usize = 2;
const FIRST_INPUT: usize = 3;

/// Queries, keys and values, before other inputs of the node.
const FACTORS: usize = 3;

/// Operands of the last Map's dimensions; the sums of weights come after these where it reads them.
const READ: usize = 0;
const WRITTEN: usize = 1;
const READ_SUM: usize = 2;

/// The members of an attention.
pub(super) struct Parts<'a, 'p> {
    pub(super) scores: &'a Sums,
    /// The Map of the products that the softmax reads, and the products that it reads.
    pub(super) before: Option<(&'p Map, &'p Operand)>,
    pub(super) softmax: &'a Softmax<'p>,
    pub(super) found: &'a Sums,
    pub(super) last: Option<&'a Map>,
    pub(super) conversions: &'a [&'p Map],
}

impl Parts<'_, '_> {
    /// The kernel; `None` where dimensions do not correspond.
    pub(super) fn attention(&self) -> Option<Attention> {
        let weights = self.found.places.iter().take(SUMS);
        let written = self.softmax.written;
        let weights =
            weights.into_iter().position(|weight| Some(weight.buffer) == written.buffer)?;
        let is_whole = |place: &BufferPosition, operand: &Operand| {
            (Some(place.buffer), place.base) == (operand.buffer, operand.base)
        };
        let same = is_whole(&self.found.places[weights], written)
            && is_whole(&self.scores.places[SUMS], self.products());
        if !same {
            return None;
        }
        let aligned = self.aligned(weights)?;
        let moves = |factor: usize| {
            aligned.products.0[aligned.in_products[aligned.key]].strides[factor] != 0
        };
        let [query, key] = match [moves(0), moves(1)] {
            [false, true] => [0, 1],
            [true, false] => [1, 0],
            _ => return None,
        };
        let roles = Roles { query, key, value: 1 - weights };
        let order = Order::of(&aligned, &roles)?;
        self.put_together(&aligned, &roles, &order)
    }

    /// The products as they are read.
    fn products(&self) -> &Operand {
        self.before.map_or(self.softmax.scores, |(_, product)| product)
    }

    /// The dimensions of the softmax, with the strides of products, and those of the inputs of the Map before it at the end.
    fn rows(&self) -> Option<Axes> {
        let of_softmax = [self.softmax.scores, self.softmax.written, &self.softmax.sums];
        let inputs: Vec<&Operand> = self.softmax.inputs.iter().collect();
        let of_softmax = [&of_softmax[..], &inputs].concat();
        let mut rows = Axes::of_space(self.softmax.sizes, &of_softmax);
        let Some((map, product)) = self.before else { return Some(rows) };
        let others = self.inputs_before();
        let operands = [&[&map.space.output, product], others.as_slice()].concat();
        let mut of_map = Axes::of_space(&map.space.sizes, &operands);
        rows.divide(SCORES, &of_map, 0);
        of_map.divide(0, &rows, SCORES);
        let counterparts = rows.counterparts(SCORES, &of_map, 0)?;
        let is_same =
            (map.space.output.base == self.softmax.scores.base) && of_map.0.len() == rows.0.len();
        for (axis, counterpart) in rows.0.iter_mut().zip(counterparts) {
            let strides = &of_map.0[counterpart?].strides;
            axis.strides[SCORES] = strides[1];
            axis.strides.extend(&strides[2..]);
        }
        is_same.then_some(rows)
    }

    /// The inputs of the Map before the softmax beside the products.
    fn inputs_before(&self) -> Vec<&Operand> {
        let inputs = self
            .before
            .into_iter()
            .flat_map(|(map, product)| map.space.inputs.iter().filter(move |it| *it != product));
        inputs.collect()
    }

    /// The last Map's operands: weighted values, the output, and sums of weights where it reads them.
    fn operands_of_last<'a>(&self, map: &'a Map) -> Vec<&'a Operand> {
        let is_sum = |it: &&Operand| it.buffer == self.softmax.sums.buffer;
        let found = map.space.inputs.iter().find(|input| !is_sum(input));
        let sum = map.space.inputs.iter().find(is_sum);
        found.into_iter().chain([&map.space.output]).chain(sum).collect()
    }

    fn aligned(&self, weights: usize) -> Option<Aligned> {
        let mut rows = self.rows()?;
        let mut products = Axes::of_sums(self.scores);
        let mut found = Axes::of_sums(self.found);
        let mut last = match self.last {
            Some(map) => Axes::of_space(&map.space.sizes, &self.operands_of_last(map)),
            None => Axes(found.0.iter().filter(|it| it.strides[SUMS] != 0).map(written).collect()),
        };
        found.divide(SUMS, &last, READ);
        rows.divide(WEIGHTS, &found, weights);
        rows.divide(SCORES, &products, SUMS);
        products.divide(SUMS, &rows, SCORES);
        found.divide(weights, &rows, WEIGHTS);
        last.divide(READ, &found, SUMS);

        let all = |of: Vec<Option<usize>>| of.into_iter().collect::<Option<Vec<usize>>>();
        let in_products = all(rows.counterparts(SCORES, &products, SUMS)?)?;
        let in_found = all(rows.counterparts(WEIGHTS, &found, weights)?)?;
        let key = rows.without(SUM_OF_WEIGHTS)??;
        let depth = products.without(SUMS)?;
        let element = found.without(weights)?;
        let of_last = found.counterparts(SUMS, &last, READ)?;
        // Nothing but the depths, the keys and the elements is without a counterpart.
        let in_last: Vec<Option<usize>> = in_found.iter().map(|it| of_last[*it]).collect();
        let mut has_counterpart = in_last.iter().enumerate();
        let are_all = products.0.len() == rows.0.len() + usize::from(depth.is_some())
            && found.0.len() == rows.0.len() + usize::from(element.is_some())
            && last.0.len() + 1 == found.0.len()
            && has_counterpart.all(|(at, it)| it.is_some() == (at != key))
            && [&in_products, &in_found].into_iter().all(|it| are_distinct(it));
        if !are_all {
            return None;
        }
        let element = match element {
            Some(at) => Some([at, of_last[at]?]),
            None => None,
        };
        Some(Aligned {
            rows,
            products,
            found,
            last,
            in_products,
            in_found,
            in_last,
            key,
            depth,
            element,
        })
    }

    fn put_together(&self, aligned: &Aligned, roles: &Roles, order: &Order) -> Option<Attention> {
        let Aligned { rows, products, found, last, .. } = aligned;
        let of_products = |factor: usize| {
            let strides = |at: usize| products.0[aligned.in_products[at]].strides[factor];
            order.strides(strides, aligned.depth.map(|depth| products.0[depth].strides[factor]))
        };
        let of_found = |factor: usize| {
            let strides = |at: usize| found.0[aligned.in_found[at]].strides[factor];
            order.strides(
                strides,
                aligned.element.map(|element| found.0[element[0]].strides[factor]),
            )
        };
        let mut parameters = self.softmax.parameters.clone();
        let mut factors = vec![];
        let (mut inputs, mut others) = (vec![], vec![]);
        let of_scores = self.softmax.inputs.iter().chain(self.inputs_before());
        let of_scores: Vec<&Operand> = of_scores.collect();
        let places = [
            (self.scores, products, roles.query, of_products(roles.query), Along::Depths),
            (self.scores, products, roles.key, of_products(roles.key), Along::Depths),
            (self.found, found, roles.value, of_found(roles.value), Along::Elements),
        ];
        for (number, (sums, axes, factor, strides, along)) in places.into_iter().enumerate() {
            let place = sums.places[factor];
            let words = Operand::at(place.buffer, ElementWidth::B32, place.base);
            let words = Operand { strides, has_slack: place.has_slack, ..words };
            let conversion = self
                .conversions
                .iter()
                .find(|conversion| conversion.space.output.buffer == words.buffer);
            let Some(map) = conversion else {
                inputs.push(Input { operand: words, along });
                let (sources, program) = (vec![Source::Operand(number)], Functions::default());
                factors.push(Formula { sources, program });
                continue;
            };
            // One of several factors that a Map writes side by side begins further on.
            if words.base != map.space.output.base {
                return None;
            }
            let first = u32::try_from(parameters.len()).ok()?;
            parameters.extend(&map.computation.parameters);
            let program = with_parameters_from(&map.computation.program, first);
            let mut sources = vec![Source::Operand(number)];
            for (at, operand) in converted(map, axes, factor, &words)?.into_iter().enumerate() {
                if at == 0 {
                    inputs.push(Input { operand, along });
                    continue;
                }
                sources.push(Source::Operand(FACTORS + of_scores.len() + others.len()));
                others.push(Input { operand, along });
            }
            factors.push(Formula { sources, program });
        }
        for (at, operand) in (FIRST_INPUT..).zip(of_scores) {
            let inner = rows.0[aligned.key].strides[at];
            let strides = order.strides_of_queries(|axis| rows.0[axis].strides[at], inner);
            let operand = Operand { strides, ..operand.clone() };
            inputs.push(Input { operand, along: Along::Keys });
        }
        inputs.extend(others);
        let in_last = |at: usize| aligned.in_last[at].map_or(0, |it| last.0[it].strides[WRITTEN]);
        let inner = aligned.element.map_or(0, |element| last.0[element[1]].strides[WRITTEN]);
        let strides = order.strides_of_queries(in_last, inner);
        let (output, result) = self.result(aligned, &mut parameters)?;
        let [query, key, value] = factors.try_into().ok()?;
        let size = |at: Option<usize>, axes: &Axes| at.map_or(1, |it| axes.0[it].size);
        Some(Attention {
            outer: order.outer_sizes(rows),
            queries: size(order.query, rows),
            keys: rows.0[aligned.key].size,
            depths: size(aligned.depth, products),
            elements: size(aligned.element.map(|element| element[0]), found),
            inputs,
            output: Operand { strides, ..output },
            formulas: Formulas {
                factors: [query, key, value],
                score: self.softmax.score.clone(),
                greatest_epilogue: self.softmax.greatest_epilogue.clone(),
                weight: self.softmax.weight.clone(),
                sum_epilogue: self.softmax.sum_epilogue.clone(),
                share: self.softmax.share.clone(),
                result,
            },
            parameters,
            passes: Passes::Several,
        })
    }

    /// The output without its strides, and the formula for a weighted value and the sum of weights.
    fn result(&self, aligned: &Aligned, parameters: &mut Vec<u32>) -> Option<(Operand, Formula)> {
        let Some(map) = self.last else {
            let place = self.found.places[SUMS];
            let output = Operand::at(place.buffer, ElementWidth::B32, place.base);
            let (sources, program) = (vec![Source::Kept], Functions::default());
            return Some((output, Formula { sources, program }));
        };
        let reads_sum = self.operands_of_last(map).len() > READ_SUM;
        // Each weighted value has the sum of its own query.
        let lies_as_written = |at: usize| {
            let read = aligned.in_last[at].map_or(0, |it| aligned.last.0[it].strides[READ_SUM]);
            read == aligned.rows.0[at].strides[SUM_OF_WEIGHTS]
        };
        let stands_still = |it: [usize; 2]| aligned.last.0[it[1]].strides[READ_SUM] == 0;
        if reads_sum
            && !((0..aligned.rows.0.len()).all(lies_as_written)
                && aligned.element.is_none_or(stands_still))
        {
            return None;
        }
        let is_sum = |it: &Operand| it.buffer == self.softmax.sums.buffer;
        let source = |it: &Operand| if is_sum(it) { Source::Row(SUM) } else { Source::Kept };
        let first = u32::try_from(parameters.len()).ok()?;
        parameters.extend(&map.computation.parameters);
        let program = with_parameters_from(&map.computation.program, first);
        let sources = map.space.inputs.iter().map(source).collect();
        Some((map.space.output.clone(), Formula { sources, program }))
    }
}

fn are_distinct(numbers: &[usize]) -> bool {
    numbers.iter().enumerate().all(|(at, number)| !numbers[..at].contains(number))
}

/// A dimension of sums that are written as they are.
fn written(axis: &Axis) -> Axis {
    Axis { size: axis.size, strides: vec![axis.strides[SUMS]; 2] }
}

/// Whether a Map writes the words of a factor, from the first one on.
pub(super) fn is_conversion(map: &Map, factor: BufferPosition) -> bool {
    let output = &map.space.output;
    (output.buffer, output.base) == (Some(factor.buffer), factor.base)
        && output.width == ElementWidth::B32
}

/// The inputs of the Map that writes a factor, with the strides of the factor's dimensions.
fn converted(map: &Map, axes: &Axes, factor: usize, words: &Operand) -> Option<Vec<Operand>> {
    let operands: Vec<&Operand> =
        [&map.space.output].into_iter().chain(&map.space.inputs).collect();
    let mut of_map = Axes::of_space(&map.space.sizes, &operands);
    of_map.divide(0, axes, factor);
    let counterparts = axes.counterparts(factor, &of_map, 0)?;
    let stride_in = |input: usize, stride: i64| {
        let mut known = axes.0.iter().zip(&counterparts);
        let (_, at) = known.find(|(axis, _)| axis.strides[factor] == stride)?;
        Some(of_map.0[(*at)?].strides[input])
    };
    let mut inputs = vec![];
    for (number, input) in (1..).zip(&map.space.inputs) {
        let mut strides = [0; DIMENSIONS];
        for (place, stride) in strides.iter_mut().zip(words.strides) {
            *place = if stride == 0 { 0 } else { stride_in(number, stride)? };
        }
        inputs.push(Operand { strides, ..input.clone() });
    }
    Some(inputs)
}

/// Whether a Map reads nothing but weighted values, which products have written, and the sums of weights.
pub(super) fn is_last(map: &Map, found: &BufferPosition, softmax: &Softmax<'_>) -> bool {
    let is_found = |it: &Operand| (it.buffer, it.base) == (Some(found.buffer), found.base);
    let sums = &softmax.sums;
    let is_sum = |it: &Operand| (it.buffer, it.base) == (sums.buffer, sums.base);
    let all = &map.space.inputs;
    let are_words = |it: &Operand| it.is_plain() && it.width == ElementWidth::B32;
    all.iter().all(|it| are_words(it) && (is_found(it) || is_sum(it)))
        && all.iter().filter(|it| is_found(it)).count() == 1
        && all.iter().filter(|it| is_sum(it)).count() <= 1
        && map.space.output.is_plain()
}
