//! Commands: what is done with resources, in order.

use std::path::PathBuf;

use dml_core::AbstractOperator;
use dml_core::FieldValue;
use dml_core::schema::{FieldKind, TensorPath};
use serde_json::Value;

use crate::element::ElementType;
use crate::error::{Error, Result};
use crate::files;
use crate::program::{Binding, Destination, Dispatch, Read, Source, Step};
use crate::tensor::element_count;

use super::dispatchable::Dispatchable;
use super::json::{Fields, refused};
use super::resources::Resource;

/// What a command may name.
pub(super) struct Scope<'a> {
    pub(super) resources: &'a [Resource],
    pub(super) dispatchables: &'a [Dispatchable],
}

impl Scope<'_> {
    /// The step that a command is.
    pub(super) fn step(&self, path: String, json: &Value) -> Result<Step> {
        let command = Fields::of(path, json)?;
        let kind = command.text("type")?;
        match kind.to_ascii_lowercase().as_str() {
            "dispatch" => self.dispatch(&command).map(Step::Dispatch),
            "print" => self.print(&command).map(Step::Read),
            "writefile" => self.write_file(&command).map(Step::Read),
            _ => Err(command.refused("type", "is not supported", "dispatch, print, writeFile")),
        }
    }

    fn dispatch(&self, command: &Fields<'_>) -> Result<Dispatch> {
        let name = command.text("dispatchable")?;
        let operator = self.dispatchables.iter().position(|it| it.name == name);
        let operator = operator.ok_or_else(|| {
            let names = names(self.dispatchables.iter().map(|it| it.name.as_str()));
            command.refused("dispatchable", "is no dispatchable", names)
        })?;
        let bindings = command.fields("bindings")?;
        let dispatchable = &self.dispatchables[operator];
        let abstract_operator = dispatchable.operator.as_ref().map_err(Clone::clone)?;
        check_bound(&bindings, abstract_operator)?;
        let of = |kind: FieldKind| {
            let tensors = abstract_operator.bindings(kind);
            tensors.map(|(path, _)| self.bound(&bindings, path)).collect::<Result<Vec<_>>>()
        };
        Ok(Dispatch { operator, inputs: of(FieldKind::Input)?, outputs: of(FieldKind::Output)? })
    }

    /// What is bound to a tensor of the operator; an array of tensors has an array of bindings.
    fn bound(&self, bindings: &Fields<'_>, tensor: TensorPath) -> Result<Option<Binding>> {
        let field = tensor.field.name;
        let Some(json) = bindings.get(field) else { return Ok(None) };
        let Some(element) = tensor.element else {
            return self.binding(bindings.at(field), json).map(Some);
        };
        let bound = json.as_array().and_then(|it| it.get(element));
        let path = bindings.at(&tensor.name());
        bound.map(|it| self.binding(path, it)).transpose()
    }

    /// A resource's name, or an object that names a part of it, or an array of one of either.
    fn binding(&self, path: String, json: &Value) -> Result<Binding> {
        if let Some(name) = json.as_str() {
            let buffer = self.resource(&path, name)?;
            let size = self.resources[buffer].size.next_multiple_of(4);
            return Ok(Binding { buffer, offset: 0, size });
        }
        if let Some([single]) = json.as_array().map(Vec::as_slice)
            && !single.is_array()
        {
            return self.binding(path, single);
        }
        let fields = Fields::of(path, json)?;
        let buffer = self.resource(&fields.at("name"), fields.text("name")?)?;
        let number = |name| Ok::<u64, Error>(fields.integer(name)?.unwrap_or(0));
        let (first, count) = (number("elementOffset")?, number("elementCount")?);
        let width = number("elementSizeInBytes")?;
        if width == 0 && (first, count) != (0, 0) {
            let path = fields.at("elementSizeInBytes");
            return Err(refused(
                &path,
                &0.into(),
                "does not say which part is bound",
                "1 and more",
            ));
        }
        let all = self.resources[buffer].size.next_multiple_of(4);
        let part = || {
            let offset = first.checked_mul(width)?;
            let size = match count {
                0 => all.checked_sub(offset)?,
                count => count.checked_mul(width)?,
            };
            (offset.checked_add(size)? <= all).then_some(Binding { buffer, offset, size })
        };
        part().ok_or_else(|| {
            refused(&fields.path, json, "is beyond the resource", format!("up to {all} bytes"))
        })
    }

    fn resource(&self, path: &str, name: &str) -> Result<usize> {
        self.resources.iter().position(|it| it.name == name).ok_or_else(|| {
            let names = names(self.resources.iter().map(|it| it.name.as_str()));
            refused(path, &name.into(), "is no resource", names)
        })
    }

    fn print(&self, command: &Fields<'_>) -> Result<Read> {
        let index = self.resource(&command.at("resource"), command.text("resource")?)?;
        let verbose = command.get("verbose").and_then(Value::as_bool).unwrap_or(false);
        let resource = self.resources[index].name.clone();
        let count = self.resources[index].element_count();
        Ok(self.read(index, vec![count], Destination::Print { resource, verbose }))
    }

    fn write_file(&self, command: &Fields<'_>) -> Result<Read> {
        let index = self.resource(&command.at("resource"), command.text("resource")?)?;
        let target = command.text("targetPath")?.replace('\\', "/");
        files::stays_inside(&target).map_err(|_| {
            command.refused("targetPath", "is no such path", "relative paths without '..' and ':'")
        })?;
        let count = self.resources[index].element_count();
        let shape = match command.get("dimensions") {
            None => vec![count],
            Some(json) => {
                let sizes = json.as_array().map(|it| it.iter().map(Value::as_u64));
                let shape: Option<Vec<u64>> = sizes.and_then(Iterator::collect);
                let fits = |shape: &Vec<u64>| element_count(shape).is_some_and(|it| it <= count);
                shape.filter(fits).ok_or_else(|| {
                    let accepted = format!("sizes of at most {count} elements");
                    command.refused("dimensions", "do not fit the resource", accepted)
                })?
            }
        };
        Ok(self.read(index, shape, Destination::File(PathBuf::from(target))))
    }

    fn read(&self, buffer: usize, shape: Vec<u64>, destination: Destination) -> Read {
        let data_type = self.resources[buffer].data_type;
        let bytes = element_count(&shape).unwrap_or(0) * u64::from(data_type.bits() / 8);
        let source = Source::Buffer(Binding { buffer, offset: 0, size: bytes });
        Read { destination, element: ElementType::Dml(data_type), shape, source }
    }
}

