//! Descriptors as a C program fills them, some of them damaged: only for this project's fuzz target.
//!
//! A pointer is valid or null, and an array is at least as long as its count, unless the count is refused:
//! other damage cannot be detected, see the documentation of the crate.

mod graph;

use std::any::Any;
use std::ptr;

use dml::core::FieldValue;
use dml::core::schema::{FieldSchema, OperatorSchema};
use dml::{AbstractOperator, TensorDesc};

use crate::boundary;
use crate::decode::{self, MAX_COUNT, NO_OPERATOR, c_size, offsets};
use crate::memory::write;
use crate::types::{
    DML_BUFFER_TENSOR_DESC, DML_OPERATOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D,
    DML_TENSOR_DESC,
};

pub use graph::graph_through_c;

/// The result of writing an operator or a graph as C structs and reading it back.
#[derive(Debug)]
pub struct RoundTrip<T> {
    /// The written operator or graph, before damage, with counts that are the lengths of its arrays.
    pub written: T,
    /// The operator or graph that was read back, or the error message.
    pub read: Result<T, String>,
    /// Whether anything was damaged.
    pub is_damaged: bool,
}

impl<T> RoundTrip<T> {
    fn new(written: T, read: boundary::Result<T>, writer: &Writer<'_>) -> Self {
        let read = read.map_err(|failure| failure.message().to_owned());
        Self { written, read, is_damaged: writer.is_damaged }
    }
}

/// Writes `operator` as DirectML's structs and reads them. `choose` gives numbers below another one,
/// and with `damage` decides which pointers become null and which counts and enums wrong.
pub fn through_c(
    operator: &AbstractOperator,
    damage: bool,
    choose: &mut dyn FnMut(u32) -> u32,
) -> RoundTrip<AbstractOperator> {
    let written = with_true_counts(operator);
    let mut writer = Writer::new(damage, choose);
    let desc = writer.operator(&written);
    // SAFETY: every pointer is null or leads to a block that the writer keeps, at least as long as the
    // counts say that are not refused.
    let read = unsafe { decode::operator(&raw const desc) };
    RoundTrip::new(written, read, &writer)
}

/// `operator` as far as C can express it: as many strides as sizes, stated total sizes, equal lengths of arrays
/// that share a count, and counts that are these lengths.
fn with_true_counts(operator: &AbstractOperator) -> AbstractOperator {
    let schema = operator.schema();
    let mut fields = operator.fields().to_vec();
    for value in &mut fields {
        match value {
            FieldValue::Tensor(Some(desc)) => complete(desc),
            FieldValue::TensorArray(descs) => descs.iter_mut().for_each(complete),
            FieldValue::OperatorDesc(Some(inner)) => **inner = with_true_counts(inner),
            FieldValue::OperatorDescArray(list) => {
                list.iter_mut().for_each(|inner| *inner = with_true_counts(inner));
            }
            _ => {}
        }
    }
    for (at, count) in schema.fields.iter().enumerate() {
        let counted = |field: &FieldSchema| field.count == Some(count.name);
        let arrays = schema.fields.iter().zip(&mut fields).filter(|(field, _)| counted(field));
        let mut arrays: Vec<_> = arrays.filter(|(field, it)| !is_left_out(field, it)).collect();
        let Some(least) = arrays.iter().filter_map(|(_, value)| length(value)).min() else {
            continue;
        };
        arrays.iter_mut().for_each(|(_, value)| truncate(value, least));
        fields[at] = FieldValue::Uint(u32::try_from(least).unwrap_or(u32::MAX));
    }
    AbstractOperator::new(schema, fields).unwrap_or_else(|_| operator.clone())
}

fn complete(desc: &mut TensorDesc) {
    let rank = desc.sizes.len();
    if let Some(strides) = &mut desc.strides {
        strides.resize(rank, 1);
    }
    desc.total_tensor_size_in_bytes.get_or_insert(0);
}

/// An optional array without elements is a null pointer, whatever its count.
fn is_left_out(field: &FieldSchema, value: &FieldValue) -> bool {
    field.optional && length(value) == Some(0)
}

fn length(value: &FieldValue) -> Option<usize> {
    match value {
        FieldValue::TensorArray(list) => Some(list.len()),
        FieldValue::OperatorDescArray(list) => Some(list.len()),
        FieldValue::UintArray(list) => Some(list.len()),
        FieldValue::IntArray(list) => Some(list.len()),
        FieldValue::FloatArray(list) => Some(list.len()),
        _ => None,
    }
}

fn truncate(value: &mut FieldValue, length: usize) {
    match value {
        FieldValue::TensorArray(list) => list.truncate(length),
        FieldValue::OperatorDescArray(list) => list.truncate(length),
        FieldValue::UintArray(list) => list.truncate(length),
        FieldValue::IntArray(list) => list.truncate(length),
        FieldValue::FloatArray(list) => list.truncate(length),
        _ => {}
    }
}

struct Writer<'a> {
    /// The memory that the structs point to.
    blocks: Vec<Box<dyn Any>>,
    choose: &'a mut dyn FnMut(u32) -> u32,
    damage: bool,
    is_damaged: bool,
}

impl<'a> Writer<'a> {
    fn new(damage: bool, choose: &'a mut dyn FnMut(u32) -> u32) -> Self {
        Self { blocks: Vec::new(), choose, damage, is_damaged: false }
    }

    /// Whether to damage the next value.
    fn strikes(&mut self) -> bool {
        let strikes = self.damage && (self.choose)(12) == 0;
        self.is_damaged |= strikes;
        strikes
    }

