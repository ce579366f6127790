//! Divides a Map that ends a row group, where some of its operands have no single stride along a row.
//!
//! GROUP_NORMALIZATION scales each channel of a group by its own factor: a row has several channels, and no
//! single stride leads from the scale of an element to the scale of the next one. The group's kernel writes
//! the values before that to the output, or, where the output has not 32 bits, to memory of their own; the rest
//! is computed by another Map, from there.

use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, ElementFormula, FunctionCall, Value};

use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Buffer, Computation, Map, Node, Recorded, RowGroup};

/// The group with a last member that computes only the steps before such operands are read, and a Map that
/// computes the rest; `None` where more than one value would pass between them. The value passes in the output or in
/// `words`, a buffer with 32 bits for each element.
pub(super) fn with_last_divided(group: &RowGroup, words: Buffer) -> Option<(RowGroup, Map)> {
    let (first, last) = (group.members.first()?, group.members.last()?);
    let (Node::Reduce(rows), Node::Map(map)) = (&first.node, &last.node) else { return None };
    let output = &map.space.output;
    if !output.is_plain() || map.space.sizes != rows.space.sizes {
        return None;
    }
    let between = match output.width {
        ElementWidth::B32 => output.clone(),
        _ => Operand::at(words, ElementWidth::B32, 0).packed(&map.space.sizes),
    };
    let is_along: [bool; DIMENSIONS] =
        std::array::from_fn(|at| rows.space.sizes[at] > 1 && rows.space.output.strides[at] == 0);
    let uneven: Vec<bool> =
        map.space.inputs.iter().map(|input| !is_even(input, map, &is_along)).collect();
    // Buffers between members exist only within the kernel.
    let written: Vec<Buffer> =
        group.members.iter().flat_map(|member| member.node.writes()).collect();
    let is_outside = |it: &Operand| it.buffer.is_none_or(|buffer| !written.contains(&buffer));
    let late_inputs = map.space.inputs.iter().zip(&uneven).filter(|(_, is_uneven)| **is_uneven);
    if !late_inputs.map(|(it, _)| it).all(is_outside) {
        return None;
    }
    let (early, late) = divided(map, &uneven, &between)?;
    let results = between.buffer.into_iter().collect();
    let mut members = group.members.clone();
    members.pop();
    members.push(Recorded { node: Node::Map(early), origin: last.origin.clone() });
    // Nothing but the Map after the kernel reads what the kernel does not compute.
    let is_alone = group.results.as_slice() == output.buffer.as_slice();
    is_alone.then_some((RowGroup { members, results }, late))
}

/// Whether an operand and the output have a single stride along a row, which may have several dimensions.
fn is_even(operand: &Operand, map: &Map, is_along: &[bool; DIMENSIONS]) -> bool {
    let only_along = |it: &Operand| {
        let strides = std::array::from_fn(|at| if is_along[at] { it.strides[at] } else { 0 });
        Operand { strides, ..it.clone() }
    };
    let sizes = std::array::from_fn(|at| if is_along[at] { map.space.sizes[at] } else { 1 });
    let (inputs, output) = (vec![only_along(operand)], only_along(&map.space.output));
    let space = IterationSpace { sizes, inputs, output }.coalesced();
    operand.is_plain() && space.sizes.iter().filter(|size| **size > 1).count() < 2
}

/// Divides the Map into the steps that depend on no uneven input, and a Map with the steps that do. The operand `place`
/// holds the value that passes between them.
fn divided(map: &Map, uneven: &[bool], place: &Operand) -> Option<(Map, Map)> {
    let Computation { program, parameters, .. } = &map.computation;
    let mut is_late: Vec<bool> = vec![];
    for step in &program.steps {
        let depends = |value: &Value| match *value {
            Value::Input(at) => uneven[at],
            Value::Result(at) => is_late[at],
            Value::Parameter(_) => false,
        };
        is_late.push(step.arguments.iter().any(depends));
    }
    let between = between(program, uneven, &is_late)?;
    let even = |at: usize| uneven[..at].iter().filter(|is_uneven| !**is_uneven).count();
    let renumbered = |value: &Value| match *value {
        Value::Input(at) => Value::Input(even(at)),
        other => other,
    };
    let steps = program.steps[..=between].iter().map(|step| FunctionCall {
        function: step.function,
        arguments: step.arguments.iter().map(renumbered).collect(),
    });
    let program_of_early = ElementFormula { steps: steps.collect() };
    let early =
        Computation { program: program_of_early, packed: None, parameters: parameters.clone() };
    let inputs = map.space.inputs.iter().zip(uneven).filter(|(_, is_uneven)| !**is_uneven);
    let inputs = inputs.map(|(it, _)| it.clone()).collect();
    let space = IterationSpace { sizes: map.space.sizes, inputs, output: place.clone() };
    let early = Map { computation: early, space };
    let mut inputs = vec![place.clone()];
    let mut late = ElementFormula::default();
    let mut known: Vec<Option<Value>> = vec![None; program.steps.len()];
    known[between] = Some(Value::Input(0));
    for (number, step) in program.steps.iter().enumerate().filter(|(at, _)| is_late[*at]) {
        let mut argument = |value: &Value| match *value {
            Value::Input(at) => {
                let input = &map.space.inputs[at];
                let known = inputs.iter().position(|it| it == input);
                Some(Value::Input(known.unwrap_or_else(|| {
                    inputs.push(input.clone());
                    inputs.len() - 1
                })))
            }
            Value::Result(at) => known[at],
            Value::Parameter(at) => Some(Value::Parameter(at)),
        };
        let arguments: Option<Vec<Value>> = step.arguments.iter().map(&mut argument).collect();
        known[number] = Some(late.apply(step.function, arguments?));
    }
    let space = IterationSpace { inputs, ..map.space.clone() };
    let computation = Computation { program: late, packed: None, parameters: parameters.clone() };
    Some((early, Map { space, computation }))
}

/// The only step without uneven inputs whose result is read by steps with uneven inputs; it has 32 bits, as
/// the output has.
fn between(program: &ElementFormula, uneven: &[bool], is_late: &[bool]) -> Option<usize> {
    let mut crossing = vec![];
    let of_late = program.steps.iter().zip(is_late).filter(|(_, is_late)| **is_late);
    for value in of_late.flat_map(|(step, _): (&FunctionCall, _)| &step.arguments) {
        match *value {
            Value::Input(at) if !uneven[at] => return None,
            Value::Result(at) if !is_late[at] && !crossing.contains(&at) => crossing.push(at),
            _ => {}
        }
    }
    match crossing.as_slice() {
        // Later steps would be computed for nothing, so all early steps have to come before the late ones.
        [only] if is_late[..*only].iter().all(|it| !it) => {
            let width = program.steps[*only].function.widths()[1];
            (width == ElementWidth::B32).then_some(*only)
        }
        _ => None,
    }
}
