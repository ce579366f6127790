//! Compares a model's outputs with those that ONNX's test expects.

use std::fmt;
use std::path::Path;

use anyhow::Context as _;
use dml::DataType;
use dml_import::{ElementType, Tensor};
use half::{bf16, f16};
use serde::Deserialize;

/// The error that an output may have: `|found - expected| <= absolute + relative * |expected|`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tolerance {
    relative: f64,
    absolute: f64,
    /// One number of so many may differ more, but not more than the second value.
    #[serde(skip)]
    outliers: Option<(usize, f64)>,
}

/// The tolerance of ONNX's own tests.
const OF_NODES: Tolerance = Tolerance { relative: 1e-3, absolute: 1e-7, outliers: None };

/// Tests whose expected outputs ONNX has computed in 32 bits, so that some are 2e-7 instead of 0.
const ROUNDED: [&str; 2] = ["test_dft_inverse", "test_dft_inverse_opset19"];

/// The file in which a test states its own tolerance, if it has one: `{"relative": 1e-5, "absolute": 1e-5}`.
const STATED: &str = "tolerance.json";

/// The tolerance for the test of a node in `folder`.
///
/// # Errors
/// The test states a tolerance that cannot be read.
pub(super) fn of_node(folder: &Path) -> anyhow::Result<Tolerance> {
    let stated = folder.join(STATED);
    if stated.is_file() {
        let text = std::fs::read(&stated).with_context(|| stated.display().to_string())?;
        return serde_json::from_slice(&text).with_context(|| stated.display().to_string());
    }
    let is_rounded = ROUNDED.iter().any(|it| folder.ends_with(it));
    Ok(if is_rounded { Tolerance { absolute: 1e-6, ..OF_NODES } } else { OF_NODES })
}

/// The tolerance for whole models, whose correct implementations differ if a value is near a threshold.
pub(super) const OF_MODELS: Tolerance =
    Tolerance { relative: 1e-3, absolute: 1e-4, outliers: Some((1000, 0.02)) };

/// The largest difference of any floats.
pub(super) fn farthest(found: &Tensor, expected: &Tensor) -> f64 {
    let pairs = numbers(found).zip(numbers(expected));
    pairs.filter_map(|(found, expected)| found.difference(expected)).fold(0.0, f64::max)
}

/// A description of the first difference of `found`; `None` if it is as near to `expected` as `tolerance`
/// allows. Types and shapes must be equal, and integers and truth values too; a NaN equals any NaN.
pub(super) fn difference(
    found: &Tensor,
    expected: &Tensor,
    tolerance: Tolerance,
) -> Option<String> {
    let kind = |it: &Tensor| format!("{} {:?}", it.element_type(), it.shape());
    if kind(found) != kind(expected) {
        return Some(format!("is {}, must be {}", kind(found), kind(expected)));
    }
    let numbers = numbers(found).zip(numbers(expected)).enumerate();
    let wrong = numbers.filter(|(_, (found, expected))| !found.is_near(*expected, tolerance));
    let wrong: Vec<_> = wrong.collect();
    let (index, (is, must)) = *wrong.first()?;
    let (count, all) = (wrong.len(), expected.bytes().len() / width(expected));
    if let Some((of, most)) = tolerance.outliers {
        let is_close = |(_, (found, expected)): &(usize, (Number, Number))| {
            found.difference(*expected).is_some_and(|it| it <= most)
        };
        if count <= all / of && wrong.iter().all(is_close) {
            return None;
        }
    }
    let place = place(index, expected.shape());
    Some(format!("element {place} is {is}, must be {must}; {count} of {all} are wrong"))
}

/// The value of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Integer(i128),
    Float(f64),
}

impl Number {
    /// The difference of floats; `None` for other types.
    fn difference(self, expected: Self) -> Option<f64> {
        match (self, expected) {
            (Self::Float(found), Self::Float(expected)) => {
                Some((found - expected).abs()).filter(|it| !it.is_nan())
            }
            _ => None,
        }
    }

