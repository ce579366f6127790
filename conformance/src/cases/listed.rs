//! Cases that are to be run: by their names, since an operator is a thousand times as large.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Case, CaseId, Finder};

/// Cases that are to be run, in their order.
pub type Listing = Arc<[Listed]>;

/// What kind of case it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An operator is executed and has outputs.
    Outputs,
    /// Something is refused before anything is executed.
    Refusal,
    /// Wrong bindings are refused, and right ones are not: only a Vulkan device can run it, since there is
    /// nothing else to bind a buffer to.
    Binding,
}

/// A case that is to be run.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its name.
    pub id: CaseId,
    /// What it needs.
    pub kind: Kind,
    /// The whole of it, where its name does not lead to it.
    made: Option<Box<Case>>,
}

impl Listed {
    /// `case`, which its name leads to.
    pub(crate) fn generated(case: Case) -> Self {
        Self { kind: case.kind(), id: case.id, made: None }
    }

    /// A case that no name leads to.
    #[cfg(test)]
    pub(crate) fn unknown(id: CaseId) -> Self {
        Self { id, kind: Kind::Outputs, made: None }
    }

    /// The whole of it. `None` where its name does not lead to it.
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

/// These cases, whether or not there are such ones in any table.
pub fn listing(cases: &[Case]) -> Listing {
    cases.iter().map(Listed::from).collect()
}
