//! Progress of compiling and uploading a program.

use crate::program::{Initial, Program};

/// The current phase, and how much of it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Compiling operators. The number of kernels is not known in advance.
    Compiling,
    /// Uploading the model's weights and constants.
    Uploading {
        /// Bytes uploaded.
        done: u64,
        /// Bytes to upload in total.
        total: u64,
    },
}

/// Reports each upload when it is complete.
pub(super) struct Uploads<'a> {
    tell: &'a dyn Fn(Progress),
    /// Bytes of each buffer that are still to be uploaded.
    missing: Vec<u64>,
    done: u64,
    total: u64,
}

impl<'a> Uploads<'a> {
    /// Starts with nothing uploaded.
    pub(super) fn new(program: &Program, tell: &'a dyn Fn(Progress)) -> Self {
        let missing = program.buffers.iter().map(|plan| size(&plan.initial, plan.size));
        let missing: Vec<u64> = missing.collect();
        let total = missing.iter().copied().fold(0, u64::saturating_add);
        tell(Progress::Uploading { done: 0, total });
        Self { tell, missing, done: 0, total }
    }

    /// Records that the buffer with this index has its content.
    pub(super) fn filled(&mut self, index: usize) {
        let bytes = std::mem::take(&mut self.missing[index]);
        if bytes > 0 {
            self.done = self.done.saturating_add(bytes);
            (self.tell)(Progress::Uploading { done: self.done, total: self.total });
        }
    }
}

/// How many bytes are uploaded for a buffer before the first run.
fn size(initial: &Initial, bytes: u64) -> u64 {
    match initial {
        Initial::Undefined | Initial::Input(_) => 0,
        Initial::Tensor(_) | Initial::Weight(_) | Initial::Sequence(_) => bytes,
    }
}
