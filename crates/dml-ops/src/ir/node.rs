//! The nodes of a program.

use std::ops::Range;

use dml_core::TensorLayout;
use dml_spirv::ElementWidth;
use dml_spirv::reduce::{ROUNDED_SUM_F32, SUM_I32};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::attention::Attention;
use super::buffer::{Buffer, Buffers};
use super::computation::Computation;
use super::contraction::{BufferPosition, Matrices, SUMS, Sums, WholeMatrices};
use super::numbers::ZeroPoints;
use super::ordered::{Scan, Sort};
use super::reduction::Reduction;
use super::space::{IterationSpace, Operand};

/// A computation, which reads buffers that earlier nodes or callers wrote.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Map(Map),
    Reduce(Reduce),
    Rows(RowGroup),
    Attention(Box<AttentionGroup>),
    Scan(Scan),
    Sort(Sort),
    /// Sums of products. No two of them write the same element.
    Contract(Vec<Sums>),
    /// Sums of products by cooperative matrices, whose order of additions depends on the device.
    ContractWhole(Box<WholeMatrices>),
    /// Copies the one input of a space.
    Move(IterationSpace),
    Fill(Fill),
    Band(Band),
}

impl Node {
    /// The iteration space, of nodes that have one.
    pub(crate) fn space(&self) -> Option<&IterationSpace> {
        match self {
            Self::Map(Map { space, .. })
            | Self::Reduce(Reduce { space, .. })
            | Self::Move(space) => Some(space),
            _ => None,
        }
    }

    /// The buffers that are read, some of them several times.
    pub(crate) fn reads(&self) -> Buffers {
        let sums = |it: &Sums| {
            let [rows, columns, sums] = it.places.map(|place| place.buffer);
            let zero_points = it.numbers.zero_points().map(|it| it.map(|it| it.buffer));
            let read = [Some(rows), Some(columns), it.goes_on.then_some(sums)];
            read.into_iter().chain(zero_points).flatten()
        };
        match self {
            Self::Reduce(reduce) => reduce.read().iter().filter_map(|input| input.buffer).collect(),
            Self::Map(Map { space, .. }) | Self::Move(space) => {
                space.inputs.iter().filter_map(|input| input.buffer).collect()
            }
            Self::Rows(group) => {
                group.members.iter().flat_map(|member| member.node.reads()).collect()
            }
            Self::Attention(group) => {
                let written = group.written();
                let read = group.members.iter().flat_map(|member| member.node.reads());
                read.filter(|read| !written.contains(read)).collect()
            }
            Self::Contract(all) => all.iter().flat_map(sums).collect(),
            Self::ContractWhole(of) => {
                of.operands[..SUMS].iter().filter_map(|it| it.place.buffer).collect()
            }
            Self::Scan(scan) => scan.elements.buffer.into_iter().collect(),
            Self::Sort(sort) => sort.numbers.buffer.into_iter().collect(),
            Self::Fill(_) => Buffers::new(),
            Self::Band(Band { input, .. }) => input.iter().map(|it| it.buffer).collect(),
        }
    }

    /// The buffers that are written, some of them several times.
    pub(crate) fn writes(&self) -> Buffers {
        match self {
            Self::Reduce(reduce) => reduce.written().filter_map(|it| it.buffer).collect(),
            Self::Map(Map { space, .. }) | Self::Move(space) => {
                space.output.buffer.into_iter().collect()
            }
            Self::Rows(group) => {
                group.members.iter().flat_map(|member| member.node.writes()).collect()
            }
            Self::Attention(group) => group.kernel.output.buffer.into_iter().collect(),
            Self::Scan(scan) => scan.operands().filter_map(|operand| operand.buffer).collect(),
            Self::Sort(Sort { numbers, result, .. }) => {
                [numbers, result].into_iter().filter_map(|it| it.buffer).collect()
            }
            Self::Contract(all) => all.iter().map(|it| it.places[SUMS].buffer).collect(),
            Self::ContractWhole(of) => of.operands[SUMS].place.buffer.into_iter().collect(),
            Self::Fill(Fill { output, .. }) | Self::Band(Band { output, .. }) => {
                [output.buffer].into_iter().collect()
            }
        }
    }

