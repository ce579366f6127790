//! Discrete Fourier transforms of rows: products with tables of cosines and sines, which the host makes.

use smallvec::smallvec;
use std::f64::consts::TAU;

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::NodeInputs;
use crate::graph::ops::arithmetic::MULTIPLY;
use crate::graph::ops::cast::cast;
use crate::graph::ops::concat::join;
use crate::graph::ops::element_wise::ElementWise;
use crate::graph::ops::packed::count;
use crate::graph::ops::product::multiplied;
use crate::graph::ops::table::table;
use crate::graph::value::{Kind, Value};
use crate::limits;
use crate::tensor::host_elements;

/// A discrete Fourier transform of each row.
pub(super) struct Transform {
    /// The number of elements of a signal and its full spectrum.
    pub(super) length: u64,
    pub(super) is_inverse: bool,
    /// Whether spectra are one-sided.
    pub(super) is_half: bool,
    /// The window that multiplies the signal first.
    pub(super) window: Option<Vec<f64>>,
}

/// The types that GEMM supports.
pub(super) const TYPES: [ElementType; 2] = [ElementType::FLOAT32, ElementType::FLOAT16];

/// The number of elements of a table beyond which two smaller tables are preferred.
const LARGE: u64 = 1 << 18;

/// A table of factors: the weight of each part of an element read in each part of an element written.
struct Table<'a> {
    /// The number of tables, of elements read, and of elements written.
    sizes: [u64; 3],
    /// The parts of an element read: 1 for real numbers, 2 for complex ones.
    parts: u64,
    /// The angle, in units of a turn divided by the length, for a table, an element read and an element
    /// written.
    turn: &'a dyn Fn([u64; 3]) -> u64,
    /// The factor of an element read.
    scale: &'a dyn Fn(u64) -> f64,
}

/// The cosine and the sine of each angle.
type Turns = [[f64; 2]];

impl Transform {
    /// The number of elements read from each row, and of elements written.
    pub(super) fn sizes(&self, operands: &NodeInputs<'_>) -> Result<[u64; 2]> {
        if self.length == 0 {
            return Err(operands.node.invalid("dft_length", 0, "is not a length", "1 and more"));
        }
        let half = self.length / 2 + 1;
        Ok(match (self.is_half, self.is_inverse) {
            (false, _) => [self.length; 2],
            (true, false) => [self.length, half],
            (true, true) => [half, self.length],
        })
    }

    /// The parts of an element written: 1 for real signals, 2 for complex numbers.
    pub(super) fn written_parts(&self) -> u64 {
        if self.is_half && self.is_inverse { 1 } else { 2 }
    }

    /// Transforms rows of elements that have `parts` parts; the parts of the results are another dimension.
    pub(super) fn of(&self, operands: &NodeInputs<'_>, rows: &Value, parts: u64) -> Result<Value> {
        let element = rows.element()?;
        operands.type_is(element, &TYPES, "input")?;
        let rows = cast(operands, rows, ElementType::FLOAT32)?;
        let read = rows.shape()?.last().copied().unwrap_or(0) / parts;
        let [_, written] = self.sizes(operands)?;
        operands.budget.take(&[self.length])?;
        host_elements(&[self.length])?;
        let turns: Vec<[f64; 2]> = (0..self.length)
            .map(|it| TAU * it as f64 / self.length as f64)
            .map(|angle| [angle.cos(), if self.is_inverse { angle.sin() } else { -angle.sin() }])
            .collect();
        let results = match self.factors(read.saturating_mul(parts).saturating_mul(written)) {
            Some(factors) => {
                self.in_two_steps((operands, &turns), &rows, [read, parts, written], factors)?
            }
            None => {
                let turn = |[_, index, bin]: [u64; 3]| index * bin;
                let scale = |index| self.scale(index);
                let sizes = [1, read, written];
                let table = Table { sizes, parts, turn: &turn, scale: &scale };
                self.products((operands, &turns), &rows, &table, self.written_parts())?
            }
        };
        cast(operands, &results, element)
    }

    /// Factors of the length whose tables are smaller than one of `elements`; `None` if that is small, or there
    /// are none.
    fn factors(&self, elements: u64) -> Option<[u64; 2]> {
        let largest = |[first, second]: [u64; 2]| {
            let (first, second) = (2 * first.saturating_mul(first), 2 * self.length * second);
            first.max(second)
        };
        let most = limits::HOST_ELEMENTS.min(elements);
        let factors = (2..self.length).filter(|it| self.length.is_multiple_of(*it));
        let factors =
            factors.map(|factor| [factor, self.length / factor]).filter(|it| largest(*it) <= most);
        factors.min_by_key(|factor| largest(*factor)).filter(|_| elements > LARGE)
    }

