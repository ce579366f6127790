//! Operators in DxDispatch's JSON form, decoded by the schema's tables, and [graphs](graph()) of them.
//!
//! ```json
//! { "type": "DML_OPERATOR_DIAGONAL_MATRIX",
//!   "desc": { "OutputTensor": { "DataType": "FLOAT32", "Sizes": [3, 4] }, "Offset": 1, "Value": 2 } }
//! ```
//!
//! - Names of enum values, flags and operators may omit the prefix of their type; upper and lower case
//!   are equal.
//! - Every field is required unless the schema marks it optional; null means left out. Fields that the
//!   schema does not have are errors.
//! - A tensor or an operator is `{"Type": .., "Desc": {..}}`, or has its fields next to its type. A
//!   tensor needs `DataType` and `Sizes` only.
//! - Floats are numbers, or `"nan"`, `"inf"`, `"-inf"`. A number that is too large for its type is
//!   an error, and so is a fraction for an integer.
//! - A scalar union is read as the type that its type field states, or is an object with the
//!   union's member of that type, such as `{"UInt16": 15360}` for FLOAT16.

mod graph;
mod number;
mod tensor;

use serde_json::{Map, Value};

use crate::error::Error;
use crate::operators::{self, find, implemented_summary};
use crate::schema::operator::{AbstractOperator, FieldValue};
use crate::schema::{FieldSchema, FieldType, OperatorSchema};
use crate::similar::suggestion;
use crate::types::{DataType, InvalidField};

pub use graph::{graph, graph_with};

type Result<T> = std::result::Result<T, InvalidField>;
type Object = Map<String, Value>;

/// The operator's name in errors while it is not known.
const UNNAMED: &str = "operator";

/// A key that a model may have next to an operator. This runtime ignores its value.
const COMPILE_TYPE: &str = "dmlCompileType";
const COMPILE_TYPES: [&str; 2] = ["DmlCompileOp", "DmlCompileGraph"];

/// Decodes one operator, checking only the types of its fields.
///
/// # Errors
/// [`Error::Invalid`] names the operator, the field's path, the value and the accepted values.
pub fn operator(json: &Value) -> std::result::Result<AbstractOperator, Error> {
    let form = OperatorFields::read("", json, &[COMPILE_TYPE])
        .map_err(|field| Error::Invalid { operator: UNNAMED, field })?;
    let name = form.schema.name;
    let check = || {
        if let Some(compile_type) = json.get(COMPILE_TYPE) {
            let accepted = COMPILE_TYPES.join(", ");
            let known = compile_type.as_str().is_some_and(|as_str| COMPILE_TYPES.contains(&as_str));
            if !known {
                return Err(refused(COMPILE_TYPE, compile_type, "is unknown", accepted));
            }
        }
        form.fields()
    };
    let fields = check().map_err(|field| Error::Invalid { operator: name, field })?;
    AbstractOperator::new(form.schema, fields)
}

/// An operator whose type is known and whose fields have been found.
struct OperatorFields<'a> {
    schema: &'static OperatorSchema,
    /// The path of the field that nests the operator; empty if it is not nested.
    path: &'a str,
    object: &'a Object,
    /// Keys of `object` that are not fields.
    beside: Vec<&'a str>,
}

