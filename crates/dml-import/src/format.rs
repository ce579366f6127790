//! Detects a file's format.

use std::fmt;

use crate::error::{Error, shortened};
use crate::limits;

/// How many of a file's first bytes are examined: enough for leading white space and a word.
pub(crate) const BEGINNING: usize = 256;

/// The formats that are read, for messages.
const EXPECTED: &str = "ONNX, OpenVINO IR .xml or DxDispatch .json";

/// A model's file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// ONNX, a protobuf file.
    Onnx,
    /// OpenVINO IR, an .xml file with a .bin file beside it.
    OpenVino,
    /// DirectML's DxDispatch, a .json file.
    DxDispatch,
}

impl Format {
    /// The format of a file that begins with `bytes`. The first byte of a text format never begins a
    /// protobuf file with an ONNX model.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'<') => Self::OpenVino,
            Some(b'{' | b'/') => Self::DxDispatch,
            _ => Self::Onnx,
        }
    }

    /// Bytes of the largest file that is read.
    pub(crate) fn limit(self) -> u64 {
        match self {
            Self::Onnx => limits::ONNX_BYTES,
            Self::OpenVino => limits::XML_BYTES,
            Self::DxDispatch => limits::JSON_BYTES,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Onnx => "ONNX",
            Self::OpenVino => "OpenVINO IR",
            Self::DxDispatch => "DxDispatch",
        })
    }
}

/// The error of a file that was read as ONNX; names the actual kind of file where it is recognized.
pub(crate) fn explained(error: Error, bytes: &[u8]) -> Error {
    match foreign(bytes) {
        Some(kind) => Error::malformed(format!("not a model file ({kind}); expected {EXPECTED}")),
        None => error,
    }
}

/// The first bytes of files that are often mistaken for models.
const BEGINNINGS: [(&[u8], &str); 7] = [
    (b"\x93NUMPY", "NumPy array, .npy"),
    (b"PK\x03\x04", "zip archive, as PyTorch and NumPy write"),
    (b"\x80\x02", "Python pickle, as PyTorch writes"),
    (b"\x89HDF", "HDF5 file, as Keras writes"),
    (b"GGUF", "GGUF file"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\x7fELF", "executable"),
];

fn foreign(bytes: &[u8]) -> Option<String> {
    if bytes.is_empty() {
        return Some("empty file".to_owned());
    }
    if let Some((_, kind)) = BEGINNINGS.iter().find(|(begin, _)| bytes.starts_with(begin)) {
        return Some((*kind).to_owned());
    }
    let beginning = bytes.chunks(BEGINNING).next().unwrap_or_default();
    // The last character may be incomplete.
    let text = match std::str::from_utf8(beginning) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&beginning[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return None,
    };
    let is_text = !text.chars().any(|it| it.is_control() && !it.is_whitespace());
    let trimmed = text.trim_start_matches('\u{feff}').trim_start();
    match trimmed.chars().next() {
        Some('[') if is_text => Some("JSON array".to_owned()),
        Some(_) if is_text => {
            const SHOWN: usize = 20;
            let line: String = trimmed.chars().take(SHOWN).collect();
            Some(format!("text beginning with '{}'", shortened(line.trim_end())))
        }
        None if is_text => Some("blank text".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_their_first_byte() {
        assert_eq!(Format::of(b"\x08\x08\x12\x05"), Format::Onnx);
        assert_eq!(Format::of(b"\xef\xbb\xbf\n<?xml"), Format::OpenVino);
        assert_eq!(Format::of(b"  {"), Format::DxDispatch);
        assert_eq!(Format::of(b"// a comment"), Format::DxDispatch);
        assert_eq!(Format::of(b""), Format::Onnx);
    }

    #[test]
    fn what_a_file_is_instead_of_a_model_is_said() {
        let kind = |bytes: &[u8]| foreign(bytes).unwrap_or_default();
        assert_eq!(kind(b"hello\nworld"), "text beginning with 'hello world'");
        assert_eq!(kind(b" [1, 2]"), "JSON array");
        assert_eq!(kind(b"\n\n"), "blank text");
        assert_eq!(kind(b"\x93NUMPY\x01\x00v"), "NumPy array, .npy");
        assert_eq!(kind(b""), "empty file");
        assert_eq!(
            kind("ü".repeat(200).as_bytes()),
            format!("text beginning with '{}'", "ü".repeat(20))
        );
        assert_eq!(foreign(b"\x08\x08\x12\x05torch"), None);
        assert_eq!(foreign(b"\xff\xfe"), None);
    }
}
