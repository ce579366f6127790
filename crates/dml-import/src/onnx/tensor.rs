//! ONNX's types and tensors.

use bytes::Bytes;
use dml_core::DataType;
use prost::Message as _;

use crate::constant::{Constant, Data};
use crate::element::ElementType;
use crate::error::{Error, Result, shortened};
use crate::files::{FileRange, Folder};
use crate::small_float::SmallFloat;
use crate::tensor::Tensor;
use crate::{files, limits};

use super::proto::TensorProto;
use super::wire;

/// The types of TensorProto.DataType, from 1 on.
const TYPES: [ElementType; 28] = [
    ElementType::Dml(DataType::Float32),
    ElementType::Dml(DataType::Uint8),
    ElementType::Dml(DataType::Int8),
    ElementType::Dml(DataType::Uint16),
    ElementType::Dml(DataType::Int16),
    ElementType::Dml(DataType::Int32),
    ElementType::Dml(DataType::Int64),
    ElementType::Other("string"),
    ElementType::Bool,
    ElementType::Dml(DataType::Float16),
    ElementType::Dml(DataType::Float64),
    ElementType::Dml(DataType::Uint32),
    ElementType::Dml(DataType::Uint64),
    ElementType::Other("complex64"),
    ElementType::Other("complex128"),
    ElementType::Bfloat16,
    ElementType::Small(SmallFloat::E4m3fn),
    ElementType::Small(SmallFloat::E4m3fnuz),
    ElementType::Small(SmallFloat::E5m2),
    ElementType::Small(SmallFloat::E5m2fnuz),
    ElementType::Uint4,
    ElementType::Int4,
    ElementType::Small(SmallFloat::E2m1),
    ElementType::Small(SmallFloat::E8m0),
    ElementType::Uint2,
    ElementType::Int2,
    ElementType::Other("float6e2m3"),
    ElementType::Other("float6e3m2"),
];

/// The names of these types, from 1 on, which early models use in place of numbers.
const NAMES: [&str; 15] = [
    "FLOAT",
    "UINT8",
    "INT8",
    "UINT16",
    "INT16",
    "INT32",
    "INT64",
    "STRING",
    "BOOL",
    "FLOAT16",
    "DOUBLE",
    "UINT32",
    "UINT64",
    "COMPLEX64",
    "COMPLEX128",
];

/// The type with ONNX's number; `None` for UNDEFINED (0) and unknown numbers.
pub(super) fn element(number: i64) -> Option<ElementType> {
    TYPES.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
}

/// The type with ONNX's name; `None` for UNDEFINED and unknown names.
pub(super) fn element_of_name(name: &str) -> Option<ElementType> {
    let at = NAMES.iter().position(|known| known.eq_ignore_ascii_case(name))?;
    TYPES.get(at).copied()
}

impl Tensor {
    /// Reads a file that contains one TensorProto, as the data of ONNX's tests does.
    ///
    /// # Errors
    /// [`Error::Malformed`]: it is not such a file, its elements are in another file, their number does not
    /// match, or tensors of this runtime cannot have their type.
    pub fn from_onnx(bytes: impl Into<Bytes>) -> Result<Self> {
        let bytes = bytes.into();
        wire::check_tensor(&bytes)?;
        let proto = TensorProto::decode(bytes)
            .map_err(|error| Error::malformed(format!("is not a TensorProto: {error}")))?;
        match element(proto.data_type.into()) {
            Some(ElementType::Other(name)) => {
                Err(Error::malformed(format!("{name} is not a supported tensor type")))
            }
            _ => constant(&proto, None)?.load(),
        }
    }
}

const EXTERNAL: i32 = 1;

/// Tensors in the model's own file of at least so many bytes are not kept in host memory.
const LARGE: usize = 1 << 20;

/// Reads a tensor of the model, whose external data is in `folder`.
pub(super) fn constant(proto: &TensorProto, folder: Option<&Folder>) -> Result<Constant> {
    let named = |error: Error| {
        let name = shortened(&proto.name);
        Error::malformed(format!("tensor '{name}': {error}"))
    };
    Ok(parsed(proto, folder).map_err(named)?.named(&proto.name))
}

