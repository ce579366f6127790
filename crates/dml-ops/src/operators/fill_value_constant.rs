//! FILL_VALUE_CONSTANT: every element becomes Value.
//!
//! Two strategies:
//!
//! - **fill**: the value repeats every 32 bits, and the tensor is dense, so that no padding is
//!   overwritten. Needs transfer usage.
//! - **write**: a kernel writes every element and nothing else, box by box. Up to 8 strides do not fit
//!   the push constants beside the sizes and go into the constant block.

use dml_core::operators::FILL_VALUE_CONSTANT;
use dml_core::plan::{Access, BindingRequirement, Fill, Plan, Slot, Step, Update, Window};
use dml_core::schema::OperatorSchema;
use dml_core::{Error, TensorLayout, Validated};
use dml_spirv::twins::fill_write::{Constants, DIMENSIONS, PushConstants};
use dml_spirv::{Family, kernels};

use crate::boxes::Placement;
use crate::element_kernel::{Dispatches, scalar_bits, words};
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

/// The kernel's dispatches and the constant block.
fn write(
    output: &TensorLayout,
    family: Family,
    value: u64,
    target: &Target<'_>,
) -> Result<(Vec<Step>, Vec<u8>), Error> {
    let variant = kernels::FILL_WRITE.variant(family);
    let strides = padded(output.strides(), 0);
    let constants = Constants { strides }.to_bytes();
    let constants_window = Window {
        slot: Slot::Constants,
        range: 0..constants.len() as u64,
        access: Access::Read,
        base_word_at: PushConstants::CONSTANTS_WORD_AT,
    };
    let placement = Placement { first: 0, strides, element_bytes: family.bytes() };
    let [value_low, value_high] = words(value);
    let mut dispatches = Dispatches::new(FILL_VALUE_CONSTANT.name, "OutputTensor", target);
    for part in dispatches.boxes(padded(output.sizes(), 1), &[placement])? {
        let shown = placement.show(&part);
        let push = PushConstants {
            // A tensor has at most 2^32 - 1 elements.
            count: part.sizes.iter().product(),
            start: shown.start,
            sizes: part.sizes,
            value_low,
            value_high,
            ..Default::default()
        };
        let window = Window {
            slot: Slot::Output(0),
            range: shown.range,
            access: variant.bindings[0].access,
            base_word_at: PushConstants::BASE_WORD_AT,
        };
        let windows = [window, constants_window.clone()];
        dispatches.push(variant, &windows, push.count, |first_group| {
            PushConstants { first_group, ..push }.to_bytes()
        })?;
    }
    Ok((dispatches.into_steps(), constants))
}

/// A value for each dimension, behind as many of `filler` as there is room for.
fn padded(values: &[u32], filler: u32) -> [u32; DIMENSIONS] {
    let mut all = [filler; DIMENSIONS];
    all[DIMENSIONS - values.len()..].copy_from_slice(values);
    all
}
