//! The files that export, the script that runs and import share.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, anyhow, ensure};
use dml::core::schema::Comparison;
use dml::{DataType, TensorDesc, TensorLayout};
use dml_reference::Output;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::script;
use crate::cases::CaseId;

/// The list of what was exported.
pub const MANIFEST: &str = "manifest.json";

/// The result on Windows.
pub const RECORD: &str = "results.json";

/// The form of the manifest that this program writes and reads.
const FORMAT: u32 = 1;

/// The exported cases. Paths are relative to the folder of this file, with `/`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The form of this file.
    format: u32,
    /// The version of the program that wrote it.
    conformance_version: String,
    /// The cases.
    pub cases: Vec<ExportedCase>,
    /// How many cases are left out, by the reason.
    pub left_out: BTreeMap<String, u64>,
}

/// A case and its script.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExportedCase {
    /// Its name.
    pub id: CaseId,
    /// DirectML's name of the operator.
    pub operator: String,
    /// The script.
    pub script: String,
    /// The outputs, in DirectML's binding order.
    pub outputs: Vec<ExportedOutput>,
}

/// The expected bytes of an output, and the file into which DxDispatch writes the output.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExportedOutput {
    /// The resource in the script.
    pub resource: String,
    /// DirectML's name of the type.
    data_type: String,
    sizes: Vec<u32>,
    strides: Vec<u32>,
    /// TotalTensorSizeInBytes.
    total_size: u64,
    /// Where the tensor starts in the file of results, in bytes.
    pub offset: u64,
    #[serde(serialize_with = "write_comparison", deserialize_with = "read_comparison")]
    comparison: Comparison,
    /// The tensor as it must be; bytes that no element covers do not count.
    pub expected: String,
    /// The tensor as it may be as well, where subnormal inputs are taken for zeros.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub also_accepted: Option<String>,
    /// The file that the script writes.
    pub result: String,
}

/// The results of the scripts.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Record {
    /// The adapter that DxDispatch was asked for.
    pub adapter: Option<String>,
    /// One for each case that was started.
    pub results: Vec<RecordedResult>,
}

/// How DxDispatch ended.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecordedResult {
    /// The case.
    pub id: String,
    /// The exit code; `None` where it took too long and was ended.
    pub exit_code: Option<i64>,
    /// The program's standard output.
    #[serde(default)]
    pub stdout: String,
    /// The program's standard error.
    #[serde(default)]
    pub stderr: String,
}

impl Manifest {
    pub(super) fn new(cases: Vec<ExportedCase>, left_out: BTreeMap<String, u64>) -> Self {
        let conformance_version = env!("CARGO_PKG_VERSION").to_owned();
        Self { format: FORMAT, conformance_version, cases, left_out }
    }

    /// Reads the manifest of an export.
    ///
    /// # Errors
    /// There is none in the folder, or it has another form.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let manifest: Self = read_json(folder, MANIFEST)?;
        let format = manifest.format;
        ensure!(format == FORMAT, "{MANIFEST}: format: {format} is unknown; accepted: {FORMAT}");
        Ok(manifest)
    }
}

impl Record {
    /// Reads what `run.ps1` has recorded.
    ///
    /// # Errors
    /// There is nothing in the folder, or it is no record.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        read_json(folder, RECORD)
    }
}

fn read_json<T: DeserializeOwned>(folder: &Path, name: &str) -> anyhow::Result<T> {
    let path = folder.join(name);
    let located = || path.display().to_string();
    let bytes = std::fs::read(&path).with_context(located)?;
    // Some programs on Windows begin a file with a byte order mark.
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let mut json = serde_json::Deserializer::from_slice(text);
    serde_path_to_error::deserialize(&mut json).with_context(located)
}

impl ExportedOutput {
    /// An output of a script whose files are in `folder`.
    pub(super) fn new(folder: &str, resource: &str, output: &Output) -> Self {
        let layout = &output.layout;
        let also_accepted = output.flushed.is_some();
        Self {
            resource: resource.to_owned(),
            data_type: layout.data_type().name().to_owned(),
            sizes: layout.sizes().to_vec(),
            strides: layout.strides().to_vec(),
            total_size: layout.total_size(),
            offset: script::offset(&output.tensor),
            comparison: output.comparison,
            expected: format!("{folder}/expected/{resource}.bin"),
            also_accepted: also_accepted
                .then(|| format!("{folder}/expected/{resource}.also_accepted.bin")),
            result: format!("{folder}/{}/{resource}.bin", script::RESULTS),
        }
    }

    /// Where the elements are.
    ///
    /// # Errors
    /// The manifest says something that no tensor is.
    pub(super) fn layout(&self) -> anyhow::Result<TensorLayout> {
        let data_type: DataType = self.data_type.parse().map_err(|error| anyhow!("{error}"))?;
        let desc = TensorDesc::packed(data_type, &self.sizes).with_strides(&self.strides);
        TensorLayout::new(&desc.with_total_size(self.total_size))
            .map_err(|error| anyhow!("{}: {error}", self.resource))
    }

    pub(super) fn comparison(&self) -> Comparison {
        self.comparison
    }
}

/// A file that the manifest names, which is in the manifest's folder.
///
/// # Errors
/// It is not.
pub(super) fn inside(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let is_inside =
        Path::new(name).components().all(|component| matches!(component, Component::Normal(_)));
    ensure!(is_inside, "{MANIFEST}: {name:?} leaves the folder; accepted: a path below it");
    Ok(folder.join(name))
}

const BIT_EXACT: &str = "bit-exact";
const ULP: &str = "ulp ";

fn write_comparison<S: Serializer>(comparison: &Comparison, to: S) -> Result<S::Ok, S::Error> {
    match comparison {
        Comparison::Ulp(bound) => to.collect_str(&format_args!("{ULP}{bound}")),
        _ => to.serialize_str(BIT_EXACT),
    }
}

fn read_comparison<'de, D: Deserializer<'de>>(from: D) -> Result<Comparison, D::Error> {
    let text = String::deserialize(from)?;
    let bound = text.strip_prefix(ULP).map(str::parse);
    match bound {
        Some(Ok(bound)) => Ok(Comparison::Ulp(bound)),
        _ if text == BIT_EXACT => Ok(Comparison::BitExact),
        _ => Err(D::Error::custom(format!(
            "{text:?} is not a comparison; accepted: {BIT_EXACT:?}, \"{ULP}N\""
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_in_the_folder() {
        let folder = Path::new("export");
        assert_eq!(inside(folder, "cases/a.bin").unwrap(), folder.join("cases/a.bin"));
        for name in ["../a", "cases/../../a", "/a"] {
            let error = inside(folder, name).unwrap_err().to_string();
            assert!(error.contains("leaves the folder"), "{error}");
        }
    }

    #[test]
    fn another_comparison_is_refused_with_those_that_there_are() {
        let output = |comparison: &str| {
            let json = serde_json::json!({
                "resource": "A", "data_type": "INT8", "sizes": [1], "strides": [1], "total_size": 4,
                "offset": 0, "comparison": comparison, "expected": "a", "result": "b"
            });
            serde_json::from_value::<ExportedOutput>(json).map(|it| it.comparison)
        };
        assert_eq!(output("bit-exact").unwrap(), Comparison::BitExact);
        assert_eq!(output("ulp 3").unwrap(), Comparison::Ulp(3));
        let error = output("ulp x").unwrap_err().to_string();
        assert!(error.contains("accepted: \"bit-exact\", \"ulp N\""), "{error}");
    }
}
