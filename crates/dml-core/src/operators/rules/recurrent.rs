//! The rule of recurrent networks: the sizes of their tensors.

use super::invalid;
use super::products::sizes_are;
use crate::error::Error;
use crate::schema::FieldKind;
use crate::schema::validated::Validated;
use crate::tensor::TensorLayout;
use crate::types::enums::RecurrentNetworkDirection;

/// The numbers of gates and of activations of a direction, by the operator's name.
const NETWORKS: [(&str, [u32; 2]); 3] = [("RNN", [1, 1]), ("GRU", [3, 2]), ("LSTM", [4, 3])];

/// All sizes follow from the sizes of the input and of the recurrence weights.
pub(super) fn network(operator: &Validated) -> Result<(), Error> {
    let name = operator.schema().name;
    let found = NETWORKS.into_iter().find(|(network, _)| *network == name);
    let (_, [gates, functions]) = found.ok_or_else(|| Error::internal(name, "is no network"))?;
    let [input, recurrence] = ["InputTensor", "RecurrenceTensor"]
        .map(|tensor| operator.required_tensor(tensor).map(TensorLayout::sizes));
    let ([.., steps, sequences, elements], [.., hidden]) = (input?, recurrence?) else {
        return Err(Error::internal(name, "tensors have too few dimensions"));
    };
    let both = RecurrentNetworkDirection::Bidirectional.dml_value();
    let directions = if operator.uint("Direction")? == both { 2 } else { 1 };
    for kind in [FieldKind::Input, FieldKind::Output] {
        for (path, tensor) in operator.present_tensors(kind) {
            // It saturates; no tensor has sizes that large.
            let times = |count: u32| hidden.saturating_mul(count);
            let wanted = match path.field.name {
                "InputTensor" => [1, *steps, *sequences, *elements],
                "WeightTensor" => [1, directions, times(gates), *elements],
                "RecurrenceTensor" => [1, directions, times(gates), *hidden],
                "BiasTensor" => [1, 1, directions, times(2 * gates)],
                "PeepholeTensor" => [1, 1, directions, times(3)],
                "SequenceLengthsTensor" => [1, 1, 1, *sequences],
                "OutputSequenceTensor" => [*steps, directions, *sequences, *hidden],
                _ => [1, directions, *sequences, *hidden],
            };
            sizes_are(operator, path.field.name, tensor.sizes(), &wanted)?;
        }
    }
    if operator.present_tensors(FieldKind::Output).next().is_none() {
        let problem = "is left out, like all other outputs";
        return Err(invalid(operator, "OutputSingleTensor", "null", problem, "one output or more"));
    }
    let (count, wanted) = (operator.uint("ActivationDescCount")?, directions * functions);
    if count != wanted {
        let problem = "is not the number of activations of all directions";
        return Err(invalid(operator, "ActivationDescCount", count, problem, wanted));
    }
    if name == "LSTM" && operator.bool("UseClipThreshold")? {
        let threshold = operator.float("ClipThreshold")?;
        if threshold.is_nan() || threshold < 0.0 {
            let problem = "is not a valid threshold";
            return Err(invalid(operator, "ClipThreshold", threshold, problem, "0 and more"));
        }
    }
    Ok(())
}
