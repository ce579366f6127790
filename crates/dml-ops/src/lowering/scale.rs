//! Powers of two that keep squares and other powers of FLOAT32 in range: multiplications by them are exact.

use dml_core::Error;
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, ElementFormula, Value};
use dml_spirv::functions as f;

use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Computation, Recorder};

/// The bits of 2^-126, the least normal number.
const LEAST: u32 = 1 << 23;
/// The bits of 2^126, whose reciprocal is the least normal number.
const MOST: u32 = 253 << 23;
/// This number less the bits of a power of two are the bits of its reciprocal.
const RECIPROCAL: u32 = 254 << 23;

/// Adds the step that writes, for each magnitude in `greatest`, the power of two that scales it to at least 1
/// and below 2.
///
/// Magnitudes from 2^127 on are scaled to below 4, subnormal ones stay below 1, and infinities and NaN stay
/// as they are.
pub(crate) fn write_scales(
    recorder: &mut Recorder<'_>,
    sizes: [u32; DIMENSIONS],
    greatest: Operand,
    scales: Operand,
) -> Result<(), Error> {
    let mut word = |bits: u32| recorder.constant(ElementWidth::B32, bits.into());
    let inputs = vec![greatest, word(f32::INFINITY.to_bits()), word(RECIPROCAL)];
    let mut program = ElementFormula::default();
    let exponent = program.apply(&f::BIT_AND_WORD, [Value::Input(0), Value::Input(1)]);
    let limits = [Value::Parameter(0), Value::Parameter(1)];
    let exponent = program.apply(&f::CLIP_U32, [exponent, limits[0], limits[1]]);
    program.apply(&f::SUBTRACT_I32, [Value::Input(2), exponent]);
    let computation = Computation { program, parameters: vec![LEAST, MOST], packed: None };
    recorder.map(IterationSpace { sizes, inputs, output: scales }, computation)
}
