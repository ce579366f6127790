//! References of gather and scatter operators by the documentation, by coordinates.

use dml_core::schema::{FieldKind, OperatorSchema};
use dml_core::{DataType, Error, TensorLayout, Validated};

use super::cases::{self, CaseGenerator};
use super::meaning::{Meaning, coordinates};
use crate::{Random, Reference};

/// The reference of a gather or scatter operator.
pub(super) struct Indexed {
    /// The operator's schema row.
    pub(super) schema: &'static OperatorSchema,
    pub(super) meaning: Meaning,
}

/// A tensor with its elements, in row-major order.
struct Elements<'a> {
    layout: &'a TensorLayout,
    elements: &'a [u64],
}

impl Elements<'_> {
    fn at(&self, coordinate: &[usize]) -> u64 {
        self.elements[number(self.layout.sizes(), coordinate)]
    }

    /// The index stored at a coordinate.
    fn index(&self, coordinate: &[usize]) -> i128 {
        index(self.at(coordinate), self.layout.data_type())
    }
}

/// The value of an index; only signed types have negative ones.
pub(super) fn index(bits: u64, data_type: DataType) -> i128 {
    match data_type {
        DataType::Int32 => i128::from(bits.cast_signed() << 32 >> 32),
        DataType::Int64 => bits.cast_signed().into(),
        _ => bits.into(),
    }
}

/// The position of an element in row-major order.
fn number(sizes: &[u32], coordinate: &[usize]) -> usize {
    sizes.iter().zip(coordinate).fold(0, |number, (size, at)| number * *size as usize + at)
}

/// A coordinate with `wanted` dimensions: leading zeros are added or removed.
fn with_dimensions(coordinate: &[usize], wanted: usize) -> Vec<usize> {
    let missing = vec![0; wanted.saturating_sub(coordinate.len())];
    [missing.as_slice(), &coordinate[coordinate.len().saturating_sub(wanted)..]].concat()
}

/// The coordinate that an index selects in a dimension of `size` elements; `None` if it is out of range.
fn inside(index: i128, size: u32) -> Option<usize> {
    let index = if index < 0 { index + i128::from(size) } else { index };
    usize::try_from(index).ok().filter(|it| *it < size as usize)
}

/// The coordinate that an index selects, clamped to the valid range.
fn nearest(index: i128, size: u32) -> usize {
    inside(index, size).unwrap_or(if index < 0 { 0 } else { size as usize - 1 })
}

impl Indexed {
    fn input<'a>(
        &self,
        operator: &'a Validated,
        inputs: &'a [Option<Vec<u64>>],
        name: &str,
    ) -> Result<Elements<'a>, Error> {
        let mut fields = self.schema.fields.iter().filter(|field| field.kind == FieldKind::Input);
        let at = fields.position(|field| field.name == name);
        let elements = at.and_then(|at| inputs[at].as_deref()).unwrap_or_default();
        Ok(Elements { layout: operator.required_tensor(name)?, elements })
    }

    /// The coordinates in the data that belong to the element at `coordinate` of the other tensor, where
    /// selected coordinates are indices.
    fn chosen(
        &self,
        operator: &Validated,
        indices: &Elements<'_>,
        coordinate: &[usize],
    ) -> Result<Vec<i128>, Error> {
        let rank = coordinate.len();
        let walked = |it: &[usize]| it.iter().map(|at| *at as i128).collect::<Vec<_>>();
        let count = |name| operator.uint(name).map(|it| it as usize);
        Ok(match self.meaning {
            Meaning::Gather => {
                let (axis, count) = (count("Axis")?, count("IndexDimensions")?);
                let all = with_dimensions(coordinate, rank - 1 + count);
                let of_indices = with_dimensions(&all[axis..axis + count], rank);
                let index = indices.index(&of_indices);
                [walked(&all[..axis]), vec![index], walked(&all[axis + count..])].concat()
            }
            Meaning::Parts => {
                let (of_input, of_indices) =
                    (count("InputDimensionCount")?, count("IndicesDimensionCount")?);
                let batches = count("BatchDimensionCount").unwrap_or(0);
                let tuple = indices.layout.sizes()[rank - 1] as usize;
                let rest = of_input - batches - tuple;
                let all = with_dimensions(coordinate, of_indices - 1 + rest);
                let (tuples, part) = all.split_at(of_indices - 1);
                let index = |at| indices.index(&with_dimensions(&[tuples, &[at]].concat(), rank));
                let before = vec![0; rank - of_input];
                let tuple = (0..tuple).map(index).collect();
                [before, walked(&tuples[..batches]), tuple, walked(part)].concat()
            }
            _ => {
                let mut chosen = walked(coordinate);
                chosen[count("Axis")?] = indices.index(coordinate);
                chosen
            }
        })
    }

    fn gathered(
        &self,
        operator: &Validated,
        data: &Elements<'_>,
        indices: &Elements<'_>,
    ) -> Result<Vec<u64>, Error> {
        let sizes = operator.required_tensor("OutputTensor")?.sizes();
        let element = |coordinate: Vec<usize>| {
            let chosen = self.chosen(operator, indices, &coordinate)?;
            let chosen = chosen.into_iter().zip(data.layout.sizes());
            Ok(data.at(&chosen.map(|(at, size)| nearest(at, *size)).collect::<Vec<_>>()))
        };
        coordinates(sizes).map(element).collect()
    }

    fn scattered(
        &self,
        operator: &Validated,
        data: &Elements<'_>,
        indices: &Elements<'_>,
        updates: &Elements<'_>,
    ) -> Result<Vec<u64>, Error> {
        let mut output = data.elements.to_vec();
        let sizes = data.layout.sizes();
        for coordinate in coordinates(updates.layout.sizes()) {
            let chosen = self.chosen(operator, indices, &coordinate)?;
            let chosen = chosen.into_iter().zip(sizes);
            let inside: Option<Vec<_>> = chosen.map(|(at, size)| inside(at, *size)).collect();
            if let Some(inside) = inside {
                output[number(sizes, &inside)] = updates.at(&coordinate);
            }
        }
        Ok(output)
    }
}

