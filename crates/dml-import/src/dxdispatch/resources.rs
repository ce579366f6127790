//! Resources: buffers with initial values.

use dml_core::DataType;
use serde_json::Value;

use crate::element::ElementType;
use crate::error::{Error, Result};
use crate::files::Folder;
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
    /// The type of its values, or the type in which it is printed.
    pub(super) data_type: DataType,
    /// Whether `data_type` is the type of its values, rather than only how they are printed.
    has_type: bool,
    pub(super) initial: Initial,
    /// The requested size in bytes, not rounded; 0 for a deferred resource that is not written yet.
    pub(super) size: u64,
    is_deferred: bool,
}

impl Resource {
    pub(super) fn read(name: &str, json: &Value, folder: Option<&Folder>) -> Result<Self> {
        let fields = Fields::of(format!("resources.{}", crate::error::shortened(name)), json)?;
        let data_type = data_type(&fields, TYPE)?;
        let required = || data_type.required(&fields.at(TYPE));
        let has_type = match data_type {
            DeclaredType::Known(_) => true,
            DeclaredType::Unknown => false,
            // A file may state the type.
            DeclaredType::Absent => fields.get("initialValues").is_some(),
        };
        let (data_type, initial) = match fields.get("initialValues") {
            None => (data_type.or_bytes(), Initial::Undefined),
            Some(Value::String(text)) => {
                if text != DEFERRED {
                    let accepted = "an array, an object, \"deferred\"";
                    return Err(fields.refused("initialValues", "are not values", accepted));
                }
                return Ok(Self::deferred(name, data_type));
            }
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
        let initial = shifted(&fields, initial)?;
        let bytes = bytes(&initial);
        let size = fields.integer("sizeInBytes")?.unwrap_or(bytes);
        if size < bytes.max(1) || size > limits::TENSOR_BYTES {
            let accepted = format!("{} to {}", bytes.max(1), limits::TENSOR_BYTES);
            return Err(refused(
                &fields.at("sizeInBytes"),
                &size.into(),
                "is not a size",
                accepted,
            ));
        }
        let name = name.to_owned();
        Ok(Self { name, data_type, has_type, initial, size, is_deferred: false })
    }

    /// A deferred resource, which gets its size, and its type if none is declared, from the first command that
    /// writes it.
    fn deferred(name: &str, data_type: DeclaredType) -> Self {
        let (name, data_type) = (name.to_owned(), data_type.or_bytes());
        let initial = Initial::Undefined;
        Self { name, data_type, has_type: false, initial, size: 0, is_deferred: true }
    }

    /// Whether its size is unknown before the first command.
    pub(super) fn is_deferred(&self) -> bool {
        self.is_deferred
    }

    /// Whether its size is still unknown.
    pub(super) fn is_unsettled(&self) -> bool {
        self.size == 0
    }

    /// Sets the size and the type; `false` if the size is out of range.
    pub(super) fn settle(&mut self, data_type: DataType, size: u64) -> bool {
        if size == 0 || size > limits::TENSOR_BYTES {
            return false;
        }
        // Elements smaller than a byte are shown as bytes.
        self.has_type = data_type.bits() >= 8;
        self.data_type = if self.has_type { data_type } else { DataType::Uint8 };
        self.size = size;
        true
    }

    /// Bytes of an element, if all values have one type.
    pub(super) fn element_size(&self) -> Option<u64> {
        self.has_type.then(|| u64::from(self.data_type.bits() / 8))
    }

    /// The number of elements in its own type.
    pub(super) fn element_count(&self) -> u64 {
        self.size / u64::from(self.data_type.bits() / 8)
    }
}

/// The field with the type of initial values.
const TYPE: &str = "initialValuesDataType";

/// The initial values of a resource whose size is determined by the first command that writes it.
const DEFERRED: &str = "deferred";

/// The field with the byte offset of initial values.
const OFFSET: &str = "initialValuesOffsetInBytes";

/// The most bytes of initial values with an offset, including the bytes before them.
const SHIFTED_BYTES: u64 = 1 << 28;

/// The type that a field declares.
#[derive(Clone, Copy)]
enum DeclaredType {
    Absent,
    Unknown,
    Known(DataType),
}

/// DirectML's types of at least 8 bits.
const ACCEPTED: &str = "FLOAT32, FLOAT16, UINT32, UINT16, UINT8, INT32, INT16, INT8, FLOAT64, UINT64, \
                        INT64";

impl DeclaredType {
    /// The declared type; an error for the field at `path` if it is missing or unknown.
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
        _ => Err(fields.refused(name, "is not a data type of initial values", ACCEPTED)),
    }
}

/// The number of bytes of initial values.
fn bytes(initial: &Initial) -> u64 {
    match initial {
        Initial::Tensor(tensor) => tensor.bytes().len() as u64,
        Initial::Sequence(sequence) => sequence.size(),
        _ => 0,
    }
}

/// The initial values, preceded by as many zeros as the offset says.
fn shifted(fields: &Fields<'_>, initial: Initial) -> Result<Initial> {
    let offset = fields.integer(OFFSET)?.unwrap_or(0);
    if offset == 0 || matches!(initial, Initial::Undefined) {
        return Ok(initial);
    }
    let all = offset.checked_add(bytes(&initial)).filter(|it| *it <= SHIFTED_BYTES);
    let (Some(_), Ok(zeros)) = (all, usize::try_from(offset)) else {
        let accepted = format!("up to {SHIFTED_BYTES} bytes with the values");
        return Err(fields.refused(OFFSET, "is too large", accepted));
    };
    let mut shifted = vec![0; zeros];
    match &initial {
        Initial::Tensor(tensor) => shifted.extend_from_slice(tensor.bytes()),
        Initial::Sequence(sequence) => {
            sequence.chunks(CHUNK_BYTES).for_each(|it| shifted.extend(it));
        }
        _ => {}
    }
    let count = shifted.len() as u64;
    let tensor = Tensor::new(ElementType::Dml(DataType::Uint8), [count], shifted)?;
    Ok(Initial::Tensor(tensor))
}

/// How many bytes of a sequence are generated at a time.
const CHUNK_BYTES: usize = 1 << 16;

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

/// Values that each state their own type, concatenated.
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
        .ok_or_else(|| refused(&path(), value, "is not a value of its type", data_type))?;
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

/// A sequence given by `{valueCount, value}` or `{valueCount, valueStart, valueDelta}`.
fn sequence(object: &Fields<'_>, data_type: DataType) -> Result<(DataType, Initial)> {
    let bits = |name| {
        let json = object.required(name)?;
        numbers::bits(json, data_type)
            .ok_or_else(|| object.refused(name, "is not a value of its type", data_type))
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
            "is not a number of values",
            accepted,
        ));
    }
    Ok((data_type, Initial::Sequence(sequence)))
}

/// Values from a file, `{sourcePath}`: a NumPy .npy file, or raw elements of the given type.
fn file(
    object: &Fields<'_>,
    data_type: impl Fn() -> Result<DataType>,
    folder: Option<&Folder>,
) -> Result<(DataType, Initial)> {
    let name = object.text("sourcePath")?;
    let located = |error: Error| Error::malformed(format!("{}: {error}", object.at("sourcePath")));
    // A script from Windows separates folders with a backslash.
    let name = name.replace('\\', "/");
    files::stays_inside(&name).map_err(located)?;
    let folder = folder
        .ok_or_else(|| located(Error::malformed("files are read only for a model in a file")))?;
    let path = folder.file(&name).map_err(located)?;
    let extension =
        path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
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
