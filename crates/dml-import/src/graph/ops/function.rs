//! Element-wise functions as data.

use dml_core::schema::OperatorSchema;

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::NodeInputs;
use crate::graph::ops::double::{self, DOUBLE};
use crate::graph::ops::scalar::Fold;
use crate::graph::value::Value;

/// A set of element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Types {
    /// Every type: elements are only moved.
    Any,
    /// DirectML's integers and floats.
    Numbers,
    Floats,
    Truth,
    /// DirectML's types and truth values.
    Values,
}

impl Types {
    pub(crate) fn contains(self, element: ElementType) -> bool {
        let is_number = matches!(element, ElementType::Dml(_));
        let (is_integer, is_float) = match element.is_integer() {
            true => (is_number, false),
            false => (false, is_number),
        };
        match self {
            Self::Any => element.storage().is_some(),
            Self::Numbers => is_integer || is_float,
            Self::Floats => is_float,
            Self::Truth => element == ElementType::Bool,
            Self::Values => is_integer || is_float || element == ElementType::Bool,
        }
    }
}

/// Computes a function by others, for types that DirectML's operator does not support, or treats differently.
pub(crate) type Composition = fn(&NodeInputs<'_>, &[Value]) -> Result<Value>;

/// A composition, and the input types that it is used for.
#[derive(Clone, Copy, Debug)]
struct Substitute {
    types: fn(ElementType) -> bool,
    composition: Composition,
}

/// An element-wise function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function {
    /// DirectML's operator for the function, and the types it is used for.
    operator: (Types, &'static OperatorSchema),
    /// Whether the result is a truth value.
    pub(crate) is_truth: bool,
    /// Whether the first input is a truth value, whatever the others are.
    pub(crate) has_condition: bool,
    /// Whether the last input has a type of its own, as exponents have.
    pub(crate) has_exponent: bool,
    /// Whether the function takes any number of inputs, which may be combined two at a time.
    pub(crate) is_chain: bool,
    /// The function of single elements on the host; `None` if only a device computes it.
    pub(crate) fold: Option<Fold>,
    /// Replaces the operator for certain input types.
    substitute: Option<Substitute>,
}

impl Function {
    /// A function with the result type of its inputs, which a DirectML operator computes for these types.
    pub(crate) const fn new(types: Types, schema: &'static OperatorSchema) -> Self {
        Self {
            operator: (types, schema),
            is_truth: false,
            has_condition: false,
            has_exponent: false,
            is_chain: false,
            fold: None,
            substitute: None,
        }
    }

    pub(crate) const fn truth(self) -> Self {
        Self { is_truth: true, ..self }
    }

    pub(crate) const fn conditional(self) -> Self {
        Self { has_condition: true, ..self }
    }

    pub(crate) const fn with_exponent(self) -> Self {
        Self { has_exponent: true, ..self }
    }

    pub(crate) const fn chain(self) -> Self {
        Self { is_chain: true, ..self }
    }

    pub(crate) const fn fold(self, fold: Fold) -> Self {
        Self { fold: Some(fold), ..self }
    }

    /// Replaces the operator by a composition for the given types.
    pub(crate) const fn composed(
        self,
        types: fn(ElementType) -> bool,
        composition: Composition,
    ) -> Self {
        Self { substitute: Some(Substitute { types, composition }), ..self }
    }

    /// The composition that replaces the operator for inputs of type `element`.
    pub(super) fn composition(&self, element: ElementType) -> Option<Composition> {
        let substitute = self.substitute.filter(|substitute| (substitute.types)(element));
        substitute.map(|substitute| substitute.composition)
    }

    /// The function of single elements of a type that only the host computes with.
    pub(super) fn on_host(&self, element: ElementType) -> Option<Fold> {
        let (types, schema) = self.operator;
        let is_computed = element == DOUBLE && types != Types::Any;
        self.fold.or_else(|| double::function(schema)).filter(|_| is_computed)
    }

    #[cfg(test)]
    pub(crate) fn schema(&self) -> &'static OperatorSchema {
        self.operator.1
    }

    /// The accepted inputs, apart from a condition, if `element` is not one of them: truth values are not
    /// numbers, and integers of fewer than 8 bits are not computed with.
    pub(super) fn refusal(&self, element: ElementType) -> Option<&'static str> {
        let is_truth = element == ElementType::Bool;
        match self.operator.0 {
            Types::Truth if !is_truth => Some("bool"),
            Types::Numbers | Types::Floats if is_truth => Some("numbers"),
            Types::Numbers | Types::Floats | Types::Values
                if element.narrow_integer().is_some() =>
            {
                Some("types of 8 bits and more")
            }
            _ => None,
        }
    }

    /// The operator that a device executes for `element`; `None` if there is none.
    pub(super) fn operator(&self, element: ElementType) -> Option<&'static OperatorSchema> {
        let (types, schema) = self.operator;
        (schema.implemented && types.contains(element)).then_some(schema)
    }

    /// The reason why a device has no operator for `element`.
    pub(super) fn missing(&self, element: ElementType) -> String {
        let beside = match self.fold {
            Some(_) => "; integers that the host knows are computed there",
            None => "",
        };
        let (_, schema) = self.operator;
        match schema.implemented {
            false => {
                format!("DirectML's {} is not implemented by this runtime{beside}", schema.name)
            }
            true => format!("DirectML's {} does not support {element}{beside}", schema.name),
        }
    }
}
