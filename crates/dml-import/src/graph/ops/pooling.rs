//! Pooling: AVERAGE_POOLING, LP_POOLING, MAX_POOLING and their successors.

use dml_core::operators::{
    AveragePooling1Desc, AveragePoolingDesc, LpPooling1Desc, LpPoolingDesc, MaxPooling1Desc,
    MaxPooling2Desc, MaxPoolingDesc,
};
use dml_core::{AbstractOperator, DataType, PaddingMode, TensorDesc};

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::packed::{Use, count, write_all};
use crate::graph::ops::pad::padded;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::text;

/// The function applied to each window.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pooling {
    Average {
        include_padding: bool,
    },
    Maximum {
        /// Whether the second output has the indices of maxima.
        has_indices: bool,
        /// Whether these indices take the last spatial dimension as the outermost.
        is_column_major: bool,
    },
    Norm {
        degree: u32,
    },
}

/// ONNX's `auto_pad`: how padding is determined if it is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AutoPad {
    Given,
    /// One window per stride that starts in the input; the extra element of odd padding is at the end or at the
    /// start.
    Same {
        more_at_end: bool,
    },
    Valid,
}

/// Pooling: one element for each window.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) pooling: Pooling,
    pub(crate) kernel: Vec<i64>,
    pub(crate) strides: Option<Vec<i64>>,
    pub(crate) dilations: Option<Vec<i64>>,
    pub(crate) pads: Option<Vec<i64>>,
    pub(crate) auto_pad: AutoPad,
    /// Whether a last partial window may extend beyond the padding.
    pub(crate) is_ceil: bool,
}

/// Global pooling: one element for each channel.
#[derive(Debug)]
pub(crate) struct GlobalPool {
    pub(crate) pooling: Pooling,
}

/// The windows along a dimension.
#[derive(Clone, Copy, Debug)]
struct Windows {
    count: u64,
    window: u32,
    step: u32,
    dilation: u32,
    start: u32,
    end: u32,
    /// How far the last window extends beyond the padding: a part of `end`.
    beyond: u32,
}

/// A dimension with a window of one element.
const ONE: Windows =
    Windows { count: 1, window: 1, step: 1, dilation: 1, start: 0, end: 0, beyond: 0 };

impl Op for Pool {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "X")?;
        let shape = data.shape()?;
        let spatial = self.kernel.len();
        if shape.len() != spatial + 2 {
            let accepted = shape.len().saturating_sub(2).to_string();
            let path = "attribute kernel_shape";
            return Err(operands.node.invalid(path, spatial, "is the wrong length", accepted));
        }
        let windows = (0..spatial).map(|at| self.windows(operands, shape[at + 2], at));
        let windows = windows.collect::<Result<Vec<Windows>>>()?;
        if let Pooling::Maximum { has_indices: true, is_column_major: true } = self.pooling {
            // Column-major indices are row-major ones after reversing the spatial dimensions.
            let order: Vec<usize> = [0, 1].into_iter().chain((2..spatial + 2).rev()).collect();
            let windows: Vec<Windows> = windows.into_iter().rev().collect();
            let pooled = pooled(operands, &data.transposed(&order), self.pooling, &windows)?;
            return Ok(pooled.into_iter().map(|it| it.transposed(&order)).collect());
        }
        if let Pooling::Average { include_padding: true } = self.pooling
            && windows.iter().any(|along| along.beyond > 0)
        {
            return averaged_with_padding(operands, data, &windows);
        }
        pooled(operands, data, self.pooling, &windows)
    }
}

/// Averages that include the padding, but not elements beyond it. DirectML would include both, so the padding
/// is made a part of the input.
fn averaged_with_padding(
    operands: &NodeInputs<'_>,
    data: &Value,
    windows: &[Windows],
) -> Result<Vec<Value>> {
    let margins =
        windows.iter().map(|window| [window.start, window.end - window.beyond].map(i64::from));
    let margins: Vec<[i64; 2]> = [[0; 2]; 2].into_iter().chain(margins).collect();
    let data = padded(operands, data, &margins, PaddingMode::Constant, 0)?;
    let of = |it: &Windows| Windows { start: 0, end: it.beyond, ..*it };
    let windows: Vec<Windows> = windows.iter().map(of).collect();
    pooled(operands, &data, Pooling::Average { include_padding: false }, &windows)
}

