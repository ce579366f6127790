//! The buffers of a case as bytes: the positions of tensors, the content before execution, and the expected
//! content afterwards.

use std::hash::{DefaultHasher, Hasher as _};
use std::mem;

use dml_core::schema::{Comparison, FieldKind};
use dml_core::{DataType, Numerics, TensorFlags, TensorLayout, Validated};

use super::compare::{flushed, is_subnormal};
use super::elements::input_bytes;
use super::guarded::{Difference, Output, Tensor};
use super::maximum::MaximumError;
use super::{Case, Reference, elements_in};

/// All buffers bound for one case.
#[derive(Clone, Debug)]
pub struct Memory {
    /// One per input; `None` for optional inputs that are left out.
    pub inputs: Vec<Option<Input>>,
    /// One per output; it holds the bytes of the inputs that are in place.
    pub outputs: Vec<Option<Output>>,
}

/// An input and its buffer.
#[derive(Clone, Debug)]
pub struct Input {
    /// The buffer with the tensor.
    pub tensor: Tensor,
    /// Whether the input is OWNED_BY_DML, and bound at initialization only.
    pub is_owned: bool,
    /// The output whose buffer it shares, if it is in place.
    pub output: Option<usize>,
}

/// The bytes of all buffers after execution.
#[derive(Clone, Debug)]
pub struct MemoryAfter {
    /// One per input; `None` if it is left out, owned, or in place.
    pub inputs: Vec<Option<Vec<u8>>>,
    /// One per output.
    pub outputs: Vec<Option<Vec<u8>>>,
}

impl Input {
    /// Whether the input is bound to executions with a buffer of its own, which must not change.
    pub fn is_only_read(&self) -> bool {
        !self.is_owned && self.output.is_none()
    }
}

impl Memory {
    /// The memory for a device with [`Numerics::Exact`].
    ///
    /// # Errors
    /// See [`Self::with_numerics`].
    pub fn new(
        reference: &dyn Reference,
        operator: &Validated,
        case: &Case,
    ) -> Result<Self, String> {
        Self::with_numerics(reference, operator, case, Numerics::Exact)
    }

