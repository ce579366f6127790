//! References of matrix products and convolutions by the documentation: in double precision, or exactly for
//! integers.

use dml_core::schema::{Comparison, OperatorSchema};
use dml_core::{DataType, Error, TensorLayout, Validated};

use super::cases::{CaseGenerator, Shapes, elements};
use super::fields::{
    ADDENDS, OUTPUT, OUTPUT_SCALE, OUTPUT_ZERO_POINT, SCALES, are_integers, is_of_rows, number,
};
use super::meaning::pairs;
use crate::families::element_wise::{activated, fused};
use crate::families::rows::softmax_of_rows;
use crate::number;
use crate::number::{encoded, single};
use crate::{Random, Reference, Signature, coordinate};

/// The reference of a matrix product or convolution.
pub(crate) struct OfProducts {
    pub(crate) schema: &'static OperatorSchema,
    pub(crate) shapes: Shapes,
}

/// The elements of the inputs of an execution, by field name.
struct Inputs<'a> {
    operator: &'a Validated,
    elements: &'a [Option<Vec<u64>>],
}

impl Inputs<'_> {
    /// The element of a tensor with this index; `None` if there is no such tensor.
    fn element(&self, name: &str, index: usize) -> Option<(DataType, u64)> {
        let tensors = self.operator.tensors(dml_core::schema::FieldKind::Input);
        let mut tensors = tensors.zip(self.elements);
        let ((_, tensor), elements) = tensors.find(|((path, _), _)| path.field.name == name)?;
        Some((tensor?.data_type(), elements.as_ref()?[index]))
    }

    /// The element of a tensor that is broadcast to the sizes of `at`, aligned at the innermost dimension.
    fn broadcast(&self, name: &str, at: &[usize]) -> Option<(DataType, u64)> {
        if !self.operator.schema().has_field(name) {
            return None;
        }
        let sizes = self.operator.tensor(name).ok()??.sizes();
        let places = sizes.iter().enumerate().map(|(dimension, size)| {
            let place = (at.len() + dimension).checked_sub(sizes.len());
            if *size == 1 { 0 } else { place.map_or(0, |place| at[place]) }
        });
        let places: Vec<usize> = places.collect();
        self.element(name, super::meaning::index(sizes, &places))
    }

    fn double(&self, name: &str, at: &[usize]) -> Option<f64> {
        self.broadcast(name, at).map(double)
    }
}

fn double((data_type, bits): (DataType, u64)) -> f64 {
    number::double(data_type, bits)
}

fn integer((data_type, bits): (DataType, u64)) -> Option<i128> {
    data_type.integer_value(bits)
}

/// The number of roundings other than those of products: both factors when zero points are subtracted, the sum,
/// the product of the scales, and the scaled sum before and after Alpha.
const OTHER_ROUNDINGS: u32 = 6;

/// A sum of products.
#[derive(Default)]
struct Sum {
    /// The exact sum, for integers.
    exact: Option<i128>,
    /// The sum as a float, rounded once.
    real: f64,
    /// The sum of the products' magnitudes.
    magnitude: f64,
    products: u32,
}

impl OfProducts {
    fn factors(&self) -> [&'static str; 2] {
        self.shapes.factors()
    }

    fn sum(&self, inputs: &Inputs<'_>, at: &[usize]) -> Result<Sum, Error> {
        let names = self.factors();
        let zeros = self.shapes.zero_points();
        let zero = |side: usize| inputs.broadcast(zeros[side], at);
        let mut sum = Sum { exact: Some(0), ..Sum::default() };
        for pair in pairs(inputs.operator, names, at)? {
            let mut terms = [0.0; 2];
            let mut integers = [None; 2];
            for side in 0..2 {
                let missing = || Error::internal(self.schema.name, "an element is missing");
                let element = inputs.element(names[side], pair[side]).ok_or_else(missing)?;
                terms[side] = double(element) - zero(side).map_or(0.0, double);
                integers[side] =
                    integer(element).map(|it| it - zero(side).and_then(integer).unwrap_or(0));
            }
            let factors = integers[0].zip(integers[1]);
            sum.exact = sum.exact.zip(factors).map(|(sum, (a, b))| sum + a * b);
            sum.real += terms[0] * terms[1];
            sum.magnitude += (terms[0] * terms[1]).abs();
            sum.products += 1;
        }
        Ok(sum)
    }

    /// An element before activations: a number of single precision, or an integer of the output's type.
    fn element(&self, inputs: &Inputs<'_>, at: &[usize]) -> Result<f64, Error> {
        let operator = inputs.operator;
        let Sum { exact, real, .. } = self.sum(inputs, at)?;
        let exact = exact.filter(|_| are_integers(operator, self.factors()).unwrap_or(false));
        let addend = ADDENDS.iter().find_map(|name| inputs.broadcast(name, at));
        let mut value = match exact {
            None => single(real),
            Some(sum) => {
                let bias = addend.and_then(integer).unwrap_or(0);
                let wrapped = DataType::Int32.integer_bits(sum + bias);
                let sum = double((DataType::Int32, wrapped));
                if operator.required_tensor(OUTPUT)?.data_type() == DataType::Int32 {
                    return Ok(sum);
                }
                single(sum)
            }
        };
        let scales = SCALES.iter().flatten().filter_map(|name| inputs.double(name, at));
        value = single(value * single(scales.product()));
        value = single(value * f64::from(number(operator, "Alpha")?));
        if let Some(addend) = addend.filter(|(data_type, _)| data_type.integer_range().is_none()) {
            let beta = f64::from(number(operator, "Beta")?);
            value = single(value + single(double(addend) * beta));
        }
        Ok(value)
    }

