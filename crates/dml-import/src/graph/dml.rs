//! DirectML tensors, and operators for element-wise computations, fills and bands.
//!
//! A tensor has at least four dimensions: four are accepted at every feature level, and operators on tensors of
//! equal sizes can be fused.

use dml_core::operators::{
    DiagonalMatrix1Desc, DiagonalMatrixDesc, ElementWiseIdentityDesc, FillValueConstantDesc,
};
use dml_core::{AbstractOperator, DataType, FeatureLevel, MAX_ELEMENT_COUNT, TensorDesc, validate};

use crate::convert::as_float;
use crate::element::{ElementType, scalar};
use crate::error::{NodeName, Result};
use crate::graph::device::{Band, DeviceNodes, Owner, no_counterpart};
use crate::graph::strides::{Sizes, are_packed, broadcast_strides, coalesced, packed};
use crate::graph::value::{Content, Kind, Storage, Value};
use crate::tensor::{Tensor, element_count, text};

/// The largest rank of a tensor.
pub(crate) const MAX_RANK: usize = 8;
const LEAST_RANK: usize = 4;

/// The data type of the tensors that carry `element`.
pub(crate) fn storage_type(node: &NodeName, element: ElementType) -> Result<DataType> {
    element.storage().ok_or_else(|| no_counterpart(node, element))
}

/// The sizes of a DirectML tensor, with leading ones up to the least rank.
fn sizes(node: &NodeName, shape: &[u64]) -> Result<Vec<u32>> {
    let too_many = || {
        let accepted = format!("up to {MAX_ELEMENT_COUNT} of them");
        node.invalid("output", text(shape), "has too many elements", accepted)
    };
    if element_count(shape).is_none_or(|count| count > MAX_ELEMENT_COUNT) {
        return Err(too_many());
    }
    if shape.len() > MAX_RANK {
        let accepted = format!("up to {MAX_RANK}, where neighbouring ones can be taken as one");
        let problem = "dimensions are too many for DirectML";
        return Err(node.invalid("output", shape.len(), problem, accepted));
    }
    let mut sizes = Vec::with_capacity(LEAST_RANK.max(shape.len()));
    sizes.resize(LEAST_RANK.saturating_sub(shape.len()), 1u32);
    for size in shape {
        sizes.push(u32::try_from(*size).map_err(|_| too_many())?);
    }
    Ok(sizes)
}

/// A packed tensor.
pub(crate) fn packed_tensor(
    node: &NodeName,
    element: ElementType,
    shape: &[u64],
) -> Result<TensorDesc> {
    let data_type = storage_type(node, element)?;
    Ok(TensorDesc { sizes: sizes(node, shape)?, ..TensorDesc::packed(data_type, &[]) })
}

/// A tensor with strides.
pub(crate) fn strided_tensor(
    node: &NodeName,
    element: ElementType,
    shape: &[u64],
    strides: &[u64],
) -> Result<TensorDesc> {
    let tensor = packed_tensor(node, element, shape)?;
    if are_packed(shape, strides) {
        return Ok(tensor);
    }
    let mut all = Vec::with_capacity(LEAST_RANK.max(shape.len()));
    all.resize(LEAST_RANK.saturating_sub(shape.len()), 0u32);
    for (stride, size) in strides.iter().zip(shape) {
        // The stride of a dimension of size 1 is never used.
        let stride = if *size == 1 { 0 } else { *stride };
        all.push(u32::try_from(stride).map_err(|_| {
            let accepted = format!("up to {}", u32::MAX);
            node.invalid("input", stride, "is too large a stride", accepted)
        })?);
    }
    Ok(TensorDesc { strides: Some(all), ..tensor })
}

