//! A value of a graph while shapes are being found.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::constant::Constant;
use crate::convert::convert;
use crate::element::ElementType;
use crate::error::{Error, NodeName, Requirement, Result};
use crate::limits;
use crate::tensor::Tensor;

/// What is known of a value. Types and shapes are known wherever there is no refusal.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) element: Option<ElementType>,
    pub(crate) shape: Option<Vec<u64>>,
    pub(crate) content: Content,
    /// How many other values it takes to get to the elements.
    pub(super) depth: u32,
}

/// Where the elements come from.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Computed on the host.
    Tensor(Tensor),
    /// Part of the model.
    Constant(Arc<Constant>),
    /// Given by the caller.
    Input(Arc<BoundInput>),
    /// The same bits everywhere.
    Fill(u64),
    /// A device writes them.
    Band(Arc<Band>),
    /// Those of another value, converted to this value's type.
    Converted(Arc<Value>),
    /// Nowhere: this is why.
    Refused(Arc<Error>),
}

/// An input of the graph as the caller bound it.
#[derive(Debug)]
pub(crate) struct BoundInput {
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) tensor: Option<Tensor>,
    /// Whether its elements decided something, so that others would need another program.
    pub(crate) read: AtomicBool,
}

/// Matrices with `bits` where `begin <= x - y < end`, and elsewhere the source's element, or 0.
#[derive(Debug)]
pub(crate) struct Band {
    /// The node that it was made from.
    pub(crate) node: NodeName,
    /// Two dimensions at least; those before the last two are batches.
    pub(crate) shape: Vec<u64>,
    pub(crate) begin: i128,
    pub(crate) end: i128,
    pub(crate) bits: u64,
    pub(crate) source: Option<Value>,
}

impl Value {
    pub(crate) fn new(element: ElementType, shape: Vec<u64>, content: Content) -> Self {
        Self { element: Some(element), shape: Some(shape), content, depth: 0 }
    }

    /// The value of an input whose type may be open.
    pub(crate) fn of_input(
        element: Option<ElementType>,
        shape: Vec<u64>,
        content: Content,
    ) -> Self {
        Self { element, shape: Some(shape), content, depth: 0 }
    }

    pub(crate) fn refused(error: Error) -> Self {
        let content = Content::Refused(Arc::new(error));
        Self { element: None, shape: None, content, depth: 0 }
    }

    pub(crate) fn band(element: ElementType, band: Band) -> Result<Self> {
        let depth = band.source.as_ref().map_or(0, |source| source.depth + 1);
        if depth > limits::NESTING {
            let reason = format!("more than {} such operators in a row", limits::NESTING);
            return Err(band.node.not_supported(reason));
        }
        let shape = band.shape.clone();
        Ok(Self { depth, ..Self::new(element, shape, Content::Band(Arc::new(band))) })
    }

    /// The shape, or why it is not known.
    pub(crate) fn shape(&self) -> Result<&[u64]> {
        self.shape.as_deref().ok_or_else(|| self.refusal())
    }

    /// The type, or why it is not known.
    pub(crate) fn element(&self) -> Result<ElementType> {
        self.element.ok_or_else(|| self.refusal())
    }

    fn refusal(&self) -> Error {
        match &self.content {
            Content::Refused(error) => Error::clone(error),
            // Its type is that of its values, where the model does not say.
            Content::Input(input) => Error::missing(&input.name, Requirement::Values),
            _ => Error::malformed("a value has neither type nor shape"),
        }
    }

    /// The elements, as far as the host knows them, for `node`.
    pub(crate) fn tensor(&self, node: &NodeName) -> Result<Tensor> {
        let shape = self.shape()?.to_vec();
        let element = self.element()?;
        let tensor = match &self.content {
            Content::Tensor(tensor) => tensor.clone(),
            Content::Constant(constant) => constant.load()?,
            Content::Input(input) => {
                let missing = || Error::missing(&input.name, Requirement::Values);
                let tensor = input.tensor.clone().ok_or_else(missing)?;
                input.read.store(true, Ordering::Relaxed);
                tensor
            }
            Content::Fill(bits) => Tensor::filled(element, shape.clone(), *bits)?,
            Content::Converted(source) => source.tensor(node)?.converted(element)?,
            Content::Band(band) => {
                let reason =
                    format!("its input is the result of {}, computed by a device", band.node);
                return Err(node.not_supported(reason));
            }
            Content::Refused(error) => return Err(Error::clone(error)),
        };
        Ok(tensor.reshaped(shape))
    }

    /// The same elements in another shape of as many.
    pub(crate) fn with_shape(&self, shape: Vec<u64>) -> Self {
        Self { shape: Some(shape), ..self.clone() }
    }

    /// The same elements as another type: what writes them writes that type.
    pub(crate) fn cast(&self, to: ElementType) -> Result<Self> {
        let from = self.element()?;
        if from == to {
            return Ok(self.clone());
        }
        let content = match &self.content {
            Content::Fill(bits) => Content::Fill(convert(*bits, from, to)),
            Content::Band(band) => Content::Band(Arc::new(Band {
                node: band.node.clone(),
                shape: band.shape.clone(),
                bits: convert(band.bits, from, to),
                // 0 is 0 in every type, so that only the bits and the source change.
                source: band.source.as_ref().map(|source| source.cast(to)).transpose()?,
                begin: band.begin,
                end: band.end,
            })),
            Content::Refused(error) => Content::Refused(Arc::clone(error)),
            _ if self.depth >= limits::NESTING => {
                let problem = format!("more than {} conversions in a row", limits::NESTING);
                return Err(Error::Malformed(problem));
            }
            _ => {
                let content = Content::Converted(Arc::new(self.clone()));
                return Ok(Self {
                    depth: self.depth + 1,
                    ..Self::new(to, self.shape()?.to_vec(), content)
                });
            }
        };
        Ok(Self { element: Some(to), content, ..self.clone() })
    }
}
