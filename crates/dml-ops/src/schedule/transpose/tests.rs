//! Copies by tiles against the elements that belong together, and where tiles are chosen.

use dml_core::host::{HostBuffer, HostMemory, interpret};
use dml_core::operators::{ElementWiseIdentityDesc, GemmDesc, SpaceToDepthDesc};
use dml_core::plan::{BindingRequirement, BoundAt, Divisions, Plan};
use dml_core::{Capabilities, DataType, MatrixTransform, TensorDesc, Tuning};
use dml_reference::descriptors::gemm;
use dml_spirv::ElementWidth;

use super::*;
use crate::TransferUse;
use crate::ir::Computation;
use crate::ir::space::IterationSpace;
use crate::ir::space::tests::tuples;
use crate::schedule::map::steps;
use crate::tests::{check_limits, lower_with, with_window};

/// Around the sides of tiles and their halves.
const SIZES: [u32; 8] = [1, 2, 4, 31, 32, 33, 64, 100];

/// Rows of `x` elements in the input that become rows of `y` elements in the output, with so many elements between
/// rows, and before the first one.
struct Layout {
    outer: [u32; 2],
    gap: u32,
    before: u32,
    /// Whether the input's outermost dimension is walked backwards.
    is_mirrored: bool,
}

const LAYOUTS: [Layout; 4] = [
    Layout { outer: [1, 1], gap: 0, before: 0, is_mirrored: false },
    Layout { outer: [2, 3], gap: 0, before: 0, is_mirrored: false },
    Layout { outer: [1, 2], gap: 4, before: 8, is_mirrored: true },
    // No word has the elements of one alone.
    Layout { outer: [2, 1], gap: 1, before: 3, is_mirrored: false },
];

fn space(layout: &Layout, width: ElementWidth, [x, y]: [u32; 2]) -> IterationSpace<Slot> {
    let [outermost, outer] = layout.outer;
    let mut sizes = [1; DIMENSIONS];
    sizes[LAST - 3..].copy_from_slice(&[outermost, outer, x, y]);
    let operand = |slot, rows: [u32; 2], [of_x, of_y]: [usize; 2]| {
        let pitch = i64::from(rows[0] + layout.gap);
        let matrix = pitch * i64::from(rows[1]);
        let mut strides = [0; DIMENSIONS];
        (strides[LAST - 3], strides[LAST - 2]) = (matrix * i64::from(outer), matrix);
        (strides[of_x], strides[of_y]) = (1, pitch);
        Operand { strides, ..Operand::at(slot, width, layout.before.into()) }
    };
    let mut input = operand(Slot::Input(0), [x, y], [LAST - 1, LAST]);
    if layout.is_mirrored {
        let stride = &mut input.strides[LAST - 2];
        input.base += i64::from(outer - 1) * *stride;
        *stride = -*stride;
    }
    let output = operand(Slot::Output(0), [y, x], [LAST, LAST - 1]);
    IterationSpace { sizes, inputs: vec![input], output }
}

/// Bytes of an input, or of an output before, and those that are expected there.
fn bytes(space: &IterationSpace<Slot>) -> [Vec<u8>; 3] {
    let width = space.output.width.bytes() as usize;
    let index = |it: i64| usize::try_from(it).unwrap();
    let tuples = tuples(space);
    let size = |at: usize| {
        let last = tuples.iter().map(|tuple| index(tuple[at])).max().unwrap();
        ((last + 1) * width).next_multiple_of(4)
    };
    let fill = |count: usize, factor: usize| -> Vec<u8> {
        (0..count).map(|at| ((at + 1) * factor % 251).to_le_bytes()[0]).collect()
    };
    let (input, output) = (fill(size(0), 37), fill(size(1), 91));
    let mut expected = output.clone();
    for tuple in &tuples {
        let [from, to] = [tuple[0], tuple[1]].map(|it| index(it) * width);
        expected[to..to + width].copy_from_slice(&input[from..from + width]);
    }
    [input, output, expected]
}

/// Copies the elements of a space, and returns the plan and the output's bytes.
fn run(
    space: &IterationSpace<Slot>,
    target: &Target<'_>,
    [input, output]: [&[u8]; 2],
) -> (Plan, Vec<u8>) {
    let mut constants = Constants::default();
    let copy = Computation::copy();
    let exec = steps("TEST", "OutputTensor", space.clone(), &copy, target, &mut constants);
    let requirement = |bytes: &[u8]| {
        let (size, bound_at) = (bytes.len() as u64, BoundAt::Execution);
        Some(BindingRequirement { field: "Tensor".into(), size, alignment: 16, bound_at })
    };
    let plan = Plan {
        operator: "TEST",
        strategy: Strategy::Kernel,
        inputs: vec![requirement(input)],
        outputs: vec![requirement(output)],
        init: vec![],
        exec: exec.unwrap(),
        in_place: vec![],
        temporary_size: 0,
        persistent_size: 0,
        divisions: Divisions::default(),
        constants: constants.bytes,
    };
    check_limits(&plan, target);
    let bound = |bytes: &[u8]| {
        Some(HostBuffer { bytes: bytes.to_vec(), offset: 0, size: bytes.len() as u64 })
    };
    let mut memory = HostMemory::for_plan(&plan);
    (memory.inputs, memory.outputs) = (vec![bound(input)], vec![bound(output)]);
    interpret(&plan.exec, &mut memory, target.capabilities).unwrap();
    (plan, memory.outputs.remove(0).unwrap().bytes)
}

