//! FILL_VALUE_CONSTANT: one node.

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
