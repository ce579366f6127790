//! What a caller gives for the inputs of a model.

use std::collections::BTreeMap;

use crate::tensor::Tensor;

/// Values or shapes of a model's inputs, by name.
#[derive(Clone, Debug, Default)]
pub struct Inputs(BTreeMap<String, Input>);

/// What is known of one input.
#[derive(Clone, Debug)]
pub enum Input {
    /// Its shape alone: enough where only that matters, such as for EyeLike.
    Shape(Vec<u64>),
    /// Its values.
    Tensor(Tensor),
}

impl Inputs {
    /// Nothing is given.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with the values of an input.
    #[must_use]
    pub fn with_tensor(mut self, name: impl Into<String>, tensor: Tensor) -> Self {
        self.0.insert(name.into(), Input::Tensor(tensor));
        self
    }

    /// The same with the shape of an input; its values stay unknown.
    #[must_use]
    pub fn with_shape(mut self, name: impl Into<String>, shape: impl Into<Vec<u64>>) -> Self {
        self.0.insert(name.into(), Input::Shape(shape.into()));
        self
    }

    /// What is given for an input.
    pub fn get(&self, name: &str) -> Option<&Input> {
        self.0.get(name)
    }

    /// Everything given, by name.
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
