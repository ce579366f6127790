//! Rows of an iteration space on the host: the executor of linked kernels.
//!
//! A kernel is a sequence of the executor's computations, each of which is written once: [`Row::value`] of a
//! formula, [`Row::map`], [`Row::keep`], and reductions, which [`crate::reduce`] adds. Kernels differ in the
//! rows and elements that an invocation or a work group computes.

use std::ops::Range;

use dml_core::host::{HostDispatch, HostError};

use super::formula::{Formula, Source};
use super::memory::KernelOperands;
use super::program::{AccessPattern, OUTPUT};
use super::record::{Coordinate, QUAD};
use super::steps::Value;
use super::{Second, low_word};
use crate::functions::NOWHERE;

/// A row while a kernel computes with it.
pub(crate) struct Row<'r, 'd> {
    operands: &'r KernelOperands<'r>,
    dispatch: &'r mut HostDispatch<'d>,
    pub(crate) coordinate: Coordinate,
    /// The values of the row, as [`Source::Row`] numbers them.
    pub(crate) values: Vec<u64>,
    /// The kept value of each element.
    pub(crate) kept: Vec<u64>,
}

impl<'r, 'd> Row<'r, 'd> {
    /// The row at `coordinate`.
    pub(crate) fn at(
        operands: &'r KernelOperands<'r>,
        dispatch: &'r mut HostDispatch<'d>,
        coordinate: Coordinate,
    ) -> Self {
        Self { operands, dispatch, coordinate, values: vec![], kept: vec![] }
    }

    /// The number of elements in the row.
    pub(crate) fn len(&self) -> u32 {
        self.operands.space.inner()
    }

    /// The size of an outer dimension, of a kernel with all of them.
    pub(crate) fn size(&self, dimension: usize) -> u32 {
        self.operands.space.outer_size(dimension)
    }

    /// The element of an input that is not displaced.
    pub(crate) fn element(&mut self, input: usize, at: u32) -> Result<u64, HostError> {
        self.operands.load(self.dispatch, &self.coordinate, (input, 0), at)
    }

    /// The value of a formula for the element at `at`.
    pub(crate) fn value(&mut self, formula: &Formula, at: u32) -> Result<u64, HostError> {
        let mut element = Element::of(self, formula, at)?;
        element.value(formula.program.last())
    }

    /// Keeps the value of a formula for each element.
    pub(crate) fn keep(
        &mut self,
        formula: &Formula,
        elements: Range<u32>,
    ) -> Result<(), HostError> {
        let kept: Result<_, _> = elements.map(|at| self.value(formula, at)).collect();
        self.kept = kept?;
        Ok(())
    }

    /// Writes the value of a formula to each element of the output, quad after quad, and a second value where
    /// the kernel has one.
    pub(crate) fn map(
        &mut self,
        formula: &Formula,
        second: Option<Second>,
        elements: Range<u32>,
    ) -> Result<(), HostError> {
        for first in elements.clone().step_by(QUAD as usize) {
            let mut quad = Vec::with_capacity(QUAD as usize);
            for at in first..elements.end.min(first + QUAD) {
                let place = self.place(at);
                let mut element = Element::of(self, formula, at)?;
                let by = element.displacement(element.row.operands.output.access)?;
                let value = element.value(formula.program.last())?;
                if by != NOWHERE {
                    quad.push((place.wrapping_add(by), value));
                }
                if let Some(Second { value, distance }) = second {
                    let (value, by) = (element.value(value)?, element.parameter(distance));
                    self.store(place.wrapping_add(by), value)?;
                }
            }
            self.store_quad(&quad)?;
        }
        Ok(())
    }

    /// The output's element at `at`.
    pub(crate) fn place(&self, at: u32) -> u32 {
        self.operands.space.element(OUTPUT, &self.coordinate, at)
    }

    /// Writes an element of the output.
    pub(crate) fn store(&mut self, element: u32, value: u64) -> Result<(), HostError> {
        self.operands.store(self.dispatch, element, value)
    }

    /// Writes the row's element of an input.
    pub(crate) fn store_to_input(&mut self, input: usize, value: u64) -> Result<(), HostError> {
        self.operands.store_to_input(self.dispatch, &self.coordinate, input, value)
    }

    /// Writes elements of the output, each with its value.
    pub(crate) fn store_quad(&mut self, quad: &[(u32, u64)]) -> Result<(), HostError> {
        self.operands.store_quad(self.dispatch, quad)
    }
}

/// The values of a formula for one element.
struct Element<'e, 'r, 'd> {
    row: &'e mut Row<'r, 'd>,
    formula: &'e Formula,
    at: u32,
    /// The sources that have been loaded.
    loaded: Vec<Option<u64>>,
    results: Vec<u64>,
}

impl<'e, 'r, 'd> Element<'e, 'r, 'd> {
    /// Runs the formula's program.
    fn of(row: &'e mut Row<'r, 'd>, formula: &'e Formula, at: u32) -> Result<Self, HostError> {
        let loaded = vec![None; formula.sources.len()];
        let mut element = Self { row, formula, at, loaded, results: vec![] };
        element.results = formula.program.results(|value, results| element.read(value, results))?;
        Ok(element)
    }

    /// A value of the program.
    fn value(&mut self, value: Value) -> Result<u64, HostError> {
        let results = std::mem::take(&mut self.results);
        let read = self.read(value, &results);
        self.results = results;
        read
    }

    fn parameter(&self, number: u32) -> u32 {
        self.row.operands.space.parameter(number as usize)
    }

    /// The number of elements that an operand is displaced by.
    fn displacement(&mut self, access: AccessPattern) -> Result<u32, HostError> {
        access.displacement().map_or(Ok(0), |by| self.value(by).map(low_word))
    }

    /// A value of the program, after these results. Sources are loaded as they are needed.
    fn read(&mut self, value: Value, results: &[u64]) -> Result<u64, HostError> {
        let source = match value {
            Value::Result(step) => return Ok(results[step]),
            Value::Parameter(number) => return Ok(self.parameter(number).into()),
            Value::Input(source) => source,
        };
        if let Some(element) = self.loaded[source] {
            return Ok(element);
        }
        let element = match self.formula.sources[source] {
            Source::Operand(input) => {
                let by = self.row.operands.inputs[input].access.displacement();
                let by = by.map_or(Ok(0), |by| self.read(by, results).map(low_word))?;
                let Row { operands, dispatch, coordinate, .. } = &mut *self.row;
                operands.load(dispatch, coordinate, (input, by), self.at)?
            }
            Source::Row(number) => self.row.values[number],
            Source::Kept => self.row.kept[self.at as usize],
        };
        self.loaded[source] = Some(element);
        Ok(element)
    }
}
