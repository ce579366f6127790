//! Views of a value's elements with other dimensions, sizes and strides.

use smallvec::smallvec;

use crate::graph::strides::{Sizes, broadcast_strides, divided, is_packed, packed};
use crate::graph::value::{Content, Value, View};

impl Value {
    /// The strides of the elements, whatever the content.
    pub(crate) fn strides(&self) -> Sizes {
        let shape = self.shape.as_deref().unwrap_or_default();
        match &self.content {
            Content::Stored(View { strides: Some(strides), .. }) => strides.clone(),
            Content::Fill(_) => smallvec![0; shape.len()],
            _ => packed(shape),
        }
    }

    /// The elements with these sizes and strides.
    pub(crate) fn seen(&self, shape: Sizes, strides: Sizes) -> Self {
        let content = match &self.content {
            Content::Stored(view) => {
                let is_packed = shape.contains(&0) || is_packed(&shape, &strides);
                let strides = (!is_packed).then_some(strides);
                Content::Stored(View { storage: view.storage.clone(), strides })
            }
            other => other.clone(),
        };
        Self { element: self.element, shape: Some(shape), content }
    }

    /// The value with permuted dimensions: dimension `i` is `order[i]` of this one.
    pub(crate) fn transposed(&self, order: &[usize]) -> Self {
        let (shape, strides) = (self.shape.as_deref().unwrap_or_default(), self.strides());
        let shape = order.iter().map(|from| shape[*from]).collect();
        let strides = order.iter().map(|from| strides[*from]).collect();
        self.seen(shape, strides)
    }

    /// The value broadcast to `shape`, which must be possible by NumPy's rule.
    pub(crate) fn broadcast(&self, shape: &[u64]) -> Self {
        let own = self.shape.as_deref().unwrap_or_default();
        if own == shape {
            return self.clone();
        }
        let strides = broadcast_strides(own, &self.strides(), shape);
        self.seen(shape.into(), strides)
    }

    /// The value with another shape of as many elements; `None` if strides cannot express it.
    pub(crate) fn reshaped(&self, shape: &[u64]) -> Option<Self> {
        let own = self.shape.as_deref().unwrap_or_default();
        let content = match &self.content {
            Content::Stored(View { strides: Some(strides), .. }) if !shape.contains(&0) => {
                let strides = divided(own, strides, shape)?;
                return Some(self.seen(shape.into(), strides));
            }
            Content::Stored(View { storage, .. }) => {
                Content::Stored(View { storage: storage.clone(), strides: None })
            }
            other => other.clone(),
        };
        Some(Self { element: self.element, shape: Some(shape.into()), content })
    }
}
