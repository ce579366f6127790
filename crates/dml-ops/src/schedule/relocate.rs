//! Moves the steps of one plan into another: every slot becomes a place in another slot.

use dml_core::plan::{Copy, CopyRegion, Slot, Step};

/// A slot, and how many bytes into it something begins: a multiple of 16, in the constants one of
/// [`dml_core::plan::UNIFORM_ALIGNMENT`].
pub(crate) type Place = (Slot, u64);

/// What a step reads that may be an input.
pub(crate) fn read(step: &Step) -> Vec<Slot> {
    match step {
        Step::Dispatch(dispatch) => dispatch.windows.iter().map(|it| it.slot).collect(),
        Step::Copy(copy) => vec![copy.source],
        Step::Fill(_) | Step::Update(_) => vec![],
    }
}

/// The step where each slot has become what `place` says.
pub(crate) fn relocated(step: &Step, place: &impl Fn(Slot) -> Place) -> Step {
    match step {
        Step::Fill(fill) => {
            let (slot, by) = place(fill.slot);
            let range = fill.range.start + by..fill.range.end + by;
            Step::Fill(dml_core::plan::Fill { slot, range, ..fill.clone() })
        }
        Step::Update(update) => {
            let (slot, by) = place(update.slot);
            let offset = update.offset + by;
            Step::Update(dml_core::plan::Update { slot, offset, ..update.clone() })
        }
        Step::Copy(copy) => {
            let (source, from) = place(copy.source);
            let (destination, to) = place(copy.destination);
            let moved = |region: &CopyRegion| CopyRegion {
                source_offset: region.source_offset + from,
                destination_offset: region.destination_offset + to,
                ..*region
            };
            let regions = copy.regions.iter().map(moved).collect();
            Step::Copy(Copy { source, destination, regions })
        }
        Step::Dispatch(dispatch) => {
            let mut dispatch = dispatch.clone();
            for window in &mut dispatch.windows {
                let (slot, by) = place(window.slot);
                (window.slot, window.range) =
                    (slot, window.range.start + by..window.range.end + by);
            }
            if let Some(range) = &mut dispatch.uniform {
                let (_, by) = place(Slot::Constants);
                *range = range.start + by..range.end + by;
            }
            Step::Dispatch(dispatch)
        }
    }
}
