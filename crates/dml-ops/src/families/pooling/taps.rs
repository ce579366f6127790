//! Windows as rows of taps: how the elements of a window are found in the input.
//!
//! A tap is an element of a window, by its number. A table gives its offset from the window's first element.
//! Where windows reach beyond the input a second table gives the coordinates of each tap in the window, those
//! of all such dimensions in one word ([`Coordinates`]), so that a kernel adds and compares, but neither
//! divides nor multiplies. Offsets that do not fit tables are computed for each tap.

use dml_core::Error;
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions::{self as f, Function};

use super::along::{Along, moved, with_row};
use super::coordinates::Coordinates;
use super::space::{Element, Making, Windows};
use crate::ir::space::{Displacement, IterationSpace, Operand, bytes_shown};
use crate::ir::{Recorder, Reduction};
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::tables::{MOST_ELEMENTS, word};

impl Windows {
    /// The iteration space and the reduction of windows whose elements are one row each.
    pub(super) fn as_taps(
        &self,
        recorder: &mut Recorder<'_>,
        making: &Making<'_>,
        others: &[Operand],
        output: &Operand,
    ) -> (IterationSpace, Reduction) {
        let mut map = MapBuilder::default();
        let value = map.input(moved(&self.input));
        let offset = match self.coordinates() {
            Some(coordinates) => Some(self.tabulated(recorder, &mut map, &coordinates)),
            None => self.computed(&mut map),
        };
        let most = self.most_displaced();
        map.inputs[0].displacement = offset.map(|by| Displacement::new(by, most));
        let others = others.iter().map(|other| map.input(moved(other))).collect();
        let offset = offset.filter(|_| !self.are_inside());
        let mut sizes = with_row(self.sizes);
        sizes[DIMENSIONS - 1] = u32::try_from(self.count()).unwrap_or(u32::MAX);
        let number = Operand::numbers(0, row_strides());
        let element = Element { value, offset, number, others };
        making.finish(map, element, self.is_clipped, sizes, moved(output))
    }

    /// The packed coordinates of dimensions where windows reach beyond the input; `None` where offsets are
    /// computed without tables.
    fn coordinates(&self) -> Option<Coordinates> {
        let outside = self.along.iter().filter(|it| !it.is_inside());
        if self.count() > MOST_ELEMENTS { None } else { Coordinates::of(outside) }
    }

    /// The greatest offset that is added to the element that the strides of windows lead to.
    fn most_displaced(&self) -> u64 {
        match self.coordinates() {
            Some(_) => self.along.iter().map(Along::most_in_window).sum(),
            None => self.along.iter().map(Along::reach).sum(),
        }
    }

    /// Adds the offset of an element, from tables. Dimensions in which no window reaches beyond the input use
    /// strides.
    fn tabulated(
        &self,
        recorder: &mut Recorder<'_>,
        map: &mut MapBuilder,
        coordinates: &Coordinates,
    ) -> Value {
        let further = map.input(self.table(recorder, |it| it.stride.into()));
        let mut start = Operand::numbers(0, [0; DIMENSIONS]);
        for along in &self.along {
            let [first, step] = along.windows_by(along.stride.into());
            map.inputs[0].strides[along.at - 1] = if along.is_inside() { step } else { 0 };
            if along.is_inside() {
                map.inputs[0].base += first;
            } else {
                start.base += first;
                start.strides[along.at - 1] = step;
            }
        }
        if self.are_inside() {
            return further;
        }
        let start = map.input(start);
        let first = map.input(moved(&coordinates.of_windows));
        let further_coordinates = self.table(recorder, |it| coordinates.unit(it));
        let further_coordinates = map.input(further_coordinates);
        let elements = [start, further, first, further_coordinates];
        map.apply(&f::INSIDE_OFFSET, &elements, &[coordinates.sizes, coordinates.guards])
    }

