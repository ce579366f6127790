//! One plan of all parts: where every value lies, and the steps in order.

use std::collections::{HashMap, HashSet};

use dml_core::Strategy;
use dml_core::graph::{NodeWork, Source, ValidatedGraph};
use dml_core::plan::{BoundAt, InPlace, Plan, Slot, UNIFORM_ALIGNMENT};

use super::GraphOptions;
use super::explain::{Explanation, Memory};
use super::group::Groups;
use super::memory::{self, Buffer};
use super::part::Part;
use super::values::Values;
use crate::Target;
use crate::schedule::relocate::{Place, relocated};

/// The plan's name, for labels and messages.
const GRAPH: &str = "GRAPH";

/// Puts the parts together.
pub(super) fn assemble(
    graph: &ValidatedGraph,
    values: &Values,
    groups: Groups<'_>,
    mut parts: Vec<Part>,
    target: &Target<'_>,
    options: GraphOptions,
) -> (Plan, Explanation) {
    let alignment = target.capabilities.limits.min_storage_buffer_offset_alignment.max(16);
    let mut places = Places::new(graph, values, &parts);
    let intermediates = Intermediates::of(&mut parts, &places, options.share_memory);
    let placement = intermediates.place(alignment, options.share_memory);
    places.put_intermediates(&intermediates, &placement.offsets);
    let in_place = in_place(graph, &parts, &places);
    let mut plan = Plan {
        operator: GRAPH,
        strategy: Strategy::Kernel,
        inputs: graph.inputs().to_vec(),
        outputs: graph.outputs().iter().map(|(_, needs)| Some(needs.clone())).collect(),
        init: vec![],
        exec: vec![],
        in_place,
        temporary_size: placement.size,
        persistent_size: 0,
        constants: places.constants.clone(),
    };
    let mut blocks = Blocks::default();
    for (index, part) in parts.iter().enumerate() {
        let constants = blocks.add(&part.plan.constants, &mut plan.constants);
        let persistent = plan.persistent_size.next_multiple_of(alignment);
        let temporary = intermediates.scratch(index).map_or(0, |at| placement.offsets[at]);
        let place = |slot: Slot| match slot {
            Slot::Input(at) => places.of(part.inputs[at as usize]),
            Slot::Output(at) => places.of(part.outputs[at as usize].map(|(value, _)| value)),
            Slot::Temporary => (Slot::Temporary, temporary),
            Slot::Persistent => (Slot::Persistent, persistent),
            Slot::Constants => (Slot::Constants, constants),
        };
        plan.init.extend(part.plan.init.iter().map(|step| relocated(step, &place)));
        plan.exec.extend(part.plan.exec.iter().map(|step| relocated(step, &place)));
        if part.plan.persistent_size > 0 {
            plan.persistent_size = persistent + part.plan.persistent_size;
        }
    }
    let memory = Memory {
        separate: graph_bytes(graph, alignment),
        after_fusion: intermediates.bytes(alignment),
        planned: placement.size,
        lower_bound: memory::lower_bound(&intermediates.buffers, alignment),
    };
    let explanation = Explanation::of(graph, values, groups, &parts, memory);
    (plan, explanation)
}

/// Where values lie that are no intermediate results, and where those do.
struct Places {
    at: HashMap<Source, Place>,
    constants: Vec<u8>,
}

impl Places {
    /// The inputs and the outputs of the graph, and its constants, one after the other.
    fn new(graph: &ValidatedGraph, values: &Values, parts: &[Part]) -> Self {
        let mut places = Self { at: HashMap::new(), constants: Vec::new() };
        for index in 0..graph.inputs().len() {
            let slot = Slot::Input(u32::try_from(index).unwrap_or(u32::MAX));
            places.at.insert(Source::Input(index), (slot, 0));
        }
        for part in parts {
            for (value, _) in part.outputs.iter().flatten() {
                let output = part.writes_output.or_else(|| values.outputs(*value).first().copied());
                let slot = output.map(|it| Slot::Output(u32::try_from(it).unwrap_or(u32::MAX)));
                places.at.extend(slot.map(|slot| (*value, (slot, 0))));
            }
        }
        let inputs = parts.iter().flat_map(|part| part.inputs.iter().flatten());
        let read: HashSet<Source> = inputs.copied().collect();
        for (node, of) in graph.nodes().iter().enumerate() {
            let value = Source::Node { node, output: 0 };
            if let NodeWork::Constant(bytes) = &of.work
                && read.contains(&value)
            {
                let start = padded(&mut places.constants);
                places.constants.extend(bytes.iter());
                places.at.insert(value, (Slot::Constants, start));
            }
        }
        let end = places.constants.len().next_multiple_of(4);
        places.constants.resize(end, 0);
        places
    }

