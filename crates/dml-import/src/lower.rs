//! From a band or a fill to the operator with the lowest feature level that can express it.
//!
//! Every tensor has four dimensions, of which the first is 1 and the second the product of all
//! batches: four are accepted at every level at which the operators exist.

use dml_core::operators::{DiagonalMatrix1Desc, DiagonalMatrixDesc, FillValueConstantDesc};
use dml_core::{AbstractOperator, DataType, FeatureLevel, MAX_ELEMENT_COUNT, TensorDesc, validate};

use crate::convert::as_float;
use crate::element::{ElementType, scalar};
use crate::error::{NodeName, Result};
use crate::graph::value::Band;
use crate::tensor::{element_count, text};

/// The operator that writes `band`, whose shape has no 0.
pub(crate) fn band(band: &Band, element: ElementType) -> Result<AbstractOperator> {
    let node = &band.node;
    let data_type = storage(node, element)?;
    let (batches, [rows, columns]) = match band.shape.split_last_chunk::<2>() {
        Some((batches, matrix)) => (batches, *matrix),
        None => (&[][..], [1, 1]),
    };
    let tensor = tensor(node, data_type, &band.shape, batches, [rows, columns])?;
    // The diagonals that the matrix has: from `first` up to, not including, `last`.
    let (first, last) = (1 - i128::from(rows), i128::from(columns));
    let (begin, end) = (band.begin.clamp(first, last), band.end.clamp(first, last));
    let mut candidates = Vec::new();
    if band.source.is_none() {
        candidates.extend(diagonal_matrix(&tensor, band.bits, begin..end, last));
    }
    candidates.extend(diagonal_matrix1(&tensor, band, [begin, end], [first, last]));
    lowest(candidates).map(|(_, operator)| operator).ok_or_else(|| {
        let reason = "the diagonal is in the matrix, but beyond the 32 bits of DirectML's offsets";
        node.not_supported(reason)
    })
}

/// DIAGONAL_MATRIX writes one diagonal, or none.
fn diagonal_matrix(
    tensor: &TensorDesc,
    bits: u64,
    band: std::ops::Range<i128>,
    last: i128,
) -> Option<AbstractOperator> {
    let (offset, bits) = match band.end - band.start {
        // An offset outside of the matrix, or else zeros where they already are.
        ..=0 => (i32::try_from(last).unwrap_or(0), 0),
        1 => (i32::try_from(band.start).ok()?, bits),
        _ => return None,
    };
    let value = as_float(bits, tensor.data_type)?;
    Some(DiagonalMatrixDesc { output_tensor: tensor.clone(), offset, value }.into())
}

/// DIAGONAL_MATRIX1 writes a band, or everything but a band: the latter stands for a band with an end
/// beyond 32 bits.
fn diagonal_matrix1(
    tensor: &TensorDesc,
    band: &Band,
    [begin, end]: [i128; 2],
    [first, last]: [i128; 2],
) -> Option<AbstractOperator> {
    let fits = |begin: i128, end: i128| Some((begin.try_into().ok()?, end.try_into().ok()?));
    let from_start = || fits(last.max(end + 1), end).filter(|_| begin == first);
    let to_end = || fits(begin, first.min(begin - 1)).filter(|_| end == last);
    let (diagonal_fill_begin, diagonal_fill_end) =
        fits(begin, end.max(begin)).or_else(from_start).or_else(to_end)?;
    Some(
        DiagonalMatrix1Desc {
            input_tensor: band.source.is_some().then(|| tensor.clone()),
            output_tensor: tensor.clone(),
            value_data_type: tensor.data_type,
            value: scalar(band.bits),
            diagonal_fill_begin,
            diagonal_fill_end,
        }
        .into(),
    )
}

/// The operator that writes `bits` everywhere in `shape`, which has no 0.
pub(crate) fn fill(
    node: &NodeName,
    element: ElementType,
    shape: &[u64],
    bits: u64,
) -> Result<AbstractOperator> {
    let data_type = storage(node, element)?;
    let output_tensor = tensor(node, data_type, shape, shape, [1, 1])?;
    let value = scalar(bits);
    Ok(FillValueConstantDesc { output_tensor, value_data_type: data_type, value }.into())
}

/// The lowest level that accepts one of `candidates`, and that one.
pub(crate) fn lowest(
    candidates: Vec<AbstractOperator>,
) -> Option<(FeatureLevel, AbstractOperator)> {
    let accepted = |level, operator: &AbstractOperator| validate(operator, level).is_ok();
    let at = |level| Some((level, candidates.iter().find(|it| accepted(level, it))?.clone()));
    FeatureLevel::ALL.into_iter().find_map(at)
}

fn storage(node: &NodeName, element: ElementType) -> Result<DataType> {
    element.storage().ok_or_else(|| {
        node.not_supported(format!("{element} has no counterpart among DirectML's types"))
    })
}

