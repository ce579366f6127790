//! A script's commands, executed in order.

use std::path::PathBuf;

use serde_json::Value;

use crate::element::ElementType;
use crate::error::{Error, Result};
use crate::files;
use crate::program::{Binding, Destination, Dispatch, Initialization, Read, Source, Step};
use crate::tensor::element_count;

use super::dispatchable::{Content, Dispatchable};
use super::json::{Fields, names, refused};
use super::points::Point;
use super::resources::Resource;

/// The most tensors of all dispatches together; a large operator's tensors count at each dispatch.
const POINTS: usize = 1 << 21;

/// The resources and dispatchables that commands may name, and the state of reading.
pub(super) struct Scope<'a> {
    /// Deferred resources get their sizes from the commands that write them.
    resources: &'a mut [Resource],
    dispatchables: &'a [Dispatchable],
    /// The number of tensors of all dispatches so far.
    points: usize,
}

impl<'a> Scope<'a> {
    pub(super) fn new(resources: &'a mut [Resource], dispatchables: &'a [Dispatchable]) -> Self {
        Self { resources, dispatchables, points: 0 }
    }

    /// The steps of all commands, preceded by the initializations that they need.
    pub(super) fn steps(&mut self, commands: &[Value]) -> Result<Vec<Step>> {
        let mut steps = Vec::with_capacity(commands.len());
        for (index, json) in commands.iter().enumerate() {
            steps.push(self.step(format!("commands[{index}]"), json)?);
        }
        let mut is_used = vec![false; self.dispatchables.len()];
        for step in &steps {
            if let Step::Dispatch(dispatch) = step {
                is_used[dispatch.operator] = true;
            }
        }
        let mut all = Vec::new();
        for operator in (0..is_used.len()).filter(|index| is_used[*index]) {
            all.extend(self.initialization(operator)?.map(Step::Initialize));
        }
        all.append(&mut steps);
        Ok(all)
    }

    fn step(&mut self, path: String, json: &Value) -> Result<Step> {
        let command = Fields::of(path, json)?;
        let kind = command.text("type")?;
        match kind.to_ascii_lowercase().as_str() {
            "dispatch" => self.dispatch(&command).map(Step::Dispatch),
            "print" => self.print(&command).map(Step::Read),
            "writefile" => self.write_file(&command).map(Step::Read),
            _ => Err(command.refused("type", "is not supported", "dispatch, print, writeFile")),
        }
    }