impl Pool {
    /// The windows along spatial dimension `at`, which has `size` elements.
    fn windows(&self, operands: &NodeInputs<'_>, size: u64, at: usize) -> Result<Windows> {
        let spatial = self.kernel.len();
        let value = |name, values: &Option<Vec<i64>>, at, all, default| {
            setting(operands, name, values.as_deref().map(|value| (value, all)), at, default)
        };
        let kernel = Some(self.kernel.clone());
        let window = value("kernel_shape", &kernel, at, spatial, 1)?;
        let step = value("strides", &self.strides, at, spatial, 1)?;
        let dilation = value("dilations", &self.dilations, at, spatial, 1)?;
        let start = value("pads", &self.pads, at, 2 * spatial, 0)?;
        let end = value("pads", &self.pads, at + spatial, 2 * spatial, 0)?;
        let given = Windows { count: 0, window, step, dilation, start, end, beyond: 0 };
        let windows = match self.auto_pad {
            AutoPad::Given => given.counted(size, self.is_ceil),
            AutoPad::Valid => Windows { start: 0, end: 0, ..given }.counted(size, self.is_ceil),
            AutoPad::Same { more_at_end } => given.same(size, more_at_end),
        };
        windows.ok_or_else(|| {
            let accepted = "windows within the input and its padding";
            operands.node.invalid("attribute kernel_shape", window, "does not fit", accepted)
        })
    }
}

/// Element `at` of an attribute with the given number of values, none of which may be less than `default`.
pub(super) fn setting(
    operands: &NodeInputs<'_>,
    name: &str,
    values: Option<(&[i64], usize)>,
    at: usize,
    default: u32,
) -> Result<u32> {
    let Some((values, all)) = values else { return Ok(default) };
    let path = format!("attribute {name}");
    if values.len() != all {
        let (given, problem) = (values.len(), "is the wrong length");
        return Err(operands.node.invalid(path, given, problem, all.to_string()));
    }
    let value = u32::try_from(values[at]).ok().filter(|it| *it >= default);
    value.ok_or_else(|| {
        let accepted = format!("{default} to {}", u32::MAX);
        operands.node.invalid(&path, values[at], "is out of range", accepted)
    })
}

impl Windows {
    /// The number of elements from a window's first to its last.
    fn reach(&self) -> i128 {
        i128::from(self.window - 1) * i128::from(self.dilation) + 1
    }

    /// As many windows as fit `size` elements with padding; `None` if their number were negative.
    fn counted(self, size: u64, is_ceil: bool) -> Option<Self> {
        let [start, step] = [self.start, self.step].map(i128::from);
        let room = i128::from(size) + start + i128::from(self.end) - self.reach();
        let mut last = room.div_euclid(step);
        // No window starts in the padding at the end.
        let has_rest = room.rem_euclid(step) > 0;
        if is_ceil && has_rest && (last + 1) * step < i128::from(size) + start {
            last += 1;
        }
        self.ending_at(size, last * step + self.reach(), last + 1)
    }

    /// One window for each stride that starts in the input.
    fn same(self, size: u64, more_at_end: bool) -> Option<Self> {
        let step = i128::from(self.step);
        let count = (i128::from(size) + step - 1) / step;
        let padding = ((count - 1) * step + self.reach() - i128::from(size)).max(0);
        let start = if more_at_end { padding / 2 } else { (padding + 1) / 2 };
        let start = u32::try_from(start).ok()?;
        let windows = Self { start, end: 0, ..self };
        let windows = windows.ending_at(size, (count - 1) * step + self.reach(), count)?;
        Some(Self { beyond: 0, ..windows })
    }

    /// Sets the padding that the last of `count` windows needs, which ends at `end`.
    fn ending_at(self, size: u64, end: i128, count: i128) -> Option<Self> {
        let end = (end - i128::from(size) - i128::from(self.start)).max(0);
        let (count, end) = (u64::try_from(count).ok()?, u32::try_from(end).ok()?);
        Some(Self { count, end, beyond: end.saturating_sub(self.end), ..self })
    }
}

impl Op for GlobalPool {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "X")?;
        let shape = data.shape()?.to_vec();
        if shape.len() < 2 {
            let problem = "is the wrong shape";
            return Err(operands.node.invalid("X", text(&shape), problem, "2 and more dimensions"));
        }
        let ones = vec![1; shape.len() - 2];
        let all = count(&shape[2..]);
        let output = [&shape[..2], &ones].concat();
        if all == 0 && !output.contains(&0) {
            let accepted = "at least one element in each channel";
            return Err(operands.node.invalid("X", text(&shape), "has nothing to pool", accepted));
        }
        let flat = operands.reshaped(data, &[shape[0], shape[1], all])?;
        let window = u32::try_from(all).unwrap_or(u32::MAX);
        let pooled = pooled(operands, &flat, self.pooling, &[Windows { window, ..ONE }])?;
        pooled.iter().map(|it| operands.reshaped(it, &output)).collect()
    }
}

