//! Random graphs, and comparison of their plans with their operators executed one by one.

use std::collections::HashMap;

use dml_core::graph::{GraphBuilder, GraphValue, NodeWork, Source, ValidatedGraph};
use dml_core::host::{HostBuffer, HostMemory, interpret};
use dml_core::operators::{self, CAST, ELEMENT_WISE_IDENTITY};
use dml_core::plan::{Aliases, BindingRequirement, BoundAt, Plan};
use dml_core::schema::{FieldKind, FieldType, OperatorSchema};
use dml_core::{
    AbstractOperator, Capabilities, DataType, Error, FieldValue, GraphDesc, MatrixTransform,
    ScalarUnion, TensorDesc, TensorLayout, Validated,
};

use crate::{Random, elements_in};

/// Element-wise operators in random graphs.
const ELEMENT_WISE: [&OperatorSchema; 9] = [
    &operators::ELEMENT_WISE_ADD,
    &operators::ELEMENT_WISE_ADD1,
    &operators::ELEMENT_WISE_DIVIDE,
    &operators::ELEMENT_WISE_CLIP1,
    &operators::ELEMENT_WISE_LOGICAL_LESS_THAN,
    &operators::ELEMENT_WISE_IF,
    &operators::ACTIVATION_RELU,
    &ELEMENT_WISE_IDENTITY,
    &CAST,
];

const TYPES: [DataType; 8] = [
    DataType::Float32,
    DataType::Float16,
    DataType::Int32,
    DataType::Int16,
    DataType::Uint16,
    DataType::Int8,
    DataType::Uint8,
    DataType::Int64,
];

/// Builds a random graph; `values` are those that nodes can read.
struct GraphGenerator<'a> {
    random: &'a mut Random,
    graph: GraphBuilder,
    values: Vec<(GraphValue, TensorDesc)>,
    sizes: Vec<u32>,
}

/// A random graph of about `nodes` nodes that the highest feature level accepts; it depends on `random` only.
pub fn random_graph(random: &mut Random, nodes: u32) -> GraphDesc {
    let rank = 1 + random.below(4) as usize;
    let sizes = (0..rank).map(|_| 1 + random.below(6)).collect();
    let mut maker = GraphGenerator { random, graph: GraphBuilder::new(), values: vec![], sizes };
    for _ in 0..nodes {
        match maker.random.below(6) {
            0 => maker.moved(),
            1 if maker.sizes.len() > 1 => maker.product(),
            _ => maker.element_wise(),
        }
    }
    maker.finished()
}