    /// The buffers of other nodes or callers that are read or written.
    pub(crate) fn outside(&self) -> Buffers {
        let (read, written) = (self.reads().into_iter(), self.writes());
        match self {
            Self::Rows(group) => {
                let from_outside = read.filter(|read| !written.contains(read));
                from_outside.chain(group.results.iter().copied()).collect()
            }
            _ => read.chain(written.iter().copied()).collect(),
        }
    }

    /// This node with its buffers renamed.
    #[must_use]
    pub(crate) fn renamed(&self, name: &impl Fn(Buffer) -> Buffer) -> Self {
        let stored = |it: &Stored| Stored { buffer: name(it.buffer), tensor: it.tensor.clone() };
        match self {
            Self::Map(Map { space, computation }) => {
                Self::Map(Map { space: space.renamed(name), computation: computation.clone() })
            }
            Self::Reduce(Reduce { space, reduction, order, grids }) => Self::Reduce(Reduce {
                space: space.renamed(name),
                reduction: reduction.clone(),
                order: *order,
                grids: *grids,
            }),
            Self::Move(space) => Self::Move(space.renamed(name)),
            Self::Scan(scan) => Self::Scan(scan.renamed(name)),
            Self::Sort(sort) => Self::Sort(sort.renamed(name)),
            Self::Rows(RowGroup { members, results }) => {
                let member = |it: &Recorded| it.renamed(name);
                let members = members.iter().map(member).collect();
                Self::Rows(RowGroup {
                    members,
                    results: results.iter().copied().map(name).collect(),
                })
            }
            Self::Attention(group) => {
                let member = |it: &Recorded| it.renamed(name);
                let members = group.members.iter().map(member).collect();
                let kernel = group.kernel.renamed(name);
                Self::Attention(Box::new(AttentionGroup { members, kernel }))
            }
            Self::Contract(all) => {
                let place = |it: BufferPosition| BufferPosition { buffer: name(it.buffer), ..it };
                let zeros = |it: ZeroPoints| ZeroPoints { buffer: name(it.buffer), ..it };
                Self::Contract(all.iter().map(|it| it.placed(place, zeros)).collect())
            }
            Self::ContractWhole(of) => {
                let operand =
                    |it: &Matrices| Matrices { place: it.place.renamed(name), ..it.clone() };
                let operands = of.operands.each_ref().map(operand);
                let whole = WholeMatrices { operands, ..WholeMatrices::clone(of) };
                Self::ContractWhole(Box::new(whole))
            }
            Self::Fill(fill) => Self::Fill(Fill { output: stored(&fill.output), ..fill.clone() }),
            Self::Band(band) => {
                let (input, output) = (band.input.as_ref().map(stored), stored(&band.output));
                Self::Band(Band { input, output, ..band.clone() })
            }
        }
    }
}

/// A node of a program, and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) node: Node,
    pub(crate) origin: Origin,
}

impl Recorded {
    /// This node with its buffers renamed.
    fn renamed(&self, name: &impl Fn(Buffer) -> Buffer) -> Self {
        Self { node: self.node.renamed(name), origin: self.origin.clone() }
    }
}

/// Numbers of a graph's nodes. Most nodes of a program come from one or two.
pub(crate) type Sources = SmallVec<[usize; 2]>;

/// The operator that recorded a node; for a fused node, of the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The operator's name, for messages.
    pub(crate) operator: &'static str,
    /// The field that messages name.
    pub(crate) field: &'static str,
    /// The graph's nodes that the node computes, in execution order; empty outside of graphs.
    pub(crate) sources: Sources,
}

impl Origin {
    /// Whether both nodes are of the same operator, or fused from the same ones.
    pub(crate) fn is_of_same(&self, other: &Self) -> bool {
        self.sources == other.sources
    }
}

/// Reductions of the same rows and Maps of these rows, one after the other: a softmax or a norm. The members'
/// results are rounded as if they were separate nodes.
#[derive(Clone, Debug)]
pub(crate) struct RowGroup {
    /// Reduces and Maps, in execution order.
    pub(crate) members: Vec<Recorded>,
    /// The buffers that are read outside of the group, or are outputs.
    pub(crate) results: Vec<Buffer>,
}

