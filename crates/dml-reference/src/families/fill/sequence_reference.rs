//! The reference of FILL_VALUE_SEQUENCE by the documentation, and its cases.

use dml_core::operators::{FILL_VALUE_SEQUENCE, FillValueSequenceDesc};
use dml_core::schema::OperatorSchema;
use dml_core::{AbstractOperator, DataType, Error, ScalarUnion, TensorDesc, Validated};

use super::cases::tensors;
use crate::number::{Number, encoded};
use crate::{Case, Random, Reference, Signature, TensorGenerator, edges, value};

pub(super) struct FillValueSequence;

impl Reference for FillValueSequence {
    fn schema(&self) -> &'static OperatorSchema {
        &FILL_VALUE_SEQUENCE
    }

    fn outputs(
        &self,
        operator: &Validated,
        _inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let output = operator.required_tensor("OutputTensor")?;
        let start = value::from_scalar(operator, "ValueStart")?;
        let delta = value::from_scalar(operator, "ValueDelta")?;
        let member = |index| member(output.data_type(), [start, delta], index);
        Ok(vec![(0..output.element_count()).map(member).collect()])
    }

    fn minimal(&self, signature: &Signature) -> AbstractOperator {
        desc(TensorDesc::packed(signature.data_type(), &vec![1; signature.rank]), [1, 2])
    }

    fn cases(&self, signature: &Signature) -> Vec<Case> {
        let (data_type, rank) = (signature.data_type(), signature.rank);
        let make = &TensorGenerator { data_type, rank };
        // Neither the attributes nor the elements are exact as floats.
        let usual = [0.3, 1.7].map(|it: f64| match data_type.integer_range() {
            None => encoded(data_type, it),
            Some(_) => data_type.integer_bits(if it < 1.0 { -77 } else { 13 }),
        });
        let of = |tensor| desc(tensor, usual);
        [tensors(make, of), values(make), documented(make)].concat()
    }

    fn random(&self, random: &mut Random, signature: &Signature) -> Case {
        let (data_type, sizes) = (signature.data_type(), random.sizes(signature.rank));
        let tensor = random.tensor(data_type, &sizes);
        let values = [(); 2].map(|()| random.element(data_type));
        Case::new("random", desc(tensor, values)).with_random_buffers(random)
    }
}

fn desc(output_tensor: TensorDesc, values: [u64; 2]) -> AbstractOperator {
    let [value_start, value_delta] = values.map(ScalarUnion::from_bits);
    let value_data_type = output_tensor.data_type;
    FillValueSequenceDesc { output_tensor, value_data_type, value_start, value_delta }.into()
}

/// The page's two examples, each for its type.
fn documented(make: &TensorGenerator) -> Vec<Case> {
    let float = |it: f32| u64::from(it.to_bits());
    let case = |name, sizes: [u32; 4], values, members: Vec<u64>| {
        vec![Case::new(name, desc(make.packed(sizes), values)).documented(vec![members])]
    };
    match (make.data_type, make.rank) {
        (DataType::Float32, 4) => {
            let members = [3.0, 5.0, 7.0].map(float).into();
            case("documented_ascending", [1, 1, 1, 3], [3.0, 2.0].map(float), members)
        }
        (DataType::Uint8, 4) => {
            case("documented_descending", [1, 1, 2, 2], [10, 0xfe], vec![10, 8, 6, 4])
        }
        _ => vec![],
    }
}

/// The number of pairs of start and delta that are tried.
const VALUE_CASES: usize = 40;

/// Random pairs of edge values as start and delta.
fn values(make: &TensorGenerator) -> Vec<Case> {
    let edges = edges(make.data_type);
    let mut random = Random::new("sequences");
    let sizes = [1, 1, 1, 1, 1, 1, 1, 67];
    let mut case = |at| {
        let values = [(); 2].map(|()| random.pick(&edges));
        Case::new(format!("values_{at}"), desc(make.packed(sizes), values))
    };
    (0..VALUE_CASES).map(&mut case).collect()
}

fn member(data_type: DataType, values: [u64; 2], index: u64) -> u64 {
    if data_type.integer_range().is_some() {
        let [start, delta] = values.map(i128::from);
        return data_type.integer_bits(start + delta * i128::from(index));
    }
    let [start, delta] = values.map(|bits| Number::decode(data_type, bits));
    sum(start, times(delta, index)).encode(data_type)
}

fn times(number: Number, index: u64) -> Number {
    match number {
        Number::Infinite { .. } if index == 0 => Number::Nan,
        Number::Finite { negative, significand, exponent } => {
            Number::Finite { negative, significand: significand * u128::from(index), exponent }
        }
        other => other,
    }
}

/// The sum, with more digits than any type has, and a sticky digit for the lost ones.
fn sum(a: Number, b: Number) -> Number {
    use Number::{Finite, Infinite, Nan};
    let (mut terms, both_negative) = match (a, b) {
        (Nan, _) | (_, Nan) => return Nan,
        (Infinite { negative }, Infinite { negative: other }) if negative != other => return Nan,
        (Infinite { .. }, _) => return a,
        (_, Infinite { .. }) => return b,
        (
            Finite { negative, significand, exponent },
            Finite { negative: other, significand: second, exponent: second_exponent },
        ) => {
            let terms = [(negative, significand, exponent), (other, second, second_exponent)];
            (terms.to_vec(), negative && other)
        }
    };
    terms.retain(|(_, significand, _)| *significand != 0);
    terms.sort_by_key(|(_, _, exponent)| *exponent);
    match terms[..] {
        [] => Finite { negative: both_negative, significand: 0, exponent: 0 },
        [(negative, significand, exponent)] => Finite { negative, significand, exponent },
        [low, high, ..] => {
            // A significand has at most 56 digits.
            let distance = (high.2 - low.2).min(64);
            let exponent = high.2 - distance;
            let lost = (exponent - low.2).min(127);
            let signed = |negative, magnitude: u128| {
                let magnitude = magnitude.cast_signed();
                if negative { -magnitude } else { magnitude }
            };
            let rest = low.1 & ((1 << lost) - 1) != 0;
            let low = signed(low.0, low.1 >> lost | u128::from(rest));
            let sum = signed(high.0, high.1 << distance) + low;
            Finite { negative: sum < 0, significand: sum.unsigned_abs(), exponent }
        }
    }
}
