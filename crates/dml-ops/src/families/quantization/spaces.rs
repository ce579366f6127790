//! Iteration spaces of tensors with blocks, and of tensors with 4-bit elements.
//!
//! A dimension of blocks becomes two dimensions: one from block to block, and one within a block, along which
//! the blocks' elements repeat. Kernels read elements of 4 bits, but write bytes: a dimension along which the
//! output's elements alternate between the halves of bytes becomes two spaces, of its even and its odd
//! coordinates. If more dimensions are left than a space can have, there is a space for each coordinate of
//! the smallest ones.

use dml_core::{Error, TensorLayout};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::DIMENSIONS;

use crate::ir::Buffer;
use crate::ir::space::{IterationSpace, Operand, leading};
use crate::target::MAX_STEPS;

/// The layout of a tensor's elements; of a tensor of blocks, one element for each block.
pub(super) struct ElementLayout {
    buffer: Buffer,
    /// The width of an element in bits.
    width: u32,
    /// The index of the first element in the buffer.
    base: i64,
    sizes: Vec<u32>,
    strides: Vec<u32>,
}

impl ElementLayout {
    /// The layout of all of `tensor`, at the start of a buffer.
    pub(super) fn of(buffer: Buffer, tensor: &TensorLayout) -> Self {
        let (sizes, strides) = (tensor.sizes().to_vec(), tensor.strides().to_vec());
        Self { sizes, strides, ..Self::first(buffer, tensor.data_type().bits()) }
    }

    /// The layout of 32-bit words, one for each coordinate along `axis` of a tensor with `rank` dimensions.
    pub(super) fn along(buffer: Buffer, axis: usize, count: u32, rank: usize) -> Self {
        let along =
            |value, other| (0..rank).map(|it| if it == axis { value } else { other }).collect();
        Self { sizes: along(count, 1), strides: along(1, 0), ..Self::first(buffer, u32::BITS) }
    }

    fn first(buffer: Buffer, width: u32) -> Self {
        Self { buffer, width, base: 0, sizes: vec![], strides: vec![] }
    }

    /// Whether this is an output with two elements in each byte.
    pub(super) fn is_half(&self) -> bool {
        self.width == 4 && matches!(self.buffer, Buffer::Output(_))
    }
}

/// A dimension: its size, and its stride in each of the tensors.
#[derive(Clone)]
struct Dimension {
    size: u32,
    strides: Vec<i64>,
}

/// A part of the elements.
#[derive(Clone)]
struct ElementRange {
    dimensions: Vec<Dimension>,
    /// The first element in each of the tensors.
    bases: Vec<i64>,
}

/// A space, and whether its output's elements are the second halves of bytes.
pub(super) struct Halves {
    pub(super) space: IterationSpace,
    pub(super) are_second: bool,
}

/// The spaces that cover the elements of the last of `places`, the output. `None` if there are more than a
/// plan may have steps.
///
/// # Errors
/// [`Error::Internal`] if no kernel moves elements of such a width.
pub(super) fn spaces(
    operator: &'static str,
    places: &[ElementLayout],
) -> Result<Option<Vec<Halves>>, Error> {
    let Some(output) = places.last() else { return Ok(Some(vec![])) };
    let dimensions =
        (0..output.sizes.len()).flat_map(|at| dimensions(places, output.sizes[at], at));
    let whole = ElementRange {
        dimensions: dimensions.filter(|dimension| dimension.size > 1).collect(),
        bases: places.iter().map(|place| place.base).collect(),
    };
    let (mut parts, mut done) = (vec![whole], vec![]);
    while let Some(part) = parts.pop() {
        if done.len() + parts.len() >= MAX_STEPS as usize {
            return Ok(None);
        }
        match part.divided(places) {
            Some(divided) => parts.extend(divided),
            None => done.push(part.space(operator, places)?),
        }
    }
    Ok(Some(done))
}

