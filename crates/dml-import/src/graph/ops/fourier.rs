//! Discrete Fourier transforms: GEMM with tables of cosines and sines that the host makes.

use crate::convert::float;
use crate::error::Result;
use crate::graph::ops::packed::around;
use crate::graph::ops::transform::{TYPES, Transform};
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::Value;
use crate::tensor::text;
use smallvec::smallvec;

/// The discrete Fourier transform of the first input along a dimension, or its inverse. The second input is the
/// transform's length.
#[derive(Debug)]
pub(crate) struct Fourier {
    /// `None`: the third input holds the axis; without that, it is the dimension before the last one.
    pub(crate) axis: Option<i64>,
    pub(crate) is_inverse: bool,
    /// Whether spectra are one-sided, as they may be for real signals.
    pub(crate) is_half: bool,
}

/// The short-time Fourier transform of the first input; the second input is the distance between frames. The
/// other inputs are a window that multiplies frames, and the frame length.
#[derive(Debug)]
pub(crate) struct ShortTimeFourier {
    pub(crate) is_half: bool,
}

impl Op for Fourier {
    fn need(&self, input: usize) -> Need {
        if input == 0 { Need::Elements } else { Need::Host }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "input")?;
        let mut shape = data.shape()?.to_vec();
        let (last, parts) = parts(operands, "input", &shape, self.is_half, self.is_inverse)?;
        let axis = match self.axis {
            None if operands.optional(2).is_some() => operands.scalar(2, "axis")?,
            axis => axis.unwrap_or(-2),
        };
        let axis = operands.axis(axis, shape.len(), "axis")?;
        if axis == last {
            let accepted = "all dimensions but the last one";
            return Err(operands.node.invalid(
                "axis",
                axis,
                "is that of complex numbers",
                accepted,
            ));
        }
        let given = shape[axis];
        let length = match operands.optional(1) {
            Some(_) => operands.size(operands.scalar(1, "dft_length")?, "dft_length")?,
            None if self.is_half && self.is_inverse => given.saturating_sub(1).saturating_mul(2),
            None => given,
        };
        let Self { is_inverse, is_half, .. } = *self;
        let transform = Transform { length, is_inverse, is_half, window: None };
        let [read, written] = transform.sizes(operands)?;
        // A signal shorter than the transform is zero-padded.
        let read = read.min(given);
        let [outer, _, inner] = around(&shape[..last], axis);
        let data = operands.reshaped(data, &[outer, given, inner, parts])?;
        let data = data.seen(smallvec![outer, read, inner, parts], data.strides());
        let data = data.transposed(&[0, 2, 1, 3]);
        // Rows of one matrix, if strides can express them.
        let rows = match inner {
            1 => operands.reshaped(&data, &[outer, read * parts])?,
            _ => operands.reshaped(&data, &[outer, inner, read * parts])?,
        };
        let spectra = transform.of(operands, &rows, parts)?;
        let parts = transform.written_parts();
        let spectra = operands.reshaped(&spectra, &[outer, inner, written, parts])?;
        (shape[axis], shape[last]) = (written, parts);
        operands.reshaped(&spectra.transposed(&[0, 2, 1, 3]), &shape).map(|it| vec![it])
    }
}

impl Op for ShortTimeFourier {
    fn need(&self, input: usize) -> Need {
        if input == 0 { Need::Elements } else { Need::Host }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let signal = operands.value(0, "signal")?;
        let shape = signal.shape()?;
        let (_, parts) = parts(operands, "signal", shape, self.is_half, false)?;
        let &[batches, all, _] = shape else {
            let accepted = "batches, elements, and parts of complex numbers";
            return Err(operands.node.invalid(
                "signal",
                text(shape),
                "is the wrong shape",
                accepted,
            ));
        };
        let positive = |index, name: &str| {
            let size = operands.size(operands.scalar(index, name)?, name)?;
            let no_length = || operands.node.invalid(name, 0, "is not a length", "1 and more");
            if size > 0 { Ok(size) } else { Err(no_length()) }
        };
        let step = positive(1, "frame_step")?;
        let window = operands.optional(2).map(|it| numbers(operands, it)).transpose()?;
        let of_window = window.as_ref().map(|window| window.len() as u64);
        let length = match operands.optional(3) {
            Some(_) => positive(3, "frame_length")?,
            None => of_window.unwrap_or(all),
        };
        if of_window.is_some_and(|of_window| of_window != length) {
            let (given, accepted) = (of_window.unwrap_or(0), length.to_string());
            return Err(operands.node.invalid("window", given, "is the wrong length", accepted));
        }
        let transform = Transform { length, is_inverse: false, is_half: self.is_half, window };
        transform.sizes(operands)?;
        let Some(rest) = all.checked_sub(length) else {
            let accepted = format!("up to {all}");
            return Err(operands.node.invalid("frame_length", length, "is too long", accepted));
        };
        let frames = rest / step + 1;
        // Frames overlap if the step is shorter than a frame.
        let [of_batch, along, of_parts] =
            <[u64; 3]>::try_from(&signal.strides()[..]).unwrap_or_default();
        let strides = vec![of_batch, along.saturating_mul(step), along, of_parts];
        let framed = signal.seen(smallvec![batches, frames, length, parts], strides.into());
        let rows = operands.reshaped(&framed, &[batches, frames, length * parts])?;
        transform.of(operands, &rows, parts).map(|it| vec![it])
    }
}

/// The index of the last dimension of a signal or spectrum, and its size: 1 for real and 2 for complex numbers.
fn parts(
    operands: &NodeInputs<'_>,
    name: &str,
    shape: &[u64],
    is_half: bool,
    is_inverse: bool,
) -> Result<(usize, u64)> {
    let accepted = match (is_half, is_inverse) {
        (false, _) => &[1, 2][..],
        // One-sided spectra belong to real signals.
        (true, false) => &[1],
        (true, true) => &[2],
    };
    let last = shape.len().saturating_sub(1);
    match shape.last() {
        Some(parts) if last > 0 && accepted.contains(parts) => Ok((last, *parts)),
        _ => {
            let accepted = format!("two dimensions or more, and {accepted:?} in the last one");
            Err(operands.node.invalid(name, text(shape), "is the wrong shape", accepted))
        }
    }
}

/// The elements of a window.
fn numbers(operands: &NodeInputs<'_>, window: &Value) -> Result<Vec<f64>> {
    let shape = window.shape()?;
    if shape.len() != 1 {
        return Err(operands.node.invalid(
            "window",
            text(shape),
            "is the wrong shape",
            "one dimension",
        ));
    }
    let element = window.element()?;
    operands.type_is(element, &TYPES, "window")?;
    Ok(operands.read(window)?.bits().map(|bits| float(bits, element)).collect())
}
