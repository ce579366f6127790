//! The members of a row group as the phases of one kernel.

use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{
    DIMENSIONS, ElementFormula as Functions, Formula, MAX_INPUTS, MAX_PARAMETERS, Source, Value,
};
use dml_spirv::reduce::Elements;
use dml_spirv::rows::{Action, Destination, MAX_ROW_VALUES, Phase};
use rustc_hash::FxHashMap;

use crate::ir::space::{IterationSpace, Operand};
use crate::ir::with_parameters_from;
use crate::ir::{Buffer, Map, Node, Reduce, RowGroup, RowOrder};

const LAST: usize = DIMENSIONS - 1;
const LAST_BUT_ONE: usize = LAST - 1;

/// The place where a kernel keeps the values of elements that a phase computes for later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeptIn {
    Registers,
    /// The output, which is written last.
    Output,
    /// Nowhere: each reader computes them again. Kernels of segments of rows then have all phases, and values of rows may be
    /// results beside the output.
    Nowhere,
}

/// The most steps of a program in which values are computed again.
const MAX_STEPS: usize = 64;
/// The end of a group whose result has one element for each row, such as norms.
const STORE: Action = Action::Store { to: Destination::Output };

/// A row value that is written to an operand.
pub(super) struct StoredValue {
    pub(super) operand: usize,
    pub(super) row_value: usize,
}

/// The members of a group as phases of one kernel.
pub(super) struct Members {
    sizes: [u32; DIMENSIONS],
    /// The sizes, with 1 for dimensions along rows.
    of_rows: [u32; DIMENSIONS],
    pub(super) phases: Vec<Phase>,
    /// The views of other buffers, and the view of the output.
    operands: Vec<Operand>,
    output: Operand,
    /// Views of buffers that members write for others, and the source of their values in the kernel.
    inside: FxHashMap<Buffer, (Operand, Source)>,
    /// Views of buffers whose elements are computed again, and how.
    again: FxHashMap<Buffer, (Operand, Formula)>,
    /// The operands that are results of rows, each with its row value.
    pub(super) stored: Vec<StoredValue>,
    row_values: usize,
    /// Whether a phase has kept its values of elements.
    has_kept: bool,
    kept_in: KeptIn,
    /// The operations of the programs on elements.
    pub(super) operations: u64,
    pub(super) parameters: Vec<u32>,
}

impl Members {
    pub(super) fn of(group: &RowGroup, kept_in: KeptIn) -> Option<Self> {
        let [first, .., last] = group.members.as_slice() else { return None };
        let (Node::Reduce(Reduce { space: rows, .. }), Node::Map(Map { space, .. })) =
            (&first.node, &last.node)
        else {
            return None;
        };
        let is_along = |at: usize| rows.sizes[at] > 1 && rows.output.strides[at] == 0;
        let of_rows = std::array::from_fn(|at| if is_along(at) { 1 } else { rows.sizes[at] });
        let end = match space.sizes {
            sizes if sizes == rows.sizes => Action::Write,
            sizes if sizes == of_rows && joins_twice(group) => STORE,
            _ => return None,
        };
        let is_result = (kept_in == KeptIn::Nowhere || group.results.len() == 1)
            && space.output.buffer.is_some_and(|output| group.results.contains(&output));
        if !is_result {
            return None;
        }
        let mut members = Self {
            sizes: rows.sizes,
            of_rows,
            phases: vec![],
            operands: vec![],
            output: space.output.clone().repeated(&space.sizes),
            inside: FxHashMap::default(),
            again: FxHashMap::default(),
            stored: vec![],
            row_values: 0,
            has_kept: false,
            kept_in,
            operations: 0,
            parameters: vec![],
        };
        for (number, member) in group.members.iter().enumerate() {
            let is_last = number + 1 == group.members.len();
            match &member.node {
                Node::Reduce(reduce) => members.reduce(reduce)?,
                Node::Map(map) if is_last => members.map(map, &end)?,
                Node::Map(map) if map.space.sizes == members.of_rows => {
                    members.map(map, &Action::Row)?;
                }
                Node::Map(map) => members.map(map, &Action::Keep)?,
                _ => return None,
            }
        }
        let output = members.output.buffer;
        for result in group.results.iter().filter(|it| Some(**it) != output) {
            members.store(*result)?;
        }
        let fits = members.operands.len() <= MAX_INPUTS
            && members.parameters.len() <= MAX_PARAMETERS
            && members.row_values <= MAX_ROW_VALUES;
        fits.then_some(members)
    }

