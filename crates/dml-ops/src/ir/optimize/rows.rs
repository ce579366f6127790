//! Row groups: reductions of the same rows, and the Maps of these rows that compute with them.

use dml_spirv::element_wise::{DIMENSIONS, MAX_INPUTS, estimated_bytes_of};
use dml_spirv::functions::Function;
use rustc_hash::{FxHashMap, FxHashSet};

use super::uses::remaining;
use crate::ir::{Buffer, Buffers, Map, Node, Origin, Program, Recorded, Reduce, RowGroup, Sources};

/// The most buffers of a group that other nodes or callers read or write: the bindings of a kernel.
const MAX_BUFFERS: usize = MAX_INPUTS + 1;
/// About the largest kernel of a group, in bytes: a norm whose squares are computed by CONSTANT_POW has as many.
const MAX_GROUP_BYTES: usize = 44 << 10;
/// The most members of a group.
const MAX_MEMBERS: usize = 32;
/// The most nodes outside of the group between its first Reduce and a member.
const MOST_BETWEEN: usize = 16;

/// Makes groups of the nodes of `program`; each takes the place of its last member.
pub(super) fn group(program: &mut Program) {
    let nodes = std::mem::take(&mut program.nodes);
    let mut readers: FxHashMap<Buffer, usize> = FxHashMap::default();
    for buffer in nodes.iter().flat_map(|node| distinct(node.node.reads())) {
        *readers.entry(buffer).or_default() += 1;
    }
    let mut nodes: Vec<Option<Recorded>> = nodes.into_iter().map(Some).collect();
    for first in 0..nodes.len() {
        let rows = nodes[first].as_ref().and_then(|it| RowSpace::of(&it.node));
        let Some(group) = rows.and_then(|rows| Group::of(&nodes, first, &rows)) else { continue };
        let members = group.fitting(&nodes, &readers);
        if let [_, .., last] = *members {
            let taken: Vec<Recorded> =
                members.iter().filter_map(|member| nodes[*member].take()).collect();
            nodes[last] = Some(put_together(taken, &readers));
        }
    }
    program.nodes = remaining(nodes);
}

/// The buffers in their order, each once.
fn distinct(buffers: impl IntoIterator<Item = Buffer>) -> Buffers {
    let mut buffers: Buffers = buffers.into_iter().collect();
    buffers.sort_unstable();
    buffers.dedup();
    buffers
}

/// The rows of a group.
struct RowSpace {
    sizes: [u32; DIMENSIONS],
    /// Whether each dimension goes along a row.
    along: [bool; DIMENSIONS],
}

impl RowSpace {
    /// The rows that a node reduces.
    fn of(node: &Node) -> Option<Self> {
        let Node::Reduce(Reduce { space, reduction, grids: None, .. }) = node else { return None };
        // A second result is an end that is written.
        if reduction.ends > usize::from(reduction.second.is_some()) {
            return None;
        }
        let along: [bool; DIMENSIONS] =
            std::array::from_fn(|at| space.sizes[at] > 1 && space.output.strides[at] == 0);
        along.contains(&true).then_some(Self { sizes: space.sizes, along })
    }

    /// Whether a node reduces these rows, or is a Map of their elements or of one element for each row.
    fn has(&self, node: &Node) -> bool {
        match node {
            Node::Reduce(_) => {
                Self::of(node).is_some_and(|it| (it.sizes, it.along) == (self.sizes, self.along))
            }
            Node::Map(Map { space, .. }) => {
                let of_rows =
                    std::array::from_fn(|at| if self.along[at] { 1 } else { self.sizes[at] });
                space.is_plain() && (space.sizes == self.sizes || space.sizes == of_rows)
            }
            _ => false,
        }
    }
}

/// A group to which members are added.
struct Group {
    /// Numbers of nodes in ascending order; the first one is a Reduce.
    members: Vec<usize>,
    read: FxHashSet<Buffer>,
    written: FxHashSet<Buffer>,
    /// The functions that the members call.
    functions: Vec<&'static Function>,
}

