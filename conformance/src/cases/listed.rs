//! Cases to run, as a list of ids, because an operator takes a thousand times as much memory.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Case, CaseId, Finder};

/// Cases to run, in order.
pub type Listing = Arc<[Listed]>;

/// The kind of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An operator is executed, and its outputs are compared.
    Outputs,
    /// A descriptor is refused before anything is executed.
    Refusal,
    /// Wrong bindings are refused, and right ones are accepted: only a Vulkan device can run it, because only
    /// there buffers are bound.
    Binding,
}

/// A case to run.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its id.
    pub id: CaseId,
    /// The kind of the case, which decides which targets can run it.
    pub kind: Kind,
    /// The case itself, if it is not found by its id.
    made: Option<Box<Case>>,
}

impl Listed {
    /// `case`, which is found by its id.
    pub(crate) fn generated(case: Case) -> Self {
        Self { kind: case.kind(), id: case.id, made: None }
    }

    /// A case that is not found by its id.
    #[cfg(test)]
    pub(crate) fn unknown(id: CaseId) -> Self {
        Self { id, kind: Kind::Outputs, made: None }
    }

    /// The case itself. `None` if it is not found by its id.
    pub(crate) fn case(&self, finder: &mut Finder) -> Option<Cow<'_, Case>> {
        match &self.made {
            Some(case) => Some(Cow::Borrowed(case)),
            None => finder.find(&self.id).map(Cow::Owned),
        }
    }
}

impl From<&Case> for Listed {
    fn from(case: &Case) -> Self {
        Self { id: case.id.clone(), kind: case.kind(), made: Some(Box::new(case.clone())) }
    }
}

/// A list of these cases, which need not be in any table.
pub fn listing(cases: &[Case]) -> Listing {
    cases.iter().map(Listed::from).collect()
}
