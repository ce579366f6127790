//! The features of a file that the model classifies.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// The part of the model's configuration that this example needs.
#[derive(serde::Deserialize)]
pub(crate) struct Config {
    /// The number of bytes read at either end of the file.
    block_size: u64,
    /// How many of these bytes are features, after stripping white space at the ends of the file.
    beg_size: usize,
    end_size: usize,
    /// The token that pads files that are too short.
    padding_token: i32,
    /// The model does not classify files with fewer bytes.
    min_file_size_for_dl: usize,
    /// The types, in the order of the scores.
    pub(crate) target_labels_space: Vec<String>,
}

impl Config {
    /// The first bytes, padded at the end, followed by the last bytes, padded at the start. `None` if the file
    /// is too short.
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

/// Whether the byte is not white space by Python's `strip`.
fn is_text(byte: &u8) -> bool {
    !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}
