//! The buffers of one case as bytes: what is in them before, and where in them the tensors are.

use dml_core::schema::FieldKind;
use dml_core::{TensorFlags, TensorLayout, Validated};

use super::compare::{GUARD, SENTINEL};
use super::{Case, elements_in, input_bytes};

/// Everything that is bound for one case.
#[derive(Clone, Debug)]
pub struct Memory {
    /// One for each input; `None` where an optional one is left out.
    pub inputs: Vec<Option<Input>>,
    /// One for each output; that of an input in place holds the input's bytes.
    pub outputs: Vec<Option<Tensor>>,
}

/// A buffer with a tensor between guards.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Every byte of the buffer before execution.
    pub before: Vec<u8>,
    /// Where the tensor starts, after a guard.
    pub offset: u64,
    /// Its bytes.
    pub size: u64,
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
pub struct After {
    /// One for each input; `None` where it was left out, owned, or is an output.
    pub inputs: Vec<Option<Vec<u8>>>,
    /// One for each output.
    pub outputs: Vec<Option<Vec<u8>>>,
}

impl Tensor {
    fn new(offset: u64, bytes: &[u8]) -> Self {
        let offset = GUARD + offset;
        let guard = |bytes: u64| vec![SENTINEL; usize::try_from(bytes).unwrap_or(usize::MAX)];
        let before = [&guard(offset), bytes, &guard(GUARD)].concat();
        Self { before, offset, size: bytes.len() as u64 }
    }

    fn bytes(&self) -> &[u8] {
        let index = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        &self.before[index(self.offset)..index(self.offset + self.size)]
    }
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
    pub fn new(operator: &Validated, corner: &Case) -> Self {
        let input = |(index, layout): (usize, Option<&TensorLayout>)| {
            let layout = layout?;
            let is_output = corner.in_place && index == 0;
            let offset = if is_output { corner.output_offset } else { corner.input_offset };
            Some(Input {
                tensor: Tensor::new(offset, &input_bytes(corner, index, layout)),
                is_owned: layout.flags().contains(TensorFlags::OWNED_BY_DML),
                is_output,
            })
        };
        let layouts = operator.tensors(FieldKind::Input).map(|(_, layout)| layout);
        let inputs: Vec<Option<Input>> = layouts.enumerate().map(input).collect();
        let output = |(index, layout): (usize, Option<&TensorLayout>)| {
            if let Some(Some(input)) = inputs.get(index).filter(|_| index == 0)
                && input.is_output
            {
                return Some(input.tensor.clone());
            }
            let size = layout?.total_size().next_multiple_of(4);
            let sentinels = vec![SENTINEL; usize::try_from(size).unwrap_or(usize::MAX)];
            Some(Tensor::new(corner.output_offset, &sentinels))
        };
        let layouts = operator.tensors(FieldKind::Output).map(|(_, layout)| layout);
        let outputs = layouts.enumerate().map(output).collect();
        Self { inputs, outputs }
    }

    /// The inputs as the reference takes them.
    pub fn input_elements(&self, operator: &Validated) -> Vec<Option<Vec<u64>>> {
        let layouts = operator.tensors(FieldKind::Input).map(|(_, layout)| layout);
        let inputs = self.inputs.iter().zip(layouts);
        inputs
            .map(|(input, layout)| Some(elements_in(layout?, input.as_ref()?.tensor.bytes())))
            .collect()
    }
}
