//! Writes the pipelines of a device to their file: while it compiles, and when it is destroyed.
//!
//! A process can be killed at any time, and the file should then have most of its pipelines. Writing the whole file
//! after every pipeline would take quadratic time, so the file is written when an eighth more is unsaved: 200
//! pipelines are written about 35 times, and less than a ninth is ever missing.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Result;
use crate::pipeline::file::{FileContent, PipelineFile};

/// The file is written when the unsaved pipelines exceed this part of the saved ones.
const KEPT_FOR_EACH_MISSING: usize = 8;

/// The file of a device's pipelines, and the state of its contents.
#[derive(Debug)]
pub(crate) struct PipelineKeeper {
    file: PipelineFile,
    kept: Mutex<KeptState>,
}

#[derive(Debug)]
struct KeptState {
    /// The digest of the data in the file; `None` if it has no usable data.
    data: Option<Digest>,
    /// Whether a file exists that has to be replaced.
    is_rejected: bool,
    /// The number of this process's pipelines in the file.
    pipelines: usize,
    /// Whether writing failed, so that only one more attempt is made, at the end.
    has_failed: bool,
    /// Whether a thread is fetching data from the driver or writing them, which happens without the lock.
    is_writing: bool,
}

/// The length and a hash of a driver's data, which may be large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digest(usize, u64);

impl Digest {
    fn of(data: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        data.hash(&mut hasher);
        Self(data.len(), hasher.finish())
    }
}

impl PipelineKeeper {
    /// Reads the file. Also returns the data for the driver; empty if there are none.
    pub(crate) fn new(file: PipelineFile) -> (Self, Vec<u8>) {
        let content = file.load();
        let is_rejected = content == FileContent::Rejected;
        let data = match content {
            FileContent::Data(data) => Some(data),
            FileContent::Nothing | FileContent::Rejected => None,
        };
        let kept = KeptState {
            data: data.as_deref().map(Digest::of),
            is_rejected,
            pipelines: 0,
            has_failed: false,
            is_writing: false,
        };
        (Self { file, kept: Mutex::new(kept) }, data.unwrap_or_default())
    }

    /// Writes the data of `get` if enough of the `made` pipelines are not in the file; if `is_last`, as no
    /// more will be made, even for one. Failures are logged. Returns at once if another thread is writing.
    pub(crate) fn update(&self, made: usize, is_last: bool, get: impl FnOnce() -> Result<Vec<u8>>) {
        let before = {
            let mut kept = self.lock();
            if kept.is_writing || !kept.is_due(made, is_last) {
                return;
            }
            kept.is_writing = true;
            kept.data
        };
        let stored = match get() {
            Ok(data) => {
                let digest = Digest::of(&data);
                (before == Some(digest) || self.file.store(&data)).then_some(digest)
            }
            Err(error) => {
                log::warn!("the pipelines are not kept: {error}");
                None
            }
        };
        let mut kept = self.lock();
        (kept.is_writing, kept.has_failed) = (false, stored.is_none());
        if stored.is_some() {
            (kept.data, kept.is_rejected, kept.pipelines) = (stored, false, made);
        }
    }

    fn lock(&self) -> MutexGuard<'_, KeptState> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptState {
    fn is_due(&self, made: usize, is_last: bool) -> bool {
        let missing = made.saturating_sub(self.pipelines);
        if is_last {
            return missing > 0 || self.is_rejected;
        }
        let is_enough = missing.saturating_mul(KEPT_FOR_EACH_MISSING) >= self.pipelines;
        missing > 0 && is_enough && !self.has_failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::file::tests::{data, in_folder};

    /// The data of a driver that has made so many pipelines.
    fn of(made: usize) -> Vec<u8> {
        [data(), vec![1; made]].concat()
    }

    #[test]
    fn a_killed_process_misses_less_than_a_ninth_and_has_not_written_much() {
        let folder = tempfile::tempdir().unwrap();
        let (keeper, _) = PipelineKeeper::new(in_folder(folder.path()));
        let mut asked = 0;
        for made in 1..=200 {
            // Again and again: what is already there is not asked for.
            for _ in 0..2 {
                keeper.update(made, false, || {
                    asked += 1;
                    Ok(of(made))
                });
            }
            let FileContent::Data(found) = in_folder(folder.path()).load() else {
                panic!("no file")
            };
            let missing = of(made).len() - found.len();
            assert!(missing * 9 < made, "{missing} of {made} are missing");
        }
        assert!(asked < 40, "asked {asked} times");
        keeper.update(200, true, || Ok(of(200)));
        assert_eq!(in_folder(folder.path()).load(), FileContent::Data(of(200)));
    }

    #[test]
    fn what_the_file_holds_is_not_written_again() {
        let folder = tempfile::tempdir().unwrap();
        assert!(in_folder(folder.path()).store(&of(3)));
        let (keeper, data) = PipelineKeeper::new(in_folder(folder.path()));
        assert_eq!(data, of(3));
        std::fs::remove_dir_all(folder.path()).unwrap();
        keeper.update(3, false, || Ok(of(3)));
        keeper.update(3, true, || panic!("nothing is missing"));
        assert_eq!(in_folder(folder.path()).load(), FileContent::Nothing);
    }

    #[test]
    fn after_a_failure_it_is_tried_once_more_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("made later");
        std::fs::write(&place, b"a file").unwrap();
        let (keeper, _) = PipelineKeeper::new(in_folder(&place));
        keeper.update(1, false, || Ok(of(1)));
        keeper.update(2, false, || panic!("writing failed"));
        std::fs::remove_file(&place).unwrap();
        keeper.update(2, true, || Ok(of(2)));
        assert_eq!(in_folder(&place).load(), FileContent::Data(of(2)));
    }

    #[test]
    fn while_one_thread_writes_others_do_not_wait() {
        let folder = tempfile::tempdir().unwrap();
        let (keeper, _) = PipelineKeeper::new(in_folder(folder.path()));
        keeper.update(1, false, || {
            // The driver is asked without the lock: this call would wait for ever otherwise.
            keeper.update(2, false, || panic!("another thread is writing"));
            Ok(of(1))
        });
        assert_eq!(in_folder(folder.path()).load(), FileContent::Data(of(1)));
        keeper.update(2, true, || Ok(of(2)));
        assert_eq!(in_folder(folder.path()).load(), FileContent::Data(of(2)));
    }
}
