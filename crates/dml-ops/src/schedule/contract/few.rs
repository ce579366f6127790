//! Sums of few rows on GPUs: work groups share the columns that they read, and divide parts of sums among their
//! invocations, so that all of them are one dispatch.

use dml_core::Strategy;
use dml_core::kernel::can_run;
use dml_core::plan::Slot;
use dml_spirv::element_wise::QUAD;
use dml_spirv::product::{MOST_FEW_ROWS, Product, Tile};

use super::{AXES, FIRST_DEPTH, arithmetic};
use crate::ir::{OPERANDS, SUMS, Sums};
use crate::schedule::Schedule;
use crate::schedule::boxes::TensorBox;
use crate::schedule::dispatches::Alignment;

/// The most products of a sum: on lavapipe all loops of an invocation have 65,535 iterations.
const MOST_PRODUCTS: u32 = 1 << 15;
/// Operations of a work group for each product of a sum: a multiplication and an addition for each of its sums.
const WORK_OF_A_GROUP: u64 = 2 * 64 * MOST_FEW_ROWS as u64;
/// With fewer columns most invocations of a work group have none.
const LEAST_COLUMNS: u32 = 32;

const DEPTH: usize = AXES - 1;
const COLUMN: usize = FIRST_DEPTH - 1;

impl Schedule<'_> {
    /// Whether sums are added up by tiles of few rows here.
    pub(super) fn has_few_rows(&self, sums: &Sums<Slot>) -> bool {
        let tuning = self.target.tuning;
        let sizes = sums.sizes();
        let [rows, columns] = [sums.row.size, sizes[COLUMN]];
        let is_preferred = match tuning.strategy {
            Some(strategy) => strategy == Strategy::FewRows,
            None => tuning.shared_tiles && rows > 1 && columns >= LEAST_COLUMNS,
        };
        let most = u64::from(MOST_PRODUCTS).min(tuning.dispatch_bound / WORK_OF_A_GROUP);
        let has_one_dimension = sums.columns.len() <= 1 && sums.depths.len() <= 1;
        let is_served = is_preferred
            && has_one_dimension
            && rows <= MOST_FEW_ROWS
            && u64::from(sizes[DEPTH]) <= most;
        let arithmetic = arithmetic(&sums.numbers, Tile::Few, tuning.numerics);
        let kernel = Product { tile: Tile::Few, columns_are_whole: false, arithmetic };
        is_served
            && arithmetic.has(Tile::Few)
            && can_run(&kernel.variant(), self.target.capabilities)
            && self.shows_depths(sums)
    }

    /// Whether a descriptor shows all depths of some sums.
    fn shows_depths(&self, sums: &Sums<Slot>) -> bool {
        let (dispatches, sizes) = (self.dispatches(), sums.sizes());
        let alignment = dispatches.alignment();
        let placements = [0, 1, SUMS].map(|operand| sums.placement(operand, alignment));
        let boxes = dispatches.boxes(sizes, &placements);
        boxes.is_ok_and(|region| region.most()[DEPTH] == sizes[DEPTH])
    }
}

impl Sums<Slot> {
    /// The tile of few rows for a box whose operands begin at `starts`: columns may be read as quads of depths.
    pub(super) fn few_tile(
        &self,
        part: &TensorBox<AXES>,
        starts: [u32; OPERANDS],
        alignment: Alignment,
    ) -> Tile {
        let part_length = self.length_of_a_part().unwrap_or(QUAD);
        let are_deep = alignment == Alignment::Quads
            && starts[1].is_multiple_of(QUAD)
            && [part.sizes[DEPTH], part_length].iter().all(|it| it.is_multiple_of(QUAD))
            && self.are_quads(1, DEPTH);
        if are_deep { Tile::FewDeep } else { Tile::Few }
    }
}