    fn put_intermediates(&mut self, intermediates: &Intermediates, offsets: &[u64]) {
        for (value, buffer) in &intermediates.of_value {
            self.at.insert(*value, (Slot::Temporary, offsets[*buffer]));
        }
    }

    /// The place of a value. One without a place gets a slot that nothing is bound to, which the check of
    /// the plan refuses.
    fn of(&self, value: Option<Source>) -> Place {
        let place = value.and_then(|value| self.at.get(&value).copied());
        place.unwrap_or((Slot::Input(u32::MAX), 0))
    }
}

/// Fills up to where a block may begin, and returns that.
fn padded(bytes: &mut Vec<u8>) -> u64 {
    let start = (bytes.len() as u64).next_multiple_of(UNIFORM_ALIGNMENT);
    bytes.resize(usize::try_from(start).expect("in memory"), 0);
    start
}

/// The constants of parts: those that are alike are there once.
#[derive(Default)]
struct Blocks(HashMap<Vec<u8>, u64>);

impl Blocks {
    fn add(&mut self, bytes: &[u8], all: &mut Vec<u8>) -> u64 {
        if bytes.is_empty() {
            return 0;
        }
        *self.0.entry(bytes.to_vec()).or_insert_with(|| {
            let start = padded(all);
            all.extend(bytes);
            all.resize(all.len().next_multiple_of(4), 0);
            start
        })
    }
}

/// What needs memory while the graph is executed.
#[derive(Default)]
struct Intermediates {
    buffers: Vec<Buffer>,
    /// The buffer of each value; several values share one where a part writes where it has read.
    of_value: HashMap<Source, usize>,
    /// The buffer of each part's own temporary resource.
    scratch: HashMap<usize, usize>,
}

impl Intermediates {
    /// Those of `parts`. A part whose result takes the bytes of what it read last gets the steps for that.
    fn of(parts: &mut [Part], places: &Places, share: bool) -> Self {
        let mut last_read: HashMap<Source, usize> = HashMap::new();
        for (index, part) in parts.iter().enumerate() {
            last_read.extend(part.inputs.iter().flatten().map(|value| (*value, index)));
        }
        let mut all = Self::default();
        for (index, part) in parts.iter_mut().enumerate() {
            for output in 0..part.outputs.len() {
                let Some((value, size)) = part.outputs[output] else { continue };
                if places.at.contains_key(&value) {
                    continue;
                }
                let end = last_read.get(&value).map_or(index, |last| *last) + 1;
                let reused = if share { all.reusable(part, index, output) } else { None };
                let buffer = reused.unwrap_or_else(|| {
                    all.buffers.push(Buffer { size, lives: index..end });
                    all.buffers.len() - 1
                });
                let of = &mut all.buffers[buffer];
                (of.size, of.lives.end) = (of.size.max(size), end);
                all.of_value.insert(value, buffer);
            }
            if part.plan.temporary_size > 0 {
                all.scratch.insert(index, all.buffers.len());
                all.buffers
                    .push(Buffer { size: part.plan.temporary_size, lives: index..index + 1 });
            }
        }
        all
    }

    /// The buffer of an input that nothing reads later, where the part may write its output there.
    fn reusable(&self, part: &mut Part, index: usize, output: usize) -> Option<usize> {
        let found = part.plan.in_place.iter().find_map(|pair| {
            let value = part.inputs[pair.input as usize]?;
            let is_alone = part.inputs.iter().flatten().filter(|it| **it == value).count() == 1;
            let fits = pair.output as usize == output && is_alone;
            let buffer = self.of_value.get(&value).copied().filter(|_| fits)?;
            // It is read last here, and no other output of the part has taken it.
            let taken = |it: &Source| self.of_value.get(it) == Some(&buffer);
            let mut outputs = part.outputs.iter().flatten();
            let is_free = self.buffers[buffer].lives.end == index + 1
                && !outputs.any(|(value, _)| taken(value));
            is_free.then(|| (buffer, pair.clone()))
        });
        let (buffer, pair) = found?;
        if !pair.is_by_same_steps() {
            part.plan.exec = pair.own_steps().to_vec();
        }
        Some(buffer)
    }

