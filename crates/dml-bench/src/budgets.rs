//! Budgets of plans: what a GPU is asked to do, counted without one.
//!
//! A plan is data, so its dispatches, barriers and bytes can be counted where there is no Vulkan device. Each
//! [work](Work) is lowered for each [profile](Profile) with the tuning that a device of its type has; the
//! [`Counts`] of its plans are a row of the checked-in table `budgets.txt`. A test compares, so that a change
//! which makes a plan worse, or better, shows in the change itself. docs/gpu-without-a-gpu.md says how to read
//! the table, and what it does not know.

mod counts;
mod dispatches;
mod file;
mod models;
mod profiles;
mod table;
mod work;
mod works;

use anyhow::Result;

pub use counts::{Counts, Plans};
pub use dispatches::PlannedDispatch;
pub use file::TableFile;
pub use models::of_folder;
pub use profiles::{Profile, profiles};
pub use table::{Change, Column, Table, WorkCount};
pub use work::Work;
pub use works::{names, work, works};

/// The counts of all `works` on every profile, as they are now.
///
/// # Errors
/// A work cannot be bound to its inputs, or a profile's device cannot carry it.
pub fn measured(works: &[Work]) -> Result<Table> {
    let profiles = profiles()?;
    let mut rows = Vec::new();
    for work in works {
        for profile in &profiles {
            let counts = work.counts(profile)?;
            rows.push(WorkCount { work: work.name.clone(), profile: profile.name.clone(), counts });
        }
    }
    Ok(Table { rows })
}
