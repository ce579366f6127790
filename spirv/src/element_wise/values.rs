//! A program on single elements, on the host.

use dml_core::host::HostError;

use super::program::{Access, Operand, Program, Value};

/// The values of a program for one element of a row, computed as they are needed.
pub(crate) struct Values<'a, L, P> {
    inputs: &'a [Operand],
    /// Loads the element of an input, displaced by so many elements.
    load: L,
    parameter: P,
    loaded: Vec<Option<u64>>,
    results: Vec<u64>,
}

impl<'a, L, P> Values<'a, L, P>
where
    L: FnMut(usize, u32) -> Result<u64, HostError>,
    P: Fn(usize) -> u32,
{
    /// Runs a program on these inputs.
    pub(crate) fn of(
        program: &Program,
        inputs: &'a [Operand],
        load: L,
        parameter: P,
    ) -> Result<Self, HostError> {
        let (loaded, results) = (vec![None; inputs.len()], Vec::with_capacity(program.steps.len()));
        let mut values = Self { inputs, load, parameter, loaded, results };
        for step in &program.steps {
            let arguments: Result<Vec<u64>, _> =
                step.arguments.iter().map(|it| values.get(*it)).collect();
            values.results.push((step.function.twin)(&arguments?));
        }
        Ok(values)
    }

    /// A value of the program.
    pub(crate) fn get(&mut self, value: Value) -> Result<u64, HostError> {
        let index = match value {
            Value::Result(index) => return Ok(self.results[index]),
            Value::Parameter(index) => return Ok((self.parameter)(index as usize).into()),
            Value::Input(index) => index,
        };
        if let Some(element) = self.loaded[index] {
            return Ok(element);
        }
        let by = self.displacement(self.inputs[index].access)?;
        let element = (self.load)(index, by)?;
        self.loaded[index] = Some(element);
        Ok(element)
    }

    /// The number of elements that an operand is displaced by.
    pub(crate) fn displacement(&mut self, access: Access) -> Result<u32, HostError> {
        access.displacement().map_or(Ok(0), |by| Ok(super::memory::low_word(self.get(by)?)))
    }
}
