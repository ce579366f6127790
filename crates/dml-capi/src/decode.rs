//! DirectML's descriptors, read from the caller's memory.
//!
//! One function reads the struct of every operator: the schema has the fields in DirectML's order, and
//! C's layout rules give the offset of each. This module only refuses what it cannot read; validation checks
//! the values.

mod graph;

use dml::core::operators::OPERATORS;
use dml::core::schema::{FieldSchema, FieldType, OperatorSchema};
use dml::core::{FieldValue, InvalidField, MAX_DIMENSION_COUNT};
use dml::{AbstractOperator, DataType, ScalarUnion, TensorDesc, TensorFlags};

use crate::boundary::{Failure, Result};
use crate::memory::{read, read_array};
use crate::types::{
    DML_BUFFER_TENSOR_DESC, DML_OPERATOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D,
    DML_TENSOR_DESC,
};

pub(crate) use graph::graph;
#[cfg(feature = "fuzzing")]
pub(crate) use graph::{CONSTANT, MAX_DATA_SIZE, OPERATOR};

/// DML_TENSOR_TYPE_BUFFER.
pub(crate) const BUFFER: u32 = 1;
/// DML_OPERATOR_INVALID, which means that an operator is left out.
pub(crate) const NO_OPERATOR: u32 = 0;
/// The most tensors, operators or numbers in one field. No operator of DirectML takes more; larger arrays are
/// not read.
pub(crate) const MAX_COUNT: usize = 1 << 16;
/// The most levels of nested operators; DirectML nests them once.
const MAX_DEPTH: usize = 4;

/// # Safety
///
/// `desc` is null, or it and every pointer that it leads to are what DirectML's documentation says, or
/// null.
pub(crate) unsafe fn operator(desc: *const DML_OPERATOR_DESC) -> Result<AbstractOperator> {
    // SAFETY: the caller's promise.
    unsafe { nested(desc, 0) }
}

/// # Safety
///
/// As [`operator`].
unsafe fn nested(desc: *const DML_OPERATOR_DESC, depth: usize) -> Result<AbstractOperator> {
    // SAFETY: the caller's promise.
    let desc = unsafe { read(desc, "DML_OPERATOR_DESC") }?;
    let schema = OPERATORS.iter().find(|schema| schema.operator_type == desc.Type);
    let Some(schema) = schema else {
        let last = OPERATORS.last().map_or(0, |schema| schema.operator_type);
        let problem = format!("{} is not an operator (accepted: 1 to {last})", desc.Type);
        return Err(Failure::invalid("DML_OPERATOR_DESC.Type", problem));
    };
    if desc.Desc.is_null() {
        return Err(Failure::invalid(
            format_args!("{}: DML_OPERATOR_DESC.Desc", schema.name),
            "null",
        ));
    }
    if depth > MAX_DEPTH {
        return Err(Failure::invalid(schema.name, "operators are nested too deeply"));
    }
    let reader = Reader { schema, desc: desc.Desc.cast(), depth };
    // SAFETY: the caller's promise.
    let fields = unsafe { reader.fields() }?;
    Ok(AbstractOperator::new(schema, fields)?)
}

/// Size and alignment of a field in C, in bytes.
pub(crate) fn c_size(field_type: FieldType) -> (usize, usize) {
    match field_type {
        FieldType::Uint | FieldType::Int | FieldType::Float | FieldType::Bool => (4, 4),
        FieldType::Uint64 => (8, align_of::<u64>()),
        FieldType::Size2d => (size_of::<DML_SIZE_2D>(), align_of::<DML_SIZE_2D>()),
        FieldType::ScalarUnion => (size_of::<DML_SCALAR_UNION>(), align_of::<DML_SCALAR_UNION>()),
        FieldType::Tensor
        | FieldType::TensorArray
        | FieldType::OperatorDesc
        | FieldType::OperatorDescArray
        | FieldType::UintArray
        | FieldType::IntArray
        | FieldType::FloatArray
        | FieldType::ScaleBias => (size_of::<*const u8>(), align_of::<*const u8>()),
    }
}

/// The offset of each field in the operator's struct, in bytes.
pub(crate) fn offsets(schema: &OperatorSchema) -> Vec<usize> {
    let mut end = 0usize;
    let place = |field: &FieldSchema| {
        let (size, alignment) = c_size(field.field_type);
        let start = end.next_multiple_of(alignment);
        end = start + size;
        start
    };
    schema.fields.iter().map(place).collect()
}

