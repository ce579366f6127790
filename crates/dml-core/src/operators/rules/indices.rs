//! Rules of gather, scatter and similar operators: the sizes of their tensors.
//!
//! Sizes are aligned at the innermost dimension; sizes before them are 1.

use super::invalid;
use crate::error::Error;
use crate::schema::validated::Validated;

/// The output has the sizes of `InputTensor`, with the indices' sizes in place of the axis.
pub(super) fn along_axis(operator: &Validated) -> Result<(), Error> {
    let [input, indices, output] = of_one_rank(operator, [INPUT, INDICES, OUTPUT])?;
    let axis = axis(operator, input)?;
    let indices = counted(operator, (INDICES, indices), "IndexDimensions", 0)?;
    let sizes = [&input[..axis], indices, &input[axis + 1..]].concat();
    sizes_are(operator, (OUTPUT, output), &sizes)
}

/// The indices have the sizes of `whole`, except along the axis, where their size is `along_axis` if given.
pub(super) fn but_along_axis(
    operator: &Validated,
    whole: &'static str,
    indices: &'static str,
    along_axis: Option<u32>,
) -> Result<(), Error> {
    let [whole, given] = of_one_rank(operator, [whole, indices])?;
    let axis = axis(operator, whole)?;
    let mut sizes = whole.to_vec();
    sizes[axis] = along_axis.unwrap_or(given[axis]);
    sizes_are(operator, (indices, given), &sizes)
}

/// The tensor `parts` has the sizes of the parts of `InputTensor` at the coordinates in the innermost dimension
/// of the indices. The first `batches` dimensions of input and indices are common batches.
pub(super) fn at_coordinates(
    operator: &Validated,
    parts: &'static str,
    batches: u32,
) -> Result<(), Error> {
    let [input, indices, parts_sizes] = of_one_rank(operator, [INPUT, INDICES, parts])?;
    let rank = input.len();
    let input = counted(operator, (INPUT, input), "InputDimensionCount", 1)?;
    let indices = counted(operator, (INDICES, indices), "IndicesDimensionCount", 1)?;
    let most = input.len().min(indices.len()) - 1;
    let batched = batches as usize;
    if batched > most {
        let problem = "leaves no dimension for coordinates";
        let accepted = format!("0 to {most}");
        return Err(invalid(operator, "BatchDimensionCount", batches, problem, accepted));
    }
    if indices[..batched] != input[..batched] {
        let path = format!("{INDICES}.Sizes");
        let (given, accepted) = (list(indices), format!("{} first", list(&input[..batched])));
        return Err(invalid(operator, path, given, "differ from InputTensor's batches", accepted));
    }
    let (coordinates, tuples) = indices.split_last().unwrap_or((&1, &[]));
    let after = (*coordinates as usize).checked_add(batched).and_then(|from| input.get(from..));
    let Some(after) = after else {
        let path = format!("{INDICES}.Sizes[{}]", rank - 1);
        let accepted = format!("1 to {}", input.len() - batched);
        let problem = "coordinates are more than InputTensor has dimensions";
        return Err(invalid(operator, path, coordinates, problem, accepted));
    };
    sizes_are(operator, (parts, parts_sizes), &[tuples, after].concat())
}

/// `OutputValueTensor` has `K` elements along the axis, at most as many as the input.
pub(super) fn wanted(operator: &Validated) -> Result<(), Error> {
    let (count, value) = (operator.uint("K")?, "OutputValueTensor");
    let [input, _] = of_one_rank(operator, [INPUT, value])?;
    let size = input[axis(operator, input)?];
    if !(1..=size).contains(&count) {
        let problem = "is not a number of elements along the axis";
        return Err(invalid(operator, "K", count, problem, format!("1 to {size}")));
    }
    but_along_axis(operator, INPUT, value, Some(count))
}

/// `OutputCoordinatesTensor` has a row for each element of `InputTensor`, with a column for each dimension, where
/// leading dimensions of size 1 may be left out; `OutputCountTensor` has one element.
pub(super) fn coordinates(operator: &Validated) -> Result<(), Error> {
    let count = operator.required_tensor("OutputCountTensor")?.sizes();
    sizes_are(operator, ("OutputCountTensor", count), &[1])?;
    let (name, input) = ("OutputCoordinatesTensor", operator.required_tensor(INPUT)?);
    let given = operator.required_tensor(name)?.sizes();
    let rank = input.sizes().len();
    let counted = input.sizes().iter().skip_while(|size| **size == 1).count();
    let columns = given.last().copied().unwrap_or_default();
    if !(counted.max(1)..=rank).contains(&(columns as usize)) {
        let path = format!("{name}.Sizes[{}]", given.len() - 1);
        let problem = "is not a number of coordinates of an element";
        return Err(invalid(
            operator,
            path,
            columns,
            problem,
            format!("{} to {rank}", counted.max(1)),
        ));
    }
    let rows = u32::try_from(input.element_count()).unwrap_or(u32::MAX);
    sizes_are(operator, (name, given), &[rows, columns])
}

