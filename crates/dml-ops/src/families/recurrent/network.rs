//! The sizes of a recurrent network, and the order of its steps.

use dml_core::{Error, RecurrentNetworkDirection, TensorLayout, Validated};

/// A network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Network {
    pub(super) steps: u32,
    pub(super) sequences: u32,
    pub(super) elements: u32,
    pub(super) hidden: u32,
    pub(super) gates: u32,
    direction: RecurrentNetworkDirection,
}

impl Network {
    pub(super) fn of(operator: &Validated) -> Result<Self, Error> {
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

    /// How many sums a sequence has in a step.
    pub(super) fn width(&self) -> u32 {
        self.gates * self.hidden
    }

    /// The sums of all steps are counted with 32 bits.
    pub(super) fn check(&self, operator: &Validated) -> Result<(), Error> {
        let Self { steps, sequences, .. } = *self;
        let sums = u64::from(steps) * u64::from(sequences) * u64::from(self.width());
        if u32::try_from(sums).is_ok() {
            return Ok(());
        }
        Err(Error::DeviceLimit {
            operator: operator.schema().name,
            field: "InputTensor",
            needed: sums,
            unit: "sums of gates",
            limit: "what recorder count",
            available: u32::MAX.into(),
        })
    }

    /// Whether each direction begins with the last step.
    pub(super) fn directions(&self) -> &'static [bool] {
        match self.direction {
            RecurrentNetworkDirection::Forward => &[false],
            RecurrentNetworkDirection::Backward => &[true],
            RecurrentNetworkDirection::Bidirectional => &[false, true],
        }
    }

    /// The steps of a direction, in its order.
    pub(super) fn order(&self, is_backward: bool) -> Vec<u32> {
        let steps = 0..self.steps;
        if is_backward { steps.rev().collect() } else { steps.collect() }
    }
}

/// The functions of a direction.
pub(super) fn functions(operator: &Validated, direction: u32) -> Result<&[Validated], Error> {
    let all = operator.nested("ActivationDescs")?;
    let directions = Network::of(operator)?.directions().len();
    let count = all.len() / directions;
    let first = direction as usize * count;
    Ok(&all[first..first + count])
}

/// Whether an attribute is set, which not every network has.
pub(super) fn flag(operator: &Validated, name: &str) -> Result<bool, Error> {
    match operator.schema().has_field(name) {
        true => operator.bool(name),
        false => Ok(false),
    }
}

/// What functions see is at most so far from 0; `None` where nothing is limited.
pub(super) fn threshold(operator: &Validated) -> Result<Option<f32>, Error> {
    match flag(operator, "UseClipThreshold")? {
        true => operator.float("ClipThreshold").map(Some),
        false => Ok(None),
    }
}
