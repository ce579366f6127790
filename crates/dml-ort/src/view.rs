//! Reads ONNX Runtime's views of a graph as the importer's graph.

use std::collections::{HashMap, HashSet};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use bytes::Bytes;
use dml_import::onnx::{Source, SourceAttribute, SourceNode, SourceTensor, SourceValue};

use crate::abi::{
    OrtGraph, OrtNode, OrtOpAttr, OrtTensorTypeAndShapeInfo, OrtValue, OrtValueInfo, Status,
    attribute,
};
use crate::api::{Api, text};
use crate::boundary::{Failure, Result};

/// A copy of a graph.
pub(crate) struct GraphView {
    /// The graph. Its inputs are the values that are neither written by its nodes nor its constants.
    pub(crate) source: Source,
    /// ONNX Runtime's nodes, in the order of the source's.
    pub(crate) nodes: Vec<*const OrtNode>,
    /// The values that each node's subgraphs read.
    pub(crate) implicit: Vec<Vec<String>>,
    /// Which nodes another provider runs.
    pub(crate) is_taken: Vec<bool>,
}

/// The constants of the model that are copied.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Constants {
    /// Constants of at most this many bytes; the others become inputs.
    UpTo(usize),
    /// All constants.
    All,
}

/// Reads objects of ONNX Runtime that are alive.
#[derive(Clone, Copy)]
pub(crate) struct Reader {
    api: Api,
}

impl Reader {
    /// # Safety
    ///
    /// Every object that is handed to the functions of the reader is alive, and of this host.
    pub(crate) unsafe fn new(api: Api) -> Self {
        Self { api }
    }

    pub(crate) fn graph(self, graph: *const OrtGraph, constants: Constants) -> Result<GraphView> {
        let nodes = self.nodes(graph)?;
        let mut view = GraphView {
            source: Source { opset: self.opset(graph)?, ..Source::default() },
            implicit: Vec::with_capacity(nodes.len()),
            is_taken: Vec::with_capacity(nodes.len()),
            nodes,
        };
        let mut read = HashMap::new();
        for node in &view.nodes {
            view.source.nodes.push(self.node(*node, &mut read)?);
            view.implicit.push(self.names(&self.implicit_inputs(*node)?)?);
            view.is_taken.push(!self.provider(*node)?.is_empty());
        }
        let outputs = view.source.nodes.iter().flat_map(|node| &node.outputs);
        let written: HashSet<&str> = outputs.map(|output| output.name.as_str()).collect();
        read.retain(|name, _| !written.contains(name.as_str()));
        for (name, info) in read {
            match self.constant(info, constants)? {
                Some(tensor) => view.source.constants.push((name, tensor)),
                None => view.source.inputs.push(self.value(info)?),
            }
        }
        Ok(view)
    }

    /// The names of a node's inputs and outputs.
    pub(crate) fn ports(self, node: *const OrtNode) -> Result<[Vec<String>; 2]> {
        Ok([self.names(&self.inputs(node)?)?, self.names(&self.outputs(node)?)?])
    }

    /// The element type of a tensor, by ONNX's number, and its shape.
    pub(crate) fn kind(self, value: *const OrtValue) -> Result<(i32, Vec<u64>)> {
        let kind = self.api.get(ptr::null_mut(), |out| {
            // SAFETY: the value is alive.
            unsafe { self.api.ort.GetTensorTypeAndShape()(value, out) }
        })?;
        let found = self.element_and_shape(kind);
        // SAFETY: it was just given, and is used no more.
        unsafe { self.api.ort.ReleaseTensorTypeAndShapeInfo()(kind) };
        let (element, shape) = found?;
        let shape = shape.unwrap_or_default().into_iter().map(Option::unwrap_or_default).collect();
        Ok((element, shape))
    }

    /// A copy of a tensor's elements.
    pub(crate) fn bytes(self, value: *const OrtValue) -> Result<Bytes> {
        let size = self.api.get(0, |out| {
            // SAFETY: the value is alive.
            unsafe { self.api.ort.GetTensorSizeInBytes()(value, out) }
        })?;
        let data = self.api.get(ptr::null(), |out| {
            // SAFETY: as above.
            unsafe { self.api.ort.GetTensorData()(value, out) }
        })?;
        if size == 0 || data.is_null() {
            return Ok(Bytes::new());
        }
        // SAFETY: the tensor has so many bytes, and nothing writes them meanwhile.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
        Ok(Bytes::copy_from_slice(bytes))
    }