fn parsed(proto: &TensorProto, folder: Option<&Folder>) -> Result<Constant> {
    let number = i64::from(proto.data_type);
    let element = element(number)
        .ok_or_else(|| Error::malformed(format!("data_type {number} is not a type")))?;
    let shape = shape(&proto.dims)?;
    if proto.data_location == EXTERNAL {
        return external(proto, element, shape, folder);
    }
    let bytes = match (&proto.raw_data, element) {
        (Some(raw), _) => match folder.and_then(|folder| folder.place_of(raw)) {
            // The file can be read again, so that the host keeps no copy.
            Some(place) if raw.len() >= LARGE => {
                let given = u64::try_from(raw.len()).unwrap_or(u64::MAX);
                return Constant::new(element, shape, Data::File(place), given);
            }
            // A part of the bytes that were read would keep all of them.
            Some(_) => Bytes::copy_from_slice(raw),
            None => raw.clone(),
        },
        (None, ElementType::Other(_)) => Bytes::new(),
        (None, _) => packed(proto, element),
    };
    let given = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    Constant::new(element, shape, Data::Here(bytes), given)
}

/// The sizes that `dims` declares.
pub(super) fn shape(dims: &[i64]) -> Result<Vec<u64>> {
    if dims.len() > limits::RANK {
        let rank = dims.len();
        return Err(Error::malformed(format!("{rank} dimensions are more than {}", limits::RANK)));
    }
    let size = |size: &i64| {
        u64::try_from(*size).map_err(|_| Error::malformed(format!("dims: {size} is not a size")))
    };
    dims.iter().map(size).collect()
}

/// The elements of a tensor without `raw_data`: small types are in the low bits of larger fields.
fn packed(proto: &TensorProto, element: ElementType) -> Bytes {
    let size = usize::try_from(element.size().unwrap_or(0)).unwrap_or(0);
    let mut bytes = Vec::new();
    match element {
        ElementType::Dml(DataType::Float32) => {
            proto.float_data.iter().for_each(|it| bytes.extend(it.to_le_bytes()));
        }
        ElementType::Dml(DataType::Float64) => {
            proto.double_data.iter().for_each(|it| bytes.extend(it.to_le_bytes()));
        }
        ElementType::Dml(DataType::Int64) => {
            proto.int64_data.iter().for_each(|it| bytes.extend(it.to_le_bytes()));
        }
        ElementType::Dml(DataType::Uint32 | DataType::Uint64) => {
            proto.uint64_data.iter().for_each(|it| bytes.extend(&it.to_le_bytes()[..size]));
        }
        _ => proto.int32_data.iter().for_each(|it| bytes.extend(&it.to_le_bytes()[..size])),
    }
    bytes.into()
}

