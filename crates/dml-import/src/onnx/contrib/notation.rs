//! The notation of operator definitions.
//!
//! ```text
//! Name<attribute: type, required: type!>(input, optional?, more...) -> (output, optional?)
//!   if condition: y, asked? = Op<axis=-1, epsilon=@epsilon|1e-5>(x, bias?, 0.5:x, [1, @count], Inner(x))
//!   refuse condition: reason
//! ```
//!
//! - `@a` is an attribute of the call, omitted if the call does not give it; `@a|1` has a default, `@a!` is
//!   also omitted if it is 0, and `@a[1]` is an element of a list.
//! - A number is a constant, as in `0.5:x` in the type of `x`. A list of integers is a constant, too.
//! - An input without a value is left out. With `?`, the result is then the first input.
//! - An output with `?` exists only if the call requests it.
//! - `ms.Op` is an operator of com.microsoft, and `_Op` one that only definitions use.

use super::condition;
use super::{Call, Kind};
use crate::error::{Error, Result};
use crate::onnx::operators::{INTERNAL, MICROSOFT};
use crate::onnx::proto::{AttributeProto, NodeProto};

/// The head of a definition: its attributes, inputs and outputs.
pub(in crate::onnx) struct Head {
    pub(in crate::onnx) attributes: Vec<(&'static str, Kind)>,
    /// Attributes that a call must give.
    pub(super) required: Vec<&'static str>,
    pub(super) inputs: Vec<Parameter>,
    pub(super) outputs: Vec<Parameter>,
    /// Whether any number of inputs may follow the named ones.
    pub(super) is_variadic: bool,
}

/// An input or an output of a definition.
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) is_optional: bool,
}

const KINDS: [(&str, Kind); 5] = [
    ("int", Kind::Int),
    ("float", Kind::Float),
    ("text", Kind::Text),
    ("ints", Kind::Ints),
    ("floats", Kind::Floats),
];

/// Parses the head of a definition.
pub(super) fn head(line: &'static str) -> Option<Head> {
    let (call, outputs) = line.split_once(" -> ")?;
    let (start, inputs) = call.split_once('(')?;
    let attributes = start.split_once('<').map_or("", |(_, it)| it).trim_end_matches('>');
    let attribute = |text: &'static str| {
        let (name, kind) = text.split_once(": ")?;
        let kind = kind.trim_end_matches('!');
        Some((name, KINDS.iter().find(|it| it.0 == kind)?.1))
    };
    let parameters = |text: &str| {
        let text = text.trim_end_matches(')').trim_start_matches('(');
        let all = split(text).into_iter().filter(|it| !it.ends_with("..."));
        let parameter = |it: &str| Parameter {
            name: it.trim_end_matches('?').to_owned(),
            is_optional: it.ends_with('?'),
        };
        all.map(parameter).collect()
    };
    let attributes = split(attributes);
    let required = attributes.iter().filter(|attribute| attribute.ends_with('!'));
    Some(Head {
        required: required.filter_map(|it| Some(it.split_once(':')?.0)).collect(),
        attributes: attributes.into_iter().map(attribute).collect::<Option<_>>()?,
        inputs: parameters(inputs),
        outputs: parameters(outputs),
        is_variadic: inputs.contains("..."),
    })
}

/// Splits at commas that are not inside of brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, vec![]);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' | '>' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// The nodes that a definition's lines produce for a call, whose inputs have these names.
pub(super) fn nodes<'a>(
    call: &Call<'_>,
    inputs: &[String],
    lines: impl Iterator<Item = &'a str>,
) -> Result<Vec<NodeProto>> {
    let given = inputs.iter().zip(&call.inputs).filter(|(_, it)| **it);
    let known = given.map(|(name, _)| name.clone()).collect();
    let mut writer = Writer { call, known, nodes: vec![] };
    for line in lines.map(str::trim).filter(|it| !it.is_empty()) {
        writer.line(line)?;
    }
    Ok(writer.nodes)
}

struct Writer<'a> {
    call: &'a Call<'a>,
    /// The names that have a value.
    known: Vec<String>,
    nodes: Vec<NodeProto>,
}

/// The condition of a line that begins with `word`, and the rest of the line.
fn conditional<'a>(line: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    line.strip_prefix(word)?.split_once(": ")
}

/// The outputs of a line, and the call that computes them.
fn assignment(line: &str) -> Option<(Vec<&str>, &str)> {
    let (outputs, call) = line.split_once(" = ")?;
    Some((split(outputs), call.trim()))
}

