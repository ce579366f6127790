//! Selects the types and ranks that each case is run with.
//!
//! Instead of all types at all ranks, every case of an operator is run at every rank with some types, and for
//! each tensor with each element width at some rank: shapes and strides are handled by the same code for all
//! types of a width. The first case, which has edge values, is run with all combinations of types.
//!
//! Operators that share their cases ([`Reference::shares_cases`]) share kernels as well: together they run each
//! case at every rank and with every width.
//!
//! Examples that the documentation prints are run for all types and ranks they are valid for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use dml_core::{DataType, FeatureLevel, validate};

use super::{Case, PerOperator, Reference, Signature};

impl dyn Reference + '_ {
    /// The cases that tensors of this signature are tested with.
    pub fn chosen_cases(&self, signature: &Signature) -> Vec<Case> {
        // In place, only some combinations of types are possible.
        let is_of_some = |case: &Case| !case.in_place.is_empty() && signature.types.len() > 1;
        self.chosen(signature, |place, at, case| match at == 0 || is_of_some(case) {
            true => place.has_with_all_types(at),
            false => place.has(at),
        })
    }

    /// The cases with each at some rank for all combinations of types, regardless of other operators: this
    /// finds mistakes in the cases themselves.
    pub fn thorough_cases(&self, signature: &Signature) -> Vec<Case> {
        self.chosen(signature, |place, at, _| place.has_with_all_types(at))
    }

    /// The cases that `has` selects by place and number, followed by the documented ones.
    fn chosen(
        &self,
        signature: &Signature,
        has: impl Fn(&SignatureIndex, usize, &Case) -> bool,
    ) -> Vec<Case> {
        let cases = self.cases(signature);
        let Some(place) = SignatureIndex::of(self, signature) else { return cases };
        let all = cases.into_iter().enumerate();
        let chosen = all.filter(|(at, case)| case.documented.is_some() || has(&place, *at, case));
        chosen.map(|(_, case)| case).collect()
    }

    /// Whether tensors of this signature are tested with the case of a number, of the cases that every
    /// signature has.
    pub fn has_case(&self, signature: &Signature) -> impl Fn(usize) -> bool + use<> {
        let place = SignatureIndex::of(self, signature);
        move |number| place.as_ref().is_none_or(|place| place.has(number))
    }
}

/// The combinations of types that an operator accepts, and the ranks, at the highest feature level.
struct Space {
    /// Combinations in order, each with the number of its cases.
    types: Vec<(Vec<DataType>, usize)>,
    ranks: Vec<usize>,
    /// For each case, the result of [`Self::found_cover`].
    covers: Vec<OnceLock<Vec<usize>>>,
    /// For each case, the result of [`Self::having`].
    having: Vec<OnceLock<Vec<usize>>>,
}

impl Space {
    fn of(operator: &dyn Reference) -> &'static Self {
        static ALL: PerOperator<Space> = PerOperator::new();
        ALL.get_or_init(operator.schema(), || Self::found(operator))
    }

    fn found(operator: &dyn Reference) -> Self {
        let is_accepted =
            |it: &Signature| validate(&operator.minimal(it), FeatureLevel::HIGHEST).is_ok();
        let accepted: Vec<_> = Signature::all(operator.schema()).filter(is_accepted).collect();
        let ranks: BTreeSet<_> = accepted.iter().map(|it| it.rank).collect();
        // The number of cases also depends on the rank, but only for some types.
        let types: BTreeMap<_, _> = accepted.into_iter().map(|it| (it.types.clone(), it)).collect();
        let counted = types.into_iter().map(|(it, last)| (it, operator.cases(&last).len()));
        let types: Vec<_> = counted.collect();
        let most = types.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let of_cases = || vec![OnceLock::new(); most.max(1)];
        let ranks = ranks.into_iter().collect();
        Self { types, ranks, covers: of_cases(), having: of_cases() }
    }

    /// The combinations of types for this case, which cover each width of each tensor; other cases get other
    /// ones. Cases that only some ranks have follow the others, and start over.
    fn cover(&self, case: usize) -> &[usize] {
        let case = case % self.covers.len();
        self.covers[case].get_or_init(|| self.found_cover(case))
    }

    fn found_cover(&self, case: usize) -> Vec<usize> {
        let count = self.types.len();
        // Neighbouring combinations share most types; a step near the golden section varies them, and reaches
        // all.
        let step = (count * 5 / 8..).find(|it| gcd(*it, count) == 1).unwrap_or(1);
        let all = (0..count).map(|at| (case + at * step) % count);
        let mut found = 0;
        let mut is_new = |at: &usize| {
            let before = found;
            found |= widths(&self.types[*at].0);
            found != before
        };
        all.filter(|at| self.types[*at].1 > case).filter(|at| is_new(at)).collect()
    }

    /// The combinations of types that have this case, by index.
    fn having(&self, case: usize) -> &[usize] {
        let case = case % self.having.len();
        let has = |at: &usize| self.types[*at].1 > case;
        self.having[case].get_or_init(|| (0..self.types.len()).filter(has).collect())
    }
}

/// A bit for each element width of each tensor: five widths, from 4 to 64 bits.
fn widths(types: &[DataType]) -> u64 {
    let bit = |it: &DataType, first: u32| 1_u64 << (first + it.bits().ilog2() - 2);
    types.iter().zip((0..).step_by(5)).fold(0, |all, (it, first)| all | bit(it, first))
}

