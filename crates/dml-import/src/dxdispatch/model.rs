//! ONNX models as dispatchables: their programs become parts of the script's program.

use std::sync::Arc;

use dml_core::operators::ElementWiseIdentityDesc;
use dml_core::{DataType, TensorDesc};
use serde_json::Value;

use crate::assemble::assemble;
use crate::error::{Error, NodeName, Result, shortened};
use crate::files::Folder;
use crate::graph::{Dimension, Extent, Graph, evaluate};
use crate::inputs::Inputs;
use crate::program::{
    Binding, BufferPlan, Dispatch, Initial, Operator, Program, Read, Source, Step,
};
use crate::tensor::byte_count;
use crate::{files, limits, onnx};

use super::json::Fields;

const SOURCE: &str = "sourcePath";
const SIZES: &str = "freeDimensionNameOverrides";
/// Fields that affect no result.
const TUNING: [&str; 3] = ["graphOptimizationLevel", "loggingLevel", "sessionOptionsConfigEntries"];

/// The program of the model that `{"type": "onnx", "sourcePath": ..}` names.
pub(super) fn read(node: &NodeName, json: &Value, folder: Option<&Folder>) -> Result<Arc<Program>> {
    let fields = Fields::of(format!("dispatchables.{}", node.name), json)?;
    let known = [&["type", "Type", SOURCE, SIZES][..], &TUNING].concat();
    if let Some(key) = fields.object.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(fields.refused(key, "is given for an unknown field", known.join(", ")));
    }
    let mut graph = graph(&fields, folder)?;
    set_sizes(&fields, &mut graph)?;
    let located = |error: Error| Error::malformed(format!("{}: {error}", fields.at(SOURCE)));
    let evaluation = evaluate(&graph, &Inputs::new(), Extent::Outputs).map_err(located)?;
    assemble(&graph, &evaluation).map(Arc::new).map_err(located)
}

/// Reads the graph of the model's file.
fn graph(fields: &Fields<'_>, folder: Option<&Folder>) -> Result<Graph> {
    // A script from Windows separates folders with a backslash.
    let name = fields.text(SOURCE)?.replace('\\', "/");
    let read = || {
        files::stays_inside(&name)?;
        let folder =
            folder.ok_or_else(|| Error::malformed("files are read only for a model in a file"))?;
        let path = folder.file(&name)?;
        let own = Folder::new(path.parent().unwrap_or(&path));
        let graph = onnx::read(files::read(&path, limits::ONNX_BYTES)?, Some(&own));
        folder.remember(own);
        graph
    };
    read().map_err(|error| Error::malformed(format!("{}: {error}", fields.at(SOURCE))))
}

/// Sets the named dimensions of inputs to the sizes that the dispatchable gives.
fn set_sizes(fields: &Fields<'_>, graph: &mut Graph) -> Result<()> {
    if fields.get(SIZES).is_none() {
        return Ok(());
    }
    let sizes = fields.fields(SIZES)?;
    let dimensions = graph.inputs.iter_mut().filter_map(|input| input.shape.as_mut()).flatten();
    for dimension in dimensions {
        let Dimension::Named(name) = &*dimension else { continue };
        if let Some(size) = sizes.integer(name)? {
            *dimension = Dimension::Known(size);
        }
    }
    Ok(())
}

/// A model's program as a part of a script's program.
pub(super) struct EmbeddedModel {
    node: NodeName,
    model: Arc<Program>,
    /// The indices of its first operator and of its first buffer in the script's program.
    first_operator: usize,
    first_buffer: usize,
    /// Whether an earlier command dispatched it.
    is_initialized: bool,
}

impl EmbeddedModel {
    /// Adds a model's operators and buffers to the script's program.
    pub(super) fn of(program: &mut Program, node: &NodeName, model: &Arc<Program>) -> Self {
        let part = Self {
            node: node.clone(),
            model: Arc::clone(model),
            first_operator: program.operators.len(),
            first_buffer: program.buffers.len(),
            is_initialized: false,
        };
        program.operators.extend(model.operators.iter().cloned());
        program.buffers.extend(model.buffers.iter().map(|plan| match plan.initial {
            // Each dispatch copies the input from a resource.
            Initial::Input(_) => BufferPlan { initial: Initial::Undefined, ..plan.clone() },
            _ => plan.clone(),
        }));
        part
    }

