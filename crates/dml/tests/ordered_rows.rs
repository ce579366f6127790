//! Rows are scanned, sorted and normalized by work groups to the same bits as without them, on every device.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::ordered::{check, check_equal, elements, run};
use common::{on_every_device, on_one_device};
use dml::core::operators::{
    ActivationSoftmax1Desc, ArgmaxDesc, CumulativeProductDesc, CumulativeSummationDesc,
    DynamicQuantizeLinearDesc, ReduceDesc, TopK1Desc,
};
use dml::core::{
    AbstractOperator, AxisDirection, MatrixTransform, ReduceFunction, Strategy, Tuning,
};
use dml::{DataType, TensorDesc};
use dml_reference::Random;
use dml_reference::descriptors::{gemm, normalization};

/// Row lengths around the parts that work groups process.
const LENGTHS: [u32; 11] = [1, 2, 127, 128, 129, 1023, 1024, 1025, 2047, 2048, 2049];
/// Row lengths of several parts.
const LONG: u32 = 70_001;

fn sums(tensor: &TensorDesc, axis: u32, random: &mut Random) -> [AbstractOperator; 2] {
    let (input_tensor, output_tensor) = (tensor.clone(), tensor.clone());
    let is_exclusive = random.one_in(2);
    let axis_direction = random.pick(&[AxisDirection::Increasing, AxisDirection::Decreasing]);
    let product = CumulativeProductDesc {
        input_tensor: input_tensor.clone(),
        output_tensor: output_tensor.clone(),
        axis,
        axis_direction,
        has_exclusive_product: is_exclusive,
    };
    let has_exclusive_sum = is_exclusive;
    let sum = CumulativeSummationDesc {
        input_tensor,
        output_tensor,
        axis,
        axis_direction,
        has_exclusive_sum,
    };
    [sum.into(), product.into()]
}

#[test]
fn sums_and_products_of_rows_are_the_same_bits() {
    let mut random = Random::new("sums of rows");
    for data_type in [DataType::Float32, DataType::Int64] {
        let rows = LENGTHS.map(|length| ([2, length, 1], 1));
        let columns = [([2, 300, 9], 1), ([700, 2, 3], 0), ([40, 31, 5], 1), ([3, 9, 50], 2)];
        let long = (data_type == DataType::Float32).then_some(([1, LONG, 1], 1));
        for (sizes, axis) in rows.into_iter().chain(columns).chain(long) {
            let tensor = TensorDesc::packed(data_type, &sizes);
            let bytes = elements(&mut random, data_type, sizes.iter().product());
            for operator in sums(&tensor, axis, &mut random) {
                check(&operator, &bytes, &format!("{data_type} {sizes:?} {axis}"));
            }
        }
    }
}

#[test]
fn the_least_and_the_greatest_are_found_in_the_same_order() {
    let mut random = Random::new("order of rows");
    for data_type in [DataType::Float32, DataType::Uint64] {
        for length in [2, 1025, 2048, 2049, LONG] {
            // Some elements several times.
            let bytes = elements(&mut random, data_type, length.min(999));
            let bytes = [bytes.as_slice(); 72].concat();
            let bytes = &bytes[..(data_type.bits() / 8 * length) as usize];
            let all = if length == LONG { 5000 } else { length };
            for k in [40.min(length), 1500.min(length), all] {
                let wanted = [1, k];
                let desc = TopK1Desc {
                    input_tensor: TensorDesc::packed(data_type, &[1, length]),
                    output_value_tensor: TensorDesc::packed(data_type, &wanted),
                    output_index_tensor: TensorDesc::packed(DataType::Uint32, &wanted),
                    axis: 1,
                    k,
                    axis_direction: random
                        .pick(&[AxisDirection::Increasing, AxisDirection::Decreasing]),
                };
                check(&desc.into(), bytes, &format!("{data_type} {length} {k}"));
            }
        }
    }
}

