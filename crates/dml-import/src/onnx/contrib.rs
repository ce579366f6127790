//! The operators of the domain com.microsoft, which ONNX Runtime's optimizer and quantizer write, and some
//! ai.onnx operators that are composed of others.
//!
//! An operator that becomes a single operation is a row of `operators/microsoft.rs`. Any other has a
//! definition: a few lines of ai.onnx operators ([`notation`]) that are inlined like the body of a model's
//! function.

mod activations;
mod attention;
mod condition;
mod experts;
mod losses;
mod notation;
mod quantized;

use std::collections::HashMap;
use std::sync::LazyLock;

use super::attributes::{Attributes, Kind};
use super::operators::{self, INTERNAL, MICROSOFT};
use super::proto::{FunctionProto, NodeProto, OperatorSetIdProto};
use crate::error::{Error, NodeName, Result};
use crate::graph::ValueId;

use notation::Head;

/// The version of ai.onnx that definitions use.
const OPSET: i64 = 24;

/// The texts of definitions by domain. A definition is a head followed by lines; an empty line separates
/// definitions.
static TEXTS: [(&str, &str); 5] = [
    ("", losses::TEXT),
    (MICROSOFT, activations::TEXT),
    (MICROSOFT, attention::TEXT),
    (MICROSOFT, experts::TEXT),
    (MICROSOFT, quantized::TEXT),
];

/// The definition of an operator that is composed of others.
#[derive(Clone, Copy)]
pub(super) struct Definition {
    pub(super) domain: &'static str,
    pub(super) name: &'static str,
    text: &'static str,
}

/// The definition that a node calls. Definitions with internal names exist only for nodes within definitions.
pub(super) fn called(proto: &NodeProto, is_within: bool) -> Option<Definition> {
    static BY_NAME: LazyLock<HashMap<&str, Definition>> =
        LazyLock::new(|| definitions().map(|definition| (definition.name, definition)).collect());
    let domain = match proto.domain.as_str() {
        INTERNAL if is_within => MICROSOFT,
        _ if proto.op_type.starts_with('_') => return None,
        domain if operators::is_default(domain) => "",
        domain => domain,
    };
    let definition = BY_NAME.get(proto.op_type.as_str()).copied();
    definition.filter(|definition| definition.domain == domain)
}

/// All definitions, including internal ones, whose names begin with `_`.
pub(super) fn definitions() -> impl Iterator<Item = Definition> {
    TEXTS.into_iter().flat_map(|(domain, text)| {
        let paragraphs = text.split("\n\n").map(str::trim).filter(|text| !text.is_empty());
        paragraphs.map(move |text| {
            let name = text.split(['<', '(']).next().unwrap_or(text).trim();
            Definition { domain, name, text }
        })
    })
}

/// A call of a definition, as conditions and attributes see it.
struct Call<'a> {
    head: &'a Head,
    attributes: &'a Attributes<'a>,
    /// Which inputs are given, and which outputs are requested.
    inputs: Vec<bool>,
    outputs: Vec<bool>,
}

impl Definition {
    /// The first version of ai.onnx with operators that have definitions.
    pub(super) const SINCE: i64 = 12;

    pub(super) fn head(&self) -> Result<Head> {
        let head = self.text.lines().next().unwrap_or_default();
        notation::head(head).ok_or_else(|| Error::malformed(format!("no head: {head}")))
    }

    /// The definition expanded for a call, as a function.
    pub(super) fn function(
        &self,
        head: &Head,
        attributes: &Attributes<'_>,
        inputs: &[Option<ValueId>],
        outputs: &[Option<ValueId>],
    ) -> Result<FunctionProto> {
        let given = |all: &[Option<ValueId>]| all.iter().map(Option::is_some).collect();
        let call = Call { head, attributes, inputs: given(inputs), outputs: given(outputs) };
        call.check()?;
        let mut names: Vec<String> = head.inputs.iter().map(|input| input.name.clone()).collect();
        names.extend((names.len()..inputs.len()).map(|at| format!("#{at}")));
        let made = match self.name {
            "QLinearConcat" => quantized::concat(&names),
            _ => String::new(),
        };
        let lines = self.text.lines().skip(1).chain(made.lines());
        let body = notation::nodes(&call, &names, lines)?;
        // Outputs that are not requested need some existing name.
        let asked =
            |(at, asked): (usize, &bool)| head.outputs[if *asked { at } else { 0 }].name.clone();
        Ok(FunctionProto {
            name: self.name.to_owned(),
            input: names,
            output: call.outputs.iter().enumerate().map(asked).collect(),
            node: body,
            opset_import: vec![import("", OPSET), import(MICROSOFT, operators::CONTRIB_OPSET)],
            domain: MICROSOFT.to_owned(),
            ..FunctionProto::default()
        })
    }
}

impl Call<'_> {
    /// Checks that the call gives everything that the head requires.
    fn check(&self) -> Result<()> {
        let Self { head, attributes, .. } = self;
        let node = attributes.node;
        check_count(node, "inputs", self.inputs.len(), &head.inputs, head.is_variadic)?;
        check_count(node, "outputs", self.outputs.len(), &head.outputs, false)?;
        for name in &head.required {
            attributes.get(name).ok_or_else(|| attributes.missing(name))?;
        }
        let mut required = head.inputs.iter().enumerate().filter(|(_, it)| !it.is_optional);
        match required.find(|(at, _)| !self.inputs.get(*at).copied().unwrap_or(false)) {
            Some((_, input)) => Err(node.invalid(&input.name, "nothing", "is given", "a value")),
            None => Ok(()),
        }
    }
}

fn import(domain: &str, version: i64) -> OperatorSetIdProto {
    OperatorSetIdProto { domain: domain.to_owned(), version }
}

fn check_count(
    node: &NodeName,
    what: &str,
    given: usize,
    all: &[notation::Parameter],
    is_variadic: bool,
) -> Result<()> {
    let needed = all.iter().rposition(|it| !it.is_optional).map_or(0, |it| it + 1);
    let range = needed..=if is_variadic { usize::MAX } else { all.len() };
    if range.contains(&given) {
        return Ok(());
    }
    Err(node.invalid(what, given, "is the wrong number", operators::counts(&range)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_uses_names_that_it_has() {
        for definition in definitions() {
            let head = definition.head().unwrap_or_else(|error| panic!("{error}"));
            let lines: Vec<&str> = definition.text.lines().skip(1).collect();
            let unknown = notation::unknown(&head, &lines);
            assert!(unknown.is_empty(), "{}: {unknown:?}", definition.name);
            assert_eq!(definitions().filter(|it| it.name == definition.name).count(), 1);
        }
    }

    #[test]
    fn the_document_names_every_definition() {
        let document = include_str!("../../../../docs/importer.md");
        let is_letter = |it: char| it.is_ascii_alphanumeric();
        let words: Vec<&str> = document.split(|it| !is_letter(it)).collect();
        let mut missing: Vec<&str> = definitions().map(|definition| definition.name).collect();
        missing.retain(|name| !name.starts_with('_') && !words.contains(name));
        assert!(missing.is_empty(), "{missing:?}");
    }
}
