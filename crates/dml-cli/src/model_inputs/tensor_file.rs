//! Files with the values of inputs: NumPy's .npy and .npz, and the TensorProto files of ONNX's tests.

use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context as _;
use dml_import::{Tensor, npy};
use zip::ZipArchive;

use crate::files::printable;

/// The most bytes of a file, and of all arrays of an archive together.
const MAX_BYTES: u64 = 8 << 30;
const ZIP: &[u8] = b"PK\x03\x04";
const EMPTY_ZIP: &[u8] = b"PK\x05\x06";
const NPY: &[u8] = b"\x93NUMPY";

/// A file, with an array's name for an archive: `FILE` or `FILE.npz:ARRAY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TensorFile {
    path: PathBuf,
    array: Option<String>,
}

impl FromStr for TensorFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const END: &str = ".npz:";
        let file = |path: &str, array| Self { path: path.into(), array };
        match text.find(END) {
            _ if text.is_empty() => Err("the file's name is missing".to_owned()),
            Some(at) if !Path::new(text).exists() => {
                let (path, array) = text.split_at(at + END.len() - 1);
                Ok(file(path, Some(array[1..].to_owned())))
            }
            _ => Ok(file(text, None)),
        }
    }
}

impl TensorFile {
    /// The file's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the tensor.
    pub(crate) fn tensor(&self) -> anyhow::Result<Tensor> {
        let bytes = read(&self.path)?;
        let tensor = match (kind(&bytes), &self.array) {
            (Kind::Npz, _) => archived(bytes, self.array.as_deref()),
            (_, Some(_)) => Err(anyhow::anyhow!("not an .npz file, so no array can be named")),
            (Kind::Npy, None) => Ok(npy::from_bytes(bytes)?),
            (Kind::Other, None) => Tensor::from_onnx(bytes).map_err(|error| {
                anyhow::anyhow!(
                    "not a tensor file: {error}; expected NumPy .npy, .npz or ONNX TensorProto .pb"
                )
            }),
        };
        tensor.with_context(|| printable(&self.path.display().to_string()))
    }
}

/// All arrays of an archive, by name.
pub(crate) fn arrays(path: &Path) -> anyhow::Result<Vec<(String, Tensor)>> {
    let bytes = read(path)?;
    let all = match kind(&bytes) {
        Kind::Npz => all_arrays(bytes),
        Kind::Npy | Kind::Other => Err(anyhow::anyhow!(
            "only an .npz file is given without an input's name; give --input NAME=FILE"
        )),
    };
    all.with_context(|| printable(&path.display().to_string()))
}

enum Kind {
    Npy,
    Npz,
    Other,
}

fn kind(bytes: &[u8]) -> Kind {
    if bytes.starts_with(NPY) {
        Kind::Npy
    } else if bytes.starts_with(ZIP) || bytes.starts_with(EMPTY_ZIP) {
        Kind::Npz
    } else {
        Kind::Other
    }
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let read = || {
        let metadata = std::fs::metadata(path).context("cannot be read")?;
        anyhow::ensure!(metadata.is_file(), "not a regular file");
        let length = metadata.len();
        anyhow::ensure!(length <= MAX_BYTES, "{length} bytes are too many; accepted: {MAX_BYTES}");
        std::fs::read(path).context("cannot be read")
    };
    read().with_context(|| printable(&path.display().to_string()))
}

/// The array called `wanted`, or the archive's only array.
fn archived(bytes: Vec<u8>, wanted: Option<&str>) -> anyhow::Result<Tensor> {
    let mut archive = open(bytes)?;
    let names = names(&archive)?;
    let index = match wanted {
        Some(wanted) => names.iter().position(|name| name == wanted),
        None if names.len() == 1 => Some(0),
        None => anyhow::bail!(
            "has {} arrays; name one with FILE.npz:NAME: {}",
            names.len(),
            names.join(", ")
        ),
    };
    match (index, wanted) {
        (Some(index), _) => {
            let mut rest = MAX_BYTES;
            extract(&mut archive, index, &mut rest)
        }
        (None, wanted) => anyhow::bail!(
            "no array '{}'; the arrays are: {}",
            wanted.unwrap_or_default(),
            names.join(", ")
        ),
    }
}

fn all_arrays(bytes: Vec<u8>) -> anyhow::Result<Vec<(String, Tensor)>> {
    let mut archive = open(bytes)?;
    let mut rest = MAX_BYTES;
    let names = names(&archive)?.into_iter().enumerate();
    names
        .map(|(index, name)| {
            let tensor = extract(&mut archive, index, &mut rest);
            Ok((name.clone(), tensor.with_context(|| format!("array '{name}'"))?))
        })
        .collect()
}

type Archive = ZipArchive<Cursor<Vec<u8>>>;

fn open(bytes: Vec<u8>) -> anyhow::Result<Archive> {
    ZipArchive::new(Cursor::new(bytes)).context("is not an .npz file")
}

/// The arrays' names, in the archive's order.
fn names(archive: &Archive) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for index in 0..archive.len() {
        let file = archive.name_for_index(index).unwrap_or_default();
        let Some(name) = file.strip_suffix(".npy") else {
            anyhow::bail!("is not an .npz file: '{}' is not an array, .npy", printable(file));
        };
        names.push(printable(name));
    }
    Ok(names)
}

/// Reads an array of at most `rest` bytes, and subtracts its size from `rest`.
fn extract(archive: &mut Archive, index: usize, rest: &mut u64) -> anyhow::Result<Tensor> {
    let mut bytes = Vec::new();
    // A size that the archive states is not relied on.
    archive.by_index(index)?.take(*rest + 1).read_to_end(&mut bytes)?;
    let length = u64::try_from(bytes.len())?;
    *rest = rest
        .checked_sub(length)
        .with_context(|| format!("is larger than {MAX_BYTES} bytes when decompressed"))?;
    Ok(npy::from_bytes(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_named_after_the_archive() {
        let parse = |text: &str| text.parse::<TensorFile>();
        let file = |path: &str, array: Option<&str>| {
            Ok(TensorFile { path: path.into(), array: array.map(str::to_owned) })
        };
        assert_eq!(parse("a/x.npz:b:c"), file("a/x.npz", Some("b:c")));
        assert_eq!(parse("C:\\x.npz:b"), file("C:\\x.npz", Some("b")));
        assert_eq!(parse("x.npz"), file("x.npz", None));
        assert_eq!(parse("x:y.npy"), file("x:y.npy", None));
        assert_eq!(parse(""), Err("the file's name is missing".to_owned()));
    }
}
