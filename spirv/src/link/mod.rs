//! Links a skeleton with functions to one kernel.
//!
//! A *skeleton* has the structure of a kernel and calls functions that it only declares, whose names
//! begin with `linked_`. A *library* has functions, which may declare others in the same way. All are
//! GLSL, compiled and checked in. What the declared functions stand for is said here: a function of a
//! library, one that the skeleton defines, or, for one of the skeleton's, a list of calls.
//!
//! Only what is reached is copied. Types and constants are merged by what they are; variables and
//! whatever is decorated stay the skeleton's own.

mod declared;
mod emit;
mod module;
mod spirv;

pub use module::{Interface, Source};

/// What a call leads to.
#[derive(Clone, Debug)]
pub enum Callee {
    /// A function of a library.
    Function {
        /// The library.
        library: &'static Source,
        /// The function's name in GLSL.
        name: &'static str,
        /// What the functions stand for that it only declares, by their names without `linked_`.
        imports: Vec<(&'static str, Callee)>,
    },
    /// A function that the skeleton defines.
    Exported(&'static str),
    /// A copy of a function that the skeleton defines, for which the functions that the skeleton declares have bodies of
    /// its own.
    Instance {
        /// The function's name in GLSL.
        name: &'static str,
        /// As [`Bodies`].
        bodies: Vec<Body>,
    },
}

/// An argument of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Argument {
    /// The n-th parameter of the function that the call is in.
    Parameter(usize),
    /// The result of the n-th call.
    Result(usize),
    /// A `uint`.
    Literal(u32),
}

/// A call in the body that a skeleton's declared function gets.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called.
    pub callee: Callee,
    /// Its arguments.
    pub arguments: Vec<Argument>,
}

/// What a function becomes that a skeleton declares, by its name without `linked_`: it makes calls, one after the other.
pub type Body = (&'static str, Vec<Call>);

/// What all functions become that a skeleton declares.
pub type Bodies<'a> = &'a [Body];

/// The kernel of `skeleton` whose declared functions are `bodies`.
///
/// # Panics
/// Where a name is unknown or a call does not fit: skeletons, libraries and whoever names their
/// functions are one crate, and a test links all that it can name.
pub fn link(skeleton: &'static Source, bodies: Bodies<'_>) -> Vec<u32> {
    emit::Linker::new(skeleton, bodies).link()
}