    fn nodes(self, graph: *const OrtGraph) -> Result<Vec<*const OrtNode>> {
        let ort = self.api.ort;
        self.api.list(
            ptr::null(),
            // SAFETY: the graph is alive.
            |count| unsafe { ort.Graph_GetNumNodes()(graph, count) },
            // SAFETY: as above, and there is room for so many.
            |out, count| unsafe { ort.Graph_GetNodes()(graph, out, count) },
        )
    }

    /// The version of the operator set ai.onnx; 0 if the graph has none.
    fn opset(self, graph: *const OrtGraph) -> Result<i64> {
        let ort = self.api.ort;
        let mut versions = Vec::new();
        let domains = self.api.list(
            ptr::null(),
            // SAFETY: the graph is alive.
            |count| unsafe { ort.Graph_GetNumOperatorSets()(graph, count) },
            |out, count| {
                versions.resize(count, 0);
                // SAFETY: as above, and there is room for so many of both.
                unsafe { ort.Graph_GetOperatorSets()(graph, out, versions.as_mut_ptr(), count) }
            },
        )?;
        // SAFETY: the names are strings of the graph.
        let names = domains.into_iter().map(|domain| unsafe { text(domain) });
        let own = names.zip(versions).find(|(name, _)| matches!(name.as_str(), "" | "ai.onnx"));
        Ok(own.map_or(0, |(_, version)| version))
    }

    fn node(
        self,
        node: *const OrtNode,
        read: &mut HashMap<String, *const OrtValueInfo>,
    ) -> Result<SourceNode> {
        let ort = self.api.ort;
        let infos = self.inputs(node)?;
        let inputs = self.names(&infos)?;
        let named = inputs.iter().cloned().zip(infos).filter(|(name, _)| !name.is_empty());
        read.extend(named);
        let outputs = self.outputs(node)?;
        Ok(SourceNode {
            // SAFETY: the node is alive, and so for those below.
            name: self.text(|out| unsafe { ort.Node_GetName()(node, out) })?,
            // SAFETY: as above.
            operator: self.text(|out| unsafe { ort.Node_GetOperatorType()(node, out) })?,
            // SAFETY: as above.
            domain: self.text(|out| unsafe { ort.Node_GetDomain()(node, out) })?,
            inputs,
            outputs: outputs.into_iter().map(|output| self.value(output)).collect::<Result<_>>()?,
            attributes: self.attributes(node)?,
        })
    }

    fn provider(self, node: *const OrtNode) -> Result<String> {
        // SAFETY: the node is alive.
        self.text(|out| unsafe { self.api.ort.Node_GetEpName()(node, out) })
    }

    fn inputs(self, node: *const OrtNode) -> Result<Vec<*const OrtValueInfo>> {
        let ort = self.api.ort;
        self.api.list(
            ptr::null(),
            // SAFETY: the node is alive.
            |count| unsafe { ort.Node_GetNumInputs()(node, count) },
            // SAFETY: as above, and there is room for so many.
            |out, count| unsafe { ort.Node_GetInputs()(node, out, count) },
        )
    }

    fn outputs(self, node: *const OrtNode) -> Result<Vec<*const OrtValueInfo>> {
        let ort = self.api.ort;
        self.api.list(
            ptr::null(),
            // SAFETY: the node is alive.
            |count| unsafe { ort.Node_GetNumOutputs()(node, count) },
            // SAFETY: as above, and there is room for so many.
            |out, count| unsafe { ort.Node_GetOutputs()(node, out, count) },
        )
    }

    fn implicit_inputs(self, node: *const OrtNode) -> Result<Vec<*const OrtValueInfo>> {
        let ort = self.api.ort;
        self.api.list(
            ptr::null(),
            // SAFETY: the node is alive.
            |count| unsafe { ort.Node_GetNumImplicitInputs()(node, count) },
            // SAFETY: as above, and there is room for so many.
            |out, count| unsafe { ort.Node_GetImplicitInputs()(node, out, count) },
        )
    }

