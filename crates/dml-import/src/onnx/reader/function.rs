//! The model's functions, which are inlined where they are called.

use crate::error::{NodeName, Result};
use crate::graph::ValueId;

use super::Reader;
use crate::onnx::attributes::Attributes;
use crate::onnx::contrib::Definition;
use crate::onnx::operators;
use crate::onnx::proto::{
    AttributeProto, FunctionProto, ModelProto, NodeProto, OperatorSetIdProto,
};
use crate::onnx::scope::{self, Scope};

/// The function that a node calls; `None` if the node is an operator.
pub(super) fn called<'a>(model: &'a ModelProto, proto: &NodeProto) -> Option<&'a FunctionProto> {
    let is_called = |it: &&FunctionProto| {
        let same_domain = it.domain == proto.domain
            || operators::is_default(&it.domain) && operators::is_default(&proto.domain);
        it.name == proto.op_type && same_domain && it.overload == proto.overload
    };
    model.functions.iter().find(is_called)
}

/// Inlines `function` for the call `proto`; returns the values of its outputs. `outer` are the attributes of
/// the function that contains the call.
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
        if !attributes.iter().any(|attribute| attribute.name == default.name) {
            attributes.push(default.clone());
        }
    }
    // A function without imports has the model's versions.
    let [own, of_model] = [opsets(&function.opset_import)?, opsets(&reader.model.opset_import)?];
    let opsets = [own[0].or(of_model[0]), own[1].or(of_model[1])];
    body(reader, function, name, inputs, Scope::of_function(opsets, &attributes))
}

/// The imported versions of ai.onnx and com.microsoft.
pub(super) fn opsets(imports: &[OperatorSetIdProto]) -> Result<[Option<i64>; 2]> {
    Ok([operators::opset(imports)?, operators::contrib_opset(imports)])
}

/// Inlines a built-in definition for the call `proto`.
pub(super) fn defined(
    reader: &mut Reader<'_>,
    definition: Definition,
    proto: &NodeProto,
    name: &NodeName,
    inputs: &[Option<ValueId>],
    (outputs, outer): (&[Option<ValueId>], &Scope<'_>),
) -> Result<Vec<ValueId>> {
    match proto.domain.as_str() {
        operators::INTERNAL => {}
        domain if operators::is_default(domain) => {
            operators::at_least(name, outer.opset, Definition::SINCE)?;
        }
        _ => {
            operators::contrib_version(name, outer.contrib)?;
        }
    }
    let head = definition.head()?;
    let resolved = outer.resolved(proto)?;
    let attributes = Attributes::new(name, &resolved, &head.attributes, reader.folder)?;
    let function = definition.function(&head, &attributes, inputs, outputs)?;
    let opsets = opsets(&function.opset_import)?;
    body(reader, &function, name, inputs, Scope::of_definition(opsets, name))
}

fn body(
    reader: &mut Reader<'_>,
    function: &FunctionProto,
    name: &NodeName,
    inputs: &[Option<ValueId>],
    mut scope: Scope<'_>,
) -> Result<Vec<ValueId>> {
    let given = inputs.iter().copied().chain(std::iter::repeat(None));
    for (name, value) in function.input.iter().zip(given) {
        scope.insert(name, value)?;
    }
    reader.expand(function.node.len())?;
    reader.within(name, |reader| reader.nodes(&function.node, &mut scope))?;
    let user = name.to_string();
    function.output.iter().map(|output| scope.output(output, &user)).collect()
}
