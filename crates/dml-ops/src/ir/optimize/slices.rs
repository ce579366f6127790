//! Products by large matrices that every execution unpacks, such as 4-bit weights with scales.
//!
//! Some columns of the matrix at a time are unpacked and multiplied by, so that the memory of its elements of 32 bits
//! is that of one slice, which all slices share. Nodes of one operator share no temporary memory, so that a matrix which
//! the operator of the product converts itself stays whole.
//!
//! Where the product's kernel would copy columns to have them as quads, they are unpacked as quads. Work groups that
//! share tiles transpose such a copy with fewer loads than the unpacking takes.

mod layout;

use dml_spirv::ElementWidth;
use dml_spirv::element_wise::DIMENSIONS;
use rustc_hash::{FxHashMap, FxHashSet};

use super::fuse::widens;
use super::uses::Uses;
use super::views::{self, Broadcast};
use crate::Target;
use crate::ir::space::{IterationSpace, Operand, SLACK};
use crate::ir::{
    Buffer, BufferPosition, Dimension, Map, Node, Numbers, Program, Recorded, SUMS, Stage, Sums,
};
use layout::{SliceLayout, dimensions};

/// The most bytes of a slice, for which large devices still have work enough.
const MOST_BYTES: u64 = 16 << 20;
/// And the most of what a descriptor shows, as a fraction: a slice that is smaller needs one dispatch.
const SLICES_OF_A_WINDOW: u64 = 8;
/// The most slices of a matrix: each takes a dispatch that unpacks it, and one or more that multiply by it.
const MOST_SLICES: u64 = 64;
/// Slices have whole tiles of columns, or at least whole quads.
const TILES: [u32; 2] = [128, 4];
/// The number of columns among the operands of sums.
const COLUMNS: usize = 1;

/// Divides the products by large unpacked matrices in `program`.
pub(super) fn divide(program: &mut Program, target: &Target<'_>) {
    let unpacks = |it: &Recorded| matches!(&it.node, Node::Map(map) if widens(map));
    if !program.nodes.iter().any(unpacks) {
        return;
    }
    let slices = Slices {
        bytes: MOST_BYTES.min(target.max_window() / SLICES_OF_A_WINDOW),
        buffer: target.max_buffer(),
        may_be_quads: !target.tuning.shared_tiles,
    };
    let uses = Uses::of(std::mem::take(&mut program.nodes));
    let found = uses.numbers().filter_map(|number| {
        let divided = Division::of(program, &uses, number, slices)?;
        Some((number, divided))
    });
    let found: FxHashMap<usize, Division> = found.collect();
    if found.is_empty() {
        program.nodes = uses.into_nodes();
        return;
    }
    let unpacking: FxHashSet<usize> = found.values().map(|division| division.map_number).collect();
    let mut nodes = Vec::with_capacity(uses.numbers().len());
    for number in uses.numbers().filter(|number| !unpacking.contains(number)) {
        let Some(recorded) = uses.get(number) else { continue };
        let unpacked = found.get(&number).and_then(|it| Some((it, uses.get(it.map_number)?)));
        let Some((division, unpacked)) = unpacked else {
            nodes.push(recorded.clone());
            continue;
        };
        let slice = program.declare(division.layout.content());
        for first in (0..division.columns.size).step_by(division.count as usize) {
            for (node, origin) in
                division.nodes(slice, first).into_iter().zip([&unpacked.origin, &recorded.origin])
            {
                nodes.push(Recorded { node, origin: origin.clone() });
            }
        }
    }
    program.nodes = nodes;
}

/// Slices of matrices on a device.
#[derive(Clone, Copy)]
struct Slices {
    /// The most bytes of a slice, unless there were more than [`MOST_SLICES`].
    bytes: u64,
    /// The size of the largest buffer, which no slice exceeds.
    buffer: u64,
    /// Whether columns are unpacked as quads, where kernels read them as such.
    may_be_quads: bool,
}

/// A product by a matrix, and the Map that unpacks the matrix.
struct Division {
    map_number: usize,
    /// The Map, over dimensions of which the first one with several elements, [`Self::first`], is of columns alone.
    map: Map,
    first: usize,
    /// The number of columns for each coordinate along that dimension.
    unit: u32,
    sums: Sums,
    columns: Dimension,
    /// The number of columns in each slice but the last one.
    count: u32,
    layout: SliceLayout,
}

