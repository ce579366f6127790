//! Replaces costly functions of narrow elements by tables.
//!
//! An element of 16 bits has 65,536 values, and one of 8 bits 256. Functions of a single such element, such
//! as a GELU of FLOAT16 or the activation between a dequantization and a quantization, are computed on the
//! host for each value, by the functions' twins, and kept as constants. The kernel reads the result: a load
//! of a few bytes that caches hold, instead of hundreds of instructions, with the same bits.

use std::collections::HashMap;

use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{
    ElementFormula as Functions, FunctionCall, MAX_INPUTS, Value, estimated_bytes,
};
use dml_spirv::functions::{CLAMP_U8, F32_TO_F16, Function, SAME, ZERO_EXTEND_8, ZERO_EXTEND_16};

use crate::ir::space::{Displacement, Operand, SecondResult, bytes_shown};
use crate::ir::{Buffer, Content, Map, Node, Program};

/// The least estimated size of a kernel of the functions that a table replaces, in bytes of SPIR-V: an
/// exponential is larger, a square root is smaller.
const COSTLY: usize = 15 << 10;
/// The least number of elements that a Map computes for each value of a table.
const ELEMENTS_OF_A_VALUE: u64 = 4;
/// Tables need no more alignment than words.
const ALIGNMENT: u64 = 4;

/// Replaces functions by tables in the Maps of `program`, where a descriptor shows `most_shown` bytes.
pub(super) fn tabulate(program: &mut Program, most_shown: u64) {
    let mut nodes = std::mem::take(&mut program.nodes);
    // Layers of a model often have equal tables.
    let mut made: HashMap<Key, Buffer> = HashMap::new();
    for recorded in &mut nodes {
        let Node::Map(map) = &mut recorded.node else { continue };
        let known = map.space.inputs.iter().map(|input| known_element(program, input)).collect();
        let mut tables = Tables { most_shown, known };
        while let Some(unary) = tables.unary(map) {
            let buffer = *made.entry(tables.key(map, &unary)).or_insert_with(|| {
                let bytes = tables.table(map, &unary);
                program.declare(Content::Constant { bytes, alignment: ALIGNMENT })
            });
            tables.known.push(None);
            *map = unary.replaced(map, buffer);
        }
    }
    program.nodes = nodes;
}

/// The identity of a table: equal keys have equal elements.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    steps: Vec<(usize, FunctionCall)>,
    source: (Value, u32),
    last: usize,
    known: Vec<Option<u64>>,
    parameters: Vec<u32>,
    width: ElementWidth,
}

/// The element of a constant that a view has at every coordinate; `None` for other operands.
fn known_element(program: &Program, operand: &Operand) -> Option<u64> {
    let Buffer::Local(at) = operand.buffer? else { return None };
    let Content::Constant { bytes, .. } = &program.locals[at] else { return None };
    let is_one =
        operand.strides.iter().all(|stride| *stride == 0) && operand.displacement.is_none();
    if !is_one || operand.width == ElementWidth::B4 {
        return None;
    }
    let width = operand.width.bytes() as usize;
    let first = usize::try_from(operand.base).ok()? * width;
    let mut element = [0; 8];
    element[..width].copy_from_slice(bytes.get(first..first + width)?);
    Some(u64::from_le_bytes(element))
}

/// The number of bits of a function's result; the bits above them are zeros.
fn result_bits(function: &'static Function) -> u32 {
    match function {
        it if [&CLAMP_U8, &ZERO_EXTEND_8].contains(&it) => 8,
        it if [&F32_TO_F16, &ZERO_EXTEND_16].contains(&it) => 16,
        it => it.widths()[1].bits(),
    }
}

/// Finds the functions of a Map that tables may replace.
struct Tables {
    /// The most bytes that a descriptor shows.
    most_shown: u64,
    /// For each input its value, if it is a constant that is equal at every coordinate.
    known: Vec<Option<u64>>,
}

