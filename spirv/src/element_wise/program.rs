//! A program, and the calls that it becomes in a kernel.

use crate::functions::{Function, Shape};
use crate::link::{Argument, Call, Callee, Source};
use crate::{ElementWidth, kernels};

/// Inputs that a program may have.
pub const MAX_INPUTS: usize = 7;
/// The operand of the output, after those of the inputs.
pub(super) const OUTPUT: usize = MAX_INPUTS;

/// How the innermost dimension of a space goes through an operand: what a kernel is linked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Stride 1, in rows of whole quads, each of which starts at a multiple of a quad.
    Whole,
    /// Any strides and sizes.
    Ragged,
    /// Stride 0; inputs only.
    Single,
}

/// A tensor, as a kernel loads or stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// How wide its elements are.
    pub width: ElementWidth,
    /// How they are accessed.
    pub access: Access,
}

/// A value while a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// The element of the n-th input.
    Input(usize),
    /// The result of the n-th step.
    Result(usize),
    /// The n-th parameter of the program, the same for all elements; below
    /// [`super::MAX_PARAMETERS`].
    Parameter(u32),
}

/// A function, applied to values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The function.
    pub function: &'static Function,
    /// What it is applied to: as many elements as it takes, then as many parameters.
    pub arguments: Vec<Value>,
}

impl Step {
    /// A function on the first inputs and the first parameters.
    pub fn of(function: &'static Function) -> Self {
        let parameters = (0..).take(function.parameters).map(Value::Parameter);
        let arguments = (0..function.arity).map(Value::Input).chain(parameters).collect();
        Self { function, arguments }
    }
}

/// What is computed for every element: steps in order, the last of which gives the output. Without
/// any the first input's bits are the output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Program {
    /// The steps.
    pub steps: Vec<Step>,
}

impl Program {
    /// The steps that apply one function after the other to the first input.
    pub fn chain(functions: impl IntoIterator<Item = &'static Function>) -> Self {
        let mut program = Self::default();
        program.apply_all(functions, Value::Input(0));
        program
    }

    /// One step: a function of the first inputs.
    pub fn of(function: &'static Function) -> Self {
        Self { steps: vec![Step::of(function)] }
    }

    /// Adds steps that apply one function after the other, and returns the result of the last one.
    pub fn apply_all(
        &mut self,
        functions: impl IntoIterator<Item = &'static Function>,
        first: Value,
    ) -> Value {
        functions.into_iter().fold(first, |value, function| self.apply(function, vec![value]))
    }

    /// Adds a step, and returns its result.
    pub fn apply(&mut self, function: &'static Function, arguments: Vec<Value>) -> Value {
        self.steps.push(Step { function, arguments });
        self.last()
    }

    /// The result of the last step.
    pub fn last(&self) -> Value {
        self.steps.len().checked_sub(1).map_or(Value::Input(0), Value::Result)
    }

    /// The output's element for those of the inputs, with the values of the parameters.
    pub(super) fn run(&self, inputs: &[u64], parameter: impl Fn(usize) -> u32) -> u64 {
        let mut results: Vec<u64> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let value = |it: &Value| match *it {
                Value::Input(index) => inputs[index],
                Value::Result(index) => results[index],
                Value::Parameter(index) => parameter(index as usize).into(),
            };
            let arguments: Vec<u64> = step.arguments.iter().map(value).collect();
            results.push((step.function.twin)(&arguments));
        }
        results.last().copied().unwrap_or(inputs[0])
    }
}

/// The calls of a kernel: loads of `inputs`, the program's steps, the store of the output.
pub(super) fn calls(program: &Program, inputs: &[Operand], output: Operand) -> Vec<Call> {
    let mut calls = Calls::default();
    let inputs: Vec<Registers> =
        inputs.iter().zip(0..).map(|(operand, index)| calls.load(*operand, index)).collect();
    let mut results: Vec<Registers> = Vec::new();
    for step in &program.steps {
        let mut arguments = Vec::with_capacity(step.arguments.len());
        for argument in &step.arguments {
            arguments.push(match *argument {
                Value::Input(index) => inputs[index].clone(),
                Value::Result(index) => results[index].clone(),
                Value::Parameter(index) => vec![calls.parameter(index)],
            });
        }
        let (elements, parameters) = arguments.split_at(step.function.arity);
        results.push(calls.apply(step.function, elements, &parameters.concat()));
    }
    let result = results.last().unwrap_or(&inputs[0]).clone();
    calls.store(output, &result);
    calls.made
}

/// The value of a quad: one register, or two for elements of 64 bits.
type Registers = Vec<Argument>;

/// The parameters of the function that the calls are in.
const COORDINATE: [Argument; 3] =
    [Argument::Parameter(0), Argument::Parameter(1), Argument::Parameter(2)];