impl GraphGenerator<'_> {
    /// A value of this type and the graph's sizes, with a tensor to read it: an existing or a new one.
    fn value(&mut self, data_type: DataType) -> (GraphValue, TensorDesc) {
        let fits = |it: &&(GraphValue, TensorDesc)| {
            it.1.data_type == data_type && it.1.sizes == self.sizes
        };
        let known: Vec<_> = self.values.iter().filter(fits).cloned().collect();
        if known.is_empty() || self.random.one_in(8) {
            return self.fresh(data_type);
        }
        // Recent values are preferred, so that there are chains.
        let recent = known.len().saturating_sub(3);
        let (value, mut desc) = self.random.pick(&known[recent..]);
        if self.random.one_in(8) {
            let strides = TensorLayout::new(&desc).map_or(vec![], |it| it.strides().to_vec());
            let repeated = |stride: u32| if self.random.one_in(2) { 0 } else { stride };
            desc = desc.with_strides(&strides.into_iter().map(repeated).collect::<Vec<_>>());
            desc.total_tensor_size_in_bytes = None;
        }
        (value, desc)
    }

    /// A new input of the graph, or a constant.
    fn fresh(&mut self, data_type: DataType) -> (GraphValue, TensorDesc) {
        let desc = self.random.tensor(data_type, &self.sizes);
        let bytes = TensorLayout::new(&desc).map_or(0, |it| it.binding_size());
        let value = match self.random.one_in(4) {
            true => {
                let bytes = moderate_bytes(self.random, data_type, bytes);
                self.graph.constant(bytes)
            }
            false => self.graph.input(),
        };
        self.values.push((value, desc.clone()));
        (value, desc)
    }

    fn element_wise(&mut self) {
        let schema = self.random.pick(&ELEMENT_WISE);
        let table = schema.tables.last().expect("every operator has a table").tensors;
        let mut types: HashMap<&str, DataType> = HashMap::new();
        for parameter in schema.type_parameters() {
            let accepts = |it: &&DataType| {
                table
                    .iter()
                    .any(|cell| cell.field == parameter.name && cell.data_types.contains(**it))
            };
            let accepted: Vec<DataType> = TYPES.iter().filter(accepts).copied().collect();
            types.insert(parameter.name, self.random.pick(&accepted));
        }
        let mut inputs = vec![];
        let mut output = None;
        let mut fields = vec![];
        for field in schema.fields {
            let data_type = types.get(field.type_of.unwrap_or(field.name)).copied();
            fields.push(match (field.kind, data_type) {
                (FieldKind::Input, Some(data_type)) => {
                    let (value, desc) = self.value(data_type);
                    inputs.push(value);
                    FieldValue::Tensor(Some(desc))
                }
                (FieldKind::Output, Some(data_type)) => {
                    let desc = self.output(data_type);
                    output = Some(desc.clone());
                    FieldValue::Tensor(Some(desc))
                }
                (_, Some(data_type)) => FieldValue::Uint(data_type.dml_value()),
                _ => self.attribute(field.field_type, types.get("OutputTensor").copied()),
            });
        }
        let operator = AbstractOperator::new(schema, fields).expect("the fields of the row");
        let value = self.graph.operator(operator, &inputs);
        self.values.extend(output.map(|desc| (value, desc)));
    }

    /// A packed tensor most of the time: only values that are read as they are written are fused.
    fn output(&mut self, data_type: DataType) -> TensorDesc {
        match self.random.one_in(4) {
            true => self.random.tensor(data_type, &self.sizes),
            false => TensorDesc::packed(data_type, &self.sizes),
        }
    }

    fn attribute(&mut self, field: FieldType, data_type: Option<DataType>) -> FieldValue {
        match field {
            FieldType::ScaleBias if self.random.one_in(2) => {
                let [scale, bias] = [1.5, -0.375];
                FieldValue::ScaleBias(Some([scale, bias]))
            }
            FieldType::OperatorDesc if self.random.one_in(2) => {
                let relu = AbstractOperator::nested(&operators::ACTIVATION_RELU, vec![]);
                FieldValue::OperatorDesc(relu.ok().map(Box::new))
            }
            FieldType::ScalarUnion => {
                let data_type = data_type.unwrap_or(DataType::Float32);
                FieldValue::ScalarUnion(ScalarUnion::from_bits(self.random.element(data_type)))
            }
            other => other.empty_value(),
        }
    }

    /// Concatenates a value with another, and splits the result.
    fn moved(&mut self) {
        let data_type = self.random.pick(&TYPES);
        let [(a, first), (b, second)] = [self.value(data_type), self.value(data_type)];
        let axis = self.random.below(u32::try_from(self.sizes.len()).unwrap_or(1));
        let mut both = self.sizes.clone();
        both[axis as usize] *= 2;
        let both = self.random.tensor(data_type, &both);
        let input_tensors = vec![first, second];
        let join = operators::JoinDesc { input_tensors, output_tensor: both.clone(), axis };
        let joined = self.graph.operator(join, &[a, b]);
        let output_tensors = vec![self.output(data_type), self.output(data_type)];
        let split = operators::SplitDesc {
            input_tensor: both,
            output_tensors: output_tensors.clone(),
            axis,
        };
        let first = self.graph.operator(split, &[joined]);
        let second = self.graph.output_of(first, 1);
        self.values.extend([first, second].into_iter().zip(output_tensors));
    }

    /// A matrix product with a square second matrix, with a bias.
    fn product(&mut self) {
        let data_type = self.random.pick(&[DataType::Float32, DataType::Float16]);
        let (a, a_tensor) = self.value(data_type);
        let mut square = self.sizes.clone();
        let last = square.len() - 1;
        square[last - 1] = square[last];
        let b_tensor = self.random.tensor(data_type, &square);
        let mut inputs = vec![a, self.graph.input()];
        self.values.push((inputs[1], b_tensor.clone()));
        let c_tensor = self.random.one_in(2).then(|| self.value(data_type));
        inputs.extend(c_tensor.iter().map(|it| it.0));
        let relu = AbstractOperator::nested(&operators::ACTIVATION_RELU, vec![]).ok();
        let output_tensor = self.output(data_type);
        let gemm = operators::GemmDesc {
            a_tensor,
            b_tensor,
            c_tensor: c_tensor.map(|c_tensor| c_tensor.1),
            output_tensor: output_tensor.clone(),
            trans_a: MatrixTransform::None,
            trans_b: self.random.pick(&[MatrixTransform::None, MatrixTransform::Transpose]),
            alpha: self.random.pick(&[1.0, 0.75]),
            beta: self.random.pick(&[1.0, -0.5]),
            fused_activation: relu.filter(|_| self.random.one_in(2)),
        };
        let value = self.graph.operator(gemm, &inputs);
        self.values.push((value, output_tensor));
    }

    /// Finishes the graph: values that no node reads, and a few others, become outputs.
    fn finished(mut self) -> GraphDesc {
        let is_written = |it: &&(GraphValue, TensorDesc)| self.graph.is_written(it.0);
        let written: Vec<GraphValue> =
            self.values.iter().filter(is_written).map(|value| value.0).collect();
        let last = written.len().saturating_sub(1);
        for (at, value) in written.into_iter().enumerate() {
            if at == last || self.random.one_in(12) {
                self.graph.output(value);
            }
        }
        self.graph.finish()
    }
}

