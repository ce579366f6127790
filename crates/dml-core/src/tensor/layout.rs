//! Checked tensors: valid sizes, strides and byte counts.

use crate::tensor::overlap::{Overlap, overlap};
use crate::tensor::{
    MAX_DIMENSION_COUNT, MAX_ELEMENT_COUNT, MINIMUM_TENSOR_ALIGNMENT, TensorDesc, TensorFlags,
};
use crate::types::{DataType, InvalidField};

/// A checked tensor. The arithmetic of its accessors fits 64 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorLayout {
    data_type: DataType,
    flags: TensorFlags,
    sizes: Vec<u32>,
    strides: Vec<u32>,
    element_count: u64,
    span: u64,
    total_size: u64,
    alignment: u32,
}

impl TensorLayout {
    /// Checks the rules of DML_BUFFER_TENSOR_DESC that hold for every operator and level
    /// (the page of that structure in DirectML's reference, and `docs/deviations.md`).
    ///
    /// # Errors
    /// The invalid field, its value and the accepted values.
    pub fn new(desc: &TensorDesc) -> Result<Self, InvalidField> {
        check_flags(desc.flags)?;
        check_sizes(&desc.sizes)?;
        let element_count = element_count(&desc.sizes)?;
        let strides = match &desc.strides {
            Some(strides) => check_stride_count(strides, desc.sizes.len())?,
            None => packed_strides(&desc.sizes),
        };
        let span = span(&desc.sizes, &strides)?;
        let layout = Self {
            data_type: desc.data_type,
            flags: desc.flags,
            sizes: desc.sizes.clone(),
            strides,
            element_count,
            span,
            total_size: 0,
            alignment: check_alignment(desc)?,
        };
        let total_size = layout.check_total_size(desc.total_tensor_size_in_bytes)?;
        Ok(Self { total_size, ..layout })
    }

    /// Checks that no two elements share an address, as an output must.
    ///
    /// # Errors
    /// The strides, and whether elements overlap or it is too costly to find out.
    pub fn check_disjoint(&self) -> Result<(), InvalidField> {
        let problem = match overlap(&self.sizes, &self.strides) {
            Overlap::Disjoint => return Ok(()),
            Overlap::Overlapping => "let elements of an output share an address",
            Overlap::Unknown => "cannot be shown to keep the elements of an output apart",
        };
        Err(InvalidField::new(
            "Strides",
            format_args!("{:?} with Sizes {:?}", self.strides, self.sizes),
            problem,
            format!("strides that keep all elements apart, such as {:?}", {
                packed_strides(&self.sizes)
            }),
        ))
    }

    /// The type of an element.
    pub fn data_type(&self) -> DataType {
        self.data_type
    }

    /// The flags.
    pub fn flags(&self) -> TensorFlags {
        self.flags
    }

    /// Elements in each dimension, outermost first.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Distance between neighbours in each dimension, in elements; also for packed tensors.
    pub fn strides(&self) -> &[u32] {
        &self.strides
    }

    /// The number of elements, at most [`MAX_ELEMENT_COUNT`].
    pub fn element_count(&self) -> u64 {
        self.element_count
    }

    /// The number of element positions from the first element to the last one, both included; at most
    /// [`MAX_ELEMENT_COUNT`].
    pub fn span(&self) -> u64 {
        self.span
    }

    /// Whether every position of the span belongs to an element, if no two elements share one.
    pub fn is_dense(&self) -> bool {
        self.span == self.element_count
    }

    /// Whether the elements are adjacent in row-major order.
    pub fn is_packed(&self) -> bool {
        let mut expected = 1;
        self.sizes.iter().zip(&self.strides).rev().all(|(size, stride)| {
            let fits = *size == 1 || u64::from(*stride) == expected;
            expected *= u64::from(*size);
            fits
        })
    }

    /// Bytes from the first element to the end of the last one, rounded up to a multiple of 4: the bytes
    /// that an operator may write.
    pub fn minimum_size(&self) -> u64 {
        (self.span * u64::from(self.data_type.bits())).div_ceil(8).next_multiple_of(4)
    }

    /// TotalTensorSizeInBytes.
    pub fn total_size(&self) -> u64 {
        self.total_size
    }

    /// Bytes that a binding must cover: TotalTensorSizeInBytes, rounded up to a multiple of 4.
    pub fn binding_size(&self) -> u64 {
        self.total_size.next_multiple_of(4)
    }

    /// The bound offset must be a multiple of this many bytes, at least 16.
    pub fn alignment(&self) -> u32 {
        self.alignment
    }

