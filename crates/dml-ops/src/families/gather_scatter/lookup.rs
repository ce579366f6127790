//! The relation of the dimensions of data, indices and output of gather and scatter.

use dml_core::{Error, TensorLayout, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, QUAD};

use crate::ir::space::Operand;

/// The widest elements that kernels move.
const WIDEST: ElementWidth = ElementWidth::B64;

/// How indices choose elements of the data, for each element of a third tensor: the output that they are
/// gathered to, or the updates that are scattered.
pub(super) struct Lookup {
    /// For each dimension of the third tensor, innermost last, the dimensions of the data and of the indices
    /// that go with it. There may be more or fewer entries than its rank, for dimensions of size 1.
    dimensions: Vec<Walked>,
    /// The size and the stride of each dimension of the data that is indexed.
    pub(super) chosen: Vec<[u32; 2]>,
    /// Elements from an index to the next one of its tuple.
    pub(super) tuple_stride: u32,
}

/// The dimensions of data and indices that go along with a dimension of the third tensor.
#[derive(Clone, Copy, Default)]
struct Walked {
    data: Option<usize>,
    indices: Option<usize>,
}

impl Walked {
    fn data(dimension: usize) -> Self {
        Self { data: Some(dimension), indices: None }
    }

    fn indices(dimension: usize) -> Self {
        Self { data: None, indices: Some(dimension) }
    }
}

/// The field `chosen` for these dimensions.
fn chosen(data: &TensorLayout, dimensions: impl IntoIterator<Item = usize>) -> Vec<[u32; 2]> {
    dimensions.into_iter().map(|at| [data.sizes()[at], data.strides()[at]]).collect()
}

/// GATHER: the last dimensions of the indices take the place of the data's `Axis`.
pub(super) fn along_axis(operator: &Validated, data: &TensorLayout) -> Result<Lookup, Error> {
    let rank = data.sizes().len();
    let axis = operator.uint("Axis")? as usize;
    let first_index = rank - operator.uint("IndexDimensions")? as usize;
    let before = (0..axis).map(Walked::data);
    let after = (axis + 1..rank).map(Walked::data);
    let dimensions = before.chain((first_index..rank).map(Walked::indices)).chain(after).collect();
    Ok(Lookup { dimensions, chosen: chosen(data, [axis]), tuple_stride: 0 })
}

/// GATHER_ELEMENTS and SCATTER_ELEMENTS: all tensors have the same coordinates, except the data along `Axis`.
pub(super) fn of_elements(operator: &Validated, data: &TensorLayout) -> Result<Lookup, Error> {
    let axis = operator.uint("Axis")? as usize;
    let both = |at| Walked { data: Some(at).filter(|at| *at != axis), indices: Some(at) };
    let dimensions = (0..data.sizes().len()).map(both).collect();
    Ok(Lookup { dimensions, chosen: chosen(data, [axis]), tuple_stride: 0 })
}

/// GATHER_ND and SCATTER_ND.
pub(super) fn at_coordinates(operator: &Validated, data: &TensorLayout) -> Result<Lookup, Error> {
    tuples(operator, data, 0)
}

/// GATHER_ND1.
pub(super) fn within_batches(operator: &Validated, data: &TensorLayout) -> Result<Lookup, Error> {
    tuples(operator, data, operator.uint("BatchDimensionCount")? as usize)
}

/// The indices' dimensions except the last one, then the data's dimensions that tuples do not index; the
/// first `batches` belong to both.
fn tuples(operator: &Validated, data: &TensorLayout, batches: usize) -> Result<Lookup, Error> {
    let rank = data.sizes().len();
    let indices = operator.required_tensor("IndicesTensor")?;
    let first_data = rank - operator.uint("InputDimensionCount")? as usize;
    let first_index = rank - operator.uint("IndicesDimensionCount")? as usize;
    let coordinates = first_data + batches;
    let rest = coordinates + indices.sizes()[rank - 1] as usize;
    let both = |at| Walked { data: Some(first_data + at), indices: Some(first_index + at) };
    let of_indices = (first_index + batches..rank - 1).map(Walked::indices);
    let of_data = (rest..rank).map(Walked::data);
    Ok(Lookup {
        dimensions: (0..batches).map(both).chain(of_indices).chain(of_data).collect(),
        chosen: chosen(data, coordinates..rest),
        tuple_stride: indices.strides()[rank - 1],
    })
}

