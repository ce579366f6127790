//! Row groups and reductions of few long rows, each row by several work groups: a kernel for each reduction writes the
//! states of segments, and every work group of the next kernels joins them. Elements that members pass to each other
//! are computed again by each kernel that reads them.

use dml_core::Error;
use dml_core::kernel::can_run;
use dml_core::plan::Slot;
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, ElementFormula, Formula, MAX_INPUTS, Source};
use dml_spirv::reduce::{Elements, Form, Reducer, SEGMENT};
use dml_spirv::rows::{Action, Destination, Phase, Rows};

use super::members::{KeptIn, Members};
use super::{FEW_ROWS, are_neighbours, as_written};
use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Reduction, RowGroup};
use crate::schedule::dispatches::Dispatches;
use crate::schedule::piece::{KernelAccess, Piece, Work};
use crate::schedule::reduce::has_groups;
use crate::schedule::{Schedule, Strategy, cost};

const LAST: usize = DIMENSIONS - 1;
/// The most segments of a row: the states that each work group of the row reads are few beside its elements.
const MOST_SEGMENTS: u32 = 4096;

/// The kernels of rows, while they are made.
struct Segments {
    /// The elements of the rows: the last dimension goes along them.
    sizes: [u32; DIMENSIONS],
    /// The operands of all kernels; each kernel has those that it uses.
    operands: Vec<Operand<Slot>>,
    parameters: Vec<u32>,
    /// The operations on an element in the largest kernel.
    operations: u64,
}

/// The states that a kernel has written: an operand, and what they are the states of.
struct States {
    operand: usize,
    formula: Formula,
    reducer: &'static Reducer,
}

impl<'a> Schedule<'a> {
    /// Adds the kernels that compute a group of few rows, which are long or have further results; returns whether it did.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`] if the operator would have too many steps.
    pub(super) fn row_segments(&mut self, group: &RowGroup, size: u32) -> Result<bool, Error> {
        if !has_groups(self.target, SEGMENT) || size.div_ceil(SEGMENT) > MOST_SEGMENTS {
            return Ok(false);
        }
        let Some(members) = Members::of(group, KeptIn::Nowhere) else { return Ok(false) };
        let Some(space) = members.space() else { return Ok(false) };
        // Short rows whose results are values of rows alone: separate nodes are fewer dispatches.
        let is_one_kernel = (members.stored.is_empty() || !members.writes_elements())
            && (size <= SEGMENT || self.target.tuning.strategy.is_some());
        let has_few_rows = cost::elements(&space.sizes[..LAST]) < FEW_ROWS;
        if is_one_kernel || !has_few_rows || space.sizes[LAST] != size || !are_neighbours(&space) {
            return Ok(false);
        }
        self.place_locals(group.results.iter().copied());
        let space = self.placed(&space);
        let before = self.reserved();
        match self.segment_kernels(space, &members)? {
            Some(dispatches) => {
                self.strategy = Strategy::RowGroups;
                self.add_dispatches(dispatches)?;
                Ok(true)
            }
            None => {
                self.give_back(before);
                Ok(false)
            }
        }
    }

    /// Adds a kernel that reduces each segment of few rows to a state; returns the states, or `None` where work groups do
    /// not reduce such rows.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`] if the operator would have too many steps.
    pub(in crate::schedule) fn segments_of_rows(
        &mut self,
        space: &IterationSpace<Slot>,
        reduction: &Reduction,
    ) -> Result<Option<Operand<Slot>>, Error> {
        let elements = reduction.divided(&space.inputs).0.to_vec();
        // The elements of windows are displaced by what the program computes, which has not begun where they are loaded.
        let is_adjacent = |it: &Operand<Slot>| {
            it.displacement.is_none() && (it.repeats > 0 || (0..=1).contains(&it.strides[LAST]))
        };
        if !has_groups(self.target, space.sizes[LAST])
            || cost::elements(&space.sizes[..LAST]) >= FEW_ROWS
            || reduction.elements != Elements::Values
            || reduction.reducer.width() != ElementWidth::B32
            || !elements.iter().all(is_adjacent)
        {
            return Ok(None);
        }
        let sources = (0..elements.len()).map(Source::Operand).collect();
        let formula = Formula { sources, program: reduction.program.clone() };
        let mut segments = Segments {
            sizes: space.sizes,
            operands: elements,
            parameters: reduction.parameters.clone(),
            operations: formula.program.steps.len().max(1) as u64,
        };
        let before = self.reserved();
        let reducer = reduction.reducer.of_parts();
        let mut dispatches = self.dispatches();
        let states = self.states(&mut segments, reducer);
        let phases = vec![Phase { formula, action: Action::Segment { reducer } }];
        let output = segments.operands[states].clone();
        if !self.segment_kernel(&segments, phases, &output, &mut dispatches)? {
            self.give_back(before);
            return Ok(None);
        }
        self.strategy = Strategy::RowGroups;
        self.add_dispatches(dispatches)?;
        Ok(Some(Operand { repeats: 0, ..output }))
    }