/// A work group has up to 8,192 elements of a row at one time.
#[test]
fn rows_of_several_turns_are_normalized_alike() {
    let mut random = Random::new("long rows");
    for (data_type, sizes) in [
        (DataType::Float32, [3, 2, 4096]),
        (DataType::Float32, [3, 2, 4099]),
        (DataType::Float32, [2, 5, 8192]),
        (DataType::Float16, [2, 3, 6000]),
    ] {
        let tensor = || TensorDesc::packed(data_type, &sizes);
        let of_channels = || tensor().with_strides(&[0, 1, 0]);
        let bytes = elements(&mut random, data_type, sizes.iter().product());
        let softmax = ActivationSoftmax1Desc {
            input_tensor: tensor(),
            output_tensor: tensor(),
            axes: vec![1, 2],
        };
        check(&softmax.into(), &bytes, &format!("softmax {data_type} {sizes:?}"));
        let index = ArgmaxDesc {
            input_tensor: tensor(),
            output_tensor: TensorDesc::packed(DataType::Int64, &[sizes[0], 1, 1]),
            axes: vec![1, 2],
            axis_direction: random.pick(&[AxisDirection::Increasing, AxisDirection::Decreasing]),
        };
        check(&index.into(), &bytes, &format!("argmax {data_type} {sizes:?}"));
        let norm = normalization(&tensor(), &of_channels(), vec![1, 2]);
        check(&norm.into(), &bytes, &format!("norm {data_type} {sizes:?}"));
    }
}

/// Reductions of rows to one value that is computed of two reductions.
const NORMS: [ReduceFunction; 2] = [ReduceFunction::L2, ReduceFunction::LogSumExp];

fn reduction(function: ReduceFunction, data_type: DataType, sizes: [u32; 2]) -> AbstractOperator {
    ReduceDesc {
        function,
        input_tensor: TensorDesc::packed(data_type, &sizes),
        output_tensor: TensorDesc::packed(data_type, &[sizes[0], 1]),
        axes: vec![1],
    }
    .into()
}

/// An invocation has a row of one block or several, or a work group has it, at once or in turns. FLOAT16 results of rows
/// share words.
#[test]
fn norms_of_rows_are_the_same_bits_whoever_has_a_row() {
    let mut random = Random::new("norms of rows");
    for sizes in [[45, 10], [37, 100], [33, 700], [5, 3_000], [3, 9_001]] {
        for data_type in [DataType::Float32, DataType::Float16] {
            let bytes = elements(&mut random, data_type, sizes[0] * sizes[1]);
            for function in NORMS {
                let name = format!("{function:?} {data_type} {sizes:?}");
                check(&reduction(function, data_type, sizes), &bytes, &name);
            }
        }
    }
}

/// Checks that work groups for segments of rows give the bytes of an invocation for each row.
fn check_segments(operator: &AbstractOperator, bytes: &[u8], name: &str) {
    let tunings =
        [Tuning::new().with_strategy(Strategy::Kernel), Tuning::new().with_shared_tiles()];
    check_equal(operator, tunings, bytes, name);
}