impl Tables {
    /// The costliest functions of a Map that a table may replace.
    fn unary(&self, map: &Map) -> Option<Unary> {
        let inputs = map.space.inputs.len();
        let steps = &map.computation.program.steps;
        if inputs >= MAX_INPUTS || estimated_bytes(&map.computation.program, inputs) < COSTLY {
            return None;
        }
        let elements = map.space.elements();
        let values = (0..inputs).map(Value::Input).chain((0..steps.len()).map(Value::Result));
        let unary = values.filter_map(|source| {
            let bits = self.value_bits(map, source)?;
            let unary = self.of_value(map, source, bits)?;
            let values = 1_u64 << bits;
            let is_worth = elements / ELEMENTS_OF_A_VALUE >= values
                && bytes_shown(unary.width(map), values - 1) <= self.most_shown;
            is_worth.then_some((unary.cost(steps), unary))
        });
        let (cost, unary) = unary.max_by_key(|(cost, _)| *cost)?;
        (cost >= COSTLY).then_some(unary)
    }

    /// All steps that depend on `source` alone; `None` where other steps read more than one of their results.
    fn of_value(&self, map: &Map, source: Value, bits: u32) -> Option<Unary> {
        let steps = &map.computation.program.steps;
        let mut has_step = vec![];
        for step in steps {
            let is_own = |value: &Value| match *value {
                Value::Result(at) if has_step[at] => true,
                value => value == source,
            };
            let is_known = |value: &Value| match *value {
                Value::Input(at) => self.known[at].is_some(),
                Value::Result(_) => false,
                Value::Parameter(_) => true,
            };
            let arguments = &step.arguments;
            let depends_on_it_alone =
                arguments.iter().all(|argument| is_own(argument) || is_known(argument));
            has_step.push(depends_on_it_alone && arguments.iter().any(is_own));
        }
        let displacements =
            map.space.operands().filter_map(|operand| operand.displacement).map(|it| it.by);
        let second = map.space.output.second.map(|it| it.value);
        let others = steps.iter().zip(&has_step).filter(|(_, is_own)| !**is_own);
        let read = others.flat_map(|(step, _)| step.arguments.iter().copied());
        let read = read.chain(displacements).chain(second);
        let result = Value::Result(steps.len().checked_sub(1)?);
        let mut results = read.chain([result]).filter_map(|value| match value {
            Value::Result(at) if has_step[at] => Some(at),
            _ => None,
        });
        let last = results.next()?;
        let is_word = steps[last].function.widths()[1] == ElementWidth::B32;
        (is_word && results.all(|it| it == last)).then_some(Unary { source, bits, has_step, last })
    }

    /// The number of bits of a value that varies, if it is 8 or 16.
    fn value_bits(&self, map: &Map, value: Value) -> Option<u32> {
        let bits = match value {
            Value::Input(at) if self.known[at].is_some() => return None,
            Value::Input(at) => map.space.inputs.get(at)?.width.bits(),
            Value::Result(at) => result_bits(map.computation.program.steps.get(at)?.function),
            Value::Parameter(_) => return None,
        };
        [8, 16].contains(&bits).then_some(bits)
    }

    fn key(&self, map: &Map, unary: &Unary) -> Key {
        let Map { computation, .. } = map;
        Key {
            steps: unary.own(&computation.program.steps).map(|(at, it)| (at, it.clone())).collect(),
            source: (unary.source, unary.bits),
            last: unary.last,
            known: self.known.clone(),
            parameters: computation.parameters.clone(),
            width: unary.width(map),
        }
    }

    /// The bytes of the table: the results for all values of the source.
    fn table(&self, map: &Map, unary: &Unary) -> Vec<u8> {
        let Map { computation, .. } = map;
        let width = unary.width(map).bytes() as usize;
        let functions = unary.functions(&computation.program.steps);
        let known = self.known.iter().map(|it| it.unwrap_or_default());
        let mut inputs: Vec<u64> = [0].into_iter().chain(known).collect();
        let mut bytes = Vec::with_capacity(width << unary.bits);
        for element in 0..1_u64 << unary.bits {
            inputs[0] = element;
            let result = functions.evaluated(&inputs, &computation.parameters).result();
            bytes.extend(&result.to_le_bytes()[..width]);
        }
        bytes
    }
}

