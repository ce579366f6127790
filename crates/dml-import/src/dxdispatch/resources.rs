//! Resources: buffers and what is in them at the start.

use std::path::Path;

use dml_core::DataType;
use serde_json::Value;

use crate::element::ElementType;
use crate::error::{Error, Result};
use crate::program::Initial;
use crate::sequence::Sequence;
use crate::tensor::Tensor;
use crate::{files, limits, npy};

use super::json::{Fields, refused};
use super::numbers;

/// A buffer.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) name: String,
    /// The type that it is printed in.
    pub(super) data_type: DataType,
    pub(super) initial: Initial,
    /// Bytes asked for, not rounded.
    pub(super) size: u64,
}

impl Resource {
    pub(super) fn read(name: &str, json: &Value, folder: Option<&Path>) -> Result<Self> {
        let fields = Fields::of(format!("resources.{}", crate::error::shortened(name)), json)?;
        let data_type = data_type(&fields, TYPE)?;
        let required = || data_type.required(&fields.at(TYPE));
        let (data_type, initial) = match fields.get("initialValues") {
            None => (data_type.or_bytes(), Initial::Undefined),
            Some(Value::Array(values)) => match data_type {
                DeclaredType::Unknown => mixed(&fields, values)?,
                _ => array(&fields, values, required()?)?,
            },
            Some(object) => {
                let object = Fields::of(fields.at("initialValues"), object)?;
                match object.get("sourcePath") {
                    Some(_) => file(&object, required, folder)?,
                    None => sequence(&object, required()?)?,
                }
            }
        };
        let bytes = match &initial {
            Initial::Tensor(tensor) => tensor.bytes().len() as u64,
            Initial::Sequence(sequence) => sequence.size(),
            _ => 0,
        };
        let size = fields.integer("sizeInBytes")?.unwrap_or(bytes);
        if size < bytes.max(1) || size > limits::TENSOR_BYTES {
            let accepted = format!("{} to {}", bytes.max(1), limits::TENSOR_BYTES);
            return Err(refused(&fields.at("sizeInBytes"), &size.into(), "is no size", accepted));
        }
        Ok(Self { name: name.to_owned(), data_type, initial, size })
    }

    /// How many elements it has in its own type.
    pub(super) fn element_count(&self) -> u64 {
        self.size / u64::from(self.data_type.bits() / 8)
    }
}

/// The field with the type of initial values.
const TYPE: &str = "initialValuesDataType";

/// What a field says of a type.
#[derive(Clone, Copy)]
enum DeclaredType {
    Absent,
    Unknown,
    Known(DataType),
}

/// Those of 8 bits and more.
const ACCEPTED: &str = "FLOAT32, FLOAT16, UINT32, UINT16, UINT8, INT32, INT16, INT8, FLOAT64, UINT64, \
                        INT64";

impl DeclaredType {
    /// The type, which the field at `path` has to say.
    fn required(self, path: &str) -> Result<DataType> {
        match self {
            Self::Known(data_type) => Ok(data_type),
            _ => Err(refused(path, &Value::Null, "is missing", ACCEPTED)),
        }
    }

    fn or_bytes(self) -> DataType {
        match self {
            Self::Known(data_type) => data_type,
            _ => DataType::Uint8,
        }
    }
}

fn data_type(fields: &Fields<'_>, name: &str) -> Result<DeclaredType> {
    let Some(json) = fields.get(name) else { return Ok(DeclaredType::Absent) };
    let text = json.as_str().unwrap_or_default();
    let upper = text.to_ascii_uppercase();
    if upper.strip_prefix("DML_TENSOR_DATA_TYPE_").unwrap_or(&upper) == "UNKNOWN" {
        return Ok(DeclaredType::Unknown);
    }
    match text.parse::<DataType>() {
        Ok(data_type) if data_type.bits() >= 8 => Ok(DeclaredType::Known(data_type)),
        _ => Err(fields.refused(name, "is no data type of initial values", ACCEPTED)),
    }
}

