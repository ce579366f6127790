//! The cells of recurrent networks: each computes the state of a step from the state before it.

use dml_core::Error;
use dml_spirv::element_wise::Value;
use dml_spirv::functions as f;

use super::axes::of_strides;
use super::layer::{At, Layer, State};
use super::network::{Network, flag};
use super::program::CellProgram;
use super::states::Kind;
use crate::ir::space::Operand;

/// Records a step of an RNN: `h = f(s)`.
pub(super) fn simple(layer: &mut Layer<'_, '_>, at: &At) -> Result<State, Error> {
    let mut sums = layer.sums_of(at.time);
    if let Some(hidden) = &at.before.hidden {
        sums = layer.add_up(hidden, &sums, 0..1)?;
    }
    let mut program = layer.program();
    let sum = program.read(sums);
    program.function(0, sum)?;
    Ok(State { hidden: layer.next(program, at, Kind::Hidden)?, cell: None })
}

/// The gates of an LSTM in the order of its weights; the first three have peepholes.
const INPUT: u32 = 0;
const OUTPUT: u32 = 1;
const FORGET: u32 = 2;
const CELL: u32 = 3;

/// Records a step of an LSTM: `c = f c + i g(s_c)`, `h = o h(c)`. Both are recorded one after the other, and written
/// beside each other, so that they become one Map.
pub(super) fn long_short_term(layer: &mut Layer<'_, '_>, at: &At) -> Result<State, Error> {
    let mut sums = layer.sums_of(at.time);
    if let Some(hidden) = &at.before.hidden {
        sums = layer.add_up(hidden, &sums, 0..4)?;
    }
    let mut program = layer.program();
    let before = at.before.cell.clone().map(|it| program.read(it));
    let input = program.read(layer.gate(&sums, INPUT));
    let weight = before.and_then(|_| layer.peephole(INPUT, &mut program));
    let input = program.seeing(input, weight, before);
    let input = program.function(0, input)?;
    let new = program.read(layer.gate(&sums, CELL));
    let new = program.function(1, new)?;
    let kept = match before {
        None => None,
        Some(before) => {
            let forget = if flag(layer.operator, "CoupleInputForget")? {
                program.rest(input)
            } else {
                let forget = program.read(layer.gate(&sums, FORGET));
                let weight = layer.peephole(FORGET, &mut program);
                let forget = program.seeing(forget, weight, Some(before));
                program.function(0, forget)?
            };
            Some(program.apply(&f::MULTIPLY_F32, [forget, before]))
        }
    };
    let added = program.apply(&f::MULTIPLY_F32, [input, new]);
    if let Some(kept) = kept {
        program.apply(&f::ADD_F32, [kept, added]);
    }
    let cell = layer.next(program, at, Kind::Cell)?;

    let mut program = layer.program();
    let state = cell.clone().map(|it| program.read(it));
    let output = program.read(layer.gate(&sums, OUTPUT));
    let weight = layer.peephole(OUTPUT, &mut program);
    let output = program.seeing(output, weight, state);
    let output = program.function(0, output)?;
    let shown = state.map(|state| program.function(2, state)).transpose()?;
    program.apply(&f::MULTIPLY_F32, [Some(output), shown].into_iter().flatten());
    Ok(State { hidden: layer.next(program, at, Kind::Hidden)?, cell })
}

/// The gates of a GRU in the order of its weights.
const UPDATE: u32 = 0;
const RESET: u32 = 1;
const NEW: u32 = 2;
/// With LinearBeforeReset, the place of the input's sums of the last gate; those of the hidden state are at its own.
const NEW_OF_INPUT: u32 = 3;

/// Records a step of a GRU: `h = (1 - z) n + z h`.
pub(super) fn gated(layer: &mut Layer<'_, '_>, at: &At) -> Result<State, Error> {
    if layer.is_linear { reset_after(layer, at) } else { reset_before(layer, at) }
}