    /// The element index, counted from the tensor's first address, of every element in row-major
    /// logical order.
    pub fn element_offsets(&self) -> impl Iterator<Item = u64> + '_ {
        let mut coordinate = vec![0u32; self.sizes.len()];
        let mut next = Some(0u64);
        std::iter::from_fn(move || {
            let current = next?;
            next = self.advance(&mut coordinate).then(|| self.offset_of(&coordinate));
            Some(current)
        })
    }

    fn offset_of(&self, coordinate: &[u32]) -> u64 {
        let pairs = coordinate.iter().zip(&self.strides);
        pairs.map(|(at, stride)| u64::from(*at) * u64::from(*stride)).sum()
    }

    fn advance(&self, coordinate: &mut [u32]) -> bool {
        for (at, size) in coordinate.iter_mut().zip(&self.sizes).rev() {
            *at += 1;
            if *at < *size {
                return true;
            }
            *at = 0;
        }
        false
    }

    fn check_total_size(&self, stated: Option<u64>) -> Result<u64, InvalidField> {
        let least = self.minimum_size();
        let total = stated.unwrap_or(least);
        // Bindings are rounded up to a multiple of 4, which must not wrap.
        if total < least || total > u64::MAX - 3 {
            return Err(InvalidField::new(
                "TotalTensorSizeInBytes",
                total,
                if total < least { "is too small for the tensor" } else { "is too large" },
                format!("at least {least}"),
            ));
        }
        Ok(total)
    }
}

fn check_flags(flags: TensorFlags) -> Result<(), InvalidField> {
    if TensorFlags::OWNED_BY_DML.contains(flags) {
        return Ok(());
    }
    let value = format!("{:#x}", flags.bits());
    Err(InvalidField::new("Flags", value, "has unknown bits", "0 (NONE) or 1 (OWNED_BY_DML)"))
}

fn check_sizes(sizes: &[u32]) -> Result<(), InvalidField> {
    let count = sizes.len();
    if count == 0 || count > MAX_DIMENSION_COUNT {
        let accepted = format!("1 to {MAX_DIMENSION_COUNT}");
        return Err(InvalidField::new("DimensionCount", count, "is out of range", accepted));
    }
    match sizes.iter().position(|size| *size == 0) {
        Some(index) => Err(InvalidField::new(
            format!("Sizes[{index}]"),
            0,
            "is not a size (tensors cannot be empty)",
            format!("1 to {}", u32::MAX),
        )),
        None => Ok(()),
    }
}

fn element_count(sizes: &[u32]) -> Result<u64, InvalidField> {
    let product = sizes.iter().try_fold(1u64, |product, size| product.checked_mul((*size).into()));
    product.filter(|count| *count <= MAX_ELEMENT_COUNT).ok_or_else(|| {
        InvalidField::new(
            "Sizes",
            format_args!("{sizes:?}"),
            "has too many elements",
            format!("at most {MAX_ELEMENT_COUNT} elements"),
        )
    })
}

fn check_stride_count(strides: &[u32], count: usize) -> Result<Vec<u32>, InvalidField> {
    if strides.len() == count {
        return Ok(strides.to_vec());
    }
    Err(InvalidField::new(
        "Strides",
        format_args!("{strides:?}"),
        format!("has {} entries", strides.len()),
        format!("{count} entries, as many as Sizes has"),
    ))
}

/// The strides of a packed tensor. The product of `sizes` is at most [`MAX_ELEMENT_COUNT`].
fn packed_strides(sizes: &[u32]) -> Vec<u32> {
    let mut strides = vec![1; sizes.len()];
    for index in (1..sizes.len()).rev() {
        strides[index - 1] = strides[index] * sizes[index];
    }
    strides
}

/// The span in elements. Eight terms below 2^64 each can pass 2^64 together, so the sum is checked as well.
fn span(sizes: &[u32], strides: &[u32]) -> Result<u64, InvalidField> {
    let last = sizes.iter().zip(strides).try_fold(0u64, |sum, (size, stride)| {
        sum.checked_add(u64::from(size - 1) * u64::from(*stride))
    });
    match last {
        Some(last) if last < MAX_ELEMENT_COUNT => Ok(last + 1),
        _ => Err(InvalidField::new(
            "Strides",
            format_args!("{strides:?} with Sizes {sizes:?}"),
            "spread the tensor too far",
            format!("at most {MAX_ELEMENT_COUNT} elements from the first to the last"),
        )),
    }
}

fn check_alignment(desc: &TensorDesc) -> Result<u32, InvalidField> {
    let alignment = desc.guaranteed_base_offset_alignment;
    let element_bytes = desc.data_type.bits().div_ceil(8);
    if alignment != 0 && (!alignment.is_power_of_two() || alignment < element_bytes) {
        return Err(InvalidField::new(
            "GuaranteedBaseOffsetAlignment",
            alignment,
            "is not a usable alignment",
            format!("0, or a power of two of at least {element_bytes}, the size of an element"),
        ));
    }
    Ok(alignment.max(MINIMUM_TENSOR_ALIGNMENT))
}

#[cfg(test)]
mod tests;
