//! The windows that contain an element: all `w` with an element `e` such that `w * step + e * dilation =
//! coordinate + padding`, in each dimension. The number with fewer candidates is tried, and the other one
//! follows from it.

use dml_core::{DataType, Error};
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions as f;
use dml_spirv::reduce::SUM_F32;

use super::along::{Along, moved, with_row};
use crate::ir::Recorder;
use crate::ir::space::{Displacement, Operand, bytes_shown};
use crate::lowering::conversion::{narrowed, widened};
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::tables::MOST_ELEMENTS;

/// The dimension of a space that numbers the candidates for the windows of an element.
const ROW: usize = DIMENSIONS - 1;

/// A dimension of elements, and the windows along it.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    /// The dimension's index among those of a space.
    at: usize,
    /// The position of the first element, counted from the beginning of the first window.
    first: i64,
    /// The stride in elements from a window's gradient to the next one.
    stride: i64,
    windows: u32,
    step: u32,
    window: u32,
    dilation: u32,
}

impl Spread {
    /// The dimension of `along`, for gradients with the strides of `gradients`.
    pub(super) fn of(along: &Along, gradients: &Operand) -> Self {
        Self {
            at: along.at,
            first: -along.first,
            stride: gradients.strides[along.at],
            windows: along.windows,
            step: along.step,
            window: along.window,
            dilation: along.dilation,
        }
    }

    /// The distance from the first element of a window to the last one.
    fn length(&self) -> i64 {
        i64::from(self.window - 1) * i64::from(self.dilation)
    }

    /// The number of windows to try, and the number of elements within a window to try.
    fn candidates(&self) -> [u32; 2] {
        let fewer = |length: i64, by: u32, most: u32| {
            u32::try_from(length / i64::from(by) + 1).unwrap_or(u32::MAX).min(most)
        };
        let all = i64::from(self.windows - 1) * i64::from(self.step);
        [fewer(self.length(), self.step, self.windows), fewer(all, self.dilation, self.window)]
    }

    /// The smaller number of candidates.
    fn row(&self) -> u32 {
        let [windows, elements] = self.candidates();
        windows.min(elements)
    }

    /// The distance from the first gradient to the last one, in elements.
    fn reach(&self) -> u64 {
        u64::from(self.windows - 1) * self.stride.unsigned_abs()
    }

    /// A range of the elements with only the windows that may contain them, and the number of windows skipped
    /// before these.
    fn part(&self, from: u32, count: u32) -> (Self, u32) {
        let (first, step) = (self.first + i64::from(from), i64::from(self.step));
        let last = first + i64::from(count) - 1;
        let greatest = (last / step).min(i64::from(self.windows) - 1);
        let least = (first - self.length() + step - 1).div_euclid(step);
        let least = least.max(0).min(first / step).min(greatest);
        let [skipped, windows] =
            [least, greatest - least + 1].map(|it| u32::try_from(it).expect("within the windows"));
        (Self { first: first - least * step, windows, ..self.clone() }, skipped)
    }

    /// Adds the offset in elements of a window's gradient, from the number of the candidate and the position.
    /// Numbers of candidates are divided by `inner` for this dimension.
    fn offset(&self, map: &mut MapBuilder, [number, position]: [Value; 2], inner: u32) -> Value {
        let stride = u32::try_from(self.stride).unwrap_or(0);
        let [windows, elements] = self.candidates();
        let parameters = match windows <= elements {
            true => {
                let window = [self.step, self.windows, stride];
                let element = [self.dilation, 0, self.window];
                [window, element].concat()
            }
            false => {
                let element = [self.dilation, self.window, 0];
                let window = [self.step, stride, self.windows];
                [element, window].concat()
            }
        };
        let parameters = [vec![inner, self.row()], parameters].concat();
        map.apply(&f::PAIR_OF_CANDIDATE, &[number, position], &parameters)
    }

    /// An operand of the positions of elements, in a space that ends with the candidates.
    fn positions(&self) -> Operand {
        let mut strides = [0; DIMENSIONS];
        strides[self.at] = 1;
        Operand::numbers(self.first, with_row(strides))
    }

