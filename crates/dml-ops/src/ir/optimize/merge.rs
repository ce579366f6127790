//! Merges two nodes: a Map, and the Map or Reduce that computes with its results.

use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{ElementFormula as Functions, Value};
use dml_spirv::functions::{F32_TO_F16, Function, ZERO_EXTEND_8, ZERO_EXTEND_16};

use crate::ir::space::{IterationSpace, Operand};
use crate::ir::with_parameters_from;
use crate::ir::{Computation, Map, Node, Reduce, Reduction};

/// `last` merged with `first`, whose elements it reads: it computes them itself at each coordinate. `None`
/// where `last` is neither a Map nor a Reduce.
pub(super) fn merged(first: &Map, last: &Node) -> Option<Node> {
    let most = first.space.inputs.len() + last.space().map_or(0, |space| space.inputs.len());
    let mut inputs = Inputs { sizes: &first.space.sizes, operands: Vec::with_capacity(most) };
    let of_first: Vec<Value> = first.space.inputs.iter().map(|input| inputs.read(input)).collect();
    let of_last = |space: &IterationSpace, inputs: &mut Inputs<'_>| -> Vec<Option<Value>> {
        // Other elements of the same buffer may be read, too.
        let output = &first.space.output;
        let is_result = |it: &Operand| {
            it.buffer == output.buffer
                && it.base == output.base
                && it.lies_as(output, &first.space.sizes)
        };
        space
            .inputs
            .iter()
            .map(|input| if is_result(input) { None } else { Some(inputs.read(input)) })
            .collect()
    };
    let Computation { program, packed, parameters } = &first.computation;
    let moved = u32::try_from(parameters.len()).ok()?;
    let extension = extension(program, first.space.inputs[0].width, first.space.output.width);
    let joined = |program: &Functions, extension, last: &Functions, reads: &[Option<Value>]| {
        let mut joined = Functions::default();
        let result = append(&mut joined, program, &of_first, 0);
        let result = joined.apply_all(extension, result);
        let reads: Vec<Value> = reads.iter().map(|read| read.unwrap_or(result)).collect();
        append(&mut joined, last, &reads, moved);
        joined
    };
    match last {
        Node::Map(Map { space, computation }) => {
            let reads = of_last(space, &mut inputs);
            // Packed functions need the elements of all operands to be equally wide.
            let width = first.space.output.width;
            let is_packed = first
                .space
                .operands()
                .chain(space.operands())
                .all(|operand| operand.width == width);
            let packed = packed.as_ref().zip(computation.packed.as_ref()).filter(|_| is_packed);
            let computation = Computation {
                program: joined(program, extension, &computation.program, &reads),
                packed: packed.map(|(one, other)| joined(one, None, other, &reads)),
                parameters: [parameters.as_slice(), &computation.parameters].concat(),
            };
            let space = IterationSpace { inputs: inputs.operands, ..space.clone() };
            Some(Node::Map(Map { space, computation }))
        }
        Node::Reduce(reduce) => {
            let reads = of_last(&reduce.space, &mut inputs);
            let reduction = Reduction {
                program: joined(program, extension, &reduce.reduction.program, &reads),
                last: with_parameters_from(&reduce.reduction.last, moved),
                parameters: [parameters.as_slice(), &reduce.reduction.parameters].concat(),
                ..reduce.reduction.clone()
            };
            let space = IterationSpace { inputs: inputs.operands, ..reduce.space.clone() };
            Some(Node::Reduce(Reduce { space, reduction, ..reduce.clone() }))
        }
        _ => None,
    }
}

/// The operands that a merged node reads, each once.
struct Inputs<'a> {
    sizes: &'a [u32; dml_spirv::element_wise::DIMENSIONS],
    operands: Vec<Operand>,
}

impl Inputs<'_> {
    fn read(&mut self, operand: &Operand) -> Value {
        let is_same = |it: &Operand| {
            it.buffer == operand.buffer
                && it.base == operand.base
                && it.lies_as(operand, self.sizes)
        };
        let known = self.operands.iter().position(is_same);
        Value::Input(known.unwrap_or_else(|| {
            self.operands.push(operand.clone());
            self.operands.len() - 1
        }))
    }
}

/// Adds the steps of `program`, whose inputs are `values` and whose first parameter is now `first_parameter`, and
/// returns its result.
pub(super) fn append(
    all: &mut Functions,
    program: &Functions,
    values: &[Value],
    first_parameter: u32,
) -> Value {
    let first = all.steps.len();
    if !program.steps.is_empty() {
        all.steps.own().reserve(program.steps.len());
    }
    for step in &program.steps {
        let argument = |value: &Value| match *value {
            Value::Input(index) => values[index],
            Value::Result(index) => Value::Result(first + index),
            Value::Parameter(index) => Value::Parameter(first_parameter + index),
        };
        all.apply(step.function, step.arguments.iter().map(argument));
    }
    if program.steps.is_empty() { values[0] } else { all.last() }
}

/// The function that clears the upper bits of a result of `program`, as if it were stored as an element of
/// `to` and loaded; `None` if these bits are zeros. `from` is the width of the elements of the first input.
pub(super) fn extension(
    program: &Functions,
    from: ElementWidth,
    to: ElementWidth,
) -> Option<&'static Function> {
    let last = program.steps.last().map(|it| it.function);
    let is_one_of = |functions: &[&Function]| match last {
        Some(last) => functions.contains(&last),
        // The result is an element of the first input, with zeros above.
        None => from.bits() <= to.bits(),
    };
    match to {
        ElementWidth::B8 if !is_one_of(&[&ZERO_EXTEND_8]) => Some(&ZERO_EXTEND_8),
        ElementWidth::B16 if !is_one_of(&[&F32_TO_F16, &ZERO_EXTEND_8, &ZERO_EXTEND_16]) => {
            Some(&ZERO_EXTEND_16)
        }
        _ => None,
    }
}
