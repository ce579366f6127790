//! Conversions from elements of one type to elements of another, as chains of functions.
//!
//! Every chain rounds at most once: a value that is converted to FLOAT16 by way of FLOAT32 is either exact in
//! FLOAT32, or beyond the largest FLOAT16 in both.

use dml_core::DataType;
use dml_spirv::functions::{self as f, Function};

/// The representation in which elements of a type are computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    F16,
    F32,
    F64,
    /// A signed or an unsigned integer of up to 32 bits, with its number of bits.
    Signed(u32),
    Unsigned(u32),
    I64,
    U64,
}

impl Class {
    fn of(data_type: DataType) -> Self {
        match data_type {
            DataType::Float16 => Self::F16,
            DataType::Float32 => Self::F32,
            DataType::Float64 => Self::F64,
            DataType::Int64 => Self::I64,
            DataType::Uint64 => Self::U64,
            DataType::Int4 | DataType::Int8 | DataType::Int16 | DataType::Int32 => {
                Self::Signed(data_type.bits())
            }
            _ => Self::Unsigned(data_type.bits()),
        }
    }
}

type Chain = Vec<&'static Function>;

/// The functions that convert elements of `from` to elements of `to`, in order. Floats are rounded to
/// nearest; floats that become integers are truncated towards 0 and saturate, and NaN becomes 0; integers
/// that become integers wrap around.
pub(crate) fn conversion(from: DataType, to: DataType) -> Chain {
    if from == to {
        return vec![];
    }
    match (Class::of(from), Class::of(to)) {
        (Class::F16, to) => [vec![&f::F16_TO_F32], from_f32(to)].concat(),
        (Class::F32, to) => from_f32(to),
        (Class::F64, to) => from_f64(to),
        (Class::I64 | Class::U64, Class::I64 | Class::U64) => vec![],
        (Class::I64 | Class::U64, Class::Signed(_) | Class::Unsigned(_)) => vec![&f::LOW_WORDS],
        (Class::I64, Class::F64) => vec![&f::I64_TO_F64],
        (Class::U64, Class::F64) => vec![&f::U64_TO_F64],
        (Class::I64, to) => [vec![&f::I64_TO_F32], from_f32(to)].concat(),
        (Class::U64, to) => [vec![&f::U64_TO_F32], from_f32(to)].concat(),
        (Class::Signed(bits), to) => [sign_extended(bits), from_i32(to)].concat(),
        (Class::Unsigned(_), to) => from_u32(to),
    }
}

/// The functions that convert loaded elements of `data_type` for computations: FLOAT16 to FLOAT32, and narrower
/// integers to 32 bits.
pub(crate) fn widened(data_type: DataType) -> Chain {
    match Class::of(data_type) {
        Class::F16 => vec![&f::F16_TO_F32],
        Class::Signed(bits) => sign_extended(bits),
        _ => vec![],
    }
}

/// The reverse conversion: FLOAT32 is rounded to the nearest FLOAT16; a store drops the upper bits of integers.
pub(crate) fn narrowed(data_type: DataType) -> Chain {
    match Class::of(data_type) {
        Class::F16 => vec![&f::F32_TO_F16],
        _ => vec![],
    }
}

fn sign_extended(bits: u32) -> Chain {
    match bits {
        4 => vec![&f::SIGN_EXTEND_4],
        8 => vec![&f::SIGN_EXTEND_8],
        16 => vec![&f::SIGN_EXTEND_16],
        _ => vec![],
    }
}

fn from_f32(to: Class) -> Chain {
    match to {
        Class::F16 => vec![&f::F32_TO_F16],
        Class::F32 => vec![],
        Class::F64 => vec![&f::F32_TO_F64],
        Class::I64 => vec![&f::F32_TO_I64],
        Class::U64 => vec![&f::F32_TO_U64],
        Class::Signed(bits) => [vec![&f::F32_TO_I32], clamped_i32(bits)].concat(),
        Class::Unsigned(bits) => [vec![&f::F32_TO_U32], clamped_u32(bits)].concat(),
    }
}

fn from_f64(to: Class) -> Chain {
    match to {
        Class::F16 => vec![&f::F64_TO_F16],
        Class::F32 => vec![&f::F64_TO_F32],
        Class::F64 => vec![],
        Class::I64 => vec![&f::F64_TO_I64],
        Class::U64 => vec![&f::F64_TO_U64],
        Class::Signed(bits) => [vec![&f::F64_TO_I32], clamped_i32(bits)].concat(),
        Class::Unsigned(bits) => [vec![&f::F64_TO_U32], clamped_u32(bits)].concat(),
    }
}

fn from_i32(to: Class) -> Chain {
    match to {
        Class::F16 => vec![&f::I32_TO_F32, &f::F32_TO_F16],
        Class::F32 => vec![&f::I32_TO_F32],
        Class::F64 => vec![&f::I32_TO_F64],
        Class::I64 | Class::U64 => vec![&f::I32_TO_I64],
        Class::Signed(_) | Class::Unsigned(_) => vec![],
    }
}

fn from_u32(to: Class) -> Chain {
    match to {
        Class::F16 => vec![&f::U32_TO_F32, &f::F32_TO_F16],
        Class::F32 => vec![&f::U32_TO_F32],
        Class::F64 => vec![&f::U32_TO_F64],
        Class::I64 | Class::U64 => vec![&f::U32_TO_U64],
        Class::Signed(_) | Class::Unsigned(_) => vec![],
    }
}

fn clamped_i32(bits: u32) -> Chain {
    match bits {
        4 => vec![&f::CLAMP_I4],
        8 => vec![&f::CLAMP_I8],
        16 => vec![&f::CLAMP_I16],
        _ => vec![],
    }
}

fn clamped_u32(bits: u32) -> Chain {
    match bits {
        4 => vec![&f::CLAMP_U4],
        8 => vec![&f::CLAMP_U8],
        16 => vec![&f::CLAMP_U16],
        _ => vec![],
    }
}
