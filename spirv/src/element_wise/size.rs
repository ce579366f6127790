//! An estimate of a kernel's size, without linking it.

use std::sync::{LazyLock, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::program::{AccessPattern, ElementFormula, KernelOperand};
use super::{ElementWise, MAX_INPUTS};
use crate::NativeTypes;
use crate::functions::Function;

/// A call takes some eight words: for itself, its result's name and what its arguments are.
const BYTES_OF_A_CALL: usize = 32;

/// An operand in whole quads: its loads and where they are. An operand of any strides takes twice as many.
const BYTES_OF_AN_OPERAND: usize = 680;

/// The bytes of a kernel without functions and operands.
const BYTES_OF_A_SKELETON: usize = 4400;

/// The approximate size in bytes of the SPIR-V of a kernel for `program`, with so many inputs in whole quads.
pub fn estimated_bytes(program: &ElementFormula, inputs: usize) -> usize {
    estimated_bytes_of(program.steps.iter().map(|step| step.function), inputs)
}

/// The approximate size in bytes of the SPIR-V of a kernel that calls these functions, with so many inputs in whole
/// quads.
pub fn estimated_bytes_of(
    functions: impl IntoIterator<Item = &'static Function>,
    inputs: usize,
) -> usize {
    let functions = functions.into_iter();
    let mut distinct: Vec<&'static Function> = Vec::with_capacity(functions.size_hint().0);
    let mut calls = 0;
    for function in functions {
        calls += 1;
        if !distinct.contains(&function) {
            distinct.push(function);
        }
    }
    let of_functions: usize = distinct.into_iter().map(bytes_of).sum();
    BYTES_OF_A_SKELETON
        + (inputs + 1) * BYTES_OF_AN_OPERAND
        + calls * BYTES_OF_A_CALL
        + of_functions
}

/// The bytes that a function and all that it calls add to a kernel without other functions.
fn bytes_of(function: &'static Function) -> usize {
    static KNOWN: LazyLock<Mutex<FxHashMap<&'static Function, usize>>> =
        LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry(function).or_insert_with(|| {
        let [taken, given] = function.widths();
        let kernel = |program: ElementFormula, output| {
            let operand = |width| KernelOperand { width, access: AccessPattern::Whole };
            let inputs = vec![operand(taken); function.arity.clamp(1, MAX_INPUTS)];
            let kernel = ElementWise {
                program,
                inputs,
                output: operand(output),
                second: None,
                outer_dimensions: 0,
            };
            kernel.spirv(NativeTypes::NONE).len() * 4
        };
        kernel(ElementFormula::of(function), given)
            .saturating_sub(kernel(ElementFormula::default(), taken))
    })
}

#[cfg(test)]
mod tests {
    use super::super::steps::Value;
    use super::*;
    use crate::{ElementWidth, functions as f};

    fn real(program: &ElementFormula, inputs: usize) -> usize {
        let operand = KernelOperand { width: ElementWidth::B32, access: AccessPattern::Whole };
        let (inputs, program) = (vec![operand; inputs], program.clone());
        ElementWise { program, inputs, output: operand, second: None, outer_dimensions: 0 }
            .spirv(NativeTypes::NONE)
            .len()
            * 4
    }

    #[test]
    fn the_estimate_is_near_the_size() {
        let mut program = ElementFormula::default();
        let mut sizes = vec![];
        let mut last = Value::Input(0);
        for (at, function) in [&f::ADD_F32, &f::DIVIDE_F32, &f::LESS_THAN_F32, &f::ADD_F32]
            .into_iter()
            .cycle()
            .take(40)
            .enumerate()
        {
            last = program.apply(function, [last, Value::Input(1 + at % 6)]);
            let (estimate, real) = (estimated_bytes(&program, 7), real(&program, 7));
            sizes.push((estimate, real));
        }
        let off = |(estimate, real): &&(usize, usize)| {
            estimate * 10 < real * 8 || real * 12 < estimate * 10
        };
        assert_eq!(sizes.iter().find(off), None, "{sizes:?}");
    }
}