    /// Transforms every `second`-th element, and combines the results (Cooley and Tukey, 1965).
    fn in_two_steps(
        &self,
        (operands, turns): (&NodeInputs<'_>, &Turns),
        rows: &Value,
        [read, parts, written]: [u64; 3],
        [first, second]: [u64; 2],
    ) -> Result<Value> {
        let mut shape = rows.shape()?.to_vec();
        shape.pop();
        let all = count(&shape);
        let rows = operands.reshaped(rows, &[all, read, parts])?;
        let scales =
            table(ElementType::FLOAT32, vec![read, 1], (0..read).map(|it| self.scale(it)))?;
        let rows = ElementWise::new(MULTIPLY).apply(operands, &[rows, scales])?;
        let missing = Kind {
            element: ElementType::FLOAT32,
            shape: smallvec![all, self.length - read, parts],
        };
        let rows = join(operands, &[&rows, &Value::fill(missing, 0)], 1, "input")?;
        let rows =
            operands.reshaped(&rows, &[all, first, second, parts])?.transposed(&[0, 2, 1, 3]);
        let rows = operands.reshaped(&rows, &[all, second, first * parts])?;
        let scale = |_| 1.0;
        let turn = |[_, index, bin]: [u64; 3]| index * bin * second;
        let table = Table { sizes: [1, first, first], parts, turn: &turn, scale: &scale };
        let found = self.products((operands, turns), &rows, &table, 2)?.transposed(&[2, 0, 1, 3]);
        let found = operands.reshaped(&found, &[first, all, second * 2])?;
        let turn = |[bin, index, column]: [u64; 3]| index * (bin + first * column);
        let table = Table { sizes: [first, second, second], parts: 2, turn: &turn, scale: &scale };
        let parts = self.written_parts();
        let found =
            self.products((operands, turns), &found, &table, parts)?.transposed(&[1, 2, 0, 3]);
        let found = operands.reshaped(&found, &[all, self.length, parts])?;
        // The first elements of each row.
        let found = found.seen(smallvec![all, written, parts], found.strides());
        operands.reshaped(&found, &[shape.as_slice(), &[written, parts]].concat())
    }

    /// The products of rows with the tables of `parts` parts, which are another dimension.
    fn products(
        &self,
        (operands, turns): (&NodeInputs<'_>, &Turns),
        rows: &Value,
        table: &Table<'_>,
        parts: u64,
    ) -> Result<Value> {
        let mut results = vec![];
        for part in 0..parts {
            let product = multiplied(operands, rows, &self.table((operands, turns), table, part)?)?;
            let shape = [product.shape()?, &[1]].concat();
            results.push(operands.reshaped(&product, &shape)?);
        }
        join(operands, &results.iter().collect::<Vec<_>>(), -1, "input")
    }

    fn table(
        &self,
        (operands, turns): (&NodeInputs<'_>, &Turns),
        of: &Table<'_>,
        part: u64,
    ) -> Result<Value> {
        let [tables, read, written] = of.sizes;
        let rows = read.saturating_mul(of.parts);
        let shape = if tables == 1 { vec![rows, written] } else { vec![tables, rows, written] };
        operands.budget.take(&shape)?;
        host_elements(&shape)?;
        let entry = |at: u64, row: u64, column: u64| {
            let (index, from) = (row / of.parts, row % of.parts);
            // All indices are within the host's limit, so that a product of three does not overflow.
            let turn = (of.turn)([at, index, column]) % self.length;
            let [real, imaginary] = turns[usize::try_from(turn).unwrap_or(0)];
            let factor = match (from, part) {
                (1, 0) => -imaginary,
                (0, 1) => imaginary,
                _ => real,
            };
            factor * (of.scale)(index)
        };
        let entry = &entry;
        let row = |at: u64, row: u64| (0..written).map(move |column| entry(at, row, column));
        let entries = (0..tables).flat_map(|at| (0..rows).flat_map(move |it| row(at, it)));
        table(ElementType::FLOAT32, shape, entries)
    }

    /// The factor of an element of a row.
    fn scale(&self, index: u64) -> f64 {
        let window = usize::try_from(index).ok().zip(self.window.as_ref());
        let window = window.and_then(|(at, window)| window.get(at)).copied().unwrap_or(1.0);
        if !self.is_inverse {
            return window;
        }
        // The omitted half of the spectrum contributes equally, except for elements without a counterpart.
        let is_alone = index == 0 || index * 2 == self.length;
        let count = if self.is_half && !is_alone { 2.0 } else { 1.0 };
        count * window / self.length as f64
    }
}
