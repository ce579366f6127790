//! DxDispatch models.

use std::collections::{BTreeSet, HashMap};

use dml_core::FeatureLevel;
use serde_json::Value;

use crate::error::{Error, Result, shortened};
use crate::files::Folder;
use crate::format::Format;
use crate::inputs::Inputs;
use crate::inspect::{InputReport, NodeReport, NodeSupport, Report, ValueReport};
use crate::program::{BufferPlan, Destination, Operator, Program, Step, Work};

use super::commands::Scope;
use super::dispatchable::{self, Dispatchable, Task};
use super::json::Fields;
use super::model::EmbeddedModel;
use super::resources::Resource;

/// A DxDispatch model: resources, dispatchables and commands.
#[derive(Debug)]
pub(crate) struct Script {
    resources: Vec<Resource>,
    dispatchables: Vec<Dispatchable>,
    steps: Result<Vec<Step>>,
}

impl Script {
    /// Reads an object `{"resources": {..}, "dispatchables": {..}, "commands": [..]}`.
    pub(super) fn read(mut model: Value, folder: Option<&Folder>) -> Result<Self> {
        let dispatchables = model.get_mut("dispatchables").and_then(Value::as_object_mut);
        let dispatchables = dispatchables.map(std::mem::take);
        let model = Fields::of("model", &model)?;
        if ["resources", "dispatchables", "commands"].iter().all(|name| model.get(name).is_none()) {
            let fields: Vec<&str> = model.object.keys().map(String::as_str).collect();
            let fields = if fields.is_empty() { "none".to_owned() } else { fields.join(", ") };
            return Err(Error::malformed(format!(
                "is JSON, but not a DxDispatch model: its fields are {}; accepted: resources, \
                 dispatchables, commands",
                shortened(&fields)
            )));
        }
        let objects = |name: &str| model.fields(name).map(|it| it.object);
        let resources = objects("resources")?.iter();
        let resources = resources.map(|(name, json)| Resource::read(name, json, folder));
        let mut resources = resources.collect::<Result<Vec<_>>>()?;
        resources.sort_by(|a, b| a.name.cmp(&b.name));
        objects("dispatchables")?;
        let dispatchables = dispatchable::read(dispatchables.unwrap_or_default(), folder);
        let commands = model.required("commands")?;
        let commands = commands
            .as_array()
            .ok_or_else(|| model.refused("commands", "is not an array", "an array"))?;
        let steps = Scope::new(&mut resources, &dispatchables).steps(commands);
        Ok(Self { resources, dispatchables, steps })
    }

    pub(crate) fn bind(&self, inputs: &Inputs) -> Result<Program> {
        no_inputs(inputs)?;
        let steps = self.steps.clone()?;
        let used = steps.iter().filter_map(|step| match step {
            Step::Dispatch(dispatch) => Some(dispatch.operator),
            Step::Initialize(_) | Step::Read(_) => None,
        });
        let used: BTreeSet<usize> = used.collect();
        let buffers = self.resources.iter().map(|resource| BufferPlan {
            // A deferred resource that is never written needs a size, too.
            size: resource.size.max(1).next_multiple_of(4),
            initial: resource.initial.clone(),
        });
        let mut program = Program { buffers: buffers.collect(), ..Program::default() };
        // Unused dispatchables are not compiled, so operators are renumbered.
        let mut numbers = vec![0; self.dispatchables.len()];
        let mut models: HashMap<usize, EmbeddedModel> = HashMap::new();
        for index in used {
            let dispatchable = &self.dispatchables[index];
            match &dispatchable.content.as_ref().map_err(Clone::clone)?.task {
                Task::Work(work) => {
                    numbers[index] = program.operators.len();
                    let (node, work) = (dispatchable.node.clone(), work.clone());
                    program.operators.push(Operator { node, work });
                }
                Task::Model(model) => {
                    models
                        .insert(index, EmbeddedModel::of(&mut program, &dispatchable.node, model));
                }
            }
        }
        for step in steps {
            match step {
                Step::Initialize(mut initialization) => {
                    initialization.operator = numbers[initialization.operator];
                    program.steps.push(Step::Initialize(initialization));
                }
                Step::Dispatch(mut dispatch) => match models.get_mut(&dispatch.operator) {
                    Some(model) => model.dispatch(&mut program, &dispatch)?,
                    None => {
                        dispatch.operator = numbers[dispatch.operator];
                        program.steps.push(Step::Dispatch(dispatch));
                    }
                },
                Step::Read(read) => program.steps.push(Step::Read(read)),
            }
        }
        Ok(program)
    }

