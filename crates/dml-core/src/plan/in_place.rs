//! Executions in place: which inputs may be bound to the bytes of an output, and which steps run then.

use std::borrow::Cow;
use std::ops::Range;

use super::alias::Aliases;
use super::{Plan, Step};

/// An input and an output that may be bound to exactly the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InPlace {
    /// The index of the input.
    pub input: u32,
    /// The index of the output.
    pub output: u32,
    /// The steps to run if the two are bound to the same bytes.
    pub steps: InPlaceSteps,
}

/// The steps to run if an input and an output are bound to the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InPlaceSteps {
    /// [`Plan::exec`], which gives the same result with the output's slot in place of the input's.
    /// Several such pairs may be bound at once.
    Same,
    /// [`Plan::exec`] without these of its steps, which copy the input's bytes to where they are already. Goes
    /// together with other such pairs, and with those by the same steps.
    Without(Range<usize>),
    /// These steps, which never use the slot of the input: before the first one, the output holds the
    /// input's bytes. No other pair may be bound at the same time.
    Own(Vec<Step>),
}

impl InPlace {
    /// A pair that is executed by [`Plan::exec`].
    pub fn by_same_steps(input: u32, output: u32) -> Self {
        Self { input, output, steps: InPlaceSteps::Same }
    }

    /// A pair that is executed by the steps of [`Plan::exec`] but these.
    pub fn by_steps_without(input: u32, output: u32, left_out: Range<usize>) -> Self {
        Self { input, output, steps: InPlaceSteps::Without(left_out) }
    }

    /// A pair that is executed by these steps.
    pub fn by_own_steps(input: u32, output: u32, steps: Vec<Step>) -> Self {
        Self { input, output, steps: InPlaceSteps::Own(steps) }
    }

    /// The input and the output.
    pub fn pair(&self) -> (u32, u32) {
        (self.input, self.output)
    }

    /// Whether the pair is executed by [`Plan::exec`], or by a part of it.
    pub fn is_by_same_steps(&self) -> bool {
        !matches!(self.steps, InPlaceSteps::Own(_))
    }

    /// The indices of the steps of [`Plan::exec`] that are left out.
    pub fn left_out(&self) -> Range<usize> {
        match &self.steps {
            InPlaceSteps::Without(steps) => steps.clone(),
            InPlaceSteps::Same | InPlaceSteps::Own(_) => 0..0,
        }
    }

    /// The steps for this pair; empty if it is executed by steps of [`Plan::exec`].
    pub fn own_steps(&self) -> &[Step] {
        match &self.steps {
            InPlaceSteps::Same | InPlaceSteps::Without(_) => &[],
            InPlaceSteps::Own(steps) => steps,
        }
    }

    /// Mutable access to [`InPlace::own_steps`].
    pub fn own_steps_mut(&mut self) -> &mut [Step] {
        match &mut self.steps {
            InPlaceSteps::Same | InPlaceSteps::Without(_) => &mut [],
            InPlaceSteps::Own(steps) => steps,
        }
    }
}

impl Plan {
    /// The steps of an execution with the aliases `aliases`; `None` if this aliasing is not allowed. The caller
    /// must map the slots in the steps with [`Aliases::slot`].
    pub fn exec_with(&self, aliases: &Aliases) -> Option<Cow<'_, [Step]>> {
        let bound = self.allowed(aliases)?;
        if let [InPlace { steps: InPlaceSteps::Own(steps), .. }] = bound.as_slice() {
            return Some(Cow::Borrowed(steps));
        }
        let left_out: Vec<Range<usize>> = bound.iter().map(|it| it.left_out()).collect();
        if left_out.iter().all(Range::is_empty) {
            return Some(Cow::Borrowed(&self.exec));
        }
        let is_left_out = |at: usize| left_out.iter().any(|it| it.contains(&at));
        let kept = self.exec.iter().enumerate().filter(|(at, _)| !is_left_out(*at));
        Some(Cow::Owned(kept.map(|(_, step)| step.clone()).collect()))
    }

    /// The pairs of [`Plan::in_place`] that are bound to the same bytes; `None` if this aliasing is not allowed.
    pub fn allowed(&self, aliases: &Aliases) -> Option<Vec<&InPlace>> {
        if aliases.has_input_twice() {
            return None;
        }
        let permission = |pair| self.in_place.iter().find(|it| it.pair() == pair);
        let bound: Vec<&InPlace> = aliases.pairs().map(permission).collect::<Option<_>>()?;
        let go_together = bound.len() <= 1 || bound.iter().all(|it| it.is_by_same_steps());
        go_together.then_some(bound)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Divisions, Fill, Slot};
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
            divisions: Divisions::default(),
            constants: vec![],
        };
        let steps = |pairs: &[(u32, u32)]| {
            plan.exec_with(&Aliases::new(pairs.iter().copied())).map(Cow::into_owned)
        };
        for same in [&[][..], &[(0, 0)], &[(1, 0)], &[(0, 0), (1, 0)], &[(0, 1), (1, 0)]] {
            assert_eq!(steps(same), Some(fill(1)), "{same:?}");
        }
        assert_eq!(steps(&[(2, 1)]), Some(fill(2)));
        for refused in [&[(1, 1)][..], &[(0, 0), (2, 1)], &[(0, 0), (0, 1)], &[(3, 0)]] {
            assert_eq!(steps(refused), None, "{refused:?}");
        }
    }

    #[test]
    fn pairs_go_together_without_the_copies_of_each() {
        let exec: Vec<Step> = (1..=4).flat_map(fill).collect();
        let plan = Plan {
            operator: "TEST",
            strategy: Strategy::Kernel,
            inputs: vec![],
            outputs: vec![],
            init: vec![],
            exec: exec.clone(),
            in_place: vec![
                InPlace::by_steps_without(0, 0, 0..1),
                InPlace::by_steps_without(1, 1, 2..4),
                InPlace::by_same_steps(2, 2),
            ],
            temporary_size: 0,
            persistent_size: 0,
            divisions: Divisions::default(),
            constants: vec![],
        };
        let steps = |pairs: &[(u32, u32)]| {
            plan.exec_with(&Aliases::new(pairs.iter().copied())).map(Cow::into_owned)
        };
        assert_eq!(steps(&[(0, 0), (2, 2)]), Some(exec[1..].to_vec()));
        assert_eq!(steps(&[(0, 0), (1, 1)]), Some(fill(2)));
        assert_eq!(steps(&[(2, 2)]), Some(exec));
    }
}
