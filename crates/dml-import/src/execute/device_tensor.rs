//! Tensors in device memory.

use std::sync::Arc;

use dml::{Buffer, Device};

use crate::element::ElementType;
use crate::error::{Error, Result};
use crate::tensor::{Tensor, byte_count, text};

use super::at;
use super::its_buffers;
use super::memory::{self, create};

/// A tensor in device memory: packed elements in row-major order, starting at offset 0 of a buffer.
///
/// A cheap handle: clones share one tensor. Runs never write a tensor that somebody else holds, so its elements
/// do not change.
#[derive(Clone, Debug)]
pub struct DeviceTensor {
    element: ElementType,
    shape: Vec<u64>,
    storage: Arc<Storage>,
}

#[derive(Debug)]
struct Storage {
    device: Device,
    /// `None` if the tensor has no elements.
    buffer: Option<Buffer>,
    /// Whether the buffer is used only through handles of this tensor.
    is_own: bool,
}

impl DeviceTensor {
    /// Copies a host tensor to the device.
    ///
    /// # Errors
    /// [`Error::Memory`]: there is no room for it; [`Error::Device`]: the device was lost.
    pub fn new(device: &Device, tensor: &Tensor) -> Result<Self> {
        let (element, shape) = (tensor.element_type(), tensor.shape());
        let content = || memory::tensor("tensor", element, shape);
        let new = Self::undefined(device, element, shape, content)?;
        new.write(tensor)?;
        Ok(new)
    }

    /// Uses a buffer that already exists, such as one that a caller's own operators write. The caller is
    /// responsible for the buffer's content when a run reads it.
    ///
    /// # Errors
    /// [`Error::Malformed`]: the buffer is too small for the shape and type.
    pub fn from_buffer(
        device: &Device,
        element: ElementType,
        shape: impl Into<Vec<u64>>,
        buffer: Buffer,
    ) -> Result<Self> {
        let shape = shape.into();
        let needed = size(element, &shape)?;
        if buffer.size() < needed {
            let given = buffer.size();
            let problem = format!(
                "a buffer of {given} bytes is given for {element} {}; accepted: {needed} or more",
                text(&shape)
            );
            return Err(Error::Malformed(problem));
        }
        Ok(Self::of(device, element, shape, (needed > 0).then_some(buffer), false))
    }

    /// The type of the elements.
    pub fn element_type(&self) -> ElementType {
        self.element
    }

    /// The sizes of the dimensions, outermost first.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The buffer, for other work on the device; `None` if there are no elements. Its bytes do not change as
    /// long as the tensor is held.
    pub fn buffer(&self) -> Option<&Buffer> {
        self.storage.buffer.as_ref()
    }

    /// Copies the elements to the host, after waiting for all work submitted so far.
    ///
    /// # Errors
    /// [`Error::Device`]: memory ran out, or the device was lost.
    pub fn read(&self) -> Result<Tensor> {
        let bytes = match self.buffer() {
            None => vec![],
            Some(buffer) => {
                let bytes = byte_count(self.element, &self.shape).unwrap_or(0);
                let read = self.storage.device.vulkan().read_buffer(buffer, 0..bytes);
                read.map_err(|error| at(&its_buffers(), error.into()))?
            }
        };
        Tensor::new(self.element, self.shape.clone(), bytes)
    }

    /// Copies the elements to `into`, after waiting for all work submitted so far.
    ///
    /// # Errors
    /// [`Error::Malformed`]: `into` has another size than the tensor; [`Error::Device`]: as [`read`](Self::read).
    pub fn read_into(&self, into: &mut [u8]) -> Result<()> {
        let bytes = byte_count(self.element, &self.shape).unwrap_or(0);
        if into.len() as u64 != bytes {
            let given = into.len();
            return Err(Error::malformed(format!(
                "a place of {given} bytes is given for {bytes} bytes"
            )));
        }
        let Some(buffer) = self.buffer() else { return Ok(()) };
        let read = self.storage.device.vulkan().read_buffer_into(buffer, 0, into);
        read.map_err(|error| at(&its_buffers(), error.into()))
    }

    /// This tensor with another shape or type; the bytes are shared.
    ///
    /// # Errors
    /// [`Error::Malformed`]: the shape and type have another number of bytes.
    pub fn reinterpreted(&self, element: ElementType, shape: &[u64]) -> Result<Self> {
        let has = byte_count(self.element, &self.shape);
        match byte_count(element, shape) == has {
            true => Ok(self.viewed(element, shape)),
            false => Err(Error::malformed(format!(
                "{} {} cannot be seen as {element} {}: the number of bytes differs",
                self.element,
                text(&self.shape),
                text(shape)
            ))),
        }
    }

    /// Whether the elements are in memory of `device`.
    pub fn is_on(&self, device: &Device) -> bool {
        let [own, other] = [&self.storage.device, device].map(|it| it.vulkan().raw().handle());
        own == other
    }

    /// A tensor whose elements are written later; `content` describes it in errors.
    pub(super) fn undefined(
        device: &Device,
        element: ElementType,
        shape: &[u64],
        content: impl FnOnce() -> String,
    ) -> Result<Self> {
        let buffer = match size(element, shape)? {
            0 => None,
            size => Some(create(device, size, content)?),
        };
        Ok(Self::of(device, element, shape.to_vec(), buffer, true))
    }

    /// A tensor in a buffer that others use as well.
    pub(super) fn shared(
        device: &Device,
        element: ElementType,
        shape: &[u64],
        buffer: &Buffer,
    ) -> Self {
        Self::of(device, element, shape.to_vec(), Some(buffer.clone()), false)
    }

    fn of(
        device: &Device,
        element: ElementType,
        shape: Vec<u64>,
        buffer: Option<Buffer>,
        is_own: bool,
    ) -> Self {
        Self {
            element,
            shape,
            storage: Arc::new(Storage { device: device.clone(), buffer, is_own }),
        }
    }

    pub(super) fn write(&self, tensor: &Tensor) -> Result<()> {
        let Some(buffer) = self.buffer() else { return Ok(()) };
        let written = self.storage.device.vulkan().write_buffer(buffer, 0, tensor.bytes());
        written.map_err(|error| at(&its_buffers(), error.into()))
    }

    /// The tensor with another shape of as many elements, and a type of the same size.
    pub(super) fn viewed(&self, element: ElementType, shape: &[u64]) -> Self {
        Self { element, shape: shape.to_vec(), storage: Arc::clone(&self.storage) }
    }

    /// Whether a run may overwrite this tensor with one of this type and shape: nobody else holds it.
    pub(super) fn is_free_for(&self, element: ElementType, shape: &[u64]) -> bool {
        let has = self.buffer().map_or(0, Buffer::size);
        let is_free = self.storage.is_own && Arc::strong_count(&self.storage) == 1;
        is_free && size(element, shape).is_ok_and(|needed| needed == has)
    }

    /// Whether a run may overwrite this tensor with one of this type and shape, where so many handles are known.
    pub(super) fn is_free_but_for(
        &self,
        handles: usize,
        element: ElementType,
        shape: &[u64],
    ) -> bool {
        let is_free = self.storage.is_own && Arc::strong_count(&self.storage) == handles;
        is_free && self.element == element && self.shape == shape
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.storage, &other.storage)
    }
}

/// Bytes of the buffer for such a tensor, in whole words, as operators bind it.
fn size(element: ElementType, shape: &[u64]) -> Result<u64> {
    byte_count(element, shape).and_then(|bytes| bytes.checked_next_multiple_of(4)).ok_or_else(
        || Error::malformed(format!("a tensor {element} {} is not supported", text(shape))),
    )
}
