//! Matrices that a vector is multiplied by are read as they are stored: with few bits, in blocks, or transposed.

use dml_core::operators::DequantizeDesc;
use dml_core::{AbstractOperator, QuantizationType};

use super::*;

/// A vector of `depth` elements times a matrix with that many columns.
#[derive(Clone, Copy, Debug)]
struct Product {
    depth: u32,
    columns: u32,
    /// Whether the matrix is `[columns, depth]`.
    is_transposed: bool,
}

impl Product {
    fn matrix(self) -> [u32; 4] {
        let Self { depth, columns, is_transposed } = self;
        if is_transposed { [1, 1, columns, depth] } else { [1, 1, depth, columns] }
    }

    /// The kinds of nodes of what is executed, where `factor` makes the matrix of this many inputs. Its results are checked
    /// against those of the operators one by one.
    fn parts(self, inputs: usize, factor: impl Into<AbstractOperator>) -> Vec<String> {
        let single = |sizes: &[u32]| TensorDesc::packed(DataType::Float32, sizes);
        let mut graph = GraphBuilder::new();
        let vector = graph.input();
        let inputs: Vec<_> = (0..inputs).map(|_| graph.input()).collect();
        let matrix = graph.operator(factor, &inputs);
        let product = gemm(
            [
                single(&[1, 1, 1, self.depth]),
                single(&self.matrix()),
                single(&[1, 1, 1, self.columns]),
            ],
            match self.is_transposed {
                true => MatrixTransform::Transpose,
                false => MatrixTransform::None,
            },
        );
        let result = graph.operator(product, &[vector, matrix]);
        graph.output(result);
        let name = format!("{self:?}");
        kinds(&graph.finish(), &name, self.is_transposed)
    }
}

/// The kinds of nodes of each part of a graph, whose results are checked. Only GPUs multiply by columns of what has to be made
/// first.
fn kinds(graph: &GraphDesc, name: &str, is_transposed: bool) -> Vec<String> {
    let graph = valid(graph);
    let explanation = check(&graph, &mut Random::new(name), name);
    for window in [64, 272, 1024, 5000] {
        let (capabilities, transfer) = (&with_window(window, 16), TransferUse::Allowed);
        let target = Target { capabilities, tuning: Tuning::new(), transfer };
        let Ok((plan, _)) = compile_graph(&graph, &target, WAYS[0]) else { continue };
        // A window that shows no whole block of a row has an order of additions of its own.
        if window < 1024 {
            continue;
        }
        let plans = vec![(format!("window of {window}"), plan)];
        let random = &mut Random::new(name);
        graphs::check(&graph, random, &Capabilities::vulkan_minimum(), every_way::lowered, plans)
            .expect(name);
    }
    let for_gpu = every_way::compiled_for_gpu(&graph).unwrap().1;
    let parts = if is_transposed { explanation.parts } else { for_gpu.parts };
    parts.iter().map(|part| forms::kinds(&part.program).join(" ")).collect()
}

/// A DEQUANTIZE of a matrix with a scale for each block of rows and columns.
fn dequantize(integer: DataType, sizes: [u32; 4], block: [u32; 2]) -> DequantizeDesc {
    let blocks = [1, 1, sizes[2] / block[0], sizes[3] / block[1]];
    DequantizeDesc {
        input_tensor: TensorDesc::packed(integer, &sizes),
        quantization_type: QuantizationType::ScaleZeroPoint,
        quantization_tensors: vec![
            TensorDesc::packed(DataType::Float32, &blocks),
            TensorDesc::packed(integer, &blocks),
        ],
        output_tensor: TensorDesc::packed(DataType::Float32, &sizes),
    }
}

#[test]
fn integers_with_a_scale_for_each_block_are_read_by_the_product() {
    for integer in [DataType::Uint4, DataType::Int4, DataType::Uint8, DataType::Int8] {
        // Whole blocks of additions, odd rows, blocks that are no powers of two, one scale for a row, rows of several parts.
        let all = [(96, 32), (80, 16), (33, 11), (24, 12), (130, 130), (512, 256), (1024, 512)];
        for (depth, block) in all.into_iter().chain([(9216, 64)]) {
            for is_transposed in [true, false] {
                let product = Product { depth, columns: 6, is_transposed };
                let block = if is_transposed { [1, block] } else { [block, 1] };
                let factor = dequantize(integer, product.matrix(), block);
                assert_eq!(product.parts(3, factor), ["reduce"], "{product:?} {integer:?}");
            }
        }
    }
}