struct Reader {
    schema: &'static OperatorSchema,
    desc: *const u8,
    depth: usize,
}

impl Reader {
    /// # Safety
    ///
    /// As [`operator`]; `desc` points to the struct of `schema`.
    unsafe fn fields(&self) -> Result<Vec<FieldValue>> {
        let fields = self.schema.fields.iter().zip(offsets(self.schema));
        // SAFETY: the caller's promise.
        fields.map(|(field, offset)| unsafe { self.field(field, offset) }).collect()
    }

    /// # Safety
    ///
    /// As [`Reader::fields`]; there is a `T` at `offset`.
    unsafe fn value<T: Copy>(&self, offset: usize) -> Result<T> {
        // SAFETY: the caller's promise.
        unsafe { read(self.desc.wrapping_add(offset).cast::<T>(), self.schema.name) }
    }

    /// # Safety
    ///
    /// As [`Reader::fields`]; `field` is at `offset`.
    unsafe fn field(&self, field: &FieldSchema, offset: usize) -> Result<FieldValue> {
        macro_rules! value {
            ($type:ty) => {
                // SAFETY: the caller's promise; this is the field's C type.
                unsafe { self.value::<$type>(offset) }?
            };
        }
        macro_rules! array {
            ($type:ty) => {{
                let pointer = value!(*const $type);
                // SAFETY: the caller's promise.
                unsafe { self.array(field, pointer) }?
            }};
        }
        Ok(match field.field_type {
            FieldType::Uint => FieldValue::Uint(value!(u32)),
            FieldType::Uint64 => FieldValue::Uint64(value!(u64)),
            FieldType::Int => FieldValue::Int(value!(i32)),
            FieldType::Float => FieldValue::Float(value!(f32)),
            FieldType::Bool => FieldValue::Bool(value!(i32) != 0),
            FieldType::ScalarUnion => {
                FieldValue::ScalarUnion(ScalarUnion::from(value!(DML_SCALAR_UNION)))
            }
            FieldType::Size2d => {
                let size = value!(DML_SIZE_2D);
                FieldValue::Size2d([size.Width, size.Height])
            }
            FieldType::ScaleBias => {
                let pointer = value!(*const DML_SCALE_BIAS);
                let given = (!pointer.is_null()).then_some(pointer);
                // SAFETY: the caller's promise.
                let given = given.map(|it| unsafe { read(it, field.name) }).transpose()?;
                FieldValue::ScaleBias(given.map(|it| [it.Scale, it.Bias]))
            }
            FieldType::Tensor => {
                let pointer = value!(*const DML_TENSOR_DESC);
                // SAFETY: the caller's promise.
                FieldValue::Tensor(unsafe { self.tensor(pointer, field.name) }?)
            }
            FieldType::TensorArray => {
                let tensors = array!(DML_TENSOR_DESC).into_iter().zip(0..).map(|(desc, index)| {
                    let path = format!("{}[{index}]", field.name);
                    // SAFETY: the caller's promise.
                    unsafe { self.buffer_tensor(desc, &path) }
                });
                FieldValue::TensorArray(tensors.collect::<Result<_>>()?)
            }
            FieldType::OperatorDesc => {
                let pointer = value!(*const DML_OPERATOR_DESC);
                // SAFETY: the caller's promise.
                FieldValue::OperatorDesc(unsafe { self.operator(pointer) }?.map(Box::new))
            }
            FieldType::OperatorDescArray => {
                let descs = array!(DML_OPERATOR_DESC);
                // SAFETY: the caller's promise.
                let operators = descs.iter().map(|desc| unsafe { nested(desc, self.depth + 1) });
                FieldValue::OperatorDescArray(operators.collect::<Result<_>>()?)
            }
            FieldType::UintArray => FieldValue::UintArray(array!(u32)),
            FieldType::IntArray => FieldValue::IntArray(array!(i32)),
            FieldType::FloatArray => FieldValue::FloatArray(array!(f32)),
        })
    }

