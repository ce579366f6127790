//! Lowers FILL_VALUE_CONSTANT: one Fill.
//!
//! FILL_VALUE_CONSTANT of FLOAT32 [2, 3] with the value 1:
//!
//! ```text
//! FILL_VALUE_CONSTANT
//!   output 0 = OutputTensor FLOAT32 [2, 3]
//!   output 0 = fill 0x3f800000 of 32 bits
//!     24 bytes, 6 operations, 6 invocations
//! ```

use dml_core::{Error, Validated};
use dml_spirv::ElementWidth;

use crate::Target;
use crate::ir::{self, Recorder};

pub(super) fn lower(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let tensor = operator.required_tensor("OutputTensor")?;
    let data_type = tensor.data_type();
    let width = ElementWidth::from_element_bits(data_type.bits()).ok_or_else(|| {
        let problem = format!("no kernel moves elements of {data_type}");
        Error::internal(operator.schema().name, problem)
    })?;
    let value = operator.scalar("Value")?.element_bits(data_type);
    let mut recorder = Recorder::new(operator, target);
    recorder.fill(tensor, width, value);
    Ok(recorder.finish())
}