impl<'a> OperatorFields<'a> {
    /// `beside` are further keys that are allowed next to the type.
    fn read(path: &'a str, json: &'a Value, beside: &[&'a str]) -> Result<Self> {
        let outer = object(path, json)?;
        // In a RANDOM_GENERATOR without `desc`, `Type` is a field, and `type` the operator.
        let has = |key| outer.contains_key(key);
        let key = |upper, lower| if has(upper) && !has(lower) { upper } else { lower };
        let (type_key, desc_key) = (key("Type", "type"), key("Desc", "desc"));
        let schema = schema(&join(path, type_key), outer.get(type_key).unwrap_or(&Value::Null))?;
        let mut beside = beside.to_vec();
        beside.push(type_key);
        let Some(desc) = outer.get(desc_key) else {
            return Ok(Self { schema, path, object: outer, beside });
        };
        beside.push(desc_key);
        known_keys(path, outer, &beside)?;
        Ok(Self { schema, path, object: object(&join(path, desc_key), desc)?, beside: Vec::new() })
    }

    fn fields(&self) -> Result<Vec<FieldValue>> {
        let names = self.schema.fields.iter().map(|field| field.name);
        let keys: Vec<&str> = names.chain(self.beside.iter().copied()).collect();
        known_keys(self.path, self.object, &keys)?;
        // A nested operator has no tensors; validation refuses those that are given.
        let is_nested = !self.path.is_empty();
        let fields = self.schema.fields.iter().map(|it| match it.field_type {
            FieldType::Tensor if is_nested && given(it.name, self.object).is_none() => {
                Ok(FieldValue::Tensor(None))
            }
            _ => field(self.path, it, self.object),
        });
        fields.collect()
    }
}

fn schema(path: &str, json: &Value) -> Result<&'static OperatorSchema> {
    json.as_str().and_then(find).ok_or_else(|| {
        let accepted = format!("DirectML's names; implemented: {}", implemented_summary());
        let suggestion = json.as_str().map(operators::suggestion).unwrap_or_default();
        refused(path, json, &format!("is not a known operator{suggestion}"), accepted)
    })
}

fn field(outer: &str, field: &FieldSchema, object: &Object) -> Result<FieldValue> {
    let path = &join(outer, field.name);
    let Some(json) = given(field.name, object) else { return left_out(path, field) };
    Ok(match field.field_type {
        FieldType::Tensor => FieldValue::Tensor(Some(tensor::tensor(path, json)?)),
        FieldType::TensorArray => FieldValue::TensorArray(array(path, json, tensor::tensor)?),
        FieldType::OperatorDesc => FieldValue::OperatorDesc(Some(Box::new(nested(path, json)?))),
        FieldType::OperatorDescArray => FieldValue::OperatorDescArray(array(path, json, nested)?),
        FieldType::Uint => FieldValue::Uint(uint(path, field, json)?),
        FieldType::Uint64 => FieldValue::Uint64(number::integer(path, json)?),
        FieldType::Int => FieldValue::Int(number::integer(path, json)?),
        FieldType::Float => FieldValue::Float(number::float32(path, json)?),
        FieldType::UintArray => FieldValue::UintArray(array(path, json, number::integer)?),
        FieldType::IntArray => FieldValue::IntArray(array(path, json, number::integer)?),
        FieldType::FloatArray => FieldValue::FloatArray(array(path, json, number::float32)?),
        FieldType::ScaleBias => {
            FieldValue::ScaleBias(Some(pair(path, json, ["Scale", "Bias"], number::float32)?))
        }
        FieldType::Size2d => {
            FieldValue::Size2d(pair(path, json, ["Width", "Height"], number::integer)?)
        }
        FieldType::ScalarUnion => {
            let data_type = scalar_type(outer, field, object)?;
            FieldValue::ScalarUnion(number::scalar(path, json, data_type)?)
        }
        FieldType::Bool => FieldValue::Bool(
            json.as_bool().ok_or_else(|| refused(path, json, "is no Boolean", "true, false"))?,
        ),
    })
}

fn given<'a>(name: &str, object: &'a Object) -> Option<&'a Value> {
    object.get(name).filter(|json| !json.is_null())
}

