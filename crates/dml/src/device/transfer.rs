//! Reading and writing tensors.

use dml_core::{DataType, TensorDesc, TensorLayout};
use dml_vk::Buffer;

use crate::device::Device;
use crate::element::{Element, elements_into, pack, spread};
use crate::error::{Error, Result};

impl Device {
    /// Reads a tensor back: its elements in row-major logical order, whatever its strides.
    ///
    /// `offset` is the start of the tensor in the buffer, in bytes.
    ///
    /// # Errors
    /// [`Error::ElementType`]: `T` is not the tensor's type; [`Error::Tensor`]: the description
    /// breaks a rule; [`Error::Vulkan`]: the buffer is too small, or the device was lost.
    pub fn read<T: Element>(
        &self,
        buffer: &Buffer,
        offset: u64,
        tensor: &TensorDesc,
    ) -> Result<Vec<T>> {
        let layout = layout_of::<T>(tensor)?;
        let mut elements = zeros(layout.element_count(), T::from_element_bits(0))?;
        self.read_elements(buffer, offset, &layout, &mut elements)?;
        Ok(elements)
    }

    /// Reads a tensor back as [`Device::read`] does, into the caller's memory.
    ///
    /// # Errors
    /// As [`Device::read`]; [`Error::ElementCount`]: `into` does not have as many elements as the tensor.
    pub fn read_into<T: Element>(
        &self,
        buffer: &Buffer,
        offset: u64,
        tensor: &TensorDesc,
        into: &mut [T],
    ) -> Result<()> {
        let layout = layout_of::<T>(tensor)?;
        check_count(&layout, into.len())?;
        self.read_elements(buffer, offset, &layout, into)
    }

    /// Writes a tensor: `elements` are in row-major logical order, whatever its strides. Bytes between elements
    /// keep their values: they are read first and written back.
    ///
    /// `offset` is the start of the tensor in the buffer, in bytes.
    ///
    /// # Errors
    /// [`Error::ElementType`]: `T` is not the tensor's type; [`Error::ElementCount`]: the number of
    /// `elements` is not the tensor's; [`Error::Tensor`]: the description breaks a rule, or elements of it share
    /// bytes; [`Error::Vulkan`]: the buffer is too small, or the device was lost.
    pub fn write<T: Element>(
        &self,
        buffer: &Buffer,
        offset: u64,
        tensor: &TensorDesc,
        elements: &[T],
    ) -> Result<()> {
        let layout = layout_of::<T>(tensor)?;
        check_count(&layout, elements.len())?;
        layout.check_disjoint()?;
        let bytes = if layout.is_dense() {
            let size = layout.span() * u64::from(layout.data_type().bits() / 8);
            zeros(size, 0)?
        } else {
            self.read_span(buffer, offset, &layout)?
        };
        Ok(self.vulkan.write_buffer(buffer, offset, &spread(&layout, elements, bytes))?)
    }

    /// Reads a tensor of any type back: its elements as packed little-endian bytes, in row-major
    /// logical order.
    ///
    /// # Errors
    /// As [`Device::read`]; 4-bit tensors are refused.
    pub fn read_packed(
        &self,
        buffer: &Buffer,
        offset: u64,
        tensor: &TensorDesc,
    ) -> Result<Vec<u8>> {
        let layout = TensorLayout::new(tensor)?;
        let bytes = self.read_span(buffer, offset, &layout)?;
        pack(&layout, bytes).ok_or(Error::HostMemory { what: "the elements of a tensor" })
    }

    fn read_elements<T: Element>(
        &self,
        buffer: &Buffer,
        offset: u64,
        layout: &TensorLayout,
        into: &mut [T],
    ) -> Result<()> {
        let bytes = self.read_span(buffer, offset, layout)?;
        elements_into(layout, &bytes, into);
        Ok(())
    }

    /// Reads the bytes from the first element to the last one.
    fn read_span(&self, buffer: &Buffer, offset: u64, layout: &TensorLayout) -> Result<Vec<u8>> {
        let bits = layout.data_type().bits();
        if bits < 8 {
            return Err(Error::ElementType {
                tensor: layout.data_type(),
                element: "whole bytes",
                accepted: DataType::Uint8,
            });
        }
        let end = offset.saturating_add(layout.span() * u64::from(bits / 8));
        Ok(self.vulkan.read_buffer(buffer, offset..end)?)
    }
}

/// The layout of a tensor whose elements are `T`.
fn layout_of<T: Element>(tensor: &TensorDesc) -> Result<TensorLayout> {
    if tensor.data_type != T::DATA_TYPE {
        return Err(Error::ElementType {
            tensor: tensor.data_type,
            element: std::any::type_name::<T>(),
            accepted: T::DATA_TYPE,
        });
    }
    Ok(TensorLayout::new(tensor)?)
}

fn check_count(layout: &TensorLayout, given: usize) -> Result<()> {
    let needed = layout.element_count();
    if given as u64 == needed {
        return Ok(());
    }
    Err(Error::ElementCount { given: given as u64, needed })
}

/// A vector of `count` times `zero`; an error if memory runs out.
fn zeros<T: Copy>(count: u64, zero: T) -> Result<Vec<T>> {
    let out_of_memory = || Error::HostMemory { what: "the elements of a tensor" };
    let mut elements = Vec::new();
    let count = usize::try_from(count).map_err(|_| out_of_memory())?;
    elements.try_reserve_exact(count).map_err(|_| out_of_memory())?;
    elements.resize(count, zero);
    Ok(elements)
}
