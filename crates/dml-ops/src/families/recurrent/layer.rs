//! Lowers a recurrent layer: RNN, LSTM or GRU.
//!
//! RNN of 2 steps, 3 input elements and 2 hidden elements in FLOAT32:
//!
//! ```text
//! RNN
//!   input 0 = InputTensor FLOAT32 [1, 2, 1, 3]
//!   input 1 = WeightTensor FLOAT32 [1, 1, 2, 3]
//!   input 2 = RecurrenceTensor FLOAT32 [1, 1, 2, 2]
//!   output 1 = OutputSingleTensor FLOAT32 [1, 1, 1, 2]
//!   %0 = 4 elements of 32 bits
//!   %0 = contract input 0 by input 1: batches [1], rows 2, columns [2], depths [3]
//!     64 bytes, 24 operations, 4 invocations
//!   %1 = 4 elements of 32 bits
//!   %1 over [2] = map tanh_f32 (%0)
//!     16 bytes, 2 operations, 2 invocations
//!   %0+2 = contract on from there %1 by input 2: batches [1], rows 1, columns [2], depths [2]
//!     40 bytes, 8 operations, 2 invocations
//!   %1+2 over [2] = map tanh_f32 (%0+2)
//!     16 bytes, 2 operations, 2 invocations
//!   output 1 over [2] = map same (%1+2)
//!     16 bytes, 2 operations, 2 invocations
//! ```
//!
//! A Contract multiplies the whole input by the weights first. Then each step in turn adds the product of the hidden
//! state to its gates' sums, and the cell computes the new state from them. States and sums are in single precision.
//! A sequence that has ended keeps its state. A direction that begins at the end steps through the padding after a
//! sequence without changing its state.

