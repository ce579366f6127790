//! A failure, and all that is known about it.

use crate::report::text::milliseconds;
use crate::results::{CaseResult, Excerpt, Failure, TargetRun};

/// A case that failed.
#[derive(Clone, Debug)]
pub(super) struct CaseView<'a> {
    pub(super) id: String,
    pub(super) result: &'static str,
    pub(super) detail: &'a str,
    /// Why it was expected to fail.
    pub(super) expected: Option<String>,
    pub(super) time: String,
    /// The command that runs it again.
    pub(super) again: String,
    pub(super) failure: Option<&'a Failure>,
    pub(super) matrices: Option<MatricesView<'a>>,
}

impl<'a> CaseView<'a> {
    pub(super) fn new(case: &'a CaseResult, target: &TargetRun) -> Self {
        let failure = case.failure.as_deref();
        Self {
            id: case.id.to_string(),
            result: case.result.name(),
            detail: case.detail.as_deref().unwrap_or("no detail given"),
            expected: case.excuse(),
            time: milliseconds(case.microseconds),
            again: format!("dml-conformance show {}{}", case.id, target.options()),
            failure,
            matrices: failure.and_then(|it| it.matrices.as_ref()).map(MatricesView::new),
        }
    }
}

/// The expected and the actual matrix.
#[derive(Clone, Debug)]
pub(super) struct MatricesView<'a> {
    /// Which matrix it is, and how much of it differs.
    pub(super) place: String,
    /// The columns' indices.
    pub(super) columns: Vec<u64>,
    pub(super) sides: [SideView<'a>; 2],
}

/// One of the two.
#[derive(Clone, Debug)]
pub(super) struct SideView<'a> {
    pub(super) name: &'static str,
    /// The rows' indices and elements.
    pub(super) rows: Vec<(u64, Vec<ElementView<'a>>)>,
}

/// An element of a matrix.
#[derive(Clone, Debug)]
pub(super) struct ElementView<'a> {
    pub(super) text: &'a str,
    pub(super) differs: bool,
}

impl<'a> MatricesView<'a> {
    fn new(matrices: &'a Excerpt) -> Self {
        let [expected, actual] = [&matrices.expected, &matrices.actual];
        let rows = expected.len().max(actual.len());
        let columns = expected.iter().chain(actual).map(Vec::len).max().unwrap_or(0);
        let side = |name, side: &'a Vec<Vec<String>>| {
            let element = |row, column| ElementView {
                text: matrices.element(side, row, column).unwrap_or_default(),
                differs: matrices.differs(row, column),
            };
            let row =
                |(index, row)| (index, (0..columns).map(|column| element(row, column)).collect());
            let indices = u64::from(matrices.first_row)..;
            SideView { name, rows: indices.zip(0..rows).map(row).collect() }
        };
        Self {
            place: matrices.place(),
            columns: (u64::from(matrices.first_column)..).take(columns).collect(),
            sides: [side("expected", expected), side("actual", actual)],
        }
    }
}
