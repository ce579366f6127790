//! Lowers NONZERO_COORDINATES: the number and the coordinates of the elements that are not 0.
//!
//! NONZERO_COORDINATES of FLOAT32 [2, 3]:
//!
//! ```text
//! NONZERO_COORDINATES
//!   input 0 = InputTensor FLOAT32 [2, 3]
//!   output 0 = OutputCountTensor UINT32 [1]
//!   output 1 = OutputCoordinatesTensor UINT32 [6, 2]
//!   %0 = 6 elements of 32 bits
//!   %3 = constant 0xffffff7f, 4 bytes
//!   %0 over [2, 3] = map bit_and logical_not logical_not (input 0, %3 by [0, 0])
//!     52 bytes, 18 operations, 6 invocations
//!   %1 = 6 elements of 32 bits
//!   %1 over [6] = map same (%0)
//!     48 bytes, 6 operations, 6 invocations
//!   %2 = 6 elements of 32 bits
//!   %2 over [] = map same (%1)
//!     8 bytes, 1 operations, 1 invocations
//!   %2+1 over [5] = map add (%1, %1+1)
//!     60 bytes, 5 operations, 5 invocations
//!   %1 over [2] = map same (%2)
//!     16 bytes, 2 operations, 2 invocations
//!   %1+2 over [4] = map add (%2, %2+2)
//!     48 bytes, 4 operations, 4 invocations
//!   %2 over [4] = map same (%1)
//!     32 bytes, 4 operations, 4 invocations
//!   %2+4 over [2] = map add (%1, %1+4)
//!     24 bytes, 2 operations, 2 invocations
//!   output 0 over [] = map same (%2+5)
//!     8 bytes, 1 operations, 1 invocations
//!   %4 = constant 0x00000000, 4 bytes
//!   output 1 over [6, 2] = map same (%4 by [0, 0])
//!     52 bytes, 12 operations, 12 invocations
//!   %6 = constant 0x01000000, 4 bytes
//!   %1 over [2, 3] = map choose subtract checked_u32 (%0, %2, %4 by [0, 0], %6 by [0, 0])
//!     80 bytes, 18 operations, 6 invocations
//!   output 1 by [0, 0] displaced by i1 over [2, 3] = map same (numbers by [1, 0], %1)
//!     216 bytes, 6 operations, 6 invocations
//!   output 1+1 by [0, 0] displaced by i1 over [2, 3] = map same (numbers by [0, 1], %1)
//!     216 bytes, 6 operations, 6 invocations
//! ```
//!
//! A prefix sum over flags numbers the elements that are not 0, in passes over doubled distances. Then each of them
//! writes its coordinates into the row with its number; rows after the last one are 0.

use dml_core::{DataType, Error, TensorLayout, Validated, operators};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::DIMENSIONS;
use dml_spirv::functions as f;

use crate::ir::space::{Displacement, Operand, leading};
use crate::ir::{self, Recorder};
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::operands::required;
use crate::{Operator, Target};

/// All operators of the family.
pub(crate) static OPERATORS: &[&Operator] = &[&NONZERO_COORDINATES];

/// `coordinates[k] = the coordinates of the k-th element that is not 0`
static NONZERO_COORDINATES: Operator =
    Operator { schema: &operators::NONZERO_COORDINATES, program: coordinates };

/// The elements are numbered by adding up how many are not 0, in passes of doubled distance; then each writes
/// its coordinates into the row with its number.
fn coordinates(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut recorder = Recorder::new(operator, target);
    let [input] = required(operator, recorder.inputs()?)?;
    let [count, output] = required(operator, recorder.outputs()?)?;
    let layout = operator.required_tensor("InputTensor")?;
    let sizes = leading(layout.sizes(), 1);
    let elements = layout.element_count();
    let [flags, numbers, spare] =
        [(); 3].map(|()| recorder.packed_temporary(ElementWidth::B32, &sizes));

    is_not_zero(&mut recorder, layout, input, flags.clone())?;
    let (numbers, spare) = add_up(&mut recorder, elements, [&flags, &numbers, &spare])?;
    let last = Operand { base: numbers.base + elements.cast_signed() - 1, ..numbers.clone() };
    copy(&mut recorder, [1; DIMENSIONS], Operand { strides: [0; DIMENSIONS], ..last }, count)?;

    let rows = operator.required_tensor("OutputCoordinatesTensor")?;
    let zero = recorder.constant(ElementWidth::B32, 0);
    copy(&mut recorder, leading(rows.sizes(), 1), zero, output.clone())?;
    place(&mut recorder, rows, sizes, [flags, numbers, spare.clone()])?;
    write(&mut recorder, (rows, output), sizes, &spare)?;
    Ok(recorder.finish())
}

fn copy(
    recorder: &mut Recorder<'_>,
    sizes: [u32; DIMENSIONS],
    input: Operand,
    output: Operand,
) -> Result<(), Error> {
    let mut map = MapBuilder::default();
    map.input(input);
    map.record(recorder, sizes, output)
}

