//! Functions in the place of entry points that the injector does not know. They may be looked up, as
//! whole tables are, but a call ends the process.

use std::ffi::{CStr, CString};
use std::sync::{Mutex, PoisonError};

use dml_vk::ash::vk;

const ROWS: usize = 32;
const COLUMNS: usize = 32;

/// The name that each function stands for.
static NAMES: Mutex<Vec<CString>> = Mutex::new(Vec::new());

/// Reads no argument and does not return, so any signature is its own.
unsafe extern "system" fn unknown<const ROW: usize, const COLUMN: usize>() {
    let names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let name = names.get(ROW * COLUMNS + COLUMN).map(|it| it.to_string_lossy().into_owned());
    log_and_abort(&name.unwrap_or_default());
}

#[allow(clippy::print_stderr, reason = "the process ends here, and says why")]
fn log_and_abort(name: &str) -> ! {
    eprintln!(
        "{name} was called, which the fault injector does not know: add it to \
         crates/dml-fault/src/table.rs with the failures that Vulkan documents for it"
    );
    std::process::abort()
}

type Function = unsafe extern "system" fn();

macro_rules! row {
    ($row:literal: $($column:literal)*) => { [$(unknown::<$row, $column> as Function),*] };
}

macro_rules! rows {
    ($($row:literal)*) => {
        [$(row!($row: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
            16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)),*]
    };
}

static FUNCTIONS: [[Function; COLUMNS]; ROWS] =
    rows!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);

/// The function that stands for `name`.
pub(crate) fn replacement(name: &CStr) -> vk::PFN_vkVoidFunction {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let index = names.iter().position(|it| it.as_c_str() == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    // Vulkan has fewer functions than this in the tables that are loaded; beyond, none is found.
    FUNCTIONS.as_flattened().get(index).copied()
}