const COUNT: Argument = Argument::Parameter(3);

#[derive(Default)]
struct Calls {
    made: Vec<Call>,
}

impl Calls {
    fn call(&mut self, callee: Callee, arguments: Vec<Argument>) -> Argument {
        self.made.push(Call { callee, arguments });
        Argument::Result(self.made.len() - 1)
    }

    /// Where the quad begins in an operand, its stride, and how many elements it has.
    fn place(&mut self, operand: u32) -> [Argument; 3] {
        let number = Argument::Literal(operand);
        let arguments = [&[number], COORDINATE.as_slice()].concat();
        let element = self.call(Callee::Exported("element_of"), arguments);
        let stride = self.call(Callee::Exported("inner_stride"), vec![number]);
        [element, stride, COUNT]
    }

    fn load(&mut self, operand: Operand, index: u32) -> Registers {
        let name = match operand.access {
            Access::Whole => "load_whole",
            Access::Ragged => "load_ragged",
            Access::Single => "load_single",
        };
        let imports = READS[index as usize].to_vec();
        let callee = Callee::Function { library: memory(operand.width), name, imports };
        let place = self.place(index);
        self.for_parts(operand.width, |calls, part| {
            calls.call(callee.clone(), [place.as_slice(), &[part]].concat())
        })
    }

    fn store(&mut self, operand: Operand, value: &Registers) {
        let name = match operand.access {
            Access::Whole => "store_whole",
            Access::Ragged | Access::Single => "store_ragged",
        };
        let imports = WRITES.map(|name| (name, Callee::Exported(name))).to_vec();
        let callee = Callee::Function { library: memory(operand.width), name, imports };
        let place = self.place(super::OUTPUT_BINDING);
        let mut registers = value.iter();
        self.for_parts(operand.width, |calls, part| {
            let register = *registers.next().expect("a value as wide as the output");
            calls.call(callee.clone(), [place.as_slice(), &[part, register]].concat())
        });
    }

    fn for_parts(
        &mut self,
        width: ElementWidth,
        mut of: impl FnMut(&mut Self, Argument) -> Argument,
    ) -> Registers {
        let parts = if width == ElementWidth::B64 { 2 } else { 1 };
        (0..parts).map(|part| of(self, Argument::Literal(part))).collect()
    }

    fn parameter(&mut self, index: u32) -> Argument {
        self.call(Callee::Exported("parameter"), vec![Argument::Literal(index)])
    }

    fn apply(
        &mut self,
        function: &Function,
        elements: &[Registers],
        parameters: &[Argument],
    ) -> Registers {
        let callee = Callee::Function {
            library: function.library,
            name: function.name,
            imports: Vec::new(),
        };
        let mut call = |registers: &mut dyn Iterator<Item = Argument>| {
            self.call(callee.clone(), registers.chain(parameters.iter().copied()).collect())
        };
        match function.shape {
            Shape::Alike => (0..elements[0].len())
                .map(|part| call(&mut elements.iter().map(|it| it[part])))
                .collect(),
            Shape::Widening => (0..2)
                .map(|part| {
                    let part = Argument::Literal(part);
                    call(&mut elements.iter().map(|it| it[0]).chain([part]))
                })
                .collect(),
            Shape::Narrowing => vec![call(&mut elements.concat().into_iter())],
        }
    }
}

/// What the loads of each input read by.
static READS: [[(&str, Callee); 3]; MAX_INPUTS] = {
    const fn reads(
        one: &'static str,
        two: &'static str,
        four: &'static str,
    ) -> [(&'static str, Callee); 3] {
        [
            ("read1", Callee::Exported(one)),
            ("read2", Callee::Exported(two)),
            ("read4", Callee::Exported(four)),
        ]
    }
    [
        reads("read1_0", "read2_0", "read4_0"),
        reads("read1_1", "read2_1", "read4_1"),
        reads("read1_2", "read2_2", "read4_2"),
        reads("read1_3", "read2_3", "read4_3"),
        reads("read1_4", "read2_4", "read4_4"),
        reads("read1_5", "read2_5", "read4_5"),
        reads("read1_6", "read2_6", "read4_6"),
    ]
};
/// What a store writes by.
const WRITES: [&str; 4] = ["write1", "write2", "write4", "merge1"];

fn memory(width: ElementWidth) -> &'static Source {
    match width {
        ElementWidth::B8 => &kernels::MEMORY_B8,
        ElementWidth::B16 => &kernels::MEMORY_B16,
        ElementWidth::B32 => &kernels::MEMORY_B32,
        ElementWidth::B64 => &kernels::MEMORY_B64,
    }
}