/// Writes 1 where an element is not 0, else 0. Compares bits, because devices may treat denormals as 0.
fn is_not_zero(
    recorder: &mut Recorder<'_>,
    layout: &TensorLayout,
    input: Operand,
    flags: Operand,
) -> Result<(), Error> {
    let magnitude = match layout.data_type() {
        DataType::Float16 => 0x7FFF,
        DataType::Float32 => 0x7FFF_FFFF,
        _ => u32::MAX,
    };
    let magnitude = recorder.constant(ElementWidth::B32, magnitude.into());
    let mut map = MapBuilder::default();
    let [bits, magnitude] = [map.input(input), map.input(magnitude)];
    let bits = map.apply(&f::BIT_AND_WORD, &[bits, magnitude], &[]);
    map.apply_all([&f::LOGICAL_NOT_WORD, &f::LOGICAL_NOT_WORD], bits);
    map.record(recorder, leading(layout.sizes(), 1), flags)
}

/// Writes the inclusive prefix sums of `terms`, in `sums` and `spare` by turns; returns the sums, and the
/// other operand, which is free again.
fn add_up(
    recorder: &mut Recorder<'_>,
    count: u64,
    [terms, sums, spare]: [&Operand; 3],
) -> Result<(Operand, Operand), Error> {
    let row = |length: u64| {
        let mut sizes = [1; DIMENSIONS];
        sizes[DIMENSIONS - 1] = u32::try_from(length).unwrap_or(u32::MAX);
        sizes
    };
    let from = |operand: &Operand, first: u64| {
        let mut strides = [0; DIMENSIONS];
        strides[DIMENSIONS - 1] = 1;
        Operand { base: operand.base + first.cast_signed(), strides, ..operand.clone() }
    };
    let (mut sums, mut spare) = (sums, spare);
    copy(recorder, row(count), from(terms, 0), from(sums, 0))?;
    let mut distance = 1;
    while distance < count {
        copy(recorder, row(distance), from(sums, 0), from(spare, 0))?;
        let mut map = MapBuilder::default();
        let both = [map.input(from(sums, 0)), map.input(from(sums, distance))];
        map.apply(&f::ADD_I32, &both, &[]);
        map.record(recorder, row(count - distance), from(spare, distance))?;
        std::mem::swap(&mut sums, &mut spare);
        distance *= 2;
    }
    Ok((sums.clone(), spare.clone()))
}

/// Writes the offset of each element's row from the first row; `NOWHERE` for an element that is 0.
fn place(
    recorder: &mut Recorder<'_>,
    rows: &TensorLayout,
    sizes: [u32; DIMENSIONS],
    [flags, numbers, places]: [Operand; 3],
) -> Result<(), Error> {
    let [zero, one] = [0, 1].map(|it| recorder.constant(ElementWidth::B32, it));
    let mut map = MapBuilder::default();
    let [flag, number] = [map.input(flags), map.input(numbers)];
    let [zero, one] = [map.input(zero), map.input(one)];
    let number = map.apply(&f::CHOOSE_WORD, &[flag, number, zero], &[]);
    // For an element that is 0 this wraps, to a row that is out of range.
    let row = map.apply(&f::SUBTRACT_I32, &[number, one], &[]);
    let (count, stride) = of_rows(rows);
    map.apply(&f::CHECKED_U32, &[row], &[count, stride]);
    map.record(recorder, sizes, places)
}

/// The number of rows, and the stride from one row to the next.
fn of_rows(rows: &TensorLayout) -> (u32, u32) {
    let dimension = DIMENSIONS - 2;
    (leading(rows.sizes(), 1)[dimension], leading(rows.strides(), 0)[dimension])
}

/// Writes the coordinates of each element into its row, one column after the other.
fn write(
    recorder: &mut Recorder<'_>,
    (rows, output): (&TensorLayout, Operand),
    sizes: [u32; DIMENSIONS],
    places: &Operand,
) -> Result<(), Error> {
    let columns = leading(rows.sizes(), 1)[DIMENSIONS - 1] as usize;
    let (count, stride) = of_rows(rows);
    let most = u64::from(count - 1) * u64::from(stride);
    for (column, dimension) in (0..).zip(DIMENSIONS - columns..DIMENSIONS) {
        let mut along = [0; DIMENSIONS];
        along[dimension] = 1;
        let mut map = MapBuilder::default();
        let coordinate = map.input(Operand::numbers(0, along));
        let by = map.input(places.clone());
        map.apply(&f::SAME, &[coordinate], &[]);
        let output = Operand {
            base: output.base + column * output.strides[DIMENSIONS - 1],
            strides: [0; DIMENSIONS],
            displacement: Some(Displacement::new(by, most)),
            ..output.clone()
        };
        map.record(recorder, sizes, output)?;
    }
    Ok(())
}