impl Group {
    /// The group that begins with the Reduce with the number `first`.
    fn of(nodes: &[Option<Recorded>], first: usize, rows: &RowSpace) -> Option<Self> {
        let reduced = distinct(nodes[first].as_ref()?.node.reads());
        let (read, written) = (FxHashSet::default(), FxHashSet::default());
        let mut group = Self { members: vec![], read, written, functions: vec![] };
        group.add(first, &nodes[first].as_ref()?.node);
        let mut between = 0;
        let rest = nodes.iter().enumerate().skip(first + 1);
        for (number, node) in rest.filter_map(|(number, it)| Some((number, &it.as_ref()?.node))) {
            let reads = node.reads();
            let is_of_group = reads.iter().any(|read| group.written.contains(read));
            let reduces_the_same =
                matches!(node, Node::Reduce(_)) && reads.iter().any(|read| reduced.contains(read));
            if rows.has(node) && (is_of_group || reduces_the_same) && group.has_room(node) {
                group.add(number, node);
                continue;
            }
            // The group is executed at the place of its last member: no node before that may need its
            // results, or change buffers that it reads.
            let is_used = |it: &Buffer| group.read.contains(it) || group.written.contains(it);
            between += 1;
            if is_of_group || node.writes().iter().any(is_used) || between > MOST_BETWEEN {
                break;
            }
        }
        Some(group)
    }

    fn add(&mut self, number: usize, node: &Node) {
        self.members.push(number);
        self.read.extend(node.reads());
        self.written.extend(node.writes());
        self.functions.extend(functions(node));
    }

    /// Whether one kernel could also compute `node`.
    fn has_room(&self, node: &Node) -> bool {
        let functions = self.functions.iter().copied().chain(functions(node));
        self.members.len() < MAX_MEMBERS
            && estimated_bytes_of(functions, MAX_INPUTS) <= MAX_GROUP_BYTES
    }

    /// The longest prefix of the members that a kernel has enough bindings for.
    fn fitting(
        mut self,
        nodes: &[Option<Recorded>],
        readers: &FxHashMap<Buffer, usize>,
    ) -> Vec<usize> {
        while self.members.len() > 1 {
            let members = self.members.iter().filter_map(|it| nodes[*it].as_ref());
            let results = results(members.clone(), readers);
            let read = members.clone().flat_map(|member| member.node.reads());
            let written = distinct(members.flat_map(|member| member.node.writes()));
            let outside = distinct(read.filter(|read| !written.contains(read)));
            if outside.len() + results.len() <= MAX_BUFFERS {
                break;
            }
            self.members.pop();
        }
        self.members
    }
}

/// The functions that a node calls, in their order.
fn functions(node: &Node) -> impl Iterator<Item = &'static Function> {
    let (program, last) = match node {
        Node::Map(map) => (Some(&map.computation.program), None),
        Node::Reduce(Reduce { reduction, .. }) => (Some(&reduction.program), Some(&reduction.last)),
        _ => (None, None),
    };
    let steps = program.into_iter().chain(last).flat_map(|program| &program.steps);
    steps.map(|step| step.function)
}

/// The buffers that members write and other nodes read, or that are outputs; `readers` counts the nodes that
/// read each.
fn results<'a>(
    members: impl Iterator<Item = &'a Recorded> + Clone,
    readers: &FxHashMap<Buffer, usize>,
) -> Buffers {
    let mut inside: FxHashMap<Buffer, usize> = FxHashMap::default();
    for buffer in members.clone().flat_map(|member| distinct(member.node.reads())) {
        *inside.entry(buffer).or_default() += 1;
    }
    let is_result =
        |it: &Buffer| matches!(it, Buffer::Output(_)) || readers.get(it) > inside.get(it);
    let mut results = distinct(members.flat_map(|member| member.node.writes()));
    results.retain(|it| is_result(it));
    results
}

/// Makes one node of the members.
fn put_together(members: Vec<Recorded>, readers: &FxHashMap<Buffer, usize>) -> Recorded {
    let mut sources = Sources::new();
    for source in members.iter().flat_map(|member| &member.origin.sources) {
        if !sources.contains(source) {
            sources.push(*source);
        }
    }
    let Origin { operator, field, .. } = members.last().expect("a group has members").origin;
    let origin = Origin { operator, field, sources };
    let results = results(members.iter(), readers).into_vec();
    Recorded { node: Node::Rows(RowGroup { members, results }), origin }
}