    fn names(self, infos: &[*const OrtValueInfo]) -> Result<Vec<String>> {
        infos.iter().map(|info| self.name(*info)).collect()
    }

    /// The name of a value; empty if it is left out.
    fn name(self, info: *const OrtValueInfo) -> Result<String> {
        if info.is_null() {
            return Ok(String::new());
        }
        // SAFETY: the value is alive.
        self.text(|out| unsafe { self.api.ort.GetValueInfoName()(info, out) })
    }

    /// A copy of the text that a function writes, which belongs to ONNX Runtime.
    fn text(self, call: impl FnOnce(*mut *const c_char) -> Status) -> Result<String> {
        let pointer = self.api.get(ptr::null(), call)?;
        // SAFETY: null, or a string of the object that was asked.
        Ok(unsafe { text(pointer) })
    }

    /// The name, type and shape of a value, as far as they are known.
    fn value(self, info: *const OrtValueInfo) -> Result<SourceValue> {
        let name = self.name(info)?;
        if name.is_empty() {
            return Ok(SourceValue::default());
        }
        let kind = self.api.get(ptr::null(), |out| {
            // SAFETY: the value is alive.
            unsafe { self.api.ort.GetValueInfoTypeInfo()(info, out) }
        })?;
        let tensor = match kind.is_null() {
            true => ptr::null(),
            false => self.api.get(ptr::null(), |out| {
                // SAFETY: the type is the value's.
                unsafe { self.api.ort.CastTypeInfoToTensorInfo()(kind, out) }
            })?,
        };
        if tensor.is_null() {
            return Ok(SourceValue { name, element: 0, shape: None });
        }
        let (element, shape) = self.element_and_shape(tensor)?;
        Ok(SourceValue { name, element, shape })
    }

    fn element_and_shape(
        self,
        kind: *const OrtTensorTypeAndShapeInfo,
    ) -> Result<(i32, Option<Vec<Option<u64>>>)> {
        let ort = self.api.ort;
        // SAFETY: the description is alive, here and below.
        let element = self.api.get(0, |out| unsafe { ort.GetTensorElementType()(kind, out) })?;
        // SAFETY: as above.
        if !unsafe { ort.TensorTypeAndShape_HasShape()(kind) } {
            return Ok((element, None));
        }
        let sizes = self.api.list(
            0,
            // SAFETY: as above.
            |count| unsafe { ort.GetDimensionsCount()(kind, count) },
            // SAFETY: as above, and there is room for so many.
            |out, count| unsafe { ort.GetDimensions()(kind, out, count) },
        )?;
        // An open size is -1.
        Ok((element, Some(sizes.into_iter().map(|size| u64::try_from(size).ok()).collect())))
    }

    /// A constant of the model; `None` if the value is not a constant, or is not copied.
    fn constant(
        self,
        info: *const OrtValueInfo,
        constants: Constants,
    ) -> Result<Option<SourceTensor>> {
        let ort = self.api.ort;
        let is_constant = self.api.get(false, |out| {
            // SAFETY: the value is alive.
            unsafe { ort.ValueInfo_IsConstantInitializer()(info, out) }
        })?;
        if !is_constant {
            return Ok(None);
        }
        let value = self.api.get(ptr::null(), |out| {
            // SAFETY: as above.
            unsafe { ort.ValueInfo_GetInitializerValue()(info, out) }
        })?;
        if value.is_null() {
            return Ok(None);
        }
        // SAFETY: the value is the graph's.
        let size = self.api.get(0, |out| unsafe { ort.GetTensorSizeInBytes()(value, out) });
        match (constants, size) {
            (Constants::All, _) => self.tensor(value).map(Some),
            (Constants::UpTo(limit), Ok(size)) if size <= limit => self.tensor(value).map(Some),
            // Tensors of texts have no size.
            (Constants::UpTo(_), _) => Ok(None),
        }
    }

    fn tensor(self, value: *const OrtValue) -> Result<SourceTensor> {
        let (element, shape) = self.kind(value)?;
        Ok(SourceTensor { element, shape, bytes: self.bytes(value)? })
    }

