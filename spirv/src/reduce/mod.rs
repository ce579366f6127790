//! Kernels that make one element of every row: a program on its elements, a reducer that joins them, and a
//! program on what comes out.

mod host;
mod joining;
mod reducer;
mod sums;

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use dml_core::capabilities::with_float_modes;
use dml_core::host::HostDispatch;
use dml_core::kernel::KernelModule;

use crate::NativeTypes;
use crate::element_wise::{
    COUNT, Calls, LinkedKernel, Operand, Program, Quads, Skeletons, Value, least, operands, touch,
};
use crate::kernels;
use crate::link::{self, Argument, Body, Call, Callee, Source};

pub(crate) use host::Joined;
pub(crate) use joining::Joining;
pub use reducer::*;

pub(crate) use joining::STATE_AT;

/// The skeletons of each form by the number of outer dimensions that they have.
static BLOCKS: Skeletons = [
    (0, &kernels::REDUCE_0),
    (1, &kernels::REDUCE_1),
    (2, &kernels::REDUCE_2),
    (4, &kernels::REDUCE_4),
    (7, &kernels::REDUCE_7),
];
static ONE_BLOCK: Skeletons = [
    (0, &kernels::REDUCE_BLOCK_0),
    (1, &kernels::REDUCE_BLOCK_1),
    (2, &kernels::REDUCE_BLOCK_2),
    (4, &kernels::REDUCE_BLOCK_4),
    (7, &kernels::REDUCE_BLOCK_7),
];
static GROUPS: Skeletons = [
    (0, &kernels::REDUCE_GROUP_0),
    (1, &kernels::REDUCE_GROUP_1),
    (2, &kernels::REDUCE_GROUP_2),
    (4, &kernels::REDUCE_GROUP_4),
    (7, &kernels::REDUCE_GROUP_7),
];

/// The one for grids.
static GRIDS: (usize, &Source) = (7, &kernels::REDUCE_GRIDS);

/// What is linked already.
static LINKED: LazyLock<Mutex<HashMap<(Reduce, NativeTypes), &'static KernelModule>>> =
    LazyLock::new(Mutex::default);

/// Elements of a block of a row: [`Elements::Values`] and [`Elements::States`].
const BLOCK_LENGTH: u32 = 128;
const LANES: u32 = 16;
/// Columns of an invocation.
const COLUMNS: u32 = 8;
/// Invocations of a work group, of which a row has some.
const GROUP_SIZE: u32 = 256;

/// Who joins the elements of a row. The order is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// One invocation, block after block; no row has more than [`MOST_BLOCKS`].
    Blocks,
    /// One invocation; no row is longer than a block, or [`Reducer::has_any_order`].
    OneBlock,
    /// One invocation for up to eight rows, which are columns: next to each other in the last outer dimension, wherever they
    /// are stored. Operands are taken as rows of columns would be; the record is that of
    /// [`Record::words_of_columns`](crate::element_wise::Record). Only where [`Reduce::multiplies_columns`]; no row has
    /// more than [`MOST_BLOCKS`].
    Columns,
    /// Four invocations of a work group for each block; no row has more than [`MOST_BLOCKS`].
    Group,
    /// A work group goes through a row, [`MOST_BLOCKS`] at a time; no row has more than [`MOST_BLOCKS_OF_LONG`]. Only
    /// [`crate::rows`] have it.
    Long,
}

impl Form {
    /// How many invocations go through the columns of a space.
    pub fn invocations_of_columns(columns: u32) -> u32 {
        columns.div_ceil(COLUMNS)
    }

    /// How many rows of so many blocks a work group has; `None` if each invocation has whole rows.
    pub fn rows_of_a_group(self, blocks: u32) -> Option<u32> {
        match self {
            Self::Blocks | Self::OneBlock | Self::Columns => None,
            Self::Group => Some(GROUP_SIZE / (4 * blocks.next_power_of_two())),
            Self::Long => Some(1),
        }
    }
}

/// Blocks that a kernel joins, or a work group at one time.
pub const MOST_BLOCKS: u32 = 64;
/// Blocks that a kernel of [`Form::Long`] joins: each invocation has the state of one turn.
pub const MOST_BLOCKS_OF_LONG: u32 = MOST_BLOCKS * GROUP_SIZE;

/// What the elements of a row are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elements {
    /// What the program makes of the inputs' elements.
    Values,
    /// States that parts of rows have become, as [`Reducer::of_parts`] writes them. They are all that is read, and nothing
    /// is computed of them before.
    States,
}

impl Elements {
    /// How many of them a block of a row has.
    pub fn block_length(self) -> u32 {
        match self {
            Self::Values => BLOCK_LENGTH,
            Self::States => LANES,
        }
    }
}

