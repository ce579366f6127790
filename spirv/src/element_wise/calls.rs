//! The calls that a program is translated to in a kernel.

use std::fmt;

use super::program::{AccessPattern, ElementFormula, KernelOperand, MAX_INPUTS, OUTPUT};
use super::steps::Value;
use super::{ElementWise, Second};
use crate::functions::{Function, Shape};
use crate::link::{Argument, Call, Callee};
use crate::{ElementWidth, NativeTypes};

/// The calls of a kernel: loads of its inputs, the program's steps, the stores of its results.
pub(super) fn calls(kernel: &ElementWise, types: NativeTypes) -> Vec<Call> {
    let mut calls = Calls::new(&kernel.inputs, types);
    let result = calls.run(&kernel.program);
    calls.store(kernel.output, &result);
    if let Some(second) = kernel.second {
        calls.store_second(kernel.output, second);
    }
    calls.made
}

/// The registers that hold a quad of values: one, or two for elements of 64 bits.
pub(crate) type Registers = Vec<Argument>;

/// The parameters of the function that the calls are in.
const COORDINATE: [Argument; 3] =
    [Argument::Parameter(0), Argument::Parameter(1), Argument::Parameter(2)];
/// The number of elements in the quad.
pub(crate) const COUNT: Argument = Argument::Parameter(3);

const WHOLE: Argument = Argument::Literal(super::QUAD);

/// Whether rows consist of whole quads, and which inputs are the same for all rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Quads {
    /// Whether every quad has four elements.
    pub are_whole: bool,
    /// The inputs that all rows share, a bit for each: their elements are located without the number of a row.
    pub in_every_row: u8,
}

impl Quads {
    fn is_in_every_row(self, input: usize) -> bool {
        self.in_every_row >> input & 1 != 0
    }
}

impl fmt::Display for Quads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.are_whole {
            f.write_str(" of quads")?;
        }
        let inputs = (0..8).filter(|it| self.is_in_every_row(*it));
        let inputs: Vec<String> = inputs.map(|input| format!("i{input}")).collect();
        if inputs.is_empty() {
            Ok(())
        } else {
            write!(f, " with {} in every row", inputs.join(" "))
        }
    }
}

/// Calls, while they are collected.
pub(crate) struct Calls<'a> {
    inputs: &'a [KernelOperand],
    /// The registers of each input that has been loaded.
    loaded: Vec<Option<Registers>>,
    results: Vec<Registers>,
    types: NativeTypes,
    quads: Quads,
    pub(crate) made: Vec<Call>,
}

impl<'a> Calls<'a> {
    /// No calls yet, in a function on quads of `inputs`. Functions may use `types`.
    pub(crate) fn new(inputs: &'a [KernelOperand], types: NativeTypes) -> Self {
        let loaded = vec![None; inputs.len()];
        Self {
            inputs,
            loaded,
            results: Vec::new(),
            types,
            quads: Quads::default(),
            made: Vec::new(),
        }
    }

