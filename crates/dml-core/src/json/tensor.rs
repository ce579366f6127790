//! Decoding of tensors.

use serde_json::Value;

use super::{Object, Result, array, join, known_keys, number, object, refused, similar};
use crate::tensor::{TensorDesc, TensorFlags};
use crate::types::{DataType, DataTypeSet};

const FIELDS: [&str; 7] = [
    "DataType",
    "Flags",
    "DimensionCount",
    "Sizes",
    "Strides",
    "TotalTensorSizeInBytes",
    "GuaranteedBaseOffsetAlignment",
];

const FLAGS: [(&str, TensorFlags); 2] =
    [("NONE", TensorFlags::NONE), ("OWNED_BY_DML", TensorFlags::OWNED_BY_DML)];

/// A tensor: `{"Type": "BUFFER", "Desc": {..}}`, or the fields without `Desc`. The type may be left
/// out.
pub(super) fn tensor(path: &str, json: &Value) -> Result<TensorDesc> {
    let outer = object(path, json)?;
    if let Some(tensor_type) = outer.get("Type") {
        let name = tensor_type.as_str().map(str::to_ascii_uppercase).unwrap_or_default();
        if name.strip_prefix("DML_TENSOR_TYPE_").unwrap_or(&name) != "BUFFER" {
            let path = join(path, "Type");
            return Err(refused(&path, tensor_type, "is not a type of tensor", "BUFFER"));
        }
    }
    if let Some(desc) = outer.get("Desc") {
        known_keys(path, outer, &["Type", "Desc"])?;
        let fields = object(&join(path, "Desc"), desc)?;
        known_keys(path, fields, &FIELDS)?;
        return buffer(path, fields);
    }
    let mut known = FIELDS.to_vec();
    known.push("Type");
    known_keys(path, outer, &known)?;
    buffer(path, outer)
}

fn buffer(path: &str, fields: &Object) -> Result<TensorDesc> {
    let given = |name| fields.get(name).filter(|json| !json.is_null());
    let at = |name| join(path, name);
    let data_type = data_type(&at("DataType"), given("DataType").unwrap_or(&Value::Null))?;
    let sizes = given("Sizes")
        .ok_or_else(|| refused(&at("Sizes"), &Value::Null, "is missing", "an array"))?;
    let sizes: Vec<u32> = array(&at("Sizes"), sizes, number::integer)?;
    if let Some(json) = given("DimensionCount") {
        let path = at("DimensionCount");
        let count: u32 = number::integer(&path, json)?;
        if usize::try_from(count) != Ok(sizes.len()) {
            let problem = "is not the number of Sizes";
            return Err(refused(&path, json, problem, sizes.len().to_string()));
        }
    }
    let strides = given("Strides").map(|json| array(&at("Strides"), json, number::integer));
    let total = "TotalTensorSizeInBytes";
    let total = given(total).map(|json| number::integer::<u64>(&at(total), json)).transpose()?;
    let alignment = "GuaranteedBaseOffsetAlignment";
    let alignment = given(alignment).map(|json| number::integer(&at(alignment), json));
    Ok(TensorDesc {
        data_type,
        flags: given("Flags").map_or(Ok(TensorFlags::NONE), |json| flags(&at("Flags"), json))?,
        sizes,
        // As in DxDispatch, an empty array and a size of 0 mean the default.
        strides: strides.transpose()?.filter(|strides| !strides.is_empty()),
        total_tensor_size_in_bytes: total.filter(|bytes| *bytes != 0),
        guaranteed_base_offset_alignment: alignment.transpose()?.unwrap_or(0),
    })
}

/// The type with this name.
pub(super) fn data_type(path: &str, json: &Value) -> Result<DataType> {
    let named = json.as_str().and_then(|name| name.parse().ok());
    named.ok_or_else(|| {
        let similar = similar(json, DataType::ALL.map(DataType::name));
        let problem = format!("is not a data type{similar}");
        refused(path, json, &problem, DataTypeSet::ALL.to_string())
    })
}

/// One flag, or an array of flags.
fn flags(path: &str, json: &Value) -> Result<TensorFlags> {
    if json.is_array() {
        let all = array(path, json, flag)?;
        let bits = all.into_iter().fold(0, |bits, flag| bits | flag.bits());
        return Ok(TensorFlags::from_bits(bits));
    }
    flag(path, json)
}

fn flag(path: &str, json: &Value) -> Result<TensorFlags> {
    let given = json.as_str().map(str::to_ascii_uppercase).unwrap_or_default();
    let short = given.strip_prefix("DML_TENSOR_FLAG_").unwrap_or(&given);
    let found = FLAGS.iter().find(|(name, _)| *name == short);
    let accepted = FLAGS.map(|(name, _)| name).join(", ");
    found.map(|(_, flag)| *flag).ok_or_else(|| refused(path, json, "is not a flag", accepted))
}
