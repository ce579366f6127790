use std::collections::BTreeMap;

use super::*;

fn section(parent: Option<usize>, float: u32, memory: &[(&str, u32)]) -> Section {
    let memory: BTreeMap<_, _> =
        memory.iter().map(|(kind, it)| ((*kind).to_owned(), *it)).collect();
    Section { own: Loop { instructions: 10, float, memory, ..Loop::default() }, fused: 0, parent }
}

fn code(kernel: &str, sections: &[Section]) -> Code {
    let kernel = kernel.to_owned();
    let loops = Vec::new();
    let compiled = Compiled { kernel, vgprs: 24, spills: 0, scratch: 0, lds: 0, waves: 32, loops };
    Code::new(&compiled, sections)
}

fn turns(code: &Code, invocations: u64, operations: u64) -> Vec<f64> {
    let (kernel, microseconds) = (String::new(), None);
    code.turns(&Dispatch { kernel, invocations, operations, bytes: 0, microseconds })
}

#[test]
fn reductions_turn_once_for_four_elements_whatever_is_applied_to_them() {
    let sections = [section(None, 25, &[]), section(Some(0), 32, &[("load.b128", 1)])];
    let sum = code("reduce_1 copy, sum_f32, copy (b32 whole) b32 ragged [64]", &sections);
    // 4096 rows of 1024 elements, one addition for each.
    assert_eq!(turns(&sum, 4096, 4096 * 1024), [1.0, 256.0]);
    let of_squares = code(
        "reduce_1 f32.subtract f32.multiply, sum_f32, copy (b32 whole, b32 single) b32 ragged [64]",
        &sections,
    );
    assert_eq!(turns(&of_squares, 4096, 3 * 4096 * 1024), [1.0, 256.0]);
    // Nine taps of a window take three turns.
    assert_eq!(turns(&sum, 100, 900), [1.0, 3.0]);
    assert_eq!(turns(&sum, 64, 1), [1.0, 1.0]);
}

#[test]
fn loops_of_element_wise_kernels_turn_once_for_an_element() {
    let sections = [section(None, 0, &[("load.b128", 1)]), section(Some(0), 271, &[])];
    let gelu =
        code("element_wise_0 f16.f16_to_f32 error.gelu (b16 whole) b32 whole [64]", &sections);
    assert_eq!(turns(&gelu, 64, 2 * 4 * 64), [1.0, 4.0]);
}

#[test]
fn products_turn_as_often_as_their_operations_ask_for() {
    let sections = [section(None, 0, &[]), section(Some(0), 16, &[("load.b128", 2)])];
    let product = code("product_1_whole_f32 [64]", &sections);
    // Eight columns and 1024 depths for an invocation.
    assert_eq!(turns(&product, 512, 512 * 8 * 1024 * 2), [1.0, 1024.0]);
    // A product and a sum in one instruction.
    let mut fused = sections;
    fused[1].own.float = 8;
    fused[1].fused = 8;
    let product = code("product_1_whole_f32 [64]", &fused);
    assert_eq!(turns(&product, 512, 512 * 8 * 1024 * 2), [1.0, 1024.0]);
}

#[test]
fn integer_products_count_where_there_are_no_floats() {
    let mut integers = section(Some(0), 0, &[("load.b128", 1)]);
    integers.own.quarter_rate = 8;
    let product = code("product_1_i32 [64]", &[section(None, 0, &[]), integers]);
    assert_eq!(turns(&product, 64, 64 * 160), [1.0, 10.0]);
}

#[test]
fn tiles_are_read_in_two_turns_for_sixteen_depths() {
    let (reads, sums) = ([("load.b128", 2), ("lds-store.b128", 2)], [("lds-load.b128", 3)]);
    let rolled = [
        section(None, 0, &[]),
        // For what no tile fits.
        section(Some(0), 0, &[("load.b32", 8)]),
        section(Some(0), 0, &[]),
        section(Some(2), 0, &reads),
        section(Some(2), 64, &sums),
    ];
    let tiles = code("product_tiles_64_whole_f32 []", &rolled);
    // 32 sums of 1024 depths for an invocation.
    assert_eq!(turns(&tiles, 128, 128 * 64 * 1024), [1.0, 0.0, 64.0, 128.0, 1024.0]);
    let unrolled =
        [section(None, 0, &[]), section(Some(0), 512, &sums), section(Some(1), 0, &reads)];
    let tiles = code("product_tiles_32_whole_f32 []", &unrolled);
    assert_eq!(turns(&tiles, 64, 64 * 512 * 64), [1.0, 64.0, 128.0]);
}

#[test]
fn only_one_access_of_a_reduction_goes_along_a_row() {
    let of = |kernel: &str, memory: &[(&str, u32)]| {
        let code = code(kernel, &[section(None, 0, memory), section(Some(0), 1, memory)]);
        code.sections().map(|section| section.row_bytes).collect::<Vec<_>>()
    };
    let sum = "reduce_1 copy, sum_f32, copy (b32 whole) b32 ragged [64]";
    assert_eq!(of(sum, &[("load.b128", 1)]), [None, Some(16.0)]);
    assert_eq!(of(sum, &[("load.b64", 1), ("load.b32", 1)]), [None, Some(8.0)]);
    assert_eq!(of(sum, &[("load.b32", 4)]), [None, None]);
    assert_eq!(of("product_1_f32 [64]", &[("load.b128", 1)]), [None, None]);
}
