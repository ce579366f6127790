//! FILL_VALUE_CONSTANT: every element becomes Value.
//!
//! Two strategies:
//!
//! - **fill**: the value repeats every 32 bits, and the tensor is dense, so that no padding is
//!   overwritten. Needs transfer usage.
//! - **write**: a kernel writes every element and nothing else. Up to 8 sizes and strides do not fit
//!   the push constants and go into the constant block.

use dml_core::operators::FILL_VALUE_CONSTANT;
use dml_core::plan::{Access, BindingRequirement, Fill, Plan, Slot, Step, Update, Window};
use dml_core::schema::OperatorSchema;
use dml_core::{Error, TensorLayout, Validated};
use dml_spirv::twins::fill_write::{Constants, DIMENSIONS, PushConstants};
use dml_spirv::{Family, kernels};

use crate::element_kernel::{ElementKernel, scalar_bits, words};
use crate::{Operator, Target, TransferUse};

#[cfg(feature = "reference")]
mod reference;
#[cfg(test)]
mod tests;

/// The operator's implementation.
pub(crate) struct FillValueConstant;

impl Operator for FillValueConstant {
    fn schema(&self) -> &'static OperatorSchema {
        &FILL_VALUE_CONSTANT
    }

    fn lower(&self, operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
        let output = operator.required_tensor("OutputTensor")?;
        let value = scalar_bits(operator.scalar("Value")?, output.data_type());
        let bits = output.data_type().bits();
        let family = Family::from_element_bits(bits).ok_or_else(|| Error::Internal {
            operator: FILL_VALUE_CONSTANT.name,
            problem: format!("no kernel family for {}", output.data_type()),
        })?;
        let may_fill = target.transfer == TransferUse::Allowed && output.is_dense();
        let (exec, constants) = match repeated(value, family).filter(|_| may_fill) {
            Some(pattern) => (fill(output, pattern), vec![]),
            None => write(output, family, value, target)?,
        };
        Ok(Plan {
            operator: FILL_VALUE_CONSTANT.name,
            inputs: vec![],
            outputs: vec![Some(BindingRequirement::of("OutputTensor", output))],
            init: vec![],
            exec,
            in_place: None,
            temporary_size: 0,
            persistent_size: 0,
            constants,
        })
    }

    #[cfg(feature = "reference")]
    fn reference(&self) -> &'static dyn crate::reference::Reference {
        &reference::FillValueConstantReference
    }
}

/// The word that repeats in a dense tensor of `value`; `None` where it takes two different ones.
fn repeated(value: u64, family: Family) -> Option<u32> {
    let [low, high] = words(value);
    match family {
        Family::B8 => Some(low * 0x0101_0101),
        Family::B16 => Some(low * 0x0001_0001),
        Family::B32 => Some(low),
        Family::B64 => (low == high).then_some(low),
    }
}

/// Fills whole words. The last word, where the tensor covers a part of it, gets zeros behind the
/// elements.
fn fill(output: &TensorLayout, pattern: u32) -> Vec<Step> {
    let slot = Slot::Output(0);
    let bytes = output.span() * u64::from(output.data_type().bits() / 8);
    let whole = bytes - bytes % 4;
    let mut steps = Vec::new();
    if whole > 0 {
        steps.push(Step::Fill(Fill { slot, range: 0..whole, pattern }));
    }
    if whole < bytes {
        let mut data = pattern.to_le_bytes();
        for (at, byte) in (whole..).zip(&mut data) {
            if at >= bytes {
                *byte = 0;
            }
        }
        steps.push(Step::Update(Update { slot, offset: whole, data: data.to_vec() }));
    }
    steps
}

fn write(
    output: &TensorLayout,
    family: Family,
    value: u64,
    target: &Target<'_>,
) -> Result<(Vec<Step>, Vec<u8>), Error> {
    let constants = dimensions(output).to_bytes();
    let variant = kernels::FILL_WRITE.variant(family);
    let window =
        |slot, bytes, access, base_word_at| Window { slot, range: 0..bytes, access, base_word_at };
    let output_access = variant.bindings[0].access;
    let output_bytes = output.minimum_size();
    let constants_bytes = constants.len() as u64;
    let base_word_at = PushConstants::BASE_WORD_AT;
    let constants_word_at = PushConstants::CONSTANTS_WORD_AT;
    let windows = vec![
        ("OutputTensor", window(Slot::Output(0), output_bytes, output_access, base_word_at)),
        ("OutputTensor", window(Slot::Constants, constants_bytes, Access::Read, constants_word_at)),
    ];
    let count = u32::try_from(output.element_count()).map_err(|_| Error::Internal {
        operator: FILL_VALUE_CONSTANT.name,
        problem: "more than 2^32 - 1 elements".to_owned(),
    })?;
    let [value_low, value_high] = words(value);
    let push = PushConstants { count, value_low, value_high, ..Default::default() };
    let kernel = ElementKernel { operator: FILL_VALUE_CONSTANT.name, variant, windows, count };
    let steps = kernel
        .dispatches(target, |first_group| PushConstants { first_group, ..push }.to_bytes())?;
    Ok((steps, constants))
}

/// The tensor's dimensions, behind as many of size 1 as there is room for.
fn dimensions(output: &TensorLayout) -> Constants {
    let mut constants = Constants { sizes: [1; DIMENSIONS], strides: [0; DIMENSIONS] };
    let (sizes, strides) = (output.sizes(), output.strides());
    let first = DIMENSIONS - sizes.len();
    constants.sizes[first..].copy_from_slice(sizes);
    constants.strides[first..].copy_from_slice(strides);
    constants
}