    /// Adds the steps of a dispatch, whose bindings correspond to the model's inputs and outputs.
    pub(super) fn dispatch(&mut self, program: &mut Program, bound: &Dispatch) -> Result<()> {
        let model = Arc::clone(&self.model);
        for (index, plan) in model.buffers.iter().enumerate() {
            if let Initial::Input(input) = plan.initial
                && let Some(source) = &bound.inputs[input]
            {
                let kind = &model.inputs[input];
                let bytes =
                    kind.element.and_then(|element| byte_count(element, &kind.shape)).unwrap_or(0);
                let buffer = self.first_buffer + index;
                let target = Binding { buffer, offset: 0, size: plan.size };
                self.copy(program, source.clone(), target, bytes)?;
            }
        }
        let mut outputs = bound.outputs.iter();
        for step in &model.steps {
            match step {
                Step::Initialize(initialization) if !self.is_initialized => {
                    let mut initialization = initialization.clone();
                    initialization.operator += self.first_operator;
                    self.place(&mut initialization.inputs);
                    program.steps.push(Step::Initialize(initialization));
                }
                Step::Dispatch(dispatch) if !(dispatch.once && self.is_initialized) => {
                    let mut dispatch = dispatch.clone();
                    dispatch.operator += self.first_operator;
                    self.place(&mut dispatch.inputs);
                    self.place(&mut dispatch.outputs);
                    program.steps.push(Step::Dispatch(dispatch));
                }
                Step::Initialize(_) | Step::Dispatch(_) => {}
                Step::Read(read) => {
                    if let Some(Some(target)) = outputs.next() {
                        self.write(program, bound, read, target)?;
                    }
                }
            }
        }
        self.is_initialized = true;
        Ok(())
    }

    /// Copies an output of the model to the resource bound to it.
    fn write(
        &self,
        program: &mut Program,
        bound: &Dispatch,
        read: &Read,
        target: &Binding,
    ) -> Result<()> {
        let bytes = byte_count(read.element, &read.shape).unwrap_or(0);
        let source = match &read.source {
            Source::Buffer(binding) => {
                Some(Binding { buffer: binding.buffer + self.first_buffer, ..binding.clone() })
            }
            Source::Input(input) => bound.inputs[*input].clone(),
            Source::Host(_) if bytes == 0 => None,
            Source::Host(tensor) => {
                let size = bytes.next_multiple_of(4);
                let initial = Initial::Tensor(tensor.clone());
                program.buffers.push(BufferPlan { size, initial });
                Some(Binding { buffer: program.buffers.len() - 1, offset: 0, size })
            }
        };
        source.map_or(Ok(()), |source| self.copy(program, source, target.clone(), bytes))
    }

    fn place(&self, bindings: &mut [Option<Binding>]) {
        bindings.iter_mut().flatten().for_each(|binding| binding.buffer += self.first_buffer);
    }

    /// Adds an operator that copies `bytes` bytes.
    fn copy(
        &self,
        program: &mut Program,
        source: Binding,
        target: Binding,
        bytes: u64,
    ) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let (data_type, count) = match bytes.is_multiple_of(4) {
            true => (DataType::Uint32, bytes / 4),
            false => (DataType::Uint8, bytes),
        };
        let count = u32::try_from(count).map_err(|_| {
            let name = shortened(&self.node.name);
            Error::malformed(format!("dispatchables.{name}: {bytes} bytes are too many to copy"))
        })?;
        let tensor = TensorDesc::packed(data_type, &[1, 1, 1, count]);
        let copy = ElementWiseIdentityDesc {
            input_tensor: tensor.clone(),
            output_tensor: tensor,
            scale_bias: None,
        };
        let operator = program.operators.len();
        program.operators.push(Operator {
            node: self.node.clone(),
            work: dml_core::AbstractOperator::from(copy).into(),
        });
        let (inputs, outputs) = (vec![Some(source)], vec![Some(target)]);
        program.steps.push(Step::Dispatch(Dispatch { operator, inputs, outputs, once: false }));
        Ok(())
    }
}