/// Dispatches that copy by tiles.
fn tiled(plan: &Plan) -> usize {
    plan.steps().filter(|step| is_among(std::slice::from_ref(step))).count()
}

#[test]
fn tiles_copy_every_element_and_nothing_else() {
    let tuning = Tuning::new().with_strategy(Strategy::TransposeTiles);
    let mut counts = [0; 4];
    for (width, count) in ElementWidth::ALL.into_iter().zip(&mut counts) {
        for [x, y] in SIZES.iter().flat_map(|x| SIZES.map(|y| [*x, y])) {
            for layout in &LAYOUTS {
                let space = space(layout, width, [x, y]);
                let [input, before, expected] = bytes(&space);
                for capabilities in [Capabilities::vulkan_minimum(), with_window(2048, 256)] {
                    let transfer = TransferUse::StorageOnly;
                    let target = Target { capabilities: &capabilities, tuning, transfer };
                    let (plan, found) = run(&space, &target, [&input, &before]);
                    assert!(found == expected, "{space:?}");
                    *count += tiled(&plan);
                    // Boxes of small windows may have one row.
                    let is_tiled = tiled(&plan) == plan.exec.len() || plan.exec.len() > 1;
                    let is_wide = width.bits() >= 32;
                    assert!(is_tiled || !is_wide || x == 1 || y == 1, "{space:?}");
                }
            }
        }
    }
    // Of narrow elements only rows of whole words are copied in tiles.
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
    assert!(counts[0] < counts[1] && counts[1] < counts[2], "{counts:?}");
}

fn gpu() -> Tuning {
    Tuning::new().with_most_regions(0).with_shared_tiles()
}

fn transposed(data_type: DataType, [x, y]: [u32; 2]) -> ElementWiseIdentityDesc {
    let output_tensor = TensorDesc::packed(data_type, &[2, x, y]);
    let input_tensor = output_tensor.clone().with_strides(&[x * y, 1, x]);
    ElementWiseIdentityDesc { input_tensor, output_tensor, scale_bias: None }
}

#[test]
fn tiles_are_for_gpus_and_for_matrices_that_fill_half_of_one() {
    let plan = |data_type, sizes, tuning| {
        lower_with(transposed(data_type, sizes), tuning, TransferUse::Allowed)
    };
    for data_type in [DataType::Uint8, DataType::Float16, DataType::Float32, DataType::Int64] {
        let of = |sizes, tuning| {
            let plan = plan(data_type, sizes, tuning);
            (tiled(&plan), plan.exec.len(), plan.strategy)
        };
        assert_eq!(of([96, 64], gpu()), (1, 1, Strategy::TransposeTiles));
        assert_eq!(of([96, 64], Tuning::new()), (0, 1, Strategy::Kernel));
        assert_eq!(of([96, 64], gpu().with_strategy(Strategy::Kernel)).0, 0);
        assert_eq!(of([96, 8], gpu()).0, 0);
        assert_eq!(of([8, 96], gpu()).0, 0);
        assert_eq!(of([96, 8], Tuning::new().with_strategy(Strategy::TransposeTiles)).0, 1);
    }
    let groups = |plan: &Plan| match &plan.exec[..] {
        [Step::Dispatch(dispatch)] => (dispatch.groups, dispatch.kernel.specialization.clone()),
        steps => panic!("{steps:?}"),
    };
    // Two batches of four tiles by three, of as many invocations as Vulkan guarantees.
    let of_words = plan(DataType::Float32, [100, 96], gpu());
    assert_eq!(groups(&of_words), ([24, 1, 1], vec![128]));
    let of_halves = plan(DataType::Float16, [100, 96], gpu());
    assert_eq!(groups(&of_halves), ([8, 1, 1], vec![128]));
}

#[test]
fn factors_that_are_packed_by_columns_are_copied_in_tiles() {
    let tensor = TensorDesc::packed(DataType::Float32, &[1, 1, 256, 256]);
    let count = |transform, tuning| {
        let desc = GemmDesc {
            trans_a: transform,
            ..gemm([tensor.clone(), tensor.clone(), tensor.clone()], transform)
        };
        tiled(&lower_with(desc, tuning, TransferUse::Allowed))
    };
    // One of both factors is as it is needed, whether they are transposed or not.
    assert_eq!(
        [MatrixTransform::None, MatrixTransform::Transpose].map(|it| count(it, gpu())),
        [1, 1]
    );
    assert_eq!(count(MatrixTransform::Transpose, Tuning::new()), 0);
}

#[test]
fn blocks_that_become_depth_are_copied_in_tiles_where_they_fill_half_of_one() {
    let count = |block: u32, tuning| {
        let desc = SpaceToDepthDesc {
            input_tensor: TensorDesc::packed(DataType::Float32, &[1, 2, 32 * block, 32 * block]),
            output_tensor: TensorDesc::packed(DataType::Float32, &[1, 2 * block * block, 32, 32]),
            block_size: block,
        };
        tiled(&lower_with(desc, tuning, TransferUse::Allowed))
    };
    assert_eq!([2, 16].map(|block| count(block, gpu())), [0, 1]);
    assert_eq!([2, 16].map(|block| count(block, Tuning::new())), [0, 0]);
}
