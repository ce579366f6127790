//! One layer of the file.

use std::collections::HashMap;

use roxmltree::Node as Element;

use crate::constant::Constant;
use crate::element::ElementType;
use crate::error::{Error, NodeName, Result};
use crate::graph::Dimension;
use crate::limits;
use crate::small_float::SmallFloat;

/// A layer, its attributes and its ports.
pub(super) struct Layer {
    pub(super) id: String,
    pub(super) node: NodeName,
    /// The version, such as `opset9`.
    pub(super) version: String,
    attributes: HashMap<String, String>,
    /// Ids of the input ports, in the order of the operator's inputs.
    pub(super) inputs: Vec<String>,
    /// The output ports.
    pub(super) outputs: Vec<Port>,
    /// Names that a Result gives its output.
    pub(super) output_names: Option<String>,
    /// The constant of a Const layer.
    pub(super) constant: Option<Constant>,
}

/// An output port of a layer.
pub(super) struct Port {
    pub(super) id: String,
    pub(super) names: Vec<String>,
}

impl Layer {
    /// Reads an element `<layer id=".." name=".." type=".." version="..">`.
    pub(super) fn read(element: Element<'_, '_>) -> Result<Self> {
        let attribute = |name: &str| {
            element.attribute(name).map(str::to_owned).ok_or_else(|| {
                let line = element.document().text_pos_at(element.range().start).row;
                Error::malformed(format!("line {line}: a layer has no {name}"))
            })
        };
        let data = child(element, "data");
        let attributes = data.into_iter().flat_map(|data| data.attributes());
        let attributes =
            attributes.map(|attribute| (attribute.name().to_owned(), attribute.value().to_owned()));
        let ports = |kind| {
            let ports = child(element, kind).into_iter().flat_map(|it| it.children());
            ports.filter(|it| it.has_tag_name("port"))
        };
        let id = |port: Element<'_, '_>| port.attribute("id").unwrap_or_default().to_owned();
        let names =
            |port: Element<'_, '_>| split_names(port.attribute("names").unwrap_or_default());
        Ok(Self {
            id: attribute("id")?,
            node: NodeName::new(attribute("type")?, attribute("name").unwrap_or_default()),
            version: element.attribute("version").unwrap_or("opset1").to_owned(),
            attributes: attributes.collect(),
            inputs: ports("input").map(id).collect(),
            outputs: ports("output").map(|it| Port { id: id(it), names: names(it) }).collect(),
            output_names: element.attribute("output_names").map(str::to_owned),
            constant: None,
        })
    }

    /// The value of an operator's attribute, if it is given.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    /// The value of a required attribute.
    pub(super) fn required(&self, name: &str) -> Result<&str> {
        self.attribute(name).ok_or_else(|| self.refused(name, "is given", "a value"))
    }

    /// The error of an attribute that breaks a rule.
    pub(super) fn refused(&self, name: &str, problem: &str, accepted: &str) -> Error {
        let value = self.attribute(name).unwrap_or("nothing");
        self.node.invalid(format!("attribute {name}"), value, problem, accepted)
    }

    /// The type that an attribute names.
    pub(super) fn element(&self, name: &str) -> Result<ElementType> {
        let accepted = "OpenVINO's names, such as f32, i64, boolean";
        element(self.required(name)?).ok_or_else(|| self.refused(name, "is not a type", accepted))
    }

    /// The number that an attribute holds.
    pub(super) fn number<T: std::str::FromStr>(&self, name: &str) -> Result<T> {
        let value = self.required(name)?.trim().parse();
        value.map_err(|_| self.refused(name, "is not a number", "a number of the attribute's type"))
    }

    /// Whether an attribute is true; `default` if it is missing.
    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        self.attribute(name).map_or(default, |it| it.eq_ignore_ascii_case("true") || it == "1")
    }

    /// The shape that a Parameter or Const declares; `None` if its rank is open.
    pub(super) fn shape(&self) -> Result<Option<Vec<Dimension>>> {
        let text = self.required("shape")?.trim();
        if text == "..." {
            return Ok(None);
        }
        if text.is_empty() {
            return Ok(Some(vec![]));
        }
        let dimensions = text.split(',').map(|it| dimension(it.trim()));
        let shape: Option<Vec<Dimension>> = dimensions.take(limits::RANK + 1).collect();
        match shape.filter(|shape| shape.len() <= limits::RANK) {
            Some(shape) => Ok(Some(shape)),
            None => {
                let accepted = "sizes, ?, or ranges such as 1..4, with commas between";
                Err(self.refused("shape", "is not a shape", accepted))
            }
        }
    }

    /// The opset's number; `None` for an extension's operator.
    pub(super) fn opset(&self) -> Option<u32> {
        self.version.strip_prefix("opset")?.parse().ok()
    }
}

/// Parses a dimension such as `2`, `?`, `-1`, `1..`, `..4` or `1..4`.
fn dimension(text: &str) -> Option<Dimension> {
    if text == "?" || text == "-1" {
        return Some(Dimension::ANY);
    }
    if let Some((first, last)) = text.split_once("..") {
        let first = if first.is_empty() { 0 } else { first.parse().ok()? };
        let last = if last.is_empty() { u64::MAX } else { last.parse().ok()? };
        return Some(Dimension::Range(first, last));
    }
    text.parse().ok().map(Dimension::Known)
}

/// Splits names at commas; a backslash escapes a comma within a name.
pub(super) fn split_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => name.extend(characters.next()),
            ',' => names.push(std::mem::take(&mut name)),
            other => name.push(other),
        }
    }
    names.push(name);
    names.retain(|name| !name.is_empty());
    names
}

/// The first child called `name`.
pub(super) fn child<'a, 'b>(element: Element<'a, 'b>, name: &str) -> Option<Element<'a, 'b>> {
    element.children().find(|it| it.has_tag_name(name))
}

/// The type with OpenVINO's name.
pub(super) fn element(name: &str) -> Option<ElementType> {
    const OTHERS: [&str; 10] =
        ["string", "u1", "u2", "u3", "u6", "nf4", "f4e2m1", "f8e8m0", "dynamic", "undefined"];
    let lower = name.to_ascii_lowercase();
    Some(match lower.as_str() {
        "boolean" | "bool" => ElementType::Bool,
        "bf16" => ElementType::Bfloat16,
        "i4" => ElementType::Int4,
        "u4" => ElementType::Uint4,
        "f8e4m3" => ElementType::Small(SmallFloat::E4m3fn),
        "f8e5m2" => ElementType::Small(SmallFloat::E5m2),
        _ => {
            let mut types = ElementType::all();
            match types.find(|data_type| data_type.short_name(1).as_deref() == Some(lower.as_str()))
            {
                Some(element) => element,
                None => ElementType::Other(OTHERS.into_iter().find(|it| **it == lower)?),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_sizes_or_ranges() {
        assert_eq!(dimension("3"), Some(Dimension::Known(3)));
        assert_eq!(dimension("?"), Some(Dimension::ANY));
        assert_eq!(dimension("1..4"), Some(Dimension::Range(1, 4)));
        assert_eq!(dimension("..4"), Some(Dimension::Range(0, 4)));
        assert_eq!(dimension("2.."), Some(Dimension::Range(2, u64::MAX)));
        assert_eq!(dimension("x"), None);
        assert_eq!(dimension("-3"), None);
    }

    #[test]
    fn names_may_have_commas() {
        assert_eq!(split_names("a,b\\,c"), ["a", "b,c"]);
        assert!(split_names("").is_empty());
        assert_eq!(split_names("\\"), Vec::<String>::new());
    }
}
