//! Resources in several buffers: where a resource may be divided, and the check that no step crosses a division.

use std::ops::Range;

use super::invalid::{InvalidPlan, InvalidStep, Phase};
use super::slot::{Slot, Use};
use super::{DIVISION_ALIGNMENT, Plan, Step};

/// The byte offsets, ascending, at which resources are divided. Each piece may be in a buffer of its own; a buffer
/// may also hold the whole resource. Every step uses bytes of one piece alone for each window, and for the source and
/// the destination of a copy.
///
/// A resource is divided where a single buffer would exceed maxMemoryAllocationSize or maxBufferSize.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Divisions {
    /// Divisions of [`Slot::Temporary`].
    pub temporary: Vec<u64>,
    /// Divisions of [`Slot::Persistent`].
    pub persistent: Vec<u64>,
}

impl Plan {
    /// The pieces of [`Slot::Temporary`]; none if the plan needs no temporary resource.
    pub fn temporary_pieces(&self) -> Vec<Range<u64>> {
        pieces(self.temporary_size, &self.divisions.temporary)
    }

    /// The pieces of [`Slot::Persistent`]; none if the plan needs no persistent resource.
    pub fn persistent_pieces(&self) -> Vec<Range<u64>> {
        pieces(self.persistent_size, &self.divisions.persistent)
    }

    /// Checks that divisions are ascending, aligned, and inside of their resources.
    pub(super) fn check_divisions(&self) -> Result<(), InvalidPlan> {
        let resources = [
            (Slot::Temporary, self.temporary_pieces()),
            (Slot::Persistent, self.persistent_pieces()),
        ];
        for (slot, pieces) in resources {
            let is_wrong =
                |it: &&Range<u64>| it.is_empty() || !it.start.is_multiple_of(DIVISION_ALIGNMENT);
            if let Some(piece) = pieces.iter().find(is_wrong) {
                return Err(InvalidPlan::Division { slot, piece: piece.clone() });
            }
        }
        let phases = [(Phase::Initialization, &self.init[..]), (Phase::Execution, &self.exec)];
        let in_place = self.in_place.iter().map(|it| {
            let (input, output) = it.pair();
            (Phase::InPlace { input, output }, it.own_steps())
        });
        for (phase, steps) in phases.into_iter().chain(in_place) {
            for (index, step) in steps.iter().enumerate() {
                self.check_crossing(step).map_err(|reason| InvalidPlan::Step {
                    phase,
                    index,
                    reason,
                })?;
            }
        }
        Ok(())
    }

    fn check_crossing(&self, step: &Step) -> Result<(), InvalidStep> {
        if self.divisions == Divisions::default() {
            return Ok(());
        }
        let uses = step.bounds();
        for (at, Use { slot, range, access }) in uses.iter().enumerate() {
            let divisions = match slot {
                Slot::Temporary => &self.divisions.temporary,
                Slot::Persistent => &self.divisions.persistent,
                Slot::Input(_) | Slot::Output(_) | Slot::Constants => continue,
            };
            let piece = |byte: u64| divisions.partition_point(|division| *division <= byte);
            let first = piece(range.start);
            // All regions of a copy have the source's buffer and the destination's.
            let is_apart = |it: &Use| {
                it.slot == *slot && it.access == *access && piece(it.range.start) != first
            };
            let is_copy = matches!(step, Step::Copy(_));
            if piece(range.end - 1) != first || is_copy && uses[..at].iter().any(is_apart) {
                return Err(InvalidStep::Divided { slot: *slot, range: range.clone() });
            }
        }
        Ok(())
    }
}

/// The ranges between divisions of a resource of `size` bytes.
fn pieces(size: u64, divisions: &[u64]) -> Vec<Range<u64>> {
    if size == 0 && divisions.is_empty() {
        return vec![];
    }
    let starts = std::iter::once(0).chain(divisions.iter().copied());
    let ends = divisions.iter().copied().chain([size]);
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Strategy;
    use crate::plan::{Copy, CopyRegion, Fill};

    fn plan(divisions: Vec<u64>, exec: Vec<Step>) -> Plan {
        Plan {
            operator: "DIVIDED",
            strategy: Strategy::Kernel,
            inputs: vec![],
            outputs: vec![],
            init: vec![],
            exec,
            in_place: vec![],
            temporary_size: 1024,
            persistent_size: 0,
            divisions: Divisions { temporary: divisions, persistent: vec![] },
            constants: vec![],
        }
    }

    fn fill(range: Range<u64>) -> Step {
        Step::Fill(Fill { slot: Slot::Temporary, range, pattern: 0 })
    }

    fn copy(from: [u64; 2], to: [u64; 2]) -> Step {
        let regions = from.into_iter().zip(to).map(|(from, to)| CopyRegion::once(from, to, 4));
        let (source, destination) = (Slot::Temporary, Slot::Temporary);
        Step::Copy(Copy { source, destination, regions: regions.collect() })
    }

    #[test]
    fn pieces_lie_between_divisions() {
        assert_eq!(plan(vec![256, 768], vec![]).temporary_pieces(), [0..256, 256..768, 768..1024]);
        assert_eq!(plan(vec![], vec![]).temporary_pieces(), vec![0..1024]);
        assert!(plan(vec![], vec![]).persistent_pieces().is_empty());
    }

    #[test]
    fn divisions_are_ascending_aligned_and_inside() {
        for wrong in [vec![0], vec![128], vec![512, 256], vec![256, 256], vec![1024], vec![2048]] {
            let checked = plan(wrong.clone(), vec![]).check_divisions();
            assert!(matches!(checked, Err(InvalidPlan::Division { .. })), "{wrong:?}: {checked:?}");
        }
        assert_eq!(plan(vec![256, 512], vec![]).check_divisions(), Ok(()));
    }

    #[test]
    fn a_step_crosses_no_division() {
        let check = |step: Step| plan(vec![512], vec![step]).check_divisions();
        let is_refused = |step| {
            let checked = check(step);
            matches!(checked, Err(InvalidPlan::Step { reason: InvalidStep::Divided { .. }, .. }))
        };
        assert_eq!(check(fill(256..512)), Ok(()));
        assert_eq!(check(fill(512..516)), Ok(()));
        assert!(is_refused(fill(508..516)));
        assert_eq!(check(copy([0, 4], [512, 516])), Ok(()));
        assert!(is_refused(copy([0, 512], [520, 524])));
        assert!(is_refused(copy([0, 4], [8, 512])));
        let undivided = plan(vec![], vec![fill(0..1024), copy([0, 512], [520, 524])]);
        assert_eq!(undivided.check_divisions(), Ok(()));
    }
}
