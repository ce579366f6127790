//! Rules of block quantization: tensors with an element for each block of another tensor.

use crate::error::Error;
use crate::schema::validated::Validated;
use crate::types::InvalidField;

/// There are as many `QuantizationTensors` as `QuantizationType` states, of equal sizes, which divide those of
/// `OutputTensor`; the first holds floats.
pub(super) fn quantization(operator: &Validated) -> Result<(), Error> {
    let invalid = |field| Error::Invalid { operator: operator.schema().name, field };
    let (name, kind) = ("QuantizationTensors", operator.uint("QuantizationType")?);
    let (tensors, output) =
        (operator.tensor_array(name)?, operator.required_tensor("OutputTensor")?);
    // No quantization would have no tensors, and an array has at least one.
    if u32::try_from(tensors.len()) != Ok(kind) {
        let problem = "is not the number of tensors for the QuantizationType";
        let field = InvalidField::new(
            "QuantizationTensorCount",
            tensors.len(),
            problem,
            kind.max(1).to_string(),
        );
        return Err(invalid(field));
    }
    let scale = &tensors[0];
    if scale.data_type().integer_range().is_some() {
        let path = format!("{name}[0].DataType");
        let given = scale.data_type();
        return Err(invalid(InvalidField::new(
            path,
            given,
            "is not a type for scales",
            "FLOAT32, FLOAT16",
        )));
    }
    for (index, tensor) in tensors.iter().enumerate() {
        blocks(&format!("{name}[{index}]"), tensor.sizes(), output.sizes()).map_err(invalid)?;
    }
    match tensors.iter().position(|tensor| tensor.sizes() != scale.sizes()) {
        None => Ok(()),
        Some(other) => {
            let (given, accepted) =
                (format!("{:?}", tensors[other].sizes()), format!("{:?}", scale.sizes()));
            let problem = format!("differs from {name}[0].Sizes");
            Err(invalid(InvalidField::new(
                format!("{name}[{other}].Sizes"),
                given,
                problem,
                accepted,
            )))
        }
    }
}

/// Checks a tensor with an element for each block of another one.
fn blocks(path: &str, sizes: &[u32], whole: &[u32]) -> Result<(), InvalidField> {
    if sizes.len() != whole.len() {
        let problem = "differs from OutputTensor.DimensionCount";
        let path = format!("{path}.DimensionCount");
        return Err(InvalidField::new(path, sizes.len(), problem, whole.len().to_string()));
    }
    let mut pairs = sizes.iter().zip(whole).enumerate();
    match pairs.find(|(_, (blocks, whole))| !whole.is_multiple_of(**blocks)) {
        None => Ok(()),
        Some((at, (blocks, whole))) => {
            let problem = format!("does not divide OutputTensor.Sizes[{at}]");
            let accepted = format!("a divisor of {whole}");
            Err(InvalidField::new(format!("{path}.Sizes[{at}]"), blocks, problem, accepted))
        }
    }
}
