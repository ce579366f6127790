//! A compiled kernel as estimates see it: how often its loops turn, and what a turn issues.
//!
//! No plan says how often a loop turns. It follows from the operations that the plan states for an invocation and
//! from those that a turn does: of products, the float instructions of the loop; of reductions and element-wise
//! kernels, the elements that their skeletons take in a turn, since sums that keep what rounding lost take several
//! instructions for an element.

use super::super::assembly::{Loop, Section};
use super::super::compiled::Compiled;
use super::Dispatch;

/// Elements that an invocation of `reduce.comp` takes in a turn.
const ELEMENTS_OF_A_TURN: f64 = 4.0;
/// Depths that a work group of `product_tiles.comp` brings to shared memory at once.
const DEPTHS_OF_A_TILE: f64 = 16.0;
/// Turns of the loop that brings them, whatever the size of the tile.
const TURNS_FOR_A_TILE: f64 = 2.0;

/// A compiled kernel.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Code {
    skeleton: Skeleton,
    sections: Vec<Counts>,
    /// Waves that a SIMD can hold, as the driver counts them.
    pub(super) waves: u64,
}

/// The skeleton that a kernel was linked from, by its name.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Skeleton {
    /// So many functions are applied to each element.
    ElementWise {
        functions: f64,
    },
    /// So many functions are applied to each element, with the one that joins elements.
    Reduce {
        functions: f64,
    },
    Product,
    Other,
}

/// Instructions of a loop without the loops in it, or of a kernel without its loops.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counts {
    parent: Option<usize>,
    pub(super) instructions: f64,
    pub(super) float: f64,
    fused: f64,
    pub(super) other_vector: f64,
    pub(super) quarter_rate: f64,
    /// Accesses to shared memory.
    pub(super) shared: f64,
    /// Accesses to memory.
    pub(super) accesses: f64,
    /// Accesses that read.
    pub(super) reads: u32,
    /// Bytes that an invocation reads of its row in a turn, where one access reads them all.
    pub(super) row_bytes: Option<f64>,
}

impl Code {
    pub(in super::super) fn new(compiled: &Compiled, sections: &[Section]) -> Self {
        let skeleton = Skeleton::of(&compiled.kernel);
        let is_row = |index: usize| index > 0 && matches!(skeleton, Skeleton::Reduce { .. });
        let counts = |(index, section)| Counts::new(section, is_row(index));
        let sections = sections.iter().enumerate().map(counts).collect();
        Self { skeleton, sections, waves: compiled.waves }
    }

    /// The kernel around its loops, then its loops.
    pub(super) fn sections(&self) -> impl Iterator<Item = &Counts> {
        self.sections.iter()
    }

    /// How often each section is executed by an invocation of a dispatch.
    pub(super) fn turns(&self, dispatch: &Dispatch) -> Vec<f64> {
        let operations = dispatch.operations as f64 / dispatch.invocations.max(1) as f64;
        let every = |turns: f64| self.turns_of_all(turns.ceil().max(1.0));
        match self.skeleton {
            Skeleton::ElementWise { functions } => every(operations / functions),
            Skeleton::Reduce { functions } => every(operations / functions / ELEMENTS_OF_A_TURN),
            Skeleton::Product => self.turns_of_product(operations),
            Skeleton::Other => every(1.0),
        }
    }

    /// The kernel once, and each of its loops so often.
    fn turns_of_all(&self, turns: f64) -> Vec<f64> {
        let of = |section: &Counts| if section.parent.is_none() { 1.0 } else { turns };
        self.sections.iter().map(of).collect()
    }

    /// The loop that multiplies turns as often as its operations ask for. Where factors are read to shared memory
    /// first, so do the loops beside it that read them. Other loops are for what does not fit these, or around
    /// them, and take next to no time.
    fn turns_of_product(&self, operations: f64) -> Vec<f64> {
        let mut turns = vec![0.0; self.sections.len()];
        if let Some(kernel) = turns.first_mut() {
            *kernel = 1.0;
        }
        let loops = self.sections.iter().enumerate().skip(1);
        let hottest = loops.max_by(|(_, a), (_, b)| a.products().total_cmp(&b.products()));
        let Some((hot, section)) = hottest.filter(|(_, it)| it.products() > 0.0) else {
            return turns;
        };
        turns[hot] = (operations / section.products()).ceil().max(1.0);
        if section.shared > 0.0 {
            // With its loop over depths unrolled, the hot loop is the one over tiles.
            let (over_tiles, tiles) = match section.parent {
                Some(parent) if parent > 0 => (parent, turns[hot] / DEPTHS_OF_A_TILE),
                _ => (hot, turns[hot]),
            };
            turns[over_tiles] = tiles;
            for (index, inner) in self.sections.iter().enumerate() {
                if inner.parent == Some(over_tiles) && index != hot {
                    turns[index] = tiles * TURNS_FOR_A_TILE;
                }
            }
        }
        turns
    }
}

impl Skeleton {
    fn of(kernel: &str) -> Self {
        // Operands and types come after the functions.
        let named = kernel.split(" (").next().unwrap_or(kernel);
        let (skeleton, functions) = named.split_once(' ').unwrap_or((named, ""));
        let functions = functions.trim();
        if skeleton.starts_with("element_wise") {
            let functions = functions.split_whitespace().count().max(1);
            Self::ElementWise { functions: functions as f64 }
        } else if skeleton.starts_with("reduce") {
            // Functions of elements, reducers that join elements, and functions of results.
            let applied = functions.split(',').next().unwrap_or_default();
            let applied = applied.split_whitespace().filter(|name| *name != "copy").count();
            Self::Reduce { functions: (applied + 1) as f64 }
        } else if skeleton.starts_with("product") {
            Self::Product
        } else {
            Self::Other
        }
    }
}

impl Counts {
    fn new(section: &Section, is_row: bool) -> Self {
        let Section { own, fused, parent } = section;
        let of = |prefixes: &[&str]| -> u32 {
            let is_one = |kind: &str| prefixes.iter().any(|prefix| kind.starts_with(prefix));
            own.memory.iter().filter(|(kind, _)| is_one(kind)).map(|(_, count)| count).sum()
        };
        Self {
            parent: *parent,
            instructions: own.instructions.into(),
            float: own.float.into(),
            fused: (*fused).into(),
            other_vector: own.other_vector.into(),
            quarter_rate: own.quarter_rate.into(),
            shared: of(&["lds-"]).into(),
            accesses: of(&["load.", "store.", "atomic"]).into(),
            reads: of(&["load."]),
            row_bytes: if is_row { row_bytes(own) } else { None },
        }
    }

    /// Products and sums in a turn. Those of integers are one at a quarter of the rate, and one that is not.
    fn products(&self) -> f64 {
        let floats = self.float + self.fused;
        if floats > 0.0 { floats } else { 2.0 * self.quarter_rate }
    }
}

/// Four elements that one access reads lie in a row.
fn row_bytes(own: &Loop) -> Option<f64> {
    let widths = [("load.b128", 16.0), ("load.b64", 8.0)];
    let is_there = |(kind, _): &(&str, f64)| own.memory.get(*kind) == Some(&1);
    widths.into_iter().find(is_there).map(|(_, bytes)| bytes)
}

#[cfg(test)]
mod tests;
