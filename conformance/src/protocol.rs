//! The messages between the runner and its worker processes.
//!
//! The runner writes one request as a line of JSON, then ids of cases or the folders of tests, one a line.
//!
//! They are answered in their order: the case in progress is the first without an answer.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::cases::CaseId;
use crate::execute::Details;
use crate::results::CaseResult;
use crate::results::onnx::Ended;
use crate::target::{Survey, Target};

/// The first line that a worker reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Request {
    /// Report the targets.
    Survey(Survey),
    /// Run cases on a target.
    Open {
        /// The target.
        target: Box<Target>,
        /// The cases whose matrices are kept.
        details: Details,
    },
    /// Write files about the dispatches of a case.
    Dump {
        /// The target.
        target: Box<Target>,
        /// The case.
        case: CaseId,
        /// An empty folder for the files.
        folder: PathBuf,
    },
    /// Run tests of models on a target.
    OpenForModels {
        /// The target.
        target: Box<Target>,
        /// The kind of tests.
        kind: ModelTests,
    },
}

/// Tests of models from other projects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ModelTests {
    /// Folders of the `onnx` package.
    Onnx,
    /// Folders like those of the `onnx` package, with whole models.
    Models,
    /// JSON of WebNN's web platform tests.
    Webnn,
}

/// The reply of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reply {
    /// The reply to [`Request::Survey`].
    Targets(Vec<Target>),
    /// The reply to [`Request::Dump`]: the files are written.
    Dumped,
    /// The target is open: cases may be sent.
    Ready,
    /// A case has ended.
    Finished {
        /// The result.
        case: Box<CaseResult>,
        /// Whether the worker ends, because its device is lost.
        is_last: bool,
    },
    /// A test of a model has ended.
    Tested {
        /// The test.
        test: String,
        /// The outcome.
        ended: Ended,
        /// Whether the worker ends, because its device is lost.
        is_last: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::{Refusal, receive, reply};
    use crate::results::{CaseError, CaseKernels, ResultCode, samples};

    type Answer = Result<Reply, Refusal>;

    fn line(sent: &Reply) -> String {
        let mut bytes = Vec::new();
        reply(&mut bytes, Ok(sent)).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.ends_with('\n') && text.matches('\n').count() == 1);
        text.trim_end().to_owned()
    }

    #[test]
    fn a_result_arrives_as_it_was_sent() {
        let mut sent = samples::case("5_1/a/int8/rank1/b", ResultCode::Fail);
        sent.detail = Some("two\nlines and \u{1e}".to_owned());
        sent.digest = Some(u64::MAX - 1);
        let error = |ulp| CaseError { data_type: "FLOAT32".to_owned(), allowed: 1, ulp };
        sent.errors = [None, Some(u64::MAX)].map(error).to_vec();
        sent.dispatched = true;
        sent.kernels = CaseKernels { ran: [0, u64::MAX].into(), pipelines: 3 };
        let line = line(&Reply::Finished { case: Box::new(sent.clone()), is_last: true });
        match receive::<Answer>(&line) {
            ("", Some(Ok(Reply::Finished { case, is_last: true }))) => assert_eq!(*case, sent),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_driver_prints_is_set_apart() {
        assert!(matches!(receive("hello"), ("hello", None::<Answer>)));
        let line = format!("hello{}", line(&Reply::Ready));
        assert!(
            matches!(receive(&line), ("hello", Some(Ok::<_, Refusal>(Reply::Ready)))),
            "{line}"
        );
        assert!(matches!(receive("\u{1e}{\"torn"), (_, None::<Answer>)));
    }
}