/// Random elements for every input of a graph.
pub fn input_bytes(graph: &ValidatedGraph, random: &mut Random) -> Vec<Option<Vec<u8>>> {
    let bytes = |(index, needs): (usize, &Option<BindingRequirement>)| {
        let data_type = graph.tensor(FieldKind::Input, index)?.data_type();
        Some(moderate_bytes(random, data_type, needs.as_ref()?.size))
    };
    graph.inputs().iter().enumerate().map(bytes).collect()
}

/// Bytes of random elements; floats are near 1, so that few results overflow or underflow.
fn moderate_bytes(random: &mut Random, data_type: DataType, bytes: u64) -> Vec<u8> {
    let mut element = || match data_type {
        DataType::Float32 => (random.word() & 0x83ff_ffff) | 0x3c00_0000,
        DataType::Float16 => (random.word() & 0x8fff_8fff) | 0x3000_3000,
        _ => random.word(),
    };
    let words = (0..bytes.div_ceil(4)).flat_map(|_| element().to_le_bytes());
    words.take(usize::try_from(bytes).unwrap_or(usize::MAX)).collect()
}

/// The bytes of the outputs after interpreting a plan with these inputs. Initially they are zeros, or the bytes
/// of inputs that are bound in place.
///
/// # Errors
/// The plan is malformed, does not allow this aliasing, or a step cannot be interpreted.
pub fn interpreted(
    plan: &Plan,
    inputs: &[Option<Vec<u8>>],
    in_place: &Aliases,
    capabilities: &Capabilities,
) -> Result<Vec<Vec<u8>>, String> {
    plan.check(capabilities).map_err(|problem| problem.to_string())?;
    let mut host = HostMemory::for_plan(plan);
    host.temporary.bytes.fill(0xcd);
    let bound_at = |phase: BoundAt| {
        let one = |(needs, bytes): (&Option<BindingRequirement>, &Option<Vec<u8>>)| {
            let needs = needs.as_ref().filter(|need| need.bound_at == phase)?;
            let mut bytes = bytes.clone()?;
            bytes.resize(usize::try_from(needs.size).unwrap_or(usize::MAX), 0);
            Some(HostBuffer { size: needs.size, bytes, offset: 0 })
        };
        plan.inputs.iter().zip(inputs).map(one).collect::<Vec<_>>()
    };
    let outputs = std::mem::take(&mut host.outputs);
    host.inputs = bound_at(BoundAt::Initialization);
    interpret(&plan.init, &mut host, capabilities).map_err(|error| error.to_string())?;
    (host.inputs, host.outputs) = (bound_at(BoundAt::Execution), outputs);
    for (input, output) in in_place.pairs() {
        host.outputs[output as usize] = host.inputs[input as usize].take();
    }
    host.aliases = in_place.clone();
    let steps =
        plan.exec_with(in_place).ok_or("the plan may not be executed in place like that")?;
    interpret(&steps, &mut host, capabilities).map_err(|error| error.to_string())?;
    Ok(host.outputs.into_iter().map(|it| it.map_or(vec![], |it| it.bytes)).collect())
}

