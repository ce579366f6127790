//! Values of a graph during evaluation.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use smallvec::smallvec;

use crate::constant::Constant;
use crate::element::ElementType;
use crate::error::{Error, NodeName, Requirement, Result};
use crate::graph::strides::{Sizes, positions};
use crate::tensor::{Tensor, host_elements};

/// A value, as far as it is known.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) element: Option<ElementType>,
    pub(crate) shape: Option<Sizes>,
    pub(crate) content: Content,
}

/// The type and shape of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) element: ElementType,
    pub(crate) shape: Sizes,
}

/// The content of a value.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Every element has these bits.
    Fill(u64),
    /// The elements are in storage.
    Stored(View),
    /// A sequence of tensors, which has neither a type nor a shape.
    Sequence(Arc<[Value]>),
    /// An optional value without an element.
    Nothing,
    /// The content is unknown because of this error. Type and shape may be known nevertheless.
    Refused(Arc<Error>),
}

/// A view of stored elements, starting at the first one.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) storage: Storage,
    /// Distances between neighbours in each dimension, in elements; `None` if packed.
    pub(crate) strides: Option<Sizes>,
}

/// The storage of elements.
#[derive(Clone, Debug)]
pub(crate) enum Storage {
    /// Computed on the host.
    Tensor(Tensor),
    /// Part of the model.
    Constant(Arc<Constant>),
    /// Given by the caller.
    Input(Arc<BoundInput>),
    /// Written by a node of the device.
    Device {
        /// The node's index among the device nodes.
        node: usize,
        /// The output's index in the node's binding order.
        output: usize,
    },
}

/// An input of the graph as the caller bound it.
#[derive(Debug)]
pub(crate) struct BoundInput {
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) tensor: Option<Tensor>,
    /// Whether the caller gave the input's shape or values.
    pub(crate) is_given: bool,
    /// How often its elements were read: others may need another program.
    pub(crate) reads: AtomicUsize,
}

impl BoundInput {
    /// One without elements.
    pub(crate) fn unread(index: usize, name: &str) -> Self {
        let reads = AtomicUsize::new(0);
        Self { index, name: name.to_owned(), tensor: None, is_given: true, reads }
    }

    /// Whether its elements were read.
    pub(crate) fn is_read(&self) -> bool {
        self.reads.load(Ordering::Relaxed) > 0
    }
}

impl Storage {
    pub(crate) fn is_on_device(&self) -> bool {
        matches!(self, Self::Device { .. })
    }
}

impl Kind {
    pub(crate) fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }
}

impl Value {
    /// Packed elements in `storage`.
    pub(crate) fn stored(kind: Kind, storage: Storage) -> Self {
        let content = Content::Stored(View { storage, strides: None });
        Self { element: Some(kind.element), shape: Some(kind.shape), content }
    }

    /// A tensor on the host.
    pub(crate) fn host(tensor: Tensor) -> Self {
        let kind = Kind { element: tensor.element_type(), shape: tensor.shape().into() };
        Self::stored(kind, Storage::Tensor(tensor))
    }

    /// A value of one element.
    pub(crate) fn scalar(element: ElementType, bits: u64) -> Self {
        Self::fill(Kind { element, shape: smallvec![] }, bits)
    }

    /// A value whose elements all have these bits.
    pub(crate) fn fill(kind: Kind, bits: u64) -> Self {
        Self { element: Some(kind.element), shape: Some(kind.shape), content: Content::Fill(bits) }
    }

    /// A tensor without elements.
    pub(crate) fn empty(kind: Kind) -> Result<Self> {
        Tensor::new(kind.element, kind.shape.into_vec(), vec![]).map(Self::host)
    }

    /// A sequence of tensors.
    pub(crate) fn sequence(tensors: Vec<Self>) -> Self {
        Self { element: None, shape: None, content: Content::Sequence(tensors.into()) }
    }