impl RowGroup {
    /// A part of the members; its results are the buffers that later members or other nodes read.
    pub(crate) fn part(&self, members: Range<usize>) -> Self {
        let later: FxHashSet<Buffer> =
            self.members[members.end..].iter().flat_map(|it| it.node.reads()).collect();
        let members = self.members[members].to_vec();
        let written: FxHashSet<Buffer> =
            members.iter().flat_map(|member| member.node.writes()).collect();
        let is_result = |it: &Buffer| later.contains(it) || self.results.contains(it);
        let mut results: Vec<Buffer> = written.into_iter().filter(is_result).collect();
        results.sort_unstable();
        Self { members, results }
    }
}

/// An attention, as one kernel computes it and as the nodes that it was found in do. Both compute and round alike.
#[derive(Clone, Debug)]
pub(crate) struct AttentionGroup {
    /// In execution order; a device that cannot run the kernel executes them.
    pub(crate) members: Vec<Recorded>,
    pub(crate) kernel: Attention,
}

impl AttentionGroup {
    fn written(&self) -> FxHashSet<Buffer> {
        self.members.iter().flat_map(|member| member.node.writes()).collect()
    }
}

/// A program of functions, applied at every coordinate of a space.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Map {
    pub(crate) space: IterationSpace,
    pub(crate) computation: Computation,
}

impl Map {
    /// The Map that copies the only input of a space.
    pub(crate) fn copying(space: &IterationSpace) -> Self {
        Self { space: space.clone(), computation: Computation::copy() }
    }
}

/// A reduction of rows: of the dimensions along which the output's stride is 0.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reduce {
    pub(crate) space: IterationSpace,
    pub(crate) reduction: Reduction,
    pub(crate) order: RowOrder,
    /// For rows whose length is data, the number of the input that has it. Rows are then grids, the last two
    /// dimensions of the space: an element of 64 bits has the number of columns in the low word and of rows
    /// in the high word, neither more than the space has.
    pub(crate) grids: Option<usize>,
}

impl Reduce {
    /// The operands that are read: the space's inputs, except for a second result.
    fn read(&self) -> &[Operand] {
        let inputs = &self.space.inputs;
        &inputs[..inputs.len() - usize::from(self.reduction.second.is_some())]
    }

    /// The operands that are written: the output and a second result.
    fn written(&self) -> impl Iterator<Item = &Operand> {
        [&self.space.output].into_iter().chain(&self.space.inputs[self.read().len()..])
    }

    /// Whether it is a product of a matrix and a vector.
    pub(crate) fn is_product(&self) -> bool {
        let is_sum = [&ROUNDED_SUM_F32, &SUM_I32].contains(&self.reduction.reducer);
        is_sum && self.space.inputs.len() > 1
    }
}

/// The order in which a row's elements are added; [`dml_spirv::reduce`] defines it for one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowOrder {
    /// All dimensions of a row as one, in the order of the descriptor.
    Flattened,
    /// The innermost dimension first, then the next one around it: for windows, which overlap.
    Nested,
}

/// A whole tensor in a buffer, from the buffer's first byte on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stored {
    pub(crate) buffer: Buffer,
    pub(crate) tensor: TensorLayout,
}

/// Writes one value to every element of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fill {
    pub(crate) output: Stored,
    pub(crate) width: ElementWidth,
    /// The bits of an element, with zeros above.
    pub(crate) value: u64,
}

/// Writes the value where `begin <= x - y < end`, or, where `begin` is above `end`, everywhere except where
/// `end <= x - y < begin`; elsewhere the input's elements, or zeros without an input. Input and output have
/// equal types and sizes, of 2 to 4 dimensions; the last two are those of matrices.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    pub(crate) input: Option<Stored>,
    pub(crate) output: Stored,
    pub(crate) begin: i64,
    pub(crate) end: i64,
    /// The bits of an element, with zeros above.
    pub(crate) value: u64,
}
