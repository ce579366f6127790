//! The sizes of a recurrent network, and the order of its steps, read from its descriptor for lowering and
//! references.

use crate::error::Error;
use crate::schema::validated::Validated;
use crate::tensor::TensorLayout;
use crate::types::enums::RecurrentNetworkDirection;

/// The sizes of a recurrent network.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Steps of each sequence.
    pub steps: u32,
    /// Sequences, which are independent of each other.
    pub sequences: u32,
    /// Elements of the input at a step.
    pub elements: u32,
    /// Elements of the hidden state.
    pub hidden: u32,
    /// Gates: sums of a step for each element of the state.
    pub gates: u32,
    direction: RecurrentNetworkDirection,
}

impl Network {
    /// The network of an operator.
    ///
    /// # Errors
    /// [`Error::Internal`]: the operator is not a recurrent network.
    pub fn of(operator: &Validated) -> Result<Self, Error> {
        let sizes = |name| operator.required_tensor(name).map(TensorLayout::sizes);
        let (input, recurrence) = (sizes("InputTensor")?, sizes("RecurrenceTensor")?);
        let unknown = || Error::internal(operator.schema().name, "has an unknown direction");
        let direction = RecurrentNetworkDirection::from_dml_value(operator.uint("Direction")?);
        Ok(Self {
            steps: input[1],
            sequences: input[2],
            elements: input[3],
            hidden: recurrence[3],
            gates: recurrence[2] / recurrence[3],
            direction: direction.ok_or_else(unknown)?,
        })
    }

    /// The number of sums of a sequence in a step.
    pub fn width(&self) -> u32 {
        self.gates * self.hidden
    }

    /// For each direction, whether it begins with the last step.
    pub fn directions(&self) -> &'static [bool] {
        match self.direction {
            RecurrentNetworkDirection::Forward => &[false],
            RecurrentNetworkDirection::Backward => &[true],
            RecurrentNetworkDirection::Bidirectional => &[false, true],
        }
    }

    /// The steps of a direction, in the order in which they are processed.
    pub fn order(&self, is_backward: bool) -> Vec<u32> {
        let steps = 0..self.steps;
        if is_backward { steps.rev().collect() } else { steps.collect() }
    }
}

/// The activations of a direction.
///
/// # Errors
/// [`Error::Internal`]: the operator is not a recurrent network.
pub fn functions(operator: &Validated, direction: u32) -> Result<&[Validated], Error> {
    let all = operator.nested("ActivationDescs")?;
    let directions = Network::of(operator)?.directions().len();
    let count = all.len() / directions;
    let first = direction as usize * count;
    Ok(&all[first..first + count])
}

/// Whether a boolean attribute is set; false if the network does not have it.
///
/// # Errors
/// [`Error::Internal`]: the attribute is not a boolean.
pub fn flag(operator: &Validated, name: &str) -> Result<bool, Error> {
    match operator.schema().has_field(name) {
        true => operator.bool(name),
        false => Ok(false),
    }
}

/// The clip threshold of the activations' inputs; `None` without clipping.
///
/// # Errors
/// [`Error::Internal`]: the operator is not a recurrent network.
pub fn threshold(operator: &Validated) -> Result<Option<f32>, Error> {
    match flag(operator, "UseClipThreshold")? {
        true => operator.float("ClipThreshold").map(Some),
        false => Ok(None),
    }
}
