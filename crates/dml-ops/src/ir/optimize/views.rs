//! Brings the spaces of two nodes to common dimensions if one reads what the other writes by another view:
//! transposed, broadcast, or with a dimension that is several of the other's.

use dml_spirv::element_wise::DIMENSIONS;

use crate::ir::space::{IterationSpace, Operand};

/// A common dimension: a part of a dimension in each space.
struct Common {
    size: u32,
    reader: SubDimension,
    written: SubDimension,
}

/// A part of a dimension.
#[derive(Clone, Copy)]
struct SubDimension {
    dimension: usize,
    /// Coordinates of the dimension from one of the part to the next; 0 if there is no such dimension.
    step: u32,
}

/// Whether the reader may read an element several times, along dimensions that the other space does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broadcast {
    Allowed,
    Refused,
}

/// The rest of a dimension, from the stride of its next part on.
struct Rest {
    size: u32,
    stride: i64,
    part: SubDimension,
}

impl Rest {
    fn take(&mut self, size: u32) {
        self.size /= size;
        self.stride *= i64::from(size);
        self.part.step *= size;
    }
}

/// Both spaces over the same dimensions, if `reader` reads each element that `written` writes, at one coordinate
/// unless broadcasts are allowed. The dimensions of `reader` keep their order.
pub(super) fn over_the_same(
    reader: &IterationSpace,
    written: &IterationSpace,
    broadcast: Broadcast,
) -> Option<(IterationSpace, IterationSpace)> {
    let output = &written.output;
    let mut views = reader.inputs.iter().filter(|input| input.buffer == output.buffer);
    let view = views.next()?;
    if view.base != output.base || view.width != output.width {
        return None;
    }
    if !views.all(|it| it.base == view.base && it.lies_as(view, &reader.sizes)) {
        return None;
    }
    let (repeated, read): (Vec<_>, Vec<_>) =
        rests(reader, view).into_iter().partition(|it| it.stride == 0);
    if broadcast == Broadcast::Refused && !repeated.is_empty() {
        return None;
    }
    let mut common = common(read, rests(written, output))?;
    let nowhere = SubDimension { dimension: 0, step: 0 };
    let repeated =
        repeated.into_iter().map(|it| Common { size: it.size, reader: it.part, written: nowhere });
    common.extend(repeated);
    common.sort_by_key(|it| (it.reader.dimension, std::cmp::Reverse(it.reader.step)));
    let of_reader: Vec<_> = common.iter().map(|it| (it.size, it.reader)).collect();
    let of_written: Vec<_> = common.iter().map(|it| (it.size, it.written)).collect();
    Some((in_parts(reader, &of_reader)?, in_parts(written, &of_written)?))
}

/// The dimensions of a space, by ascending stride of an operand.
fn rests(space: &IterationSpace, operand: &Operand) -> Vec<Rest> {
    let used = (0..DIMENSIONS).filter(|at| space.sizes[*at] > 1);
    let mut rests: Vec<Rest> = used
        .map(|dimension| Rest {
            size: space.sizes[dimension],
            stride: operand.strides[dimension],
            part: SubDimension { dimension, step: 1 },
        })
        .collect();
    rests.sort_by_key(|rest| rest.stride);
    rests
}

/// The common dimensions; `None` if an element is read several times, or never.
fn common(reader: Vec<Rest>, written: Vec<Rest>) -> Option<Vec<Common>> {
    let (mut reader, mut written) = (reader.into_iter().peekable(), written.into_iter().peekable());
    let mut all = vec![];
    while let (Some(one), Some(other)) = (reader.peek_mut(), written.peek_mut()) {
        let size = one.size.min(other.size);
        let is_part = one.size.is_multiple_of(size) && other.size.is_multiple_of(size);
        if one.stride != other.stride || one.stride <= 0 || !is_part {
            return None;
        }
        all.push(Common { size, reader: one.part, written: other.part });
        one.take(size);
        other.take(size);
        reader.next_if(|it| it.size == 1);
        written.next_if(|it| it.size == 1);
    }
    (reader.next().is_none() && written.next().is_none()).then_some(all)
}

/// A space with these parts of its dimensions, outermost first.
fn in_parts(space: &IterationSpace, parts: &[(u32, SubDimension)]) -> Option<IterationSpace> {
    let first = DIMENSIONS.checked_sub(parts.len())?;
    let mut sizes = [1; DIMENSIONS];
    for (place, (size, _)) in sizes[first..].iter_mut().zip(parts) {
        *place = *size;
    }
    let operand = |it: &Operand| {
        let mut strides = [0; DIMENSIONS];
        for (place, (_, part)) in strides[first..].iter_mut().zip(parts) {
            *place = it.strides[part.dimension] * i64::from(part.step);
        }
        Operand { strides, ..it.clone() }
    };
    let inputs = space.inputs.iter().map(operand).collect();
    Some(IterationSpace { sizes, inputs, output: operand(&space.output) })
}