    /// An input whose type may be open.
    pub(crate) fn of_input(
        element: Option<ElementType>,
        shape: Sizes,
        input: Arc<BoundInput>,
    ) -> Self {
        let content = Content::Stored(View { storage: Storage::Input(input), strides: None });
        Self { element, shape: Some(shape), content }
    }

    pub(crate) fn refused(error: Error) -> Self {
        Self { element: None, shape: None, content: Content::Refused(Arc::new(error)) }
    }

    /// A value that cannot be computed, although its type and shape are known.
    pub(crate) fn refused_as(kind: Kind, error: Error) -> Self {
        Self { element: Some(kind.element), shape: Some(kind.shape), ..Self::refused(error) }
    }

    /// The shape, or the error that explains why it is unknown.
    pub(crate) fn shape(&self) -> Result<&[u64]> {
        self.shape.as_deref().ok_or_else(|| self.refusal())
    }

    /// The type, or the error that explains why it is unknown.
    pub(crate) fn element(&self) -> Result<ElementType> {
        self.element.ok_or_else(|| self.refusal())
    }

    /// The type and the shape.
    pub(crate) fn kind(&self) -> Result<Kind> {
        Ok(Kind { element: self.element()?, shape: self.shape()?.into() })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shape.as_deref().is_some_and(|shape| shape.contains(&0))
    }

    /// The error of a value whose elements are unknown.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.content {
            Content::Refused(error) => Err(Error::clone(error)),
            _ => Ok(()),
        }
    }

    fn refusal(&self) -> Error {
        match &self.content {
            Content::Refused(error) => Error::clone(error),
            // The model does not declare the input's type, so it is the type of the values given.
            Content::Stored(View { storage: Storage::Input(input), .. }) => {
                Error::missing(&input.name, Requirement::Values)
            }
            Content::Sequence(_) => {
                Error::malformed("a sequence is given where a tensor is accepted")
            }
            Content::Nothing => Error::malformed("an optional value has no element"),
            _ => Error::malformed("a value has neither type nor shape"),
        }
    }

    /// This view of other elements.
    pub(crate) fn with_storage(&self, storage: Storage) -> Self {
        let strides = self.view().and_then(|view| view.strides.clone());
        let content = Content::Stored(View { storage, strides });
        Self { element: self.element, shape: self.shape.clone(), content }
    }

    /// Where the elements lie; `None` where they are the same everywhere, or refused.
    pub(crate) fn view(&self) -> Option<&View> {
        match &self.content {
            Content::Stored(view) => Some(view),
            _ => None,
        }
    }

    /// The elements on the host, for `node`. `writer` names the device node that computes them otherwise.
    pub(crate) fn tensor(
        &self,
        node: &NodeName,
        writer: impl Fn(usize) -> String,
    ) -> Result<Tensor> {
        let (element, shape) = (self.element()?, self.shape()?);
        let view = match &self.content {
            Content::Fill(bits) => return Tensor::filled(element, shape.to_vec(), *bits),
            Content::Stored(view) => view,
            _ => return Err(self.refusal()),
        };
        let tensor = match &view.storage {
            Storage::Tensor(tensor) => tensor.clone(),
            Storage::Constant(constant) => constant.load()?,
            Storage::Input(input) => {
                let missing = || Error::missing(&input.name, Requirement::Values);
                let tensor = input.tensor.clone().ok_or_else(missing)?;
                input.reads.fetch_add(1, Ordering::Relaxed);
                tensor
            }
            Storage::Device { node: writes, .. } => {
                let reason =
                    format!("its input is the result of {}, computed by a device", writer(*writes));
                return Err(node.not_supported(reason));
            }
        };
        // The elements may be viewed as another type.
        let tensor = tensor.with_element(element);
        match &view.strides {
            None => Ok(tensor.reshaped(shape.to_vec())),
            Some(strides) => {
                host_elements(shape)?;
                Ok(tensor.picked(shape.to_vec(), &positions(shape, strides)))
            }
        }
    }
}