/// RANDOM_GENERATOR's state: six words along the last dimension.
pub(super) fn state(operator: &Validated) -> Result<(), Error> {
    let name = "InputStateTensor";
    let sizes = operator.required_tensor(name)?.sizes();
    let mut accepted = vec![1; sizes.len()];
    accepted[sizes.len() - 1] = 6;
    if sizes == accepted {
        return Ok(());
    }
    let (path, given) = (format!("{name}.Sizes"), list(sizes));
    Err(invalid(operator, path, given, "are not the sizes of a state", list(&accepted)))
}

/// The tensor `name` has at least `least` elements.
pub(super) fn at_least(operator: &Validated, name: &str, least: u64) -> Result<(), Error> {
    let tensor = operator.required_tensor(name)?;
    if tensor.element_count() >= least {
        return Ok(());
    }
    let (path, given) = (format!("{name}.Sizes"), list(tensor.sizes()));
    let accepted = format!("{least} elements and more");
    Err(invalid(operator, path, given, "have too few elements", accepted))
}

const INPUT: &str = "InputTensor";
const INDICES: &str = "IndicesTensor";
const OUTPUT: &str = "OutputTensor";

/// The sizes of tensors, which must have as many dimensions as the first one.
fn of_one_rank<'a, const N: usize>(
    operator: &'a Validated,
    names: [&str; N],
) -> Result<[&'a [u32]; N], Error> {
    let mut sizes: [&[u32]; N] = [&[]; N];
    for (place, name) in sizes.iter_mut().zip(names) {
        *place = operator.required_tensor(name)?.sizes();
    }
    for (name, given) in names.into_iter().zip(sizes) {
        if given.len() != sizes[0].len() {
            let path = format!("{name}.DimensionCount");
            let problem = format!("differs from {}.DimensionCount", names[0]);
            return Err(invalid(operator, path, given.len(), problem, sizes[0].len().to_string()));
        }
    }
    Ok(sizes)
}

/// The dimension `Axis` of a tensor with these sizes.
fn axis(operator: &Validated, sizes: &[u32]) -> Result<usize, Error> {
    let axis = operator.uint("Axis")?;
    let accepted = || format!("0 to {}", sizes.len() - 1);
    let found = usize::try_from(axis).ok().filter(|axis| *axis < sizes.len());
    found.ok_or_else(|| invalid(operator, "Axis", axis, "is not a dimension", accepted()))
}

/// The last sizes of a tensor, as many as the field `count` states; the others must be 1.
fn counted<'a>(
    operator: &Validated,
    (tensor, sizes): (&str, &'a [u32]),
    count: &'static str,
    least: u32,
) -> Result<&'a [u32], Error> {
    let (number, rank) = (operator.uint(count)?, sizes.len());
    let first = usize::try_from(number).ok().and_then(|number| rank.checked_sub(number));
    let Some(first) = first.filter(|_| number >= least) else {
        let problem = format!("is not a number of dimensions of {tensor}");
        return Err(invalid(operator, count, number, problem, format!("{least} to {rank}")));
    };
    let (before, last) = sizes.split_at(first);
    match before.iter().position(|size| *size != 1) {
        None => Ok(last),
        Some(at) => {
            let path = format!("{tensor}.Sizes[{at}]");
            let problem = format!(
                "is before the last dimensions that {count} counts, where all sizes must be 1"
            );
            Err(invalid(operator, path, before[at], problem, "1".to_owned()))
        }
    }
}

/// Checks that a tensor has these sizes, with any number of leading sizes of 1.
fn sizes_are(
    operator: &Validated,
    (tensor, given): (&str, &[u32]),
    sizes: &[u32],
) -> Result<(), Error> {
    let ones = sizes.iter().take_while(|size| **size == 1).count();
    let sizes = &sizes[ones.min(sizes.len().saturating_sub(given.len()))..];
    let missing = given.len().saturating_sub(sizes.len());
    let accepted = [&vec![1; missing], sizes].concat();
    if given == accepted {
        return Ok(());
    }
    let path = format!("{tensor}.Sizes");
    let problem = "do not match the sizes of the other tensors";
    Err(invalid(operator, path, list(given), problem, list(&accepted)))
}

fn list(sizes: &[u32]) -> String {
    format!("{sizes:?}")
}

