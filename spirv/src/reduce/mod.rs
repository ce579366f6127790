//! Kernels that reduce every row to one element: a program on its elements, a reducer that joins them, and a
//! program on the result.

mod host;
mod joined;
mod joining;
mod reducer;
mod sums;

use dml_core::capabilities::with_float_modes;
use dml_core::host::HostDispatch;
use dml_core::kernel::{KernelModule, Shared};

use crate::NativeTypes;
use crate::element_wise::{
    COUNT, Calls, ElementFormula, KernelOperand, LANES, LinkedKernel, LinkedKernels, QUAD, Quads,
    Skeletons, Value, least, operands, touch,
};
use crate::kernels;
use crate::link::{self, Argument, Body, Call, Callee, Source};

pub(crate) use joined::{Joined, State};
pub(crate) use joining::Joining;
pub use reducer::*;

pub(crate) use joining::STATE_AT;

/// The skeletons of a form, each with its number of outer dimensions.
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

/// The skeleton of [`Form::ColumnGroups`].
static COLUMN_GROUPS: (usize, &Source) = (7, &kernels::REDUCE_COLUMNS);

/// The skeleton for grids.
static GRIDS: (usize, &Source) = (7, &kernels::REDUCE_GRIDS);

/// The kernels that have been linked.
static LINKED: LinkedKernels<(Reduce, NativeTypes)> = LinkedKernels::new();

/// Elements in a block of a row: [`Elements::Values`] and [`Elements::States`].
const BLOCK_LENGTH: u32 = 128;
/// Columns that one invocation computes.
const COLUMNS: u32 = 8;
/// The number of rows with a factor in common that one invocation computes.
pub const NEIGHBOURS: u32 = 4;
/// The largest number of quads of columns that a work group has, unless they are short.
const QUADS_OF_COLUMNS: u32 = 16;
/// Invocations of a work group, which several rows may share.
const GROUP_SIZE: u32 = 256;

/// How invocations share the rows. The order in which elements are joined is the same in all forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// One invocation for each row, block after block; no row has more than [`MOST_BLOCKS`].
    Blocks,
    /// One invocation for each row; no row is longer than a block, unless [`Reducer::has_any_order`].
    OneBlock,
    /// One invocation for up to eight rows, which are columns: next to each other in the last outer dimension, wherever they
    /// are stored. Operands are taken as rows of columns would be; the record is that of
    /// [`Record::words_of_columns`](crate::element_wise::Record). Only where [`Reduce::multiplies_columns`]; no row has
    /// more than [`MOST_BLOCKS`].
    Columns,
    /// One invocation for up to four rows, which are next to each other in the last outer dimension and have this argument of
    /// their products in common: [`Reduce::common_factor`]. The record is that of
    /// [`Record::words_beside_last`](crate::element_wise::Record); no row has more than [`MOST_BLOCKS`].
    CommonFactor {
        /// The argument's number, 0 or 1.
        argument: usize,
    },
    /// Four invocations of a work group for each block; no row has more than [`MOST_BLOCKS`].
    Group,
    /// Rows are columns: the last dimension goes from a column to the next, and the last outer one along the rows. A work
    /// group has up to 16 quads of columns, more if rows are short, and 16 or more invocations for each. The record
    /// is that of [`Record::words_beside_last`](crate::element_wise::Record); indices are work groups,
    /// [`Self::groups_of_columns`]. No row has more than [`MOST_BLOCKS`].
    ColumnGroups,
    /// A work group goes through a row, [`MOST_BLOCKS`] at a time; no row has more than
    /// [`MOST_BLOCKS_OF_LONG`]. Only kernels of [`crate::rows`] have this form.
    Long,
    /// Several work groups share a row, each with a segment of [`SEGMENT`] elements; indices are segments, those of a row one
    /// after the other. The states of segments pass from a kernel to the next one. Only kernels of [`crate::rows`] have
    /// this form.
    Segments,
}

impl Form {
    /// The number of invocations for so many columns.
    pub fn invocations_of_columns(columns: u32) -> u32 {
        columns.div_ceil(COLUMNS)
    }

    /// The number of invocations for so many neighbours of [`Self::CommonFactor`].
    pub fn invocations_of_neighbours(rows: u32) -> u32 {
        rows.div_ceil(NEIGHBOURS)
    }

    /// The number of work groups for so many columns, of so many blocks each, of [`Self::ColumnGroups`].
    pub fn groups_of_columns(columns: u32, blocks: u32) -> u32 {
        columns.div_ceil(Self::columns_of_a_group(columns, blocks))
    }

    /// The number of columns in a work group of [`Self::ColumnGroups`].
    fn columns_of_a_group(columns: u32, blocks: u32) -> u32 {
        let at_once = blocks.next_power_of_two().min(blocks_of_a_turn(columns));
        QUAD * GROUP_SIZE / (4 * at_once)
    }