    /// The windows that contain the only element, which are evenly spaced: the first one, the step, and the count.
    fn of_one_element(&self) -> (u32, u32, u32) {
        let (step, dilation) = (i64::from(self.step), i64::from(self.dilation));
        let least = ((self.first - self.length()).max(0) + step - 1) / step;
        let greatest = (self.first / step).min(i64::from(self.windows) - 1);
        let mut all =
            (least..=greatest).filter(|window| (self.first - window * step) % dilation == 0);
        let (first, second) = (all.next(), all.next());
        let (first, apart, count) = match (first, second) {
            (Some(first), Some(second)) => {
                (first, second - first, (greatest - first) / (second - first) + 1)
            }
            (Some(first), None) => (first, 1, 1),
            _ => (0, 1, 0),
        };
        let number = |it: i64| u32::try_from(it).expect("within the windows");
        (number(first), number(apart), number(count))
    }
}

/// The gradients of windows, and how they are summed for each element.
#[derive(Clone)]
pub(super) struct Spreading {
    pub(super) along: Vec<Spread>,
    pub(super) gradients: Operand,
    /// The type of the gradients in their buffer.
    pub(super) loaded: DataType,
    /// The number of the element that each window chooses, laid out as the gradients are; `None` where all
    /// elements share.
    pub(super) chosen: Option<Operand>,
    /// The divisor of the sums.
    pub(super) divisor: Option<f32>,
    /// The type of the output.
    pub(super) data_type: DataType,
}

impl Spreading {
    /// Adds the steps that write an element of the output for each coordinate of `sizes`.
    ///
    /// # Errors
    /// As [`Recorder::reduce`].
    pub(super) fn write(
        &self,
        recorder: &mut Recorder<'_>,
        sizes: [u32; DIMENSIONS],
        output: &Operand,
    ) -> Result<(), Error> {
        let own = Operand::numbers(0, [0; DIMENSIONS]).packed(&sizes);
        self.write_part(recorder, sizes, [output, &own])
    }

    /// Adds the steps for a part of the elements; `own` are the elements' numbers.
    fn write_part(
        &self,
        recorder: &mut Recorder<'_>,
        sizes: [u32; DIMENSIONS],
        [output, own]: [&Operand; 2],
    ) -> Result<(), Error> {
        let reach = self.along.iter().map(Spread::reach).sum();
        let most = recorder.most_shown();
        let is_shown = |it: &Operand| bytes_shown(it.width, reach) <= most;
        if [Some(&self.gradients), self.chosen.as_ref()].into_iter().flatten().all(is_shown) {
            return self.by_candidates(recorder, sizes, [output, own], reach);
        }
        let several = self.along.iter().enumerate().filter(|(_, it)| sizes[it.at] > 1);
        let Some((number, along)) = several.max_by_key(|(_, it)| it.reach()) else {
            return self.one_element(recorder, sizes, [output, own]);
        };
        let (at, half) = (along.at, sizes[along.at] / 2);
        for (from, count) in [(0, half), (half, sizes[at] - half)] {
            let (part, skipped) = along.part(from, count);
            let moved = |it: &Operand, by: u32| {
                let base = it.base + i64::from(by) * it.strides[at];
                Operand { base, ..it.clone() }
            };
            let mut rest = self.clone();
            rest.along[number] = part;
            rest.gradients = moved(&self.gradients, skipped);
            rest.chosen = self.chosen.as_ref().map(|chosen| moved(chosen, skipped));
            let mut sizes = sizes;
            sizes[at] = count;
            rest.write_part(recorder, sizes, [&moved(output, from), &moved(own, from)])?;
        }
        Ok(())
    }

