//! The kernel while it is put together.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::declared::Declared;
use super::module::{Instruction, Module, Source};
use super::spirv::{MAGIC, VERSION, built_in, decoration, instruction, is_needed, op};
use super::{Argument, Bodies, Call, Callee};

/// The sections of a module, in the order of the specification.
#[derive(Default)]
struct Sections {
    capabilities: Vec<u32>,
    extensions: Vec<u32>,
    instruction_sets: Vec<u32>,
    memory_model: Vec<u32>,
    entry_point: Vec<u32>,
    names: Vec<u32>,
    annotations: Vec<u32>,
    globals: Vec<u32>,
    functions: Vec<u32>,
}

pub(super) struct Linker {
    modules: Vec<Rc<Module>>,
    module_of: HashMap<*const Source, usize>,
    /// The bodies of the skeleton's declared functions outside of instances.
    bodies: Declared,
    instances: usize,
    sections: Sections,
    last_id: u32,
    /// The ids of types and constants, by their words with 0 as the result.
    merged: HashMap<Vec<u32>, u32>,
    /// The id in the kernel of each global of each module.
    placed: HashMap<(usize, u32), u32>,
    /// Copies of functions that have been made, by a description of the function and its definitions.
    made: HashMap<String, u32>,
}

const SKELETON: usize = 0;
const PREFIX: &str = "linked_";

impl Linker {
    pub(super) fn new(skeleton: &'static Source, bodies: Bodies<'_>) -> Self {
        let mut linker = Self {
            modules: Vec::new(),
            module_of: HashMap::new(),
            bodies: Declared::Bodies(bodies.into(), 0),
            instances: 0,
            sections: Sections::default(),
            last_id: 0,
            merged: HashMap::new(),
            placed: HashMap::new(),
            made: HashMap::new(),
        };
        linker.module(skeleton);
        linker
    }

    pub(super) fn link(mut self) -> Vec<u32> {
        let skeleton = Rc::clone(&self.modules[SKELETON]);
        self.exported("main");
        // The constant with the size of a work group is kept although no instruction uses it.
        let is_size = |it: &usize| {
            let words = skeleton.instruction(*it).words;
            words.get(2..) == Some(&[decoration::BUILT_IN, built_in::WORKGROUP_SIZE])
        };
        for (id, decorations) in &skeleton.decorations {
            if decorations.iter().any(is_size) {
                self.global(SKELETON, *id);
            }
        }
        for index in &skeleton.preamble {
            self.preamble(&skeleton, *index);
        }
        for module in self.modules.clone() {
            self.permissions(&module);
        }
        self.finish()
    }

    /// Adds the capabilities and extensions of a module that the kernel needs and does not have yet.
    fn permissions(&mut self, module: &Module) {
        let widths = self.integer_widths();
        for index in &module.preamble {
            let words = module.instruction(*index).words;
            let section = match words[0] & 0xffff {
                op::CAPABILITY => &mut self.sections.capabilities,
                op::EXTENSION => &mut self.sections.extensions,
                _ => continue,
            };
            let is_there = instructions(section).any(|it| it == words);
            if !is_there && is_needed(words, &widths) {
                section.extend(words);
            }
        }
    }

    /// The widths in bits of the kernel's integer types.
    fn integer_widths(&self) -> Vec<u32> {
        let types = instructions(&self.sections.globals);
        types
            .filter(|data_type| data_type[0] & 0xffff == op::TYPE_INT)
            .map(|data_type| data_type[2])
            .collect()
    }

    fn finish(self) -> Vec<u32> {
        let it = self.sections;
        let header = vec![MAGIC, VERSION, 0, self.last_id + 1, 0];
        [
            header,
            it.capabilities,
            it.extensions,
            it.instruction_sets,
            it.memory_model,
            it.entry_point,
            it.names,
            it.annotations,
            it.globals,
            it.functions,
        ]
        .concat()
    }

    fn new_id(&mut self) -> u32 {
        self.last_id += 1;
        self.last_id
    }

    fn module(&mut self, source: &'static Source) -> usize {
        if let Some(index) = self.module_of.get(&std::ptr::from_ref(source)) {
            return *index;
        }
        self.modules.push(Rc::new(Module::of(source)));
        self.module_of.insert(source, self.modules.len() - 1);
        self.modules.len() - 1
    }

