//! How far a program is on its way to a device.

use crate::program::{Initial, Program};

/// What is being done, and how much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Operators are compiled: how many kernels they have is not known before.
    Compiling,
    /// So many of `total` bytes of the model are on the device.
    Uploading {
        /// Bytes that are there.
        done: u64,
        /// All of them.
        total: u64,
    },
}

/// Tells of uploads, as they end.
pub(super) struct Uploads<'a> {
    tell: &'a dyn Fn(Progress),
    /// Bytes of each buffer that are not there.
    missing: Vec<u64>,
    done: u64,
    total: u64,
}

impl<'a> Uploads<'a> {
    /// Nothing of the program is there.
    pub(super) fn new(program: &Program, tell: &'a dyn Fn(Progress)) -> Self {
        let missing = program.buffers.iter().map(|plan| size(&plan.initial, plan.size));
        let missing: Vec<u64> = missing.collect();
        let total = missing.iter().copied().fold(0, u64::saturating_add);
        tell(Progress::Uploading { done: 0, total });
        Self { tell, missing, done: 0, total }
    }

    /// The buffer with this number is as it is before the first run.
    pub(super) fn filled(&mut self, index: usize) {
        let bytes = std::mem::take(&mut self.missing[index]);
        if bytes > 0 {
            self.done = self.done.saturating_add(bytes);
            (self.tell)(Progress::Uploading { done: self.done, total: self.total });
        }
    }
}

/// What of a buffer is uploaded before the first run.
fn size(initial: &Initial, bytes: u64) -> u64 {
    match initial {
        Initial::Undefined | Initial::Input(_) => 0,
        Initial::Tensor(_) | Initial::Weight(_) | Initial::Sequence(_) => bytes,
    }
}
