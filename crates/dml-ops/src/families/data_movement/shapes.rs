//! The parts of the operators that cut, repeat or rearrange tensors.

use dml_core::schema::FieldKind;
use dml_core::{DepthSpaceOrder, Error, TensorLayout, Validated};

use super::part::{MovedRegion, Run, Source, Walk, product};

/// The only input and the only output.
pub(super) fn tensors(operator: &Validated) -> Result<[&TensorLayout; 2], Error> {
    let only = |kind| operator.present_tensors(kind).map(|(_, tensor)| tensor).next();
    let both = only(FieldKind::Input).zip(only(FieldKind::Output));
    let (input, output) = both
        .ok_or_else(|| Error::internal(operator.schema().name, "no input or no output tensor"))?;
    Ok([input, output])
}

/// The strides of an input and of an output in each dimension.
pub(super) fn strides(
    input: &TensorLayout,
    output: &TensorLayout,
) -> impl Iterator<Item = [u32; 2]> {
    let pairs = input.strides().iter().zip(output.strides());
    pairs.map(|(input, output)| [*input, *output]).collect::<Vec<_>>().into_iter()
}

/// Runs of an input along each dimension: `sizes` elements, from these coordinates in these steps.
fn stepped(sizes: &[u32], first: &[i64], steps: &[i64]) -> Vec<[Run; 1]> {
    let run = |((count, first), step): ((&u32, &i64), &i64)| {
        let walks = vec![Walk { count: *count, input: *step, output: 1 }];
        [Run { input: *first, output: 0, walks }]
    };
    sizes.iter().zip(first).zip(steps).map(run).collect()
}

/// SLICE.
pub(super) fn slice(operator: &Validated) -> Result<Vec<MovedRegion>, Error> {
    let [input, output] = tensors(operator)?;
    let [first, steps] = ["Offsets", "Strides"].map(|name| {
        let values = operator.uint_array(name)?.iter();
        Ok(values.map(|value| i64::from(*value)).collect::<Vec<_>>())
    });
    let runs = stepped(output.sizes(), &first?, &steps?);
    Ok(product(MovedRegion::first(Source::Input(0), 0), strides(input, output), &runs))
}

/// The runs of the input that SLICE1 reads for an output of `sizes`.
fn window(operator: &Validated, sizes: &[u32]) -> Result<Vec<[Run; 1]>, Error> {
    let offsets = operator.uint_array("InputWindowOffsets")?.iter();
    let windows = operator.uint_array("InputWindowSizes")?;
    let steps: Vec<i64> =
        operator.int_array("InputWindowStrides")?.iter().map(|it| i64::from(*it)).collect();
    let first = offsets.zip(windows).zip(&steps).map(|((offset, size), step)| {
        i64::from(*offset) + if *step < 0 { i64::from(*size) - 1 } else { 0 }
    });
    Ok(stepped(sizes, &first.collect::<Vec<_>>(), &steps))
}

/// SLICE1.
pub(super) fn slice1(operator: &Validated) -> Result<Vec<MovedRegion>, Error> {
    let [input, output] = tensors(operator)?;
    let runs = window(operator, output.sizes())?;
    Ok(product(MovedRegion::first(Source::Input(0), 0), strides(input, output), &runs))
}

/// SLICE_GRAD: zeros everywhere, then the input at the positions that SLICE1 reads.
pub(super) fn slice_grad(operator: &Validated) -> Result<Vec<MovedRegion>, Error> {
    let [input, output] = tensors(operator)?;
    let runs = window(operator, input.sizes())?;
    let written = runs.into_iter().map(|[run]| {
        let turned = |it: &Walk| Walk { count: it.count, input: it.output, output: it.input };
        let walks = run.walks.iter().map(turned).collect();
        [Run { input: run.output, output: run.input, walks }]
    });
    let all: Vec<[Run; 1]> =
        output.sizes().iter().map(|size| [Run::repeated(*size, 0, 0)]).collect();
    let mut parts = product(MovedRegion::first(Source::Bits(0), 0), strides(input, output), &all);
    let source = MovedRegion::first(Source::Input(0), 0);
    parts.extend(product(source, strides(input, output), &written.collect::<Vec<_>>()));
    Ok(parts)
}

/// TILE.
pub(super) fn tile(operator: &Validated) -> Result<Vec<MovedRegion>, Error> {
    let [input, output] = tensors(operator)?;
    let repeats = operator.uint_array("Repeats")?.iter();
    let run = |(size, repeats): (&u32, &u32)| {
        let whole = Walk { count: *repeats, input: 0, output: i64::from(*size) };
        let each = Walk { count: *size, input: 1, output: 1 };
        [Run { input: 0, output: 0, walks: vec![whole, each] }]
    };
    let runs: Vec<[Run; 1]> = input.sizes().iter().zip(repeats).map(run).collect();
    Ok(product(MovedRegion::first(Source::Input(0), 0), strides(input, output), &runs))
}

