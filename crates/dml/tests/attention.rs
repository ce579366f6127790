//! Attention that processes its queries in parts, on every device.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::cell::RefCell;
use std::collections::VecDeque;

use common::graphs::check;
use common::{on_every_device, on_every_device_as, options};
use dml::core::operators::ActivationSoftmax1Desc;
use dml::core::{Strategy, Tuning};
use dml::{
    BufferBinding, DataType, Device, DeviceOptions, ElementWiseAddDesc, GemmDesc, GraphBuilder,
    GraphDesc, MatrixTransform, MultiheadAttentionDesc, MultiheadAttentionMaskType, Numerics,
    TensorDesc,
};

use dml_reference::Random;
use dml_reference::descriptors::{self, gemm};

const HEADS: u32 = 64;
const KEYS: u32 = 256;

/// Attention with one element for each head.
fn attention(queries: u32) -> MultiheadAttentionDesc {
    let tensor = |steps| TensorDesc::packed(DataType::Float32, &[1, steps, HEADS]);
    descriptors::attention([tensor(queries), tensor(KEYS), tensor(KEYS), tensor(queries)], HEADS)
}

/// The results of attention, as bits, for queries over fixed keys and values.
fn found(device: &Device, queries: &[f32]) -> Vec<u32> {
    let steps = u32::try_from(queries.len()).unwrap() / HEADS;
    let operator = device.compile(attention(steps)).unwrap();
    let keys = numbers(KEYS, 7);
    let values = numbers(KEYS, 11);
    let buffers = [queries, &keys, &values].map(|numbers| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let buffer = device.create_buffer(bytes.len() as u64).unwrap();
        device.vulkan().write_buffer(&buffer, 0, &bytes).unwrap();
        buffer
    });
    let output = device.create_buffer(operator.output_size(0)).unwrap();
    let given = buffers.iter().map(|buffer| Some(BufferBinding::whole(buffer)));
    let places = operator.vulkan().inputs().len();
    let inputs: Vec<_> = given.chain(std::iter::repeat(None)).take(places).collect();
    device.execute(&operator, &inputs, &[Some(BufferBinding::whole(&output)), None, None]).unwrap();
    let tensor = TensorDesc::packed(DataType::Float32, &[1, steps, HEADS]);
    let elements: Vec<f32> = device.read(&output, 0, &tensor).unwrap();
    elements.into_iter().map(f32::to_bits).collect()
}

/// Numbers from -1 to 1.
fn numbers(steps: u32, factor: u16) -> Vec<f32> {
    let number = |at: u32| {
        let mixed = u16::try_from(at * u32::from(factor) % 129).unwrap();
        f32::from(mixed) / 64.0 - 1.0
    };
    (0..steps * HEADS).map(number).collect()
}

#[test]
fn a_query_finds_the_same_in_every_part() {
    on_every_device(|device| {
        // There is place for the scores of 256 queries.
        let queries = numbers(257, 5);
        let (first, last) = queries.split_at(256 * HEADS as usize);
        let all = found(device, &queries);
        assert_eq!(all, [found(device, first), found(device, last)].concat());
        assert!(all.iter().any(|it| *it != all[0]));
    });
}

/// Sizes of an attention: queries, keys, heads, elements of a query and of a value in a head.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    queries: u32,
    keys: u32,
    heads: u32,
    elements: u32,
    of_value: u32,
}

/// Around a tile of 64 queries and keys, a block of 128 keys, a chunk of 16 depths, and the values of each kernel.
const SIZES: [Sizes; 7] = [
    Sizes { queries: 2, keys: 2, heads: 1, elements: 1, of_value: 1 },
    Sizes { queries: 65, keys: 129, heads: 2, elements: 17, of_value: 64 },
    Sizes { queries: 64, keys: 64, heads: 3, elements: 16, of_value: 65 },
    Sizes { queries: 7, keys: 515, heads: 2, elements: 32, of_value: 128 },
    Sizes { queries: 3, keys: 1029, heads: 1, elements: 3, of_value: 200 },
    Sizes { queries: 130, keys: 256, heads: 1, elements: 40, of_value: 256 },
    Sizes { queries: 5, keys: 300, heads: 2, elements: 8, of_value: 33 },
];

