//! One operator on one shape: what it reads, and the bytes that it must leave.

use dml::{AbstractOperator, DataType};

use crate::band::Band;

/// What is measured in a case.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// DIAGONAL_MATRIX and DIAGONAL_MATRIX1.
    Band(Band),
}

impl Work {
    /// As an operator of DirectML.
    pub(crate) fn operator(&self) -> AbstractOperator {
        match self {
            Self::Band(band) => band.operator(),
        }
    }

    /// Of the output.
    pub(crate) fn data_type(&self) -> DataType {
        match self {
            Self::Band(band) => band.data_type,
        }
    }

    /// Of the output.
    pub(crate) fn sizes(&self) -> &[u32] {
        match self {
            Self::Band(band) => &band.sizes,
        }
    }

    /// Bytes of the output without padding, up to a whole word: what a baseline writes.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Band(band) => band.bytes(),
        }
    }

    /// The bytes of every input. A baseline that copies reads the first.
    pub(crate) fn inputs(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Band(band) if band.has_input => vec![band.input_bytes()],
            Self::Band(_) => vec![],
        }
    }

    /// The bytes of an output buffer of `size` bytes after an execution, up to the last element.
    pub(crate) fn expected(&self, size: u64) -> Vec<u8> {
        match self {
            Self::Band(band) => band.expected(size),
        }
    }
}

impl From<Band> for Work {
    fn from(band: Band) -> Self {
        Self::Band(band)
    }
}