    fn reduce(&mut self, reduce: &Reduce) -> Option<()> {
        let Reduce { space, reduction, order, grids } = reduce;
        let widths = [reduction.reducer.width(), reduction.width()];
        let are_words = widths == [ElementWidth::B32; 2]
            && (space.output.width == ElementWidth::B32 || reduction.second.is_some());
        if grids.is_some()
            || *order != RowOrder::Flattened
            || reduction.elements != Elements::Values
            || reduction.second.is_some() && self.kept_in != KeptIn::Nowhere
            || !are_words
        {
            return None;
        }
        let (elements, seconds) = reduction.divided(&space.inputs);
        let second = reduction.second.map(|step| reduction.last.up_to(step));
        let lasts = [reduction.last.clone()].into_iter().chain(second);
        for (last, output) in lasts.zip([&space.output].into_iter().chain(seconds)) {
            let (reducer, last) = (reduction.reducer, self.renumbered(&last));
            let action = Action::Reduce { reducer, last };
            self.phase(elements, &reduction.program, &reduction.parameters, action)?;
            self.add_row_value(output)?;
        }
        Some(())
    }

    fn map(&mut self, map: &Map, action: &Action) -> Option<()> {
        let Map { space, computation } = map;
        let output = &space.output;
        let is_kept_in_output = *action == Action::Keep && self.kept_in == KeptIn::Output;
        let is_word = output.width == ElementWidth::B32;
        let has_room = self.output.width == ElementWidth::B32 && self.writes_elements();
        if !output.is_plain()
            || matches!(action, Action::Keep | Action::Row) && !is_word
            || is_kept_in_output && !has_room
        {
            return None;
        }
        if *action == Action::Keep && self.kept_in == KeptIn::Nowhere {
            let formula =
                self.formula(&space.inputs, &computation.program, &computation.parameters, action)?;
            self.again.insert(output.buffer?, (output.clone(), formula));
            return Some(());
        }
        let done = if is_kept_in_output { Action::Write } else { action.clone() };
        self.phase(&space.inputs, &computation.program, &computation.parameters, done)?;
        match action {
            Action::Row => self.add_row_value(output)?,
            Action::Keep => self.keep(output)?,
            _ => {}
        }
        Some(())
    }

    /// Makes the last phase's result a row value, which later members read as `view`.
    fn add_row_value(&mut self, view: &Operand) -> Option<()> {
        if view.buffer == self.output.buffer {
            return None;
        }
        self.inside.insert(view.buffer?, (view.clone(), Source::Row(self.row_values)));
        self.row_values += 1;
        Some(())
    }

    /// Keeps the last phase's result for each element, which later members read as `view`.
    fn keep(&mut self, view: &Operand) -> Option<()> {
        let is_other_view = view.buffer == self.output.buffer && !self.lies_as_output(view);
        if self.has_kept || is_other_view {
            return None;
        }
        let source = match self.kept_in {
            KeptIn::Registers | KeptIn::Nowhere => Source::Kept,
            KeptIn::Output => {
                self.operands.push(self.output.clone());
                Source::Operand(self.operands.len() - 1)
            }
        };
        self.has_kept = true;
        self.inside.insert(view.buffer?, (view.clone(), source));
        Some(())
    }

    fn phase(
        &mut self,
        inputs: &[Operand],
        program: &Functions,
        parameters: &[u32],
        action: Action,
    ) -> Option<()> {
        let formula = self.formula(inputs, program, parameters, &action)?;
        self.phases.push(Phase { formula, action });
        Some(())
    }

    /// The program of a phase, with its sources.
    fn formula(
        &mut self,
        inputs: &[Operand],
        program: &Functions,
        parameters: &[u32],
        action: &Action,
    ) -> Option<Formula> {
        let is_of_row = [Action::Row, STORE].contains(action);
        let mut formula = Formula { sources: vec![], program: Functions::default() };
        let values: Option<Vec<Value>> =
            inputs.iter().map(|input| self.value(input, is_of_row, &mut formula)).collect();
        let program = self.renumbered(program);
        appended(&mut formula, &program, &values?);
        if !is_of_row {
            self.operations += formula.program.steps.len().max(1) as u64;
        }
        self.parameters.extend(parameters);
        Some(formula)
    }

    /// The value of an operand in a formula.
    fn value(
        &mut self,
        operand: &Operand,
        is_of_row: bool,
        formula: &mut Formula,
    ) -> Option<Value> {
        let known = operand.buffer.and_then(|buffer| self.again.get(&buffer));
        if let Some((view, again)) = known {
            let is_same = view.base == operand.base && operand.lies_as(view, &self.sizes);
            let steps = formula.program.steps.len() + again.program.steps.len();
            if is_of_row || !operand.is_plain() || !is_same || steps > MAX_STEPS {
                return None;
            }
            let first = formula.sources.len();
            formula.sources.extend(&again.sources);
            let sources: Vec<Value> = (first..formula.sources.len()).map(Value::Input).collect();
            return Some(appended(formula, &again.program, &sources));
        }
        formula.sources.push(self.source(operand, is_of_row)?);
        Some(Value::Input(formula.sources.len() - 1))
    }

