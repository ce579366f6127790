//! Random indices for cases: also negative and out of range, and without duplicates where elements are written.

use dml_core::{DataType, TensorLayout, Validated};

use crate::Random;
use crate::families::gather_scatter::meaning::{Meaning, coordinates};

/// Indices at the ends of a dimension's range and of their type's.
pub(super) fn edges(size: i128, data_type: DataType) -> Vec<u64> {
    let near = [0, 1, size - 1, size, size + 1];
    let below = [-1, -size + 1, -size, -size - 1];
    let far = [
        i32::MAX.into(),
        u32::MAX.into(),
        1 << 32,
        (1 << 32) + 1,
        i64::MAX.into(),
        u64::MAX.into(),
    ];
    let far_below = [i32::MIN.into(), -(1 << 32), -(1 << 32) - 1, i64::MIN.into()];
    let all = near.into_iter().chain(below).chain(far).chain(far_below);
    all.map(|it| encoded(it, data_type)).collect()
}

/// The lower bits of an index.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "modulo 2^bits")]
fn encoded(index: i128, data_type: DataType) -> u64 {
    index as u64 & (u64::MAX >> (64 - data_type.bits()))
}

/// The elements of the `index`-th input, if it has indices or lengths.
pub(in crate::families::gather_scatter) fn indices(
    random: &mut Random,
    meaning: Meaning,
    operator: &Validated,
    index: usize,
    layout: &TensorLayout,
) -> Option<Vec<u64>> {
    let is_first = meaning == Meaning::OneHot;
    if index != usize::from(!is_first) {
        return None;
    }
    let scatters = operator.tensor("UpdatesTensor").is_ok();
    let data = if scatters || matches!(meaning, Meaning::OneHot | Meaning::Unpool) {
        operator.required_tensor("OutputTensor")
    } else {
        operator.required_tensor("InputTensor")
    };
    let count = |name| operator.uint(name).map(|it| it as usize);
    let (sizes, rank) = (data.ok()?.sizes(), layout.sizes().len());
    let axis = count("Axis").unwrap_or(0);
    let of = Drawn { random, data_type: layout.data_type() };
    Some(match meaning {
        Meaning::Unpool => of.apart(&[sizes.iter().product()], layout, None),
        Meaning::Parts => {
            let first = rank - count("InputDimensionCount").ok()?
                + count("BatchDimensionCount").unwrap_or(0);
            let chosen = &sizes[first..][..layout.sizes()[rank - 1] as usize];
            match scatters {
                true => of.apart(chosen, layout, None),
                false => of.any(chosen, layout),
            }
        }
        Meaning::Elements if scatters => of.apart(&[sizes[axis]], layout, Some(axis)),
        _ => of.any(&[sizes[axis]], layout),
    })
}

/// Draws indices of one type.
struct Drawn<'a> {
    random: &'a mut Random,
    data_type: DataType,
}

impl Drawn<'_> {
    /// Random index tuples, some of them out of range.
    fn any(mut self, sizes: &[u32], layout: &TensorLayout) -> Vec<u64> {
        let sizes = sizes.iter().cycle().zip(0..layout.element_count());
        let sizes: Vec<u32> = sizes.map(|(size, _)| *size).collect();
        sizes.into_iter().map(|size| self.index(size)).collect()
    }

    fn index(&mut self, size: u32) -> u64 {
        match self.random.one_in(8) {
            true => self.random.pick(&edges(size.into(), self.data_type)),
            false => {
                let index = self.random.below(size);
                self.written(index, size)
            }
        }
    }

    /// An index, counted from either end.
    fn written(&mut self, index: u32, size: u32) -> u64 {
        let is_signed = matches!(self.data_type, DataType::Int32 | DataType::Int64);
        let from_end = is_signed && self.random.one_in(3);
        encoded(i128::from(index) - if from_end { i128::from(size) } else { 0 }, self.data_type)
    }

    /// Index tuples that all differ, along `axis` or everywhere; some are out of range, at least as many as
    /// exceed the number of positions.
    fn apart(mut self, sizes: &[u32], layout: &TensorLayout, axis: Option<usize>) -> Vec<u64> {
        let count: u32 = sizes.iter().product();
        let all = coordinates(layout.sizes());
        let length = sizes.len();
        let mut elements = Vec::new();
        match axis {
            None => {
                let mut places = self.shuffled(count).into_iter();
                let tuples = all.count() / length;
                for _ in 0..tuples {
                    let place = places.next().filter(|_| !self.random.one_in(16));
                    elements.extend(self.tuple(place, sizes));
                }
            }
            Some(axis) => {
                let mut sequences = std::collections::HashMap::new();
                for mut coordinate in all {
                    coordinate[axis] = 0;
                    let places =
                        sequences.entry(coordinate).or_insert_with(|| self.shuffled(count));
                    let place = places.pop().filter(|_| !self.random.one_in(16));
                    elements.extend(self.tuple(place, sizes));
                }
            }
        }
        elements
    }

    fn shuffled(&mut self, count: u32) -> Vec<u32> {
        let mut places: Vec<u32> = (0..count).collect();
        for last in (1..count).rev() {
            places.swap(last as usize, self.random.below(last + 1) as usize);
        }
        places
    }

    /// The coordinates of a position, given by its index; out of range for `None`.
    fn tuple(&mut self, place: Option<u32>, sizes: &[u32]) -> Vec<u64> {
        let Some(mut place) = place else {
            let outside: Vec<u64> =
                sizes.iter().map(|size| encoded((*size).into(), self.data_type)).collect();
            return outside;
        };
        let mut tuple = Vec::new();
        for size in sizes.iter().rev() {
            tuple.push(self.written(place % size, *size));
            place /= size;
        }
        tuple.reverse();
        tuple
    }
}