/// The outputs of a graph computed operator by operator, each by the plan of `lower` with memory of its own,
/// and whether any intermediate FLOAT32 is subnormal, which a device may flush to zero.
///
/// # Errors
/// See [`interpreted`]; errors of `lower`.
pub fn node_by_node(
    graph: &ValidatedGraph,
    inputs: &[Option<Vec<u8>>],
    capabilities: &Capabilities,
    lower: impl Fn(&Validated) -> Result<Plan, Error>,
) -> Result<(Vec<Vec<u8>>, bool), String> {
    let mut values: HashMap<Source, Vec<u8>> = HashMap::new();
    for (index, bytes) in inputs.iter().enumerate() {
        values.extend(bytes.clone().map(|bytes| (Source::Input(index), bytes)));
    }
    for node in graph.order().iter().copied() {
        let of = &graph.nodes()[node];
        let outputs = match &of.work {
            NodeWork::Constant(bytes) => vec![bytes.to_vec()],
            NodeWork::Operator(operator) => {
                let read = |it: &Option<Source>| it.and_then(|it| values.get(&it).cloned());
                let inputs: Vec<_> = of.inputs.iter().map(read).collect();
                let plan = lower(operator).map_err(|error| error.to_string())?;
                interpreted(&plan, &inputs, &Aliases::NONE, capabilities)?
            }
        };
        for (output, bytes) in outputs.into_iter().enumerate() {
            values.insert(Source::Node { node, output }, bytes);
        }
    }
    let is_subnormal = |(source, bytes): (&Source, &Vec<u8>)| {
        let Source::Node { node, output } = *source else { return false };
        let tensor = graph.nodes()[node].tensor(FieldKind::Output, output);
        let floats = tensor.filter(|tensor| tensor.data_type() == DataType::Float32);
        let elements = floats.map_or(vec![], |it| elements_in(it, bytes));
        elements.into_iter().any(|element| (1..0x80_0000).contains(&(element & 0x7fff_ffff)))
    };
    let has_subnormals = values.iter().any(is_subnormal);
    let outputs = graph.outputs().iter().map(|(source, _)| values[source].clone()).collect();
    Ok((outputs, has_subnormals))
}

/// The elements of the outputs of a graph, with one bit pattern for all NaNs if `canonical`.
pub fn output_elements(
    graph: &ValidatedGraph,
    outputs: &[Vec<u8>],
    canonical: bool,
) -> Vec<Vec<u64>> {
    let elements = |((source, _), bytes): (&(Source, _), &Vec<u8>)| match *source {
        Source::Node { node, output } => {
            let tensor = graph.nodes()[node].tensor(FieldKind::Output, output);
            let Some(tensor) = tensor else { return vec![] };
            let elements = elements_in(tensor, bytes).into_iter();
            let as_one = |it| if canonical { crate::canonical(tensor.data_type(), it) } else { it };
            elements.map(as_one).collect()
        }
        Source::Input(_) => vec![],
    };
    graph.outputs().iter().zip(outputs).map(elements).collect()
}

/// Interprets named plans of a graph with random inputs, with and without aliasing, and compares their results
/// with the graph's operators one by one, as `lower` plans them.
///
/// # Errors
/// A plan gives other results, or cannot be interpreted.
pub fn check(
    graph: &ValidatedGraph,
    random: &mut Random,
    capabilities: &Capabilities,
    lower: impl Fn(&Validated) -> Result<Plan, Error>,
    plans: impl IntoIterator<Item = (String, Plan)>,
) -> Result<(), String> {
    let inputs = input_bytes(graph, random);
    let (expected, _) = node_by_node(graph, &inputs, capabilities, lower)?;
    let expected = output_elements(graph, &expected, false);
    for (name, plan) in plans {
        let pairs = plan.in_place.iter().map(|it| Aliases::new([it.pair()]));
        for aliases in std::iter::once(Aliases::NONE).chain(pairs) {
            let found = interpreted(&plan, &inputs, &aliases, capabilities)?;
            let found = output_elements(graph, &found, false);
            if found != expected {
                return Err(format!("{name} {aliases:?}: {found:x?}, not {expected:x?}"));
            }
        }
    }
    Ok(())
}