/// Steps of a Map that depend on a single value, the source, and have one result.
struct Unary {
    source: Value,
    bits: u32,
    /// For each step of the program whether it is one of these steps.
    has_step: Vec<bool>,
    /// The step whose result other steps read, or which is the result of the program.
    last: usize,
}

impl Unary {
    fn own<'a>(
        &'a self,
        steps: &'a [FunctionCall],
    ) -> impl Iterator<Item = (usize, &'a FunctionCall)> {
        steps.iter().enumerate().filter(|(at, _)| self.has_step[*at])
    }

    /// These steps up to the last one, as a program of the source, its input 0, and of the Map's inputs after it.
    fn functions(&self, steps: &[FunctionCall]) -> Functions {
        let mut functions = Functions::default();
        let mut results = vec![Value::Input(0); steps.len()];
        for (at, step) in self.own(steps).take_while(|(at, _)| *at <= self.last) {
            let argument = |value: &Value| match *value {
                value if value == self.source => Value::Input(0),
                Value::Input(at) => Value::Input(at + 1),
                Value::Result(at) => results[at],
                value @ Value::Parameter(_) => value,
            };
            let arguments = step.arguments.iter().map(argument);
            results[at] = functions.apply(step.function, arguments);
        }
        functions
    }

    /// The estimated size of a kernel of these steps, in bytes.
    fn cost(&self, steps: &[FunctionCall]) -> usize {
        let steps = self.own(steps).map(|(_, step)| step.clone()).collect();
        estimated_bytes(&Functions { steps }, 1)
    }

    /// The width of the elements of the table.
    fn width(&self, map: &Map) -> ElementWidth {
        let steps = &map.computation.program.steps;
        // A store drops the upper bits; a displacement needs them.
        let mut displacements = map.space.operands().filter_map(|operand| operand.displacement);
        let is_only_stored = self.last + 1 == steps.len()
            && displacements.all(|displacement| displacement.by != Value::Result(self.last));
        let stored = is_only_stored.then_some(map.space.output.width.bits());
        match result_bits(steps[self.last].function).min(stored.unwrap_or(32)) {
            8 => ElementWidth::B8,
            16 => ElementWidth::B16,
            _ => ElementWidth::B32,
        }
    }

    /// The Map with the table in place of the steps.
    fn replaced(&self, map: &Map, table: Buffer) -> Map {
        let table_input = Value::Input(map.space.inputs.len());
        let mut program = Functions::default();
        let mut values: Vec<Value> = vec![];
        let renumbered = |value: Value, values: &[Value]| match value {
            Value::Result(at) => values[at],
            other => other,
        };
        for (at, step) in map.computation.program.steps.iter().enumerate() {
            values.push(match (at == self.last, self.has_step[at]) {
                (true, _) => table_input,
                // No step reads this value.
                (_, true) => self.source,
                _ => {
                    let argument = |it: &Value| renumbered(*it, &values);
                    let arguments = step.arguments.iter().map(argument);
                    program.apply(step.function, arguments)
                }
            });
        }
        if self.last + 1 == values.len() {
            program.apply(&SAME, [table_input]);
        }
        let by = renumbered(self.source, &values);
        let moved = |it: &Operand| {
            let displacement = it.displacement.map(|displacement| Displacement {
                by: renumbered(displacement.by, &values),
                ..displacement
            });
            let second = it
                .second
                .map(|second| SecondResult { value: renumbered(second.value, &values), ..second });
            Operand { displacement, second, ..it.clone() }
        };
        let width = self.width(map);
        let mut map = map.clone();
        map.space.inputs = map.space.inputs.iter().map(moved).collect();
        map.space.output = moved(&map.space.output);
        let most = (1_u64 << self.bits) - 1;
        let displacement = Some(Displacement::new(by, most));
        map.space.inputs.push(Operand { displacement, ..Operand::at(table, width, 0) });
        map.computation.program = program;
        map.computation.packed = None;
        map
    }
}