/// Checks that only tensors are bound, and as many to an array as it has elements.
fn check_bound(bindings: &Fields<'_>, operator: &AbstractOperator) -> Result<()> {
    let fields = operator.schema().fields.iter().zip(operator.fields());
    let is_tensor = |(_, value): &(_, &FieldValue)| {
        matches!(value, FieldValue::Tensor(_) | FieldValue::TensorArray(_))
    };
    let tensors = || fields.clone().filter(is_tensor);
    for key in bindings.object.keys() {
        let Some((_, value)) = tensors().find(|(field, _)| field.name == key) else {
            let problem = "is bound to no tensor of the operator";
            let accepted = names(tensors().map(|(field, _)| field.name));
            return Err(bindings.refused(key, problem, accepted));
        };
        if let (FieldValue::TensorArray(tensors), Some(json)) = (value, bindings.get(key))
            && json.as_array().map(Vec::len) != Some(tensors.len())
        {
            let problem = "does not bind every tensor of the array";
            return Err(bindings.refused(key, problem, format!("an array of {}", tensors.len())));
        }
    }
    Ok(())
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    crate::error::shortened(&names.take(20).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The dispatch of a JOIN of two tensors with these bindings.
    fn join(bindings: &Value) -> Result<Dispatch> {
        let resource = |name| Resource::read(name, &json!({ "sizeInBytes": 64 }), None);
        let resources = ["A", "B", "C"].map(|name| resource(name).unwrap());
        let tensor = json!({ "DataType": "FLOAT32", "Sizes": [2] });
        let inputs = [&tensor, &tensor];
        let desc =
            json!({ "InputCount": 2, "InputTensors": inputs, "OutputTensor": tensor, "Axis": 0 });
        let operator = json!({ "type": "DML_OPERATOR_JOIN", "desc": desc });
        let dispatchables = [Dispatchable::read("join", &operator)];
        let scope = Scope { resources: &resources, dispatchables: &dispatchables };
        let command = json!({ "type": "dispatch", "dispatchable": "join", "bindings": bindings });
        scope.step("commands[0]".to_owned(), &command).map(|step| match step {
            Step::Dispatch(dispatch) => dispatch,
            Step::Read(_) => panic!("it is a dispatch"),
        })
    }

    #[test]
    fn an_array_of_tensors_is_bound_element_by_element() {
        let part = json!({ "name": "B", "elementOffset": 2, "elementSizeInBytes": 16 });
        let dispatch = join(&json!({ "InputTensors": ["A", part], "OutputTensor": "C" })).unwrap();
        let places = |bound: &[Option<Binding>]| {
            let place = |it: &Option<Binding>| it.as_ref().map(|it| (it.buffer, it.offset));
            bound.iter().map(place).collect::<Vec<_>>()
        };
        assert_eq!(places(&dispatch.inputs), [Some((0, 0)), Some((1, 32))]);
        assert_eq!(places(&dispatch.outputs), [Some((2, 0))]);
    }

    #[test]
    fn an_array_is_bound_as_a_whole() {
        for wrong in [json!("A"), json!(["A"]), json!(["A", "B", "C"])] {
            let error = join(&json!({ "InputTensors": wrong })).unwrap_err().to_string();
            let problem = "does not bind every tensor of the array; accepted: an array of 2";
            assert!(error.contains(problem), "{error}");
        }
        let error = join(&json!({ "InputTensors": ["A", "D"] })).unwrap_err().to_string();
        assert!(error.contains("bindings.InputTensors[1]: ") && error.contains("is no resource"));
        let error = join(&json!({ "InputCount": 2 })).unwrap_err().to_string();
        assert!(error.contains("accepted: InputTensors, OutputTensor"), "{error}");
    }
}