    /// Adds an operand for a result that is a row value.
    fn store(&mut self, result: Buffer) -> Option<()> {
        let (view, Source::Row(row_value)) = self.inside.get(&result)? else { return None };
        self.stored.push(StoredValue { operand: self.operands.len(), row_value: *row_value });
        self.operands.push(view.clone());
        Some(())
    }

    /// A program whose parameters are numbered after those of the phases before.
    fn renumbered(&self, program: &Functions) -> Functions {
        let first = u32::try_from(self.parameters.len()).expect("groups have few parameters");
        with_parameters_from(program, first)
    }

    /// The source of an operand for a phase; `None` if its view is not the one that was written.
    fn source(&mut self, operand: &Operand, is_of_row: bool) -> Option<Source> {
        if !operand.is_plain() {
            return None;
        }
        if let Some((view, source)) = operand.buffer.and_then(|buffer| self.inside.get(&buffer)) {
            let is_row_value = matches!(source, Source::Row(_));
            if is_of_row && !is_row_value {
                return None;
            }
            let sizes = if is_row_value { &self.of_rows } else { &self.sizes };
            let stands_still = !is_row_value || is_of_row || !self.goes_along(operand);
            let is_same = view.base == operand.base && operand.lies_as(view, sizes);
            return (is_same && stands_still).then_some(*source);
        }
        // Other rows, or other work groups of this row, may have written it by then.
        let is_read_in_place = !is_of_row && self.writes_elements() && self.lies_as_output(operand);
        if operand.buffer == self.output.buffer && !is_read_in_place {
            return None;
        }
        let mut operand = operand.clone();
        if is_of_row {
            operand = operand.repeated(&self.of_rows);
        }
        // An input may be bound to the bytes of the output, which has been written by then.
        let is_written = self.kept_in == KeptIn::Output && self.has_kept;
        if is_written && operand.buffer.is_some() && self.goes_along(&operand) {
            return None;
        }
        let known = self.operands.iter().position(|it| *it == operand);
        Some(Source::Operand(known.unwrap_or_else(|| {
            self.operands.push(operand);
            self.operands.len() - 1
        })))
    }

    /// Whether each element has the output's position, in a buffer that may be the same.
    fn lies_as_output(&self, operand: &Operand) -> bool {
        operand.base == self.output.base && operand.lies_as(&self.output, &self.sizes)
    }

    /// Whether the output has all elements of rows, not one for each row.
    pub(super) fn writes_elements(&self) -> bool {
        self.goes_along(&self.output)
    }

    /// Whether the elements of a row are different elements of an operand.
    fn goes_along(&self, operand: &Operand) -> bool {
        let is_along = |at: usize| self.of_rows[at] != self.sizes[at];
        (0..DIMENSIONS).any(|at| is_along(at) && operand.strides[at] != 0)
    }

    /// The space of the kernel, whose last dimension goes along rows; `None` if rows have several dimensions, unless these
    /// are blocks of a power of two elements, for each of which some inputs have one element: the channels of a group.
    pub(super) fn space(&self) -> Option<IterationSpace> {
        // One for each row, so that rows stay apart, and in the order of the descriptor.
        let rows = Operand::numbers(0, [0; DIMENSIONS]).packed(&self.of_rows);
        let inputs = self.operands.iter().chain([&self.output]).cloned().collect();
        let space = IterationSpace { sizes: self.sizes, inputs, output: rows }.coalesced();
        let is_along = |at: &usize| space.sizes[*at] > 1 && space.output.strides[*at] == 0;
        let along: Vec<usize> = (0..DIMENSIONS).filter(is_along).collect();
        let mut space = match along.as_slice() {
            [dimension] => space.with_last(*dimension),
            [LAST_BUT_ONE, LAST] => space.with_blocks(u32::MAX)?,
            _ => return None,
        };
        space.output = space.inputs.pop()?;
        (space.output.repeats == 0).then_some(space)
    }
}

/// Whether a group has several reductions, and no product. A single reduction alone has more schedules than a group has:
/// by columns, or in parts.
fn joins_twice(group: &RowGroup) -> bool {
    let reduces = group.members.iter().filter_map(|member| match &member.node {
        Node::Reduce(reduce) => Some(reduce),
        _ => None,
    });
    let reduces: Vec<&Reduce> = reduces.collect();
    reduces.len() > 1 && !reduces.iter().any(|reduce| reduce.is_product())
}

/// Adds the steps of a program whose inputs are these values of the formula; returns its result.
fn appended(formula: &mut Formula, program: &Functions, values: &[Value]) -> Value {
    let first = formula.program.steps.len();
    let value = |it: &Value| match *it {
        Value::Input(at) => values[at],
        Value::Result(at) => Value::Result(at + first),
        parameter @ Value::Parameter(_) => parameter,
    };
    for step in &program.steps {
        let arguments = step.arguments.iter().map(value);
        formula.program.apply(step.function, arguments);
    }
    value(&program.last())
}