/// The outputs of pooling `data`, with windows for each spatial dimension.
fn pooled(
    operands: &NodeInputs<'_>,
    data: &Value,
    pooling: Pooling,
    windows: &[Windows],
) -> Result<Vec<Value>> {
    let Kind { element, shape } = data.kind()?;
    if windows.len() > 3 {
        let reason = "DirectML pools along three dimensions at most";
        return Err(operands.node.not_supported(reason));
    }
    // DirectML pools along two or three dimensions.
    let ones = vec![1; 2_usize.saturating_sub(windows.len())];
    let all: Vec<Windows> = ones.iter().map(|_| ONE).chain(windows.iter().copied()).collect();
    let seen = [&shape[..2], &ones, &shape[2..]].concat();
    let counts: Vec<u64> = windows.iter().map(|window| window.count).collect();
    let output = [&shape[..2], &counts].concat();
    let seen_output = [&shape[..2], &ones, &counts].concat();
    let kind = Kind { element, shape: output.clone().into() };
    let indices = ElementType::Dml(DataType::Uint64);
    let mut kinds = vec![kind];
    if let Pooling::Maximum { has_indices: true, .. } = pooling {
        kinds.push(Kind { element: indices, shape: output.into() });
    }
    let inputs = [(data, &seen[..])];
    let kinds = kinds.into_iter().map(|kind| (kind, &seen_output[..])).collect();
    let mut outputs = write_all(operands, Use::Computed, &inputs, kinds, |mut inputs, outputs| {
        pooling.operator(inputs.remove(0), outputs, &all)
    })?;
    if let Some(indices) = outputs.get_mut(1) {
        indices.element = Some(ElementType::INT64);
    }
    Ok(outputs)
}

impl Pooling {
    /// The operator that the lowest feature level accepts.
    fn operator(
        self,
        input_tensor: TensorDesc,
        mut outputs: Vec<TensorDesc>,
        windows: &[Windows],
    ) -> AbstractOperator {
        let all = |of: fn(&Windows) -> u32| windows.iter().map(of).collect::<Vec<u32>>();
        let (strides, window_size) = (all(|it| it.step), all(|it| it.window));
        let (start_padding, end_padding) = (all(|it| it.start), all(|it| it.end));
        let dilations = all(|it| it.dilation);
        let is_apart = dilations.iter().any(|dilation| *dilation != 1);
        let output_tensor = outputs.remove(0);
        let output_indices_tensor = outputs.pop();
        match (self, is_apart, output_indices_tensor) {
            (Self::Average { include_padding }, false, _) => AveragePoolingDesc {
                input_tensor,
                output_tensor,
                strides,
                window_size,
                start_padding,
                end_padding,
                include_padding,
            }
            .into(),
            (Self::Average { include_padding }, true, _) => AveragePooling1Desc {
                input_tensor,
                output_tensor,
                strides,
                window_size,
                start_padding,
                end_padding,
                dilations,
                include_padding,
            }
            .into(),
            (Self::Norm { degree: p }, false, _) => LpPoolingDesc {
                input_tensor,
                output_tensor,
                strides,
                window_size,
                start_padding,
                end_padding,
                p,
            }
            .into(),
            (Self::Norm { degree: p }, true, _) => LpPooling1Desc {
                input_tensor,
                output_tensor,
                strides,
                window_size,
                start_padding,
                end_padding,
                dilations,
                p,
            }
            .into(),
            (Self::Maximum { .. }, false, None) => MaxPoolingDesc {
                input_tensor,
                output_tensor,
                strides,
                window_size,
                start_padding,
                end_padding,
            }
            .into(),
            (Self::Maximum { .. }, false, output_indices_tensor) => MaxPooling1Desc {
                input_tensor,
                output_tensor,
                output_indices_tensor,
                strides,
                window_size,
                start_padding,
                end_padding,
            }
            .into(),
            (Self::Maximum { .. }, true, output_indices_tensor) => MaxPooling2Desc {
                input_tensor,
                output_tensor,
                output_indices_tensor,
                strides,
                window_size,
                start_padding,
                end_padding,
                dilations,
            }
            .into(),
        }
    }
}