    /// Tries every window that may contain an element.
    fn by_candidates(
        &self,
        recorder: &mut Recorder<'_>,
        sizes: [u32; DIMENSIONS],
        [output, own]: [&Operand; 2],
        reach: u64,
    ) -> Result<(), Error> {
        let mut map = MapBuilder::default();
        let row = self.along.iter().map(Spread::row).fold(1, u32::saturating_mul);
        let mut space = with_row(sizes);
        space[ROW] = row;
        let gradients = |it: &Operand| {
            let mut operand = it.clone();
            self.along.iter().for_each(|along| operand.strides[along.at] = 0);
            moved(&operand)
        };
        let gradient = map.input(gradients(&self.gradients));
        let chosen = self.chosen.as_ref().map(|chosen| map.input(gradients(chosen)));
        let (mut offset, mut inner, mut number) = (None, 1_u32, None);
        let mut in_row = [0; DIMENSIONS];
        in_row[ROW] = 1;
        for along in self.along.iter().rev() {
            let mut table = [1; DIMENSIONS];
            (table[along.at - 1], table[ROW]) = (sizes[along.at], row);
            let tap = if u64::from(row) * u64::from(sizes[along.at]) <= MOST_ELEMENTS {
                let [tap] = map.tabulated(recorder, table, |map| {
                    let number = map.input(Operand::numbers(0, in_row));
                    let position = map.input(along.positions());
                    [along.offset(map, [number, position], inner)]
                });
                tap
            } else {
                let number = *number.get_or_insert_with(|| map.input(Operand::numbers(0, in_row)));
                let position = map.input(along.positions());
                along.offset(&mut map, [number, position], inner)
            };
            offset = Some(match offset {
                Some(offset) => map.apply(&f::JOINED, &[offset, tap], &[]),
                None => tap,
            });
            inner = inner.saturating_mul(along.row());
        }
        for input in 0..=usize::from(chosen.is_some()) {
            map.inputs[input].displacement = offset.map(|by| Displacement::new(by, reach));
        }
        let own = chosen.map(|chosen| (chosen, map.input(moved(own))));
        self.sum(recorder, map, (gradient, own, offset), space, moved(output))
    }

    /// Sums the windows of one element of each channel, which are evenly spaced.
    fn one_element(
        &self,
        recorder: &mut Recorder<'_>,
        mut sizes: [u32; DIMENSIONS],
        [output, own]: [&Operand; 2],
    ) -> Result<(), Error> {
        let mut map = MapBuilder::default();
        let (mut gradients, mut chosen) = (self.gradients.clone(), self.chosen.clone());
        let (mut output, mut own) = (output.clone(), own.clone());
        let mut is_in_none = false;
        for along in &self.along {
            let (first, apart, count) = along.of_one_element();
            is_in_none |= count == 0;
            for operand in [Some(&mut gradients), chosen.as_mut()].into_iter().flatten() {
                operand.base += i64::from(first) * operand.strides[along.at];
                operand.strides[along.at] *= i64::from(apart);
            }
            (output.strides[along.at], own.strides[along.at]) = (0, 0);
            sizes[along.at] = count.max(1);
        }
        if is_in_none {
            self.along.iter().for_each(|along| sizes[along.at] = 1);
            let zero = recorder.constant(output.width, 0);
            map.input(zero);
            return map.record(recorder, sizes, output);
        }
        let gradient = map.input(gradients);
        let chosen = chosen.map(|chosen| {
            let chosen = map.input(chosen);
            (chosen, map.input(own))
        });
        self.sum(recorder, map, (gradient, chosen, None), sizes, output)
    }

    /// Adds the Reduce that sums gradients; with chosen elements, only of windows that chose the element.
    fn sum(
        &self,
        recorder: &mut Recorder<'_>,
        mut map: MapBuilder,
        (gradient, chosen, offset): (Value, Option<(Value, Value)>, Option<Value>),
        sizes: [u32; DIMENSIONS],
        output: Operand,
    ) -> Result<(), Error> {
        let mut value = map.apply_all(widened(self.loaded), gradient);
        if let Some((chosen, own)) = chosen {
            let is_chosen = map.apply(&f::EQUALS_I32, &[chosen, own], &[]);
            // All bits are set where both are equal.
            let mask = map.apply(&f::OPPOSITE_I32, &[is_chosen], &[]);
            value = map.apply(&f::BIT_AND_WORD, &[value, mask], &[]);
            if let Some(offset) = offset {
                // Without a window the number read is 0, which is also the number of an element.
                value = map.apply(&f::UNLESS_NOWHERE, &[value, offset], &[0]);
            }
        }
        if map.computation.program.steps.is_empty() {
            value = map.apply(&f::SAME, &[value], &[]);
        }
        let (space, reduction) = map.reduced(value, &SUM_F32, (sizes, output), |map, mut sum| {
            if let Some(divisor) = self.divisor {
                sum = map.apply(&f::DIVIDE_BY_F32, &[sum], &[divisor.to_bits()]);
            }
            // Adding 0 makes -0 positive.
            let sum = map.computation.scaled(sum, 1.0, 0.0);
            map.apply_all(narrowed(self.data_type), sum);
        });
        recorder.reduce(space, reduction)
    }
}