fn tensor(
    node: &NodeName,
    data_type: DataType,
    shape: &[u64],
    batches: &[u64],
    matrix: [u64; 2],
) -> Result<TensorDesc> {
    let too_many = || {
        let accepted = format!("up to {MAX_ELEMENT_COUNT} of them");
        node.invalid("output", text(shape), "has too many elements", accepted)
    };
    if element_count(shape).is_none_or(|count| count > MAX_ELEMENT_COUNT) {
        return Err(too_many());
    }
    let [rows, columns] = matrix;
    let sizes = [Some(1), element_count(batches), Some(rows), Some(columns)];
    let size = |size: Option<u64>| u32::try_from(size?).ok();
    let sizes: Option<Vec<u32>> = sizes.into_iter().map(size).collect();
    Ok(TensorDesc::packed(data_type, &sizes.ok_or_else(too_many)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dml_core::FieldValue;

    fn of(shape: &[u64], begin: i128, end: i128, element: ElementType) -> Result<AbstractOperator> {
        let node = NodeName::new("Eye", "n");
        let bits = element.one();
        let shape = shape.to_vec();
        band(&Band { node, shape, begin, end, bits, source: None }, element)
    }

    fn level(operator: &AbstractOperator) -> FeatureLevel {
        lowest(vec![operator.clone()]).unwrap().0
    }

    #[test]
    fn one_diagonal_is_the_operator_of_the_lower_level() {
        for (element, needs) in [
            (ElementType::FLOAT32, FeatureLevel::V2_0),
            (ElementType::Bool, FeatureLevel::V2_1),
            (ElementType::Bfloat16, FeatureLevel::V2_1),
            (ElementType::INT64, FeatureLevel::V5_1),
        ] {
            let operator = of(&[4, 3, 2, 8, 2], 1, 2, element).unwrap();
            assert_eq!(operator.schema().name, "DIAGONAL_MATRIX");
            assert_eq!(level(&operator), needs, "{element}");
            let Some(FieldValue::Tensor(Some(tensor))) = operator.field("OutputTensor") else {
                panic!("no tensor")
            };
            assert_eq!(tensor.sizes, [1, 24, 8, 2]);
        }
    }

    #[test]
    fn a_diagonal_outside_of_the_matrix_is_none_at_all() {
        for k in [4, -3, i128::from(i64::MAX), i128::from(i64::MIN), 1 << 32, -(1 << 32) - 1] {
            let operator = of(&[3, 4], k, k + 1, ElementType::FLOAT32).unwrap();
            assert_eq!(operator.schema().name, "DIAGONAL_MATRIX", "{k}");
            let (offset, value) = (operator.field("Offset"), operator.field("Value"));
            assert_eq!(offset, Some(&FieldValue::Int(4)));
            assert_eq!(value, Some(&FieldValue::Float(0.0)));
        }
    }

    /// Whether DIAGONAL_MATRIX1's definition writes the diagonal `t`.
    fn writes(operator: &AbstractOperator, t: i128) -> bool {
        let int = |name| match operator.field(name) {
            Some(FieldValue::Int(value)) => i128::from(*value),
            other => panic!("{other:?}"),
        };
        let (begin, end) = (int("DiagonalFillBegin"), int("DiagonalFillEnd"));
        if begin <= end { begin <= t && t < end } else { t < end || t >= begin }
    }

    #[test]
    fn bands_beyond_32_bits_are_what_another_band_leaves() {
        let u8 = ElementType::Dml(DataType::Uint8);
        let (long, far) = (4_000_000_000u64, 4_000_000_000i128);
        for (shape, begin, end) in [
            ([long, 1], i128::MIN, -5),
            ([long, 1], i128::MIN, i128::MAX),
            ([1, long], 5, i128::MAX),
            ([1, long], i128::MIN, i128::MAX),
            ([1, long], 5, 7),
            ([3, 4], i128::MIN, 2),
        ] {
            let operator = of(&shape, begin, end, u8).unwrap();
            assert_eq!(operator.schema().name, "DIAGONAL_MATRIX1");
            let first = 1 - i128::from(shape[0]);
            let last = i128::from(shape[1]) - 1;
            for t in [first, -6, -5, -4, 0, 1, 2, 4, 5, 6, 7, last, -far / 2, far / 2] {
                if (first..=last).contains(&t) {
                    assert_eq!(writes(&operator, t), begin <= t && t < end, "{shape:?} {t}");
                }
            }
        }
    }

    #[test]
    fn what_32_bits_cannot_say_is_refused() {
        let u8 = ElementType::Dml(DataType::Uint8);
        let error = of(&[1, 4_000_000_000], 3_000_000_000, 3_000_000_001, u8).unwrap_err();
        assert!(error.to_string().starts_with("Eye 'n': not supported: the diagonal"), "{error}");
        let error = of(&[1 << 32, 1], 0, 1, u8).unwrap_err().to_string();
        assert!(error.contains("[4294967296, 1] has too many elements"), "{error}");
        assert!(of(&[u64::MAX, u64::MAX], 0, 1, u8).is_err());
    }
}
