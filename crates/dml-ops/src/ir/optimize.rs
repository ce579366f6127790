//! Passes over a program that change no bit of its results: copies become views, unread results are dropped, Maps are
//! fused with the node that reads them, or with a Map that writes beside their result, Maps of what is joined are divided
//! into its parts, reductions of the same rows become groups, products with a softmax between them become an attention,
//! costly functions of narrow elements become tables, values that are computed again are read instead, large matrices
//! that each execution unpacks are multiplied by in slices, and products by copies that exceed a buffer in pieces.
//!
//! Each pass sees only buffers and nodes, so the nodes of one operator and of several operators of a graph
//! are optimized in the same way.

mod attention;
mod copies;
mod epilogues;
mod fuse;
mod joined;
mod merge;
mod moves;
mod node_numbers;
mod pairs;
mod pieces;
mod regions;
mod repeated;
mod rows;
mod slices;
mod tables;
mod uses;
mod views;

use super::Program;
use crate::Target;
use rustc_hash::FxHashSet;
use uses::Uses;

/// The effect on the nodes of a graph, by their numbers in [`super::Origin::sources`].
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Nodes that only copied a value.
    pub(crate) folded: Vec<usize>,
    /// Nodes whose value an earlier node has computed.
    pub(crate) repeated: Vec<usize>,
    /// Element-wise nodes that were not fused with the node that reads them, and the reasons.
    pub(crate) not_fused: Vec<(usize, &'static str)>,
}

/// Optimizes `program` for a device; without `fuse` only unread results are dropped, and products divided that exceed
/// a buffer.
pub(crate) fn optimize(program: &mut Program, fuse: bool, target: &Target<'_>) -> Report {
    let mut report = Report::default();
    let mut uses = Uses::of(std::mem::take(&mut program.nodes));
    uses.drop_unread();
    if fuse {
        report.folded = copies::fold(program, &mut uses);
        moves::read_originals(program, &mut uses, target);
        report.not_fused = fuse::fuse(program, &mut uses, target);
        epilogues::fuse(program, &mut uses);
        moves::write_destinations(program, &mut uses);
        let fused = joined::divide(program, &mut uses, target);
        report.not_fused.retain(|(node, _)| !fused.contains(node));
        pairs::fuse(&mut uses, target.max_window());
    }
    program.nodes = uses.into_nodes();
    if fuse {
        rows::group(program);
        attention::fuse(program, target);
        let mut uses = Uses::of(std::mem::take(&mut program.nodes));
        report.repeated = repeated::merge(program, &mut uses);
        program.nodes = uses.into_nodes();
    }
    // A node of the graph is executed if any of its nodes is left.
    let left: FxHashSet<usize> =
        program.nodes.iter().flat_map(|node| node.origin.sources.iter().copied()).collect();
    report.not_fused.retain(|(node, _)| left.contains(node));
    for not_executed in [&mut report.folded, &mut report.repeated] {
        not_executed.retain(|it| !left.contains(it));
        not_executed.sort_unstable();
        not_executed.dedup();
    }
    if fuse {
        tables::tabulate(program, target.max_window());
        slices::divide(program, target);
    }
    pieces::divide(program, target.max_buffer());
    report
}