/// The first element along the innermost dimension of size above 1, and the second one.
fn off_and_on(values: &Elements<'_>) -> [u64; 2] {
    let sizes = values.layout.sizes();
    let mut second = vec![0; sizes.len()];
    if let Some(at) = sizes.iter().rposition(|size| *size > 1) {
        second[at] = 1;
    }
    [values.at(&vec![0; sizes.len()]), values.at(&second)]
}

/// The coordinate in a tensor that has one element per sequence along `axis`.
fn sequence(coordinate: &[usize], axis: usize) -> Vec<usize> {
    let mut sequence = coordinate.to_vec();
    sequence[axis] = 0;
    sequence
}

impl Reference for Indexed {
    fn schema(&self) -> &'static OperatorSchema {
        self.schema
    }

    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let input = |name| self.input(operator, inputs, name);
        let sizes = operator.required_tensor("OutputTensor")?.sizes();
        let output = match self.meaning {
            Meaning::OneHot => {
                let (indices, axis) = (input("IndicesTensor")?, operator.uint("Axis")? as usize);
                let values = off_and_on(&input("ValuesTensor")?);
                let is_hot = |it: &Vec<usize>| {
                    inside(indices.index(&sequence(it, axis)), sizes[axis]) == Some(it[axis])
                };
                coordinates(sizes).map(|it| values[usize::from(is_hot(&it))]).collect()
            }
            Meaning::Unpool => {
                let indices = input("IndicesTensor")?;
                let count: usize = sizes.iter().map(|size| *size as usize).product();
                let mut output = vec![0; count];
                for (element, at) in input("InputTensor")?.elements.iter().zip(indices.elements) {
                    let place = usize::try_from(*at).ok().and_then(|at| output.get_mut(at));
                    place.into_iter().for_each(|place| *place = *element);
                }
                output
            }
            Meaning::Reverse => {
                let (data, lengths) = (input("InputTensor")?, input("SequenceLengthsTensor")?);
                let axis = operator.uint("Axis")? as usize;
                let element = |mut at: Vec<usize>| {
                    let length = lengths.at(&sequence(&at, axis)).min(sizes[axis].into());
                    let length = usize::try_from(length).unwrap_or(usize::MAX);
                    if at[axis] < length {
                        at[axis] = length - 1 - at[axis];
                    }
                    data.at(&at)
                };
                coordinates(sizes).map(element).collect()
            }
            _ => {
                let (data, indices) = (input("InputTensor")?, input("IndicesTensor")?);
                match cases::is_scatter(self.schema) {
                    true => self.scattered(operator, &data, &indices, &input("UpdatesTensor")?)?,
                    false => self.gathered(operator, &data, &indices)?,
                }
            }
        };
        Ok(vec![output])
    }

    fn input_elements(
        &self,
        random: &mut Random,
        operator: &Validated,
        index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        let drawn = cases::indices(random, self.meaning, operator, index, layout);
        drawn.unwrap_or_else(|| {
            (0..layout.element_count()).map(|_| random.input_element(layout.data_type())).collect()
        })
    }

    fn shares_cases(&self) -> bool {
        true
    }

    cases_by!(self, signature: CaseGenerator { schema: self.schema, meaning: self.meaning, signature });
}
