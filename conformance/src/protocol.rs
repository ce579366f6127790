//! What the runner and its worker processes say to each other.
//!
//! The runner writes one request as a line of JSON, then ids of cases or the places of tests, one a line.
//!
//! They are answered in the order in which they came: the one in progress is the first without an
//! answer.

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
    /// Tell which targets there are.
    Survey(Survey),
    /// Run cases on a target.
    Open {
        /// Where.
        target: Box<Target>,
        /// Of which cases the matrices are wanted.
        details: Details,
    },
    /// Write files about the dispatches of a case.
    Dump {
        /// Where.
        target: Box<Target>,
        /// Which.
        case: CaseId,
        /// Into which empty folder.
        folder: PathBuf,
    },
    /// Run tests of models on a target.
    OpenForModels {
        /// Where.
        target: Box<Target>,
        /// Which tests these are.
        kind: ModelTests,
    },
}

/// Tests of models that others wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ModelTests {
    /// Folders of the `onnx` package.
    Onnx,
    /// The same, of whole models.
    Models,
    /// JSON of WebNN's web platform tests.
    Webnn,
}

/// What a worker answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reply {
    /// To [`Request::Survey`].
    Targets(Vec<Target>),
    /// To [`Request::Dump`]: the files are written.
    Dumped,
    /// The target is open: cases may come.
    Ready,
    /// A case has ended.
    Finished {
        /// How.
        case: Box<CaseResult>,
        /// The worker ends: its device is lost.
        is_last: bool,
    },
    /// A test of a model has ended.
    Tested {
        /// Which.
        test: String,
        /// How.
        ended: Ended,
        /// The worker ends: its device is lost.
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
