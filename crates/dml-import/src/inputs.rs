//! Values and shapes that a caller gives for the inputs of a model.

use std::collections::BTreeMap;

use crate::tensor::Tensor;

/// Values or shapes of a model's inputs, by name.
#[derive(Clone, Debug, Default)]
pub struct Inputs(BTreeMap<String, Input>);

/// A value or shape given for one input.
#[derive(Clone, Debug)]
pub enum Input {
    /// The shape alone, for inputs whose values are not needed, such as EyeLike's.
    Shape(Vec<u64>),
    /// The values.
    Tensor(Tensor),
}

impl Inputs {
    /// No inputs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the values of an input.
    #[must_use]
    pub fn with_tensor(mut self, name: impl Into<String>, tensor: Tensor) -> Self {
        self.0.insert(name.into(), Input::Tensor(tensor));
        self
    }

    /// Adds the shape of an input, whose values stay unknown.
    #[must_use]
    pub fn with_shape(mut self, name: impl Into<String>, shape: impl Into<Vec<u64>>) -> Self {
        self.0.insert(name.into(), Input::Shape(shape.into()));
        self
    }

    /// The value or shape given for an input.
    pub fn get(&self, name: &str) -> Option<&Input> {
        self.0.get(name)
    }

    /// All inputs given, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Input)> {
        self.0.iter().map(|(name, input)| (name.as_str(), input))
    }
}

impl Input {
    /// The shape.
    pub fn shape(&self) -> &[u64] {
        match self {
            Self::Shape(shape) => shape,
            Self::Tensor(tensor) => tensor.shape(),
        }
    }
}
