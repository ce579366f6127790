//! Which input elements a filter meets along one dimension.
//!
//! In a forward convolution the output `o` meets the input `o * stride + tap * dilation - padding`. In a
//! backward one the input `i` and the tap meet the output `i * stride + tap * dilation - padding`. Outputs
//! that are `stride` apart then have the same taps, so that each of these *phases* is a forward convolution
//! with stride 1.

use dml_core::{Error, Validated};

/// The sizes, stride, dilation and padding of a convolution along one dimension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) input: u32,
    pub(super) taps: u32,
    pub(super) output: u32,
    pub(super) stride: u32,
    pub(super) dilation: u32,
    pub(super) padding: u32,
}

/// Outputs in equal steps, taps in equal steps, and the input elements that they meet, each as a function of
/// the output's and the tap's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Phase {
    /// The first output, the step between outputs, and their count.
    pub(super) outputs: [u32; 3],
    pub(super) taps: [u32; 3],
    /// The first input, which may be in the padding, and its distance to the next one for each output and each tap.
    pub(super) inputs: [i64; 3],
}

impl Extent {
    /// The extent of the spatial dimension `at`.
    pub(super) fn of(
        operator: &Validated,
        at: usize,
        [input, taps, output]: [u32; 3],
    ) -> Result<Self, Error> {
        let value = |name: &str| operator.uint_array(name).map(|it| it[at]);
        let [stride, dilation] = [value("Strides")?, value("Dilations")?];
        Ok(Self { input, taps, output, stride, dilation, padding: value("StartPadding")? })
    }

    /// One phase with all outputs.
    pub(super) fn forward(self) -> Vec<Phase> {
        vec![Phase {
            outputs: [0, 1, self.output],
            taps: [0, 1, self.taps],
            inputs: [-i64::from(self.padding), self.stride.into(), self.dilation.into()],
        }]
    }

    /// One phase for each output below the stride; a phase without taps has zeros.
    pub(super) fn backward(self) -> Vec<Phase> {
        (0..self.stride.min(self.output)).map(|first| self.phase(first)).collect()
    }

    fn phase(self, first: u32) -> Phase {
        let [stride, dilation, padding] = [self.stride, self.dilation, self.padding].map(i64::from);
        let place = i64::from(first) + padding;
        let step = self.stride / common_divisor(self.stride, self.dilation);
        let meets = |tap: &u32| (place - i64::from(*tap) * dilation) % stride == 0;
        let tap = (0..self.taps.min(step)).find(meets);
        let count = tap.map_or(0, |tap| (self.taps - tap).div_ceil(step));
        let tap = tap.unwrap_or(0);
        Phase {
            outputs: [first, self.stride, (self.output - first).div_ceil(self.stride)],
            taps: [tap, step, count],
            inputs: [
                (place - i64::from(tap) * dilation) / stride,
                1,
                -(i64::from(step) * dilation / stride),
            ],
        }
    }

    /// The number of zeros that these phases need before and after the input's elements.
    pub(super) fn margins(self, phases: &[Phase]) -> [u32; 2] {
        let mut margins = [0; 2];
        for phase in phases.iter().filter(|phase| phase.taps[2] > 0) {
            let [first, by_output, by_tap] = phase.inputs;
            let last_output = by_output * (i64::from(phase.outputs[2]) - 1);
            let last_tap = by_tap * (i64::from(phase.taps[2]) - 1);
            let lowest = first + last_output.min(0) + last_tap.min(0);
            let highest = first + last_output.max(0) + last_tap.max(0);
            let beyond = highest - i64::from(self.input) + 1;
            for (margin, needed) in margins.iter_mut().zip([-lowest, beyond]) {
                *margin = u32::try_from(needed.max(0)).unwrap_or(u32::MAX).max(*margin);
            }
        }
        margins
    }
}

fn common_divisor(mut one: u32, mut other: u32) -> u32 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pairs of taps and inputs that a phase has for an output.
    fn met(phases: &[Phase], output: u32) -> Vec<(u32, i64)> {
        let has = |phase: &&Phase| {
            let [first, step, count] = phase.outputs;
            output >= first
                && (output - first).is_multiple_of(step)
                && (output - first) / step < count
        };
        let phase = phases.iter().find(has).unwrap();
        let number = i64::from((output - phase.outputs[0]) / phase.outputs[1]);
        let [first, by_output, by_tap] = phase.inputs;
        let tap = |at: u32| {
            let input = first + number * by_output + i64::from(at) * by_tap;
            (phase.taps[0] + at * phase.taps[1], input)
        };
        (0..phase.taps[2]).map(tap).collect()
    }

    #[test]
    fn every_output_meets_every_tap_once() {
        for (stride, dilation, padding) in
            [(1, 1, 0), (1, 2, 1), (2, 1, 1), (2, 3, 2), (3, 2, 0), (4, 6, 5), (5, 5, 1)]
        {
            let (input, taps) = (4, 3);
            let output = (input - 1) * stride + (taps - 1) * dilation + 1 - padding;
            let extent = Extent { input, taps, output, stride, dilation, padding };
            let phases = extent.backward();
            for at in 0..output {
                let place = |tap: u32| i64::from(at + padding) - i64::from(tap * dilation);
                let step = i64::from(stride);
                let all = (0..taps).filter(|tap| place(*tap) % step == 0);
                let expected: Vec<_> = all.map(|tap| (tap, place(tap) / step)).collect();
                assert_eq!(met(&phases, at), expected, "{extent:?} {at}");
            }
        }
    }

    #[test]
    fn margins_hold_what_is_met_outside() {
        let extent = Extent { input: 5, taps: 3, output: 5, stride: 1, dilation: 2, padding: 2 };
        let phases = extent.forward();
        assert_eq!(met(&phases, 1), [(0, -1), (1, 1), (2, 3)]);
        assert_eq!(extent.margins(&phases), [2, 2]);
        let phases = extent.backward();
        assert_eq!(extent.margins(&phases), [2, 2]);
    }
}
