//! Functions of the model: the nodes of their bodies stand for those that call them.

use crate::error::{NodeName, Result};
use crate::graph::ValueId;

use super::Reader;
use crate::onnx::operators;
use crate::onnx::proto::{AttributeProto, FunctionProto, ModelProto, NodeProto};
use crate::onnx::scope::{self, Scope};

/// The function that a node calls; `None` where it is an operator.
pub(super) fn called<'a>(model: &'a ModelProto, proto: &NodeProto) -> Option<&'a FunctionProto> {
    let is_called = |it: &&FunctionProto| {
        let same_domain = it.domain == proto.domain
            || operators::is_default(&it.domain) && operators::is_default(&proto.domain);
        it.name == proto.op_type && same_domain && it.overload == proto.overload
    };
    model.functions.iter().find(is_called)
}

/// Adds the body of `function` as `proto` calls it, and gives the values of its outputs. `outer` are the
/// attributes of the function that the call is in.
pub(super) fn inline(
    reader: &mut Reader<'_>,
    function: &FunctionProto,
    proto: &NodeProto,
    name: &NodeName,
    inputs: &[Option<ValueId>],
    outer: Option<&[AttributeProto]>,
) -> Result<Vec<ValueId>> {
    if inputs.len() > function.input.len() {
        let accepted = format!("up to {}", function.input.len());
        return Err(name.invalid("inputs", inputs.len(), "is the wrong number", accepted));
    }
    let mut attributes = match outer {
        Some(outer) => scope::resolved(&proto.attribute, outer),
        None => proto.attribute.clone(),
    };
    for default in &function.attribute_proto {
        if !attributes.iter().any(|it| it.name == default.name) {
            attributes.push(default.clone());
        }
    }
    // A function that does not say has the model's.
    let opset = match operators::opset(&function.opset_import)? {
        None => operators::opset(&reader.model.opset_import)?,
        own => own,
    };
    let mut scope = Scope::of_function(opset, &attributes);
    let given = inputs.iter().copied().chain(std::iter::repeat(None));
    for (name, value) in function.input.iter().zip(given) {
        scope.insert(name, value)?;
    }
    reader.expand(function.node.len())?;
    reader.within(name, |reader| reader.nodes(&function.node, &mut scope))?;
    let user = name.to_string();
    function.output.iter().map(|output| scope.output(output, &user)).collect()
}
