//! Counts and texts that are derived from a target's results.

use std::collections::BTreeMap;

use dml::{FeatureLevel, Numerics};

use super::{Counts, TargetRun};

impl TargetRun {
    /// The names of the device, and of the profile and the strategy if there are some, whether types are
    /// emulated, whether numerics are fast, and the part of the cases that ran.
    pub fn title(&self) -> String {
        let profile = self.profile.as_ref().map(|profile| format!(" as {}", profile.name));
        let strategy = self.strategy.as_ref().map(|strategy| format!(" by {strategy}"));
        let emulated = self.emulated.then(|| " with emulated types".to_owned());
        let fast = self.is_fast().then(|| " with fast numerics".to_owned());
        let sample = self.sample.as_ref().map(|part| format!(" in a sample of {part}"));
        let parts = [Some(self.device.name.clone()), profile, strategy, emulated, fast, sample];
        parts.into_iter().flatten().collect()
    }

    /// The options that select the target again, except for its device, each after a space.
    pub fn options(&self) -> String {
        let sources = self.profile.iter().map(|profile| ("profile", profile.source.as_str()));
        let strategies = self.strategy.iter().map(|strategy| ("strategy", strategy.as_str()));
        let unguarded = self.robust_access.filter(|is_on| !is_on).map(|_| ("robust-access", "off"));
        let staged = self.staged_transfers.then_some(("staged-transfers", "on"));
        let emulated = self.emulated.then_some(("variants", "emulated"));
        let fast = self.is_fast().then_some(("numerics", Numerics::Fast.name()));
        let given = sources.chain(strategies).chain(emulated).chain(fast);
        let given = given.chain(unguarded).chain(staged);
        let given = given.filter(|(_, value)| !value.is_empty());
        let bound = self.work_bound.map(|bound| format!(" --work-bound {bound}"));
        given.map(|(option, value)| format!(" --{option} {value}")).chain(bound).collect()
    }

    fn is_fast(&self) -> bool {
        self.numerics == Numerics::Fast
    }

    /// Counts for each feature level that has cases.
    pub fn levels(&self) -> BTreeMap<FeatureLevel, Counts> {
        let mut levels = BTreeMap::new();
        self.count(|_, level| level, &mut levels);
        levels
    }

    /// Counts for each operator that has cases, by their names.
    pub fn operators(&self) -> BTreeMap<String, Counts> {
        let mut operators = BTreeMap::new();
        self.count(|operator, _| operator.to_uppercase(), &mut operators);
        operators
    }

    /// The operators without an executed case.
    pub fn not_executed(&self) -> Vec<String> {
        let operators = self.operators().into_iter();
        operators.filter(|(_, counts)| counts.executed() == 0).map(|(name, _)| name).collect()
    }

    /// The operators with executed cases of which none dispatched a kernel, so that nothing is known about
    /// how the driver compiles them.
    pub fn not_dispatched(&self) -> Vec<String> {
        let operators = self.operators().into_iter();
        let idle = |(_, counts): &(_, Counts)| counts.executed() > 0 && counts.dispatched() == 0;
        operators.filter(idle).map(|(name, _)| name).collect()
    }

    /// Counts over all levels.
    pub fn total(&self) -> Counts {
        let mut total = BTreeMap::new();
        self.count(|_, _| (), &mut total);
        let mut total = total.remove(&()).unwrap_or_else(|| Counts::on(&self.device));
        total.required_and_not_executed(self.required_and_not_executed().len() as u64);
        total
    }

    /// The operators that have cases at a level, but no case that was executed there or at a lower one.
    pub fn not_executed_at(&self, level: FeatureLevel) -> Vec<String> {
        let mut operators = BTreeMap::new();
        self.count(|operator, at| (at, operator.to_uppercase()), &mut operators);
        let of_level = operators.into_iter().filter(|((at, _), _)| *at == level);
        let idle = of_level.filter(|(_, counts)| counts.executed() == 0);
        idle.map(|((_, operator), _)| operator).collect()
    }

    /// The counts of passed cases at a level, for each operator.
    pub(crate) fn passes_at(&self, level: FeatureLevel) -> BTreeMap<String, Counts> {
        let mut operators = BTreeMap::<_, Counts>::new();
        for passes in &self.passes {
            if passes.at.levels().contains(&level) {
                let none = || Counts::on(&self.device);
                let counts = operators.entry(passes.operator.clone()).or_insert_with(none);
                counts.passed(passes, passes.at.places_at_a_level());
            }
        }
        operators
    }

    /// The operators that must be executed and were not.
    pub fn required_and_not_executed(&self) -> Vec<String> {
        let mut names = self.not_executed();
        names.retain(|name| self.required.contains(name));
        names
    }

    /// Counts by the key that `key` makes from an operator and a level.
    fn count<K: Ord>(
        &self,
        key: impl Fn(&str, FeatureLevel) -> K,
        counts: &mut BTreeMap<K, Counts>,
    ) {
        let mut of = |operator: &str, level, add: &dyn Fn(&mut Counts)| {
            let none = || Counts::on(&self.device);
            add(counts.entry(key(operator, level)).or_insert_with(none));
        };
        for passes in &self.passes {
            let places = passes.at.places_at_a_level();
            for level in passes.at.levels() {
                of(&passes.operator, *level, &|counts| counts.passed(passes, places));
            }
        }
        for case in &self.cases {
            let add = |counts: &mut Counts| counts.add(case.result, case.execution());
            of(&case.id.operator, case.id.level, &add);
        }
    }
}
