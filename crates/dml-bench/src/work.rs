//! One operator or graph on one shape: its inputs, and its expected output.

use dml::{CompiledOperator, DataType, Device};

use crate::band::Band;
use crate::operation::Operation;

/// The operator or graph that a case measures.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// DIAGONAL_MATRIX and DIAGONAL_MATRIX1, whose bytes are made row by row, up to a GiB.
    Band(Band),
    /// Anything else.
    Operation(Operation),
}

impl Work {
    /// Compiles the operator for `device`.
    ///
    /// # Errors
    /// The device refuses it, or failed.
    pub(crate) fn compile(&self, device: &Device) -> dml::Result<CompiledOperator> {
        match self {
            Self::Band(band) => device.compile(band.operator()),
            Self::Operation(operation) => operation.compile(device),
        }
    }

    /// The output's data type.
    pub(crate) fn data_type(&self) -> DataType {
        match self {
            Self::Band(band) => band.data_type,
            Self::Operation(operation) => operation.output().data_type(),
        }
    }

    /// The output's sizes.
    pub(crate) fn sizes(&self) -> &[u32] {
        match self {
            Self::Band(band) => &band.sizes,
            Self::Operation(operation) => operation.output().sizes(),
        }
    }

    /// The sizes of every input.
    pub(crate) fn input_sizes(&self) -> Vec<Vec<u32>> {
        match self {
            Self::Band(band) if band.has_input => vec![band.sizes.clone()],
            Self::Band(_) => vec![],
            Self::Operation(operation) => operation.input_sizes(),
        }
    }

    /// Bytes of the output without padding, rounded up to a word: the number that a baseline writes.
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

    /// The allowed relative error of FLOAT32 elements; 0 if bytes are compared.
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
