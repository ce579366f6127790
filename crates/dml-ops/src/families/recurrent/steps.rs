//! The first states of a layer, and the Maps that write the next ones.

use dml_core::Error;
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::DIMENSIONS;

use super::axes::{HIDDEN, SEQUENCES};
use super::layer::{At, Layer, ROWS, State};
use super::network::Network;
use super::program::CellProgram;
use super::states::{Kind, are_by_sequences};
use crate::families::products::Storage;
use crate::ir::BufferPosition;
use crate::ir::space::Operand;

impl<'a> Layer<'_, 'a> {
    pub(super) fn first_state(&mut self) -> Result<State, Error> {
        let by_sequences = Storage { innermost: 2, is_copied: true, ..ROWS };
        let of_hidden = if are_by_sequences(&self.network) { &by_sequences } else { &ROWS };
        Ok(State {
            hidden: self.given("HiddenInitTensor", of_hidden)?,
            cell: self.given("CellMemInitTensor", &ROWS)?,
        })
    }

    /// Initial states from an input, if it is present.
    fn given(
        &mut self,
        name: &'static str,
        storage: &Storage<'_>,
    ) -> Result<Option<Operand>, Error> {
        if self.products.input(name)?.is_none() {
            return Ok(None);
        }
        let words = self.products.factor([name, ""], storage)?;
        let BufferPosition { buffer, base, .. } = self.of_direction(&words, 0);
        let mut strides = [0; DIMENSIONS];
        (strides[SEQUENCES], strides[HIDDEN]) = (words.strides[2], words.strides[3]);
        Ok(Some(Operand { strides, ..Operand::at(buffer, ElementWidth::B32, base) }))
    }

    /// Writes the program's result as the next state of all sequences that have the step; the others keep
    /// their state.
    pub(super) fn next(
        &mut self,
        mut program: CellProgram<'a>,
        at: &At,
        kind: Kind,
    ) -> Result<Option<Operand>, Error> {
        if let Some(masks) = self.masks_of(at.time) {
            let before = match kind {
                Kind::Hidden => &at.before.hidden,
                Kind::Cell => &at.before.cell,
            };
            program.keep_past_end(masks, before.as_ref());
        }
        let Network { sequences, hidden, .. } = self.network;
        let output = self.states.at(at.time, kind);
        self.compute([1, sequences, hidden], program, output.clone())?;
        Ok(Some(output))
    }
}