    /// The destinations of tensors that commands print and write, in the commands' order.
    pub(crate) fn destinations(&self) -> Result<Vec<Destination>> {
        let destination = |step: &Step| match step {
            Step::Initialize(_) | Step::Dispatch(_) => None,
            Step::Read(read) => Some(read.destination.clone()),
        };
        Ok(self.steps.as_ref().map_err(Clone::clone)?.iter().filter_map(destination).collect())
    }

    pub(crate) fn inspect(&self, inputs: &Inputs) -> Result<Report> {
        no_inputs(inputs)?;
        let resource = |resource: &Resource| InputReport {
            value: ValueReport {
                name: shortened(&resource.name),
                element: Some(resource.data_type.to_string()),
                shape: Some(vec![resource.element_count().to_string()]),
                number: None,
            },
            requirement: None,
        };
        let dispatchable = |it: &Dispatchable| NodeReport {
            node: it.node.clone(),
            outputs: vec![],
            support: match &it.content {
                Err(error) => NodeSupport::Unsupported(error.to_string()),
                Ok(content) => support(&content.task),
            },
            flops: None,
            inputs: vec![],
        };
        let output = |step: &Step| match step {
            Step::Initialize(_) | Step::Dispatch(_) => None,
            Step::Read(read) => Some(ValueReport {
                name: match &read.destination {
                    Destination::Output(name) => shortened(name),
                    Destination::Answer(number) => format!("answer {number}"),
                    Destination::Print { resource, .. } => format!("print {}", shortened(resource)),
                    Destination::File(path) => {
                        format!("writeFile {}", shortened(&path.display().to_string()))
                    }
                },
                element: Some(read.element.to_string()),
                shape: Some(read.shape.iter().map(ToString::to_string).collect()),
                number: None,
            }),
        };
        let steps = self.steps.as_ref().map_err(Clone::clone)?;
        Ok(Report {
            format: Format::DxDispatch,
            inputs: self.resources.iter().map(resource).collect(),
            nodes: self.dispatchables.iter().map(dispatchable).collect(),
            outputs: steps.iter().filter_map(output).collect(),
        })
    }
}

/// How a dispatchable runs: from the lowest feature level that accepts it.
fn support(task: &Task) -> NodeSupport {
    let accepts_work = |work: &Work, level| match work {
        Work::Operator(operator) => dml_core::validate(operator, level).map(|_| ()),
        Work::Graph { desc, .. } => dml_core::validate_graph(desc, level).map(|_| ()),
    };
    let accepts = |level| match task {
        Task::Work(work) => accepts_work(work, level),
        Task::Model(program) => {
            program.operators.iter().try_for_each(|operator| accepts_work(&operator.work, level))
        }
    };
    let operator = match task {
        Task::Work(Work::Operator(operator)) => operator.schema().name,
        Task::Work(Work::Graph { .. }) => "GRAPH",
        Task::Model(_) => "ONNX",
    };
    match FeatureLevel::ALL.into_iter().find(|level| accepts(*level).is_ok()) {
        Some(level) => NodeSupport::Operator { operator, level },
        None => match accepts(FeatureLevel::HIGHEST) {
            Err(error) => NodeSupport::Unsupported(error.to_string()),
            Ok(()) => NodeSupport::Unsupported(String::new()),
        },
    }
}

fn no_inputs(inputs: &Inputs) -> Result<()> {
    match inputs.iter().next() {
        None => Ok(()),
        Some((name, _)) => Err(Error::unknown_input(name, std::iter::empty())),
    }
}
