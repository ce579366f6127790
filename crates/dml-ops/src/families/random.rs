//! Lowers RANDOM_GENERATOR: Philox pseudo-random words, which depend on the state alone.
//!
//! RANDOM_GENERATOR of UINT32 [1, 1, 2, 3]:
//!
//! ```text
//! RANDOM_GENERATOR
//!   input 0 = InputStateTensor UINT32 [1, 1, 1, 6]
//!   output 0 = OutputTensor UINT32 [1, 1, 2, 3]
//!   output 1 = OutputStateTensor UINT32 [1, 1, 1, 6]
//!   output 0 over [2, 3] = map philox (numbers, input 0 by [0, 0], input 0+1 by [0, 0], input 0+2 by [0, 0], input 0+3 by [0, 0], input 0+4 by [0, 0], input 0+5 by [0, 0])
//!     48 bytes, 6 operations, 6 invocations
//!   output 1 over [6] = map philox_state (numbers, input 0 by [0], input 0+1 by [0], input 0+2 by [0], input 0+3 by [0], input 0+4 by [0], input 0+5 by [0])
//!     48 bytes, 6 operations, 6 invocations
//! ```

use dml_core::schema::FieldKind;
use dml_core::{Error, Validated, operators};
use dml_spirv::element_wise::DIMENSIONS;
use dml_spirv::functions::{self as f, Function};

use crate::ir::space::{Operand, leading};
use crate::ir::{self, Recorder};
use crate::lowering::map_builder::MapBuilder;
use crate::{Operator, Target};

/// All operators of the family.
pub(crate) static OPERATORS: &[&Operator] = &[&RANDOM_GENERATOR];

/// `output[i] = word i of Philox 4x32-10`
static RANDOM_GENERATOR: Operator =
    Operator { schema: &operators::RANDOM_GENERATOR, program: generate };

/// Words that Philox gives for each value of the counter.
const BLOCK: u64 = 4;
/// Words of a state.
const STATE: i64 = 6;

/// Writes the random words, and the state for the next execution: both from element numbers and the words of
/// the state.
fn generate(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut recorder = Recorder::new(operator, target);
    let [input, outputs] = [recorder.inputs()?, recorder.outputs()?];
    let missing = || Error::internal(operator.schema().name, "a tensor is missing");
    let state = input.into_iter().flatten().next().ok_or_else(missing)?;
    let count = operator.required_tensor("OutputTensor")?.element_count();
    let blocks = u32::try_from(count.div_ceil(BLOCK)).unwrap_or(u32::MAX);
    let functions: [(&Function, &[u32]); 2] = [(&f::PHILOX, &[]), (&f::PHILOX_STATE, &[blocks])];
    let tensors = operator.tensors(FieldKind::Output).map(|(_, tensor)| tensor);
    for ((tensor, output), (function, parameters)) in tensors.zip(outputs).zip(functions) {
        let (Some(tensor), Some(output)) = (tensor, output) else { continue };
        let mut map = MapBuilder::default();
        let mut words =
            vec![map.input(Operand::numbers(0, [0; DIMENSIONS]).packed(tensor.sizes()))];
        words.extend(state_words(&state).map(|word| map.input(word)));
        map.apply(function, &words, parameters);
        map.record(&mut recorder, leading(tensor.sizes(), 1), output)?;
    }
    Ok(recorder.finish())
}

/// The words of a state, each as an operand with strides of 0.
fn state_words(state: &Operand) -> impl Iterator<Item = Operand> + '_ {
    let step = state.strides[DIMENSIONS - 1];
    (0..STATE).map(move |at| Operand {
        base: state.base + at * step,
        strides: [0; DIMENSIONS],
        ..state.clone()
    })
}