/// With a bias for each score, and a mask where `mask` says so.
fn with_bias(sizes: Sizes, data_type: DataType, mask: bool) -> MultiheadAttentionDesc {
    let Sizes { queries, keys, heads, elements, of_value } = sizes;
    let tensor = |sizes: &[u32]| TensorDesc::packed(data_type, sizes);
    MultiheadAttentionDesc {
        query_tensor: Some(tensor(&[2, queries, heads * elements])),
        key_tensor: Some(tensor(&[2, keys, heads * elements])),
        value_tensor: Some(tensor(&[2, keys, heads * of_value])),
        mask_tensor: mask.then(|| TensorDesc::packed(DataType::Int32, &[2, heads, queries, keys])),
        mask_type: match mask {
            true => MultiheadAttentionMaskType::Boolean,
            false => MultiheadAttentionMaskType::None,
        },
        relative_position_bias_tensor: Some(tensor(&[2, heads, queries, keys])),
        output_tensor: tensor(&[2, queries, heads * of_value]),
        scale: 0.375,
        mask_filter_value: -3.5,
        head_count: heads,
        ..attention(queries)
    }
}

/// The bytes that an operator writes, of inputs that follow from its name.
fn written(device: &Device, desc: &MultiheadAttentionDesc, name: &str) -> Vec<u8> {
    written_of(device, desc, name, |_, _| ())
}

/// As [`written`], of inputs that `change` has changed, given the number of each.
fn written_of(
    device: &Device,
    desc: &MultiheadAttentionDesc,
    name: &str,
    change: impl Fn(usize, &mut [u8]),
) -> Vec<u8> {
    let operator = device.compile(desc.clone()).unwrap();
    let mut random = Random::new(name);
    let data_type = desc.output_tensor.data_type;
    let places = operator.vulkan().inputs().len();
    let buffers: Vec<_> = (0..places)
        .map(|at| {
            let size = operator.input_size(at);
            let word = |random: &mut Random| match data_type {
                DataType::Float16 => random.word() & 0x87ff_87ff | 0x3000_3000,
                _ => random.word() & 0x80ff_ffff | 0x3e00_0000,
            };
            let words = (0..size.div_ceil(4)).flat_map(|_| word(&mut random).to_le_bytes());
            let mut bytes: Vec<u8> = words.collect();
            change(at, &mut bytes);
            (size > 0).then(|| {
                let buffer = device.create_buffer(size).unwrap();
                let size = usize::try_from(size).unwrap();
                device.vulkan().write_buffer(&buffer, 0, &bytes[..size]).unwrap();
                buffer
            })
        })
        .collect();
    let output = device.create_buffer(operator.output_size(0)).unwrap();
    let zeros = vec![0; usize::try_from(output.size()).unwrap()];
    device.vulkan().write_buffer(&output, 0, &zeros).unwrap();
    let inputs: Vec<_> =
        buffers.iter().map(|buffer| buffer.as_ref().map(BufferBinding::whole)).collect();
    device.execute(&operator, &inputs, &[Some(BufferBinding::whole(&output)), None, None]).unwrap();
    device.vulkan().read_buffer(&output, 0..output.size()).unwrap()
}

#[test]
fn one_kernel_and_its_members_give_the_same_bits() {
    on_every_device(|device| {
        for (number, sizes) in SIZES.into_iter().enumerate() {
            for data_type in [DataType::Float32, DataType::Float16] {
                let mask = number % 2 == 1;
                let desc = with_bias(sizes, data_type, mask);
                let [members, kernel] = [Strategy::Kernel, Strategy::RowGroups].map(|strategy| {
                    let device = device.with_tuning(Tuning::new().with_strategy(strategy));
                    written(&device, &desc, "attention")
                });
                assert!(members == kernel, "{sizes:?} {data_type}");
                assert!(
                    members.iter().any(|member| *member != members[0]),
                    "{sizes:?} {data_type}"
                );
            }
        }
    });
}

/// Number of the input of biases among the inputs.
const BIASES: usize = 8;

/// Scores of which the first 64 keys are infinite for every second query, the rest greater and greater tile by tile, and all
/// infinite for the last query of each head.
fn with_infinities(sizes: Sizes, bytes: &mut [u8]) {
    let [queries, keys] = [sizes.queries, sizes.keys].map(|it| it as usize);
    for (at, bias) in bytes.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let (query, key) = (at / keys % queries, at % keys);
        let is_infinite = (query % 2 == 1 && key < 64 && keys > 64) || query == queries - 1;
        let tile = f32::from(u8::try_from(key / 64).unwrap());
        let bias_now =
            if is_infinite { f32::NEG_INFINITY } else { f32::from_le_bytes(*bias) + tile };
        *bias = bias_now.to_le_bytes();
    }
}

