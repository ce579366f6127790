//! When the pipelines of a device are written to their file: while it compiles, and when it goes.
//!
//! A process can be killed at any time, and then its file has most of what it compiled. Writing the
//! whole file after every pipeline would cost the more, the more there are, so a file of many waits
//! for an eighth more: 200 pipelines are written about 35 times, and less than a ninth is ever missing.

use std::sync::{Mutex, PoisonError};

use crate::error::Result;
use crate::pipeline::file::{FileContent, PipelineFile};

/// For so many pipelines in the file, one may be missing.
const KEPT_FOR_EACH_MISSING: usize = 8;

/// The file of a device's pipelines, with what is in it.
#[derive(Debug)]
pub(crate) struct PipelineKeeper {
    file: PipelineFile,
    kept: Mutex<KeptState>,
}

#[derive(Debug)]
struct KeptState {
    content: FileContent,
    /// How many pipelines of this process are in it.
    pipelines: usize,
    /// Whether writing failed, so that it is only tried once more, at the end.
    has_failed: bool,
}

impl PipelineKeeper {
    /// Reads the file.
    pub(crate) fn new(file: PipelineFile) -> Self {
        let kept = KeptState { content: file.load(), pipelines: 0, has_failed: false };
        Self { file, kept: Mutex::new(kept) }
    }

    /// What the driver may be given; empty where there is nothing.
    pub(crate) fn content(&mut self) -> &[u8] {
        match &self.kept.get_mut().unwrap_or_else(PoisonError::into_inner).content {
            FileContent::Data(data) => data,
            FileContent::Nothing | FileContent::Rejected => &[],
        }
    }

    /// Writes what `get` gives, where enough of the `made` pipelines are not in the file; where there
    /// will be no more of them (`is_last`), any. Failures are logged.
    pub(crate) fn update(&self, made: usize, is_last: bool, get: impl FnOnce() -> Result<Vec<u8>>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.is_due(made, is_last) {
            return;
        }
        let data = match get() {
            Ok(data) => data,
            Err(error) => {
                log::warn!("the pipelines are not kept: {error}");
                kept.has_failed = true;
                return;
            }
        };
        let is_there = matches!(&kept.content, FileContent::Data(before) if *before == data);
        kept.has_failed = !is_there && !self.file.store(&data);
        if !kept.has_failed {
            (kept.content, kept.pipelines) = (FileContent::Data(data), made);
        }
    }
}

impl KeptState {
    fn is_due(&self, made: usize, is_last: bool) -> bool {
        let missing = made.saturating_sub(self.pipelines);
        if is_last {
            return missing > 0 || self.content == FileContent::Rejected;
        }
        let is_enough = missing.saturating_mul(KEPT_FOR_EACH_MISSING) >= self.pipelines;
        missing > 0 && is_enough && !self.has_failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::file::tests::{data, in_folder};

    /// What a driver gives that has made so many pipelines.
    fn of(made: usize) -> Vec<u8> {
        [data(), vec![1; made]].concat()
    }

    #[test]
    fn a_killed_process_misses_less_than_a_ninth_and_has_not_written_much() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = PipelineKeeper::new(in_folder(folder.path()));
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
        let mut keeper = PipelineKeeper::new(in_folder(folder.path()));
        assert_eq!(keeper.content(), of(3));
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
        let keeper = PipelineKeeper::new(in_folder(&place));
        keeper.update(1, false, || Ok(of(1)));
        keeper.update(2, false, || panic!("writing failed"));
        std::fs::remove_file(&place).unwrap();
        keeper.update(2, true, || Ok(of(2)));
        assert_eq!(in_folder(&place).load(), FileContent::Data(of(2)));
    }
}