/// The reset gate scales the products of the hidden state: one product for all gates.
fn reset_after(layer: &mut Layer<'_, '_>, at: &At) -> Result<State, Error> {
    let of_input = layer.gate(&layer.sums_of(at.time), NEW_OF_INPUT);
    let mut sums = layer.sums_of(at.time);
    if let Some(hidden) = &at.before.hidden {
        sums = layer.add_up(hidden, &sums, UPDATE..NEW + 1)?;
    }
    let mut program = layer.program();
    let reset = program.read(layer.gate(&sums, RESET));
    let reset = program.function(0, reset)?;
    let of_state = program.read(layer.gate(&sums, NEW));
    let part = program.apply(&f::MULTIPLY_F32, [reset, of_state]);
    let of_input = program.read(of_input);
    let new = program.apply(&f::ADD_F32, [of_input, part]);
    let update = program.read(layer.gate(&sums, UPDATE));
    let update = program.function(0, update)?;
    finish(layer, at, program, [update, new])
}

/// The reset gate scales the hidden state: the last gate's product comes after a Map of the others.
fn reset_before(layer: &mut Layer<'_, '_>, at: &At) -> Result<State, Error> {
    let sums = layer.sums_of(at.time);
    let Some(hidden) = &at.before.hidden else {
        let mut program = layer.program();
        let new = program.read(layer.gate(&sums, NEW));
        let update = program.read(layer.gate(&sums, UPDATE));
        let update = program.function(0, update)?;
        return finish(layer, at, program, [update, new]);
    };
    let [update, reset] = update_and_reset(layer, hidden, &sums)?;
    let of_new = layer.add_up(&reset, &sums, NEW..NEW + 1)?;
    let mut program = layer.program();
    let new = program.read(layer.gate(&of_new, NEW));
    let update = program.read(update);
    finish(layer, at, program, [update, new])
}

/// Records the update gate `z` and the hidden state after the reset gate, `r h`: one Map, which can be the end of
/// the product.
fn update_and_reset(
    layer: &mut Layer<'_, '_>,
    hidden: &Operand,
    sums: &Operand,
) -> Result<[Operand; 2], Error> {
    let Network { sequences, hidden: size, .. } = layer.network;
    let sums = layer.add_up(hidden, sums, UPDATE..NEW)?;
    let (output, distance) = layer.states.others(&mut layer.products.recorder, NEW);
    let by_gates = |it: &Operand, gate: i64| {
        let [.., of_sequences, of_hidden] = it.strides;
        Operand { strides: of_strides([gate, of_sequences, of_hidden]), ..it.clone() }
    };
    let mut program = layer.program();
    let gate = program.read(by_gates(&sums, size.into()));
    let gate = program.function(0, gate)?;
    let hidden = program.read(hidden.clone());
    let reset = program.apply(&f::MULTIPLY_F32, [gate, hidden]);
    program.first_or(Operand::numbers(0, of_strides([1, 0, 0])), [gate, reset]);
    layer.compute([NEW, sequences, size], program, by_gates(&output, distance))?;
    let reset = Operand { base: output.base + distance, ..output.clone() };
    Ok([output, reset])
}

/// Records the hidden state of a GRU from the update gate and the sum of the new state.
fn finish<'a>(
    layer: &mut Layer<'_, 'a>,
    at: &At,
    mut program: CellProgram<'a>,
    [update, new]: [Value; 2],
) -> Result<State, Error> {
    let new = program.function(1, new)?;
    let rest = program.rest(update);
    let added = program.apply(&f::MULTIPLY_F32, [rest, new]);
    if let Some(before) = at.before.hidden.clone() {
        let before = program.read(before);
        let kept = program.apply(&f::MULTIPLY_F32, [update, before]);
        program.apply(&f::ADD_F32, [added, kept]);
    }
    Ok(State { hidden: layer.next(program, at, Kind::Hidden)?, cell: None })
}
