//! The order of the elements of a slice.

use dml_spirv::ElementWidth;
use dml_spirv::element_wise::QUAD;

use super::COLUMNS;
use crate::ir::space::SLACK;
use crate::ir::{Content, Stage, Sums};

/// The strides in a slice for those in the matrix that it is a slice of.
pub(super) struct SliceLayout {
    /// The dimensions of the matrix of more than one element.
    dimensions: Vec<Strides>,
    /// The number of elements in a slice.
    elements: u64,
}

/// The strides along a dimension of the matrix of `size` elements.
struct Strides {
    size: u32,
    in_matrix: i64,
    in_slice: i64,
}

impl Strides {
    /// Whether a stride in the matrix leads along this dimension.
    fn has(&self, stride: i64) -> bool {
        let all = self.in_matrix..self.in_matrix * i64::from(self.size);
        all.contains(&stride) && stride % self.in_matrix == 0
    }
}

impl SliceLayout {
    /// Slices of `count` columns that lie as the matrix does: elements that are farther apart than all columns are so in
    /// slices, too.
    pub(super) fn as_in_matrix(sums: &Sums, count: u32, of_a_column: u64) -> Self {
        let column = sums.columns[0].strides[COLUMNS];
        let across = column * i64::from(sums.columns[0].size);
        let in_slice = |stride: i64| match stride < across {
            true => Some(stride),
            false => (stride % across == 0).then(|| stride / across * column * i64::from(count)),
        };
        let strides =
            |(size, in_matrix)| Some(Strides { size, in_matrix, in_slice: in_slice(in_matrix)? });
        let dimensions = dimensions(sums).filter_map(strides).collect();
        Self { dimensions, elements: of_a_column * u64::from(count) }
    }

    /// Slices whose `count` columns follow one another, in whole quads for each depth.
    pub(super) fn of_quads(sums: &Sums, count: u32) -> Self {
        let mut next = i64::from(count.next_multiple_of(QUAD));
        let mut all: Vec<Strides> = vec![];
        let mut of_matrix = dimensions(sums);
        // Columns come first.
        let columns =
            of_matrix.next().map(|(size, in_matrix)| Strides { size, in_matrix, in_slice: 1 });
        for (size, in_matrix) in of_matrix.collect::<Vec<_>>().into_iter().rev() {
            all.push(Strides { size, in_matrix, in_slice: next });
            next *= i64::from(size);
        }
        all.extend(columns);
        Self { dimensions: all, elements: next.cast_unsigned() }
    }

    /// A slice as a buffer, in which quads may be read from any element on.
    pub(super) fn content(&self) -> Content {
        let count = self.elements + SLACK as u64;
        Content::Computed { width: ElementWidth::B32, count, stage: Stage::Execution }
    }

    /// The stride in a slice for one in the matrix; `None` where it leads along no dimension.
    pub(super) fn stride(&self, stride: i64) -> Option<i64> {
        let along = self.dimensions.iter().find(|dimension| dimension.has(stride));
        let stride_along = along.map(|it| stride / it.in_matrix * it.in_slice);
        stride_along.or((stride == 0).then_some(0))
    }
}

/// The size and the stride of each dimension of the matrix of a product that has more than one element: columns, batches
/// and depths.
pub(super) fn dimensions(sums: &Sums) -> impl Iterator<Item = (u32, i64)> + '_ {
    let all = sums.columns.iter().chain(&sums.batches).chain(&sums.depths);
    let all = all.map(|dimension| (dimension.size, dimension.strides[COLUMNS]));
    all.filter(|(size, stride)| *size > 1 && *stride != 0)
}
