//! The definitions of functions that a skeleton or a library only declares.

use std::rc::Rc;

use super::{Body, Callee};

/// The definitions of the functions that one copy of a function only declares.
#[derive(Clone)]
pub(super) enum Declared {
    /// Definitions of the functions that a library declares.
    Imports(Rc<[(&'static str, Callee)]>),
    /// Bodies of the functions that the skeleton declares, and the number of their instance: 0 outside
    /// of instances.
    Bodies(Rc<[Body]>, usize),
}

impl Declared {
    /// A text that tells copies with different definitions apart.
    pub(super) fn description(&self) -> String {
        match self {
            Self::Imports(imports) => format!("{imports:?}"),
            Self::Bodies(_, instance) => format!("{instance}"),
        }
    }
}
