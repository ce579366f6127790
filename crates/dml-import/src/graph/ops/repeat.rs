//! Loop: the body is unrolled for each iteration, up to the trip count, as long as the condition holds. If a
//! device computes the condition, either all iterations are executed and loop-carried values are selected from
//! the last active one, or the host reads the condition.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::device::DeviceNodes;
use crate::graph::ops::arithmetic::{AND, WHERE};
use crate::graph::ops::body::{Body, integer, stacked, truth, zeros};
use crate::graph::ops::element_wise::ElementWise;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Kind, Storage, Value};

/// ONNX's Loop. Inputs are the trip count, the condition, the loop-carried values, and the values of outer
/// graphs; the body has the same inputs, with the iteration number in place of the trip count. The body's
/// outputs are the condition, the loop-carried values, and the scan outputs, which are stacked over all
/// iterations.
#[derive(Debug)]
pub(crate) struct Repeat {
    pub(crate) body: Body,
    /// The number of loop-carried values.
    pub(crate) carried: usize,
    /// The model's declaration of each scan output.
    pub(crate) declared: Vec<Option<Kind>>,
}

impl Op for Repeat {
    fn need(&self, input: usize) -> Need {
        match input {
            0 => Need::Host,
            1 => Need::Wanted,
            _ => self.body.need(input),
        }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let trips = operands.optional(0).map(|_| operands.scalar(0, "M")).transpose()?;
        let has_condition = operands.optional(1).is_some();
        if trips.is_none() && !has_condition {
            let accepted = "a trip count, a condition, or both";
            return Err(operands.node.invalid(
                "inputs M and cond",
                "nothing",
                "is given",
                accepted,
            ));
        }
        let mut condition = operands.optional(1).cloned().unwrap_or_else(|| truth(true));
        let (first, last) = (2, 2 + self.carried);
        let carried = (first..last).map(|index| operands.passed(index, "v_initial").cloned());
        let mut carried = carried.collect::<Result<Vec<Value>>>()?;
        let typed = std::iter::once(&condition).chain(&carried);
        typed.zip(1..).try_for_each(|(it, index)| self.body.check_type(operands, index, it))?;
        // Without a condition the number of iterations is known in advance.
        let least = trips.filter(|_| !has_condition).and_then(|trip| u64::try_from(trip).ok());
        self.body.check_count(operands, least.unwrap_or(0))?;
        let mut scans: Vec<Vec<Value>> = vec![vec![]; self.declared.len()];
        let mut iteration = 0;
        // Whether this iteration is active, if a device computes that.
        let mut counts: Option<Value> = None;
        while trips.is_none_or(|trips| iteration < trips) {
            if has_condition && counts.is_none() {
                match self.holds(operands, &condition)? {
                    Some(true) => {}
                    Some(false) => break,
                    None => {
                        self.check_selected(operands, &condition, (iteration, trips))?;
                        operands.device.select();
                        counts = Some(operands.reshaped(&condition, &[])?);
                    }
                }
            }
            let found = self.iteration(operands, iteration, &condition, &carried)?;
            let mut found = found.into_iter();
            condition = found.next().unwrap_or_else(|| truth(false));
            let mut next: Vec<Value> = found.by_ref().take(self.carried).collect();
            for (index, (before, after)) in carried.iter().zip(&next).enumerate() {
                let keeps_shape = counts.is_some();
                self.body.check_carried(operands, 1 + index, [before, after], keeps_shape)?;
            }
            if let Some(now) = counts {
                next = selected(operands, &now, (next, carried))?;
                counts = Some(both(operands, now, &condition)?);
            }
            carried = next;
            scans.iter_mut().zip(found).for_each(|(all, value)| all.push(value));
            iteration += 1;
        }
        let scans = match iteration {
            0 => self.none(operands, &condition, &carried)?,
            _ => {
                let joined = |all: &Vec<Value>| stacked(operands, all, 0, PATH);
                scans.iter().map(|all| joined(all).unwrap_or_else(Value::refused)).collect()
            }
        };
        Ok(carried.into_iter().chain(scans).collect())
    }
}