    fn attributes(self, node: *const OrtNode) -> Result<Vec<(String, SourceAttribute)>> {
        let ort = self.api.ort;
        let all = self.api.list(
            ptr::null(),
            // SAFETY: the node is alive.
            |count| unsafe { ort.Node_GetNumAttributes()(node, count) },
            // SAFETY: as above, and there is room for so many.
            |out, count| unsafe { ort.Node_GetAttributes()(node, out, count) },
        )?;
        let named = |it: *const OrtOpAttr| {
            // SAFETY: the attribute is the node's.
            let name = self.text(|out| unsafe { ort.OpAttr_GetName()(it, out) })?;
            Ok((name, self.attribute(it)?))
        };
        all.into_iter().filter(|it| !it.is_null()).map(named).collect()
    }

    fn attribute(self, from: *const OrtOpAttr) -> Result<SourceAttribute> {
        // SAFETY: the attribute is alive.
        let kind = self.api.get(0, |out| unsafe { self.api.ort.OpAttr_GetType()(from, out) });
        Ok(match kind {
            Ok(attribute::INT) => SourceAttribute::Int(self.one(from, attribute::INT)?),
            Ok(attribute::FLOAT) => SourceAttribute::Float(self.one(from, attribute::FLOAT)?),
            Ok(attribute::INTS) => SourceAttribute::Ints(self.array(from, attribute::INTS)?),
            Ok(attribute::FLOATS) => SourceAttribute::Floats(self.array(from, attribute::FLOATS)?),
            Ok(attribute::STRING) => {
                SourceAttribute::Text(self.array::<u8>(from, attribute::STRING)?.into())
            }
            Ok(attribute::STRINGS) => {
                SourceAttribute::Texts(texts(&self.array(from, attribute::STRINGS)?))
            }
            Ok(attribute::TENSOR) => self.tensor_attribute(from)?,
            _ => SourceAttribute::Other,
        })
    }

    fn one<T: Copy + Default>(self, from: *const OrtOpAttr, kind: c_int) -> Result<T> {
        let mut value = T::default();
        let (place, mut size) = ((&raw mut value).cast::<c_void>(), 0);
        // SAFETY: the attribute is of this type, and there is room for it.
        let status =
            unsafe { self.api.ort.ReadOpAttr()(from, kind, place, size_of::<T>(), &raw mut size) };
        self.api.check(status).map(|()| value)
    }

    fn array<T: Copy + Default>(self, from: *const OrtOpAttr, kind: c_int) -> Result<Vec<T>> {
        let mut size = 0;
        // SAFETY: the attribute is of this type; nothing is written where there is no room.
        let status =
            unsafe { self.api.ort.ReadOpAttr()(from, kind, ptr::null_mut(), 0, &raw mut size) };
        // It gives the needed size; the status is an error unless that is 0.
        let asked = self.api.check(status);
        if size == 0 {
            return asked.map(|()| Vec::new());
        }
        let mut all = vec![T::default(); size.div_ceil(size_of::<T>())];
        let place = all.as_mut_ptr().cast::<c_void>();
        // SAFETY: the attribute is of this type, and there is room for it.
        let status = unsafe { self.api.ort.ReadOpAttr()(from, kind, place, size, &raw mut size) };
        self.api.check(status).map(|()| all)
    }

    fn tensor_attribute(self, from: *const OrtOpAttr) -> Result<SourceAttribute> {
        let value = self.api.get(ptr::null_mut(), |out| {
            // SAFETY: the attribute is a tensor.
            unsafe { self.api.ort.OpAttr_GetTensorAttributeAsOrtValue()(from, out) }
        })?;
        if value.is_null() {
            return Err(Failure::invalid("an attribute has no tensor"));
        }
        let tensor = self.tensor(value);
        // SAFETY: it was just made for this function, and is used no more.
        unsafe { self.api.ort.ReleaseValue()(value) };
        tensor.map_or(Ok(SourceAttribute::Other), |it| Ok(SourceAttribute::Tensor(it)))
    }
}

/// Splits texts that each end with a 0.
fn texts(joined: &[u8]) -> Vec<Bytes> {
    let ended = joined.strip_suffix(&[0]).unwrap_or(joined);
    if joined.is_empty() {
        return vec![];
    }
    ended.split(|it| *it == 0).map(Bytes::copy_from_slice).collect()
}
