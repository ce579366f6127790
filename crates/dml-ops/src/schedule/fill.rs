//! Tensors with the same value everywhere.
//!
//! A dense tensor is written by an update, by a fill where the value repeats every 32 bits, or by copies of a
//! block where it does not. Without transfer usage a kernel fills it with words. Of any other tensor, and
//! where the value does not repeat, a kernel writes exactly the elements, box by box: up to 8 strides do not
//! fit the push constants beside the sizes, and are in the constant block.

use dml_core::plan::{Access, MAX_UPDATE_BYTES, Slot, Step, Window};
use dml_core::{Error, Strategy, TensorLayout};
use dml_spirv::twins::fill_write::{self, PushConstants};
use dml_spirv::{ElementWidth, kernels};

use super::Schedule;
use super::boxes::Placement;
use super::patterns::{self, repeated};
use super::{cost, seed};
use crate::ir::space::leading;
use crate::ir::{Fill, Stored, low_and_high};
use crate::{Target, TransferUse};

impl Schedule<'_> {
    /// Adds the steps that write a value to all elements.
    ///
    /// # Errors
    /// As [`super::dispatches::Dispatches::push`].
    pub(super) fn fill(&mut self, fill: &Fill) -> Result<(), Error> {
        let Fill { output: Stored { tensor, .. }, width, value } = fill;
        let pattern = repeated(*value, *width);
        self.strategy = choose(tensor, *width, pattern, self.target);
        let bytes = tensor.span() * u64::from(width.bytes());
        let name = self.origin.operator;
        let steps = match self.strategy {
            Strategy::Inline => vec![patterns::inline(content(fill))],
            Strategy::Fill => patterns::fill(bytes, pattern.unwrap_or_default()),
            Strategy::SeedAndCopy => {
                let element = &value.to_le_bytes()[..width.bytes() as usize];
                vec![seed::repeat(element, bytes, self.target.tuning, &mut self.constants)]
            }
            _ => match pattern.filter(|_| tensor.is_dense()) {
                Some(pattern) => patterns::fill_by_kernel(
                    (name, self.origin.field),
                    bytes,
                    pattern,
                    self.target,
                )?,
                None => self.write(fill)?,
            },
        };
        self.extend(self.origin.field, self.between(None, &fill.output, &steps))
    }

    /// The dispatches of the kernel that writes single elements.
    fn write(&mut self, fill: &Fill) -> Result<Vec<Step>, Error> {
        let Fill { output: Stored { tensor, .. }, width, value } = fill;
        let variant = self.target.variant(&kernels::FILL_WRITE, *width);
        let strides = leading(tensor.strides(), 0);
        let constants_window = Window {
            slot: Slot::Constants,
            range: self.constants.add(&fill_write::Constants { strides }.to_bytes()),
            access: Access::Read,
            base_word_at: PushConstants::CONSTANTS_WORD_AT,
        };
        let placement = Placement::in_words(0, strides, width.bits());
        let [value_low, value_high] = low_and_high(*value);
        let mut dispatches = self.dispatches();
        for part in dispatches.boxes(leading(tensor.sizes(), 1), &[placement])? {
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
            let cost = cost::of_writing(push.count, width.bytes());
            dispatches.push(&variant, &windows, &push, cost)?;
        }
        Ok(dispatches.into_steps())
    }
}

/// The preferred strategy if it is possible, else a fill, else copies of a block, or a kernel where that
/// takes too many copies. An inline update takes as many commands as a fill, so there is no special case for
/// small outputs.
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

/// The bytes of a small dense output, with zeros up to the end of the last word.
fn content(fill: &Fill) -> Vec<u8> {
    let count = usize::try_from(fill.output.tensor.span()).expect("a small output");
    let mut bytes = fill.value.to_le_bytes()[..fill.width.bytes() as usize].repeat(count);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}
