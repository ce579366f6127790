//! Windows as rows of an iteration space: the position of each element of each window.
//!
//! The elements of a window are one row, and a table gives their offsets ([`super::taps`]): so windows
//! overlap, have gaps and reach beyond the tensor without a copy. If no window reaches beyond it and there
//! are few dimensions, or the windows are large, they are strides of the input instead.

use dml_core::Error;
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions as f;
use dml_spirv::reduce::{Reducer, SUM_F32};

use super::along::Along;
use crate::ir::space::{IterationSpace, Operand, bytes_shown};
use crate::ir::{Recorder, Reduction};
use crate::lowering::map_builder::MapBuilder;

/// An input and its windows.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    /// The input, with its base at coordinate 0.
    pub(super) input: Operand,
    /// The number of windows in each dimension.
    pub(super) sizes: [u32; DIMENSIONS],
    /// The windowed dimensions, outermost first.
    pub(super) along: Vec<Along>,
    /// The number in its window of the first element of each window.
    first_number: i64,
    /// Whether there is one window for each channel.
    is_global: bool,
    /// Whether elements outside are left out; sums would take them as +0.
    pub(super) is_clipped: bool,
}

/// The computation on the elements of windows.
pub(super) struct Making<'a> {
    /// Adds the computation on an element.
    pub(super) element: &'a dyn Fn(&mut MapBuilder, Element) -> Value,
    pub(super) reducer: &'static Reducer,
    /// The program on the reduced value, with parameters of its own.
    pub(super) last: &'a dyn Fn(&mut MapBuilder, Value),
}

/// The values of an element.
pub(super) struct Element {
    /// The element's bits; 0 outside.
    pub(super) value: Value,
    /// Its offset, [`f::NOWHERE`] outside, if windows reach beyond the input.
    pub(super) offset: Option<Value>,
    /// Its number in the window, to be read by the few computations that need it.
    pub(super) number: Operand,
    /// The elements of the other operands for the window.
    pub(super) others: Vec<Value>,
}

impl Windows {
    /// Windows along some dimensions, outermost first, in an input.
    pub(super) fn new(input: Operand, sizes: [u32; DIMENSIONS], mut along: Vec<Along>) -> Self {
        let mut inner = 1;
        for dimension in along.iter_mut().rev() {
            dimension.inner = inner;
            inner = inner.saturating_mul(dimension.window);
        }
        let is_global = along.iter().all(|it| it.windows == 1);
        Self { input, sizes, along, first_number: 0, is_global, is_clipped: false }
    }

    /// The number of elements in a window.
    pub(super) fn count(&self) -> u64 {
        self.along.iter().map(|it| u64::from(it.window)).product()
    }

    /// Whether no window reaches beyond the input.
    pub(super) fn are_inside(&self) -> bool {
        self.along.iter().all(Along::is_inside)
    }

    /// Adds the steps that write one element for each window; `others` and the output have one element for each.
    ///
    /// # Errors
    /// As [`Recorder::reduce`].
    pub(super) fn reduce(
        &self,
        recorder: &mut Recorder<'_>,
        making: &Making<'_>,
        others: &[Operand],
        output: &Operand,
    ) -> Result<(), Error> {
        if self.are_strides() {
            let (space, reduction) = self.as_strides(making, others, output);
            return recorder.reduce_windows(space, reduction);
        }
        if self.reach() <= recorder.most_shown() {
            let (space, reduction) = self.as_taps(recorder, making, others, output);
            return recorder.reduce_windows(space, reduction);
        }
        let Some(halves) = self.halves() else {
            let clipped = self.clipped();
            let (space, reduction) = match clipped.are_inside() {
                true => clipped.as_strides(making, others, output),
                false => clipped.as_taps(recorder, making, others, output),
            };
            return recorder.reduce_windows(space, reduction);
        };
        halves.into_iter().try_for_each(|(half, at, from)| {
            let moved = |it: &Operand| {
                let base = it.base + i64::from(from) * it.strides[at];
                Operand { base, ..it.clone() }
            };
            let others: Vec<Operand> = others.iter().map(moved).collect();
            half.reduce(recorder, making, &others, &moved(output))
        })
    }

    /// Whether windows are strides of the input.
    fn are_strides(&self) -> bool {
        const LARGE: u64 = 4096;
        let dimensions = self.along.iter().filter(|it| it.window > 1).count();
        self.are_inside() && (dimensions < 2 || self.is_global || self.count() > LARGE)
    }

    /// The bytes of the input that a descriptor must cover at once for the windows: their whole extent, so
    /// that no box has to be made for displacements that exceed a descriptor.
    fn reach(&self) -> u64 {
        bytes_shown(self.input.width, self.along.iter().map(Along::reach).sum())
    }