    /// A table with a word for each tap: the sum over the dimensions of its coordinate in the window times `unit`.
    fn table(&self, recorder: &mut Recorder<'_>, unit: impl Fn(&Along) -> i64) -> Operand {
        let count = u32::try_from(self.count()).expect("few taps");
        let of = |number: u32| {
            let coordinate = |it: &Along| i64::from(number / it.inner % it.window * it.dilation);
            let terms = self.along.iter().map(|it| coordinate(it).wrapping_mul(unit(it)));
            word(terms.fold(0_i64, i64::wrapping_add).cast_unsigned())
        };
        let table = recorder.table((0..count).map(of).collect(), &[count]);
        Operand { strides: row_strides(), ..table }
    }

    /// Adds the offset of an element, computed from its number in the window; `None` where strides are enough.
    fn computed(&self, map: &mut MapBuilder) -> Option<Value> {
        let number = map.input(Operand::numbers(0, row_strides()));
        let mut offset = None;
        for along in &self.along {
            let [first, step] = along.windows_by(along.stride.into());
            let input = &mut map.inputs[0];
            if along.is_tapped() {
                input.strides[along.at - 1] = 0;
                let tap = along.tap(map, number, along.inner, along.stride);
                offset = Some(join(map, offset, tap));
            } else {
                input.strides[along.at - 1] = step;
                input.base += first;
            }
        }
        offset
    }

    /// Adds the steps that write the number of an input's element for its number in the window, after the
    /// functions of `conversion`; all bits are set where there is no element. `packed` has the strides of the
    /// packed input.
    ///
    /// # Errors
    /// As [`Recorder::map`].
    pub(super) fn write_numbers(
        &self,
        recorder: &mut Recorder<'_>,
        number: &Operand,
        packed: &Operand,
        conversion: Vec<&'static Function>,
        output: &Operand,
    ) -> Result<(), Error> {
        let mut map = MapBuilder::default();
        let number = map.input(moved(number));
        let most = self.count() - 1;
        let is_shown = bytes_shown(ElementWidth::B32, most) <= recorder.most_shown();
        let number = if most < MOST_ELEMENTS && is_shown {
            let table = self.table(recorder, |it| packed.strides[it.at]);
            let by = Displacement::new(number, most);
            let strides = [0; DIMENSIONS];
            let displacement = Some(by);
            let further = map.input(Operand { strides, displacement, has_slack: false, ..table });
            let mut start = packed.clone();
            for along in &self.along {
                let [first, step] = along.windows_by(packed.strides[along.at]);
                start.base += first;
                start.strides[along.at] = step;
            }
            let start = map.input(moved(&start));
            let sum = map.apply(&f::ADD_I32, &[start, further], &[]);
            map.apply(&f::UNLESS_NOWHERE, &[sum, number], &[f::NOWHERE])
        } else {
            self.computed_number(&mut map, number, packed)
        };
        map.apply_all(conversion, number);
        map.record(recorder, with_row(self.sizes), moved(output))
    }

    /// Adds the number of an input's element, computed from its number in the window.
    fn computed_number(&self, map: &mut MapBuilder, number: Value, packed: &Operand) -> Value {
        let mut others = packed.clone();
        let mut offset = None;
        for along in &self.along {
            let stride = u32::try_from(packed.strides[along.at]).unwrap_or(0);
            others.strides[along.at] = 0;
            let tap = along.tap(map, number, along.inner, stride);
            offset = Some(join(map, offset, tap));
        }
        let others = map.input(moved(&others));
        join(map, offset, others)
    }
}

/// The strides of a table with one element for each tap.
fn row_strides() -> [i64; DIMENSIONS] {
    let mut row = [0; DIMENSIONS];
    row[DIMENSIONS - 1] = 1;
    row
}

/// The sum of two offsets; nowhere where one of them is.
fn join(map: &mut MapBuilder, offset: Option<Value>, other: Value) -> Value {
    match offset {
        Some(offset) => map.apply(&f::JOINED, &[offset, other], &[]),
        None => other,
    }
}
