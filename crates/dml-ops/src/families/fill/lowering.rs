//! How FILL_VALUE_CONSTANT is executed.
//!
//! A dense tensor is an update, a fill where the value repeats every 32 bits, or copies of a block
//! where it does not. Without transfer usage a kernel fills it with words. Of any other tensor, and
//! where the value does not repeat, a kernel writes every element and nothing else, box by box: up to
//! 8 strides do not fit the push constants beside the sizes and go into the constant block.

use dml_core::operators::FILL_VALUE_CONSTANT;
use dml_core::plan::{Access, BindingRequirement, MAX_UPDATE_BYTES, Plan, Slot, Step, Window};
use dml_core::{Error, Strategy, TensorLayout, Validated};
use dml_spirv::twins::fill_write::{self, DIMENSIONS, PushConstants};
use dml_spirv::{ElementWidth, kernels};

use crate::schedule::boxes::Placement;
use crate::schedule::constants::Constants;
use crate::schedule::cost;
use crate::schedule::dispatches::{Dispatches, scalar_bits, words};
use crate::schedule::fill::{fill, fill_by_kernel, inline, repeated};
use crate::schedule::seed;
use crate::{Target, TransferUse};

pub(super) fn lower(operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
    let output = operator.required_tensor("OutputTensor")?;
    let value = scalar_bits(operator.scalar("Value")?, output.data_type());
    let bits = output.data_type().bits();
    let element_width = ElementWidth::from_element_bits(bits).ok_or_else(|| Error::Internal {
        operator: FILL_VALUE_CONSTANT.name,
        problem: format!("no kernel moves elements of {}", output.data_type()),
    })?;
    let pattern = repeated(value, element_width);
    let strategy = choose(output, element_width, pattern, target);
    let bytes = output.span() * u64::from(element_width.bytes());
    let mut constants = Constants::default();
    let exec = match strategy {
        Strategy::Inline => vec![inline(content(value, element_width, output))],
        Strategy::Fill => fill(bytes, pattern.unwrap_or_default()),
        Strategy::SeedAndCopy => {
            let element = &value.to_le_bytes()[..element_width.bytes() as usize];
            vec![seed::repeat(element, bytes, target.tuning, &mut constants)]
        }
        _ => match pattern.filter(|_| output.is_dense()) {
            Some(pattern) => fill_by_kernel(FILL_VALUE_CONSTANT.name, bytes, pattern, target)?,
            None => write(output, element_width, value, target, &mut constants)?,
        },
    };
    Ok(Plan {
        operator: FILL_VALUE_CONSTANT.name,
        strategy,
        inputs: vec![],
        outputs: vec![Some(BindingRequirement::of("OutputTensor", output))],
        init: vec![],
        exec,
        in_place: vec![],
        temporary_size: 0,
        persistent_size: 0,
        constants: constants.bytes,
    })
}

/// The preferred strategy where it can serve, else a fill, else the block that repeats, or a kernel where that takes
/// too many copies. Inline, an
/// output takes no fewer commands than filled, so small ones are not told apart.
fn choose(
    output: &TensorLayout,
    element_width: ElementWidth,
    pattern: Option<u32>,
    target: &Target<'_>,
) -> Strategy {
    if target.transfer == TransferUse::StorageOnly || !output.is_dense() {
        return Strategy::Kernel;
    }
    let serves = |strategy: &Strategy| match strategy {
        Strategy::Inline => output.minimum_size() <= MAX_UPDATE_BYTES,
        Strategy::Fill => pattern.is_some(),
        Strategy::SeedAndCopy | Strategy::Kernel => true,
        _ => false,
    };
    let tuning = target.tuning;
    let copies = || seed::regions(element_width.bytes().into(), output.minimum_size(), tuning);
    let default = match pattern {
        Some(_) => Strategy::Fill,
        None if copies() <= tuning.most_regions.into() => Strategy::SeedAndCopy,
        None => Strategy::Kernel,
    };
    tuning.strategy.filter(serves).unwrap_or(default)
}

/// Every element of a small dense output, with zeros up to the end of the last word.
fn content(value: u64, element_width: ElementWidth, output: &TensorLayout) -> Vec<u8> {
    let count = usize::try_from(output.span()).expect("a small output");
    let mut bytes = value.to_le_bytes()[..element_width.bytes() as usize].repeat(count);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The kernel's dispatches.
fn write(
    output: &TensorLayout,
    element_width: ElementWidth,
    value: u64,
    target: &Target<'_>,
    constants: &mut Constants,
) -> Result<Vec<Step>, Error> {
    let variant = target.variant(&kernels::FILL_WRITE, element_width);
    let strides = padded(output.strides(), 0);
    let constants_window = Window {
        slot: Slot::Constants,
        range: constants.add(&fill_write::Constants { strides }.to_bytes()),
        access: Access::Read,
        base_word_at: PushConstants::CONSTANTS_WORD_AT,
    };
    let placement = Placement::in_words(0, strides, element_width.bytes());
    let [value_low, value_high] = words(value);
    let mut dispatches = Dispatches::new(FILL_VALUE_CONSTANT.name, "OutputTensor", target);
    for part in dispatches.boxes(padded(output.sizes(), 1), &[placement])? {
        let view = placement.view(&part);
        let push = PushConstants {
            // A tensor has at most 2^32 - 1 elements.
            count: part.sizes.iter().product(),
            start: view.start,
            sizes: part.sizes,
            value_low,
            value_high,
            ..Default::default()
        };
        let window = Window {
            slot: Slot::Output(0),
            range: view.range,
            access: variant.bindings[0].access,
            base_word_at: PushConstants::BASE_WORD_AT,
        };
        let windows = [window, constants_window.clone()];
        let cost = cost::of_writing(push.count, element_width.bytes());
        dispatches.push(variant, &windows, &push, cost)?;
    }
    Ok(dispatches.into_steps())
}

/// A value for each dimension, after as many of `filler` as there is room for.
fn padded(values: &[u32], filler: u32) -> [u32; DIMENSIONS] {
    let mut all = [filler; DIMENSIONS];
    all[DIMENSIONS - values.len()..].copy_from_slice(values);
    all
}
