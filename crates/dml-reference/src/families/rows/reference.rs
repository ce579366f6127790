//! References of functions of rows by the documentation.

use std::collections::BTreeMap;

use dml_core::schema::{Comparison, FieldKind, OperatorSchema};
use dml_core::{DataType, Error, TensorLayout, Validated};

use super::cases::CaseGenerator;
use super::elements::Elements;
use crate::number::{Number, double, encoded, flush, single};
use crate::{Random, Reference};

/// Applied to each intermediate number that a device may flush to zero.
pub(crate) type FlushToZero = fn(f64) -> f64;

/// A row of floats.
pub(crate) struct Row<'a> {
    pub(crate) operator: &'a Validated,
    /// The elements of the first input.
    pub(crate) elements: &'a [f64],
    /// The elements of the other inputs at the same positions; `None` for inputs that are left out.
    pub(crate) others: &'a [Option<Vec<f64>>],
    pub(crate) step: FlushToZero,
}

/// A function of a row of floats, with the row's elements of each output as its result.
type Floats = fn(&Row<'_>) -> Vec<Vec<f64>>;
type Integers = fn(&Validated, &[i128]) -> Vec<i128>;

/// A function of a row.
pub(crate) enum OfRow {
    /// A function of floats, with as many results.
    Floats(fn(&[f64]) -> Vec<f64>),
    /// A function of floats and the operator's attributes.
    Formula(Floats),
    /// Functions of floats and of integers.
    Numbers(Floats, Integers),
}

impl OfRow {
    fn floats(&self, row: &Row<'_>) -> Vec<Vec<f64>> {
        match self {
            Self::Floats(of) => vec![of(row.elements)],
            Self::Formula(of) | Self::Numbers(of, _) => of(row),
        }
    }
}

/// The reference of an operator on rows.
pub(crate) struct OverRows {
    pub(crate) schema: &'static OperatorSchema,
    pub(crate) of_row: OfRow,
    /// The elements to test it with.
    pub(crate) elements: fn(&Validated) -> Elements,
}

/// The axes of rows: those that the operator names, those of pictures, or the last one.
fn axes_of(operator: &Validated, rank: usize) -> Vec<bool> {
    let of_pictures = operator.bool("CrossChannel").map(|it| if it { 1..rank } else { 2..rank });
    let named =
        operator.uint_array("Axes").map(|axes| axes.iter().map(|axis| *axis as usize).collect());
    let one = || operator.uint("Axis").map(|axis| vec![axis as usize]);
    if operator.tensor("OutputScaleTensor").is_ok() {
        return vec![true; rank];
    }
    let axes: Vec<usize> = named
        .or_else(|_| one())
        .or_else(|_| of_pictures.map(Iterator::collect))
        .unwrap_or_else(|_| vec![rank - 1]);
    (0..rank).map(|at| axes.contains(&at)).collect()
}

/// The position in a broadcast tensor that corresponds to position `place` in the tensor `of`.
fn broadcast(tensor: &TensorLayout, of: &TensorLayout, mut place: usize) -> usize {
    let (mut found, mut next) = (0, 1);
    for (size, whole) in tensor.sizes().iter().zip(of.sizes()).rev() {
        let coordinate = place % *whole as usize;
        found += if *size > 1 { coordinate * next } else { 0 };
        next *= *size as usize;
        place /= *whole as usize;
    }
    found
}

/// For each row, the positions of its elements in row-major order.
pub(crate) fn rows(tensor: &TensorLayout, axes: &[bool]) -> Vec<Vec<usize>> {
    let sizes = tensor.sizes();
    let mut rows: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for place in 0..sizes.iter().map(|size| *size as usize).product() {
        let mut rest = place;
        let mut coordinate = vec![0; sizes.len()];
        for at in (0..sizes.len()).rev() {
            coordinate[at] = rest % sizes[at] as usize;
            rest /= sizes[at] as usize;
            if axes[at] {
                coordinate[at] = 0;
            }
        }
        rows.entry(coordinate).or_default().push(place);
    }
    rows.into_values().collect()
}

/// A number of double precision as an element of an output.
fn element(value: f64, data_type: DataType) -> u64 {
    let value = if data_type.integer_range().is_some() { value } else { single(value) };
    encoded(data_type, value)
}

impl OverRows {
    /// The elements of a row of each output.
    fn row(
        &self,
        operator: &Validated,
        (tensor, elements): (&TensorLayout, &[u64]),
        others: &[Option<Vec<f64>>],
        step: FlushToZero,
    ) -> Vec<Vec<u64>> {
        let data_type = tensor.data_type();
        let outputs: Vec<DataType> =
            operator.present_tensors(FieldKind::Output).map(|(_, it)| it.data_type()).collect();
        let integers: Option<Vec<i128>> =
            elements.iter().map(|bits| data_type.integer_value(*bits)).collect();
        if let (Some(integers), OfRow::Numbers(_, of)) = (integers, &self.of_row) {
            let bits = |value| match outputs[0].integer_range() {
                Some(_) => outputs[0].integer_bits(value),
                None => Number::decode(data_type, data_type.integer_bits(value)).encode(outputs[0]),
            };
            return vec![of(operator, &integers).into_iter().map(bits).collect()];
        }
        let floats: Vec<f64> = elements.iter().map(|bits| double(data_type, *bits)).collect();
        let row = Row { operator, elements: &floats, others, step };
        let results = self.of_row.floats(&row).into_iter().zip(outputs);
        let of = |(values, data_type): (Vec<f64>, DataType)| {
            values.into_iter().map(|value| element(value, data_type)).collect()
        };
        results.map(of).collect()
    }

    fn by_rows(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
        step: FlushToZero,
    ) -> Result<Vec<Vec<u64>>, Error> {
        let tensor = operator.required_tensor("InputTensor")?;
        let axes = axes_of(operator, tensor.sizes().len());
        let first = inputs.first().and_then(Option::as_deref).unwrap_or_default();
        let outputs: Vec<&TensorLayout> =
            operator.present_tensors(FieldKind::Output).map(|(_, tensor)| tensor).collect();
        let count = |it: &&TensorLayout| usize::try_from(it.element_count()).unwrap_or(usize::MAX);
        let mut results: Vec<Vec<u64>> =
            outputs.iter().map(|output| vec![0; count(output)]).collect();
        let of_outputs: Vec<_> = outputs.iter().map(|output| rows(output, &axes)).collect();
        for (number, places) in rows(tensor, &axes).into_iter().enumerate() {
            let mut others = vec![];
            for ((_, other), bits) in operator.tensors(FieldKind::Input).zip(inputs).skip(1) {
                let of = |(other, bits): (&TensorLayout, &Vec<u64>)| {
                    let places = places.iter().map(|at| broadcast(other, tensor, *at));
                    places.map(|at| double(other.data_type(), bits[at])).collect()
                };
                others.push(other.zip(bits.as_ref()).map(of));
            }
            let elements: Vec<u64> = places.iter().map(|at| first[*at]).collect();
            let values = self.row(operator, (tensor, &elements), &others, step);
            for ((result, places), values) in results.iter_mut().zip(&of_outputs).zip(values) {
                for (at, value) in places[number].iter().zip(values) {
                    result[*at] = value;
                }
            }
        }
        Ok(results)
    }
}

impl Reference for OverRows {
    fn schema(&self) -> &'static OperatorSchema {
        self.schema
    }

    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        self.by_rows(operator, inputs, |it| it)
    }

    fn flushed_outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        self.by_rows(operator, inputs, flush)
    }

    fn may_flush(&self, operator: &Validated, _index: usize) -> bool {
        (self.elements)(operator).are_computed_with()
    }

    fn may_be_subnormal_within(&self, operator: &Validated) -> bool {
        (self.elements)(operator).are_computed_with()
    }

    fn comparison(&self, operator: &Validated, data_type: DataType) -> Comparison {
        match (self.elements)(operator) {
            Elements::Moved => Comparison::Ulp(0),
            // The greatest element may cancel most of the logarithm, which is rounded first.
            Elements::Powers if data_type == DataType::Float32 => Comparison::Ulp(64),
            // Products are rounded for each part that fits a descriptor, and for each dimension.
            Elements::Factors if data_type == DataType::Float32 => Comparison::Ulp(8),
            _ => operator.schema().comparison(data_type),
        }
    }

    fn input_elements(
        &self,
        random: &mut Random,
        operator: &Validated,
        _index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        (self.elements)(operator).drawn(random, layout)
    }

    fn shares_cases(&self) -> bool {
        true
    }

    cases_by!(self, signature: CaseGenerator { schema: self.schema, signature });
}
