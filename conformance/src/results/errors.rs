//! How far results were from what they must be, where some distance is allowed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CaseError, CaseResult};

/// The largest error of an operator's outputs of one type on a target, over all cases that were
/// executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargestError {
    /// The operator's name.
    pub operator: String,
    /// The outputs' type.
    pub data_type: String,
    /// How far elements may be from the reference's, in units in the last place.
    pub allowed: u32,
    /// How far the farthest is; `None` where one has no distance, such as a NaN in the place of a number.
    pub ulp: Option<u64>,
    /// How many cases were executed.
    pub cases: u64,
}

/// The largest errors of cases so far, by operator, data type and what is allowed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Largest(BTreeMap<(String, String, u32), (Option<u64>, u64)>);

impl Largest {
    /// Counts those of a case, which are gone from it then.
    pub(crate) fn take(&mut self, case: &mut CaseResult) {
        for CaseError { data_type, allowed, ulp } in std::mem::take(&mut case.errors) {
            let key = (case.id.operator.to_uppercase(), data_type, allowed);
            let (largest, count) = self.0.entry(key).or_insert((Some(0), 0));
            *largest = largest.zip(ulp).map(|(largest, ulp)| largest.max(ulp));
            *count += 1;
        }
    }

    /// All of them.
    pub(crate) fn finish(self) -> Vec<LargestError> {
        let error = |((operator, data_type, allowed), (ulp, cases))| LargestError {
            operator,
            data_type,
            allowed,
            ulp,
            cases,
        };
        self.0.into_iter().map(error).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{ResultCode, samples};

    fn case(id: &str, errors: &[(&str, u32, Option<u64>)]) -> CaseResult {
        let error = |(data_type, allowed, ulp): &(&str, u32, _)| CaseError {
            data_type: (*data_type).to_owned(),
            allowed: *allowed,
            ulp: *ulp,
        };
        let errors = errors.iter().map(error).collect();
        CaseResult { errors, ..samples::case(id, ResultCode::Pass) }
    }

    #[test]
    fn the_largest_counts_for_each_operator_type_and_bound() {
        let mut cases = [
            case("5_1/b/float32/rank1/one", &[("FLOAT32", 2, Some(1))]),
            case("5_1/a/float32/rank1/one", &[("FLOAT32", 2, Some(0)), ("FLOAT16", 2, Some(0))]),
            case("5_1/a/float32/rank1/two", &[("FLOAT32", 2, Some(7))]),
            case("5_1/a/float32/rank1/three", &[("FLOAT32", 2, Some(3))]),
            case("5_1/a/float32/rank1/exact", &[("FLOAT32", 0, Some(0))]),
            case("5_1/b/float32/rank1/two", &[("FLOAT32", 2, None)]),
            case("5_1/b/float32/rank1/three", &[("FLOAT32", 2, Some(9))]),
            case("5_1/c/int8/rank1/one", &[]),
        ];
        let mut largest = Largest::default();
        cases.iter_mut().for_each(|case| largest.take(case));
        let found = largest.finish();
        let rows: Vec<_> = found
            .iter()
            .map(|it| (&*it.operator, &*it.data_type, it.allowed, it.ulp, it.cases))
            .collect();
        assert_eq!(
            rows,
            [
                ("A", "FLOAT16", 2, Some(0), 1),
                ("A", "FLOAT32", 0, Some(0), 1),
                ("A", "FLOAT32", 2, Some(7), 3),
                ("B", "FLOAT32", 2, None, 3),
            ]
        );
        assert!(cases.iter().all(|case| case.errors.is_empty()));
    }
}
