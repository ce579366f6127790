//! Lowers FILL_VALUE_SEQUENCE: a Map over an index generator.

use dml_core::{DataType, Error, Validated};
use dml_spirv::element_wise::{ElementFormula, Value};
use dml_spirv::functions::{self as f, Function};

use crate::Target;
use crate::ir::space::{IterationSpace, Operand, leading};
use crate::ir::{self, Computation, Recorder, low_and_high};
use crate::lowering::conversion::conversion;

pub(super) fn lower(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let output = operator.required_tensor("OutputTensor")?;
    let (sizes, data_type) = (leading(output.sizes(), 1), output.data_type());
    let start = operator.scalar("ValueStart")?.element_bits(data_type);
    let delta = operator.scalar("ValueDelta")?.element_bits(data_type);
    let mut recorder = Recorder::new(operator, target);
    let inputs = vec![Operand::numbers(0, Default::default()).packed(&sizes)];
    for output in recorder.outputs()?.into_iter().flatten() {
        let space = IterationSpace { sizes, inputs: inputs.clone(), output };
        recorder.map(space, sequence(data_type, start, delta))?;
    }
    Ok(recorder.finish())
}

/// The element of a sequence at an index.
fn sequence(data_type: DataType, start: u64, delta: u64) -> Computation {
    let ends = || [low_and_high(start), low_and_high(delta)];
    match data_type {
        DataType::Float16 | DataType::Float32 => {
            let to_single = ElementFormula::chain(conversion(data_type, DataType::Float32));
            let [start, delta] = [start, delta]
                .map(|bits| to_single.evaluated(&[bits], &[]).result())
                .map(|bits| f32::from_bits(low_and_high(bits)[0]));
            of_floats(data_type, start, delta)
        }
        _ if data_type.bits() == 64 => {
            computation(&[&f::U32_TO_U64], &f::SEQUENCE_I64, vec![], ends().concat())
        }
        _ => computation(&[], &f::SEQUENCE_I32, vec![], ends().map(|end| end[0]).into()),
    }
}

/// A function with parameters, between conversions before and after it.
fn computation(
    before: &[&'static Function],
    function: &'static Function,
    after: Vec<&'static Function>,
    parameters: Vec<u32>,
) -> Computation {
    let mut program = ElementFormula::default();
    let index = program.apply_all(before.iter().copied(), Value::Input(0));
    let arguments = (0..).take(parameters.len()).map(Value::Parameter);
    let member = program.apply(function, [index].into_iter().chain(arguments));
    program.apply_all(after, member);
    Computation { program, parameters, packed: None }
}

/// `start + index * delta` for floats, rounded once. Zeros with their signs and non-finite results come from single
/// precision.
fn of_floats(data_type: DataType, start: f32, delta: f32) -> Computation {
    let are_zeros = start == 0.0 && delta == 0.0;
    if are_zeros || !start.is_finite() || !delta.is_finite() {
        let after = conversion(DataType::Float32, data_type);
        let parameters = [delta, start].map(f32::to_bits).into();
        return computation(&[&f::U32_TO_F32], &f::SCALE_BIAS_F32, after, parameters);
    }
    let Scaled { start: scaled, delta: step, is_far, exponent } = Scaled::new(start, delta);
    let first = f64::from(start) + 0.0 * f64::from(delta);
    let far = if is_far { u32::MAX } else { 0 };
    let words = [scaled, step].map(|it| low_and_high(it.cast_unsigned())).concat();
    let rest = [far, exponent.cast_unsigned()];
    let parameters = [&words, rest.as_slice(), &low_and_high(first.to_bits())].concat();
    computation(&[], &f::SEQUENCE_F64, conversion(DataType::Float64, data_type), parameters)
}

/// Start and delta as integers, times 2^exponent, such that sums with products of less than 2^32 fit 64 bits.
struct Scaled {
    start: i64,
    delta: i64,
    /// Whether only the upper words of products count.
    is_far: bool,
    exponent: i32,
}

/// The significand's bits of a float of 32 bits.
const DIGITS: i32 = 24;
/// The largest left shift of the start beside a product of 56 bits.
const ROOM_OF_START: i32 = 38;
/// The largest left shift of the delta.
const ROOM_OF_DELTA: i32 = 6;
/// A start whose exponent is greater than the delta's by this is the result whatever is added.
const BEYOND: i32 = 70;

impl Scaled {
    /// Bits that are cut off set the last bit, a sticky bit far below the bits that a result keeps.
    fn new(start: f32, delta: f32) -> Self {
        let ((start, from), (delta, exponent)) = (parts(start), parts(delta));
        // A start of 0 has no exponent of its own.
        let distance = if start == 0 { 0 } else { from - exponent };
        match distance {
            ..0 => {
                let room = (-distance).min(ROOM_OF_DELTA);
                let lost = (-distance - room).min(DIGITS);
                let kept = start >> lost | i64::from(start & ((1 << lost) - 1) != 0);
                Self { start: kept, delta: delta << room, is_far: false, exponent: exponent - room }
            }
            0..=ROOM_OF_START => Self { start: start << distance, delta, is_far: false, exponent },
            _ => {
                let room = distance.min(BEYOND) - 32;
                Self { start: start << room, delta, is_far: true, exponent: from - room }
            }
        }
    }
}

/// A finite number as an integer of 24 bits, unless it is 0, and the exponent of its last bit.
fn parts(value: f32) -> (i64, i32) {
    let magnitude = i64::from(value.to_bits() & 0x7fff_ffff);
    let (significand, exponent) = match magnitude >> 23 {
        0 => (magnitude, -149),
        biased => {
            ((magnitude & 0x007f_ffff) | 0x0080_0000, i32::try_from(biased).unwrap_or(0) - 150)
        }
    };
    let missing = if significand == 0 { 0 } else { significand.leading_zeros().cast_signed() - 40 };
    let significand = significand << missing;
    (if value.is_sign_negative() { -significand } else { significand }, exponent - missing)
}