    /// Inputs hold the case's elements, and outputs hold sentinels. All inputs in place of one output share its
    /// memory, which holds the elements of the first of them. With [`Numerics::Fast`], elements may differ from
    /// the reference by the errors of [`Reference::fast_errors`].
    ///
    /// # Errors
    /// The operator has no reference, or the reference differs from the documentation's printed results.
    pub fn with_numerics(
        reference: &dyn Reference,
        operator: &Validated,
        case: &Case,
        numerics: Numerics,
    ) -> Result<Self, String> {
        let layouts = |kind| operator.tensors(kind).map(|(_, layout)| layout).enumerate();
        let input = |(index, layout): (usize, Option<&TensorLayout>)| {
            let layout = layout?;
            let output = case.output_of(index);
            let offset = if output.is_some() { case.output_offset } else { case.input_offset };
            let is_same = |it: &usize| output.is_some() && case.output_of(*it) == output;
            let first = (0..index).find(is_same).unwrap_or(index);
            let bytes = input_bytes(reference, operator, case, first, layout);
            let tensor = Tensor::guarded(offset, &bytes);
            let is_owned = layout.flags().contains(TensorFlags::OWNED_BY_DML);
            Some(Input { tensor, is_owned, output })
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
        let mut flushed = flushed_outputs(reference, operator, &read)?;
        let mut errors = match numerics {
            Numerics::Exact => None,
            Numerics::Fast => {
                reference.fast_errors(operator, &read).map_err(|error| error.to_string())?
            }
        };
        let output = |((index, layout), elements): ((usize, Option<&TensorLayout>), Vec<u64>)| {
            let layout = layout?.clone();
            let comparison = reference.comparison(operator, layout.data_type());
            let flushed =
                flushed.as_mut().and_then(|flushed| flushed.get_mut(index)).map(mem::take);
            let errors = errors.as_mut().and_then(|error| error.get_mut(index)).map(mem::take);
            let tensor = match inputs.iter().flatten().find(|input| input.output == Some(index)) {
                Some(input) => input.tensor.clone(),
                None => {
                    let size = layout.total_size().next_multiple_of(4);
                    Tensor::unwritten(case.output_offset, size)
                }
            };
            Some(Output { tensor, layout, elements, flushed, errors, comparison })
        };
        let outputs = layouts(FieldKind::Output).zip(expected).map(output).collect();
        Ok(Self { inputs, outputs })
    }

    /// A digest of the elements of all outputs for comparing devices: it is equal for devices that differ only
    /// in NaNs and subnormal FLOAT32 numbers, which Vulkan leaves open. `after` must have passed
    /// [`Memory::check`].
    pub fn digest(&self, after: &MemoryAfter) -> u64 {
        let mut digest = DefaultHasher::new();
        for (output, after) in self.outputs.iter().zip(&after.outputs) {
            if let (Some(output), Some(after)) = (output, after) {
                output.digest(after, &mut digest);
            }
        }
        digest.finish()
    }

    /// The largest errors of the outputs' elements, one for all outputs with the same type and bound. Outputs
    /// that must be exact are left out, as are those that were not read back.
    pub fn maximum_errors(&self, after: &MemoryAfter) -> Vec<MaximumError> {
        let mut errors = Vec::<MaximumError>::new();
        for (output, after) in self.outputs.iter().zip(&after.outputs) {
            let (Some(output), Some(after)) = (output, after) else { continue };
            let Some(error) = output.maximum_error(after) else { continue };
            let is_alike = |it: &&mut MaximumError| {
                (it.data_type, it.allowed) == (error.data_type, error.allowed)
            };
            match errors.iter_mut().find(is_alike) {
                Some(other) => other.merge(error.ulp),
                None => errors.push(error),
            }
        }
        errors
    }

    /// Compares every byte of every buffer with its expected value, including guards and inputs, and returns
    /// the number of bytes.
    ///
    /// # Errors
    /// The first output with an unexpected byte, or an input that was written to.
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

/// The outputs if subnormal inputs are flushed to zero; `None` if that makes no difference, or is not allowed.
fn flushed_outputs(
    reference: &dyn Reference,
    operator: &Validated,
    inputs: &[Option<Vec<u64>>],
) -> Result<Option<Vec<Vec<u64>>>, String> {
    let mut outputs = operator.tensors(FieldKind::Output).filter_map(|(_, layout)| layout);
    let comparison = |layout: &TensorLayout| reference.comparison(operator, layout.data_type());
    if !outputs.any(|layout| matches!(comparison(layout), Comparison::Ulp(_))) {
        return Ok(None);
    }
    // Inputs that are read as integers have no type here.
    let types = operator.tensors(FieldKind::Input).enumerate().map(|(index, (_, layout))| {
        let data_type = layout?.data_type();
        Some(reference.may_flush(operator, index).then_some(data_type))
    });
    let with_types: Vec<_> = types.zip(inputs).map(|(it, input)| it.zip(input.as_ref())).collect();
    let has_subnormal = |(data_type, elements): &(Option<DataType>, &Vec<u64>)| {
        data_type
            .is_some_and(|data_type| elements.iter().any(|bits| is_subnormal(data_type, *bits)))
    };
    if !reference.may_be_subnormal_within(operator)
        && !with_types.iter().flatten().any(has_subnormal)
    {
        return Ok(None);
    }
    let flush = |(data_type, elements): (Option<DataType>, &Vec<u64>)| {
        let of = |bits: &u64| data_type.map_or(*bits, |it| flushed(it, *bits));
        elements.iter().map(of).collect()
    };
    let inputs: Vec<_> = with_types.into_iter().map(|input| input.map(flush)).collect();
    reference.flushed_outputs(operator, &inputs).map(Some).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use dml_core::operators::DIAGONAL_MATRIX1;
    use dml_core::schema::OperatorSchema;
    use dml_core::{AbstractOperator, DataTypeSet, FeatureLevel, TensorDesc, validate};

    use super::*;
    use crate::families::diagonal::cases::band;

    /// The buffers of a band that keeps the first two of three elements and sets the last one to 5, with a
    /// comparison.
    fn memory(comparison: Comparison, inputs: Vec<u64>) -> Memory {
        let tensor = || TensorDesc::packed(DataType::Float32, &[1, 3]);
        let desc: AbstractOperator = band(Some(tensor()), tensor(), 5, (2, 3)).into();
        let comparisons = Vec::leak(vec![(DataTypeSet::ALL, comparison)]);
        let schema = OperatorSchema { comparisons, varied: None, ..DIAGONAL_MATRIX1 };
        let schema: &'static OperatorSchema = Box::leak(Box::new(schema));
        let operator = AbstractOperator::new(schema, desc.fields().to_vec()).unwrap();
        let operator = validate(&operator, FeatureLevel::HIGHEST).unwrap();
        let case = Case::new("a", desc).with_inputs(vec![inputs]);
        let reference = crate::find(DIAGONAL_MATRIX1.operator_type).unwrap();
        Memory::new(reference, &operator, &case).unwrap()
    }

    fn flushed(comparison: Comparison, inputs: Vec<u64>) -> Option<Vec<u64>> {
        memory(comparison, inputs).outputs.into_iter().next().flatten()?.flushed
    }

    /// The digest if the output has these elements.
    fn digest(memory: &Memory, elements: [u32; 3]) -> u64 {
        let mut after = memory.outputs[0].as_ref().unwrap().tensor.before.clone();
        for (element, bytes) in elements.iter().zip(after[256..].chunks_mut(4)) {
            bytes.copy_from_slice(&element.to_le_bytes());
        }
        memory.digest(&MemoryAfter { inputs: vec![], outputs: vec![Some(after)] })
    }

    #[test]
    fn a_digest_leaves_out_what_vulkan_leaves_open_and_nothing_else() {
        let plain = memory(Comparison::Ulp(1), vec![7 << 24, 0x7fc0_0000, 0]);
        let of = |elements| digest(&plain, elements);
        let expected = of([7 << 24, 0x7fc0_0000, 5]);
        assert_eq!(of([7 << 24, 0xff80_0001, 0]), expected, "another NaN, a subnormal as a zero");
        assert_ne!(of([(7 << 24) + 1, 0x7fc0_0000, 5]), expected, "though it is near enough");
        assert_ne!(of([7 << 24, 0x7f80_0000, 5]), expected, "an infinity");
        assert_ne!(of([7 << 24, 0x7fc0_0000, 1 << 31]), expected, "the other zero");
        let mut open = memory(Comparison::Ulp(0), vec![1, 2, 3]);
        let output = open.outputs[0].as_mut().unwrap();
        // If a subnormal input changes a number, both results are left out of the digest.
        output.elements[1] = 7 << 24;
        output.flushed.as_mut().unwrap()[1] = 8 << 24;
        assert_eq!(digest(&open, [1, 7 << 24, 5]), digest(&open, [0, 8 << 24, 5]));
        assert_ne!(digest(&open, [1, 7 << 24, 5]), digest(&open, [0, 8 << 24, 5 << 24]));
    }

    #[test]
    fn the_reference_is_asked_again_only_where_an_input_has_a_subnormal() {
        let exact = Comparison::Ulp(0);
        assert_eq!(flushed(exact, vec![0x8000_0003, 1, 1]), Some(vec![1 << 31, 0, 5]));
        assert_eq!(flushed(exact, vec![0x80_0000, 0, 0x7f80_0001]), None);
        assert_eq!(flushed(Comparison::BitExact, vec![1, 1, 1]), None);
    }
}
