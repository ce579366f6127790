//! A whole model.

use std::path::Path;

use dml_core::AbstractOperator;
use serde_json::Value;

use crate::error::{Error, Result, shortened};
use crate::format::Format;
use crate::graph::level;
use crate::inputs::Inputs;
use crate::inspect::{InputReport, NodeReport, NodeSupport, Report, ValueReport};
use crate::program::{BufferPlan, Destination, Operator, Program, Step};

use super::commands::Scope;
use super::dispatchable::Dispatchable;
use super::json::Fields;
use super::resources::Resource;

/// Buffers, operators and commands.
#[derive(Debug)]
pub(crate) struct Script {
    resources: Vec<Resource>,
    dispatchables: Vec<Dispatchable>,
    steps: Result<Vec<Step>>,
}

impl Script {
    /// Reads `{"resources": {..}, "dispatchables": {..}, "commands": [..]}`.
    pub(super) fn read(model: &Value, folder: Option<&Path>) -> Result<Self> {
        let model = Fields::of("model", model)?;
        if ["resources", "dispatchables", "commands"].iter().all(|name| model.get(name).is_none()) {
            let fields: Vec<&str> = model.object.keys().map(String::as_str).collect();
            let fields = if fields.is_empty() { "none".to_owned() } else { fields.join(", ") };
            return Err(Error::malformed(format!(
                "is JSON, but no DxDispatch model: its fields are {}; accepted: resources, \
                 dispatchables, commands",
                shortened(&fields)
            )));
        }
        let objects = |name: &str| model.fields(name).map(|it| it.object);
        let resources = objects("resources")?.iter();
        let resources = resources.map(|(name, json)| Resource::read(name, json, folder));
        let resources = resources.collect::<Result<Vec<_>>>()?;
        let dispatchables = objects("dispatchables")?.iter();
        let dispatchables: Vec<Dispatchable> =
            dispatchables.map(|(name, json)| Dispatchable::read(name, json)).collect();
        let commands = model.required("commands")?;
        let commands = commands
            .as_array()
            .ok_or_else(|| model.refused("commands", "is no array", "an array"))?;
        let scope = Scope { resources: &resources, dispatchables: &dispatchables };
        let steps = commands.iter().enumerate();
        let steps = steps.map(|(index, json)| scope.step(format!("commands[{index}]"), json));
        let steps = steps.collect();
        Ok(Self { resources, dispatchables, steps })
    }

    pub(crate) fn bind(&self, inputs: &Inputs) -> Result<Program> {
        no_inputs(inputs)?;
        let steps = self.steps.clone()?;
        let used = steps.iter().filter_map(|step| match step {
            Step::Dispatch(dispatch) => Some(dispatch.operator),
            Step::Initialize(_) | Step::Read(_) => None,
        });
        let used: std::collections::HashSet<usize> = used.collect();
        // What no command dispatches is not compiled, and steps are numbered anew.
        let mut numbers = vec![0; self.dispatchables.len()];
        let mut operators = Vec::new();
        for (index, dispatchable) in self.dispatchables.iter().enumerate() {
            if used.contains(&index) {
                numbers[index] = operators.len();
                let operator = dispatchable.operator.clone()?;
                operators.push(Operator { node: dispatchable.node.clone(), work: operator.into() });
            }
        }
        let renumbered = |step| match step {
            Step::Dispatch(mut dispatch) => {
                dispatch.operator = numbers[dispatch.operator];
                Step::Dispatch(dispatch)
            }
            other => other,
        };
        let buffers = self.resources.iter().map(|resource| BufferPlan {
            size: resource.size.next_multiple_of(4),
            initial: resource.initial.clone(),
        });
        Ok(Program {
            inputs: vec![],
            buffers: buffers.collect(),
            operators,
            steps: steps.into_iter().map(renumbered).collect(),
        })
    }

    pub(crate) fn inspect(&self, inputs: &Inputs) -> Result<Report> {
        no_inputs(inputs)?;
        let resource = |resource: &Resource| InputReport {
            value: ValueReport {
                name: shortened(&resource.name),
                element: Some(resource.data_type.to_string()),
                shape: Some(vec![resource.element_count().to_string()]),
            },
            requirement: None,
        };
        let dispatchable = |it: &Dispatchable| NodeReport {
            node: it.node.clone(),
            outputs: vec![],
            support: match &it.operator {
                Err(error) => NodeSupport::Unsupported(error.to_string()),
                Ok(operator) => match level(operator) {
                    Some(level) => {
                        NodeSupport::Operator { operator: operator.schema().name, level }
                    }
                    None => NodeSupport::Unsupported(refusal(operator)),
                },
            },
        };
        let output = |step: &Step| match step {
            Step::Initialize(_) | Step::Dispatch(_) => None,
            Step::Read(read) => Some(ValueReport {
                name: match &read.destination {
                    Destination::Output(name) => shortened(name),
                    Destination::Print { resource, .. } => format!("print {}", shortened(resource)),
                    Destination::File(path) => {
                        format!("writeFile {}", shortened(&path.display().to_string()))
                    }
                },
                element: Some(read.element.to_string()),
                shape: Some(read.shape.iter().map(ToString::to_string).collect()),
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

fn refusal(operator: &AbstractOperator) -> String {
    match dml_core::validate(operator, dml_core::FeatureLevel::HIGHEST) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

fn no_inputs(inputs: &Inputs) -> Result<()> {
    match inputs.iter().next() {
        None => Ok(()),
        Some((name, _)) => {
            let problem = "is given, but the model has its values in its resources";
            Err(Error::input(name, "it", problem, "none"))
        }
    }
}
