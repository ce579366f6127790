//! Where the states of a layer are in memory.

use dml_spirv::ElementWidth;
use dml_spirv::element_wise::QUAD;

use super::axes::of_strides;
use super::network::Network;
use crate::ir::Recorder;
use crate::ir::space::{Operand, SLACK};

/// The states after every step: the hidden state, and in an LSTM the cell state after it, so that one Map can
/// write both.
pub(super) struct States {
    first: Operand,
    /// The elements of one state of all sequences.
    block: u64,
    /// The number of states of a step.
    kinds: u32,
    are_by_sequences: bool,
}

/// A state of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Hidden = 0,
    Cell = 1,
}

impl States {
    pub(super) fn new(recorder: &mut Recorder<'_>, network: &Network, kinds: u32) -> Self {
        let Network { steps, sequences, hidden, .. } = *network;
        let are_by_sequences = are_by_sequences(network);
        let row = if are_by_sequences { sequences.next_multiple_of(QUAD) } else { sequences };
        let block = u64::from(row) * u64::from(hidden);
        let count = u64::from(steps) * u64::from(kinds) * block + slack(are_by_sequences);
        let strides = match are_by_sequences {
            true => of_strides([0, 1, row.into()]),
            false => of_strides([0, hidden.into(), 1]),
        };
        let first = Operand { strides, ..recorder.temporary(ElementWidth::B32, count) };
        Self { first, block, kinds, are_by_sequences }
    }

    /// Whether elements after a row of sequences, up to a quad, may be read.
    pub(super) fn has_slack(&self) -> bool {
        self.are_by_sequences
    }

    /// A state after a step.
    pub(super) fn at(&self, time: u32, kind: Kind) -> Operand {
        let number = u64::from(time) * u64::from(self.kinds) + kind as u64;
        let base = self.first.base + (number * self.block).cast_signed();
        Operand { base, ..self.first.clone() }
    }

    /// The hidden states after every step.
    pub(super) fn hidden(&self) -> Operand {
        let [.., sequence, hidden] = self.first.strides;
        let step = (u64::from(self.kinds) * self.block).cast_signed();
        Operand { strides: of_strides([step, sequence, hidden]), ..self.first.clone() }
    }

    /// Memory for so many states that are no result of a step, one after the other, and their distance.
    pub(super) fn others(&self, recorder: &mut Recorder<'_>, count: u32) -> (Operand, i64) {
        let elements = u64::from(count) * self.block + slack(self.are_by_sequences);
        let strides = self.first.strides;
        let place = Operand { strides, ..recorder.temporary(ElementWidth::B32, elements) };
        (place, self.block.cast_signed())
    }
}

/// Whether sequences are neighbours, as the rows of a product are read that has several.
pub(super) fn are_by_sequences(network: &Network) -> bool {
    network.sequences >= QUAD
}

/// Elements after all states: a quad of a row may begin at its last sequence.
fn slack(are_by_sequences: bool) -> u64 {
    if are_by_sequences { SLACK as u64 } else { 0 }
}