    /// The bound on the difference of an element before activations from [`Self::element`], if products are
    /// added in FLOAT32 in any order, each rounded before it is added or fused with the addition: n products
    /// differ from the exact sum by at most n u / (1 - n u) times the sum of their magnitudes, u = 2^-24
    /// (Higham, Accuracy and Stability of Numerical Algorithms, 3.1 and 4.2). [`OTHER_ROUNDINGS`] count like
    /// products.
    fn error_of_sum(&self, inputs: &Inputs<'_>, at: &[usize]) -> Result<f64, Error> {
        let Sum { magnitude, products, .. } = self.sum(inputs, at)?;
        let roundings = f64::from(products + OTHER_ROUNDINGS) / f64::from(1 << 24);
        let alpha = f64::from(number(inputs.operator, "Alpha")?);
        let scales = SCALES.iter().flatten().filter_map(|name| inputs.double(name, at));
        let scale = scales.product::<f64>() * alpha;
        Ok(roundings / (1.0 - roundings) * magnitude * scale.abs())
    }

    /// The value quantized, if the operator quantizes its output.
    fn quantized(inputs: &Inputs<'_>, value: f64, at: &[usize]) -> f64 {
        let Some(scale) = inputs.double(OUTPUT_SCALE, at) else { return value };
        let zero = inputs.double(OUTPUT_ZERO_POINT, at).unwrap_or(0.0);
        single(single(value / scale).round_ties_even() + zero)
    }

    /// The largest number of products in a sum.
    fn depth(&self, operator: &Validated) -> usize {
        let layout = |name| operator.required_tensor(name).map(TensorLayout::sizes);
        self.shapes.depth(operator, layout(self.factors()[1]).unwrap_or(&[]))
    }
}

impl Reference for OfProducts {
    fn schema(&self) -> &'static OperatorSchema {
        self.schema
    }

    fn outputs(
        &self,
        operator: &Validated,
        elements: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let inputs = Inputs { operator, elements };
        let output = operator.required_tensor(OUTPUT)?;
        let count = usize::try_from(output.element_count()).unwrap_or(usize::MAX);
        let places: Vec<Vec<usize>> = (0..count).map(|at| coordinate(output.sizes(), at)).collect();
        let values: Result<Vec<f64>, Error> =
            places.iter().map(|at| self.element(&inputs, at)).collect();
        let mut values = values?;
        let same = |it| it;
        let activated = |it: f64| activated(operator, it, [same; 2]);
        if let Some(activation) = fused(operator)? {
            match is_of_rows(activation.schema()) {
                true => softmax_of_rows(activation, output, &mut values)?,
                false => values.iter_mut().for_each(|value| *value = activated(*value)),
            }
        }
        let encoded = values.into_iter().zip(&places).map(|(value, at)| {
            let value = Self::quantized(&inputs, value, at);
            encoded(output.data_type(), value)
        });
        Ok(vec![encoded.collect()])
    }

    fn fast_errors(
        &self,
        operator: &Validated,
        elements: &[Option<Vec<u64>>],
    ) -> Result<Option<Vec<Vec<f64>>>, Error> {
        let has_rows = fused(operator)?.is_some_and(|it| is_of_rows(it.schema()));
        if has_rows || are_integers(operator, self.factors())? {
            return Ok(None);
        }
        let inputs = Inputs { operator, elements };
        let output = operator.required_tensor(OUTPUT)?;
        let count = usize::try_from(output.element_count()).unwrap_or(usize::MAX);
        let same = |it| it;
        let activated = |it: f64| activated(operator, it, [same; 2]);
        let error = |at: usize| {
            let at = coordinate(output.sizes(), at);
            let value = self.element(&inputs, &at)?;
            let error = self.error_of_sum(&inputs, &at)?;
            let off = |it: f64| (activated(it) - activated(value)).abs();
            Ok(off(value - error).max(off(value + error)))
        };
        (0..count).map(error).collect::<Result<_, Error>>().map(|errors| Some(vec![errors]))
    }

    fn input_elements(
        &self,
        random: &mut Random,
        operator: &Validated,
        index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        elements(random, operator, index, layout)
    }

    fn comparison(&self, operator: &Validated, data_type: DataType) -> Comparison {
        let own = operator.schema().comparison(data_type);
        let Comparison::Ulp(bound) = own else { return own };
        if are_integers(operator, self.factors()).unwrap_or(false) {
            return own;
        }
        let activation = fused(operator).ok().flatten();
        let of_activation =
            match activation.map(|activation| activation.schema().comparison(data_type)) {
                Some(Comparison::Ulp(bound)) => bound,
                _ => 0,
            };
        // WebNN allows two units per product; FLOAT16 results are rounded once.
        let products = u32::try_from(self.depth(operator)).unwrap_or(u32::MAX);
        let of_sum = if data_type == DataType::Float16 { 1 } else { products.saturating_mul(2) };
        Comparison::Ulp(of_sum.saturating_add(bound + of_activation))
    }

    cases_by!(self, signature: self.maker(signature));
}

impl OfProducts {
    fn maker<'a>(&self, signature: &'a Signature) -> CaseGenerator<'a> {
        CaseGenerator { schema: self.schema, shapes: self.shapes, signature }
    }
}