/// The results with infinite scores for all sizes, one after the other.
fn with_infinite_scores(device: &Device) -> Vec<Vec<u8>> {
    let device = device.with_tuning(Tuning::new().with_strategy(Strategy::RowGroups));
    let of = |sizes| {
        let desc = with_bias(sizes, DataType::Float32, false);
        written_of(&device, &desc, "fast attention", |at: usize, bytes: &mut [u8]| {
            if at == BIASES {
                with_infinities(sizes, bytes);
            }
        })
    };
    SIZES.into_iter().map(of).collect()
}

#[test]
fn fast_numerics_find_the_same_in_one_pass_but_for_rounding() {
    // Only its creator chooses a device's numerics. The devices come in the same order.
    let exact = RefCell::new(VecDeque::new());
    on_every_device(|device| exact.borrow_mut().push_back(with_infinite_scores(device)));
    let options = DeviceOptions { numerics: Numerics::Fast, ..options() };
    on_every_device_as(&options, |device| {
        let exact = exact.borrow_mut().pop_front().unwrap();
        let [fast, again] = [(); 2].map(|()| with_infinite_scores(device));
        assert!(fast == again, "bits differ from run to run");
        let differing = exact.iter().zip(&fast).filter(|(exact, fast)| exact != fast).count();
        assert!(differing > 2, "no bits of a single pass are its own");
        let numbers = |bytes: &[u8]| -> Vec<f32> {
            bytes.as_chunks::<4>().0.iter().map(|it| f32::from_le_bytes(*it)).collect()
        };
        for (sizes, (exact, fast)) in SIZES.iter().zip(exact.iter().zip(&fast)) {
            let (exact, fast) = (numbers(exact), numbers(fast));
            let width = (sizes.heads * sizes.of_value) as usize;
            for (at, (exact, fast)) in exact.iter().zip(&fast).enumerate() {
                let has_weights = at / width % sizes.queries as usize != sizes.queries as usize - 1;
                assert_eq!(exact.is_nan(), !has_weights, "{sizes:?}: element {at}");
                // Values are below 1, and so are their weighted sums.
                let is_near = (exact - fast).abs() < 4e-6;
                assert!(
                    is_near || (!has_weights && fast.is_nan()),
                    "{sizes:?} {at}: {exact} {fast}"
                );
            }
        }
    });
}

/// Products, a mask, a softmax and products: weights are divided by their sum before values are multiplied by them.
fn decomposed(sizes: Sizes) -> GraphDesc {
    let Sizes { queries, keys, heads, elements, of_value } = sizes;
    let tensor = |rows, columns| TensorDesc::packed(DataType::Float32, &[1, heads, rows, columns]);
    let product = |depths, columns, trans_b| GemmDesc {
        alpha: 0.25,
        ..gemm(
            [
                tensor(queries, depths),
                match trans_b {
                    MatrixTransform::Transpose => tensor(columns, depths),
                    MatrixTransform::None => tensor(depths, columns),
                },
                tensor(queries, columns),
            ],
            trans_b,
        )
    };
    let scores = || tensor(queries, keys);
    let mut graph = GraphBuilder::new();
    let [query, key, value, mask] = std::array::from_fn(|_| graph.input());
    let products = product(elements, keys, MatrixTransform::Transpose);
    let products = graph.operator(products, &[query, key]);
    let masked = ElementWiseAddDesc {
        a_tensor: scores(),
        b_tensor: TensorDesc::packed(DataType::Float32, &[1, heads, queries, keys])
            .with_strides(&[0, 0, keys, 1]),
        output_tensor: scores(),
    };
    let masked = graph.operator(masked, &[products, mask]);
    let softmax =
        ActivationSoftmax1Desc { input_tensor: scores(), output_tensor: scores(), axes: vec![3] };
    let shares = graph.operator(softmax, &[masked]);
    let result = graph.operator(product(keys, of_value, MatrixTransform::None), &[shares, value]);
    graph.output(result);
    graph.finish()
}

#[test]
fn decomposed_attention_has_the_results_of_its_operators() {
    let sizes = [SIZES[0], SIZES[1], SIZES[4], SIZES[6]];
    check(sizes.into_iter().map(|sizes| (format!("{sizes:?}"), decomposed(sizes))));
}
