//! The buffers of one case as bytes: where in them the tensors are, what is in them before, and what
//! must be in them after.

use dml_core::schema::FieldKind;
use dml_core::{TensorFlags, TensorLayout, Validated};

use super::guarded::{Difference, Output, Tensor};
use super::{Case, Reference, elements_in, input_bytes};

/// Everything that is bound for one case.
#[derive(Clone, Debug)]
pub struct Memory {
    /// One for each input; `None` where an optional one is left out.
    pub inputs: Vec<Option<Input>>,
    /// One for each output; that of an input in place holds the input's bytes.
    pub outputs: Vec<Option<Output>>,
}

/// An input.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its buffer.
    pub tensor: Tensor,
    /// OWNED_BY_DML: bound at initialization only.
    pub is_owned: bool,
    /// In place: the buffer is the first output's.
    pub is_output: bool,
}

/// Every byte of the buffers after execution.
#[derive(Clone, Debug)]
pub struct MemoryAfter {
    /// One for each input; `None` where it was left out, owned, or is an output.
    pub inputs: Vec<Option<Vec<u8>>>,
    /// One for each output.
    pub outputs: Vec<Option<Vec<u8>>>,
}

impl Input {
    /// Whether it is bound to executions with a buffer of its own, which must keep its bytes.
    pub fn is_only_read(&self) -> bool {
        !self.is_owned && !self.is_output
    }
}

impl Memory {
    /// Inputs hold what the case says, outputs sentinels; in place the first output is the first
    /// input.
    ///
    /// # Errors
    /// There is no reference of this operator, or it differs from what the documentation prints.
    pub fn new(
        reference: &dyn Reference,
        operator: &Validated,
        case: &Case,
    ) -> Result<Self, String> {
        let layouts = |kind| operator.tensors(kind).map(|(_, layout)| layout).enumerate();
        let input = |(index, layout): (usize, Option<&TensorLayout>)| {
            let layout = layout?;
            let is_output = case.in_place && index == 0;
            let offset = if is_output { case.output_offset } else { case.input_offset };
            let tensor = Tensor::guarded(offset, &input_bytes(case, index, layout));
            let is_owned = layout.flags().contains(TensorFlags::OWNED_BY_DML);
            Some(Input { tensor, is_owned, is_output })
        };
        let inputs: Vec<Option<Input>> = layouts(FieldKind::Input).map(input).collect();
        let elements = |((_, layout), input): ((usize, Option<&TensorLayout>), &Option<Input>)| {
            Some(elements_in(layout?, input.as_ref()?.tensor.bytes()))
        };
        let read: Vec<_> = layouts(FieldKind::Input).zip(&inputs).map(elements).collect();
        let expected = reference.outputs(operator, &read).map_err(|error| error.to_string())?;
        if case.documented.as_ref().is_some_and(|documented| *documented != expected) {
            return Err("the reference differs from what the documentation prints".to_owned());
        }
        let output = |((index, layout), elements): ((usize, Option<&TensorLayout>), Vec<u64>)| {
            let layout = layout?.clone();
            let in_place = inputs.first().and_then(Option::as_ref).filter(|it| it.is_output);
            let tensor = match in_place.filter(|_| index == 0) {
                Some(input) => input.tensor.clone(),
                None => {
                    let size = layout.total_size().next_multiple_of(4);
                    Tensor::unwritten(case.output_offset, size)
                }
            };
            Some(Output { tensor, layout, elements })
        };
        let outputs = layouts(FieldKind::Output).zip(expected).map(output).collect();
        Ok(Self { inputs, outputs })
    }

    /// Compares every byte of every buffer with what it must be, guards and inputs included, and
    /// returns how many there were.
    ///
    /// # Errors
    /// The first output that is not as it must be, or an input that was written to.
    pub fn check(&self, after: &MemoryAfter) -> Result<u64, Difference> {
        let mut bytes = 0;
        for (index, output) in self.outputs.iter().enumerate() {
            let Some(output) = output else { continue };
            let after = after.outputs.get(index).and_then(Option::as_ref);
            let after = after.ok_or_else(|| format!("output {index}: was not read back"))?;
            output.check(after).map_err(|found| found.in_output(index))?;
            bytes += after.len() as u64;
        }
        for (index, (input, after)) in self.inputs.iter().zip(&after.inputs).enumerate() {
            let Some(input) = input.as_ref().filter(|input| input.is_only_read()) else { continue };
            if after.as_ref() != Some(&input.tensor.before) {
                return Err(format!("input {index} was written to").into());
            }
            bytes += input.tensor.before.len() as u64;
        }
        Ok(bytes)
    }
}