fn array(
    fields: &Fields<'_>,
    values: &[Value],
    data_type: DataType,
) -> Result<(DataType, Initial)> {
    let mut bytes = Vec::new();
    for (index, value) in values.iter().enumerate() {
        push(&mut bytes, value, data_type, || fields.at(&format!("initialValues[{index}]")))?;
    }
    tensor(fields, data_type, bytes)
}

/// Values of types of their own, one after the other.
fn mixed(fields: &Fields<'_>, values: &[Value]) -> Result<(DataType, Initial)> {
    let mut bytes = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let value = Fields::of(fields.at(&format!("initialValues[{index}]")), value)?;
        let data_type = data_type(&value, "type")?.required(&value.at("type"))?;
        push(&mut bytes, value.required("value")?, data_type, || value.at("value"))?;
    }
    tensor(fields, DataType::Uint8, bytes)
}

fn push(
    bytes: &mut Vec<u8>,
    value: &Value,
    data_type: DataType,
    path: impl Fn() -> String,
) -> Result<()> {
    let bits = numbers::bits(value, data_type)
        .ok_or_else(|| refused(&path(), value, "is no value of its type", data_type))?;
    bytes.extend_from_slice(&bits.to_le_bytes()[..data_type.bits() as usize / 8]);
    Ok(())
}

fn tensor(fields: &Fields<'_>, data_type: DataType, bytes: Vec<u8>) -> Result<(DataType, Initial)> {
    if bytes.is_empty() {
        return Err(fields.refused("initialValues", "is empty", "one value or more"));
    }
    let count = bytes.len() as u64 / u64::from(data_type.bits() / 8);
    let tensor = Tensor::new(ElementType::Dml(data_type), [count], bytes)?;
    Ok((data_type, Initial::Tensor(tensor)))
}

/// `{valueCount, value}` and `{valueCount, valueStart, valueDelta}`.
fn sequence(object: &Fields<'_>, data_type: DataType) -> Result<(DataType, Initial)> {
    let bits = |name| {
        let json = object.required(name)?;
        numbers::bits(json, data_type)
            .ok_or_else(|| object.refused(name, "is no value of its type", data_type))
    };
    let count = object.integer("valueCount")?.unwrap_or(0);
    let (first, delta) = match object.get("value") {
        Some(_) => (bits("value")?, 0),
        None => (bits("valueStart")?, bits("valueDelta")?),
    };
    let sequence = Sequence { data_type, count, first, delta };
    if count == 0 || sequence.size() > limits::TENSOR_BYTES {
        let accepted = format!("1 to {}", limits::TENSOR_BYTES / u64::from(data_type.bits() / 8));
        return Err(refused(
            &object.at("valueCount"),
            &count.into(),
            "is no number of values",
            accepted,
        ));
    }
    Ok((data_type, Initial::Sequence(sequence)))
}

/// `{sourcePath}`: NumPy's .npy, or raw elements of the type given.
fn file(
    object: &Fields<'_>,
    data_type: impl Fn() -> Result<DataType>,
    folder: Option<&Path>,
) -> Result<(DataType, Initial)> {
    let name = object.text("sourcePath")?;
    let located = |error: Error| Error::malformed(format!("{}: {error}", object.at("sourcePath")));
    // A model from Windows separates folders with a backslash.
    let name = name.replace('\\', "/");
    files::stays_inside(&name).map_err(located)?;
    let folder = folder
        .ok_or_else(|| located(Error::malformed("files are read only for a model in a file")))?;
    let path = files::inside(folder, &name).map_err(located)?;
    let extension = path.extension().map(|it| it.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("npy") => {
            let tensor = npy::read(&path)?;
            let data_type = tensor.element_type().storage().unwrap_or(DataType::Uint8);
            Ok((data_type, Initial::Tensor(tensor)))
        }
        Some("dat" | "bin") => {
            let bytes = files::read(&path, limits::TENSOR_BYTES).map_err(located)?;
            let data_type = data_type()?;
            let count = bytes.len() as u64 / u64::from(data_type.bits() / 8);
            let tensor =
                Tensor::new(ElementType::Dml(data_type), [count], bytes).map_err(located)?;
            Ok((data_type, Initial::Tensor(tensor)))
        }
        _ => Err(object.refused("sourcePath", "is of no kind that is read", ".npy, .dat, .bin")),
    }
}
