//! What the runtime is put through before it is trusted: every fault at every place, random plans,
//! cycles of objects, and all of it mixed for as long as one likes.
//!
//! `cargo xtask stress` runs it on the CPU drivers; `docs/reliability.md` states what came of it.

#![forbid(unsafe_code)]

pub mod cycles;
pub mod faults;
pub mod fuzz;
pub mod indices;
mod load;
pub mod plans;
pub mod soak;