/// The position of a signature among those that the highest feature level accepts.
struct SignatureIndex {
    space: &'static Space,
    types: usize,
    rank: usize,
    /// For operators that share their cases: the offset of this operator's turn.
    first: Option<usize>,
}

impl SignatureIndex {
    /// `None` if no feature level accepts the signature.
    fn of(operator: &dyn Reference, signature: &Signature) -> Option<Self> {
        let space = Space::of(operator);
        let first = operator.shares_cases().then_some(operator.schema().operator_type as usize);
        Some(Self {
            space,
            types: space.types.binary_search_by_key(&&signature.types, |(it, _)| it).ok()?,
            rank: space.ranks.binary_search(&signature.rank).ok()?,
            first,
        })
    }

    /// Whether the case of this number is run here: at every rank, or for shared cases at one rank, where other
    /// operators run it at the others.
    fn has(&self, case: usize) -> bool {
        let Some(first) = self.first else {
            let cover = self.space.cover(case);
            return self.has_turn(case, cover.len(), |turn| cover[turn] == self.types);
        };
        let having = self.space.having(case);
        // If there are as many combinations as ranks, they must not advance in step.
        let turn = case + first;
        let turn = (turn % having.len(), (turn + turn / having.len()) % self.space.ranks.len());
        (having[turn.0], turn.1) == (self.types, self.rank)
    }

    /// Whether a case that is run with all combinations of types is run here.
    fn has_with_all_types(&self, case: usize) -> bool {
        self.has_turn(case, self.space.types.len(), |turn| turn == self.types)
    }

    /// Whether it is the turn of the signature's rank when it is that of its types, which `are_types` knows among
    /// `combinations`. Ranks and combinations take turns until all of both had theirs.
    fn has_turn(
        &self,
        case: usize,
        combinations: usize,
        are_types: impl Fn(usize) -> bool,
    ) -> bool {
        let first = case + self.first.unwrap_or(0);
        let ranks = self.space.ranks.len();
        let mut turns = first..first + combinations.max(ranks);
        turns.any(|turn| turn % ranks == self.rank && are_types(turn % combinations))
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::REFERENCES;

    type Pairs = HashSet<(String, String)>;

    /// Pairs of a case and a property of a signature: all possible ones, and those that are run.
    fn pairs<I: IntoIterator<Item = String>>(
        operator: &dyn Reference,
        cases: impl Fn(&Signature) -> Vec<Case>,
        of: impl Fn(&Signature) -> I,
    ) -> Pairs {
        let signatures = Signature::all(operator.schema());
        let accepted =
            signatures.filter(|signature| SignatureIndex::of(operator, signature).is_some());
        let of_signature = |signature: Signature| -> Pairs {
            let all: Vec<String> = of(&signature).into_iter().collect();
            let cases = cases(&signature).into_iter();
            cases
                .flat_map(|case| all.clone().into_iter().map(move |it| (case.name.to_string(), it)))
                .collect()
        };
        accepted.flat_map(of_signature).collect()
    }

    fn assert_all<I: IntoIterator<Item = String>>(
        operator: &dyn Reference,
        of: impl Fn(&Signature) -> I + Copy,
    ) {
        let all = pairs(operator, |it| operator.cases(it), of);
        let run = pairs(operator, |it| operator.chosen_cases(it), of);
        let missing: Vec<_> = all.difference(&run).collect();
        assert!(missing.is_empty(), "{}: {missing:?}", operator.schema().name);
    }

    fn widths(signature: &Signature) -> Vec<String> {
        let tensors = signature.types.iter().enumerate();
        tensors.map(|(at, it)| format!("{at} {}", it.bits())).collect()
    }

    #[test]
    fn cases_of_an_operator_that_shares_none_have_every_rank_and_every_width_of_every_tensor() {
        for operator in REFERENCES.iter().copied().filter(|it| !it.shares_cases()) {
            assert_all(operator, |it| [it.rank.to_string()]);
            assert_all(operator, widths);
        }
    }

    #[test]
    fn shared_cases_have_every_rank_and_width_with_some_operator() {
        let sharing = || REFERENCES.iter().copied().filter(|it| it.shares_cases());
        let of = |it: &Signature| [vec![it.rank.to_string()], widths(it)].concat();
        let mut counts: BTreeMap<_, usize> = BTreeMap::new();
        for operator in sharing() {
            let all = pairs(operator, |it| operator.cases(it), of);
            all.into_iter().for_each(|it| *counts.entry(it).or_default() += 1);
        }
        let run: Pairs = sharing()
            .flat_map(|it| pairs(it, |signature| it.chosen_cases(signature), of))
            .collect();
        // Properties of only a few operators do not occur at every rank.
        let all = counts.into_iter().filter(|(_, count)| *count >= 40).map(|(it, _)| it);
        let missing: Vec<_> = all.filter(|it| !run.contains(it)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn cases_of_values_have_all_types_that_go_together() {
        for operator in REFERENCES.iter().copied() {
            let types = |it: &Signature| [it.type_names()];
            let values = |cases: Vec<Case>| cases.into_iter().take(1).collect::<Vec<_>>();
            let all = pairs(operator, |it| values(operator.cases(it)), types);
            assert!(all.is_subset(&pairs(operator, |it| operator.chosen_cases(it), types)));
        }
    }
}