/// A dimension of `size` as two: from block to block, and within a block.
fn dimensions(places: &[ElementLayout], size: u32, at: usize) -> [Dimension; 2] {
    let blocks = places.iter().map(|place| place.sizes[at]).min().unwrap_or(size);
    let length = size / blocks;
    let of = |size, stride: &dyn Fn(i64, bool) -> i64| {
        let stride_of = |it: &ElementLayout| stride(it.strides[at].into(), it.sizes[at] > blocks);
        Dimension { size, strides: places.iter().map(stride_of).collect() }
    };
    // A tensor with as many elements as there are blocks has one element for each block.
    [
        of(blocks, &|stride, is_whole| if is_whole { stride * i64::from(length) } else { stride }),
        of(length, &|stride, is_whole| if is_whole { stride } else { 0 }),
    ]
}

impl ElementRange {
    /// The parts that this part has to be divided into; `None` if it is a single space.
    fn divided(&self, places: &[ElementLayout]) -> Option<Vec<Self>> {
        let has_halves = places.last().is_some_and(ElementLayout::is_half);
        let alternates =
            |it: &Dimension| has_halves && it.strides.last().is_some_and(|it| it % 2 != 0);
        if let Some(at) = self.dimensions.iter().position(alternates) {
            return Some((0..2).map(|parity| self.every_second(at, parity)).collect());
        }
        if self.dimensions.len() <= DIMENSIONS {
            return None;
        }
        let all = self.dimensions.iter().enumerate();
        let (smallest, dimension) = all.min_by_key(|(_, it)| it.size)?;
        Some((0..dimension.size).map(|coordinate| self.at(smallest, coordinate)).collect())
    }

    /// The even or the odd coordinates of a dimension, by `parity`.
    fn every_second(&self, at: usize, parity: u32) -> Self {
        let mut part = self.at(at, parity);
        let Dimension { size, strides } = &self.dimensions[at];
        let size = (size + 1 - parity) / 2;
        if size > 1 {
            let strides = strides.iter().map(|stride| 2 * stride).collect();
            part.dimensions.insert(at, Dimension { size, strides });
        }
        part
    }

    /// The part at one coordinate of a dimension.
    fn at(&self, at: usize, coordinate: u32) -> Self {
        let mut part = self.clone();
        let dimension = part.dimensions.remove(at);
        for (base, stride) in part.bases.iter_mut().zip(dimension.strides) {
            *base += i64::from(coordinate) * stride;
        }
        part
    }

    fn space(&self, operator: &'static str, places: &[ElementLayout]) -> Result<Halves, Error> {
        let sizes: Vec<u32> = self.dimensions.iter().map(|dimension| dimension.size).collect();
        let operand = |(index, place): (usize, &ElementLayout)| {
            let width = match place.width {
                4 if place.is_half() => ElementWidth::B8,
                4 => ElementWidth::B4,
                bits => ElementWidth::from_element_bits(bits).ok_or_else(|| {
                    Error::internal(operator, format!("no kernel moves {bits} bits"))
                })?,
            };
            let unit = i64::from(width.bits() / place.width);
            let mut strides = [0; DIMENSIONS];
            let first = DIMENSIONS - self.dimensions.len();
            for (stride, dimension) in strides[first..].iter_mut().zip(&self.dimensions) {
                *stride = dimension.strides[index] / unit;
            }
            let base = self.bases[index] / unit;
            Ok(Operand { strides, ..Operand::at(place.buffer, width, base) })
        };
        let operands = places.iter().enumerate().map(operand).collect::<Result<Vec<_>, Error>>()?;
        let Some((output, inputs)) = operands.split_last() else {
            return Err(Error::internal(operator, "nothing is written"));
        };
        let mut inputs = inputs.to_vec();
        // A half byte is written together with the other half, which is read first.
        let has_halves = places.last().is_some_and(ElementLayout::is_half);
        if has_halves {
            inputs.push(output.clone());
        }
        let are_second = has_halves && self.bases.last().is_some_and(|it| it % 2 != 0);
        let space = IterationSpace { sizes: leading(&sizes, 1), inputs, output: output.clone() };
        Ok(Halves { space, are_second })
    }
}