    /// The elements of an array, as many as its count field states; empty if the array is left out.
    ///
    /// # Safety
    ///
    /// As [`Reader::fields`].
    unsafe fn array<T: Copy>(&self, field: &FieldSchema, pointer: *const T) -> Result<Vec<T>> {
        if pointer.is_null() && field.optional {
            return Ok(Vec::new());
        }
        let fields = self.schema.fields;
        let counts = fields.iter().position(|it| Some(it.name) == field.count);
        let Some(offset) = counts.and_then(|index| offsets(self.schema).get(index).copied()) else {
            let problem = format!("{}: no field tells its length", field.name);
            return Err(dml::core::Error::Internal { operator: self.schema.name, problem }.into());
        };
        // SAFETY: the caller's promise; a count field is a UINT.
        let count = unsafe { self.value::<u32>(offset) }?;
        let name = format!("{}: {}", self.schema.name, field.name);
        // SAFETY: the caller's promise.
        unsafe { read_array(pointer, count, MAX_COUNT, &name) }
    }

    /// # Safety
    ///
    /// As [`operator`].
    unsafe fn operator(
        &self,
        pointer: *const DML_OPERATOR_DESC,
    ) -> Result<Option<AbstractOperator>> {
        if pointer.is_null() {
            return Ok(None);
        }
        // SAFETY: the caller's promise.
        let desc = unsafe { read(pointer, "DML_OPERATOR_DESC") }?;
        if desc.Type == NO_OPERATOR {
            return Ok(None);
        }
        // SAFETY: the caller's promise.
        unsafe { nested(pointer, self.depth + 1) }.map(Some)
    }

    /// # Safety
    ///
    /// As [`operator`].
    unsafe fn tensor(
        &self,
        pointer: *const DML_TENSOR_DESC,
        path: &str,
    ) -> Result<Option<TensorDesc>> {
        if pointer.is_null() {
            return Ok(None);
        }
        // SAFETY: the caller's promise.
        let desc = unsafe { read(pointer, path) }?;
        // SAFETY: the caller's promise.
        unsafe { self.buffer_tensor(desc, path) }.map(Some)
    }

    /// # Safety
    ///
    /// As [`operator`].
    unsafe fn buffer_tensor(&self, desc: DML_TENSOR_DESC, path: &str) -> Result<TensorDesc> {
        if desc.Type != BUFFER {
            return Err(self.refused(
                path,
                "Type",
                desc.Type,
                "is not a kind of tensor",
                "1 (BUFFER)",
            ));
        }
        if desc.Desc.is_null() {
            return Err(self.refused(
                path,
                "Desc",
                "null",
                "is not a tensor",
                "a DML_BUFFER_TENSOR_DESC",
            ));
        }
        // SAFETY: the caller's promise.
        let desc = unsafe { read(desc.Desc.cast::<DML_BUFFER_TENSOR_DESC>(), path) }?;
        let data_type = DataType::from_dml_value(desc.DataType).ok_or_else(|| {
            self.refused(path, "DataType", desc.DataType, "is not a data type", "1 to 13")
        })?;
        let count = desc.DimensionCount;
        let fits = usize::try_from(count).is_ok_and(|count| count <= MAX_DIMENSION_COUNT);
        if !fits {
            return Err(self.refused(path, "DimensionCount", count, "is too large", "1 to 8"));
        }
        let numbers = |pointer: *const u32, name: &str| {
            let name = format!("{}: {path}.{name}", self.schema.name);
            // SAFETY: the caller's promise; the count was just checked.
            unsafe { read_array(pointer, count, MAX_DIMENSION_COUNT, &name) }
        };
        let strides = (!desc.Strides.is_null()).then(|| numbers(desc.Strides, "Strides"));
        Ok(TensorDesc {
            data_type,
            flags: TensorFlags::from_bits(desc.Flags),
            sizes: numbers(desc.Sizes, "Sizes")?,
            strides: strides.transpose()?,
            total_tensor_size_in_bytes: Some(desc.TotalTensorSizeInBytes),
            guaranteed_base_offset_alignment: desc.GuaranteedBaseOffsetAlignment,
        })
    }

    fn refused(
        &self,
        path: &str,
        member: &str,
        value: impl ToString,
        problem: &str,
        accepted: &str,
    ) -> Failure {
        let field = InvalidField {
            path: format!("{path}.{member}"),
            value: value.to_string(),
            problem: problem.to_owned(),
            accepted: accepted.to_owned(),
        };
        dml::core::Error::Invalid { operator: self.schema.name, field }.into()
    }
}

#[cfg(test)]
mod tests;