fn external(
    proto: &TensorProto,
    element: ElementType,
    shape: Vec<u64>,
    folder: Option<&Folder>,
) -> Result<Constant> {
    let entry = |key: &str| {
        let entry = proto.external_data.iter().find(|entry| entry.key == key);
        entry.map(|entry| entry.value.as_str())
    };
    let number = |key: &str| {
        let parse = |value: &str| {
            let wrong =
                || Error::malformed(format!("{key} '{}' is not a number", shortened(value)));
            value.parse::<u64>().map_err(|_| wrong())
        };
        entry(key).map(parse).transpose()
    };
    let location =
        entry("location").ok_or_else(|| Error::malformed("external_data has no location"))?;
    files::stays_inside(location)?;
    let folder = folder
        .ok_or_else(|| Error::malformed("external data is read only for a model in a file"))?;
    let path = folder.file(location)?;
    let version = files::version_of(&path)?;
    let whole = version.length();
    let offset = number("offset")?.unwrap_or(0);
    let length = match number("length")? {
        Some(length) => length,
        None => whole.saturating_sub(offset),
    };
    files::check_range(whole, offset, length)
        .map_err(|error| Error::malformed(format!("'{}': {error}", shortened(location))))?;
    if length > limits::TENSOR_BYTES {
        return Err(Error::malformed(format!("{length} bytes are too many")));
    }
    Constant::new(element, shape, Data::File(FileRange { path, offset, version }), length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proto(data_type: i32, dims: &[i64]) -> TensorProto {
        TensorProto { data_type, dims: dims.to_vec(), ..TensorProto::default() }
    }

    #[test]
    fn elements_come_from_the_field_of_their_type() {
        let int8 = TensorProto { int32_data: vec![-1, 2], ..proto(3, &[2]) };
        assert_eq!(constant(&int8, None).unwrap().load().unwrap().bytes(), [255, 2]);
        let uint32 = TensorProto { uint64_data: vec![1], ..proto(12, &[]) };
        assert_eq!(constant(&uint32, None).unwrap().load().unwrap().bytes(), [1, 0, 0, 0]);
        let bfloat16 = TensorProto { int32_data: vec![0x3F80], ..proto(16, &[1]) };
        assert_eq!(constant(&bfloat16, None).unwrap().load().unwrap().bytes(), [0x80, 0x3F]);
    }

    #[test]
    fn two_elements_of_4_bits_are_in_a_byte() {
        let raw = |bytes: &'static [u8], data_type| TensorProto {
            raw_data: Some(Bytes::from_static(bytes)),
            ..proto(data_type, &[3])
        };
        let bytes = |proto: &TensorProto| {
            let tensor = constant(proto, None).unwrap().load().unwrap();
            (tensor.element_type().to_string(), tensor.bytes().to_vec())
        };
        // The half byte after the last element is ignored.
        assert_eq!(bytes(&raw(&[0x7f, 0xa8], 22)), ("int4".to_owned(), vec![0xff, 7, 0xf8]));
        assert_eq!(bytes(&raw(&[0x7f, 0xa8], 21)), ("uint4".to_owned(), vec![15, 7, 8]));
        let narrow = TensorProto { int32_data: vec![0x7f, 0x08], ..proto(22, &[3]) };
        assert_eq!(bytes(&narrow).1, [0xff, 7, 0xf8]);
        let error = constant(&raw(&[1, 2, 3], 22), None).unwrap_err().to_string();
        assert!(error.contains("3 bytes for int4 [3]; accepted: 2"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("w.bin"), [0, 0x7f, 0xa8]).unwrap();
        let entry = |key: &str, value: &str| super::super::proto::StringStringEntryProto {
            key: key.to_owned(),
            value: value.to_owned(),
        };
        let external_data = vec![entry("location", "w.bin"), entry("offset", "1")];
        let external = TensorProto { external_data, data_location: 1, ..proto(22, &[3]) };
        let found = constant(&external, Some(&Folder::new(folder.path()))).unwrap().load().unwrap();
        assert_eq!(found.bytes(), [0xff, 7, 0xf8]);
    }

    #[test]
    fn a_file_of_one_tensor_is_read() {
        let int8 = TensorProto { int32_data: vec![-1, 2], ..proto(3, &[2]) };
        let tensor = Tensor::from_onnx(int8.encode_to_vec()).unwrap();
        assert_eq!((tensor.shape(), tensor.bytes()), (&[2][..], &[255, 2][..]));
        assert_eq!(tensor.element_type(), ElementType::Dml(DataType::Int8));
        let message = |bytes: Vec<u8>| Tensor::from_onnx(bytes).unwrap_err().to_string();
        assert_eq!(
            message(proto(8, &[1]).encode_to_vec()),
            "string is not a supported tensor type"
        );
        assert!(message(vec![0x0a, 0x05]).contains("TensorProto: byte 2"));
        assert!(message(vec![0x0d, 0, 0, 0, 0]).contains("is not a TensorProto"));
        let external = TensorProto { data_location: EXTERNAL, ..proto(3, &[2]) };
        assert!(message(external.encode_to_vec()).contains("external_data has no location"));
    }

    #[test]
    fn declared_sizes_are_held_against_the_elements() {
        let message = |proto: &TensorProto| constant(proto, None).unwrap_err().to_string();
        let huge = proto(7, &[i64::MAX, i64::MAX]);
        assert!(message(&huge).contains("0 bytes for int64"), "{}", message(&huge));
        assert!(message(&proto(7, &[-1])).contains("-1 is not a size"));
        assert!(message(&proto(0, &[])).contains("data_type 0 is not a type"));
        assert!(message(&proto(99, &[])).contains("data_type 99 is not a type"));
        assert!(message(&proto(7, &[1; 65])).contains("65 dimensions"));
    }

    #[test]
    fn external_data_stays_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("w.bin"), [0; 12]).unwrap();
        let external = |entries: &[(&str, &str)]| {
            let external_data = entries
                .iter()
                .map(|(key, value)| super::super::proto::StringStringEntryProto {
                    key: (*key).to_owned(),
                    value: (*value).to_owned(),
                })
                .collect();
            let proto = TensorProto { external_data, data_location: 1, ..proto(6, &[2]) };
            constant(&proto, Some(&Folder::new(folder.path())))
        };
        let found = external(&[("location", "w.bin"), ("offset", "4"), ("length", "8")]).unwrap();
        assert_eq!(found.load().unwrap().bytes(), [0; 8]);
        for entries in [
            &[("location", "../w.bin")][..],
            &[("location", "/etc/passwd")],
            &[("location", "no.bin")],
            &[("location", "w.bin"), ("offset", "8")],
            &[("location", "w.bin"), ("length", "18446744073709551615")],
            &[("location", "w.bin"), ("offset", "x")],
            &[("offset", "0")],
        ] {
            assert!(external(entries).is_err(), "{entries:?}");
        }
    }
}
