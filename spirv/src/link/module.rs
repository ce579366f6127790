//! A compiled GLSL file as the linker needs it: instructions and the positions of their ids.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use dml_core::kernel::{PushField, SpecializationConstant};

use super::spirv::op;

/// A compiled GLSL file, a skeleton or a library of functions, as it is checked in.
pub struct Source {
    /// The file's name, and the variant's if it is compiled in several.
    pub name: &'static str,
    /// SPIR-V, little-endian.
    pub spirv: &'static [u8],
    /// One little-endian word for each instruction, which says which of its words are ids
    /// ([`Instruction::ids`]). The build makes it with SPIR-V's grammar.
    pub relocations: &'static [u8],
    /// The interface of all kernels that are linked from it; [`Interface::NONE`] for a library.
    pub interface: Interface,
}

/// The interface of all kernels that are linked from a skeleton, whatever functions they have.
#[derive(Clone, Copy, Debug)]
pub struct Interface {
    /// The members of the push constant block, by ascending offset.
    pub push_fields: &'static [PushField],
    /// The binding number of the uniform block.
    pub uniform_binding: Option<u32>,
    /// The specialization constants, by ascending id.
    pub specialization_constants: &'static [SpecializationConstant],
}

impl Interface {
    /// A library's interface.
    pub const NONE: Self =
        Self { push_fields: &[], uniform_binding: None, specialization_constants: &[] };
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Source").field(&self.name).finish()
    }
}

/// One instruction, borrowed from its module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction<'a> {
    pub(super) words: &'a [u32],
    relocation: u32,
}

impl<'a> Instruction<'a> {
    pub(super) fn opcode(self) -> u32 {
        self.words[0] & 0xffff
    }

    /// The positions of the ids that the instruction uses, without the id of its result.
    pub(super) fn ids(self) -> impl Iterator<Item = usize> + use<'a> {
        let result = self.result_at();
        let named = move |it: &usize| self.relocation & 0xff_ffff & (1 << (it - 1)) != 0;
        (1..self.words.len()).filter(named).filter(move |it| Some(*it) != result)
    }

    /// The position of the id that the instruction defines.
    pub(super) fn result_at(self) -> Option<usize> {
        Some((self.relocation >> 24) as usize).filter(|it| *it > 0)
    }

    pub(super) fn result(self) -> Option<u32> {
        self.result_at().map(|result_at| self.words[result_at])
    }
}

/// A module, divided into the parts that the linker takes from it.
#[derive(Debug)]
pub(super) struct Module {
    words: Vec<u32>,
    /// Where each instruction is, and its relocation.
    instructions: Vec<(Range<usize>, u32)>,
    /// Types, constants, variables and imported instruction sets, by the id that they define.
    pub(super) globals: HashMap<u32, usize>,
    /// Decorations and member decorations by the id that they decorate.
    pub(super) decorations: HashMap<u32, Vec<usize>>,
    /// The functions by name, as they are written in GLSL.
    pub(super) functions: HashMap<String, Range<usize>>,
    /// The names of the functions by id.
    pub(super) function_names: HashMap<u32, String>,
    /// Names of variables and types.
    pub(super) names: HashMap<u32, usize>,
    /// Capabilities, extensions, the memory model, the entry point and its modes.
    pub(super) preamble: Vec<usize>,
}

impl Module {
    pub(super) fn of(source: &Source) -> Self {
        let words = words_of(source.spirv);
        let mut relocations = words_of(source.relocations).into_iter();
        let mut instructions = Vec::new();
        let mut at = HEADER_WORDS;
        while at < words.len() {
            let end = at + (words[at] >> 16) as usize;
            let relocation = relocations.next().expect("there is one for each instruction");
            instructions.push((at..end, relocation));
            at = end;
        }
        let mut module = Self {
            words,
            instructions,
            globals: HashMap::new(),
            decorations: HashMap::new(),
            functions: HashMap::new(),
            function_names: HashMap::new(),
            names: HashMap::new(),
            preamble: Vec::new(),
        };
        module.sort();
        module
    }

    fn sort(&mut self) {
        let mut function: Option<(u32, usize)> = None;
        for index in 0..self.instructions.len() {
            let it = self.instruction(index);
            let (opcode, result, target) = (it.opcode(), it.result(), it.words.get(1).copied());
            match (opcode, result, target) {
                (op::FUNCTION, Some(id), _) => function = Some((id, index)),
                (op::FUNCTION_END, ..) => {
                    let (id, first) = function.take().expect("the module is valid");
                    let name = self.function_name(id);
                    self.functions.insert(name.clone(), first..index + 1);
                    self.function_names.insert(id, name);
                }
                _ if function.is_some() => {}
                (op::NAME, _, Some(id)) => drop(self.names.insert(id, index)),
                (op::DECORATE | op::MEMBER_DECORATE, _, Some(id)) => {
                    self.decorations.entry(id).or_default().push(index);
                }
                (op::SOURCE | op::SOURCE_EXTENSION | op::MEMBER_NAME, ..) => {}
                (_, Some(id), _) => drop(self.globals.insert(id, index)),
                _ => self.preamble.push(index),
            }
        }
    }

    /// Whether the function `name`, or one that it calls, has a name with this prefix.
    pub(super) fn calls_declared(&self, name: &str, prefix: &str) -> bool {
        let called = |range: &Range<usize>| {
            let calls = range.clone().map(|index| self.instruction(index));
            let calls = calls.filter(|call| call.opcode() == op::FUNCTION_CALL);
            calls.filter_map(|call| self.function_names.get(&call.words[3])).collect::<Vec<_>>()
        };
        let calls = || self.functions.get(name).map(called).unwrap_or_default();
        name.starts_with(prefix)
            || calls().into_iter().any(|call| self.calls_declared(call, prefix))
    }

    pub(super) fn instruction(&self, index: usize) -> Instruction<'_> {
        let (range, relocation) = &self.instructions[index];
        Instruction { words: &self.words[range.clone()], relocation: *relocation }
    }

    /// The name that a function has in GLSL: glslang's `OpName` has the parameters' types after it.
    fn function_name(&self, id: u32) -> String {
        let words = self.names.get(&id).map_or(&[][..], |it| &self.instruction(*it).words[2..]);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let name = bytes.iter().take_while(|byte| **byte != 0 && **byte != b'(');
        name.map(|name| char::from(*name)).collect()
    }
}

/// Magic number, version, generator, bound and schema.
pub(super) const HEADER_WORDS: usize = 5;

fn words_of(bytes: &[u8]) -> Vec<u32> {
    let (words, rest) = bytes.as_chunks::<4>();
    assert!(rest.is_empty(), "what is checked in has whole words");
    words.iter().copied().map(u32::from_le_bytes).collect()
}