/// Adds an operator that computes each element of the output from one element of each operand, which are
/// broadcast to its shape. `build` gets the tensors of the operands and of the output.
pub(crate) fn element_wise(
    nodes: &DeviceNodes,
    owner: &Owner,
    operands: &[&Value],
    output: Kind,
    build: impl FnOnce(Vec<TensorDesc>, TensorDesc) -> Result<AbstractOperator>,
) -> Value {
    let kind = output.clone();
    let result = (|| {
        if output.is_empty() {
            return Value::empty(output.clone());
        }
        let mut storages = Vec::with_capacity(operands.len());
        for operand in operands {
            storages.push(Some(storage(operand)?));
        }
        let build = || {
            let name = &*owner.name;
            let own = |it: &Value| {
                let shape = it.shape.as_deref().unwrap_or_default();
                broadcast_strides(shape, &it.strides(), &output.shape)
            };
            if output.shape.len() <= MAX_RANK {
                let shape = &output.shape;
                let lies_as_output = |it: &Value| {
                    let view = it.view().filter(|view| view.strides.is_none());
                    view.is_some() && it.shape.as_ref() == Some(shape)
                };
                let tensor = |operand: &&Value| match lies_as_output(operand) {
                    true => packed_tensor(name, operand.element()?, shape),
                    false => strided_tensor(name, operand.element()?, shape, &own(operand)),
                };
                let tensors = operands.iter().map(tensor).collect::<Result<_>>()?;
                return build(tensors, packed_tensor(name, output.element, shape)?);
            }
            let mut strides: Vec<Sizes> = operands.iter().map(|it| own(it)).collect();
            strides.push(packed(&output.shape));
            let (shape, strides) = coalesced(&output.shape, &strides);
            let tensor = |(operand, strides): (&&Value, &Sizes)| {
                strided_tensor(name, operand.element()?, &shape, strides)
            };
            let tensors = operands.iter().zip(&strides).map(tensor).collect::<Result<_>>()?;
            build(tensors, packed_tensor(name, output.element, &shape)?)
        };
        let mut values = nodes.add(owner, storages, vec![kind.clone()], build);
        Ok(values.remove(0))
    })();
    result.unwrap_or_else(|error| Value::refused_as(kind, error))
}

/// The storage of an operand's elements; a value that is the same everywhere becomes one element.
pub(crate) fn storage(operand: &Value) -> Result<Storage> {
    operand.check()?;
    match &operand.content {
        Content::Stored(view) => Ok(view.storage.clone()),
        Content::Fill(bits) => {
            Ok(Storage::Tensor(Tensor::filled(operand.element()?, vec![], *bits)?))
        }
        Content::Refused(error) => Err(crate::Error::clone(error)),
        // They have no shape, which says what they are.
        Content::Sequence(_) | Content::Nothing => {
            operand.kind().and_then(|_| Err(crate::Error::malformed("a sequence has no elements")))
        }
    }
}

/// The value with packed elements in memory, copied if necessary.
pub(crate) fn materialized(nodes: &DeviceNodes, owner: &Owner, value: &Value) -> Result<Value> {
    value.check()?;
    let kind = value.kind()?;
    match &value.content {
        Content::Stored(view) if view.strides.is_none() => Ok(value.clone()),
        Content::Fill(_) if kind.is_empty() => Value::empty(kind),
        Content::Fill(bits) => {
            let build = || fill(&owner.name, &kind, *bits);
            Ok(nodes.add(owner, vec![], vec![kind.clone()], build).remove(0))
        }
        _ => Ok(element_wise(nodes, owner, &[value], kind, |mut inputs, output_tensor| {
            let input_tensor = inputs.remove(0);
            Ok(ElementWiseIdentityDesc { input_tensor, output_tensor, scale_bias: None }.into())
        })),
    }
}

/// The operator that fills the output with `bits`.
pub(crate) fn fill(node: &NodeName, kind: &Kind, bits: u64) -> Result<AbstractOperator> {
    let value_data_type = storage_type(node, kind.element)?;
    // Leading dimensions are folded: only the number of elements matters.
    let output_tensor = folded(node, kind.element, &kind.shape, [1, 1])?;
    Ok(FillValueConstantDesc { output_tensor, value_data_type, value: scalar(bits) }.into())
}

