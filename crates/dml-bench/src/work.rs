//! One operator or graph on one shape: what it reads, and the bytes that it must leave.

use dml::{CompiledOperator, DataType, Device};

use crate::band::Band;
use crate::operation::Operation;

/// What is measured in a case.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// DIAGONAL_MATRIX and DIAGONAL_MATRIX1, whose bytes are made row by row: these may be a GiB.
    Band(Band),
    /// Anything else.
    Operation(Operation),
}

impl Work {
    /// Compiled for `device`.
    ///
    /// # Errors
    /// The device refuses it, or failed.
    pub(crate) fn compile(&self, device: &Device) -> dml::Result<CompiledOperator> {
        match self {
            Self::Band(band) => device.compile(band.operator()),
            Self::Operation(operation) => operation.compile(device),
        }
    }

    /// Of the output.
    pub(crate) fn data_type(&self) -> DataType {
        match self {
            Self::Band(band) => band.data_type,
            Self::Operation(operation) => operation.output().data_type(),
        }
    }

    /// Of the output.
    pub(crate) fn sizes(&self) -> &[u32] {
        match self {
            Self::Band(band) => &band.sizes,
            Self::Operation(operation) => operation.output().sizes(),
        }
    }

    /// Of every input.
    pub(crate) fn input_sizes(&self) -> Vec<Vec<u32>> {
        match self {
            Self::Band(band) if band.has_input => vec![band.sizes.clone()],
            Self::Band(_) => vec![],
            Self::Operation(operation) => operation.input_sizes(),
        }
    }

    /// Bytes of the output without padding, up to a whole word: what a baseline writes.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Band(band) => band.bytes(),
            Self::Operation(operation) => operation.bytes(),
        }
    }

    /// The bytes of every input. A baseline that copies reads the first.
    pub(crate) fn inputs(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Band(band) if band.has_input => vec![band.input_bytes()],
            Self::Band(_) => vec![],
            Self::Operation(operation) => operation.inputs(),
        }
    }

    /// The bytes of an output buffer of `size` bytes after an execution, up to the last element.
    pub(crate) fn expected(&self, size: u64) -> Vec<u8> {
        match self {
            Self::Band(band) => band.expected(size),
            Self::Operation(operation) => operation.expected(),
        }
    }

    /// How far elements, of FLOAT32, may be from what is expected, in their own size; 0 where bytes are
    /// compared.
    pub(crate) fn tolerance(&self) -> f32 {
        match self {
            Self::Band(_) => 0.0,
            Self::Operation(operation) => operation.tolerance,
        }
    }
}

impl From<Band> for Work {
    fn from(band: Band) -> Self {
        Self::Band(band)
    }
}

impl From<Operation> for Work {
    fn from(operation: Operation) -> Self {
        Self::Operation(operation)
    }
}