use dml_core::{Error, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::Value;
use dml_spirv::functions as f;

use super::axes::{HIDDEN, SEQUENCES, STEPS, of_strides};
use super::network::{self, Network, flag, functions, threshold, width};
use super::program::CellProgram;
use super::states::States;
use crate::Target;
use crate::families::products::{ProductRecorder, Storage, Words};
use crate::ir::space::{Operand, leading};
use crate::ir::{self, Buffer};
use crate::target::ROWS_WORTH_A_COPY;

/// A cell's computation in a step: it adds the nodes that compute the next states from the states before.
pub(super) type CellFunction = fn(&mut Layer<'_, '_>, &At) -> Result<State, Error>;

/// Weights are read in place.
pub(super) const ROWS: Storage<'_> =
    Storage { innermost: 3, margins: &[], channels: 1, is_copied: false };

/// Gates with peepholes, and the words of a hidden element's packed peepholes.
const PEEPHOLES: u32 = 3;
const PACKED_PEEPHOLES: u32 = 4;

/// The program of a layer with this cell.
pub(super) fn lower(
    operator: &Validated,
    target: &Target<'_>,
    step: CellFunction,
) -> Result<ir::Program, Error> {
    let network = Network::of(operator)?;
    network::check(&network, operator)?;
    let mut products = ProductRecorder::new(operator, target, false);
    // Every step reads the recurrence weights.
    let by_gates = Storage { innermost: 2, is_copied: true, ..ROWS };
    let is_worth_it = network.sequences >= ROWS_WORTH_A_COPY;
    let recurrence = if is_worth_it { &by_gates } else { &ROWS };
    let factors = Factors {
        input: products.factor(["InputTensor", ""], &ROWS)?,
        weight: products.factor(["WeightTensor", ""], &ROWS)?,
        recurrence: products.factor(["RecurrenceTensor", ""], recurrence)?,
    };
    for (direction, is_backward) in (0..).zip(network.directions()) {
        let mut layer = Layer::new(&mut products, network, &factors, direction)?;
        layer.write_masks()?;
        layer.pack_peepholes()?;
        layer.add_up_inputs()?;
        let mut state = layer.first_state()?;
        for time in network.order(*is_backward) {
            state = step(&mut layer, &At { time, before: state })?;
        }
        layer.write_outputs(&state)?;
    }
    Ok(products.recorder.finish())
}

/// The factors of a layer's products.
pub(super) struct Factors {
    pub(super) input: Words,
    pub(super) weight: Words,
    pub(super) recurrence: Words,
}

/// States of every sequence; `None` if they are zeros. Only an LSTM has cell states.
#[derive(Clone, Default)]
pub(super) struct State {
    pub(super) hidden: Option<Operand>,
    pub(super) cell: Option<Operand>,
}

/// A step, and the states before it.
pub(super) struct At {
    pub(super) time: u32,
    pub(super) before: State,
}

/// One direction of a layer.
pub(super) struct Layer<'b, 'a> {
    pub(super) operator: &'a Validated,
    pub(super) direction: u32,
    functions: &'a [Validated],
    threshold: Option<f32>,
    pub(super) network: Network,
    pub(super) products: &'b mut ProductRecorder<'a>,
    pub(super) factors: &'b Factors,
    /// Whether each sequence has each step; `None` if all sequences have all steps.
    pub(super) masks: Option<Operand>,
    peepholes: Option<Buffer>,
    /// Whether the reset gate scales the hidden state's products, not the hidden state: LinearBeforeReset.
    pub(super) is_linear: bool,
    /// The number of sums of a sequence in a step.
    pub(super) width: u32,
    /// The gates' sums of every step.
    pub(super) sums: Operand,
    pub(super) states: States,
}

impl<'b, 'a> Layer<'b, 'a> {
    fn new(
        products: &'b mut ProductRecorder<'a>,
        network: Network,
        factors: &'b Factors,
        direction: u32,
    ) -> Result<Self, Error> {
        let Network { steps, sequences, .. } = network;
        let width = width(&network, products.operator)?;
        let sums = u64::from(steps) * u64::from(sequences) * u64::from(width);
        let kinds = if products.operator.schema().has_field("CellMemInitTensor") { 2 } else { 1 };
        Ok(Self {
            operator: products.operator,
            direction,
            functions: functions(products.operator, direction)?,
            threshold: threshold(products.operator)?,
            network,
            factors,
            masks: None,
            peepholes: None,
            is_linear: flag(products.operator, "LinearBeforeReset")?,
            width,
            sums: products.recorder.temporary(ElementWidth::B32, sums),
            states: States::new(&mut products.recorder, &network, kinds),
            products,
        })
    }

    /// An empty program of the cell.
    pub(super) fn program(&self) -> CellProgram<'a> {
        CellProgram::new(self.functions, self.threshold)
    }

    fn write_masks(&mut self) -> Result<(), Error> {
        let Some((lengths, _)) = self.products.input("SequenceLengthsTensor")? else {
            return Ok(());
        };
        let Network { steps, sequences, .. } = self.network;
        let strides = of_strides([0, lengths.strides[HIDDEN], 0]);
        let mut program = self.program();
        let time = program.read(Operand::numbers(0, of_strides([1, 0, 0])));
        let length = program.read(Operand { strides, ..lengths });
        program.apply(&f::LESS_THAN_U32, [time, length]);
        let count = u64::from(steps) * u64::from(sequences);
        let masks = self.products.recorder.temporary(ElementWidth::B32, count);
        let masks = Operand { strides: of_strides([sequences.into(), 1, 0]), ..masks };
        self.compute([steps, sequences, 1], program, masks.clone())?;
        self.masks = Some(masks);
        Ok(())
    }

    /// The masks of a step: whether each sequence has it.
    pub(super) fn masks_of(&self, time: u32) -> Option<Operand> {
        let masks = self.masks.as_ref()?;
        let base = masks.base + i64::from(time) * masks.strides[STEPS];
        Some(Operand {
            base,
            strides: of_strides([0, masks.strides[SEQUENCES], 0]),
            ..masks.clone()
        })
    }

    /// Copies the weights by which gates depend on the cell state (peepholes) to where those of the first two gates
    /// are one element of 64 bits: a kernel has too few inputs for all of them.
    fn pack_peepholes(&mut self) -> Result<(), Error> {
        let Some((peepholes, data_type)) = self.products.input("PeepholeTensor")? else {
            return Ok(());
        };
        let hidden = self.network.hidden;
        let count = u64::from(hidden) * u64::from(PACKED_PEEPHOLES);
        let recorder = &mut self.products.recorder;
        let packed = recorder.derived(&[&peepholes], ElementWidth::B32, count);
        let mut program = self.program();
        let first = self.bias(&peepholes, 0);
        let of_gates = i64::from(hidden) * first.strides[HIDDEN];
        program.read_as(
            Operand { strides: of_strides([of_gates, 0, first.strides[HIDDEN]]), ..first },
            data_type,
        );
        let strides = of_strides([1, 0, PACKED_PEEPHOLES.into()]);
        self.compute([PEEPHOLES, 1, hidden], program, Operand { strides, ..packed.clone() })?;
        self.peepholes = packed.buffer;
        Ok(())
    }

    /// The weight by which a gate depends on the cell state, as a value of a program.
    pub(super) fn peephole(&self, gate: u32, program: &mut CellProgram<'_>) -> Option<Value> {
        let buffer = self.peepholes?;
        let packed = i64::from(PACKED_PEEPHOLES);
        if gate == PEEPHOLES - 1 {
            let base = i64::from(gate);
            let strides = of_strides([0, 0, packed]);
            return Some(
                program.read(Operand { strides, ..Operand::at(buffer, ElementWidth::B32, base) }),
            );
        }
        let strides = of_strides([0, 0, packed / 2]);
        let both = program.read(Operand { strides, ..Operand::at(buffer, ElementWidth::B64, 0) });
        let word = if gate == 0 { &f::LOW_WORDS } else { &f::HIGH_WORDS };
        Some(program.apply(word, [both]))
    }

    /// Writes the results of a program on elements of steps, sequences and hidden elements.
    pub(super) fn compute(
        &mut self,
        sizes: [u32; 3],
        program: CellProgram<'_>,
        output: Operand,
    ) -> Result<(), Error> {
        program.into_map().record(&mut self.products.recorder, leading(&sizes, 1), output)
    }
}