/// The operator that writes a band into zero matrices, or over the matrices that it reads.
pub(crate) fn band(
    node: &NodeName,
    kind: &Kind,
    band: &Band,
    has_input: bool,
) -> Result<AbstractOperator> {
    let (batches, matrix) = match kind.shape.split_last_chunk::<2>() {
        Some((batches, matrix)) => (batches, *matrix),
        None => (&[][..], [1, 1]),
    };
    let tensor = folded(node, kind.element, batches, matrix)?;
    // The range of diagonals that the matrix has: `first..last`.
    let (first, last) = (1 - i128::from(matrix[0]), i128::from(matrix[1]));
    let (begin, end) = (band.begin.clamp(first, last), band.end.clamp(first, last));
    let mut candidates = Vec::new();
    if !has_input {
        candidates.extend(diagonal_matrix(&tensor, band.bits, begin..end, last));
    }
    let input = has_input.then(|| tensor.clone());
    candidates.extend(diagonal_matrix1(tensor, input, band.bits, [begin, end], [first, last]));
    lowest(candidates).ok_or_else(|| {
        let reason = "the diagonal is in the matrix, but beyond the 32 bits of DirectML's offsets";
        node.not_supported(reason)
    })
}

/// A DIAGONAL_MATRIX that writes one diagonal, or zeros; `None` for wider bands.
fn diagonal_matrix(
    tensor: &TensorDesc,
    bits: u64,
    band: std::ops::Range<i128>,
    last: i128,
) -> Option<AbstractOperator> {
    let (offset, bits) = match band.end - band.start {
        // Zeros: an offset outside of the matrix.
        ..=0 => (i32::try_from(last).unwrap_or(0), 0),
        1 => (i32::try_from(band.start).ok()?, bits),
        _ => return None,
    };
    let value = as_float(bits, tensor.data_type)?;
    Some(DiagonalMatrixDesc { output_tensor: tensor.clone(), offset, value }.into())
}

/// A DIAGONAL_MATRIX1 that writes a band, or everything but a band: the latter expresses a band with an end
/// beyond 32 bits.
fn diagonal_matrix1(
    tensor: TensorDesc,
    input_tensor: Option<TensorDesc>,
    bits: u64,
    [begin, end]: [i128; 2],
    [first, last]: [i128; 2],
) -> Option<AbstractOperator> {
    let fits = |begin: i128, end: i128| Some((begin.try_into().ok()?, end.try_into().ok()?));
    let from_start = || fits(last.max(end + 1), end).filter(|_| begin == first);
    let to_end = || fits(begin, first.min(begin - 1)).filter(|_| end == last);
    let (diagonal_fill_begin, diagonal_fill_end) =
        fits(begin, end.max(begin)).or_else(from_start).or_else(to_end)?;
    let value_data_type = tensor.data_type;
    Some(
        DiagonalMatrix1Desc {
            input_tensor,
            output_tensor: tensor,
            value_data_type,
            value: scalar(bits),
            diagonal_fill_begin,
            diagonal_fill_end,
        }
        .into(),
    )
}

/// The candidate that the lowest feature level accepts.
fn lowest(candidates: Vec<AbstractOperator>) -> Option<AbstractOperator> {
    let at =
        |level| candidates.iter().find(|candidate| validate(candidate, level).is_ok()).cloned();
    FeatureLevel::ALL.into_iter().find_map(at)
}

/// A packed tensor of four dimensions, with size 1 first and the product of `batches` second, since no feature
/// level accepts more dimensions for a matrix.
fn folded(
    node: &NodeName,
    element: ElementType,
    batches: &[u64],
    matrix: [u64; 2],
) -> Result<TensorDesc> {
    let all = [batches, &matrix].concat();
    let many = || {
        let accepted = format!("up to {MAX_ELEMENT_COUNT} of them");
        node.invalid("output", text(&all), "has too many elements", accepted)
    };
    element_count(&all).filter(|it| *it <= MAX_ELEMENT_COUNT).ok_or_else(many)?;
    let [rows, columns] = matrix;
    packed_tensor(node, element, &[1, element_count(batches).ok_or_else(many)?, rows, columns])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::device::level;
    use dml_core::FieldValue;

    fn of(shape: &[u64], begin: i128, end: i128, element: ElementType) -> Result<AbstractOperator> {
        let node = NodeName::new("Eye", "n");
        let bits = element.one();
        let kind = Kind { element, shape: shape.into() };
        band(&node, &kind, &Band { begin, end, bits }, false)
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
            assert_eq!(level(&operator), Some(needs), "{element}");
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

    /// Whether, by DIAGONAL_MATRIX1's definition, the operator writes the diagonal `t`.
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