/// Blocks of `ScaleSize` elements with the same value, along the last two dimensions.
pub(super) fn upsample(operator: &Validated) -> Result<Vec<MovedRegion>, Error> {
    let [input, output] = tensors(operator)?;
    let [width, height] = operator.size_2d("ScaleSize")?;
    let rank = input.sizes().len();
    let runs = each(input.sizes(), |at, count| {
        let scale = match rank - at {
            1 => width,
            2 => height,
            _ => 1,
        };
        let elements = Walk { count, input: 1, output: scale.into() };
        let same = Walk { count: scale, input: 0, output: 1 };
        Run { input: 0, output: 0, walks: vec![elements, same] }
    });
    Ok(product(MovedRegion::first(Source::Input(0), 0), strides(input, output), &runs))
}

/// SPACE_TO_DEPTH.
pub(super) fn space_to_depth(operator: &Validated) -> Result<Vec<MovedRegion>, Error> {
    let [input, output] = tensors(operator)?;
    let part = MovedRegion::first(Source::Input(0), 0);
    Ok(vec![MovedRegion { walks: blocks(operator, input, output)?, ..part }])
}

/// DEPTH_TO_SPACE: SPACE_TO_DEPTH with the tensors exchanged.
pub(super) fn depth_to_space(operator: &Validated) -> Result<Vec<MovedRegion>, Error> {
    let [input, output] = tensors(operator)?;
    let turned = |it: Walk| Walk { count: it.count, input: it.output, output: it.input };
    let walks = blocks(operator, output, input)?.into_iter().map(turned).collect();
    Ok(vec![MovedRegion { walks, ..MovedRegion::first(Source::Input(0), 0) }])
}

/// Maps the elements of `space`, for the input, to those of `depth`, for the output: blocks are rows of
/// neighbours in the former, channels of the latter. Both have 4 dimensions.
fn blocks(
    operator: &Validated,
    space: &TensorLayout,
    depth: &TensorLayout,
) -> Result<Vec<Walk>, Error> {
    let block = operator.uint("BlockSize")?;
    let order = operator.uint("Order").unwrap_or_default();
    let is_within = DepthSpaceOrder::from_dml_value(order) == Some(DepthSpaceOrder::ColumnRowDepth);
    let (input, output) = (space.strides(), depth.strides());
    let (size, channels) = (depth.sizes(), space.sizes()[1]);
    let channel = i64::from(output[1]);
    // The channels of `depth` in a block's row, from one row to the next, and from one block to the next.
    let (column, row, each) = match is_within {
        true => (1, i64::from(block), i64::from(block) * i64::from(block)),
        false => (i64::from(channels), i64::from(block) * i64::from(channels), 1),
    };
    let walk = |count: u32, at: usize, step: u32, output: i64| {
        // With a single element, strides may be anything, and their products too large.
        let (step, stride) = (i64::from(step), i64::from(input[at]));
        let input = step.checked_mul(stride).filter(|_| count > 1).unwrap_or_default();
        Walk { count, input, output: if count > 1 { output } else { 0 } }
    };
    let walks = [
        walk(size[0], 0, 1, output[0].into()),
        walk(channels, 1, 1, each * channel),
        walk(size[2], 2, block, output[2].into()),
        walk(block, 2, 1, row * channel),
        walk(size[3], 3, block, output[3].into()),
        walk(block, 3, 1, column * channel),
    ];
    Ok(walks.into_iter().filter(|walk| walk.count > 1).collect())
}

/// JOIN: the inputs one after the other.
pub(super) fn join(operator: &Validated) -> Result<Vec<MovedRegion>, Error> {
    let axis = operator.uint("Axis")? as usize;
    let (inputs, whole) =
        (operator.tensor_array("InputTensors")?, operator.required_tensor("OutputTensor")?);
    let parts = inputs.iter().zip(starts(inputs, axis)).enumerate();
    let parts = parts.flat_map(|(index, (input, start))| {
        let run = |at, size| Run::new(size, 0, if at == axis { start } else { 0 });
        let part = MovedRegion::first(Source::Input(index), 0);
        product(part, strides(input, whole), &each(input.sizes(), run))
    });
    Ok(parts.collect())
}

/// SPLIT: JOIN with inputs and outputs exchanged.
pub(super) fn split(operator: &Validated) -> Result<Vec<MovedRegion>, Error> {
    let axis = operator.uint("Axis")? as usize;
    let (outputs, whole) =
        (operator.tensor_array("OutputTensors")?, operator.required_tensor("InputTensor")?);
    let parts = outputs.iter().zip(starts(outputs, axis)).enumerate();
    let parts = parts.flat_map(|(index, (output, start))| {
        let run = |at, size| Run::new(size, if at == axis { start } else { 0 }, 0);
        let part = MovedRegion::first(Source::Input(0), index);
        product(part, strides(whole, output), &each(output.sizes(), run))
    });
    Ok(parts.collect())
}

/// One run for each dimension.
fn each(sizes: &[u32], run: impl Fn(usize, u32) -> Run) -> Vec<[Run; 1]> {
    sizes.iter().enumerate().map(|(at, size)| [run(at, *size)]).collect()
}

/// The first coordinate of each part in the whole tensor along the axis.
fn starts(parts: &[TensorLayout], axis: usize) -> impl Iterator<Item = i64> {
    parts.iter().scan(0, move |start, part| {
        let own = *start;
        *start += i64::from(part.sizes()[axis]);
        Some(own)
    })
}
