//! Pooling windows along one dimension.

use dml_core::Error;
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions as f;
use dml_spirv::reduce::SUM_F32;

use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Recorder, Reduction};
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::tables::MOST_ELEMENTS;

/// A dimension with windows.
#[derive(Clone, Debug)]
pub(super) struct Along {
    /// Its dimension among the eight of a space.
    pub(super) at: usize,
    /// The number of the input's elements, and their stride.
    pub(super) size: u32,
    pub(super) stride: u32,
    /// The number of windows, and the distance between their beginnings.
    pub(super) windows: u32,
    pub(super) step: u32,
    /// The number of elements in a window, and the distance between them.
    pub(super) window: u32,
    pub(super) dilation: u32,
    /// The coordinate where the first window begins.
    pub(super) first: i64,
    /// The number of window elements with the same coordinate in this dimension, one after the other.
    pub(super) inner: u32,
}

impl Along {
    /// The coordinate of the last element of the last window.
    fn last(&self) -> i64 {
        let steps = i64::from(self.windows - 1) * i64::from(self.step);
        self.first + steps + i64::from(self.window - 1) * i64::from(self.dilation)
    }

    pub(super) fn is_inside(&self) -> bool {
        self.first >= 0 && self.last() < i64::from(self.size)
    }

    /// The numbers of the first window's elements that are inside of the input.
    pub(super) fn inside(&self) -> std::ops::Range<i64> {
        let dilation = i64::from(self.dilation);
        let before = ((-self.first).max(0) + dilation - 1) / dilation;
        let room = i64::from(self.size) - 1 - self.first;
        before..(room.div_euclid(dilation) + 1).min(self.window.into())
    }

    /// Whether the position of an element has to be computed.
    pub(super) fn is_tapped(&self) -> bool {
        self.window > 1 || !self.is_inside()
    }

    /// The extent of windows in the input, in elements.
    pub(super) fn reach(&self) -> u64 {
        if self.is_tapped() { u64::from(self.size - 1) * u64::from(self.stride) } else { 0 }
    }

    /// The least and the greatest coordinate of an element of a window.
    pub(super) fn coordinates(&self) -> [i64; 2] {
        [self.first, self.last()]
    }

    /// The beginning of the first window, and the distance between windows, in multiples of `unit`.
    pub(super) fn windows_by(&self, unit: i64) -> [i64; 2] {
        [self.first * unit, i64::from(self.step) * unit]
    }

    /// The greatest offset of an element from the first one of its window; if windows reach beyond the input,
    /// from the input's first element.
    pub(super) fn most_in_window(&self) -> u64 {
        let elements = match self.is_inside() {
            true => u64::from(self.window - 1) * u64::from(self.dilation),
            false => u64::from(self.size - 1),
        };
        elements * u64::from(self.stride)
    }

    /// Some of the windows with the part of the input that they need, and the coordinate at which that part begins.
    pub(super) fn part(&self, from: u32, windows: u32) -> (Self, u32) {
        let first = self.first + i64::from(from) * i64::from(self.step);
        let part = Self { windows, first, ..self.clone() };
        let limit = i64::from(self.size);
        let lowest = first.clamp(0, limit - 1);
        let size = (part.last() + 1).clamp(lowest + 1, limit) - lowest;
        let [lowest, size] = [lowest, size].map(|it| u32::try_from(it).expect("within a size"));
        (Self { size, first: first - i64::from(lowest), ..part }, lowest)
    }

    /// Adds the offset in this dimension of the window element with a number, in elements of `stride`.
    pub(super) fn tap(
        &self,
        map: &mut MapBuilder,
        number: Value,
        inner: u32,
        stride: u32,
    ) -> Value {
        let mut strides = [0; DIMENSIONS];
        strides[self.at] = i64::from(self.step);
        let first = map.input(Operand::numbers(self.first, with_row(strides)));
        let parameters = [inner, self.window, self.dilation, self.size, stride];
        map.apply(&f::TAP, &[number, first], &parameters)
    }
}

/// The dimensions with one for rows after the last, in place of the first, which is not used: tensors have at
/// most five.
pub(super) fn with_row<T: Copy>(mut dimensions: [T; DIMENSIONS]) -> [T; DIMENSIONS] {
    dimensions.rotate_left(1);
    dimensions
}

/// The operand with dimensions as in [`with_row`].
pub(super) fn moved(operand: &Operand) -> Operand {
    Operand { strides: with_row(operand.strides), ..operand.clone() }
}

impl Along {
    /// The number of a window's elements that are inside of the input.
    fn count_inside(&self, window: u32) -> f32 {
        let first = self.first + i64::from(window) * i64::from(self.step);
        let inside = Self { first, ..self.clone() }.inside();
        (inside.end - inside.start).max(0) as f32
    }

    /// Counts the elements of each window that are inside: in a constant table, or by steps that this adds.
    ///
    /// # Errors
    /// As [`Recorder::reduce`].
    pub(super) fn counts(&self, recorder: &mut Recorder<'_>) -> Result<Operand, Error> {
        let mut sizes = [1; DIMENSIONS];
        sizes[self.at] = self.windows;
        if u64::from(self.windows) <= MOST_ELEMENTS {
            let counts = (0..self.windows).map(|at| self.count_inside(at).to_bits());
            return Ok(recorder.table(counts.collect(), &sizes));
        }
        let counts = recorder.packed_temporary(ElementWidth::B32, &sizes);
        let mut map = MapBuilder::default();
        let mut row = [0; DIMENSIONS];
        row[DIMENSIONS - 1] = 1;
        let number = map.input(Operand::numbers(0, row));
        // 0 inside.
        let tap = self.tap(&mut map, number, 1, 0);
        let one = map.apply(&f::LOGICAL_NOT_WORD, &[tap], &[]);
        map.apply(&f::U32_TO_F32, &[one], &[]);
        let mut sizes = with_row(sizes);
        sizes[DIMENSIONS - 1] = self.window;
        let space = IterationSpace { sizes, inputs: map.inputs, output: moved(&counts) };
        let reduction = Reduction {
            program: map.computation.program,
            parameters: map.computation.parameters,
            ..Reduction::of(&SUM_F32)
        };
        recorder.reduce(space, reduction)?;
        Ok(counts)
    }
}
