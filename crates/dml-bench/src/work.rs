//! One operator on one shape: what it reads, and the bytes that it must leave.

use dml::{AbstractOperator, DataType};

use crate::add::Add;
use crate::band::Band;

/// What is measured in a case.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// DIAGONAL_MATRIX and DIAGONAL_MATRIX1.
    Band(Band),
    /// ELEMENT_WISE_ADD.
    Add(Add),
}

impl Work {
    /// As an operator of DirectML.
    pub(crate) fn operator(&self) -> AbstractOperator {
        match self {
            Self::Band(band) => band.operator(),
            Self::Add(add) => add.operator(),
        }
    }

    /// Of the output.
    pub(crate) fn data_type(&self) -> DataType {
        match self {
            Self::Band(band) => band.data_type,
            Self::Add(add) => add.data_type,
        }
    }

    /// Of the output.
    pub(crate) fn sizes(&self) -> &[u32] {
        match self {
            Self::Band(band) => &band.sizes,
            Self::Add(add) => &add.sizes,
        }
    }

    /// Bytes of the output without padding, up to a whole word: what a baseline writes.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Band(band) => band.bytes(),
            Self::Add(add) => add.bytes(),
        }
    }

    /// The bytes of every input. A baseline that copies reads the first.
    pub(crate) fn inputs(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Band(band) if band.has_input => vec![band.input_bytes()],
            Self::Band(_) => vec![],
            Self::Add(add) => add.inputs(),
        }
    }

    /// The bytes of an output buffer of `size` bytes after an execution, up to the last element.
    pub(crate) fn expected(&self, size: u64) -> Vec<u8> {
        match self {
            Self::Band(band) => band.expected(size),
            Self::Add(add) => add.expected(),
        }
    }
}

impl From<Band> for Work {
    fn from(band: Band) -> Self {
        Self::Band(band)
    }
}

impl From<Add> for Work {
    fn from(add: Add) -> Self {
        Self::Add(add)
    }
}
