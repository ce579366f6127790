//! Executions in place: which inputs may be bound to the bytes of an output, and what is run then.

use super::alias::Aliases;
use super::{Plan, Step};

/// An input and an output that may be bound to exactly the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InPlace {
    /// The index of the input.
    pub input: u32,
    /// The index of the output.
    pub output: u32,
    /// What is run where they are.
    pub steps: InPlaceSteps,
}

/// What is run where an input and an output are bound to the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InPlaceSteps {
    /// [`Plan::exec`], which gives the same result where the slot of the input is that of the output.
    /// Any of the pairs that are executed so may be bound at once.
    Same,
    /// These, which never name the slot of the input: before the first one, the output holds the
    /// input's bytes. No other pair is bound beside this one.
    Own(Vec<Step>),
}

impl InPlace {
    /// A pair that is executed by [`Plan::exec`].
    pub fn by_same_steps(input: u32, output: u32) -> Self {
        Self { input, output, steps: InPlaceSteps::Same }
    }

    /// A pair that is executed by these steps.
    pub fn by_own_steps(input: u32, output: u32, steps: Vec<Step>) -> Self {
        Self { input, output, steps: InPlaceSteps::Own(steps) }
    }

    /// The input and the output.
    pub fn pair(&self) -> (u32, u32) {
        (self.input, self.output)
    }

    /// Whether it is executed by [`Plan::exec`].
    pub fn is_by_same_steps(&self) -> bool {
        self.steps == InPlaceSteps::Same
    }

    /// The steps that are run for this pair alone.
    pub fn own_steps(&self) -> &[Step] {
        match &self.steps {
            InPlaceSteps::Same => &[],
            InPlaceSteps::Own(steps) => steps,
        }
    }

    /// The same, to be changed.
    pub fn own_steps_mut(&mut self) -> &mut [Step] {
        match &mut self.steps {
            InPlaceSteps::Same => &mut [],
            InPlaceSteps::Own(steps) => steps,
        }
    }
}

impl Plan {
    /// The steps of an execution whose inputs are bound as `aliases` says; `None` where they may not be.
    /// Slots in the steps are to be taken for what [`Aliases::slot`] gives.
    pub fn exec_with(&self, aliases: &Aliases) -> Option<&[Step]> {
        if aliases.has_input_twice() {
            return None;
        }
        let permission = |pair| self.in_place.iter().find(|it| it.pair() == pair);
        let bound: Vec<&InPlace> = aliases.pairs().map(permission).collect::<Option<_>>()?;
        match bound.as_slice() {
            [InPlace { steps: InPlaceSteps::Own(steps), .. }] => Some(steps),
            all => all.iter().all(|it| it.is_by_same_steps()).then_some(&self.exec),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Fill, Slot};
    use super::*;
    use crate::types::Strategy;

    fn fill(pattern: u32) -> Vec<Step> {
        vec![Step::Fill(Fill { slot: Slot::Output(0), range: 0..4, pattern })]
    }

    #[test]
    fn pairs_by_the_same_steps_go_together_and_one_by_its_own_goes_alone() {
        let plan = Plan {
            operator: "TEST",
            strategy: Strategy::Kernel,
            inputs: vec![],
            outputs: vec![],
            init: vec![],
            exec: fill(1),
            in_place: vec![
                InPlace::by_same_steps(0, 0),
                InPlace::by_same_steps(1, 0),
                InPlace::by_own_steps(2, 1, fill(2)),
                InPlace::by_same_steps(0, 1),
            ],
            temporary_size: 0,
            persistent_size: 0,
            constants: vec![],
        };
        let steps = |pairs: &[(u32, u32)]| plan.exec_with(&Aliases::new(pairs.iter().copied()));
        for same in [&[][..], &[(0, 0)], &[(1, 0)], &[(0, 0), (1, 0)], &[(0, 1), (1, 0)]] {
            assert_eq!(steps(same), Some(&fill(1)[..]), "{same:?}");
        }
        assert_eq!(steps(&[(2, 1)]), Some(&fill(2)[..]));
        for refused in [&[(1, 1)][..], &[(0, 0), (2, 1)], &[(0, 0), (0, 1)], &[(3, 0)]] {
            assert_eq!(steps(refused), None, "{refused:?}");
        }
    }
}
