//! Plans as text, for people who ask how an operator is executed.

use std::fmt;

use super::{Copy, CopyRegion, Dispatch, InPlace, InPlaceSteps, Plan, Step};

/// The totals of a plan's steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes that fills write.
    pub filled: u64,
    /// Bytes that updates write, which are part of the commands.
    pub updated: u64,
    /// Bytes that copies write.
    pub copied: u64,
    /// Regions of copies, with the repetitions of loops.
    pub regions: u64,
    /// Dispatches.
    pub dispatches: u64,
    /// Work groups of all dispatches.
    pub groups: u64,
}

impl Totals {
    /// The totals of `steps`.
    pub fn of(steps: &[Step]) -> Self {
        let mut totals = Self::default();
        for step in steps {
            match step {
                Step::Fill(fill) => {
                    totals.filled += fill.range.end.saturating_sub(fill.range.start);
                }
                Step::Update(update) => totals.updated += update.data.len() as u64,
                Step::Copy(copy) => {
                    totals.copied += copy.bytes();
                    totals.regions += copy.region_count();
                }
                Step::Dispatch(dispatch) => {
                    totals.dispatches += 1;
                    totals.groups += dispatch.group_count();
                }
            }
        }
        totals
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { filled, updated, copied, regions, dispatches, groups } = self;
        write!(
            f,
            "{filled} bytes filled, {updated} inline, {copied} copied in {regions} regions; \
             {dispatches} dispatches of {groups} groups"
        )
    }
}

impl Copy {
    fn bytes(&self) -> u64 {
        self.regions.iter().map(CopyRegion::bytes).sum()
    }

    fn region_count(&self) -> u64 {
        self.regions.iter().map(|region| u64::from(region.repeat.count)).sum()
    }
}

impl Dispatch {
    fn group_count(&self) -> u64 {
        self.groups.iter().map(|count| u64::from(*count)).product()
    }
}

impl Plan {
    /// A text with a line each for the operator and its strategy, every step of initialization and execution,
    /// every pair that may be executed in place, and the totals of an execution. Of a phase with many steps,
    /// only the first ones are listed.
    pub fn describe(&self) -> String {
        let mut lines = vec![format!("{}: {}", self.operator, self.strategy)];
        for (phase, steps) in [("once", &self.init), ("each time", &self.exec)] {
            lines.extend(steps.iter().take(MAX_LINES).map(|step| format!("  {phase}: {step}")));
            if let Some(more) = steps.len().checked_sub(MAX_LINES).filter(|more| *more > 0) {
                lines.push(format!("  {phase}: and {more} more"));
            }
        }
        lines.extend(self.in_place.iter().map(InPlace::describe));
        lines.push(format!("  in all: {}", Totals::of(&self.exec)));
        lines.push(format!("  {} bytes of constants", self.constants.len()));
        lines.join("\n")
    }
}

impl InPlace {
    fn describe(&self) -> String {
        let Self { input, output, steps } = self;
        let steps = match steps {
            InPlaceSteps::Same => "by the same steps".to_owned(),
            InPlaceSteps::Without(steps) => format!("without {} of the steps", steps.len()),
            InPlaceSteps::Own(steps) => format!("by {} steps of its own", steps.len()),
        };
        format!("  in place: input {input} as output {output}, {steps}")
    }
}

/// The most steps of a phase that are listed.
const MAX_LINES: usize = 8;

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fill(fill) => {
                let (slot, range) = (fill.slot, &fill.range);
                write!(f, "fill {slot} {}..{} with {:#010x}", range.start, range.end, fill.pattern)
            }
            Self::Update(update) => {
                let end = update.offset.saturating_add(update.data.len() as u64);
                write!(f, "update {} {}..{end}", update.slot, update.offset)
            }
            Self::Copy(copy) => {
                let (bytes, regions) = (copy.bytes(), copy.region_count());
                let (from, to) = (copy.source, copy.destination);
                write!(f, "copy {bytes} bytes from {from} to {to} in {regions} regions")
            }
            Self::Dispatch(dispatch) => {
                let [x, y, z] = dispatch.groups;
                let name = &dispatch.kernel.variant.name;
                let with = if dispatch.is_concurrent { ", at the same time" } else { "" };
                write!(f, "dispatch {name} with {x}x{y}x{z} groups{with}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Divisions, Fill, Repeat, Slot, Update};
    use super::*;
    use crate::Strategy;

    #[test]
    fn a_plan_is_told_step_by_step() {
        let repeat = Repeat { count: 3, destination_stride: 8, ..Repeat::ONCE };
        let regions = vec![CopyRegion { repeat, ..CopyRegion::once(0, 16, 8) }];
        let out = Slot::Output(0);
        let plan = Plan {
            operator: "TEST",
            strategy: Strategy::SeedAndCopy,
            inputs: vec![],
            outputs: vec![],
            init: vec![],
            exec: vec![
                Step::Fill(Fill { slot: out, range: 0..16, pattern: 7 }),
                Step::Copy(Copy { source: Slot::Constants, destination: out, regions }),
                Step::Update(Update { slot: out, offset: 40, data: vec![0; 8] }),
            ],
            in_place: vec![InPlace::by_same_steps(1, 0), InPlace::by_own_steps(0, 0, vec![])],
            temporary_size: 0,
            persistent_size: 0,
            divisions: Divisions::default(),
            constants: vec![0; 8],
        };
        let expected = "TEST: seed-and-copy\n  each time: fill output 0 0..16 with 0x00000007\n  \
                        each time: copy 24 bytes from constants to output 0 in 3 regions\n  \
                        each time: update output 0 40..48\n  \
                        in place: input 1 as output 0, by the same steps\n  \
                        in place: input 0 as output 0, by 0 steps of its own\n  \
                        in all: 16 bytes filled, 8 inline, 24 copied in 3 regions; 0 dispatches of \
                        0 groups\n  8 bytes of constants";
        assert_eq!(plan.describe(), expected);
    }
}
