//! Costs of nodes, independent of the schedule that executes them.

use dml_core::TensorLayout;
use dml_core::plan::Cost;
use dml_spirv::element_wise::DIMENSIONS;
use rustc_hash::{FxHashMap, FxHashSet};

use super::attention::{Along, Attention};
use super::buffer::Buffer;
use super::contraction::{OPERANDS, SUMS, Sums};
use super::node::{Band, Fill, Map, Node, Recorded, Reduce, RowGroup};
use super::ordered::{Scan, Sort};
use super::space::{IterationSpace, Operand};

/// The fewest bytes that a card moves for an isolated element.
const SECTOR: u64 = 32;

/// The work of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeCost {
    /// Applications of functions to elements, and bytes that a card moves. Elements that are read several
    /// times count once.
    pub(crate) work: Cost,
    /// The number of independent results: the most invocations that can work at the same time.
    pub(crate) invocations: u64,
}

impl Node {
    /// The least cost of the node.
    pub(crate) fn cost(&self) -> NodeCost {
        match self {
            Self::Map(Map { space, computation }) => {
                let of_an_element = computation.program.steps.len().max(1) as u64;
                of_space(space, of_an_element, elements(&space.sizes))
            }
            Self::Reduce(Reduce { space, reduction, .. }) => {
                let of_an_element = 1 + reduction.program.steps.len() as u64;
                of_space(space, of_an_element, told_apart(&space.sizes, &space.output.strides))
            }
            Self::Move(space) => of_space(space, 1, elements(&space.sizes)),
            Self::Contract(all) => all.iter().map(of_sums).fold(NodeCost::default(), NodeCost::and),
            Self::ContractWhole(of) => {
                let batches = elements(&of.batches);
                let bytes = of.operands.iter();
                let bytes =
                    bytes.map(|byte| byte.count * u64::from(byte.place.width.bytes())).sum();
                let operations = elements(&of.sizes).saturating_mul(batches).saturating_mul(2);
                let sums = u64::from(of.sizes[0]) * u64::from(of.sizes[1]) * batches;
                NodeCost { work: Cost { operations, bytes }, invocations: sums }
            }
            Self::Rows(group) => group.cost(),
            Self::Attention(group) => group.kernel.cost(),
            Self::Scan(scan) => of_scan(scan),
            Self::Sort(sort) => of_sort(sort),
            Self::Fill(Fill { output, .. }) => of_tensors(&output.tensor, 1),
            Self::Band(Band { input, output, .. }) => {
                of_tensors(&output.tensor, 1 + u64::from(input.is_some()))
            }
        }
    }
}

impl RowGroup {
    /// The cost of all members: buffers within the group move no bytes, and a buffer that several members
    /// read is counted once.
    fn cost(&self) -> NodeCost {
        let mut bytes: FxHashMap<Buffer, u64> = FxHashMap::default();
        let mut cost = NodeCost::default();
        let written: FxHashSet<Buffer> =
            self.members.iter().flat_map(|member| member.node.writes()).collect();
        for Recorded { node, .. } in &self.members {
            let NodeCost { work, invocations } = node.cost();
            cost.work.operations = cost.work.operations.saturating_add(work.operations);
            cost.invocations = cost.invocations.max(invocations);
            let Some(space) = node.space() else { continue };
            for operand in space.stored() {
                let buffer = operand
                    .buffer
                    .filter(|buffer| !written.contains(buffer) || self.results.contains(buffer));
                if let Some(buffer) = buffer {
                    let most = bytes.entry(buffer).or_default();
                    *most = (*most).max(moved_by(operand, &space.sizes));
                }
            }
        }
        cost.work.bytes = bytes.values().copied().fold(0, u64::saturating_add);
        cost
    }
}

impl Attention {
    /// The scores are computed in each pass, and no scores are moved.
    fn cost(&self) -> NodeCost {
        let bytes = self.operands().filter(|(it, _)| it.buffer.is_some());
        let bytes = bytes.map(|(it, sizes)| moved_by(it, &sizes));
        let work =
            Cost { operations: self.operations(), bytes: bytes.fold(0, u64::saturating_add) };
        NodeCost { work, invocations: elements(&self.sizes(Along::Elements)) }
    }
}

impl NodeCost {
    /// The sum of both costs.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            work: self.work + other.work,
            invocations: self.invocations.saturating_add(other.invocations),
        }
    }
}

/// The cost of `count` tensors whose elements are independent.
fn of_tensors(tensor: &TensorLayout, count: u64) -> NodeCost {
    let elements = tensor.element_count();
    let bytes = (elements * u64::from(tensor.data_type().bits())).div_ceil(8) * count;
    NodeCost { work: Cost { operations: elements, bytes }, invocations: elements }
}

fn of_space(space: &IterationSpace, of_an_element: u64, invocations: u64) -> NodeCost {
    let bytes = space.stored().map(|it| moved_by(it, &space.sizes));
    let work = Cost {
        operations: elements(&space.sizes).saturating_mul(of_an_element),
        bytes: bytes.fold(0, u64::saturating_add),
    };
    NodeCost { work, invocations }
}

