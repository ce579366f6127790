//! Which cases are run with which types and ranks.
//!
//! Every case is run at every rank with some types, and with all types that go together at some rank, rather
//! than with all types at all ranks: what depends on three of them together would have to depend on a type
//! and a rank that nothing else connects. Examples that the documentation prints are run wherever they fit.

use dml_core::schema::OperatorSchema;
use dml_core::{DataType, MAX_DIMENSION_COUNT};

use super::{Case, Signature};
use crate::Operator;

impl Operator {
    /// The cases that tensors of this signature are tested with.
    pub fn cases(&self, signature: &Signature) -> Vec<Case> {
        let cases = self.reference().cases(signature);
        let Some(place) = Place::of(self.schema(), signature) else { return cases };
        let all = cases.into_iter().enumerate();
        let chosen = all.filter(|(at, case)| case.documented.is_some() || place.has(*at));
        chosen.map(|(_, case)| case).collect()
    }

    /// Whether tensors of this signature are tested with the case of this number, of cases that every
    /// signature has.
    pub fn has_case(&self, signature: &Signature, number: usize) -> bool {
        Place::of(self.schema(), signature).is_none_or(|place| place.has(number))
    }
}

/// A number among so many.
type Index = (usize, usize);

/// Where a signature stands among those that the highest level accepts.
struct Place {
    types: Index,
    rank: Index,
}

impl Place {
    /// `None` where no level accepts it.
    fn of(schema: &OperatorSchema, signature: &Signature) -> Option<Self> {
        let tensors = schema.tables.last()?.tensors;
        let mut types = (0, 1);
        for (field, data_type) in schema.type_parameters().zip(&signature.types) {
            let accepted = tensors.iter().find(|it| it.field == field.name)?.data_types;
            let accepted: Vec<DataType> = accepted.iter().collect();
            let at = accepted.iter().position(|it| it == data_type)?;
            types = (types.0 * accepted.len() + at, types.1 * accepted.len());
        }
        let ranks =
            (1..=MAX_DIMENSION_COUNT).filter(|it| tensors.iter().all(|t| t.ranks.contains(*it)));
        let ranks: Vec<usize> = ranks.collect();
        let rank = ranks.iter().position(|it| *it == signature.rank)?;
        Some(Self { types, rank: (rank, ranks.len()) })
    }

    /// Whether the case of this number is run here.
    fn has(&self, case: usize) -> bool {
        let ((types, all_types), (rank, all_ranks)) = (self.types, self.rank);
        (case + rank) % all_types == types || (case + types) % all_ranks == rank
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::OPERATORS;

    #[test]
    fn every_case_has_every_rank_and_all_types() {
        for operator in OPERATORS.iter() {
            let mut all = [HashSet::new(), HashSet::new()];
            let mut run = all.clone();
            let mut counts = [0, 0];
            for signature in Signature::all(operator.schema()) {
                if Place::of(operator.schema(), &signature).is_none() {
                    continue;
                }
                let of_all = operator.reference().cases(&signature);
                for (at, (cases, pairs)) in [of_all, operator.cases(&signature)]
                    .into_iter()
                    .zip([&mut all, &mut run])
                    .enumerate()
                {
                    counts[at] += cases.len();
                    for case in cases {
                        pairs[0].insert((case.name.clone(), format!("{:?}", signature.types)));
                        pairs[1].insert((case.name, signature.rank.to_string()));
                    }
                }
            }
            assert_eq!(all, run, "{}", operator.schema().name);
            assert!(counts[1] < counts[0], "{}", operator.schema().name);
        }
    }
}
