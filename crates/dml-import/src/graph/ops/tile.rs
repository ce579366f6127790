//! Tile: TILE; and rearrangement between blocks of pixels and channels: SPACE_TO_DEPTH and DEPTH_TO_SPACE.

use dml_core::operators::{
    DepthToSpace1Desc, DepthToSpaceDesc, SpaceToDepth1Desc, SpaceToDepthDesc, TileDesc,
};
use dml_core::{AbstractOperator, DataType, DepthSpaceOrder};

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::dml::MAX_RANK;
use crate::graph::ops::movement::{is_on_host, joined, leading, moved, tensors, written};
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::text;

/// The first input, repeated as often as the second one says.
#[derive(Debug)]
pub(crate) enum Tile {
    /// Repeats for each dimension.
    EachDimension,
    /// Repeats along the dimension in the third input. Both are integers of any type, including floats with
    /// integer values.
    OneDimension,
}

impl Tile {
    /// The repeats of each of `rank` dimensions.
    fn repeats(&self, operands: &NodeInputs<'_>, rank: usize) -> Result<Vec<u64>> {
        match self {
            Self::EachDimension => operands.sizes(1, "repeats"),
            Self::OneDimension => {
                let number = |index, name| operands.whole_number(index, name);
                let axis = operands.axis(number(2, "axis")?, rank, "axis")?;
                let mut repeats = vec![1; rank];
                repeats[axis] = operands.size(number(1, "tiles")?, "tiles")?;
                Ok(repeats)
            }
        }
    }
}

impl Op for Tile {
    fn need(&self, input: usize) -> Need {
        if input == 0 { Need::Elements } else { Need::Host }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let input = operands.value(0, "input")?;
        let shape = input.shape()?;
        let repeats = self.repeats(operands, shape.len())?;
        if repeats.len() != shape.len() {
            let (given, problem) = (repeats.len(), "is the wrong number of elements");
            let accepted = shape.len().to_string();
            return Err(operands.node.invalid("repeats", given, problem, accepted));
        }
        let pairs: Vec<[u64; 2]> =
            shape.iter().zip(&repeats).map(|(size, times)| [*size, *times]).collect();
        let output: Vec<u64> =
            pairs.iter().map(|[size, times]| size.saturating_mul(*times)).collect();
        if output == shape {
            return Ok(vec![input.clone()]);
        }
        let is_double = input.element()? == ElementType::Dml(DataType::Float64);
        if is_double && !is_on_host(operands, input, &output) && !output.contains(&0) {
            return repeated(operands, input, &pairs, &output).map(|it| vec![it]);
        }
        let positions = || {
            let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
            let of = |[size, times]: &[u64; 2]| {
                (0..index(*times)).flat_map(|_| 0..index(*size)).collect::<Vec<_>>()
            };
            pairs.iter().map(of).collect()
        };
        let build = || tile(operands, input, &pairs);
        moved(operands, input, output.clone(), positions, build).map(|it| vec![it])
    }
}

/// Repeats by strides of 0, since no feature level has TILE for FLOAT64.
fn repeated(
    operands: &NodeInputs<'_>,
    input: &Value,
    pairs: &[[u64; 2]],
    output: &[u64],
) -> Result<Value> {
    let once: Vec<u64> = pairs.iter().flat_map(|[size, _]| [1, *size]).collect();
    let often: Vec<u64> = pairs.iter().flat_map(|[size, times]| [*times, *size]).collect();
    let all = operands.reshaped(input, &once)?.broadcast(&often);
    operands.reshaped(&all, output)
}

fn tile(operands: &NodeInputs<'_>, input: &Value, pairs: &[[u64; 2]]) -> Result<AbstractOperator> {
    let pairs = joined(pairs, MAX_RANK, |[outer, times], [inner, again]| {
        (times == 1 && again == 1).then(|| [outer.saturating_mul(inner), 1])
    });
    let sizes: Vec<u64> = pairs.iter().map(|[size, _]| *size).collect();
    let output: Vec<u64> = pairs.iter().map(|[size, times]| size.saturating_mul(*times)).collect();
    let [input_tensor, output_tensor] = tensors(operands, input, [&sizes, &output])?;
    // No repeat exceeds the output's number of elements, which has been checked.
    let times = pairs.iter().map(|[_, times]| u32::try_from(*times).unwrap_or(u32::MAX));
    Ok(TileDesc { input_tensor, output_tensor, repeats: leading(times, 1) }.into())
}