    fn place(&self, alignment: u64, share: bool) -> memory::Placement {
        if share {
            return memory::place(&self.buffers, alignment);
        }
        let forever = |it: &Buffer| Buffer { lives: 0..usize::MAX, ..it.clone() };
        memory::place(&self.buffers.iter().map(forever).collect::<Vec<_>>(), alignment)
    }

    fn scratch(&self, part: usize) -> Option<usize> {
        self.scratch.get(&part).copied()
    }

    fn bytes(&self, alignment: u64) -> u64 {
        self.buffers.iter().map(|it| it.size.next_multiple_of(alignment)).sum()
    }
}

/// What all results between the nodes of a graph take by themselves.
fn graph_bytes(graph: &ValidatedGraph, alignment: u64) -> u64 {
    let outputs: HashSet<Source> = graph.outputs().iter().map(|(source, _)| *source).collect();
    let mut bytes = 0;
    for (node, of) in graph.nodes().iter().enumerate() {
        let Some(operator) = of.operator() else { continue };
        let tensors = operator.tensors(dml_core::schema::FieldKind::Output).enumerate();
        let inner = tensors
            .filter(|(output, _)| !outputs.contains(&Source::Node { node, output: *output }));
        let sizes = inner.filter_map(|(_, (_, tensor))| Some(tensor?.binding_size()));
        bytes += sizes.map(|it| it.next_multiple_of(alignment)).sum::<u64>();
    }
    bytes
}

/// Of more pairs of an input and an output only those are looked at that one part has.
const MAX_PAIRS: usize = 1 << 12;

/// The inputs of the graph that may be the bytes of an output: those that are read last before any part
/// writes it, or by the part that does, where that may be executed so by the same steps.
fn in_place(graph: &ValidatedGraph, parts: &[Part], places: &Places) -> Vec<InPlace> {
    let mut last_read: HashMap<usize, usize> = HashMap::new();
    let mut writes: Vec<(u32, usize)> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let inputs = part.inputs.iter().flatten().filter_map(|value| match value {
            Source::Input(input) => Some((*input, index)),
            Source::Node { .. } => None,
        });
        last_read.extend(inputs);
        let outputs = part.outputs.iter().flatten().map(|(value, _)| places.of(Some(*value)));
        writes.extend(outputs.filter_map(|(slot, _)| match slot {
            Slot::Output(output) => Some((output, index)),
            _ => None,
        }));
    }
    let is_small = graph.inputs().len() * writes.len() <= MAX_PAIRS;
    let mut pairs = Vec::new();
    for (output, part) in writes {
        let size = graph.outputs()[output as usize].1.size;
        let is_alike = |input: usize| {
            let needs = graph.inputs()[input].as_ref();
            needs.is_some_and(|it| it.size == size && it.bound_at == BoundAt::Execution)
        };
        let read_by = |input: usize| last_read.get(&input).copied();
        let before = (0..graph.inputs().len())
            .filter(|input| is_small && read_by(*input).is_some_and(|read| read < part));
        let within = permitted(&parts[part], output, places);
        let within = within.into_iter().filter(|input| read_by(*input) == Some(part));
        for input in before.chain(within).filter(|input| is_alike(*input)) {
            pairs.push(InPlace::by_same_steps(u32::try_from(input).unwrap_or(u32::MAX), output));
        }
    }
    pairs
}

/// The inputs of the graph that a part may read where it writes an output of the graph.
fn permitted(part: &Part, output: u32, places: &Places) -> Vec<usize> {
    let of = |pair: &&InPlace| {
        let written = part.outputs[pair.output as usize].map(|(value, _)| value);
        pair.is_by_same_steps() && places.of(written) == (Slot::Output(output), 0)
    };
    let input = |pair: &InPlace| {
        let value = part.inputs[pair.input as usize];
        let is_alone = part.inputs.iter().filter(|it| **it == value).count() == 1;
        match value {
            Some(Source::Input(input)) if is_alone => Some(input),
            _ => None,
        }
    };
    part.plan.in_place.iter().filter(of).filter_map(input).collect()
}
