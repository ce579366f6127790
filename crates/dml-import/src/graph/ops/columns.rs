//! Col2Im: sums columns of windows to an image, by FOLD.

use dml_core::operators::FoldDesc;

use crate::error::Result;
use crate::graph::dml::MAX_RANK;
use crate::graph::ops::packed::{Use, count, write};
use crate::graph::ops::pooling::setting;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::text;

/// For each element of an image, the sum of its values in all windows that contain it.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) strides: Option<Vec<i64>>,
    pub(crate) dilations: Option<Vec<i64>>,
    pub(crate) pads: Option<Vec<i64>>,
}

/// A dimension of one element.
const ONE: Along = Along { window: 1, step: 1, dilation: 1, start: 0, end: 0, count: 1 };

/// The windows along one dimension of the image.
struct Along {
    window: u32,
    step: u32,
    dilation: u32,
    start: u32,
    end: u32,
    count: u64,
}

impl Op for Columns {
    fn need(&self, input: usize) -> Need {
        if input == 0 { Need::Elements } else { Need::Host }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "input")?;
        let (image, block) = (operands.sizes(1, "image_shape")?, operands.sizes(2, "block_shape")?);
        let invalid = |path: &str, given: String, problem, accepted: String| {
            Err(operands.node.invalid(path, given, problem, accepted))
        };
        if block.len() != image.len() {
            let (given, accepted) = (text(&block), format!("{} values", image.len()));
            return invalid("block_shape", given, "is the wrong length", accepted);
        }
        if image.is_empty() || image.len() + 2 > MAX_RANK {
            let accepted = format!("1 to {} sizes", MAX_RANK - 2);
            let (given, problem) = (text(&image), "is the wrong number of dimensions");
            return invalid("image_shape", given, problem, accepted);
        }
        let all = (0..image.len()).map(|at| self.along(operands, image[at], block[at], at));
        let all = all.collect::<Result<Vec<Along>>>()?;
        let counts: Vec<u64> = all.iter().map(|it| it.count).collect();
        let (windows, area) = (count(&counts), count(&block));
        let batches_and_rows = match *data.shape()? {
            [batches, rows, columns] if rows.is_multiple_of(area) && columns == windows => {
                Some((batches, rows))
            }
            _ => None,
        };
        let Some((batches, rows)) = batches_and_rows else {
            let accepted = format!("batches, rows that {area} divides, and {windows} columns");
            return invalid("input", text(data.shape()?), "is the wrong shape", accepted);
        };
        let output = [&[batches, rows / area], &image[..]].concat();
        let kind = Kind { element: data.element()?, shape: output.clone().into() };
        // DirectML folds along at least two dimensions.
        let ones = if all.len() == 1 { vec![1] } else { vec![] };
        let seen = [&output[..2], &ones, &output[2..]].concat();
        let all: Vec<Along> = ones.iter().map(|_| ONE).chain(all).collect();
        let values = |of: fn(&Along) -> u32| all.iter().map(of).collect::<Vec<u32>>();
        let inputs = [(data, &[batches, rows, windows][..])];
        let folded =
            write(operands, Use::Computed, &inputs, kind, &seen, |mut inputs, output_tensor| {
                FoldDesc {
                    input_tensor: inputs.remove(0),
                    output_tensor,
                    window_sizes: values(|it| it.window),
                    strides: values(|it| it.step),
                    dilations: values(|it| it.dilation),
                    start_padding: values(|it| it.start),
                    end_padding: values(|it| it.end),
                }
                .into()
            });
        folded.map(|folded| vec![folded])
    }
}

impl Columns {
    /// The windows along the dimension `at` of the image.
    fn along(&self, operands: &NodeInputs<'_>, size: u64, window: u64, at: usize) -> Result<Along> {
        let dimensions = operands.sizes(1, "image_shape")?.len();
        let value = |name, values: &Option<Vec<i64>>, at, all, default| {
            setting(operands, name, values.as_deref().map(|value| (value, all)), at, default)
        };
        let step = value("strides", &self.strides, at, dimensions, 1)?;
        let dilation = value("dilations", &self.dilations, at, dimensions, 1)?;
        let start = value("pads", &self.pads, at, 2 * dimensions, 0)?;
        let end = value("pads", &self.pads, at + dimensions, 2 * dimensions, 0)?;
        let of_window = u32::try_from(window).ok().filter(|it| *it > 0);
        let reach = i128::from(window.saturating_sub(1)) * i128::from(dilation) + 1;
        let room = i128::from(size) + i128::from(start) + i128::from(end) - reach;
        match (of_window, u64::try_from(room)) {
            (Some(window), Ok(room)) => {
                let count = room / u64::from(step) + 1;
                Ok(Along { window, step, dilation, start, end, count })
            }
            _ => {
                let accepted = "windows within the image and its padding";
                Err(operands.node.invalid("block_shape", window, "does not fit", accepted))
            }
        }
    }
}