    fn is_near(self, expected: Self, tolerance: Tolerance) -> bool {
        let Tolerance { relative, absolute, .. } = tolerance;
        match (self, expected) {
            (Self::Float(found), Self::Float(expected)) => {
                let near = (found - expected).abs() <= absolute + relative * expected.abs();
                // The difference of two infinities is NaN, and no difference from infinity exceeds a relative
                // tolerance.
                if expected.is_finite() {
                    near
                } else {
                    found == expected || both_nan(found, expected)
                }
            }
            (found, expected) => found == expected,
        }
    }
}

fn both_nan(a: f64, b: f64) -> bool {
    a.is_nan() && b.is_nan()
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
        }
    }
}

fn numbers(tensor: &Tensor) -> impl Iterator<Item = Number> {
    let element = tensor.element_type();
    tensor.bytes().chunks_exact(width(tensor)).map(move |bytes| {
        let mut bits = [0; 8];
        bits[..bytes.len()].copy_from_slice(bytes);
        number(u64::from_le_bytes(bits), element)
    })
}

/// Bytes of an element; every type that a tensor can have has a size.
fn width(tensor: &Tensor) -> usize {
    tensor.element_type().size().and_then(|size| usize::try_from(size).ok()).unwrap_or(1).max(1)
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits are the element's")]
fn number(bits: u64, element: ElementType) -> Number {
    match element {
        ElementType::Bfloat16 => Number::Float(bf16::from_bits(bits as u16).into()),
        ElementType::Dml(DataType::Float16) => Number::Float(f16::from_bits(bits as u16).into()),
        ElementType::Dml(DataType::Float32) => Number::Float(f32::from_bits(bits as u32).into()),
        ElementType::Dml(DataType::Float64) => Number::Float(f64::from_bits(bits)),
        // Truth values and 4-bit integers are stored as integers of 8 bits.
        integer => match integer.storage() {
            Some(signed) if signed.integer_range().is_some_and(|(least, _)| least < 0) => {
                let unused = 64 - signed.bits();
                Number::Integer(((bits << unused).cast_signed() >> unused).into())
            }
            _ => Number::Integer(bits.into()),
        },
    }
}

/// The coordinates of an element, as text.
fn place(index: usize, shape: &[u64]) -> String {
    let mut rest = index as u64;
    let mut coordinates: Vec<u64> = Vec::with_capacity(shape.len());
    for size in shape.iter().rev() {
        coordinates.push(rest % size);
        rest /= size;
    }
    coordinates.reverse();
    format!("{coordinates:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(found: &Tensor, expected: &Tensor) -> Option<String> {
        super::difference(found, expected, OF_NODES)
    }

    fn floats(values: &[f32]) -> Tensor {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Tensor::new(ElementType::FLOAT32, [values.len() as u64], bytes).unwrap()
    }

    #[test]
    fn floats_are_near_as_onnx_has_it() {
        let is_near = |found: f32, expected: f32| {
            difference(&floats(&[found]), &floats(&[expected])).is_none()
        };
        assert!(is_near(1000.9, 1000.0) && !is_near(1001.1, 1000.0));
        // What is expected decides, not what was found.
        assert!(is_near(1.000_99, 1.0) && !is_near(1.001_01, 1.0));
        assert!(is_near(0.9e-7, 0.0) && !is_near(1.1e-7, 0.0));
        assert!(is_near(-0.0, 0.0) && is_near(f32::NAN, -f32::NAN));
        assert!(!is_near(f32::NAN, 1.0) && !is_near(1.0, f32::NAN));
        let infinite = f32::INFINITY;
        assert!(is_near(infinite, infinite) && !is_near(-infinite, infinite));
        assert!(!is_near(infinite, f32::MAX) && !is_near(1.0, infinite));
    }

    #[test]
    fn one_of_a_thousand_numbers_of_a_model_may_be_an_outlier() {
        let expected = floats(&[0.5; 1000]);
        let with = |outliers: &[f32]| {
            let mut values = [0.5; 1000];
            values[..outliers.len()].copy_from_slice(outliers);
            super::difference(&floats(&values), &expected, OF_MODELS)
        };
        assert_eq!((with(&[]), with(&[0.519])), (None, None));
        assert!(with(&[0.521]).unwrap().contains("1 of 1000 are wrong"));
        assert!(with(&[0.51, 0.51]).unwrap().contains("2 of 1000 are wrong"));
        assert!(with(&[f32::NAN]).is_some());
        assert!((farthest(&floats(&[0.5, 2.0]), &floats(&[0.5, 1.75])) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn a_test_may_state_its_tolerance() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(of_node(folder.path()).unwrap(), OF_NODES);
        let state = |text: &str| {
            std::fs::write(folder.path().join("tolerance.json"), text).unwrap();
            of_node(folder.path())
        };
        let exact = state(r#"{"relative": 0.0, "absolute": 0.0}"#).unwrap();
        let differs = |found: f32| {
            super::difference(&floats(&[found, f32::NAN]), &floats(&[1.0, f32::NAN]), exact)
        };
        assert!(differs(1.0).is_none() && differs(1.000_000_1).is_some());
        let error = format!("{:#}", state(r#"{"scale": 0.0}"#).unwrap_err());
        assert!(error.contains("tolerance.json: unknown field `scale`"), "{error}");
    }

    #[test]
    fn integers_are_equal() {
        let tensor = |element, bytes: &[u8]| {
            Tensor::new(ElementType::Dml(element), [1], bytes.to_vec()).unwrap()
        };
        let large = |value: i32| tensor(DataType::Int32, &value.to_le_bytes());
        assert_eq!(difference(&large(-100_001), &large(-100_001)), None);
        let text = "element [0] is -100001, must be -100000; 1 of 1 are wrong";
        assert_eq!(difference(&large(-100_001), &large(-100_000)).as_deref(), Some(text));
        let most = |low: u8| tensor(DataType::Uint64, &[low, 255, 255, 255, 255, 255, 255, 255]);
        assert!(difference(&most(255), &most(254)).unwrap().contains("is 18446744073709551615,"));
    }

    #[test]
    fn types_and_shapes_are_the_same() {
        let bytes = vec![0; 4];
        let tensor = |element, shape: &[u64]| Tensor::new(element, shape, bytes.clone()).unwrap();
        let int8 = ElementType::Dml(DataType::Int8);
        let bools = tensor(ElementType::Bool, &[2, 2]);
        let text = "is bool [2, 2], must be int8 [2, 2]";
        assert_eq!(difference(&bools, &tensor(int8, &[2, 2])).as_deref(), Some(text));
        let text = "is bool [2, 2], must be bool [4]";
        assert_eq!(difference(&bools, &tensor(ElementType::Bool, &[4])).as_deref(), Some(text));
        assert_eq!(difference(&bools, &bools), None);
    }

    #[test]
    fn the_first_wrong_element_is_named_and_all_are_counted() {
        let shaped =
            |it: Tensor| Tensor::new(it.element_type(), [2, 3], it.bytes().to_vec()).unwrap();
        let expected = shaped(floats(&[0.0; 6]));
        let found = shaped(floats(&[0.0, 0.0, 0.0, 0.0, 2.0, 3.0]));
        let text = "element [1, 1] is 2, must be 0; 2 of 6 are wrong";
        assert_eq!(difference(&found, &expected).as_deref(), Some(text));
        assert_eq!(difference(&floats(&[]), &floats(&[])), None);
    }

    #[test]
    fn narrow_floats_are_read_as_their_values() {
        let half =
            |element, bits: u16| Tensor::new(element, [1], bits.to_le_bytes().to_vec()).unwrap();
        let (f16, bf16) = (ElementType::Dml(DataType::Float16), ElementType::Bfloat16);
        assert_eq!(numbers(&half(f16, 0x3E00)).next(), Some(Number::Float(1.5)));
        assert_eq!(numbers(&half(bf16, 0x3FC0)).next(), Some(Number::Float(1.5)));
    }
}