/// The operator, attributes and inputs of a call.
fn parts(text: &str) -> Option<(&str, Vec<&str>, Vec<&str>)> {
    let (start, inputs) = text.strip_suffix(')')?.split_once('(')?;
    let (operator, attributes) = match start.split_once('<') {
        Some((operator, attributes)) => (operator, attributes.strip_suffix('>')?),
        None => (start, ""),
    };
    Some((operator, split(attributes), split(inputs)))
}

impl Writer<'_> {
    fn line(&mut self, line: &str) -> Result<()> {
        let unclear = || Error::malformed(format!("a definition says: {line}"));
        if let Some((condition, reason)) = conditional(line, "refuse ") {
            return match condition::holds(self.call, condition).ok_or_else(unclear)? {
                true => Err(self.call.attributes.node.not_supported(reason)),
                false => Ok(()),
            };
        }
        let rest = match conditional(line, "if ") {
            Some((condition, _))
                if !condition::holds(self.call, condition).ok_or_else(unclear)? =>
            {
                return Ok(());
            }
            Some((_, rest)) => rest,
            None => line,
        };
        let (outputs, call) = assignment(rest).ok_or_else(unclear)?;
        let mut kept: Vec<String> = outputs
            .iter()
            .map(|output| match output.strip_suffix('?') {
                Some(name) if !self.is_asked(name) => String::new(),
                Some(name) => name.to_owned(),
                None => (*output).to_owned(),
            })
            .collect();
        while kept.last().is_some_and(String::is_empty) {
            kept.pop();
        }
        if kept.is_empty() {
            return Ok(());
        }
        self.call(call, kept).ok_or_else(unclear)
    }

    fn is_asked(&self, output: &str) -> bool {
        let at = self.call.head.outputs.iter().position(|it| it.name == output);
        at.and_then(|at| self.call.outputs.get(at)).copied().unwrap_or(false)
    }

    /// Adds the node of a call, after the nodes that its inputs need.
    fn call(&mut self, text: &str, outputs: Vec<String>) -> Option<()> {
        let (operator, attributes, arguments) = parts(text)?;
        let mut inputs = vec![];
        let mut is_first = false;
        for argument in arguments {
            let name = argument.strip_suffix('?').unwrap_or(argument);
            let input = self.input(name)?;
            is_first |= input.is_empty() && name != argument;
            inputs.push(input);
        }
        let attribute = attributes.into_iter().map(|attribute| self.attribute(attribute));
        let attribute = attribute.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect();
        let (domain, op_type) = match operator.split_once('.') {
            Some((_, operator)) => (MICROSOFT, operator),
            None if operator.starts_with('_') => (INTERNAL, operator),
            None => ("", operator),
        };
        self.known.extend(outputs.iter().filter(|output| !output.is_empty()).cloned());
        let mut node = NodeProto {
            input: inputs,
            output: outputs,
            op_type: op_type.to_owned(),
            domain: domain.to_owned(),
            attribute,
            ..NodeProto::default()
        };
        if is_first {
            node.input.truncate(1);
            let (op_type, domain) = ("Identity".to_owned(), String::new());
            node = NodeProto { op_type, domain, attribute: vec![], ..node };
        }
        self.nodes.push(node);
        Some(())
    }

    /// The name of an input's value; empty if the input is left out.
    fn input(&mut self, text: &str) -> Option<String> {
        if text.ends_with(')') {
            let name = self.fresh();
            self.call(text, vec![name.clone()])?;
            return Some(name);
        }
        let (number, like) = match text.split_once(':') {
            Some((number, like)) => (number, Some(like)),
            None => (text, None),
        };
        if number.starts_with(|it: char| it.is_alphabetic() || matches!(it, '#' | '_')) {
            let is_known = self.known.iter().any(|it| it == number);
            return Some(if is_known { number.to_owned() } else { String::new() });
        }
        let value = self.value(number)?;
        let Some(mut value) = value else { return Some(String::new()) };
        value.name = match value.r#type {
            kind if kind == Kind::Int as i32 => "value_int",
            kind if kind == Kind::Ints as i32 => "value_ints",
            kind if kind == Kind::Float as i32 => "value_float",
            _ => return None,
        }
        .to_owned();
        let constant = self.fresh();
        self.nodes.push(NodeProto {
            output: vec![constant.clone()],
            op_type: "Constant".to_owned(),
            attribute: vec![value],
            ..NodeProto::default()
        });
        let Some(like) = like else { return Some(constant) };
        let name = self.fresh();
        self.nodes.push(NodeProto {
            input: vec![constant, like.to_owned()],
            output: vec![name.clone()],
            op_type: "CastLike".to_owned(),
            ..NodeProto::default()
        });
        Some(name)
    }

    fn fresh(&mut self) -> String {
        let name = format!("~{}", self.known.len());
        self.known.push(name.clone());
        name
    }

    /// Parses `name=value`; the inner option is `None` if the attribute is omitted.
    fn attribute(&self, text: &str) -> Option<Option<AttributeProto>> {
        let (name, value) = text.split_once('=')?;
        let value = self.value(value)?;
        Some(value.map(|value| AttributeProto { name: name.to_owned(), ..value }))
    }

    /// Parses an attribute's value; the inner option is `None` if it is omitted.
    fn value(&self, text: &str) -> Option<Option<AttributeProto>> {
        if let Some(list) = text.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            let ints = split(list).into_iter().map(|it| match it.strip_prefix('@') {
                Some(name) => match name.split_once('|') {
                    Some((name, default)) => {
                        self.call.attributes.int(name).or(default.parse().ok())
                    }
                    None => self.call.attributes.int(name),
                },
                None => it.parse().ok(),
            });
            let ints = ints.collect::<Option<Vec<i64>>>()?;
            return Some(Some(AttributeProto { ints, ..of(Kind::Ints) }));
        }
        if let Some(text) = text.strip_prefix('"').and_then(|it| it.strip_suffix('"')) {
            let s = Some(bytes::Bytes::copy_from_slice(text.as_bytes()));
            return Some(Some(AttributeProto { s, ..of(Kind::Text) }));
        }
        if let Some(reference) = text.strip_prefix('@') {
            return self.reference(reference);
        }
        if let Ok(int) = text.parse() {
            return Some(Some(AttributeProto { i: Some(int), ..of(Kind::Int) }));
        }
        let float = text.parse().ok()?;
        Some(Some(AttributeProto { f: Some(float), ..of(Kind::Float) }))
    }

    fn reference(&self, text: &str) -> Option<Option<AttributeProto>> {
        if let Some((name, default)) = text.split_once('|') {
            let given = self.reference(name)?;
            return if given.is_some() { Some(given) } else { self.value(default) };
        }
        if let Some((name, index)) = text.strip_suffix(']').and_then(|it| it.split_once('[')) {
            let index: usize = index.parse().ok()?;
            let element = self.call.attributes.floats(name).and_then(|it| it.get(index).copied());
            return Some(
                element.map(|element| AttributeProto { f: Some(element), ..of(Kind::Float) }),
            );
        }
        let name = text.trim_end_matches('!');
        let given = self.call.attributes.get(name);
        let is_zero = |it: &&AttributeProto| {
            name != text && it.i.unwrap_or(0) == 0 && it.f.unwrap_or(0.0) == 0.0
        };
        let Some(given) = given.filter(|it| !is_zero(it)) else { return Some(None) };
        let (_, kind) = self.call.head.attributes.iter().find(|attribute| attribute.0 == name)?;
        Some(Some(AttributeProto { r#type: *kind as i32, ..given.clone() }))
    }
}

fn of(kind: Kind) -> AttributeProto {
    AttributeProto { r#type: kind as i32, ..AttributeProto::default() }
}

/// Names that a definition uses without defining them, and lines that do not parse.
#[cfg(test)]
pub(super) fn unknown(head: &Head, lines: &[&str]) -> Vec<String> {
    let attributes = head.attributes.iter().map(|attribute| attribute.0.to_owned());
    let parameters = head.inputs.iter().chain(&head.outputs).map(|input| input.name.clone());
    let mut known: Vec<String> = attributes.chain(parameters).collect();
    let mut found = vec![];
    let is_word = |it: char| it.is_alphanumeric() || matches!(it, '_' | '@' | '.' | '"' | '#');
    for line in lines.iter().map(|line| line.trim()).filter(|it| !it.is_empty()) {
        let (condition, rest) = match (conditional(line, "refuse "), conditional(line, "if ")) {
            (Some((condition, _)), _) => (condition, None),
            (None, Some((condition, rest))) => (condition, Some(rest)),
            (None, None) => ("", Some(line)),
        };
        found.extend(condition::names(condition).map(str::to_owned));
        let Some(rest) = rest else { continue };
        let Some((outputs, call)) = assignment(rest) else { return vec![line.to_owned()] };
        known.extend(outputs.iter().map(|output| output.trim_end_matches('?').to_owned()));
        for word in call.split_inclusive(|it| !is_word(it)) {
            let (name, end) = word.split_at(word.trim_end_matches(|it| !is_word(it)).len());
            let is_name = name.starts_with(|it: char| it.is_alphabetic() || it == '@');
            if is_name && !matches!(end, "(" | "<" | "=") {
                found.push(name.trim_start_matches('@').to_owned());
            }
        }
    }
    let is_literal = |it: &str| it.is_empty() || it == "inf" || it.contains('"');
    found.retain(|it| !is_literal(it) && !known.contains(it));
    found
}