impl Repeat {
    fn iteration(
        &self,
        operands: &NodeInputs<'_>,
        iteration: i64,
        condition: &Value,
        carried: &[Value],
    ) -> Result<Vec<Value>> {
        let number = integer(iteration);
        let own = [&number, condition].into_iter().chain(carried).map(Some);
        let around = operands.values.iter().skip(2 + self.carried).copied();
        self.body.run(operands, own.chain(around))
    }

    /// The value of the condition, if the host knows it, or a session has read it.
    fn holds(&self, operands: &NodeInputs<'_>, condition: &Value) -> Result<Option<bool>> {
        match operands.condition(condition)? {
            None if operands.device.is_read() => match operands.answered(condition, true)? {
                None => operands.read(condition).map(|_| None),
                answer => Ok(answer),
            },
            known => Ok(known),
        }
    }

    /// Checks that a device can execute all remaining iterations and select from them: the trip count is known,
    /// and only loop-carried values depend on how many are active.
    fn check_selected(
        &self,
        operands: &NodeInputs<'_>,
        condition: &Value,
        (iteration, trips): (i64, Option<i64>),
    ) -> Result<()> {
        let problem = match trips {
            Some(trips) if self.declared.is_empty() => {
                let rest = u64::try_from(trips.saturating_sub(iteration)).unwrap_or(0);
                return self.body.check_count(operands, rest);
            }
            Some(_) => "the size of what the loop collects would depend on it",
            None => "the loop has no trip count",
        };
        let writer = match condition.view().map(|view| &view.storage) {
            Some(Storage::Device { node, .. }) => operands.device.writer(*node),
            _ => "a device".to_owned(),
        };
        Err(operands.node.not_supported(format!(
            "loops are unrolled, the condition of iteration {iteration} is the result of {writer}, \
             computed by a device, and {problem}"
        )))
    }

    /// The scan outputs of a loop without iterations. Their kinds are what an iteration would produce, or else
    /// what the model declares.
    fn none(
        &self,
        operands: &NodeInputs<'_>,
        condition: &Value,
        carried: &[Value],
    ) -> Result<Vec<Value>> {
        if self.declared.is_empty() {
            return Ok(vec![]);
        }
        let device = DeviceNodes::shapes();
        let probe = NodeInputs { values: operands.values.clone(), device: &device, ..*operands };
        let found = self.iteration(&probe, 0, condition, carried)?;
        let parts = found.into_iter().skip(1 + self.carried).zip(&self.declared);
        let none = |(part, declared): (Value, &Option<Kind>)| {
            let kind = part.kind().or_else(|error| declared.clone().ok_or(error));
            kind.and_then(|kind| zeros(operands, kind, 0, 0, PATH)).unwrap_or_else(Value::refused)
        };
        Ok(parts.map(none).collect())
    }
}

/// The name of scan outputs in messages.
const PATH: &str = "body's outputs";

/// Loop-carried values: `after` an iteration if it `counts`, and `before` it otherwise.
fn selected(
    operands: &NodeInputs<'_>,
    counts: &Value,
    (after, before): (Vec<Value>, Vec<Value>),
) -> Result<Vec<Value>> {
    let select = ElementWise::new(WHERE);
    let values = after.into_iter().zip(before);
    values.map(|(after, before)| select.apply(operands, &[counts.clone(), after, before])).collect()
}

/// Whether the next iteration is active: this one is, and the condition after it holds.
fn both(operands: &NodeInputs<'_>, counts: Value, condition: &Value) -> Result<Value> {
    operands.type_is(condition.element()?, &[ElementType::Bool], "cond")?;
    let condition = operands.reshaped(condition, &[])?;
    ElementWise::new(AND).apply(operands, &[counts, condition])
}
