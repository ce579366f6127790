//! How single results become the members of a report: what passed is counted, the rest is listed.

use std::collections::{BTreeMap, BTreeSet};

use super::block::SignatureAtLevel;
use super::{
    Block, CaseResult, Execution, Passes, ResultCode, SlowCase, TargetRun, TimeBand, Times,
};
use crate::cases::CaseId;

/// Cases listed as the slowest.
const SLOWEST: usize = 10;
/// The ends of the bands of times, in microseconds; the last band has none.
const BANDS: [u64; 4] = [100, 1000, 10_000, 100_000];

/// Cases of one place that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct PlacePasses {
    cases: u64,
    executed: u64,
    dispatched: u64,
}

/// Results, as they come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// How many cases passed at a place of an operator.
    passes: BTreeMap<String, BTreeMap<SignatureAtLevel, PlacePasses>>,
    cases: Vec<CaseResult>,
    bands: [u64; BANDS.len() + 1],
    slowest: BTreeSet<(u64, CaseId)>,
}

impl Tally {
    /// Takes any result.
    pub(crate) fn add(&mut self, result: CaseResult) {
        if result.result == ResultCode::Pass {
            self.passed(&result.id, result.execution(), result.microseconds);
        } else {
            self.time(&result.id, result.microseconds);
            self.cases.push(result);
        }
    }

    /// Takes that of a case that passed.
    pub(crate) fn passed(&mut self, id: &CaseId, execution: Execution, microseconds: u64) {
        self.time(id, microseconds);
        if !self.passes.contains_key(&id.operator) {
            self.passes.insert(id.operator.clone(), BTreeMap::new());
        }
        if let Some(places) = self.passes.get_mut(&id.operator) {
            let counts = places.entry((id.level, id.signature.clone())).or_default();
            counts.cases += 1;
            counts.executed += u64::from(execution != Execution::NotExecuted);
            counts.dispatched += u64::from(execution == Execution::Dispatched);
        }
    }

    fn time(&mut self, id: &CaseId, microseconds: u64) {
        self.bands[BANDS.partition_point(|end| *end <= microseconds)] += 1;
        let is_slow = self.slowest.first().is_none_or(|(least, _)| microseconds > *least);
        if is_slow || self.slowest.len() < SLOWEST {
            self.slowest.insert((microseconds, id.clone()));
        }
        if self.slowest.len() > SLOWEST {
            self.slowest.pop_first();
        }
    }

    /// Puts what was counted and listed into `target`, in the place of what it has.
    pub(crate) fn finish(self, target: &mut TargetRun) {
        let passes = |(operator, places): (String, BTreeMap<_, _>)| {
            let operator = operator.to_uppercase();
            let of = move |(at, counts)| {
                let PlacePasses { cases, executed, dispatched } = counts;
                Passes { operator: operator.clone(), at, cases, executed, dispatched }
            };
            Block::group(places).into_iter().map(of)
        };
        let ends = BANDS.into_iter().map(Some).chain([None]);
        let band = |(below, cases)| TimeBand { below, cases };
        let slow = |(microseconds, id)| SlowCase { id, microseconds };
        target.passes = self.passes.into_iter().flat_map(passes).collect();
        target.times = Times {
            bands: ends.zip(self.bands).map(band).collect(),
            slowest: self.slowest.into_iter().rev().map(slow).collect(),
        };
        target.cases = self.cases;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::samples;

    #[test]
    fn what_passed_is_counted_and_the_rest_is_listed() {
        let mut tally = Tally::default();
        for level in ["5_0", "5_1", "6_4"] {
            for data_type in ["int8", "int16"] {
                for name in ["a", "b"] {
                    let id = format!("{level}/some/{data_type}/rank2/{name}");
                    let result = samples::case(&id, ResultCode::Pass);
                    tally.add(CaseResult { executed: name == "a", ..result });
                }
            }
        }
        tally.add(samples::case("5_1/some/int8/rank2/c", ResultCode::Crash));
        let mut target = samples::target();
        tally.finish(&mut target);
        let found: Vec<_> =
            target.passes.iter().map(|pass| (&pass.at.levels, pass.cases)).collect();
        let levels = |first: &str, last: &str| [first.to_owned(), last.to_owned()];
        assert_eq!(found, [(&levels("5_0", "5_1"), 2), (&levels("6_4", "6_4"), 2)]);
        assert_eq!(target.passes[0].at.data_types, ["INT16", "INT8"]);
        assert!(target.passes.iter().all(|pass| pass.operator == "SOME" && pass.executed == 1));
        assert_eq!(target.cases.len(), 1);
        let total = target.total();
        assert_eq!((total.all(), total.of(ResultCode::Pass), total.executed()), (13, 12, 6));
    }

    #[test]
    fn the_slowest_come_first_and_all_are_in_a_band() {
        let mut tally = Tally::default();
        let times = (0..30).map(|it| it * 10).chain([5_000_000]);
        for (index, microseconds) in times.enumerate() {
            let id = format!("5_1/a/int8/rank2/{index}");
            tally.add(CaseResult { microseconds, ..samples::case(&id, ResultCode::Pass) });
        }
        let mut target = samples::target();
        tally.finish(&mut target);
        let Times { bands, slowest } = &target.times;
        assert_eq!(slowest.len(), SLOWEST);
        assert_eq!((slowest[0].microseconds, slowest[9].microseconds), (5_000_000, 210));
        let counts: Vec<_> = bands.iter().map(|band| band.cases).collect();
        assert_eq!(counts, [10, 20, 0, 0, 1]);
        assert_eq!((bands[0].below, bands[4].below), (Some(100), None));
    }
}