    fn preamble(&mut self, module: &Module, index: usize) {
        let it = module.instruction(index);
        let words = match it.opcode() {
            op::CAPABILITY | op::EXTENSION => return,
            op::MEMORY_MODEL => it.words.to_vec(),
            _ => self.mapped(it, |linker, id| match module.function_names.get(&id) {
                Some(name) => linker.exported(name),
                None => linker.global(SKELETON, id),
            }),
        };
        match it.opcode() {
            op::MEMORY_MODEL => self.sections.memory_model.extend(words),
            // Its modes follow it.
            _ => self.sections.entry_point.extend(words),
        }
    }

    /// The instruction's words with every id replaced, except the id of the result.
    fn mapped(&mut self, it: Instruction<'_>, map: impl Fn(&mut Self, u32) -> u32) -> Vec<u32> {
        let mut words = it.words.to_vec();
        for at in it.ids() {
            words[at] = map(self, words[at]);
        }
        words
    }

    /// The id in the kernel of the type, constant or variable `id` of a module.
    fn global(&mut self, module: usize, id: u32) -> u32 {
        if let Some(placed) = self.placed.get(&(module, id)) {
            return *placed;
        }
        let source = Rc::clone(&self.modules[module]);
        let it = source.instruction(source.globals[&id]);
        let at = it.result_at().expect("globals are what defines an id");
        let mut words = self.mapped(it, |linker, id| linker.global(module, id));
        words[at] = 0;
        let is_own = it.opcode() == op::VARIABLE || source.decorations.contains_key(&id);
        let placed = if is_own { self.add_global(words, at) } else { self.merge(words, at) };
        self.placed.insert((module, id), placed);
        self.describe(&source, id, placed);
        placed
    }

    /// The id of the global with these words, in which the result's id, at `at`, is 0.
    fn merge(&mut self, words: Vec<u32>, at: usize) -> u32 {
        if let Some(id) = self.merged.get(&words) {
            return *id;
        }
        let id = self.add_global(words.clone(), at);
        self.merged.insert(words, id);
        id
    }

    fn add_global(&mut self, mut words: Vec<u32>, at: usize) -> u32 {
        let id = self.new_id();
        words[at] = id;
        let section = match words[0] & 0xffff {
            op::EXT_INST_IMPORT => &mut self.sections.instruction_sets,
            _ => &mut self.sections.globals,
        };
        section.extend(words);
        id
    }

    /// Copies the decorations and the name of `id` of a module, which is now `placed`.
    fn describe(&mut self, source: &Module, id: u32, placed: u32) {
        let replaced = |index: usize| {
            let mut words = source.instruction(index).words.to_vec();
            words[1] = placed;
            words
        };
        for index in source.decorations.get(&id).into_iter().flatten() {
            self.sections.annotations.extend(replaced(*index));
        }
        let is_variable = source.globals.get(&id);
        if is_variable
            .is_some_and(|is_variable| source.instruction(*is_variable).opcode() == op::VARIABLE)
        {
            self.sections
                .names
                .extend(source.names.get(&id).into_iter().flat_map(|it| replaced(*it)));
        }
    }

    /// The id of a function of the skeleton outside of instances.
    fn exported(&mut self, name: &str) -> u32 {
        let bodies = self.bodies.clone();
        self.function(SKELETON, name, &bodies)
    }

    /// The id of the function `name` of a module, whose declared functions are `declared`.
    fn function(&mut self, module: usize, name: &str, declared: &Declared) -> u32 {
        let description = format!("{module} {name} {}", declared.description());
        if let Some(id) = self.made.get(&description) {
            return *id;
        }
        let source = Rc::clone(&self.modules[module]);
        let range = source.functions.get(name).cloned();
        let range = range.unwrap_or_else(|| panic!("no function {name}"));
        let id = match (name.strip_prefix(PREFIX), declared) {
            (Some(body), Declared::Bodies(bodies, _)) => {
                let found = bodies.iter().find(|(name, _)| *name == body);
                let (_, calls) = found.unwrap_or_else(|| panic!("no body for {body}"));
                self.body(&source, range, calls)
            }
            (Some(import), Declared::Imports(imports)) => {
                let found = imports.iter().find(|(name, _)| *name == import);
                let (_, callee) = found.unwrap_or_else(|| panic!("no import {import}"));
                self.callee(callee)
            }
            (None, _) => self.copy(module, &source, range, declared),
        };
        self.made.insert(description, id);
        self.name(id, name);
        id
    }

