//! Field values that nobody in their right mind would fill in.

use dml::core::schema::{FieldSchema, FieldType, OperatorSchema};
use dml::core::{FieldValue, ScalarUnion};
use dml::{AbstractOperator, DataType, TensorDesc, TensorFlags};
use dml_reference::Random;

/// Operators in operators go no deeper.
const MAX_DEPTH: u32 = 2;

/// An operator with one or two fields changed; mostly not legal any more.
pub(crate) fn change(operator: &AbstractOperator, random: &mut Random) -> AbstractOperator {
    let schema = operator.schema();
    let mut fields = operator.fields().to_vec();
    for _ in 0..1 + random.below(2) {
        let at = random.pick(&indices(schema));
        match &mut fields[at] {
            FieldValue::Tensor(Some(desc)) if !random.one_in(16) => change_tensor(desc, random),
            FieldValue::TensorArray(descs) if !descs.is_empty() && !random.one_in(16) => {
                let at: Vec<usize> = (0..descs.len()).collect();
                change_tensor(&mut descs[random.pick(&at)], random);
            }
            other => *other = value(&schema.fields[at], random, 0),
        }
    }
    made(schema, fields).unwrap_or_else(|| operator.clone())
}

/// Any values at all in the fields of `schema`.
pub(crate) fn operator(
    schema: &'static OperatorSchema,
    random: &mut Random,
) -> Option<AbstractOperator> {
    nested(schema, random, 0)
}

fn nested(
    schema: &'static OperatorSchema,
    random: &mut Random,
    depth: u32,
) -> Option<AbstractOperator> {
    made(schema, schema.fields.iter().map(|field| value(field, random, depth)).collect())
}

fn made(schema: &'static OperatorSchema, fields: Vec<FieldValue>) -> Option<AbstractOperator> {
    AbstractOperator::new(schema, fields).ok()
}

fn indices(schema: &OperatorSchema) -> Vec<usize> {
    (0..schema.fields.len().max(1)).collect()
}

fn value(field: &FieldSchema, random: &mut Random, depth: u32) -> FieldValue {
    let count = random.below(5);
    let activation = |random: &mut Random| {
        let schema = random.pick(dml::core::operators::OPERATORS);
        if depth < MAX_DEPTH { nested(schema, random, depth + 1) } else { None }
    };
    match field.field_type {
        FieldType::Tensor => FieldValue::Tensor((!random.one_in(8)).then(|| tensor(random))),
        FieldType::TensorArray => {
            FieldValue::TensorArray((0..count).map(|_| tensor(random)).collect())
        }
        FieldType::OperatorDesc => FieldValue::OperatorDesc(activation(random).map(Box::new)),
        FieldType::OperatorDescArray => {
            FieldValue::OperatorDescArray((0..count).filter_map(|_| activation(random)).collect())
        }
        FieldType::Uint => FieldValue::Uint(number(random)),
        FieldType::Uint64 => FieldValue::Uint64(random.bits()),
        FieldType::Int => FieldValue::Int(number(random).cast_signed()),
        FieldType::Float => FieldValue::Float(random.float()),
        FieldType::UintArray => FieldValue::UintArray((0..count).map(|_| number(random)).collect()),
        FieldType::IntArray => {
            FieldValue::IntArray((0..count).map(|_| number(random).cast_signed()).collect())
        }
        FieldType::FloatArray => {
            FieldValue::FloatArray((0..count).map(|_| random.float()).collect())
        }
        FieldType::ScaleBias => {
            FieldValue::ScaleBias((count > 0).then(|| [random.float(), random.float()]))
        }
        FieldType::Size2d => FieldValue::Size2d([number(random), number(random)]),
        FieldType::ScalarUnion => FieldValue::ScalarUnion(ScalarUnion::from_bits(random.bits())),
        FieldType::Bool => FieldValue::Bool(random.one_in(2)),
    }
}

fn tensor(random: &mut Random) -> TensorDesc {
    let rank = random.below(10);
    let sizes: Vec<u32> = (0..rank).map(|_| number(random)).collect();
    let mut desc = TensorDesc::packed(random.pick(&DataType::ALL), &sizes);
    for _ in 0..random.below(4) {
        change_tensor(&mut desc, random);
    }
    desc
}

/// Small in most cases, or at an edge of 32 bits.
fn number(random: &mut Random) -> u32 {
    let edges = [0, 1, 65_535, 65_536, 1 << 31, (1 << 31) - 1, u32::MAX - 1, u32::MAX];
    match random.below(8) {
        0 => random.pick(&edges),
        1 => random.word(),
        2 => random.below(1 << 16),
        _ => random.below(20),
    }
}

fn change_tensor(desc: &mut TensorDesc, random: &mut Random) {
    match random.below(10) {
        0 => desc.data_type = random.pick(&DataType::ALL),
        1 => desc.flags = TensorFlags::from_bits(random.pick(&[0, 1, 1, 2, 3, u32::MAX])),
        2 => {
            let alignments = [0, 1, 2, 3, 4, 8, 16, 32, 256, 4096, 1 << 31, u32::MAX];
            desc.guaranteed_base_offset_alignment = random.pick(&alignments);
        }
        3 => desc.total_tensor_size_in_bytes = total_size(random),
        4 => desc.strides = None,
        5 => desc.strides = Some(desc.sizes.iter().map(|_| number(random)).collect()),
        6 => change_one(desc.strides.get_or_insert_default(), random),
        7 => change_one(&mut desc.sizes, random),
        8 => change_length(&mut desc.sizes, random),
        _ => change_length(desc.strides.get_or_insert_default(), random),
    }
}

fn total_size(random: &mut Random) -> Option<u64> {
    match random.below(4) {
        0 => None,
        1 => Some(random.pick(&[0, 1, u64::MAX - 4, u64::MAX - 3, u64::MAX, 1 << 32])),
        2 => Some(random.bits()),
        _ => Some(random.below(1 << 14).into()),
    }
}

fn change_one(numbers: &mut [u32], random: &mut Random) {
    let count = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    if let Some(changed) = numbers.get_mut(random.below(count) as usize) {
        *changed = number(random);
    }
}

fn change_length(numbers: &mut Vec<u32>, random: &mut Random) {
    if random.one_in(2) {
        numbers.pop();
    } else {
        numbers.insert(0, number(random));
    }
}
