//! The script of a case: its tensors as resources, its operator as a dispatchable, and commands that execute
//! it and write its outputs to files.
//!
//! Resources are bytes, since DxDispatch does not restrict what a resource is bound as: offsets are in bytes
//! then, and the elements keep their bits.

use std::collections::BTreeMap;

use dml::core::schema::{FieldKind, TensorPath};
use dml::core::{TensorFlags, Validated};
use dml_reference::{Case as CornerCase, GUARD, Memory, Output, SENTINEL, Tensor};
use serde_json::{Map, Value, json};

use super::{LeftOut, descriptor};

/// The folder of a case's results, in the case's own.
pub(super) const RESULTS: &str = "results";

/// A script, and what stands beside it.
pub(super) struct Script<'a> {
    pub(super) json: Value,
    /// The bytes of the inputs, by the names of their files.
    pub(super) inputs: Vec<(String, &'a [u8])>,
    /// The outputs, by the names of their resources.
    pub(super) outputs: Vec<(String, &'a Output)>,
}

impl<'a> Script<'a> {
    /// The script of a case whose buffers are these.
    ///
    /// # Errors
    /// The format has no way to say it.
    pub(super) fn of(
        operator: &Validated,
        corner: &CornerCase,
        memory: &'a Memory,
    ) -> Result<Self, LeftOut> {
        if !corner.in_place.is_empty() {
            return Err(LeftOut::InPlace);
        }
        check_owned(corner)?;
        let mut dispatchable = descriptor::dispatchable(&corner.operator)?;
        let (mut resources, mut commands) = (Map::new(), Vec::new());
        let (mut bindings, mut owned) = (Bindings::default(), Bindings::default());
        let mut script = Self { json: Value::Null, inputs: vec![], outputs: vec![] };
        for ((path, _), input) in operator.tensors(FieldKind::Input).zip(&memory.inputs) {
            let Some(input) = input else { continue };
            let (name, file) = (name(path), format!("{}.bin", name(path)));
            let bindings = if input.is_owned { &mut owned } else { &mut bindings };
            bindings.add(path, binding(&name, &input.tensor));
            resources.insert(name, resource(json!({ "sourcePath": file })));
            script.inputs.push((file, bytes(&input.tensor)));
        }
        for ((path, _), output) in operator.tensors(FieldKind::Output).zip(&memory.outputs) {
            let Some(output) = output else { continue };
            let name = name(path);
            let count = bytes(&output.tensor).len();
            bindings.add(path, binding(&name, &output.tensor));
            resources
                .insert(name.clone(), resource(json!({ "valueCount": count, "value": SENTINEL })));
            let target = format!("{RESULTS}/{name}.bin");
            commands.push(json!({ "type": "writeFile", "resource": name, "targetPath": target }));
            script.outputs.push((name, output));
        }
        if !owned.0.is_empty() {
            dispatchable.insert("bindings".to_owned(), owned.0.into());
        }
        let dispatch =
            json!({ "type": "dispatch", "dispatchable": "case", "bindings": bindings.0 });
        commands.insert(0, dispatch);
        script.json = json!({
            "resources": resources, "dispatchables": { "case": dispatchable }, "commands": commands
        });
        Ok(script)
    }
}

/// Where the tensor of an exported output starts in its file.
pub(super) fn offset(tensor: &Tensor) -> u64 {
    tensor.offset - GUARD
}

/// The bytes of a resource: the tensor, and padding before it where it does not start at the first byte.
fn bytes(tensor: &Tensor) -> &[u8] {
    let index = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    &tensor.before[index(GUARD)..index(tensor.offset + tensor.size)]
}

/// The name of a tensor's resource: that of its field.
fn name(path: TensorPath) -> String {
    let field = path.field.name;
    path.element.map_or_else(|| field.to_owned(), |element| format!("{field}_{element}"))
}

fn resource(initial_values: Value) -> Value {
    json!({ "initialValuesDataType": "UINT8", "initialValues": initial_values })
}

fn binding(name: &str, tensor: &Tensor) -> Value {
    match offset(tensor) {
        0 => name.into(),
        offset => json!({
            "name": name,
            "elementOffset": offset,
            "elementCount": tensor.size,
            "elementSizeInBytes": 1
        }),
    }
}

/// The bound resources, by the names of the fields.
#[derive(Default)]
struct Bindings(Map<String, Value>);

impl Bindings {
    /// Elements of an array come in their order.
    fn add(&mut self, path: TensorPath, binding: Value) {
        let field = path.field.name.to_owned();
        if path.element.is_none() {
            self.0.insert(field, binding);
        } else if let Some(all) = self.0.entry(field).or_insert(json!([])).as_array_mut() {
            all.push(binding);
        }
    }
}

/// An array is bound as a whole: before the first command, or by it.
fn check_owned(corner: &CornerCase) -> Result<(), LeftOut> {
    let mut counts = BTreeMap::<&str, [usize; 2]>::new();
    for (name, tensor) in corner.operator.tensors() {
        let is_owned = tensor.flags.contains(TensorFlags::OWNED_BY_DML);
        counts.entry(name).or_default()[usize::from(is_owned)] += 1;
    }
    let is_mixed = counts.values().any(|[bound, owned]| *bound > 0 && *owned > 0);
    if is_mixed { Err(LeftOut::PartlyOwned) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::{Expectation, Finder};
    use crate::execute;

    /// The script of a case, the names and lengths of its inputs, and the names of its outputs.
    fn script(id: &str) -> (Value, Vec<(String, usize)>, Vec<String>) {
        let case = Finder::default().find(&id.parse().unwrap()).unwrap();
        let Expectation::Outputs(corner) = &case.expectation else { panic!("{id} has no outputs") };
        let operator = dml::core::validate(&case.operator, case.level).unwrap();
        let memory = execute::memory(&operator, corner, dml::Numerics::Exact).unwrap();
        let script = Script::of(&operator, corner, &memory).unwrap();
        let inputs = script.inputs.into_iter().map(|(name, bytes)| (name, bytes.len()));
        let outputs = script.outputs.into_iter().map(|(name, _)| name);
        (script.json, inputs.collect(), outputs.collect())
    }

    #[test]
    fn a_script_has_the_form_of_dxdispatch() {
        let (found, inputs, outputs) =
            script("5_1/diagonal_matrix1/float32/rank4/input_base_offsets");
        assert_eq!(inputs, [("InputTensor.bin".to_owned(), 48 + 840)]);
        assert_eq!(outputs, ["OutputTensor"]);
        let tensor = json!({
            "DataType": "FLOAT32", "Sizes": [2, 3, 5, 7], "Strides": [105, 35, 7, 1]
        });
        let part = |name: &str, offset: u32| json!({ "name": name, "elementOffset": offset, "elementCount": 840, "elementSizeInBytes": 1 });
        // The bits of the scalar, as the double that is the same number.
        let value = found["dispatchables"]["case"]["desc"]["Value"].clone();
        assert!(value.is_f64(), "{value}");
        let desc = json!({
            "InputTensor": tensor, "OutputTensor": tensor, "ValueDataType": "FLOAT32", "Value": value,
            "DiagonalFillBegin": -1, "DiagonalFillEnd": 2
        });
        let dispatch = json!({
            "type": "dispatch", "dispatchable": "case", "bindings": {
                "InputTensor": part("InputTensor", 48), "OutputTensor": part("OutputTensor", 272)
            }
        });
        let write = json!({
            "type": "writeFile", "resource": "OutputTensor", "targetPath": "results/OutputTensor.bin"
        });
        let expected = json!({
            "resources": {
                "InputTensor": {
                    "initialValuesDataType": "UINT8",
                    "initialValues": { "sourcePath": "InputTensor.bin" }
                },
                "OutputTensor": {
                    "initialValuesDataType": "UINT8",
                    "initialValues": { "valueCount": 272 + 840, "value": 0xa5 }
                }
            },
            "dispatchables": { "case": { "type": "DML_OPERATOR_DIAGONAL_MATRIX1", "desc": desc } },
            "commands": [dispatch, write]
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn what_the_runtime_owns_is_bound_to_the_dispatchable() {
        let (found, ..) = script("6_4/gemm/float32/rank4/owned_b");
        let case = &found["dispatchables"]["case"];
        assert_eq!(case["desc"]["BTensor"]["Flags"], "OWNED_BY_DML");
        assert_eq!(case["bindings"], json!({ "BTensor": "BTensor" }));
        let bound =
            json!({ "ATensor": "ATensor", "CTensor": "CTensor", "OutputTensor": "OutputTensor" });
        assert_eq!(found["commands"][0]["bindings"], bound);
    }

    #[test]
    fn an_array_is_bound_element_by_element() {
        let (found, inputs, _) = script("5_1/join/float32/rank4/random_0_0");
        let bound = found["commands"][0]["bindings"]["InputTensors"].as_array().unwrap();
        assert_eq!((bound.len(), &*inputs[0].0), (inputs.len(), "InputTensors_0.bin"));
    }
}
