//! Dense outputs without a kernel: one value in every element, or bytes that are part of a command.

use dml_core::plan::{Fill, Slot, Step, Update};
use dml_spirv::Family;

use crate::element_kernel::words;

/// vkCmdUpdateBuffer takes no more.
pub(crate) const MAX_UPDATE_BYTES: u64 = 64 << 10;

/// Writes the first bytes of the output, in whole words, at most [`MAX_UPDATE_BYTES`].
pub(crate) fn inline(data: Vec<u8>) -> Step {
    Step::Update(Update { slot: Slot::Output(0), offset: 0, data })
}

/// The word that repeats in a dense tensor of `value`; `None` where it takes two different ones.
pub(crate) fn repeated(value: u64, family: Family) -> Option<u32> {
    let [low, high] = words(value);
    match family {
        Family::B8 => Some(low * 0x0101_0101),
        Family::B16 => Some(low * 0x0001_0001),
        Family::B32 => Some(low),
        Family::B64 => (low == high).then_some(low),
    }
}

/// Fills `bytes` of the output. The last word, where the elements cover a part of it, gets zeros
/// behind them.
pub(crate) fn fill(bytes: u64, pattern: u32) -> Vec<Step> {
    let slot = Slot::Output(0);
    let whole = if pattern == 0 { bytes.next_multiple_of(4) } else { bytes - bytes % 4 };
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