/// A kernel of many rows reads columns as quads. They are unpacked as such: only the rows are copied.
#[test]
fn columns_of_many_rows_are_unpacked_as_they_are_read() {
    let single = |sizes: &[u32]| TensorDesc::packed(DataType::Float32, sizes);
    let dispatches = |rows: u32, [columns, depth]: [u32; 2]| {
        let matrix = [1, 1, columns, depth];
        let mut graph = GraphBuilder::new();
        let [left, integers, scales, zeros] = std::array::from_fn(|_| graph.input());
        let factor = dequantize(DataType::Uint4, matrix, [1, depth / 3]);
        let factor = graph.operator(factor, &[integers, scales, zeros]);
        let tensors = [[1, 1, rows, depth], matrix, [1, 1, rows, columns]];
        let product = gemm(tensors.map(|it| single(&it)), MatrixTransform::Transpose);
        let result = graph.operator(product, &[left, factor]);
        graph.output(result);
        let graph = valid(&graph.finish());
        let name = format!("{rows} rows, {columns} columns of {depth}");
        check(&graph, &mut Random::new(&name), &name);
        let capabilities = &Capabilities::vulkan_minimum();
        let transfer = TransferUse::Allowed;
        let target = Target { capabilities, tuning: Tuning::new(), transfer };
        compile_graph(&graph, &target, WAYS[0]).unwrap().0.exec.len()
    };
    for sizes in [[64, 96], [37, 33], [128, 129], [5, 36]] {
        assert_eq!(dispatches(20, sizes), 3, "{sizes:?}");
    }
    // Fewer rows read the matrix as it is.
    assert_eq!(dispatches(15, [37, 33]), 3);
}

#[test]
fn blocks_of_columns_are_read_by_the_product() {
    let product = Product { depth: 64, columns: 32, is_transposed: false };
    let factor = dequantize(DataType::Uint4, product.matrix(), [1, 16]);
    assert_eq!(product.parts(3, factor), ["reduce"]);
}

#[test]
fn halves_are_read_by_the_product() {
    for (depth, columns) in [(64, 8), (130, 5), (9000, 3)] {
        for is_transposed in [true, false] {
            let product = Product { depth, columns, is_transposed };
            let sizes = product.matrix();
            let [input_tensor, output_tensor] = [DataType::Float16, DataType::Float32]
                .map(|data_type| TensorDesc::packed(data_type, &sizes));
            let factor = CastDesc { input_tensor, output_tensor };
            assert_eq!(product.parts(1, factor), ["reduce"], "{product:?}");
        }
    }
}

/// A vector times a matrix of `data_type`, plus what a second input holds.
fn sum(product: Product, data_type: DataType, has_bias: bool) -> GraphDesc {
    let tensor = |sizes: &[u32]| TensorDesc::packed(data_type, sizes);
    let of_result = || tensor(&[1, 1, 1, product.columns]);
    let mut graph = GraphBuilder::new();
    let [vector, matrix, bias, other] = std::array::from_fn(|_| graph.input());
    let desc = GemmDesc {
        c_tensor: has_bias.then(of_result),
        alpha: 0.5,
        beta: 3.0,
        ..gemm(
            [tensor(&[1, 1, 1, product.depth]), tensor(&product.matrix()), of_result()],
            match product.is_transposed {
                true => MatrixTransform::Transpose,
                false => MatrixTransform::None,
            },
        )
    };
    let inputs = [vector, matrix, bias];
    let result = graph.operator(desc, &inputs[..if has_bias { 3 } else { 2 }]);
    let desc = ActivationReluDesc { input_tensor: of_result(), output_tensor: of_result() };
    let result = graph.operator(desc, &[result]);
    let desc = ElementWiseAddDesc {
        a_tensor: of_result(),
        b_tensor: of_result(),
        output_tensor: of_result(),
    };
    let result = graph.operator(desc, &[result, other]);
    graph.output(result);
    graph.finish()
}

