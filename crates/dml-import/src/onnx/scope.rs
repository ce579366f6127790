//! The names that nodes of a graph, a subgraph or a function may use.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::error::{Error, NodeName, Result, shortened};
use crate::graph::ValueId;

use super::proto::{AttributeProto, NodeProto};

/// Names of values, including those of enclosing graphs.
pub(super) struct Scope<'a> {
    /// The values defined here; `None` for a function's input that the call leaves out.
    own: HashMap<String, Option<ValueId>>,
    outer: Option<&'a Scope<'a>>,
    /// The imported version of ai.onnx, if any.
    pub(super) opset: Option<i64>,
    /// The imported version of com.microsoft, if any.
    pub(super) contrib: Option<i64>,
    /// The attributes of a function's call; `None` outside of a function.
    attributes: Option<&'a [AttributeProto]>,
    /// The node whose definition is being inlined.
    caller: Option<&'a NodeName>,
}

impl<'a> Scope<'a> {
    /// The scope of a model's graph.
    pub(super) fn new([opset, contrib]: [Option<i64>; 2]) -> Self {
        Self { own: HashMap::new(), outer: None, opset, contrib, attributes: None, caller: None }
    }

    /// The scope of a subgraph of a node in `outer`.
    pub(super) fn within(outer: &'a Scope<'a>) -> Self {
        Self { own: HashMap::new(), outer: Some(outer), ..*outer }
    }

    /// The scope of a function called with these attributes.
    pub(super) fn of_function(opsets: [Option<i64>; 2], attributes: &'a [AttributeProto]) -> Self {
        Self { attributes: Some(attributes), ..Self::new(opsets) }
    }

    /// The scope of the definition that replaces the node `caller`.
    pub(super) fn of_definition(opsets: [Option<i64>; 2], caller: &'a NodeName) -> Self {
        Self { caller: Some(caller), ..Self::new(opsets) }
    }

    pub(super) fn caller(&self) -> Option<&'a NodeName> {
        self.caller
    }

    /// The name of a node in messages: a node of a definition has the name of the node that it replaces.
    pub(super) fn name_of(&self, proto: &NodeProto) -> NodeName {
        if let Some(caller) = self.caller {
            let operator = format!("{}/{}", caller.operator, proto.op_type.trim_start_matches('_'));
            return NodeName::new(operator, &caller.name);
        }
        let first = proto.output.iter().find(|name| !name.is_empty());
        let first = first.map_or("", String::as_str);
        NodeName::new(&proto.op_type, if proto.name.is_empty() { first } else { &proto.name })
    }

    pub(super) fn attributes(&self) -> Option<&'a [AttributeProto]> {
        self.attributes
    }

    pub(super) fn insert(&mut self, name: &str, value: Option<ValueId>) -> Result<()> {
        match self.own.insert(name.to_owned(), value) {
            None => Ok(()),
            Some(_) => Err(Error::malformed(format!("'{}' is defined twice", shortened(name)))),
        }
    }

    /// The value that this scope defines for a name.
    pub(super) fn own(&self, name: &str) -> Option<ValueId> {
        self.own.get(name).copied().flatten()
    }

    /// The value of a name in this or an enclosing scope; `None` if it is an input left out.
    pub(super) fn find(&self, name: &str, user: &str) -> Result<Option<ValueId>> {
        let mut scope = Some(self);
        while let Some(Scope { own, outer, .. }) = scope {
            if let Some(value) = own.get(name) {
                return Ok(*value);
            }
            scope = *outer;
        }
        let name = shortened(name);
        let problem = format!("{user}: '{name}' is neither an input nor a node's output");
        Err(Error::Malformed(problem))
    }

    /// The value of a name like [`find`](Self::find), which must not be left out.
    pub(super) fn output(&self, name: &str, user: &str) -> Result<ValueId> {
        self.find(name, user)?.ok_or_else(|| {
            Error::malformed(format!("{user}: '{}' is an input left out", shortened(name)))
        })
    }

    /// The node, with references to the function's attributes resolved.
    pub(super) fn resolved<'b>(&self, proto: &'b NodeProto) -> Result<Cow<'b, NodeProto>> {
        let refers = |it: &AttributeProto| !it.ref_attr_name.is_empty();
        let Some(given) = self.attributes else { return Ok(Cow::Borrowed(proto)) };
        if !proto.attribute.iter().any(refers) {
            return Ok(Cow::Borrowed(proto));
        }
        Ok(Cow::Owned(NodeProto { attribute: resolved(&proto.attribute, given), ..proto.clone() }))
    }
}

/// The attributes, with references resolved to the attributes in `given`. A reference to a missing attribute is
/// dropped.
pub(super) fn resolved(
    attributes: &[AttributeProto],
    given: &[AttributeProto],
) -> Vec<AttributeProto> {
    let value = |it: &AttributeProto| match it.ref_attr_name.as_str() {
        "" => Some(it.clone()),
        name => {
            let given = given.iter().find(|given| given.name == name)?;
            Some(AttributeProto { name: it.name.clone(), ..given.clone() })
        }
    };
    attributes.iter().filter_map(value).collect()
}