    /// The dispatches of a group; `None` if one of the kernels is not possible.
    fn segment_kernels(
        &mut self,
        space: IterationSpace<Slot>,
        members: &Members,
    ) -> Result<Option<Dispatches<'a>>, Error> {
        let mut segments = Segments {
            sizes: space.sizes,
            operands: space.inputs,
            parameters: members.parameters.clone(),
            operations: members.operations,
        };
        let mut dispatches = Dispatches::new(self.origin.operator, self.origin.field, self.target);
        let mut written: Vec<States> = vec![];
        // Values of the row, with which later kernels begin.
        let mut known: Vec<Phase> = vec![];
        for phase in &members.phases {
            let Phase { formula, action } = phase.clone();
            let (reducer, last) = match action {
                Action::Reduce { reducer, last } => (reducer, last),
                Action::Row => {
                    known.push(phase.clone());
                    continue;
                }
                _ => {
                    let store = members.stored.iter().map(|it| Phase {
                        formula: copy(Source::Row(it.row_value)),
                        action: Action::Store { to: Destination::Input(it.operand) },
                    });
                    known.extend(store);
                    known.push(phase.clone());
                    continue;
                }
            };
            let of_parts = reducer.of_parts();
            let is_known = |it: &States| it.formula == formula && it.reducer == of_parts;
            let operand = match written.iter().find(|it| is_known(it)) {
                Some(states) => states.operand,
                None => {
                    let operand = self.states(&mut segments, of_parts);
                    let action = Action::Segment { reducer: of_parts };
                    let phases = [known.clone(), vec![Phase { formula: formula.clone(), action }]];
                    let output = segments.operands[operand].clone();
                    if !self.segment_kernel(&segments, phases.concat(), &output, &mut dispatches)? {
                        return Ok(None);
                    }
                    written.push(States { operand, formula, reducer: of_parts });
                    operand
                }
            };
            let action = Action::Join { reducer, last };
            known.push(Phase { formula: copy(Source::Operand(operand)), action });
        }
        let is_possible = self.segment_kernel(&segments, known, &space.output, &mut dispatches)?;
        Ok(is_possible.then_some(dispatches))
    }

    /// Reserves memory for the states of segments; returns the number of the operand.
    fn states(&mut self, segments: &mut Segments, reducer: &'static Reducer) -> usize {
        let mut sizes = segments.sizes;
        sizes[LAST] = sizes[LAST].div_ceil(SEGMENT);
        let mut states =
            self.temporary(reducer.output_width(), cost::elements(&sizes)).packed(&sizes);
        states.strides[LAST] = 1;
        segments.operands.push(Operand { repeats: SEGMENT.ilog2(), ..states });
        segments.operands.len() - 1
    }

    /// Adds the dispatches of one kernel; returns whether the device can run it, and shows all of a row to it.
    fn segment_kernel(
        &mut self,
        segments: &Segments,
        mut phases: Vec<Phase>,
        output: &Operand<Slot>,
        dispatches: &mut Dispatches<'_>,
    ) -> Result<bool, Error> {
        let mut used: Vec<usize> = phases.iter().flat_map(operands_of).collect();
        used.sort_unstable();
        used.dedup();
        if used.len() > MAX_INPUTS {
            return Ok(false);
        }
        phases.iter_mut().for_each(|phase| renumber(phase, &used));
        let inputs = used.iter().map(|at| segments.operands[*at].clone()).collect();
        let space = IterationSpace { sizes: segments.sizes, inputs, output: output.clone() };
        let alignment = dispatches.alignment();
        let placements: Vec<_> = space.stored().map(|it| it.placement(alignment)).collect();
        let Ok(boxes) = dispatches.boxes(space.sizes, &placements) else { return Ok(false) };
        if boxes.most()[LAST] < space.sizes[LAST] {
            return Ok(false);
        }
        for part in boxes {
            let piece = Piece::of(&space, &part, alignment);
            let taken: Vec<KernelAccess> = piece.operands().map(|it| piece.take(it)).collect();
            let (record, inputs, output) = piece.record(&taken, &segments.parameters);
            let output = as_written(output, &phases);
            let (outer_dimensions, quads) = (record.outer_dimensions(), piece.quads(&record));
            let (phases, form) = (phases.clone(), Form::Segments);
            let kernel = Rows { phases, inputs, output, form, outer_dimensions, quads };
            let block = record.words(kernel.skeleton_dimensions());
            let variant = kernel.variant(self.target.native_types());
            if !can_run(&variant, self.target.capabilities) {
                return Ok(false);
            }
            let operations = cost::elements(&piece.sizes).saturating_mul(segments.operations);
            let count = record.rows() * u64::from(piece.inner().div_ceil(SEGMENT));
            let of_a_group = form.rows_of_a_group(1);
            let work = Work { count, operations, of_a_group };
            piece.dispatch(&variant, &block, work, dispatches, &mut self.constants)?;
        }
        Ok(true)
    }
}

fn copy(source: Source) -> Formula {
    Formula { sources: vec![source], program: ElementFormula::default() }
}

/// The operands that a phase reads or writes, but for the output.
fn operands_of(phase: &Phase) -> Vec<usize> {
    let read = phase.formula.sources.iter().filter_map(|source| match source {
        Source::Operand(at) => Some(*at),
        Source::Row(_) | Source::Kept => None,
    });
    let stored = match phase.action {
        Action::Store { to: Destination::Input(input) } => Some(input),
        _ => None,
    };
    read.chain(stored).collect()
}

/// Replaces the numbers of operands by their places among those that are `used`.
fn renumber(phase: &mut Phase, used: &[usize]) {
    let place = |at: &mut usize| *at = used.partition_point(|it| *it < *at);
    for source in &mut phase.formula.sources {
        if let Source::Operand(at) = source {
            place(at);
        }
    }
    if let Action::Store { to: Destination::Input(input) } = &mut phase.action {
        place(input);
    }
}
