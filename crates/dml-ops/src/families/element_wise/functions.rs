//! The functions of an operator by the types that it computes with.

use dml_core::DataType;
use dml_spirv::functions::Function;

/// Functions that compute the same operation on elements of different types; `None` where the operator does
/// not support the types.
#[derive(Clone, Copy)]
pub(super) struct Functions {
    /// For floats of up to 32 bits.
    pub(super) f32: Option<&'static Function>,
    /// For signed and unsigned integers of up to 32 bits.
    pub(super) i32: Option<&'static Function>,
    pub(super) u32: Option<&'static Function>,
    /// For signed and unsigned integers of up to 16 bits, instead of those of up to 32.
    pub(super) small: Option<&'static Function>,
    /// For an unsigned first operand and a signed last operand, where these need a function of their own.
    pub(super) u32_i32: Option<&'static Function>,
    /// For signed and unsigned integers of 64 bits.
    pub(super) i64: Option<&'static Function>,
    pub(super) u64: Option<&'static Function>,
    /// For the bits of any type, of up to 32 bits and of 64 bits: instead of all of the above.
    pub(super) word: Option<&'static Function>,
    pub(super) wide: Option<&'static Function>,
    /// For the four 8-bit or two 16-bit integers of a word at once, where such a function is faster.
    pub(super) in_bytes: Option<&'static Function>,
    pub(super) in_halves: Option<&'static Function>,
    /// Whether the functions return unsigned integers, whatever types they take.
    pub(super) give_integers: bool,
    /// Whether the functions take and return FLOAT32, whatever the types of the tensors.
    pub(super) in_single: bool,
}

impl Functions {
    /// No functions.
    pub(super) const NONE: Self = Self {
        f32: None,
        i32: None,
        u32: None,
        small: None,
        u32_i32: None,
        i64: None,
        u64: None,
        word: None,
        wide: None,
        in_bytes: None,
        in_halves: None,
        give_integers: false,
        in_single: false,
    };

    /// Whether there is no function for any type.
    pub(super) fn are_none(&self) -> bool {
        !self.take_bits() && DataType::ALL.iter().all(|it| self.of(*it).is_none())
    }

    /// Whether the functions take the bits of an element, of any type.
    pub(super) fn take_bits(&self) -> bool {
        self.word.is_some() || self.wide.is_some()
    }

    /// Whether the last operand's type selects the function: the values that a condition chooses from are
    /// last, and so is an exponent.
    pub(super) fn follow_last(&self) -> bool {
        self.take_bits() || self.u32_i32.is_some()
    }

    /// The function that computes with elements of `data_type`.
    pub(super) fn of(&self, data_type: DataType) -> Option<&'static Function> {
        if self.take_bits() {
            return if data_type.bits() == 64 { self.wide } else { self.word };
        }
        if let Some(small) = self.small
            && data_type.integer_range().is_some()
            && data_type.bits() <= 16
        {
            return Some(small);
        }
        match data_type {
            DataType::Float16 | DataType::Float32 => self.f32,
            DataType::Int8 | DataType::Int16 | DataType::Int32 => self.i32,
            DataType::Uint8 | DataType::Uint16 | DataType::Uint32 => self.u32,
            DataType::Int64 => self.i64,
            DataType::Uint64 => self.u64,
            DataType::Float64 | DataType::Uint4 | DataType::Int4 => None,
        }
    }

    /// The function that computes with a first operand of type `first` and others of type `last`.
    pub(super) fn of_both(&self, first: DataType, last: DataType) -> Option<&'static Function> {
        let is_mixed = self.of(first).is_some_and(|it| Some(it) == self.u32)
            && self.of(last).is_some_and(|it| Some(it) == self.i32);
        self.u32_i32.filter(|_| is_mixed).or_else(|| self.of(last))
    }

    /// The function that computes with several elements of `data_type` in a word.
    pub(super) fn packed(&self, data_type: DataType) -> Option<&'static Function> {
        match data_type {
            DataType::Int8 | DataType::Uint8 => self.in_bytes,
            DataType::Int16 | DataType::Uint16 => self.in_halves,
            _ => None,
        }
    }
}