    /// A pointer to `values`, which are kept alive; sometimes null.
    fn keep<T: 'static>(&mut self, values: Vec<T>) -> *const T {
        let pointer = if self.strikes() { ptr::null() } else { values.as_ptr() };
        self.blocks.push(Box::new(values));
        pointer
    }

    /// The count, or sometimes one that is too small or too large to be read.
    fn count(&mut self, count: u32, most: usize) -> u32 {
        let beyond = u32::try_from(most).unwrap_or(u32::MAX).saturating_add(1);
        match (self.strikes(), (self.choose)(3)) {
            (false, _) => count,
            (true, 0) => beyond,
            (true, 1) => u32::MAX,
            (true, _) => (self.choose)(count.max(1)),
        }
    }

    /// A number of an enum, or sometimes an invalid one.
    fn number(&mut self, number: u32) -> u32 {
        if self.strikes() { [0, 14, 99, u32::MAX][(self.choose)(4) as usize % 4] } else { number }
    }

    fn operator(&mut self, operator: &AbstractOperator) -> DML_OPERATOR_DESC {
        let schema = operator.schema();
        let ends = schema.fields.iter().zip(offsets(schema));
        let size = ends.map(|(field, at)| at + c_size(field.field_type).0).max().unwrap_or(0);
        let mut block = vec![0u64; size.div_ceil(8)];
        for ((field, value), at) in schema.fields.iter().zip(operator.fields()).zip(offsets(schema))
        {
            self.field(schema, field, value, block.as_mut_ptr().cast::<u8>().wrapping_add(at));
        }
        let desc = self.keep(block).cast();
        // A struct of another operator may be longer, so the number is that of no operator.
        let strikes = self.strikes();
        let unknown = if (self.choose)(2) == 0 { NO_OPERATOR } else { u32::MAX };
        DML_OPERATOR_DESC { Type: if strikes { unknown } else { schema.operator_type }, Desc: desc }
    }

    fn field(
        &mut self,
        schema: &OperatorSchema,
        field: &FieldSchema,
        value: &FieldValue,
        place: *mut u8,
    ) {
        let is_count = schema.fields.iter().any(|it| it.count == Some(field.name));
        match value {
            FieldValue::Uint(value) if is_count => put(place, self.count(*value, MAX_COUNT)),
            FieldValue::Uint(value) => put(place, *value),
            FieldValue::Uint64(value) => put(place, *value),
            FieldValue::Int(value) => put(place, *value),
            FieldValue::Float(value) => put(place, *value),
            FieldValue::Bool(value) => put(place, i32::from(*value)),
            FieldValue::ScalarUnion(value) => put(place, DML_SCALAR_UNION::from(*value)),
            FieldValue::Size2d([width, height]) => {
                put(place, DML_SIZE_2D { Width: *width, Height: *height });
            }
            FieldValue::ScaleBias(None)
            | FieldValue::Tensor(None)
            | FieldValue::OperatorDesc(None) => put(place, ptr::null::<u8>()),
            FieldValue::ScaleBias(Some([scale, bias])) => {
                put(place, self.keep(vec![DML_SCALE_BIAS { Scale: *scale, Bias: *bias }]));
            }
            FieldValue::Tensor(Some(desc)) => {
                let tensor = self.tensor(desc);
                put(place, self.keep(vec![tensor]));
            }
            FieldValue::OperatorDesc(Some(inner)) => {
                let inner = self.operator(inner);
                put(place, self.keep(vec![inner]));
            }
            array if is_left_out(field, array) => put(place, ptr::null::<u8>()),
            FieldValue::TensorArray(descs) => {
                let tensors = descs.iter().map(|desc| self.tensor(desc)).collect();
                put(place, self.keep::<DML_TENSOR_DESC>(tensors));
            }
            FieldValue::OperatorDescArray(list) => {
                let operators = list.iter().map(|inner| self.operator(inner)).collect();
                put(place, self.keep::<DML_OPERATOR_DESC>(operators));
            }
            FieldValue::UintArray(list) => put(place, self.keep(list.clone())),
            FieldValue::IntArray(list) => put(place, self.keep(list.clone())),
            FieldValue::FloatArray(list) => put(place, self.keep(list.clone())),
        }
    }

    fn tensor(&mut self, desc: &TensorDesc) -> DML_TENSOR_DESC {
        let rank = u32::try_from(desc.sizes.len()).unwrap_or(u32::MAX);
        let strides = desc.strides.clone().map(|strides| self.keep(strides));
        let buffer = DML_BUFFER_TENSOR_DESC {
            DataType: self.number(desc.data_type.dml_value()),
            Flags: desc.flags.bits(),
            DimensionCount: self.count(rank, dml::core::MAX_DIMENSION_COUNT),
            Sizes: self.keep(desc.sizes.clone()),
            Strides: strides.unwrap_or(ptr::null()),
            TotalTensorSizeInBytes: desc.total_tensor_size_in_bytes.unwrap_or(0),
            GuaranteedBaseOffsetAlignment: desc.guaranteed_base_offset_alignment,
        };
        let desc = self.keep(vec![buffer]).cast();
        DML_TENSOR_DESC { Type: self.number(decode::BUFFER), Desc: desc }
    }
}

/// Writes a field of an operator's struct.
fn put<T>(place: *mut u8, value: T) {
    // SAFETY: the block ends after its last field, and `T` is the field's C type, whose size `c_size`
    // has. A null place would be an error.
    let written = unsafe { write(place.cast::<T>(), value, "field") };
    debug_assert!(written.is_ok(), "a block has an address");
}