/// SpaceToDepth, which moves blocks of pixels to channels, or DepthToSpace.
#[derive(Debug)]
pub(crate) struct Blocks {
    pub(crate) size: i64,
    pub(crate) to_depth: bool,
    pub(crate) order: DepthSpaceOrder,
}

impl Op for Blocks {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let input = operands.value(0, "input")?;
        let &[batches, channels, height, width] = input.shape()? else {
            let given = text(input.shape()?);
            return Err(operands.node.invalid(
                "input",
                given,
                "is the wrong shape",
                "4 dimensions",
            ));
        };
        let size = u64::try_from(self.size).ok().filter(|size| (1..1 << 16).contains(size));
        let size = size.ok_or_else(|| {
            let (path, problem) = ("attribute blocksize", "is not a size");
            operands.node.invalid(path, self.size, problem, "1 to 65535")
        })?;
        let area = size * size;
        let is_divided = match self.to_depth {
            true => height.is_multiple_of(size) && width.is_multiple_of(size),
            false => channels.is_multiple_of(area),
        };
        if !is_divided {
            let (given, problem) = (text(input.shape()?), "is not divided by the block");
            let accepted = format!("multiples of {}", if self.to_depth { size } else { area });
            return Err(operands.node.invalid("input", given, problem, accepted));
        }
        let shape = match self.to_depth {
            true => [batches, channels.saturating_mul(area), height / size, width / size],
            false => {
                let longer = |it: u64| it.saturating_mul(size);
                [batches, channels / area, longer(height), longer(width)]
            }
        };
        if shape.contains(&0) || is_on_host(operands, input, &shape) {
            return self.seen(operands, input, shape, size).map(|it| vec![it]);
        }
        let kind = Kind { element: input.element()?, shape: shape.into() };
        let build = || self.operator(operands, input, &shape, size);
        written(operands, input, kind, build).map(|it| vec![it])
    }
}

impl Blocks {
    /// By permuting dimensions.
    fn seen(
        &self,
        operands: &NodeInputs<'_>,
        input: &Value,
        shape: [u64; 4],
        size: u64,
    ) -> Result<Value> {
        let own = input.shape()?;
        let is_within = self.order == DepthSpaceOrder::ColumnRowDepth;
        let (divided, order): ([u64; 6], [usize; 6]) = match (self.to_depth, is_within) {
            (true, _) => (
                [own[0], own[1], shape[2], size, shape[3], size],
                if is_within { [0, 1, 3, 5, 2, 4] } else { [0, 3, 5, 1, 2, 4] },
            ),
            (false, false) => ([own[0], size, size, shape[1], own[2], own[3]], [0, 3, 4, 1, 5, 2]),
            (false, true) => ([own[0], shape[1], size, size, own[2], own[3]], [0, 1, 4, 2, 5, 3]),
        };
        let turned = operands.reshaped(input, &divided)?.transposed(&order);
        operands.reshaped(&turned, &shape)
    }

    fn operator(
        &self,
        operands: &NodeInputs<'_>,
        input: &Value,
        shape: &[u64],
        size: u64,
    ) -> Result<AbstractOperator> {
        let [input_tensor, output_tensor] = tensors(operands, input, [input.shape()?, shape])?;
        let block_size = u32::try_from(size).unwrap_or(u32::MAX);
        Ok(match (self.to_depth, self.order) {
            (true, DepthSpaceOrder::DepthColumnRow) => {
                SpaceToDepthDesc { input_tensor, output_tensor, block_size }.into()
            }
            (true, order) => {
                SpaceToDepth1Desc { input_tensor, output_tensor, block_size, order }.into()
            }
            (false, DepthSpaceOrder::DepthColumnRow) => {
                DepthToSpaceDesc { input_tensor, output_tensor, block_size }.into()
            }
            (false, order) => {
                DepthToSpace1Desc { input_tensor, output_tensor, block_size, order }.into()
            }
        })
    }
}
