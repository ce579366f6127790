//! Lowers operators whose outputs are parts of the inputs: a Move for each part.
//!
//! JOIN of FLOAT32 [2, 3] and [2, 1] along the last dimension:
//!
//! ```text
//! JOIN
//!   input 0 = InputTensors[0] FLOAT32 [2, 3]
//!   input 1 = InputTensors[1] FLOAT32 [2, 1]
//!   output 0 = OutputTensor FLOAT32 [2, 4]
//!   output 0 by [4, 1] over [2, 3] = move (input 0)
//!     52 bytes, 6 operations, 6 invocations
//!   output 0+3 by [4] over [2] = move (input 1)
//!     28 bytes, 2 operations, 2 invocations
//! ```
//!
//! The schedule copies a part as regions where its rows are long, and by a kernel for any strides elsewhere.

use dml_core::{Error, Validated};
use dml_spirv::element_wise::DIMENSIONS;

use super::part::{MovedRegion, Source, Walk};
use crate::Target;
use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{self, Recorder};

/// The program that writes `parts` in their order, which cover every output.
pub(super) fn copies(
    operator: &Validated,
    target: &Target<'_>,
    parts: Vec<MovedRegion>,
) -> Result<ir::Program, Error> {
    let mut recorder = Recorder::new(operator, target);
    let inputs: Vec<Operand> = recorder.inputs()?.into_iter().flatten().collect();
    let outputs: Vec<Operand> = recorder.outputs()?.into_iter().flatten().collect();
    // All parts with the same bits share one element.
    let mut constants: Vec<(u64, Operand)> = vec![];
    for part in parts {
        let output = &outputs[part.output_index];
        let input = match part.source {
            Source::Input(index) => inputs[index].clone(),
            Source::Bits(bits) => match constants.iter().find(|(of, _)| *of == bits) {
                Some((_, operand)) => operand.clone(),
                None => {
                    let operand = recorder.constant(output.width, bits);
                    constants.push((bits, operand.clone()));
                    operand
                }
            },
        };
        for part in part.divided() {
            recorder.move_elements(space(&part, &input, output))?;
        }
    }
    Ok(recorder.finish())
}

/// The elements of a part that is divided.
fn space(part: &MovedRegion, input: &Operand, output: &Operand) -> IterationSpace {
    let first = DIMENSIONS - part.walks.len();
    let mut sizes = [1; DIMENSIONS];
    for (size, walk) in sizes[first..].iter_mut().zip(&part.walks) {
        *size = walk.count;
    }
    let operand = |of: &Operand, by: i64, stride: fn(&Walk) -> i64| {
        let mut strides = [0; DIMENSIONS];
        for (place, walk) in strides[first..].iter_mut().zip(&part.walks) {
            *place = stride(walk);
        }
        Operand { base: of.base + by, strides, ..of.clone() }
    };
    let inputs = vec![operand(input, part.input, |walk| walk.input)];
    IterationSpace { sizes, inputs, output: operand(output, part.output, |walk| walk.output) }
}
