//! One operator or graph on one shape: what it reads, and the bytes that it must leave.

use dml::{CompiledOperator, DataType, Device};

use crate::add::Add;
use crate::band::Band;
use crate::chain::Chain;

/// What is measured in a case.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// DIAGONAL_MATRIX and DIAGONAL_MATRIX1.
    Band(Band),
    /// ELEMENT_WISE_ADD.
    Add(Add),
    /// A graph of element-wise operators.
    Chain(Chain),
}

impl Work {
    /// Compiled for `device`.
    ///
    /// # Errors
    /// The device refuses it, or failed.
    pub(crate) fn compile(&self, device: &Device) -> dml::Result<CompiledOperator> {
        match self {
            Self::Band(band) => device.compile(band.operator()),
            Self::Add(add) => device.compile(add.operator()),
            Self::Chain(chain) => chain.compile(device),
        }
    }

    /// Of the output.
    pub(crate) fn data_type(&self) -> DataType {
        match self {
            Self::Band(band) => band.data_type,
            Self::Add(add) => add.data_type,
            Self::Chain(_) => DataType::Float32,
        }
    }

    /// Of the output.
    pub(crate) fn sizes(&self) -> &[u32] {
        match self {
            Self::Band(band) => &band.sizes,
            Self::Add(add) => &add.sizes,
            Self::Chain(chain) => &chain.sizes,
        }
    }

    /// Bytes of the output without padding, up to a whole word: what a baseline writes.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Band(band) => band.bytes(),
            Self::Add(add) => add.bytes(),
            Self::Chain(chain) => 4 * chain.sizes.iter().map(|it| u64::from(*it)).product::<u64>(),
        }
    }

    /// The bytes of every input. A baseline that copies reads the first.
    pub(crate) fn inputs(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Band(band) if band.has_input => vec![band.input_bytes()],
            Self::Band(_) => vec![],
            Self::Add(add) => add.inputs(),
            Self::Chain(chain) => chain.inputs(),
        }
    }

    /// The bytes of an output buffer of `size` bytes after an execution, up to the last element.
    pub(crate) fn expected(&self, size: u64) -> Vec<u8> {
        match self {
            Self::Band(band) => band.expected(size),
            Self::Add(add) => add.expected(),
            Self::Chain(chain) => chain.expected(),
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

impl From<Chain> for Work {
    fn from(chain: Chain) -> Self {
        Self::Chain(chain)
    }
}
