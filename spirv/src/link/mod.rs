//! Links a skeleton and functions of libraries to one kernel.
//!
//! A *skeleton* has the structure of a kernel and calls functions that it only declares, whose names
//! begin with `linked_`. A *library* has functions, which may declare others in the same way. All are
//! GLSL, compiled and checked in. The caller of [`link()`] defines the declared functions: as a function of a
//! library, one that the skeleton defines, or, for one of the skeleton's, a list of calls.
//!
//! Only functions that are reached are copied. Equal types and constants are merged; variables and decorated
//! globals stay the skeleton's own.

mod declared;
mod emit;
mod module;
mod spirv;

pub use module::{Interface, Source};

/// The function that a call calls.
#[derive(Clone, Debug)]
pub enum Callee {
    /// A function of a library.
    Function {
        /// The library.
        library: &'static Source,
        /// The function's name in GLSL.
        name: &'static str,
        /// Definitions of the functions that it only declares, by their names without `linked_`.
        imports: Vec<(&'static str, Callee)>,
    },
    /// A function that the skeleton defines.
    Exported(&'static str),
    /// A copy of a function that the skeleton defines, with bodies of its own for the functions that the skeleton
    /// declares.
    Instance {
        /// The function's name in GLSL.
        name: &'static str,
        /// The bodies of the declared functions, as in [`Bodies`].
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
    /// The called function.
    pub callee: Callee,
    /// Its arguments.
    pub arguments: Vec<Argument>,
}

/// The body of a function that a skeleton declares, by its name without `linked_`: calls in order.
pub type Body = (&'static str, Vec<Call>);

/// The bodies of all functions that a skeleton declares.
pub type Bodies<'a> = &'a [Body];

/// The kernel of `skeleton`, with `bodies` for the functions that it declares.
///
/// # Panics
/// A name is unknown or a call does not fit. Skeletons, libraries and the code that names their functions are in
/// one crate, and a test links everything that can be named.
pub fn link(skeleton: &'static Source, bodies: Bodies<'_>) -> Vec<u32> {
    emit::Linker::new(skeleton, bodies).link()
}