/// A kernel for rows: what is linked for it. Its space is an element-wise kernel's; the output has one element for a
/// row.
///
/// A row may be a *grid*: then the last outer dimension, whose size is 1 in the record, is that of its rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reduce {
    /// What becomes of each element before.
    pub program: Program,
    /// How those of a row become one.
    pub reducer: &'static Reducer,
    /// The epilogue: input 0 is the reduced value, the others are the last ones of `inputs`, as many as there are `ends`.
    pub last: Program,
    /// Inputs that have one element for each row, which only `last` reads.
    pub ends: usize,
    /// At most as many as an element-wise kernel has, at least those that the program names.
    pub inputs: Vec<Operand>,
    /// What the elements are.
    pub elements: Elements,
    /// Who joins them; a grid has one invocation.
    pub form: Form,
    /// The input whose elements, of 64 bits, say how many columns and, in the high word, how many rows each
    /// grid has; none for rows.
    pub grids: Option<usize>,
    /// What is written, by single elements.
    pub output: Operand,
    /// The least number of outer dimensions, at most 7.
    pub outer_dimensions: usize,
    /// Those of grids have any length.
    pub quads: Quads,
}

impl Reduce {
    /// The outer dimensions that the kernel has.
    pub fn skeleton_dimensions(&self) -> usize {
        self.skeleton().0
    }

    fn skeleton(&self) -> (usize, &'static Source) {
        if let Some(skeleton) = self.skeleton_of_sums() {
            return skeleton;
        }
        let skeletons = match self.form {
            _ if self.grids.is_some() => return GRIDS,
            Form::Blocks => &BLOCKS,
            Form::OneBlock => &ONE_BLOCK,
            Form::Group => &GROUPS,
            Form::Columns => unreachable!("it has skeletons of its own"),
            Form::Long => unreachable!("only kernels for row groups have it"),
        };
        least(skeletons, self.outer_dimensions)
    }

    /// The kernel's SPIR-V, with the bindings of an element-wise one. It may use `types`.
    pub fn spirv(&self, types: NativeTypes) -> Vec<u32> {
        let bodies = match self.skeleton_of_sums() {
            Some(_) => self.bodies_of_sums(types),
            None => self.bodies(types),
        };
        with_float_modes(&link::link(self.skeleton().1, &bodies), types.float16.modes())
    }

    /// What is linked with a skeleton that joins by linked functions.
    fn bodies(&self, types: NativeTypes) -> Vec<Body> {
        let size = self.grids.map(|input| ("size", self.size(input, types)));
        let own = [("quad", self.quad(types)), ("row", self.row(types))];
        self.joining().bodies(types).into_iter().chain(own).chain(size).collect()
    }

    /// The kernel as plans name it, which may use `types`, linked at the first call and never given up.
    pub fn variant(&self, types: NativeTypes) -> &'static KernelModule {
        let mut linked = LINKED.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = Self { outer_dimensions: self.skeleton_dimensions(), ..self.clone() };
        linked
            .entry((kernel, types))
            .or_insert_with_key(|(it, _)| Box::leak(Box::new(it.module(types))))
    }

    fn module(&self, types: NativeTypes) -> KernelModule {
        debug_assert!(
            self.grids.is_none() || self.quads == Quads::default(),
            "grids have any columns"
        );
        let (_, skeleton) = self.skeleton();
        let (program, last) = (self.program.name(), self.last.name());
        let operands = operands(&self.inputs, self.output);
        let sizes = self.grids.map(|it| format!(" by {it}")).unwrap_or_default();
        let reducer = self.reducer;
        let of = if self.elements == Elements::States { " of states" } else { "" };
        let ends = if self.ends > 0 { format!(" of {}", self.ends) } else { String::new() };
        let name = format!(
            "{}{}{sizes}{of} {program}, {reducer:?}, {last}{ends} {operands}",
            skeleton.name, self.quads
        );
        let kernel = self.clone();
        let host = move |dispatch: &mut HostDispatch<'_>| host::run(&kernel, dispatch);
        let linked =
            LinkedKernel { name, spirv: self.spirv(types), skeleton, host: Box::new(host) };
        linked.module(&self.inputs, touch(self.output))
    }

    /// Sets the size of a grid to what an input says.
    fn size(&self, input: usize, types: NativeTypes) -> Vec<Call> {
        let mut calls = Calls::new(&self.inputs, types);
        let size = calls.value(Value::Input(input))[0];
        calls.call(Callee::Exported("hold"), vec![Argument::Parameter(STATE_AT), size, COUNT]);
        calls.made
    }

    /// Joins a quad to the state.
    fn quad(&self, types: NativeTypes) -> Vec<Call> {
        let mut calls = Calls::new(self.elements_of_rows(), types).of(self.quads);
        let element = self.joining().element(&mut calls, &self.program);
        self.joining().quad(calls, element)
    }

    /// Writes what the state in the first lane is.
    fn row(&self, types: NativeTypes) -> Vec<Call> {
        let mut calls = Calls::new(&self.inputs, types);
        let state = self.joining().result(&mut calls);
        let first = self.elements_of_rows().len();
        let ends = (first..self.inputs.len()).map(|it| calls.value(Value::Input(it)));
        let values = [state].into_iter().chain(ends).collect();
        let result = calls.run_on(&self.last, values);
        calls.store(self.output, &result);
        calls.made
    }

    /// The inputs of which a row has elements.
    fn elements_of_rows(&self) -> &[Operand] {
        &self.inputs[..self.inputs.len() - self.ends]
    }

    fn joining(&self) -> Joining {
        Joining {
            reducer: self.reducer,
            elements: self.elements,
            form: self.form,
            quads: self.quads,
        }
    }
}
