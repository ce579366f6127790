//! What declared functions stand for.

use std::rc::Rc;

use super::{Body, Callee};

/// What the functions of one copy of a function stand for that it only declares.
#[derive(Clone)]
pub(super) enum Declared {
    /// Those of a library.
    Imports(Rc<[(&'static str, Callee)]>),
    /// Those of the skeleton, and the number of the instance that they are for: 0 outside of instances.
    Bodies(Rc<[Body]>, usize),
}

impl Declared {
    /// What is different wherever copies are.
    pub(super) fn description(&self) -> String {
        match self {
            Self::Imports(imports) => format!("{imports:?}"),
            Self::Bodies(_, instance) => format!("{instance}"),
        }
    }
}
