//! A vector times a matrix in one dispatch: the kernel reads a quantized matrix as it is stored, and adds the bias; with
//! an invocation for each row, and with work groups. Few rows times a matrix: in tiles of each kind.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::graphs::check;
use dml::{
    ActivationReluDesc, DataType, DequantizeDesc, ElementWiseAddDesc, GemmDesc, GraphBuilder,
    GraphDesc, MatrixTransform, QuantizationType, TensorDesc,
};
use dml_reference::descriptors::gemm;

/// A vector times the transposed matrix of `columns` rows, which have a scale and a zero point for each block of elements.
fn product(integer: DataType, [depth, columns, block]: [u32; 3]) -> GraphDesc {
    let single =
        |sizes: [u32; 2]| TensorDesc::packed(DataType::Float32, &[1, 1, sizes[0], sizes[1]]);
    let integers = |sizes: [u32; 2]| TensorDesc::packed(integer, &[1, 1, sizes[0], sizes[1]]);
    let (matrix, blocks) = ([columns, depth], [columns, depth / block]);
    let mut graph = GraphBuilder::new();
    let [vector, numbers, scales, zeros] = std::array::from_fn(|_| graph.input());
    let factor = DequantizeDesc {
        input_tensor: integers(matrix),
        quantization_type: QuantizationType::ScaleZeroPoint,
        quantization_tensors: vec![single(blocks), integers(blocks)],
        output_tensor: single(matrix),
    };
    let factor = graph.operator(factor, &[numbers, scales, zeros]);
    let product = gemm(
        [single([1, depth]), single(matrix), single([1, columns])],
        MatrixTransform::Transpose,
    );
    let result = graph.operator(product, &[vector, factor]);
    graph.output(result);
    graph.finish()
}

#[test]
fn integers_with_a_scale_for_each_block_are_multiplied_as_they_are_stored() {
    let integers = [DataType::Uint4, DataType::Int4, DataType::Uint8, DataType::Int8];
    // Rows that neighbours share a factor with, and such that are too few, or not multiples of sixteen elements.
    let sizes = [[96, 5, 32], [80, 3, 16], [144, 7, 16], [88, 4, 8], [130, 4, 130], [1024, 6, 128]];
    let all = integers.into_iter().flat_map(|integer| sizes.map(|sizes| (integer, sizes)));
    check(all.map(|(integer, sizes)| (format!("{integer:?} {sizes:?}"), product(integer, sizes))));
}

/// The positive ones of rows times a matrix and a bias, plus other rows.
fn sum(
    data_type: DataType,
    [rows, depth, columns]: [u32; 3],
    trans_b: MatrixTransform,
) -> GraphDesc {
    let tensor = |sizes: [u32; 2]| TensorDesc::packed(data_type, &[1, 1, sizes[0], sizes[1]]);
    let of_result = || tensor([rows, columns]);
    let is_transposed = trans_b == MatrixTransform::Transpose;
    let mut graph = GraphBuilder::new();
    let [vector, matrix, bias, other] = std::array::from_fn(|_| graph.input());
    let desc = GemmDesc {
        c_tensor: Some(of_result()),
        alpha: 0.5,
        beta: 3.0,
        ..gemm(
            [
                tensor([rows, depth]),
                tensor(if is_transposed { [columns, depth] } else { [depth, columns] }),
                of_result(),
            ],
            trans_b,
        )
    };
    let result = graph.operator(desc, &[vector, matrix, bias]);
    let desc = ActivationReluDesc { input_tensor: of_result(), output_tensor: of_result() };
    let result = graph.operator(desc, &[result]);
    let [a_tensor, b_tensor, output_tensor] = std::array::from_fn(|_| of_result());
    let desc = ElementWiseAddDesc { a_tensor, b_tensor, output_tensor };
    let result = graph.operator(desc, &[result, other]);
    graph.output(result);
    graph.finish()
}

#[test]
fn what_is_added_to_a_product_is_added_by_its_kernel() {
    use MatrixTransform::{None, Transpose};
    let mut graphs = vec![];
    for data_type in [DataType::Float32, DataType::Float16] {
        for sizes in [[64, 8], [130, 5], [300, 12], [400, 7], [9000, 3], [9008, 6]] {
            for trans_b in [None, Transpose] {
                let name = format!("{data_type:?} {sizes:?} {trans_b:?}");
                let [depth, columns] = sizes;
                graphs.push((name, sum(data_type, [1, depth, columns], trans_b)));
            }
        }
    }
    check(graphs.into_iter());
}

#[test]
fn few_rows_are_multiplied_alike_in_all_tiles() {
    use MatrixTransform::{None, Transpose};
    let mut graphs = vec![];
    // Quads and none, one group and two, sums of 1 to 5 parts, and one that is too long for tiles of few rows, though
    // its parts are not.
    for sizes in [
        [2, 64, 70],
        [3, 130, 33],
        [4, 5122, 64],
        [4, 40_000, 32],
        [7, 2048, 65],
        [9, 96, 128],
        [16, 3076, 36],
    ] {
        for trans_b in [None, Transpose] {
            let name = format!("{sizes:?} {trans_b:?}");
            graphs.push((name, sum(DataType::Float32, sizes, trans_b)));
        }
    }
    check(graphs.into_iter());
}
