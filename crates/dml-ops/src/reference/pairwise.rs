//! Which cases are run with which types and ranks.
//!
//! Rather than with all types at all ranks, every case of an operator is run at every rank with some types, and
//! with all types that go together at some rank: what depends on three of them together would have to depend
//! on a type and a rank that nothing else connects.
//!
//! Operators that share their cases ([`super::Reference::shares_cases`]) share kernels as well, so that shapes and
//! strides are the same code in all of them: a case has every rank with some of the operators. With each of
//! them it is run with all types of every tensor, and the first case, of values, with all that go together.
//!
//! Examples that the documentation prints are run wherever they fit.

use dml_core::{DataType, MAX_DIMENSION_COUNT};

use super::{Case, Signature};
use crate::Operator;

impl Operator {
    /// The cases that tensors of this signature are tested with.
    pub fn cases(&self, signature: &Signature) -> Vec<Case> {
        let cases = self.reference().cases(signature);
        let Some(place) = Place::of(self, signature) else { return cases };
        let all = cases.into_iter().enumerate();
        // Only some types go together in place.
        let has = |at, case: &Case| match case.in_place.is_empty() && at > 0 {
            true => place.has(at),
            false => place.has_with_all_types(at),
        };
        let chosen = all.filter(|(at, case)| case.documented.is_some() || has(*at, case));
        chosen.map(|(_, case)| case).collect()
    }

    /// Whether tensors of this signature are tested with the case of this number, of cases that every
    /// signature has.
    pub fn has_case(&self, signature: &Signature, number: usize) -> bool {
        Place::of(self, signature).is_none_or(|place| place.has(number))
    }
}

/// A number among so many.
type Index = (usize, usize);

/// Where a signature stands among those that the highest level accepts.
struct Place {
    /// Of each tensor that has a type of its own.
    types: Vec<Index>,
    rank: Index,
    /// Of an operator that shares its cases: at which rank they begin.
    first_rank: Option<usize>,
}

impl Place {
    /// `None` where no level accepts it.
    fn of(operator: &Operator, signature: &Signature) -> Option<Self> {
        let schema = operator.schema();
        let tensors = schema.tables.last()?.tensors;
        let mut types = vec![];
        for (field, data_type) in schema.type_parameters().zip(&signature.types) {
            let accepted = tensors.iter().find(|it| it.field == field.name)?.data_types;
            let accepted: Vec<DataType> = accepted.iter().collect();
            let at = accepted.iter().position(|it| it == data_type)?;
            types.push((at, accepted.len()));
        }
        let ranks =
            (1..=MAX_DIMENSION_COUNT).filter(|it| tensors.iter().all(|t| t.ranks.contains(*it)));
        let ranks: Vec<usize> = ranks.collect();
        let rank = ranks.iter().position(|it| *it == signature.rank)?;
        let first_rank =
            operator.reference().shares_cases().then_some(schema.operator_type as usize);
        Some(Self { types, rank: (rank, ranks.len()), first_rank })
    }

    /// Whether the case of this number is run here.
    fn has(&self, case: usize) -> bool {
        self.has_with_all_types(case) && (self.first_rank.is_none() || self.has_types(case))
    }

    /// The same of a case that is to be run with all types that go together.
    fn has_with_all_types(&self, case: usize) -> bool {
        let (rank, all_ranks) = self.rank;
        let first = |(types, all), (at, count)| (types * count + at, all * count);
        let (types, all_types) = self.types.iter().copied().fold((0, 1), first);
        let has_rank = |first_rank| (case + types + first_rank) % all_ranks == rank;
        match self.first_rank {
            Some(first_rank) => has_rank(first_rank),
            None => (case + rank) % all_types == types || has_rank(0),
        }
    }

    /// Of all that go together so many that each type of each tensor is among them.
    fn has_types(&self, case: usize) -> bool {
        let several = || self.types.iter().filter(|(_, count)| *count > 1);
        let fewest = several().map(|(_, count)| *count).min().unwrap_or(1);
        several().count() < 2
            || several().map(|(at, _)| at).sum::<usize>() % fewest == case % fewest
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use super::*;
    use crate::OPERATORS;

    type Pairs = HashSet<(String, String)>;

    /// Each case of the operator, or each that it is run with, and what `of` says of the signature.
    fn pairs<I: IntoIterator<Item = String>>(
        operator: &Operator,
        cases: impl Fn(&Signature) -> Vec<Case>,
        of: impl Fn(&Signature) -> I,
    ) -> Pairs {
        let signatures = Signature::all(operator.schema());
        let accepted = signatures.filter(|it| Place::of(operator, it).is_some());
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
        operator: &Operator,
        of: impl Fn(&Signature) -> I + Copy,
    ) {
        let all = pairs(operator, |it| operator.reference().cases(it), of);
        let run = pairs(operator, |it| operator.cases(it), of);
        let missing: Vec<_> = all.difference(&run).collect();
        assert!(missing.is_empty(), "{}: {missing:?}", operator.schema().name);
    }

    #[test]
    fn every_case_has_every_type_of_every_tensor() {
        for operator in OPERATORS.iter() {
            assert_all(operator, |it| {
                it.types.iter().enumerate().map(|(at, it)| format!("{at} {it}")).collect::<Vec<_>>()
            });
        }
    }

    #[test]
    fn cases_of_an_operator_that_shares_none_have_every_rank_and_all_types() {
        for operator in OPERATORS.iter().filter(|it| !it.reference().shares_cases()) {
            assert_all(operator, |it| [it.rank.to_string()]);
            assert_all(operator, |it| [it.type_names()]);
        }
    }

    #[test]
    fn shared_cases_have_every_rank_with_some_operator() {
        let sharing = || OPERATORS.iter().filter(|it| it.reference().shares_cases());
        let rank = |it: &Signature| [it.rank.to_string()];
        let mut counts: BTreeMap<_, usize> = BTreeMap::new();
        for operator in sharing() {
            let all = pairs(operator, |it| operator.reference().cases(it), rank);
            all.into_iter().for_each(|it| *counts.entry(it).or_default() += 1);
        }
        let run: Pairs =
            sharing().flat_map(|it| pairs(it, |signature| it.cases(signature), rank)).collect();
        // What is of a few operators alone is not at every rank.
        let all = counts.into_iter().filter(|(_, count)| *count >= 20).map(|(it, _)| it);
        let missing: Vec<_> = all.filter(|it| !run.contains(it)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn shared_cases_of_values_have_all_types_that_go_together() {
        for operator in OPERATORS.iter().filter(|it| it.reference().shares_cases()) {
            let types = |it: &Signature| [it.type_names()];
            let values = |cases: Vec<Case>| cases.into_iter().take(1).collect::<Vec<_>>();
            let all = pairs(operator, |it| values(operator.reference().cases(it)), types);
            assert!(all.is_subset(&pairs(operator, |it| operator.cases(it), types)));
        }
    }
}