    /// Both halves of the windows, with the dimension that is halved and the beginning of each half. `None`
    /// for single windows.
    fn halves(&self) -> Option<[(Self, usize, u32); 2]> {
        let several = self.along.iter().enumerate().filter(|(_, it)| it.windows > 1);
        let (number, along) = several.max_by_key(|(_, it)| it.reach())?;
        let half = along.windows / 2;
        let part = |from: u32, windows: u32| {
            let (part, lowest) = along.part(from, windows);
            let mut all = self.clone();
            all.input.base += i64::from(lowest) * i64::from(along.stride);
            all.sizes[along.at] = windows;
            all.along[number] = part;
            (all, along.at, from)
        };
        Some([part(0, half), part(half, along.windows - half)])
    }

    /// Single windows without elements outside, unless all of their elements are outside.
    fn clipped(&self) -> Self {
        let mut clipped = Self { is_clipped: !self.are_inside(), ..self.clone() };
        let mut is_empty = false;
        for along in &mut clipped.along {
            let inside = along.inside();
            is_empty |= inside.is_empty();
            let elements = inside.end.saturating_sub(inside.start);
            along.first += inside.start * i64::from(along.dilation);
            along.window = u32::try_from(elements).unwrap_or(0);
            clipped.first_number += inside.start * i64::from(along.inner);
        }
        if is_empty {
            clipped.along.iter_mut().for_each(|it| (it.size, it.window, it.first) = (1, 1, -1));
        }
        clipped
    }

    /// The elements of windows as strides of the input.
    fn as_strides(
        &self,
        making: &Making<'_>,
        others: &[Operand],
        output: &Operand,
    ) -> (IterationSpace, Reduction) {
        let count = self.along.len();
        let moved = |it: &Operand| {
            let mut strides = it.strides;
            strides.rotate_left(count);
            Operand { strides, ..it.clone() }
        };
        let mut map = MapBuilder::default();
        let mut input = moved(&self.input);
        let mut numbers = [0; DIMENSIONS];
        let mut sizes = self.sizes;
        sizes.rotate_left(count);
        for (along, row) in self.along.iter().zip(DIMENSIONS - count..) {
            input.base += along.first * i64::from(along.stride);
            input.strides[along.at - count] = i64::from(along.stride) * i64::from(along.step);
            input.strides[row] = i64::from(along.stride) * i64::from(along.dilation);
            numbers[row] = i64::from(along.inner);
            sizes[row] = along.window;
        }
        let value = map.input(input);
        let others = others.iter().map(|other| map.input(moved(other))).collect();
        let number = Operand::numbers(self.first_number, numbers);
        let element = Element { value, offset: None, number, others };
        making.finish(map, element, self.is_clipped, sizes, moved(output))
    }

    /// Adds the steps that count the elements of windows inside of the input, for each dimension in which the
    /// count varies: one operand for each, to be multiplied.
    ///
    /// # Errors
    /// As [`Recorder::reduce`].
    pub(super) fn counts(&self, recorder: &mut Recorder<'_>) -> Result<Vec<Operand>, Error> {
        let along = self.along.iter().filter(|it| it.is_tapped());
        along.map(|along| along.counts(recorder)).collect()
    }

    /// Adds the quotient of a window's number by the count of its elements inside of the input.
    ///
    /// # Errors
    /// As [`Recorder::reduce`].
    pub(super) fn over_counts(
        &self,
        recorder: &mut Recorder<'_>,
        map: &mut MapBuilder,
        number: Value,
    ) -> Result<Value, Error> {
        let counts = self.counts(recorder)?;
        let counts = counts.into_iter().map(|count| map.input(count)).collect::<Vec<_>>();
        let product = counts.into_iter().reduce(|a, b| map.apply(&f::MULTIPLY_F32, &[a, b], &[]));
        Ok(match product {
            Some(count) => map.apply(&f::DIVIDE_F32, &[number, count], &[]),
            None => number,
        })
    }
}

impl Making<'_> {
    /// The space and the reduction that compute one element for each window from the values of its elements.
    pub(super) fn finish(
        &self,
        mut map: MapBuilder,
        element: Element,
        is_clipped: bool,
        sizes: [u32; DIMENSIONS],
        output: Operand,
    ) -> (IterationSpace, Reduction) {
        let value = (self.element)(&mut map, element);
        map.reduced(value, self.reducer, (sizes, output), |map, whole| {
            let whole = match is_clipped && *self.reducer == SUM_F32 {
                true => map.computation.scaled(whole, 1.0, 0.0),
                false => whole,
            };
            (self.last)(map, whole);
        })
    }
}
