//! Row groups: reductions of the same rows, and the Maps of these rows that compute with them.

use std::collections::HashSet;

use dml_spirv::element_wise::{DIMENSIONS, MAX_INPUTS, Program as Functions, estimated_bytes};

use crate::ir::space::IterationSpace;
use crate::ir::{Buffer, Map, Node, Origin, Program, Recorded, Reduce, RowGroup};

/// A kernel has so many buffers: its inputs, and one that it writes.
const MAX_BUFFERS: usize = MAX_INPUTS + 1;
/// A kernel of all of a group has about so many bytes: those of a norm whose squares are computed by CONSTANT_POW.
const MAX_GROUP_BYTES: usize = 40 << 10;
/// A member may stand behind so many nodes that have nothing to do with the group.
const MOST_BETWEEN: usize = 16;

/// Makes groups of the nodes of `program`; each stands where its last member stood.
pub(super) fn group(program: &mut Program) {
    let mut first = 0;
    while first < program.nodes.len() {
        let members =
            Rows::of(&program.nodes[first].node).map(|rows| members(program, first, &rows));
        match members.filter(|it| it.len() > 1) {
            Some(members) => put_together(&mut program.nodes, &members),
            None => first += 1,
        }
    }
}

/// The rows that a group is of.
struct Rows {
    sizes: [u32; DIMENSIONS],
    /// Whether each dimension goes along a row.
    along: [bool; DIMENSIONS],
}

impl Rows {
    /// Those that a node reduces.
    fn of(node: &Node) -> Option<Self> {
        let Node::Reduce(Reduce { space, grids: None, .. }) = node else { return None };
        let along: [bool; DIMENSIONS] =
            std::array::from_fn(|at| space.sizes[at] > 1 && space.output.strides[at] == 0);
        along.contains(&true).then_some(Self { sizes: space.sizes, along })
    }

    /// Whether a node reduces these rows, or is a Map of their elements or of one element for each of them.
    fn has(&self, node: &Node) -> bool {
        let is_plain = |it: &IterationSpace| it.operands().all(|it| it.displacement.is_none());
        match node {
            Node::Reduce(_) => {
                Self::of(node).is_some_and(|it| (it.sizes, it.along) == (self.sizes, self.along))
            }
            Node::Map(Map { space, .. }) => {
                let of_rows =
                    std::array::from_fn(|at| if self.along[at] { 1 } else { self.sizes[at] });
                is_plain(space) && (space.sizes == self.sizes || space.sizes == of_rows)
            }
            _ => false,
        }
    }
}

/// The numbers of the nodes of one group, the first one of which is a Reduce.
fn members(program: &Program, first: usize, rows: &Rows) -> Vec<usize> {
    let nodes = &program.nodes;
    let reduced = nodes[first].node.reads();
    let mut group = Group { members: vec![], read: HashSet::new(), written: HashSet::new() };
    group.add(first, &nodes[first].node);
    let mut between = 0;
    for (number, Recorded { node, .. }) in nodes.iter().enumerate().skip(first + 1) {
        let reads = node.reads();
        let is_of_group = reads.iter().any(|it| group.written.contains(it));
        let reduces_the_same =
            matches!(node, Node::Reduce(_)) && reads.iter().any(|it| reduced.contains(it));
        if rows.has(node) && (is_of_group || reduces_the_same) && group.fits(nodes, number) {
            group.add(number, node);
            continue;
        }
        // The group stands where its last member does: nothing before that may need its results, or change what it
        // reads.
        let changes =
            node.writes().iter().any(|it| group.read.contains(it) || group.written.contains(it));
        between += 1;
        if is_of_group || changes || between > MOST_BETWEEN {
            break;
        }
    }
    group.members
}

/// A group while members are found.
struct Group {
    members: Vec<usize>,
    read: HashSet<Buffer>,
    written: HashSet<Buffer>,
}

impl Group {
    fn add(&mut self, number: usize, node: &Node) {
        self.members.push(number);
        self.read.extend(node.reads());
        self.written.extend(node.writes());
    }

    /// Whether one kernel could be all of it, with one more node.
    fn fits(&self, nodes: &[Recorded], number: usize) -> bool {
        let members = || self.members.iter().chain([&number]).map(|it| &nodes[*it].node);
        let outside = members().flat_map(Node::reads).filter(|it| !self.written.contains(it));
        let results = members().flat_map(Node::writes).filter(|it| matches!(it, Buffer::Output(_)));
        let buffers: HashSet<Buffer> = outside.chain(results).collect();
        let mut all = Functions::default();
        let functions = members().flat_map(|it| functions(it)).flat_map(|it| &it.steps);
        functions.for_each(|it| _ = all.apply(it.function, it.arguments.clone()));
        buffers.len() <= MAX_BUFFERS && estimated_bytes(&all, buffers.len()) <= MAX_GROUP_BYTES
    }
}

/// The programs of a Map or a Reduce.
fn functions(node: &Node) -> Vec<&Functions> {
    match node {
        Node::Map(map) => vec![&map.computation.program],
        Node::Reduce(reduce) => vec![&reduce.reduction.program, &reduce.reduction.last],
        _ => vec![],
    }
}

/// Makes one node of the members.
fn put_together(nodes: &mut Vec<Recorded>, numbers: &[usize]) {
    let is_member = |number: &usize| numbers.binary_search(number).is_ok();
    let others = nodes.iter().enumerate().filter(|(number, _)| !is_member(number));
    let read: HashSet<Buffer> = others.flat_map(|(_, it)| it.node.reads()).collect();
    let members: Vec<Recorded> = numbers.iter().map(|it| nodes[*it].clone()).collect();
    let mut results: Vec<Buffer> = members.iter().flat_map(|it| it.node.writes()).collect();
    results.retain(|it| matches!(it, Buffer::Output(_)) || read.contains(it));
    let mut sources: Vec<usize> = vec![];
    for member in &members {
        let new = member.origin.sources.iter().filter(|it| !sources.contains(it)).copied();
        sources.extend(new.collect::<Vec<_>>());
    }
    let (Some(last), Some(recorded)) = (numbers.last(), members.last()) else { return };
    let origin = Origin { sources, ..recorded.origin.clone() };
    nodes[*last] = Recorded { node: Node::Rows(RowGroup { members, results }), origin };
    for number in numbers[..numbers.len() - 1].iter().rev() {
        nodes.remove(*number);
    }
}
