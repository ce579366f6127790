//! What the model is told of a file.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// The part of the model's configuration that matters here.
#[derive(serde::Deserialize)]
pub(crate) struct Config {
    /// So many bytes are read at either end.
    block_size: u64,
    /// So many of them are features, without white space at the ends of the file.
    beg_size: usize,
    end_size: usize,
    /// What stands for bytes that a file does not have.
    padding_token: i32,
    /// Of files with fewer bytes the model says nothing.
    min_file_size_for_dl: usize,
    /// The types, in the order of the scores.
    pub(crate) target_labels_space: Vec<String>,
}

impl Config {
    /// The first bytes, filled up after them, and the last bytes, filled up before them. `None` where
    /// there are too few.
    pub(crate) fn features(&self, file: &Path) -> io::Result<Option<Vec<i32>>> {
        let mut file = File::open(file)?;
        let size = file.metadata()?.len();
        let mut block = |start| {
            file.seek(SeekFrom::Start(start))?;
            let mut bytes = Vec::new();
            file.by_ref().take(self.block_size).read_to_end(&mut bytes).map(|_| bytes)
        };
        let first = block(0)?;
        let last = block(size.saturating_sub(self.block_size))?;
        let first = &first[first.iter().position(is_text).unwrap_or(first.len())..];
        let last = &last[..last.iter().rposition(is_text).map_or(0, |it| it + 1)];
        if first.len() < self.min_file_size_for_dl {
            return Ok(None);
        }
        let first = &first[..first.len().min(self.beg_size)];
        let last = &last[last.len().saturating_sub(self.end_size)..];
        let padding = |missing| std::iter::repeat_n(self.padding_token, missing);
        let byte = |it: &u8| i32::from(*it);
        let features = first.iter().map(byte).chain(padding(self.beg_size - first.len()));
        let features = features.chain(padding(self.end_size - last.len()));
        Ok(Some(features.chain(last.iter().map(byte)).collect()))
    }
}

/// Whether it is no white space, as Python's `strip` has it.
fn is_text(byte: &u8) -> bool {
    !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}
