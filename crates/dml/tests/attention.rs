//! Attention that processes its queries in parts, on every device.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::on_every_device;
use dml::{
    BufferBinding, DataType, Device, MultiheadAttentionDesc, MultiheadAttentionMaskType, TensorDesc,
};

const HEADS: u32 = 64;
const KEYS: u32 = 256;

/// Of one element for each head.
fn attention(queries: u32) -> MultiheadAttentionDesc {
    let tensor = |steps| TensorDesc::packed(DataType::Float32, &[1, steps, HEADS]);
    MultiheadAttentionDesc {
        query_tensor: Some(tensor(queries)),
        key_tensor: Some(tensor(KEYS)),
        value_tensor: Some(tensor(KEYS)),
        stacked_query_key_tensor: None,
        stacked_key_value_tensor: None,
        stacked_query_key_value_tensor: None,
        bias_tensor: None,
        mask_tensor: None,
        relative_position_bias_tensor: None,
        past_key_tensor: None,
        past_value_tensor: None,
        output_tensor: tensor(queries),
        output_present_key_tensor: None,
        output_present_value_tensor: None,
        scale: 1.0,
        mask_filter_value: 0.0,
        head_count: HEADS,
        mask_type: MultiheadAttentionMaskType::None,
    }
}

/// The results of attention, as bits, for queries over fixed keys and values.
fn found(device: &Device, queries: &[f32]) -> Vec<u32> {
    let steps = u32::try_from(queries.len()).unwrap() / HEADS;
    let operator = device.compile(attention(steps)).unwrap();
    let keys = numbers(KEYS, 7);
    let values = numbers(KEYS, 11);
    let buffers = [queries, &keys, &values].map(|numbers| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
        let buffer = device.create_buffer(bytes.len() as u64).unwrap();
        device.vulkan().write_buffer(&buffer, 0, &bytes).unwrap();
        buffer
    });
    let output = device.create_buffer(operator.output_size(0)).unwrap();
    let given = buffers.iter().map(|it| Some(BufferBinding::whole(it)));
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
