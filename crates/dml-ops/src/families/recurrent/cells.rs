//! The cells of recurrent networks: each computes the state of a step from the state before it.

use dml_core::Error;
use dml_spirv::functions as f;

use super::layer::{At, Layer, State};
use super::network::flag;
use crate::ir::space::Operand;

/// Records a step of an RNN: `h = f(s)`.
pub(super) fn simple(layer: &mut Layer<'_, '_>, at: &At) -> Result<State, Error> {
    if let Some(hidden) = &at.before.hidden {
        layer.add_up(hidden, at.time, 0..1)?;
    }
    let mut program = layer.program();
    let sum = program.read(layer.gate(at.time, 0));
    program.function(0, sum)?;
    Ok(State { hidden: layer.next_hidden(program, at)?, cell: None })
}

/// The gates of an LSTM in the order of its weights; the first three have peepholes.
const INPUT: u32 = 0;
const OUTPUT: u32 = 1;
const FORGET: u32 = 2;
const CELL: u32 = 3;

/// Records a step of an LSTM: `c = f c + i g(s_c)`, `h = o h(c)`.
pub(super) fn long_short_term(layer: &mut Layer<'_, '_>, at: &At) -> Result<State, Error> {
    if let Some(hidden) = &at.before.hidden {
        layer.add_up(hidden, at.time, 0..4)?;
    }
    let mut program = layer.program();
    let before = at.before.cell.clone().map(|it| program.read(it));
    let input = program.read(layer.gate(at.time, INPUT));
    let input = program.seeing(input, layer.peephole(INPUT)?, before);
    let input = program.function(0, input)?;
    let new = program.read(layer.gate(at.time, CELL));
    let new = program.function(1, new)?;
    let kept = match before {
        None => None,
        Some(before) => {
            let forget = if flag(layer.operator, "CoupleInputForget")? {
                program.rest(input)
            } else {
                let forget = program.read(layer.gate(at.time, FORGET));
                let forget = program.seeing(forget, layer.peephole(FORGET)?, Some(before));
                program.function(0, forget)?
            };
            Some(program.apply(&f::MULTIPLY_F32, vec![forget, before]))
        }
    };
    let added = program.apply(&f::MULTIPLY_F32, vec![input, new]);
    if let Some(kept) = kept {
        program.apply(&f::ADD_F32, vec![kept, added]);
    }
    // The buffers alternate, so that the previous cell state is not overwritten.
    let output = layer.scratch(at.time % 2 == 1);
    let cell = layer.next(program, at.time, at.before.cell.as_ref(), output)?;

    let mut program = layer.program();
    let state = program.read(cell.clone());
    let output = program.read(layer.gate(at.time, OUTPUT));
    let output = program.seeing(output, layer.peephole(OUTPUT)?, Some(state));
    let output = program.function(0, output)?;
    let shown = program.function(2, state)?;
    program.apply(&f::MULTIPLY_F32, vec![output, shown]);
    Ok(State { hidden: layer.next_hidden(program, at)?, cell: Some(cell) })
}

/// The gates of a GRU in the order of its weights.
const UPDATE: u32 = 0;
const RESET: u32 = 1;
const NEW: u32 = 2;

/// Records a step of a GRU: `h = (1 - z) n + z h`.
pub(super) fn gated(layer: &mut Layer<'_, '_>, at: &At) -> Result<State, Error> {
    let is_linear = flag(layer.operator, "LinearBeforeReset")?;
    let before = at.before.hidden.clone();
    let mut products = None;
    if let Some(hidden) = &before {
        layer.add_up(hidden, at.time, UPDATE..NEW)?;
        if is_linear {
            let output = layer.scratch(false);
            layer.multiply(hidden, NEW..NEW + 1, &output, false)?;
            products = Some(output);
        } else {
            let reset = reset(layer, at, hidden)?;
            layer.add_up(&reset, at.time, NEW..NEW + 1)?;
        }
    }
    let mut program = layer.program();
    let mut new = program.read(layer.gate(at.time, NEW));
    if is_linear {
        let products = products.map(|it| program.read(it));
        let bias = layer.bias_of_recurrence(NEW)?.map(|(it, of)| program.read_as(it, of));
        let sum = match (products, bias) {
            (Some(products), Some(bias)) => Some(program.apply(&f::ADD_F32, vec![products, bias])),
            (one, other) => one.or(other),
        };
        if let Some(sum) = sum {
            let reset = program.read(layer.gate(at.time, RESET));
            let reset = program.function(0, reset)?;
            let part = program.apply(&f::MULTIPLY_F32, vec![reset, sum]);
            new = program.apply(&f::ADD_F32, vec![new, part]);
        }
    }
    let new = program.function(1, new)?;
    let update = program.read(layer.gate(at.time, UPDATE));
    let update = program.function(0, update)?;
    let rest = program.rest(update);
    let added = program.apply(&f::MULTIPLY_F32, vec![rest, new]);
    if let Some(before) = before {
        let before = program.read(before);
        let kept = program.apply(&f::MULTIPLY_F32, vec![update, before]);
        program.apply(&f::ADD_F32, vec![added, kept]);
    }
    Ok(State { hidden: layer.next_hidden(program, at)?, cell: None })
}

/// Records `r h`, the hidden state after the reset gate.
fn reset(layer: &mut Layer<'_, '_>, at: &At, hidden: &Operand) -> Result<Operand, Error> {
    let mut program = layer.program();
    let reset = program.read(layer.gate(at.time, RESET));
    let reset = program.function(0, reset)?;
    let hidden = program.read(hidden.clone());
    program.apply(&f::MULTIPLY_F32, vec![reset, hidden]);
    let output = layer.scratch(false);
    let sizes = [1, layer.network.sequences, layer.network.hidden];
    layer.compute(sizes, program, output.clone())?;
    Ok(output)
}