    fn callee(&mut self, callee: &Callee) -> u32 {
        match callee {
            Callee::Function { library, name, imports } => {
                let module = self.module(library);
                self.function(module, name, &Declared::Imports(imports.clone().into()))
            }
            Callee::Exported(name) => self.exported(name),
            Callee::Instance { name, bodies } => {
                self.instances += 1;
                let bodies = Declared::Bodies(bodies.clone().into(), self.instances);
                self.function(SKELETON, name, &bodies)
            }
        }
    }

    /// Copies a function with new ids for everything that is defined in it.
    fn copy(
        &mut self,
        module: usize,
        source: &Module,
        range: Range<usize>,
        declared: &Declared,
    ) -> u32 {
        let mut local: HashMap<u32, u32> = HashMap::new();
        let mut copied = Vec::new();
        let function = source.instruction(range.start).result();
        for index in range {
            let it = source.instruction(index);
            let mut words = it.words.to_vec();
            for at in it.ids() {
                words[at] = match source.function_names.get(&words[at]) {
                    // A function that calls no declared function needs only one copy.
                    Some(name) if module == SKELETON && !source.calls_declared(name, PREFIX) => {
                        self.exported(name)
                    }
                    Some(name) => self.function(module, name, declared),
                    None if source.globals.contains_key(&words[at]) => {
                        self.global(module, words[at])
                    }
                    None => *local.entry(words[at]).or_insert_with(|| self.new_id()),
                };
            }
            if let (Some(at), Some(result)) = (it.result_at(), it.result()) {
                words[at] = *local.entry(result).or_insert_with(|| self.new_id());
                self.describe(source, result, words[at]);
            }
            copied.extend(words);
        }
        self.sections.functions.extend(copied);
        local[&function.expect("a function defines its id")]
    }

    /// A function that makes the calls, with the type of the skeleton's function in `range`.
    fn body(&mut self, source: &Module, range: Range<usize>, calls: &[Call]) -> u32 {
        let mut words = source.instruction(range.start).words.to_vec();
        let id = self.new_id();
        words[1] = self.global(SKELETON, words[1]);
        words[2] = id;
        words[4] = self.global(SKELETON, words[4]);
        let mut parameters = Vec::new();
        for index in range {
            let it = source.instruction(index);
            if it.opcode() == op::FUNCTION_PARAMETER {
                let parameter = self.new_id();
                words.extend([it.words[0], self.global(SKELETON, it.words[1]), parameter]);
                parameters.push(parameter);
            }
        }
        words.extend([instruction(op::LABEL, 2), self.new_id()]);
        let mut results = Vec::new();
        for call in calls {
            let callee = self.callee(&call.callee);
            let result = self.new_id();
            let arguments: Vec<u32> = call
                .arguments
                .iter()
                .map(|argument| match *argument {
                    Argument::Parameter(index) => parameters[index],
                    Argument::Result(index) => results[index],
                    Argument::Literal(value) => self.literal(value),
                })
                .collect();
            let (opcode, ty) = (op::FUNCTION_CALL, self.result_type(callee));
            words.extend([instruction(opcode, 4 + arguments.len()), ty, result, callee]);
            words.extend(arguments);
            results.push(result);
        }
        words.extend([instruction(op::RETURN, 1), instruction(op::FUNCTION_END, 1)]);
        self.sections.functions.extend(words);
        id
    }

    /// The type that a function of the kernel returns.
    fn result_type(&self, function: u32) -> u32 {
        let words = &self.sections.functions;
        let mut at = 0;
        while words[at] & 0xffff != op::FUNCTION || words[at + 2] != function {
            at += (words[at] >> 16) as usize;
        }
        words[at + 1]
    }

    fn literal(&mut self, value: u32) -> u32 {
        let uint = self.merge(vec![instruction(op::TYPE_INT, 4), 0, 32, 0], 1);
        self.merge(vec![instruction(op::CONSTANT, 4), uint, 0, value], 2)
    }

    fn name(&mut self, id: u32, name: &str) {
        let bytes: Vec<u8> = name.bytes().chain([0]).collect();
        let words = bytes.chunks(4).map(|chunk| {
            let mut word = [0; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            u32::from_le_bytes(word)
        });
        let words: Vec<u32> = words.collect();
        self.sections.names.extend([instruction(op::NAME, 2 + words.len()), id]);
        self.sections.names.extend(words);
    }
}

/// The instructions of a section.
fn instructions(section: &[u32]) -> impl Iterator<Item = &[u32]> {
    let mut rest = section;
    std::iter::from_fn(move || {
        let (first, after) = rest.split_at_checked((*rest.first()? >> 16) as usize)?;
        rest = after;
        Some(first)
    })
}