/// The cost of a Scan: elements are read once, and the states' numbers written once.
fn of_scan(scan: &Scan) -> NodeCost {
    let count = elements(&scan.sizes);
    let bytes = scan.operands().map(|operand| count.saturating_mul(operand.width.bytes().into()));
    let joins = scan.passes() as u64 * scan.results.len() as u64;
    let work = Cost {
        operations: count.saturating_mul(joins.max(1)),
        bytes: bytes.fold(0, u64::saturating_add),
    };
    NodeCost { work, invocations: count }
}

/// The cost of a Sort: all numbers are read once, and the wanted ones written once.
fn of_sort(sort: &Sort) -> NodeCost {
    let [read, written] = [sort.length, sort.wanted].map(|it| u64::from(sort.rows) << it);
    let bytes = (read + written).saturating_mul(sort.numbers.width.bytes().into());
    let work = Cost { operations: read.saturating_mul(sort.passes().max(1).into()), bytes };
    NodeCost { work, invocations: read }
}

/// The cost of a multiplication and an addition for each product; continued sums are also read.
fn of_sums(sums: &Sums) -> NodeCost {
    let sizes: Vec<u32> = sums.dimensions().map(|dimension| dimension.size).collect();
    let bytes = |operand: usize| {
        let strides: Vec<i64> =
            sums.dimensions().map(|dimension| dimension.strides[operand]).collect();
        moved(&sizes, &strides, u32::BITS)
    };
    let again = if sums.goes_on { bytes(SUMS) } else { 0 };
    let depths: u64 = sums.depths.iter().map(|depth| u64::from(depth.size)).product();
    let work = Cost {
        operations: elements(&sizes).saturating_mul(2 * sums.numbers.products_of_a_depth()),
        bytes: (0..OPERANDS).map(bytes).fold(again, u64::saturating_add),
    };
    NodeCost { work, invocations: elements(&sizes) / depths.max(1) }
}

fn moved_by(operand: &Operand, sizes: &[u32; DIMENSIONS]) -> u64 {
    let bits = operand.width.bits();
    let of_a_result = match operand.displacement {
        // Displaced elements may be anywhere.
        Some(it) if !it.is_of_quads => elements(sizes).saturating_mul(SECTOR),
        _ => moved(sizes, &operand.strides, bits),
    };
    if operand.second.is_some() { of_a_result.saturating_mul(2) } else { of_a_result }
}

/// Bytes that a card moves for the elements at all coordinates: elements that are closer together than a
/// sector are moved with the bytes between them.
fn moved(sizes: &[u32], strides: &[i64], element_bits: u32) -> u64 {
    const SECTOR_BITS: u64 = 8 * SECTOR;
    let used = sizes.iter().zip(strides).filter(|(size, stride)| **size > 1 && **stride != 0);
    let bits = u64::from(element_bits);
    let mut used: Vec<(u64, u64)> = used
        .map(|(size, stride)| (stride.unsigned_abs().saturating_mul(bits), (*size).into()))
        .collect();
    used.sort_unstable();
    // The bits of a run, and the dimensions that repeat runs: step and number of runs. Outer dimensions may
    // share runs.
    let mut run = bits;
    let mut all: Vec<(u64, u64)> = Vec::new();
    for (step, size) in used {
        match all.last_mut() {
            // Overlapping windows are one run.
            None if step <= run.max(SECTOR_BITS) => {
                run = run.saturating_add(step.saturating_mul(size - 1));
            }
            Some((last, count)) if step.is_multiple_of(*last) && step / *last <= *count => {
                *count = count.saturating_add((step / *last).saturating_mul(size - 1));
            }
            _ => all.push((step, size)),
        }
    }
    match all.as_slice() {
        [] => run.div_ceil(8),
        all => {
            let runs = all.iter().map(|(_, count)| *count).fold(1, u64::saturating_mul);
            (run.max(SECTOR_BITS) / 8).saturating_mul(runs)
        }
    }
}

/// The number of coordinates at which an operand has different elements.
fn told_apart(sizes: &[u32], strides: &[i64]) -> u64 {
    let used = sizes.iter().zip(strides).filter(|(_, stride)| **stride != 0);
    used.map(|(size, _)| u64::from(*size)).fold(1, u64::saturating_mul)
}

fn elements(sizes: &[u32]) -> u64 {
    sizes.iter().map(|size| u64::from(*size)).fold(1, u64::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_touched_alone_moves_a_sector() {
        // Dense, in any order of its dimensions.
        assert_eq!(moved(&[64, 32], &[32, 1], 32), 64 * 32 * 4);
        assert_eq!(moved(&[32, 64], &[1, 32], 32), 64 * 32 * 4);
        // One element for all.
        assert_eq!(moved(&[64, 32], &[0, 0], 32), 4);
        // Every second element, with those between.
        assert_eq!(moved(&[100], &[2], 32), 4 + 99 * 8);
        // A column of a matrix of 1,024 columns.
        assert_eq!(moved(&[512], &[1024], 32), 512 * 32);
        // Rows of 16 elements in one of 1,024 columns; of 2, which are less than a sector.
        assert_eq!(moved(&[512, 16], &[1024, 1], 32), 512 * 64);
        assert_eq!(moved(&[512, 2], &[1024, 1], 32), 512 * 32);
        // Windows of 3 rows of a padded picture, 10 of them: 12 rows.
        assert_eq!(moved(&[10, 3, 8], &[64, 64, 1], 32), 12 * 32);
        // Windows of 3 that overlap.
        assert_eq!(moved(&[10, 3], &[1, 1], 32), 12 * 4);
    }
}