/// A segment has 8,192 elements; the last one of a row may be shorter.
#[test]
fn segments_of_rows_have_the_bits_of_whole_rows() {
    let mut random = Random::new("segments of rows");
    for (data_type, sizes) in [(DataType::Float32, [2, 25_001]), (DataType::Float16, [3, 8_193])] {
        let tensor = || TensorDesc::packed(data_type, &sizes);
        let count = sizes[0] * sizes[1];
        let width = data_type.bits() as usize / 8;
        // From 0.5 to 2, of both signs.
        let mut element = || match data_type {
            DataType::Float16 => (random.bits() & 0x83ff) | 0x3800,
            _ => (random.bits() & 0x80ff_ffff) | 0x3f00_0000,
        };
        let bytes: Vec<u8> =
            (0..count).flat_map(|_| element().to_le_bytes()[..width].to_vec()).collect();
        let softmax = ActivationSoftmax1Desc {
            input_tensor: tensor(),
            output_tensor: tensor(),
            axes: vec![1],
        };
        let name = format!("{data_type} {sizes:?}");
        check_segments(&softmax.into(), &bytes, &format!("softmax {name}"));
        let of_rows = || tensor().with_strides(&[0, 1]);
        let norm = normalization(&tensor(), &of_rows(), vec![1]);
        check_segments(&norm.into(), &bytes, &format!("norm {name}"));
        for function in [ReduceFunction::Sum, ReduceFunction::Multiply].into_iter().chain(NORMS) {
            let reduce = reduction(function, data_type, sizes);
            check_segments(&reduce, &bytes, &format!("{function:?} {name}"));
        }
        let integers = [DataType::Uint8, DataType::Int8].into_iter();
        for integer in integers.filter(|_| data_type == DataType::Float32) {
            let quantize = DynamicQuantizeLinearDesc {
                input_tensor: TensorDesc::packed(DataType::Float32, &[1, 9_001]),
                output_tensor: TensorDesc::packed(integer, &[1, 9_001]),
                output_scale_tensor: TensorDesc::packed(DataType::Float32, &[1, 1]),
                output_zero_point_tensor: TensorDesc::packed(integer, &[1, 1]),
            };
            check_segments(&quantize.into(), &bytes[..36_004], &format!("{integer}"));
        }
    }
}

/// A work group has up to 16 quads of columns, or all 64 if columns are short, and joins 4 blocks of long columns at one
/// time, or up to 64 if there are few columns.
#[test]
fn columns_are_reduced_to_the_bits_of_rows() {
    const SHAPES: [[u32; 3]; 9] = [
        [3, 17, 5],
        [2, 128, 260],
        [3, 129, 68],
        [1, 515, 67],
        [2, 1_024, 3],
        [1, 4_100, 33],
        [1, 9_001, 8],
        [1, 10_000, 2],
        [1, 20_001, 2],
    ];
    let mut random = Random::new("columns");
    for (function, data_type) in [
        (ReduceFunction::Sum, DataType::Float32),
        (ReduceFunction::L2, DataType::Float32),
        (ReduceFunction::Average, DataType::Float16),
        (ReduceFunction::Multiply, DataType::Float32),
        (ReduceFunction::Max, DataType::Float16),
        (ReduceFunction::Sum, DataType::Int64),
        (ReduceFunction::Min, DataType::Int8),
    ] {
        for sizes @ [outer, depth, columns] in SHAPES {
            let bytes = elements(&mut random, data_type, sizes.iter().product());
            let desc = ReduceDesc {
                function,
                input_tensor: TensorDesc::packed(data_type, &sizes),
                output_tensor: TensorDesc::packed(data_type, &[outer, 1, columns]),
                axes: vec![1],
            };
            let name = format!("{function:?} {data_type} {sizes:?}");
            // These columns, stored as rows.
            let width = data_type.bits() as usize / 8;
            let [depth, columns] = [depth, columns].map(|it| it as usize);
            let of_rows: Vec<u8> = bytes
                .chunks(depth * columns * width)
                .flat_map(|matrix| {
                    let place = move |at: usize| (at % depth * columns + at / depth) * width;
                    (0..depth * columns).flat_map(move |at| &matrix[place(at)..][..width])
                })
                .copied()
                .collect();
            let rows = ReduceDesc {
                input_tensor: TensorDesc::packed(data_type, &sizes).with_strides(&[
                    sizes[1] * sizes[2],
                    1,
                    sizes[1],
                ]),
                ..desc.clone()
            };
            let (rows, desc) = (rows.into(), desc.into());
            on_one_device(name.as_bytes(), |device| {
                let passes = Tuning::new().with_strategy(Strategy::Kernel);
                let expected = run(&device.with_tuning(passes), &rows, &of_rows);
                let groups = Tuning::new().with_strategy(Strategy::RowGroups);
                let found = run(&device.with_tuning(groups), &desc, &bytes);
                assert!(are_equal(&found[0], &expected[0], data_type), "{name}");
            });
        }
    }
}

