//! Stress tests of the runtime: every fault at every place, random plans, cycles of objects, and a mixture of
//! them for any length of time.
//!
//! `cargo xtask stress` runs it on the CPU drivers; `docs/reliability.md` states the results.

#![forbid(unsafe_code)]

pub mod cycles;
pub mod faults;
pub mod fuzz;
pub mod indices;
mod load;
pub mod plans;
pub mod soak;