impl Division {
    /// The division of the product `number` into `slices`, if it is one by an unpacked matrix that is larger than one, or
    /// that is unpacked as quads.
    fn of(program: &Program, uses: &Uses, number: usize, slices: Slices) -> Option<Self> {
        let recorded = uses.get(number)?;
        let Node::Contract(all) = &recorded.node else { return None };
        let [sums] = all.as_slice() else { return None };
        let place = sums.places[COLUMNS];
        let [columns] = *sums.columns.as_slice() else { return None };
        let is_float = matches!(sums.numbers, Numbers::Floats | Numbers::Halves);
        let is_matrix = is_float && columns.size > 1 && columns.strides[COLUMNS] > 0;
        let is_own =
            matches!(place.buffer, Buffer::Local(_)) && place.buffer != sums.places[0].buffer;
        if !is_matrix || !is_own || program.stage(place.buffer) != Stage::Execution {
            return None;
        }
        let map_number = uses.only_writer(place.buffer)?;
        let unpacked = uses.get(map_number)?;
        let Node::Map(map) = &unpacked.node else { return None };
        if uses.only_reader(place.buffer) != Some(number)
            || unpacked.origin.is_of_same(&recorded.origin)
            || !widens(map)
            || !map.space.is_plain()
            || !uses.reads_the_same(&map.space, map_number, number)
        {
            return None;
        }
        let (read, space) = views::over_the_same(&matrix(sums)?, &map.space, Broadcast::Refused)?;
        let first = read.sizes.iter().position(|size| *size > 1)?;
        let unit = columns.size / read.sizes[first];
        let of_a_column = read.elements() / u64::from(columns.size);
        let count = slices.columns_of_one(of_a_column, columns.size, unit)?.min(columns.size);
        let quads = (slices.may_be_quads && sums.columns_are_worth_a_copy())
            .then(|| SliceLayout::of_quads(sums, count))
            .filter(|quads| quads.content().bytes() <= slices.buffer);
        let are_quads = quads.is_some();
        let layout = quads.unwrap_or_else(|| SliceLayout::as_in_matrix(sums, count, of_a_column));
        let has_dimensions = space.output.strides.iter().all(|it| layout.stride(*it).is_some());
        let map = Map { space, computation: map.computation.clone() };
        let sums = sums.clone();
        let division = Self { map_number, map, first, unit, sums, columns, count, layout };
        (has_dimensions && (are_quads || count < columns.size)).then_some(division)
    }

    /// The stride in a slice for one in the matrix, along a dimension of more than one element.
    fn stride(&self, stride: i64) -> i64 {
        self.layout.stride(stride).unwrap_or_default()
    }

    /// The Map that unpacks the columns from `first` on to the buffer `slice`, and the product by these.
    fn nodes(&self, slice: Buffer, first: u32) -> [Node; 2] {
        let count = self.count.min(self.columns.size - first);
        let mut map = self.map.clone();
        map.space.sizes[self.first] = count / self.unit;
        for input in &mut map.space.inputs {
            input.base += i64::from(first / self.unit) * input.strides[self.first];
        }
        let strides = map.space.output.strides.map(|stride| self.stride(stride));
        map.space.output = Operand { strides, ..Operand::at(slice, ElementWidth::B32, 0) };
        let mut sums = self.sums.clone();
        sums.slice_of = Some(self.sums.count());
        for operand in [0, SUMS] {
            sums.places[operand].base += i64::from(first) * self.columns.strides[operand];
        }
        sums.columns[0].size = count;
        let others = sums.batches.iter_mut().chain(&mut sums.depths);
        for dimension in others.chain(&mut sums.columns) {
            dimension.strides[COLUMNS] = self.stride(dimension.strides[COLUMNS]);
        }
        sums.places[COLUMNS] = BufferPosition { buffer: slice, base: 0, has_slack: true };
        [Node::Map(map), Node::Contract(vec![sums])]
    }
}