/// Whether elements have the same bits, or are NaNs: a computed NaN may be any.
fn are_equal(found: &[u8], expected: &[u8], data_type: DataType) -> bool {
    let is_nan = |bytes: &[u8]| match (data_type, bytes) {
        (DataType::Float32, [a, b, c, d]) => f32::from_le_bytes([*a, *b, *c, *d]).is_nan(),
        (DataType::Float16, [a, b]) => u16::from_le_bytes([*a, *b]) & 0x7fff > 0x7c00,
        _ => false,
    };
    let width = data_type.bits() as usize / 8;
    let mut pairs = found.chunks(width).zip(expected.chunks(width));
    found.len() == expected.len() && pairs.all(|(a, b)| a == b || (is_nan(a) && is_nan(b)))
}

/// Bits of the sum of products, as the order of rows is stated: lanes of blocks, then neighbours.
fn product_of_rows(a: impl Iterator<Item = f32>, b: impl Iterator<Item = f32>) -> u32 {
    let products: Vec<f32> = a.zip(b).map(|(a, b)| a * b).collect();
    let lane = |block: &[f32], lane: usize| {
        block.iter().copied().skip(lane).step_by(16).reduce(|sum, next| sum + next)
    };
    let lanes = |block| (0..16).filter_map(move |it| lane(block, it));
    let mut sums: Vec<f32> = products.chunks(128).flat_map(lanes).collect();
    while sums.len() > 1 {
        let pairs = sums.chunks(2).filter_map(|pair| pair.iter().copied().reduce(|a, b| a + b));
        sums = pairs.collect();
    }
    sums[0].to_bits()
}

#[test]
fn a_vector_is_multiplied_in_the_order_of_rows_however_the_matrix_lies() {
    on_every_device(|device| {
        let mut random = Random::new("products of a vector");
        for depth in [16_u32, 17, 127, 130, 515, 4100, 9001] {
            // So many that no parts are needed, and blocks are joined by one invocation.
            let many = (depth == 515).then_some(1 << 16);
            for columns in [1_u32, 3, 4, 12, 37].into_iter().chain(many) {
                let numbers: Vec<f32> = (0..depth * columns)
                    .map(|_| {
                        let exponent = 126 + random.below(3);
                        let bits = u32::try_from(random.bits() & 0x807f_ffff).unwrap();
                        f32::from_bits(bits | exponent << 23)
                    })
                    .collect();
                let bytes: Vec<u8> =
                    numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                for is_transposed in [false, true] {
                    let (step, next) = if is_transposed { (1, depth) } else { (columns, 1) };
                    let column = |at: u32| {
                        let first = numbers.iter().copied().skip((at * next) as usize);
                        first.step_by(step as usize).take(depth as usize)
                    };
                    let expected = (0..columns)
                        .map(|at| product_of_rows(numbers.iter().copied(), column(at)))
                        .flat_map(u32::to_le_bytes);
                    let expected: Vec<u8> = expected.collect();
                    let tensor = |sizes: [u32; 2]| {
                        TensorDesc::packed(DataType::Float32, &[1, 1, sizes[0], sizes[1]])
                    };
                    let matrix = if is_transposed { [columns, depth] } else { [depth, columns] };
                    let operator: AbstractOperator = gemm(
                        [tensor([1, depth]), tensor(matrix), tensor([1, columns])],
                        match is_transposed {
                            true => MatrixTransform::Transpose,
                            false => MatrixTransform::None,
                        },
                    )
                    .into();
                    for strategy in [Strategy::Kernel, Strategy::RowGroups] {
                        let device = device.with_tuning(Tuning::new().with_strategy(strategy));
                        let results = run(&device, &operator, &bytes);
                        let name = format!("{depth} x {columns} {is_transposed} {strategy:?}");
                        assert!(results[0][..expected.len()] == expected, "{name}");
                    }
                }
            }
        }
    });
}