#[cfg(test)]
mod tests {
    use crate::operators::{GatherDesc, GatherNd1Desc, OneHotDesc};
    use crate::schema::operator::AbstractOperator;
    use crate::tensor::TensorDesc;
    use crate::types::{DataType, FeatureLevel};
    use crate::validate::validate;

    fn floats(sizes: &[u32]) -> TensorDesc {
        TensorDesc::packed(DataType::Float32, sizes)
    }

    fn integers(sizes: &[u32]) -> TensorDesc {
        TensorDesc::packed(DataType::Int64, sizes)
    }

    fn checked(operator: impl Into<AbstractOperator>) -> Result<(), String> {
        let checked = validate(&operator.into(), FeatureLevel::HIGHEST);
        checked.map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn indices_stand_in_place_of_the_axis_with_or_without_leading_ones() {
        let gather = |input: &[u32], indices: &[u32], output: &[u32], axis, index_dimensions| {
            let [input_tensor, output_tensor] = [input, output].map(floats);
            let indices_tensor = integers(indices);
            let desc =
                GatherDesc { input_tensor, indices_tensor, output_tensor, axis, index_dimensions };
            checked(desc)
        };
        assert_eq!(gather(&[3, 4], &[1, 7], &[7, 4], 0, 1), Ok(()));
        assert_eq!(gather(&[1, 4], &[2, 7], &[2, 7], 1, 2), Ok(()));
        assert_eq!(gather(&[3, 4], &[1, 1], &[1, 3], 1, 0), Ok(()));
        for (indices, output, axis, count, message) in [
            (&[1, 7], &[7, 4], 2, 1, "Axis: 2 is not a dimension; accepted: 0 to 1"),
            (
                &[1, 7],
                &[7, 5],
                0,
                1,
                "OutputTensor.Sizes: [7, 5] do not match the sizes of the other tensors; accepted: [7, 4]",
            ),
            (
                &[2, 7],
                &[2, 7],
                1,
                2,
                "OutputTensor.Sizes: [2, 7] do not match the sizes of the other tensors; accepted: [3, 2, 7]",
            ),
            (
                &[2, 7],
                &[7, 4],
                0,
                1,
                "IndicesTensor.Sizes[0]: 2 is before the last dimensions that IndexDimensions counts, where all sizes must be 1; accepted: 1",
            ),
            (
                &[1, 7],
                &[7, 4],
                0,
                3,
                "IndexDimensions: 3 is not a number of dimensions of IndicesTensor; accepted: 0 to 2",
            ),
        ] {
            let found = gather(&[3, 4], indices, output, axis, count);
            assert_eq!(found, Err(format!("GATHER: {message}")));
        }
    }

    #[test]
    fn tuples_are_no_longer_than_what_they_are_for() {
        let gather = |indices: &[u32], output: &[u32], batch_dimension_count| {
            checked(GatherNd1Desc {
                input_tensor: floats(&[2, 3, 4]),
                indices_tensor: integers(indices),
                output_tensor: floats(output),
                input_dimension_count: 3,
                indices_dimension_count: 3,
                batch_dimension_count,
            })
        };
        assert_eq!(gather(&[2, 5, 1], &[2, 5, 4], 1), Ok(()));
        assert_eq!(gather(&[2, 5, 2], &[1, 2, 5], 1), Ok(()));
        for (indices, output, batches, message) in [
            (
                &[2, 5, 3],
                &[1, 2, 5],
                1,
                "IndicesTensor.Sizes[2]: 3 coordinates are more than InputTensor has dimensions; accepted: 1 to 2",
            ),
            (
                &[3, 5, 1],
                &[3, 5, 4],
                1,
                "IndicesTensor.Sizes: [3, 5, 1] differ from InputTensor's batches; accepted: [2] first",
            ),
            (
                &[2, 3, 1],
                &[1, 2, 3],
                3,
                "BatchDimensionCount: 3 leaves no dimension for coordinates; accepted: 0 to 2",
            ),
        ] {
            assert_eq!(gather(indices, output, batches), Err(format!("GATHER_ND1: {message}")));
        }
    }

    #[test]
    fn tensors_of_another_rank_are_refused() {
        let one_hot = |values: &[u32]| {
            checked(OneHotDesc {
                indices_tensor: integers(&[3, 1]),
                values_tensor: floats(values),
                output_tensor: floats(&[3, 4, 1]),
                axis: 1,
            })
        };
        let message =
            "IndicesTensor.DimensionCount: 2 differs from OutputTensor.DimensionCount; accepted: 3";
        assert_eq!(one_hot(&[2]), Err(format!("ONE_HOT: {message}")));
        let message =
            "ValuesTensor.Sizes: [1] have too few elements; accepted: 2 elements and more";
        assert_eq!(one_hot(&[1]), Err(format!("ONE_HOT: {message}")));
    }
}