    fn content(&self, operator: usize) -> Result<&'a Content> {
        self.dispatchables[operator].content.as_ref().map_err(Clone::clone)
    }

    fn dispatch(&mut self, command: &Fields<'_>) -> Result<Dispatch> {
        let name = command.text("dispatchable")?;
        let found = self.dispatchables.binary_search_by(|it| it.name.as_str().cmp(name));
        let operator = found.map_err(|_| {
            let names =
                names(self.dispatchables.iter().map(|dispatchable| dispatchable.name.as_str()));
            command.refused("dispatchable", "is not a dispatchable", names)
        })?;
        let bindings = command.fields("bindings")?;
        let points = &self.content(operator)?.points;
        points.check(&bindings)?;
        self.points += points.inputs.len() + points.outputs.len();
        if self.points > POINTS {
            let problem = "is one tensor too many in all commands";
            return Err(command.refused("bindings", problem, format!("up to {POINTS}")));
        }
        let is_initialized = self.dispatchables[operator].bindings.is_some();
        let input = |point: &Point| match point.find(&bindings) {
            None => Ok(None),
            Some((path, json)) if point.is_owned && is_initialized => {
                let problem = "is bound again to a tensor that is OWNED_BY_DML";
                Err(refused(&path, json, problem, "what the dispatchable's bindings say"))
            }
            Some((path, json)) => self.binding(path, json).map(Some),
        };
        let inputs = points.inputs.iter().map(input).collect::<Result<Vec<_>>>()?;
        for (point, input) in points.inputs.iter().zip(&inputs) {
            if point.is_required && input.is_none() {
                let at = bindings.at(&point.name());
                return Err(refused(&at, &Value::Null, "is missing", "a resource"));
            }
        }
        let mut outputs = Vec::with_capacity(points.outputs.len());
        for point in &points.outputs {
            let Some((path, json)) = point.find(&bindings) else {
                outputs.push(None);
                continue;
            };
            self.settle(&path, json, point)?;
            outputs.push(Some(self.binding(path, json)?));
        }
        Ok(Dispatch { operator, inputs, outputs, once: false })
    }

    /// The initialization of a dispatchable before the first command, if it states bindings.
    fn initialization(&self, operator: usize) -> Result<Option<Initialization>> {
        let dispatchable = &self.dispatchables[operator];
        let Some(json) = &dispatchable.bindings else { return Ok(None) };
        let path = format!("dispatchables.{}.bindings", dispatchable.node.name);
        let bindings = Fields::of(path, json)?;
        let points = &self.content(operator)?.points;
        points.check(&bindings)?;
        let outputs = points.outputs.iter().map(|output| (output, false));
        for (point, is_owned) in
            points.inputs.iter().map(|input| (input, input.is_owned)).chain(outputs)
        {
            match point.find(&bindings) {
                Some((path, json)) if !is_owned => {
                    let problem = "is bound to a tensor that is not OWNED_BY_DML";
                    return Err(refused(&path, json, problem, "the bindings of commands for it"));
                }
                None if is_owned => {
                    let (at, problem) = (bindings.at(&point.name()), "is missing");
                    return Err(refused(&at, &Value::Null, problem, "a resource"));
                }
                _ => {}
            }
        }
        let input = |point: &Point| {
            let found = point.find(&bindings);
            found.map(|(path, json)| self.initial_binding(path, json)).transpose()
        };
        let inputs = points.inputs.iter().map(input).collect::<Result<_>>()?;
        Ok(Some(Initialization { operator, inputs }))
    }

    fn initial_binding(&self, path: String, json: &Value) -> Result<Binding> {
        let binding = self.binding(path.clone(), json)?;
        if self.resources[binding.buffer].is_deferred() {
            let problem = "is deferred, so that nothing is in it before the first command";
            return Err(refused(&path, json, problem, "a resource with initial values"));
        }
        Ok(binding)
    }

    /// Gives a deferred resource the size and type of the first output that is bound to it.
    fn settle(&mut self, path: &str, json: &Value, point: &Point) -> Result<()> {
        let part = ResourceRange::read(path.to_owned(), json)?;
        let index = self.resource(&part.path, part.name)?;
        if !self.resources[index].is_unsettled() {
            return Ok(());
        }
        let (data_type, bytes) = point.extent.ok_or_else(|| {
            refused(path, json, "is deferred, and the tensor has no size", "a valid tensor")
        })?;
        let element_size = Some(u64::from(data_type.bits() / 8)).filter(|it| *it > 0);
        let needed = part.begin(element_size)?.and_then(|begin| begin.checked_add(bytes));
        let settled = needed.is_some_and(|size| self.resources[index].settle(data_type, size));
        if settled { Ok(()) } else { Err(refused(path, json, "is too large", "a smaller tensor")) }
    }

    /// The part of a resource that is bound.
    fn binding(&self, path: String, json: &Value) -> Result<Binding> {
        let part = ResourceRange::read(path, json)?;
        let buffer = self.resource(&part.path, part.name)?;
        self.settled(&part.path, buffer)?;
        let all = self.resources[buffer].size.next_multiple_of(4);
        let element_size = self.resources[buffer].element_size();
        let (begin, width) = (part.begin(element_size)?, part.width(element_size)?);
        let range = || {
            let offset = begin?;
            let size = match part.count {
                0 => all.checked_sub(offset)?,
                count => count.checked_mul(width)?,
            };
            (offset.checked_add(size)? <= all).then_some(Binding { buffer, offset, size })
        };
        range().ok_or_else(|| {
            refused(&part.path, json, "is beyond the resource", format!("up to {all} bytes"))
        })
    }

    /// Checks that the resource has a size.
    fn settled(&self, path: &str, index: usize) -> Result<()> {
        if !self.resources[index].is_unsettled() {
            return Ok(());
        }
        let name = self.resources[index].name.as_str().into();
        let problem = "is deferred, and no command before has written it";
        Err(refused(path, &name, problem, "a resource with values"))
    }

    fn resource(&self, path: &str, name: &str) -> Result<usize> {
        self.resources.binary_search_by(|it| it.name.as_str().cmp(name)).map_err(|_| {
            let names = names(self.resources.iter().map(|resource| resource.name.as_str()));
            refused(path, &name.into(), "is not a resource", names)
        })
    }

    fn print(&self, command: &Fields<'_>) -> Result<Read> {
        let index = self.resource(&command.at("resource"), command.text("resource")?)?;
        self.settled(&command.at("resource"), index)?;
        let verbose = command.get("verbose").and_then(Value::as_bool).unwrap_or(false);
        let resource = self.resources[index].name.clone();
        let count = self.resources[index].element_count();
        Ok(self.read(index, vec![count], Destination::Print { resource, verbose }))
    }

    fn write_file(&self, command: &Fields<'_>) -> Result<Read> {
        let index = self.resource(&command.at("resource"), command.text("resource")?)?;
        self.settled(&command.at("resource"), index)?;
        let target = command.text("targetPath")?.replace('\\', "/");
        files::stays_inside(&target).map_err(|_| {
            command.refused(
                "targetPath",
                "is not such a path",
                "relative paths without '..' and ':'",
            )
        })?;
        let count = self.resources[index].element_count();
        let shape = match command.get("dimensions") {
            None => vec![count],
            Some(json) => {
                let sizes = json.as_array().map(|as_array| as_array.iter().map(Value::as_u64));
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

/// A part of a resource: given as a name, as an object, or as an array of one of these.
struct ResourceRange<'a> {
    path: String,
    name: &'a str,
    /// The index of the first element.
    first: u64,
    /// The number of elements; 0 for all that follow the first.
    count: u64,
    /// The size of an element in bytes; 0 for the size of the resource's type.
    size: u64,
}

impl<'a> ResourceRange<'a> {
    fn read(path: String, json: &'a Value) -> Result<Self> {
        if let Some(name) = json.as_str() {
            return Ok(Self { path, name, first: 0, count: 0, size: 0 });
        }
        if let Some([single]) = json.as_array().map(Vec::as_slice)
            && !single.is_array()
        {
            return Self::read(path, single);
        }
        let fields = Fields::of(path, json)?;
        let name = fields.text("name")?;
        let number = |name| Ok::<u64, Error>(fields.integer(name)?.unwrap_or(0));
        let (first, count) = (number("elementOffset")?, number("elementCount")?);
        let size = number(ELEMENT_SIZE)?;
        Ok(Self { path: fields.path, name, first, count, size })
    }

    /// The size of an element in bytes; an error if it is needed and unknown.
    fn width(&self, element_size: Option<u64>) -> Result<u64> {
        let is_whole = (self.first, self.count) == (0, 0);
        let size = if self.size == 0 { element_size } else { Some(self.size) };
        size.or(is_whole.then_some(0)).ok_or_else(|| {
            let (path, problem) = (format!("{}.{ELEMENT_SIZE}", self.path), "is left out");
            refused(&path, &Value::Null, problem, "1 and more, for the resource has no one type")
        })
    }

    /// The first byte; `None` if it does not fit 64 bits.
    fn begin(&self, element_size: Option<u64>) -> Result<Option<u64>> {
        Ok(self.first.checked_mul(self.width(element_size)?))
    }
}

const ELEMENT_SIZE: &str = "elementSizeInBytes";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::dxdispatch::dispatchable;

    /// The dispatch of a JOIN of two tensors with these bindings.
    fn join(bindings: &Value) -> Result<Dispatch> {
        let resource = |name| Resource::read(name, &json!({ "sizeInBytes": 64 }), None);
        let mut resources = ["A", "B", "C"].map(|name| resource(name).unwrap());
        let tensor = json!({ "DataType": "FLOAT32", "Sizes": [2] });
        let inputs = [&tensor, &tensor];
        let desc =
            json!({ "InputCount": 2, "InputTensors": inputs, "OutputTensor": tensor, "Axis": 0 });
        let operator = json!({ "type": "DML_OPERATOR_JOIN", "desc": desc });
        let dispatchables = json!({ "join": operator });
        let dispatchables = dispatchable::read(dispatchables.as_object().unwrap().clone(), None);
        let mut scope = Scope::new(&mut resources, &dispatchables);
        let command = json!({ "type": "dispatch", "dispatchable": "join", "bindings": bindings });
        scope.step("commands[0]".to_owned(), &command).map(|step| match step {
            Step::Dispatch(dispatch) => dispatch,
            other => panic!("{other:?} is not a dispatch"),
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
        assert!(
            error.contains("bindings.InputTensors[1]: ") && error.contains("is not a resource")
        );
        let error = join(&json!({ "InputCount": 2 })).unwrap_err().to_string();
        assert!(error.contains("accepted: InputTensors, OutputTensor"), "{error}");
    }
}
