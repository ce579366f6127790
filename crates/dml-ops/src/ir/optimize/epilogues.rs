//! Maps that read the result of a product of a matrix and a vector, each element once: an activation, a bias,
//! or a sum with the product. They become the end of the Reduce, which then writes their result.

use dml_spirv::element_wise::{
    DIMENSIONS, MAX_INPUTS, MAX_PARAMETERS, Value, estimated_bytes, estimated_bytes_of,
};

use super::fuse::{may_join, origin_of};
use super::merge::{append, extension};
use super::uses::Uses;
use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Buffer, Map, Node, Program, Recorded, Reduce, Reduction, Stage};

/// Fuses each product with the Map that reads its result, if no other node reads it.
pub(super) fn fuse(program: &Program, uses: &mut Uses) {
    for number in uses.numbers() {
        let Some((reader, node)) = with_reader(program, uses, number) else { continue };
        let Some(Recorded { origin, .. }) = uses.remove(number) else { continue };
        let origin = origin_of(&origin, uses.get(reader));
        uses.replace(reader, Recorded { node, origin });
    }
}

/// The Map that reads the result of the Reduce `number`, and the Reduce fused with it.
fn with_reader(program: &Program, uses: &Uses, number: usize) -> Option<(usize, Node)> {
    let Node::Reduce(reduce) = &uses.get(number)?.node else { return None };
    let result = reduce.space.output.buffer.filter(|buffer| matches!(buffer, Buffer::Local(_)))?;
    let reader = uses.only_reader(result)?;
    let Node::Map(map) = &uses.get(reader)?.node else { return None };
    let is_made_once = |it: &Buffer| program.stage(*it) != Stage::Execution;
    if !reduce.is_product()
        || reduce.grids.is_some()
        || !map.space.is_plain()
        || map.space.output.buffer.as_ref().is_none_or(is_made_once)
        || uses.only_writer(result) != Some(number)
        || !uses.reads_the_same(&reduce.space, number, reader)
    {
        return None;
    }
    let ended = ended(reduce, map)?;
    fits(&ended).then_some((reader, Node::Reduce(ended)))
}

/// `reduce` with `map` as its end; `None` where the Map reads results in another way than element by element.
fn ended(reduce: &Reduce, map: &Map) -> Option<Reduce> {
    let Reduce { space, reduction, .. } = reduce;
    let result = &space.output;
    let is_result = |it: &Operand| it.buffer == result.buffer;
    let mut views = map.space.inputs.iter().filter(|input| is_result(input));
    let view = views.next()?;
    if view.base != result.base || view.width != result.width {
        return None;
    }
    if views.any(|it| it.base != view.base || !it.lies_as(view, &map.space.sizes)) {
        return None;
    }
    let dimension_of = dimensions(space, &map.space, view)?;
    let in_rows = |it: &Operand| {
        let strides = dimension_of.map(|of| of.map_or(0, |dimension| it.strides[dimension]));
        Operand { strides, ..it.clone() }
    };
    let mut inputs = space.inputs.clone();
    let mut values = Vec::with_capacity(map.space.inputs.len());
    for input in &map.space.inputs {
        if is_result(input) {
            values.push(Value::Input(0));
        } else {
            inputs.push(in_rows(input));
            values.push(Value::Input(reduction.ends + inputs.len() - space.inputs.len()));
        }
    }
    let first_parameter = u32::try_from(reduction.parameters.len()).ok()?;
    let mut last = reduction.last.clone();
    let extension = extension(&last, reduction.reducer.output_width(), result.width);
    let reduced = last.apply_all(extension, last.last());
    for value in values.iter_mut().filter(|value| **value == Value::Input(0)) {
        *value = reduced;
    }
    append(&mut last, &map.computation.program, &values, first_parameter);
    let reduction = Reduction {
        last,
        ends: reduction.ends + inputs.len() - space.inputs.len(),
        parameters: [reduction.parameters.as_slice(), &map.computation.parameters].concat(),
        ..reduction.clone()
    };
    let space = IterationSpace { sizes: space.sizes, inputs, output: in_rows(&map.space.output) };
    Some(Reduce { space, reduction, ..reduce.clone() })
}

/// The dimension of `map` for each dimension of `rows`: the one with the same size, in which `view` has the
/// stride of the results. Reduced dimensions have none. `None` where `map` has other dimensions, or does not
/// read each result once.
fn dimensions(
    rows: &IterationSpace,
    map: &IterationSpace,
    view: &Operand,
) -> Option<[Option<usize>; DIMENSIONS]> {
    let mut left: Vec<usize> = (0..DIMENSIONS).filter(|at| map.sizes[*at] > 1).collect();
    let mut found = [None; DIMENSIONS];
    let of_rows = rows.sizes.into_iter().zip(rows.output.strides).zip(&mut found);
    for ((size, stride), found) in of_rows.filter(|(it, _)| it.0 > 1 && it.1 != 0) {
        let is_same = |it: &usize| (map.sizes[*it], view.strides[*it]) == (size, stride);
        let same = left.iter().position(is_same)?;
        *found = Some(left.swap_remove(same));
    }
    left.is_empty().then_some(found)
}

/// Whether a Reduce with an end can be one kernel.
fn fits(Reduce { space, reduction, .. }: &Reduce) -> bool {
    let inputs = space.inputs.len();
    let before = estimated_bytes(&reduction.program, inputs);
    let after = estimated_bytes(&reduction.last, reduction.ends);
    let steps = reduction.program.steps.iter().chain(&reduction.last.steps);
    let both = estimated_bytes_of(steps.map(|step| step.function), inputs);
    inputs <= MAX_INPUTS
        && reduction.parameters.len() <= MAX_PARAMETERS
        && may_join(both, before.max(after))
}