    pub(super) fn inputs(&self) -> &'a [KernelOperand] {
        self.inputs
    }

    /// These calls, for rows of such `quads`.
    pub(crate) fn of(self, quads: Quads) -> Self {
        Self { quads, ..self }
    }

    /// Loads the inputs and applies the program to them. A displaced input is loaded where it is first needed.
    pub(crate) fn run(&mut self, program: &ElementFormula) -> Registers {
        for (index, operand) in self.inputs.iter().enumerate() {
            if operand.access.displacement().is_none() {
                self.value(Value::Input(index));
            }
        }
        self.apply_all(program)
    }

    /// Applies the program to these values instead of the kernel's inputs.
    pub(crate) fn run_on(&mut self, program: &ElementFormula, values: Vec<Registers>) -> Registers {
        let values = values.into_iter().map(Some).collect();
        let loaded = std::mem::replace(&mut self.loaded, values);
        self.results.clear();
        let result = self.apply_all(program);
        self.loaded = loaded;
        result
    }

    fn apply_all(&mut self, program: &ElementFormula) -> Registers {
        for step in &program.steps {
            let arguments: Vec<Registers> =
                step.arguments.iter().map(|argument| self.value(*argument)).collect();
            let (elements, parameters) = arguments.split_at(step.function.arity);
            let result = self.apply(step.function, elements, &parameters.concat());
            self.results.push(result);
        }
        self.value(program.last())
    }

    /// A value of the program. An input is loaded at its first use.
    pub(crate) fn value(&mut self, value: Value) -> Registers {
        match value {
            Value::Input(index) => self.loaded[index].clone().unwrap_or_else(|| {
                let registers = self.load(index);
                self.loaded[index] = Some(registers.clone());
                registers
            }),
            Value::Result(index) => self.results[index].clone(),
            Value::Parameter(index) => vec![self.parameter(index)],
        }
    }

    /// Adds a call, and returns its result.
    pub(crate) fn call(&mut self, callee: Callee, arguments: Vec<Argument>) -> Argument {
        self.made.push(Call { callee, arguments });
        Argument::Result(self.made.len() - 1)
    }

    /// The arguments that locate a quad in an operand: its first element, the stride, the number of elements,
    /// and the displacement of a displaced operand.
    fn place(&mut self, number: usize, access: AccessPattern) -> Vec<Argument> {
        self.place_at(number, access, COORDINATE[2])
    }

    /// As [`Self::place`], of the quad that begins at `x` of the row.
    pub(super) fn place_at(
        &mut self,
        number: usize,
        access: AccessPattern,
        mut x: Argument,
    ) -> Vec<Argument> {
        let operand = Argument::Literal(u32::try_from(number).expect("at most seven"));
        let are_neighbours = matches!(access, AccessPattern::Whole | AccessPattern::Moved(_));
        let [low, high, _] = COORDINATE;
        if let AccessPattern::Repeated(shift) = access {
            x = self.call(Callee::Exported("block_of"), vec![x, Argument::Literal(shift)]);
        }
        let (name, arguments) = match are_neighbours {
            _ if self.quads.is_in_every_row(number) => ("element_of_every_row", vec![operand, x]),
            true => (PLACES[number][1], vec![low, high, x]),
            false => (PLACES[number][0], vec![low, high, x]),
        };
        let element = self.call(Callee::Exported(name), arguments);
        let stride = match are_neighbours {
            true => Argument::Literal(1),
            false => self.call(Callee::Exported("inner_stride"), vec![operand]),
        };
        let displacement = access.displacement().map(|by| self.value(by)).unwrap_or_default();
        // The output keeps its count, or lavapipe (Mesa 22.3) compiles kernels anew: functions/memory.glsl.
        let is_read = number != OUTPUT;
        let count = if self.quads.are_whole && is_read { WHOLE } else { COUNT };
        [&[element, stride, count], displacement.as_slice()].concat()
    }

    pub(super) fn load(&mut self, input: usize) -> Registers {
        let KernelOperand { width, access } = self.inputs[input];
        let place = self.place(input, access);
        let name = match access {
            AccessPattern::Index => {
                return vec![self.call(Callee::Exported("numbers"), place[..2].to_vec())];
            }
            AccessPattern::Whole => "load_whole",
            AccessPattern::Ragged => "load_ragged",
            AccessPattern::Single | AccessPattern::Repeated(_) => "load_single",
            AccessPattern::Displaced(_) => "load_displaced",
            AccessPattern::Moved(_) => "load_moved",
        };
        let callee = self.memory_function(input, name);
        self.for_parts(width, |calls, part| {
            calls.call(callee.clone(), [place.as_slice(), &[part]].concat())
        })
    }

    /// A function of the library for memory that reads an input.
    pub(super) fn memory_function(&self, input: usize, name: &'static str) -> Callee {
        let width = self.inputs[input].width;
        let by_element = match width {
            ElementWidth::B8 => READS_OF_ELEMENTS[input][0],
            _ => READS_OF_ELEMENTS[input][1],
        };
        let by_element = ("read_element", Callee::Exported(by_element));
        let imports = READS[input].iter().cloned().chain([by_element]).collect();
        Callee::Function { library: self.types.memory(width), name, imports }
    }

    /// Stores the quad of the output.
    pub(crate) fn store(&mut self, output: KernelOperand, value: &Registers) {
        let name = match output.access {
            AccessPattern::Whole => "store_whole",
            AccessPattern::Displaced(_) => "store_displaced",
            _ => "store_ragged",
        };
        let place = self.place(OUTPUT, output.access);
        self.store_at(name, output.width, &place, value);
    }

    /// Stores one element of an input that the kernel writes to, of at most 32 bits.
    pub(crate) fn store_to_input(&mut self, input: usize, value: &Registers) {
        let element = self.call(Callee::Exported(PLACES[input][0]), COORDINATE.to_vec());
        let imports = WRITES_TO_INPUTS[input].to_vec();
        // Without types of the hardware, for which the skeleton has no such functions.
        let library = NativeTypes::NONE.memory(self.inputs[input].width);
        let callee = Callee::Function { library, name: "store_ragged", imports };
        // A literal stride, or lavapipe (Mesa 22.3) compiles kernels anew: functions/memory.glsl.
        let [stride, part] = [Argument::Literal(0); 2];
        self.call(callee, vec![element, stride, COUNT, part, value[0]]);
    }

    /// Stores a quad of second results: as many elements after the first results as their distance.
    fn store_second(&mut self, output: KernelOperand, second: Second) {
        debug_assert!(output.access.displacement().is_none(), "second results follow the first");
        let distance = self.parameter(second.distance);
        let place = self.place(OUTPUT, output.access);
        let value = self.value(second.value);
        let place = [place.as_slice(), &[distance]].concat();
        self.store_at("store_after", output.width, &place, &value);
    }

    fn store_at(
        &mut self,
        name: &'static str,
        width: ElementWidth,
        place: &[Argument],
        value: &Registers,
    ) {
        let by_element = if width == ElementWidth::B8 { "write_byte" } else { "write_half" };
        let by_element = ("write_element", Callee::Exported(by_element));
        let imports = WRITES.map(|name| (name, Callee::Exported(name)));
        let imports = imports.into_iter().chain([by_element]).collect();
        let callee = Callee::Function { library: self.types.memory(width), name, imports };
        let mut registers = value.iter();
        self.for_parts(width, |calls, part| {
            let register = *registers.next().expect("a value as wide as the output");
            calls.call(callee.clone(), [place, &[part, register]].concat())
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

    /// Applies a function to elements.
    pub(crate) fn apply(
        &mut self,
        function: &Function,
        elements: &[Registers],
        parameters: &[Argument],
    ) -> Registers {
        let callee = Callee::Function {
            library: self.types.library(function.library),
            name: function.name,
            imports: Vec::new(),
        };
        let mut call = |registers: &mut dyn Iterator<Item = Argument>| {
            self.call(callee.clone(), registers.chain(parameters.iter().copied()).collect())
        };
        match function.shape {
            Shape::Alike => (0..elements[0].len())
                .map(|part| call(&mut elements.iter().map(|element| element[part])))
                .collect(),
            Shape::Widening => (0..2)
                .map(|part| {
                    let part = Argument::Literal(part);
                    call(&mut elements.iter().map(|element| element[0]).chain([part]))
                })
                .collect(),
            Shape::Narrowing => vec![call(&mut elements.concat().into_iter())],
        }
    }
}

/// For each operand, the skeleton's functions that locate an element: of any stride, and with stride 1 in a row.
static PLACES: [[&str; 2]; super::OUTPUT_BINDING as usize + 1] = [
    ["element_of_0", "neighbour_of_0"],
    ["element_of_1", "neighbour_of_1"],
    ["element_of_2", "neighbour_of_2"],
    ["element_of_3", "neighbour_of_3"],
    ["element_of_4", "neighbour_of_4"],
    ["element_of_5", "neighbour_of_5"],
    ["element_of_6", "neighbour_of_6"],
    ["element_of_7", "neighbour_of_7"],
];

/// For each input, the skeleton's functions that its loads read one, two and four words with.
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
/// For each input, the skeleton's functions that read an element of 8 and of 16 bits, for devices with
/// such storage types.
static READS_OF_ELEMENTS: [[&str; 2]; MAX_INPUTS] = [
    ["read_byte_0", "read_half_0"],
    ["read_byte_1", "read_half_1"],
    ["read_byte_2", "read_half_2"],
    ["read_byte_3", "read_half_3"],
    ["read_byte_4", "read_half_4"],
    ["read_byte_5", "read_half_5"],
    ["read_byte_6", "read_half_6"],
];

/// For each input, the functions that a store to it writes with, of skeletons that have them.
static WRITES_TO_INPUTS: [[(&str, Callee); 2]; MAX_INPUTS] = {
    const fn writes(one: &'static str, merged: &'static str) -> [(&'static str, Callee); 2] {
        [("write1", Callee::Exported(one)), ("merge1", Callee::Exported(merged))]
    }
    [
        writes("write1_0", "merge1_0"),
        writes("write1_1", "merge1_1"),
        writes("write1_2", "merge1_2"),
        writes("write1_3", "merge1_3"),
        writes("write1_4", "merge1_4"),
        writes("write1_5", "merge1_5"),
        writes("write1_6", "merge1_6"),
    ]
};

/// The skeleton's functions that a store writes with.
const WRITES: [&str; 4] = ["write1", "write2", "write4", "merge1"];