fn left_out(path: &str, field: &FieldSchema) -> Result<FieldValue> {
    match field.field_type {
        _ if !field.optional => Err(missing(path)),
        FieldType::Tensor => Ok(FieldValue::Tensor(None)),
        FieldType::TensorArray => Ok(FieldValue::TensorArray(Vec::new())),
        FieldType::OperatorDesc => Ok(FieldValue::OperatorDesc(None)),
        FieldType::OperatorDescArray => Ok(FieldValue::OperatorDescArray(Vec::new())),
        FieldType::UintArray => Ok(FieldValue::UintArray(Vec::new())),
        FieldType::IntArray => Ok(FieldValue::IntArray(Vec::new())),
        FieldType::FloatArray => Ok(FieldValue::FloatArray(Vec::new())),
        FieldType::ScaleBias => Ok(FieldValue::ScaleBias(None)),
        // The generator of the schema refuses optional fields that C passes by value.
        _ => Err(missing(path)),
    }
}

fn missing(path: &str) -> InvalidField {
    refused(path, &Value::Null, "is missing", "a value")
}

fn nested(path: &str, json: &Value) -> Result<AbstractOperator> {
    let form = OperatorFields::read(path, json, &[])?;
    let fields = form.fields()?;
    AbstractOperator::new(form.schema, fields).map_err(|error| match error {
        Error::Invalid { field, .. } => field.inside(path),
        other => refused(path, json, &other.to_string(), "an operator"),
    })
}

fn uint(path: &str, field: &FieldSchema, json: &Value) -> Result<u32> {
    let Some(enumeration) = field.enumeration else { return number::integer(path, json) };
    json.as_str().and_then(|name| enumeration.value(name)).ok_or_else(|| {
        let similar = similar(json, enumeration.values.iter().map(|(name, _)| *name));
        let problem = format!("is not a name of DML_{}{similar}", enumeration.name);
        refused(path, json, &problem, enumeration.names())
    })
}

/// The type of a scalar, from its type field.
fn scalar_type(outer: &str, field: &FieldSchema, object: &Object) -> Result<DataType> {
    let key = field.scalar_type.unwrap_or_default();
    let json = object.get(key).unwrap_or(&Value::Null);
    tensor::data_type(&join(outer, key), json)
}

fn array<T>(path: &str, json: &Value, item: impl Fn(&str, &Value) -> Result<T>) -> Result<Vec<T>> {
    let items =
        json.as_array().ok_or_else(|| refused(path, json, "is not an array", "an array"))?;
    let items = items.iter().enumerate();
    items.map(|(index, json)| item(&format!("{path}[{index}]"), json)).collect()
}

fn pair<T>(
    path: &str,
    json: &Value,
    names: [&str; 2],
    member: impl Fn(&str, &Value) -> Result<T>,
) -> Result<[T; 2]> {
    let object = object(path, json)?;
    known_keys(path, object, &names)?;
    let member = |name| member(&join(path, name), object.get(name).unwrap_or(&Value::Null));
    let [first, second] = names;
    Ok([member(first)?, member(second)?])
}

fn object<'a>(path: &str, json: &'a Value) -> Result<&'a Object> {
    let path = if path.is_empty() { "json" } else { path };
    json.as_object().ok_or_else(|| refused(path, json, "is not an object", "an object"))
}

/// Refuses unknown keys.
fn known_keys(path: &str, object: &Object, known: &[&str]) -> Result<()> {
    match object.iter().find(|(key, _)| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some((key, json)) => {
            let suggestion = suggestion(key, known.iter().copied());
            let problem = format!("is given for an unknown field{suggestion}");
            Err(refused(&join(path, key), json, &problem, known.join(", ")))
        }
    }
}

/// A question that suggests a name of `known`; empty if no name is similar.
fn similar<'a>(json: &Value, known: impl IntoIterator<Item = &'a str>) -> String {
    json.as_str().map(|given| suggestion(given, known)).unwrap_or_default()
}

fn join(outer: &str, name: &str) -> String {
    if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") }
}

fn refused(path: &str, json: &Value, problem: &str, accepted: impl Into<String>) -> InvalidField {
    const SHOWN: usize = 60;
    let mut text = json.to_string();
    if let Some((end, _)) = text.char_indices().nth(SHOWN) {
        text.truncate(end);
        text.push_str("...");
    }
    InvalidField::new(path, text, problem, accepted)
}

#[cfg(test)]
mod tests;