/// MAX_UNPOOLING: indices are positions in the packed data.
pub(super) fn of_all(data: &TensorLayout, rank: usize) -> Lookup {
    let count = u32::try_from(data.element_count()).expect("less than 2^32");
    let dimensions = (0..rank).map(Walked::indices).collect();
    Lookup { dimensions, chosen: vec![[count, 1]], tuple_stride: 0 }
}

impl Lookup {
    /// The data with the strides of the third tensor's coordinates, for tensors of `rank` dimensions: without
    /// the offsets that indices give.
    pub(super) fn data(&self, data: &Operand, rank: usize) -> Operand {
        self.walked(data, rank, |it| it.data)
    }

    /// The first index of each tuple.
    pub(super) fn indices(&self, indices: &Operand, rank: usize) -> Operand {
        self.walked(indices, rank, |it| it.indices)
    }

    fn walked(
        &self,
        operand: &Operand,
        rank: usize,
        of: impl Fn(&Walked) -> Option<usize>,
    ) -> Operand {
        let mut strides = [0; DIMENSIONS];
        for (place, walked) in strides.iter_mut().rev().zip(self.dimensions.iter().rev()) {
            *place = of(walked).map_or(0, |at| operand.strides[DIMENSIONS - rank + at]);
        }
        Operand { strides, ..operand.clone() }
    }

    /// The sizes of a space with the third tensor's sizes in dimensions that indices have, else 1.
    pub(super) fn tuples(&self, sizes: [u32; DIMENSIONS]) -> [u32; DIMENSIONS] {
        let mut tuples = [1; DIMENSIONS];
        let dimensions = self.dimensions.iter().rev();
        for ((place, size), walked) in tuples.iter_mut().zip(sizes).rev().zip(dimensions) {
            *place = if walked.indices.is_some() { size } else { 1 };
        }
        tuples
    }

    /// The number of neighbouring elements that can be moved as one element of 64 bits, so that fewer offsets
    /// are computed: as many as fit if rows are whole quads of such elements, else 1.
    pub(super) fn unit(
        &self,
        sizes: &[u32; DIMENSIONS],
        moved: &[Operand; 2],
        indices: &Operand,
        rank: usize,
    ) -> u32 {
        let unit = WIDEST.bits() / moved[0].width.bits();
        let (quad, last) = (QUAD * unit, DIMENSIONS - 1);
        let is_whole = |it: &Operand| {
            let mut all = it.strides[..last].iter().chain([&it.base]);
            it.strides[last] == 1 && all.all(|it| it % i64::from(quad) == 0)
        };
        let is_found_once = self.indices(indices, rank).strides[last] == 0;
        let are_rows = self.chosen.iter().all(|[_, stride]| stride.is_multiple_of(quad));
        let fits = sizes[last].is_multiple_of(quad) && is_found_once && are_rows;
        if fits && moved.iter().all(is_whole) { unit } else { 1 }
    }

    /// Regards the moved elements as elements of so many.
    pub(super) fn in_units(
        &mut self,
        unit: u32,
        sizes: &mut [u32; DIMENSIONS],
        moved: &mut [Operand; 2],
    ) {
        if unit == 1 {
            return;
        }
        let last = DIMENSIONS - 1;
        sizes[last] /= unit;
        self.chosen.iter_mut().for_each(|[_, stride]| *stride /= unit);
        for operand in moved {
            operand.width = WIDEST;
            operand.base /= i64::from(unit);
            operand.strides[..last].iter_mut().for_each(|it| *it /= i64::from(unit));
        }
    }

    /// The largest offset that indices give, in elements.
    pub(super) fn reach(&self) -> u64 {
        self.chosen.iter().map(|[size, stride]| u64::from(size - 1) * u64::from(*stride)).sum()
    }
}