impl Slices {
    /// The number of columns in a slice, where each has so many elements and the first dimension of the Map that unpacks
    /// them has `unit` columns for each coordinate.
    fn columns_of_one(self, of_a_column: u64, columns: u32, unit: u32) -> Option<u32> {
        let word = u64::from(ElementWidth::B32.bytes());
        let of_a_column = of_a_column * word;
        let fitting = (self.bytes / of_a_column).max(u64::from(columns).div_ceil(MOST_SLICES));
        let fitting = fitting.min(self.buffer.saturating_sub(SLACK as u64 * word) / of_a_column);
        let fitting = u32::try_from(fitting).unwrap_or(u32::MAX);
        let multiple =
            |tile: &u32| unit.checked_next_multiple_of(*tile).filter(|it| it % unit == 0);
        let tiles = TILES.iter().filter_map(multiple).find(|tile| *tile <= fitting);
        let tile = tiles.unwrap_or(unit);
        (fitting / tile).max(1).checked_mul(tile)
    }
}

/// A space that reads the matrix of a product, columns outermost.
fn matrix(sums: &Sums) -> Option<IterationSpace> {
    let all: Vec<_> = dimensions(sums).collect();
    let (mut sizes, mut strides) = ([1; DIMENSIONS], [0; DIMENSIONS]);
    let first = DIMENSIONS.checked_sub(all.len())?;
    for (at, (size, stride)) in (first..).zip(all) {
        (sizes[at], strides[at]) = (size, stride);
    }
    let BufferPosition { buffer, base, .. } = sums.places[COLUMNS];
    let output = Operand { strides, ..Operand::at(buffer, ElementWidth::B32, base) };
    Some(IterationSpace { sizes, inputs: vec![output.clone()], output })
}

#[cfg(test)]
mod tests {
    use dml_core::{Capabilities, Tuning};
    use dml_spirv::functions::{I32_TO_F32, SIGN_EXTEND_8};

    use super::*;
    use crate::TransferUse;
    use crate::ir::{Computation, Content};

    const ROWS: u32 = 8;
    const DEPTH: u32 = 4096;
    const COLUMNS: u32 = 4096;

    /// A product by a transposed matrix of 8-bit integers.
    fn product() -> Program {
        let mut program = Program::empty("GEMM");
        let mut declare = |width, sizes: [u32; 2]| {
            let count = u64::from(sizes[0]) * u64::from(sizes[1]);
            let content = Content::Computed { width, count, stage: Stage::Execution };
            Operand::at(program.declare(content), width, 0).packed(&sizes)
        };
        let packed = declare(ElementWidth::B8, [COLUMNS, DEPTH]);
        let [matrix, rows, result] = [[COLUMNS, DEPTH], [ROWS, DEPTH], [ROWS, COLUMNS]]
            .map(|sizes| declare(ElementWidth::B32, sizes));
        let mut computation = Computation::default();
        let value = dml_spirv::element_wise::Value::Input(0);
        computation.program.apply_all([&SIGN_EXTEND_8, &I32_TO_F32], value);
        let mut sizes = [1; DIMENSIONS];
        sizes[DIMENSIONS - 2..].copy_from_slice(&[COLUMNS, DEPTH]);
        let space = IterationSpace { sizes, inputs: vec![packed], output: matrix.clone() };
        program.record(Node::Map(Map { space, computation })).unwrap();
        let line = i64::from(DEPTH);
        let sums = Sums {
            batches: vec![],
            row: Dimension { size: ROWS, strides: [line, 0, COLUMNS.into()] },
            columns: vec![Dimension { size: COLUMNS, strides: [0, line, 1] }],
            depths: vec![Dimension { size: DEPTH, strides: [1, 1, 0] }],
            places: [rows, matrix, result].map(|operand| BufferPosition::of(&operand)),
            numbers: Numbers::Floats,
            goes_on: false,
            slice_of: None,
        };
        let mut origin = program.nodes[0].origin.clone();
        origin.sources.push(1);
        program.nodes.push(Recorded { node: Node::Contract(vec![sums]), origin });
        program
    }

    /// Divides the products for a device with buffers of at most `most_bytes`.
    fn divide_for(program: &mut Program, most_bytes: u64) {
        divide_with(program, most_bytes, Tuning::new());
    }

    fn divide_with(program: &mut Program, most_bytes: u64, tuning: Tuning) {
        let mut capabilities = Capabilities::vulkan_minimum();
        capabilities.limits.max_storage_buffer_range = u32::MAX.into();
        capabilities.limits.max_memory_allocation_size = most_bytes;
        let transfer = TransferUse::Allowed;
        divide(program, &Target { capabilities: &capabilities, tuning, transfer });
    }

