//! From the values of an evaluated graph to a program.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::element::ElementType;
use crate::error::{NodeName, Result};
use crate::graph::value::{Band, Content, Value};
use crate::graph::{Evaluation, Graph};
use crate::lower;
use crate::program::{
    Binding, BufferPlan, Destination, Dispatch, Initial, Operator, Program, ProgramInput, Read,
    Source, Step,
};
use crate::tensor::{Tensor, byte_count};

/// The program whose outputs are the graph's.
pub(crate) fn assemble(graph: &Graph, evaluation: &Evaluation) -> Result<Program> {
    let mut assembler = Assembler::default();
    for output in &graph.outputs {
        let node = NodeName::new("Output", &output.name);
        assembler.output(&node, &output.name, evaluation.value(output.value))?;
    }
    let mut program = assembler.program;
    for (input, bound) in graph.inputs.iter().zip(&evaluation.inputs) {
        let value = evaluation.value(input.value);
        program.inputs.push(ProgramInput {
            name: bound.name.clone(),
            element: value.element,
            shape: value.shape.clone().unwrap_or_default(),
            tensor: bound.tensor.clone(),
            fixed: bound.read.load(Ordering::Relaxed),
        });
    }
    Ok(program)
}

#[derive(Default)]
struct Assembler {
    program: Program,
    /// Where the bands of values with several users were written, by address and type.
    written: HashMap<(*const Band, ElementType), Binding>,
    /// Where inputs are.
    uploaded: HashMap<usize, Binding>,
}

impl Assembler {
    fn output(&mut self, node: &NodeName, name: &str, value: &Value) -> Result<()> {
        let (shape, element) = (value.shape()?.to_vec(), value.element()?);
        let source = if shape.contains(&0) {
            if let Content::Refused(error) = &value.content {
                return Err(crate::Error::clone(error));
            }
            Source::Host(Tensor::new(element, shape.clone(), Vec::new())?)
        } else {
            match &value.content {
                Content::Input(input) => Source::Input(input.index),
                Content::Fill(_) | Content::Band(_) => Source::Buffer(self.binding(node, value)?),
                _ => Source::Host(value.tensor(node)?),
            }
        };
        let destination = Destination::Output(name.to_owned());
        self.program.steps.push(Step::Read(Read { destination, element, shape, source }));
        Ok(())
    }

    /// The buffer that will hold `value`, which is not empty.
    fn binding(&mut self, node: &NodeName, value: &Value) -> Result<Binding> {
        let element = value.element()?;
        match &value.content {
            Content::Band(band) => {
                let key = (Arc::as_ptr(band), element);
                if let Some(binding) = self.written.get(&key) {
                    return Ok(binding.clone());
                }
                // First, for it refuses sizes that no buffer has.
                let operator = lower::band(band, element)?;
                let input = match &band.source {
                    Some(source) => Some(self.binding(&band.node, source)?),
                    None => None,
                };
                let binding = self.dispatch(&band.node, operator, input, element, &band.shape);
                self.written.insert(key, binding.clone());
                Ok(binding)
            }
            Content::Fill(bits) => {
                let shape = value.shape()?.to_vec();
                let operator = lower::fill(node, element, &shape, *bits)?;
                Ok(self.dispatch(node, operator, None, element, &shape))
            }
            Content::Input(input) => {
                if let Some(binding) = self.uploaded.get(&input.index) {
                    return Ok(binding.clone());
                }
                let binding = self.buffer(element, value.shape()?, Initial::Input(input.index));
                self.uploaded.insert(input.index, binding.clone());
                Ok(binding)
            }
            _ => {
                let tensor = value.tensor(node)?;
                let shape = tensor.shape().to_vec();
                Ok(self.buffer(element, &shape, Initial::Tensor(tensor)))
            }
        }
    }

    fn dispatch(
        &mut self,
        node: &NodeName,
        operator: dml_core::AbstractOperator,
        input: Option<Binding>,
        element: ElementType,
        shape: &[u64],
    ) -> Binding {
        let output = self.buffer(element, shape, Initial::Undefined);
        // The bindings that the schema has, of which only the first input is ever used.
        let inputs = operator.schema().fields.iter();
        let count = inputs.filter(|it| it.kind == dml_core::schema::FieldKind::Input).count();
        let mut inputs = vec![input];
        inputs.resize(count, None);
        let index = self.program.operators.len();
        self.program.operators.push(Operator { node: node.clone(), operator });
        let outputs = vec![Some(output.clone())];
        self.program.steps.push(Step::Dispatch(Dispatch { operator: index, inputs, outputs }));
        output
    }

    fn buffer(&mut self, element: ElementType, shape: &[u64], initial: Initial) -> Binding {
        let bytes = byte_count(element, shape).unwrap_or(0);
        let size = bytes.next_multiple_of(4);
        self.program.buffers.push(BufferPlan { size, initial });
        Binding { buffer: self.program.buffers.len() - 1, offset: 0, size }
    }
}