/// The kinds of nodes of such a graph, which is checked as the others.
fn kinds_of_sum(product: Product, data_type: DataType, has_bias: bool) -> Vec<String> {
    let name = format!("{product:?} {data_type:?} {has_bias}");
    kinds(&sum(product, data_type, has_bias), &name, product.is_transposed)
}

#[test]
fn a_vector_of_halves_is_converted_by_the_product_on_gpus() {
    for is_transposed in [true, false] {
        let product = Product { depth: 130, columns: 5, is_transposed };
        let graph = valid(&sum(product, DataType::Float16, true));
        let parts = every_way::compiled_for_gpu(&graph).unwrap().1.parts;
        let kinds: Vec<_> =
            parts.iter().map(|part| forms::kinds(&part.program).join(" ")).collect();
        assert_eq!(kinds, ["reduce"], "{product:?}");
    }
}

#[test]
fn what_is_added_to_a_product_is_added_by_its_kernel() {
    for (depth, columns) in [(64, 8), (130, 5), (300, 1), (9000, 3)] {
        for is_transposed in [true, false] {
            let product = Product { depth, columns, is_transposed };
            for has_bias in [false, true] {
                assert_eq!(
                    kinds_of_sum(product, DataType::Float32, has_bias),
                    ["reduce"],
                    "{product:?}"
                );
                // On CPU drivers a Map converts the vector, which all columns read, to FLOAT32.
                let halves = kinds_of_sum(product, DataType::Float16, has_bias);
                assert!(
                    ["map reduce", "reduce"].contains(&halves.join(" ").as_str()),
                    "{halves:?}"
                );
            }
        }
    }
}

/// The text of what is executed for two rows times a matrix that `factor` makes, on a device whose descriptors show
/// 1,024 bytes. Its results are checked against those of the operators one by one.
fn text_of_rows(product: Product, factor: DequantizeDesc) -> String {
    const WINDOW: u64 = 1024;
    let single = |sizes: &[u32]| TensorDesc::packed(DataType::Float32, sizes);
    let mut graph = GraphBuilder::new();
    let [rows, codes, scales, zeros] = std::array::from_fn(|_| graph.input());
    let matrix = graph.operator(factor, &[codes, scales, zeros]);
    let desc = gemm(
        [
            single(&[1, 1, 2, product.depth]),
            single(&product.matrix()),
            single(&[1, 1, 2, product.columns]),
        ],
        match product.is_transposed {
            true => MatrixTransform::Transpose,
            false => MatrixTransform::None,
        },
    );
    let result = graph.operator(desc, &[rows, matrix]);
    graph.output(result);
    let (graph, name) = (valid(&graph.finish()), format!("{product:?}"));
    let (capabilities, transfer) = (&with_window(WINDOW, 16), TransferUse::Allowed);
    let target = Target { capabilities, tuning: Tuning::new(), transfer };
    let (plan, explanation) = compile_graph(&graph, &target, WAYS[0]).unwrap();
    let (plans, random) = (vec![("slices".to_owned(), plan)], &mut Random::new(&name));
    graphs::check(&graph, random, &Capabilities::vulkan_minimum(), every_way::lowered, plans)
        .expect(&name);
    explanation.parts.iter().map(|part| part.program.as_str()).collect()
}

#[test]
fn columns_of_a_large_matrix_are_unpacked_and_multiplied_by_some_at_a_time() {
    for integer in [DataType::Uint4, DataType::Int4, DataType::Uint8, DataType::Int8] {
        // Slices of whole quads and of others, of one column, with a shorter last one, and columns with scales of blocks.
        for (depth, columns, is_transposed, block) in [
            (8, 22, true, [1, 4]),
            (8, 24, false, [4, 1]),
            (64, 6, true, [1, 32]),
            (16, 40, false, [16, 4]),
            (5, 13, true, [1, 5]),
        ] {
            let product = Product { depth, columns, is_transposed };
            let text = text_of_rows(product, dequantize(integer, product.matrix(), block));
            let of_slices: Vec<&str> =
                text.lines().filter(|line| line.contains("= contract")).collect();
            assert!(of_slices.len() > 1, "{product:?} {integer:?}: {text}");
            let whole = format!("= {} elements of 32 bits", depth * columns);
            assert!(!text.contains(&whole), "{text}");
        }
    }
}