    fn sums(program: &Program) -> Vec<&Sums> {
        let nodes = program.nodes.iter().filter_map(|recorded| match &recorded.node {
            Node::Contract(all) => Some(all),
            _ => None,
        });
        nodes.flatten().collect()
    }

    #[test]
    fn slices_share_memory_and_add_in_the_order_of_the_whole_product() {
        let whole = product();
        let mut divided = product();
        divide_for(&mut divided, 1 << 30);
        let slices = sums(&divided);
        let part = sums(&whole)[0].length_of_a_part();
        assert_eq!(slices.len(), 4);
        assert!(part.is_some() && slices.iter().all(|slice| slice.length_of_a_part() == part));
        // A slice alone would be added up in other parts.
        let alone = Sums { slice_of: None, ..slices[0].clone() };
        assert_ne!(alone.length_of_a_part(), part);
        let buffers: FxHashSet<Buffer> =
            slices.iter().map(|slice| slice.places[super::COLUMNS].buffer).collect();
        let bytes: Vec<_> = buffers.iter().map(|it| divided.bytes(*it).unwrap()).collect();
        assert_eq!(bytes, [MOST_BYTES + 4 * SLACK as u64]);
    }

    #[test]
    fn a_matrix_of_one_slice_stays_whole() {
        let mut small = product();
        for recorded in &mut small.nodes {
            match &mut recorded.node {
                Node::Map(map) => map.space.sizes[DIMENSIONS - 2] = 1024,
                Node::Contract(all) => all[0].columns[0].size = 1024,
                _ => {}
            }
        }
        let before = small.to_string();
        divide_for(&mut small, 1 << 30);
        assert_eq!(small.to_string(), before);
    }

    #[test]
    fn columns_of_many_rows_are_quads_unless_work_groups_share_tiles() {
        let of_rows = |rows, columns, tuning| {
            let mut program = product();
            for recorded in &mut program.nodes {
                match &mut recorded.node {
                    Node::Map(map) => map.space.sizes[DIMENSIONS - 2] = columns,
                    Node::Contract(all) => {
                        (all[0].row.size, all[0].columns[0].size) = (rows, columns);
                    }
                    _ => {}
                }
            }
            divide_with(&mut program, 1 << 30, tuning);
            let all = sums(&program);
            let [columns, depths] = [all[0].columns[0], all[0].depths[0]];
            (all.len(), [columns, depths].map(|it| it.strides[super::COLUMNS]))
        };
        let (cpu, gpu) = (Tuning::new(), Tuning::new().with_shared_tiles());
        let depth = i64::from(DEPTH);
        assert_eq!(of_rows(16, COLUMNS, cpu), (4, [1, 1024]));
        assert_eq!(of_rows(16, 1001, cpu), (1, [1, 1004]));
        assert_eq!(of_rows(15, COLUMNS, cpu), (4, [depth, 1]));
        assert_eq!(of_rows(16, COLUMNS, gpu), (4, [depth, 1]));
        assert_eq!(of_rows(16, 1001, gpu), (1, [depth, 1]));
    }

    #[test]
    fn columns_are_no_quads_where_these_exceed_the_largest_buffer() {
        let bytes = |columns: u64| (columns * u64::from(DEPTH) + SLACK as u64) * 4;
        let column_stride = |most_bytes| {
            let mut program = product();
            for recorded in &mut program.nodes {
                match &mut recorded.node {
                    Node::Map(map) => map.space.sizes[DIMENSIONS - 2] = 5,
                    Node::Contract(all) => (all[0].row.size, all[0].columns[0].size) = (16, 5),
                    _ => {}
                }
            }
            divide_for(&mut program, most_bytes);
            sums(&program)[0].columns[0].strides[super::COLUMNS]
        };
        assert_eq!(column_stride(bytes(4)), 1);
        assert_eq!(column_stride(bytes(4) - 1), i64::from(DEPTH));
    }

    #[test]
    fn a_slice_fits_the_largest_buffer() {
        for most_bytes in [1 << 20, 1 << 18, 100_000] {
            let mut divided = product();
            divide_for(&mut divided, most_bytes);
            let slices = sums(&divided);
            let bytes = |it: &&Sums| divided.bytes(it.places[super::COLUMNS].buffer).unwrap();
            assert!(slices.iter().map(bytes).all(|it| it <= most_bytes));
            let columns: u32 = slices.iter().map(|it| it.columns[0].size).sum();
            assert_eq!(columns, COLUMNS);
        }
    }
}
