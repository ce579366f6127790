//! Window functions of signals and mel filter banks: tables that the host makes.

use std::f64::consts::TAU;

use dml_core::DataType;

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::scalar::Scalar;
use crate::graph::ops::table::table;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::Value;
use crate::tensor::host_elements;

/// A window: a sum of cosines, with as many elements as the input says.
#[derive(Debug)]
pub(crate) struct Window {
    /// The coefficients of the cosines of 0, 1 and 2 turns.
    pub(crate) cosines: [f64; 3],
    /// Whether the window is periodic: the element after the last one would equal the first. Otherwise the last
    /// one does.
    pub(crate) is_periodic: bool,
    pub(crate) element: ElementType,
}

impl Op for Window {
    fn need(&self, _input: usize) -> Need {
        Need::Host
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let size = operands.size(operands.scalar(0, "size")?, "size")?;
        operands.budget.take(&[size])?;
        host_elements(&[size])?;
        // A symmetric window of one element is NaN, as in ONNX Runtime.
        let turn = if self.is_periodic { size } else { size.saturating_sub(1) } as f64;
        let at = |index: u64| {
            let angle = TAU * index as f64 / turn;
            let terms = self.cosines.iter().zip([0.0, 1.0, 2.0]);
            terms.map(|(factor, turns)| factor * (turns * angle).cos()).sum()
        };
        table(self.element, vec![size], (0..size).map(at)).map(|it| vec![it])
    }
}

/// The weight of each spectrum bin in each mel band: triangles from the center of the previous band to the
/// center of the next.
#[derive(Debug)]
pub(crate) struct MelWeights {
    pub(crate) element: ElementType,
}

/// The float types of frequencies.
const FLOATS: [ElementType; 4] = [
    ElementType::FLOAT32,
    ElementType::FLOAT16,
    ElementType::Dml(DataType::Float64),
    ElementType::Bfloat16,
];

impl Op for MelWeights {
    fn need(&self, _input: usize) -> Need {
        Need::Host
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let integer = |index, name: &str| operands.size(operands.scalar(index, name)?, name);
        let [bands, length] = [integer(0, "num_mel_bins")?, integer(1, "dft_length")?];
        let rate = integer(2, "sample_rate")?;
        let shape = vec![length / 2 + 1, bands];
        operands.budget.take(&shape)?;
        // There may be no bands, or any number of bands without bins.
        operands.budget.take(&[bands])?;
        let bins = host_elements(&shape[..1])?;
        let bands = host_elements(&shape[1..])?;
        let mut weights = vec![0.0; host_elements(&shape)?];
        let edge = |index, name| operands.number(index, name, &FLOATS).map(Scalar::float);
        let edges = [edge(3, "lower_edge_hertz")?, edge(4, "upper_edge_hertz")?];
        // Edges are the centers before the first and after the last band.
        let [least, most] = edges.map(|hertz| 2595.0 * (1.0 + hertz / 700.0).log10());
        let step = (most - least) / (bands + 2) as f64;
        let bin = |band: usize| {
            let hertz = 700.0 * (10_f64.powf((least + step * band as f64) / 2595.0) - 1.0);
            let bin = ((length + 1) as f64 * hertz / rate as f64).floor();
            whole(bin).filter(|it| *it < bins).ok_or_else(|| {
                let (given, accepted) =
                    (format!("{edges:?}"), format!("bins from 0 to {}", bins - 1));
                let path = "lower_edge_hertz and upper_edge_hertz";
                operands.node.invalid(path, given, "lead to no bin of the spectrum", accepted)
            })
        };
        for band in 0..bands {
            let [start, center, end] = [bin(band)?, bin(band + 1)?, bin(band + 2)?];
            let mut set = |bin: usize, weight: f64| weights[bin * bands + band] = weight;
            let part = |of: usize, all: usize| of as f64 / all as f64;
            match center.saturating_sub(start) {
                0 => set(center, 1.0),
                rise => (start..=center).for_each(|bin| set(bin, part(bin - start, rise))),
            }
            (center..end).for_each(|bin| set(bin, part(end - bin, end - center)));
        }
        table(self.element, shape, weights.into_iter()).map(|it| vec![it])
    }
}

/// The integer part of a number; `None` if it is negative or NaN.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn whole(number: f64) -> Option<usize> {
    (number >= 0.0).then_some(number as usize)
}
