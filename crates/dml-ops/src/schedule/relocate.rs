//! Moves the reads and writes of steps: to other offsets, and to other slots.

use std::ops::Range;

use dml_core::plan::{Copy, CopyRegion, Slot, Step};

/// A slot, and a byte offset in it.
pub(crate) type SlotOffset = (Slot, u64);

/// The slots that a step reads.
pub(crate) fn read(step: &Step) -> impl Iterator<Item = Slot> {
    let (windows, source) = match step {
        Step::Dispatch(dispatch) => (dispatch.windows.as_slice(), None),
        Step::Copy(copy) => (&[][..], Some(copy.source)),
        Step::Fill(_) | Step::Update(_) => (&[][..], None),
    };
    windows.iter().map(|window| window.slot).chain(source)
}

/// The step with its slots and offsets mapped by `place`, which moves parts of slots as a whole, by multiples
/// of 16 bytes.
pub(crate) fn relocated(step: Step, place: &impl Fn(Slot, u64) -> SlotOffset) -> Step {
    let moved = |slot, range: &Range<u64>| {
        let (slot, start) = place(slot, range.start);
        (slot, start..start + (range.end - range.start))
    };
    match step {
        Step::Fill(fill) => {
            let (slot, range) = moved(fill.slot, &fill.range);
            Step::Fill(dml_core::plan::Fill { slot, range, ..fill })
        }
        Step::Update(update) => {
            let (slot, offset) = place(update.slot, update.offset);
            Step::Update(dml_core::plan::Update { slot, offset, ..update })
        }
        Step::Copy(copy) => {
            let region = |region: CopyRegion| CopyRegion {
                source_offset: place(copy.source, region.source_offset).1,
                destination_offset: place(copy.destination, region.destination_offset).1,
                ..region
            };
            Step::Copy(Copy {
                source: place(copy.source, 0).0,
                destination: place(copy.destination, 0).0,
                regions: copy.regions.into_iter().map(region).collect(),
            })
        }
        Step::Dispatch(mut dispatch) => {
            for window in &mut dispatch.windows {
                (window.slot, window.range) = moved(window.slot, &window.range);
            }
            Step::Dispatch(dispatch)
        }
    }
}
