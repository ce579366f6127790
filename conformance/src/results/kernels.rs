//! The kernels that cases ran, and the pipelines that were made: the work of a driver's compiler.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{CaseKernels, CaseResult};

/// The kernels and pipelines that a target's driver was asked to compile and to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelUse {
    /// The number of different kernels that ran.
    pub distinct: u64,
    /// The number of pipelines that were made. Each worker process makes its own, so it depends on the number
    /// of workers.
    pub pipelines: u64,
    /// The counts for each operator with a case that dispatched a kernel.
    pub operators: Vec<OperatorKernels>,
}

/// The kernels of one operator's cases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorKernels {
    /// The operator's name.
    pub operator: String,
    /// The number of different kernels that ran.
    pub distinct: u64,
    /// The number of pipelines that were made; a pipeline of an earlier case of another operator is not made again.
    pub pipelines: u64,
}

impl KernelUse {
    /// The counts of an operator.
    pub fn of(&self, operator: &str) -> Option<&OperatorKernels> {
        self.operators.iter().find(|it| it.operator == operator)
    }
}

/// The kernels of cases so far, by operator.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelTally(BTreeMap<String, CaseKernels>);

impl KernelTally {
    /// Counts the kernels of a case, and removes them from it.
    pub(crate) fn take(&mut self, case: &mut CaseResult) {
        let CaseKernels { ran, pipelines } = std::mem::take(&mut case.kernels);
        if ran.is_empty() && pipelines == 0 {
            return;
        }
        let counted = self.0.entry(case.id.operator.to_uppercase()).or_default();
        counted.ran.extend(ran);
        counted.pipelines += pipelines;
    }

    /// The counts.
    pub(crate) fn finish(self) -> KernelUse {
        let distinct: BTreeSet<u64> = self.0.values().flat_map(|it| &it.ran).copied().collect();
        let pipelines = self.0.values().map(|it| it.pipelines).sum();
        let counts = |(operator, counted): (String, CaseKernels)| OperatorKernels {
            operator,
            distinct: counted.ran.len() as u64,
            pipelines: counted.pipelines,
        };
        let operators = self.0.into_iter().map(counts).collect();
        KernelUse { distinct: distinct.len() as u64, pipelines, operators }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{ResultCode, samples};

    #[test]
    fn a_kernel_that_operators_share_counts_once_for_the_target_and_once_for_each() {
        let case = |id: &str, ran: &[u64], pipelines| {
            let kernels = CaseKernels { ran: ran.iter().copied().collect(), pipelines };
            CaseResult { kernels, ..samples::case(id, ResultCode::Pass) }
        };
        let mut cases = [
            case("5_1/b/float32/rank1/one", &[7, 8], 2),
            case("5_1/a/float32/rank1/one", &[8], 0),
            case("5_1/b/float32/rank1/two", &[7, u64::MAX], 1),
            case("5_1/c/float32/rank1/made_by_the_host", &[], 0),
        ];
        let mut tally = KernelTally::default();
        cases.iter_mut().for_each(|case| tally.take(case));
        let found = tally.finish();
        let counts = |name: &str| found.of(name).map(|it| (it.distinct, it.pipelines));
        assert_eq!((found.distinct, found.pipelines), (3, 3));
        assert_eq!((counts("A"), counts("B"), counts("C")), (Some((1, 0)), Some((3, 3)), None));
        assert!(cases.iter().all(|case| case.kernels.is_empty()));
    }
}