    /// The number of indices, of rows of so many blocks each, in a work group; `None` if each invocation has whole
    /// rows.
    pub fn rows_of_a_group(self, blocks: u32) -> Option<u32> {
        match self {
            Self::Blocks | Self::OneBlock | Self::Columns | Self::CommonFactor { .. } => None,
            Self::Group => Some(GROUP_SIZE / (4 * blocks.next_power_of_two())),
            Self::Long | Self::ColumnGroups | Self::Segments => Some(1),
        }
    }
}

/// The number of blocks of long columns, of which there are so many, that a work group of [`Form::ColumnGroups`] joins
/// at a time.
pub fn blocks_of_a_turn(columns: u32) -> u32 {
    let quads = columns.div_ceil(QUAD).next_power_of_two();
    GROUP_SIZE / (4 * quads.min(QUADS_OF_COLUMNS))
}

/// The largest number of blocks that a kernel joins, or that a work group joins at a time.
pub const MOST_BLOCKS: u32 = 64;
/// The largest number of blocks in a kernel of [`Form::Long`]: each invocation holds the state of one turn.
pub const MOST_BLOCKS_OF_LONG: u32 = MOST_BLOCKS * GROUP_SIZE;

/// The elements of a segment of a row, a power of two: [`Form::Segments`].
pub const SEGMENT: u32 = MOST_BLOCKS * BLOCK_LENGTH;

/// The elements that a row consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elements {
    /// Values that the program computes from the inputs' elements.
    Values,
    /// States of parts of rows, as [`Reducer::of_parts`] writes them. They are the only input, and no
    /// program is applied to them.
    States,
}

impl Elements {
    /// The number of elements in a block of a row.
    pub fn block_length(self) -> u32 {
        match self {
            Self::Values => BLOCK_LENGTH,
            Self::States => LANES,
        }
    }
}

/// A kernel that reduces rows, as a key for linking it. Its iteration space is that of an element-wise kernel, and
/// the output has one element for each row.
///
/// A row may be a *grid*: then the last outer dimension, whose size is 1 in the record, goes through
/// the grid's rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reduce {
    /// The program that computes the elements from the inputs.
    pub program: ElementFormula,
    /// The operation that joins the elements of a row.
    pub reducer: &'static Reducer,
    /// The epilogue: input 0 is the reduced value, the others are the last `ends` of `inputs`.
    pub last: ElementFormula,
    /// The number of inputs with one element for each row, which only `last` reads.
    pub ends: usize,
    /// The inputs: at most as many as an element-wise kernel has, and all that the program names.
    pub inputs: Vec<KernelOperand>,
    /// The elements that are reduced.
    pub elements: Elements,
    /// How invocations share the rows; a grid has one invocation.
    pub form: Form,
    /// The input whose elements, of 64 bits, have the number of columns in the low word and the number
    /// of rows in the high word of each grid; `None` for rows.
    pub grids: Option<usize>,
    /// The operand that is written, by single elements.
    pub output: KernelOperand,
    /// The number of outer dimensions that is needed, at most 7.
    pub outer_dimensions: usize,
    /// Whether rows consist of whole quads; the rows of grids have any length.
    pub quads: Quads,
}

impl Reduce {
    /// The kernel's number of outer dimensions.
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
            Form::ColumnGroups => return COLUMN_GROUPS,
            Form::Columns | Form::CommonFactor { .. } => {
                unreachable!("they have skeletons of their own")
            }
            Form::Long | Form::Segments => unreachable!("only kernels for row groups have it"),
        };
        least(skeletons, self.outer_dimensions)
    }

    /// The kernel's SPIR-V, with the bindings of an element-wise kernel. It may use `types`.
    pub fn spirv(&self, types: NativeTypes) -> Vec<u32> {
        let bodies = match self.skeleton_of_sums() {
            Some(_) => self.bodies_of_sums(types),
            None => self.bodies(types),
        };
        with_float_modes(&link::link(self.skeleton().1, &bodies), types.float16.modes())
    }

    /// The bodies for a skeleton that joins elements by linked functions.
    fn bodies(&self, types: NativeTypes) -> Vec<Body> {
        let size = self.grids.map(|input| ("size", self.size(input, types)));
        let own = [("quad", self.quad(types)), ("row", self.row(types))];
        self.joining().bodies(types).into_iter().chain(own).chain(size).collect()
    }

    /// The kernel as plans name it, which may use `types`, linked if nobody has it now.
    pub fn variant(&self, types: NativeTypes) -> Shared<KernelModule> {
        let kernel = Self { outer_dimensions: self.skeleton_dimensions(), ..self.clone() };
        LINKED.get((kernel, types), |(it, _)| it.module(types))
    }

    fn module(&self, types: NativeTypes) -> KernelModule {
        debug_assert!(
            self.grids.is_none() || self.quads == Quads::default(),
            "grids have any columns"
        );
        let (_, skeleton) = self.skeleton();
        let (program, last) = (self.program.name(), self.last.name());
        let operands = operands(&self.inputs, self.output);
        let sizes = self.grids.map(|grid| format!(" by {grid}")).unwrap_or_default();
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

    /// Sets the size of a grid to the element of an input.
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

    /// Writes the result of the state in the first lane.
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

    /// The inputs that have elements of rows.
    fn elements_of_rows(&self) -> &[KernelOperand] {
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
