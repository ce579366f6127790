//! The outputs of one direction of a layer, written after its last step.

use dml_core::schema::FieldKind;
use dml_core::{DataType, Error, TensorLayout};
use dml_spirv::element_wise::DIMENSIONS;

use super::axes::STEPS;
use super::layer::{Layer, State};
use super::network::Network;
use crate::ir::space::Operand;
use crate::lowering::conversion::conversion;

impl Layer<'_, '_> {
    pub(super) fn write_outputs(&mut self, last: &State) -> Result<(), Error> {
        let operator = self.operator;
        let outputs = self.products.recorder.outputs()?;
        for ((path, tensor), operand) in operator.tensors(FieldKind::Output).zip(outputs) {
            let (Some(tensor), Some(operand)) = (tensor, operand) else { continue };
            match path.field.name {
                "OutputSequenceTensor" => self.write_sequence(tensor, &operand)?,
                "OutputSingleTensor" => self.write_last(last.hidden.as_ref(), tensor, &operand)?,
                _ => self.write_last(last.cell.as_ref(), tensor, &operand)?,
            }
        }
        Ok(())
    }

    /// The part of an output that this direction writes.
    fn output(&self, operand: &Operand, of_direction: usize, of_steps: Option<usize>) -> Operand {
        let base = operand.base + i64::from(self.direction) * operand.strides[of_direction];
        let mut strides = operand.strides;
        strides[STEPS] = of_steps.map_or(0, |at| operand.strides[at]);
        Operand { base, strides: keep_three(strides), ..operand.clone() }
    }

    fn write_sequence(&mut self, tensor: &TensorLayout, operand: &Operand) -> Result<(), Error> {
        let Network { steps, sequences, hidden, .. } = self.network;
        let output = self.output(operand, STEPS, Some(STEPS - 1));
        let mut program = self.program();
        program.read(self.states.hidden());
        if let Some(masks) = &self.masks {
            program.keep_past_end(masks.clone(), None);
        }
        program.convert(conversion(DataType::Float32, tensor.data_type()));
        self.compute([steps, sequences, hidden], program, output)
    }

    fn write_last(
        &mut self,
        state: Option<&Operand>,
        tensor: &TensorLayout,
        operand: &Operand,
    ) -> Result<(), Error> {
        let missing = || Error::internal(self.operator.schema().name, "there is no step");
        let state = state.cloned().ok_or_else(missing)?;
        let Network { sequences, hidden, .. } = self.network;
        let output = self.output(operand, STEPS, None);
        let mut program = self.program();
        program.read(state);
        program.convert(conversion(DataType::Float32, tensor.data_type()));
        self.compute([1, sequences, hidden], program, output)
    }
}

fn keep_three(strides: [i64; DIMENSIONS]) -> [i64; DIMENSIONS] {
    std::array::from_fn(|at| if at < STEPS { 0 } else { strides[at] })
}
