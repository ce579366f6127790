//! The functions of an operator by the types that it computes with.

use dml_core::DataType;
use dml_spirv::functions::Function;

/// The functions that compute the same on elements of different types; none where the operator has no
/// such types.
#[derive(Clone, Copy)]
pub(super) struct Functions {
    /// For floats of up to 32 bits.
    pub(super) f32: Option<&'static Function>,
    /// For integers of up to 32 bits, with a sign and without.
    pub(super) i32: Option<&'static Function>,
    pub(super) u32: Option<&'static Function>,
    /// For a first operand without a sign and a last one with it, where that is another function.
    pub(super) u32_i32: Option<&'static Function>,
    /// For those of 64 bits.
    pub(super) i64: Option<&'static Function>,
    pub(super) u64: Option<&'static Function>,
    /// For the bits of any type, of up to 32 and of 64: in place of all of the above.
    pub(super) word: Option<&'static Function>,
    pub(super) wide: Option<&'static Function>,
    /// On the four integers of 8 bits in a word, or the two of 16: faster where there is one.
    pub(super) in_bytes: Option<&'static Function>,
    pub(super) in_halves: Option<&'static Function>,
    /// Whether they give integers without a sign, whatever they take.
    pub(super) give_integers: bool,
    /// Whether they take single precision and give it, whatever the types of the tensors.
    pub(super) in_single: bool,
}

impl Functions {
    /// Elements as they are.
    pub(super) const NONE: Self = Self {
        f32: None,
        i32: None,
        u32: None,
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

    /// Whether there is no function for anything.
    pub(super) fn are_none(&self) -> bool {
        !self.take_bits() && DataType::ALL.iter().all(|it| self.of(*it).is_none())
    }

    /// Whether they are the same for all types of one width.
    pub(super) fn take_bits(&self) -> bool {
        self.word.is_some() || self.wide.is_some()
    }

    /// Whether the last operand's type decides: what a condition chooses from follows it, and so does an
    /// exponent.
    pub(super) fn follow_last(&self) -> bool {
        self.take_bits() || self.u32_i32.is_some()
    }

    /// The one that computes with elements of `data_type`.
    pub(super) fn of(&self, data_type: DataType) -> Option<&'static Function> {
        if self.take_bits() {
            return if data_type.bits() == 64 { self.wide } else { self.word };
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

    /// The one that computes with a first operand of the type `first` and others of `last`.
    pub(super) fn of_both(&self, first: DataType, last: DataType) -> Option<&'static Function> {
        let is_mixed = self.of(first).is_some_and(|it| Some(it) == self.u32)
            && self.of(last).is_some_and(|it| Some(it) == self.i32);
        self.u32_i32.filter(|_| is_mixed).or_else(|| self.of(last))
    }

    /// The one that computes with several elements of `data_type` in a word.
    pub(super) fn packed(&self, data_type: DataType) -> Option<&'static Function> {
        match data_type {
            DataType::Int8 | DataType::Uint8 => self.in_bytes,
            DataType::Int16 | DataType::Uint16 => self.in_halves,
            _ => None,
        }
    }
}
