//! Scan: the body is unrolled for each slice of the scanned inputs.

use crate::error::Result;
use crate::graph::device::DeviceNodes;
use crate::graph::ops::body::{Body, slices, stacked, zeros};
use crate::graph::ops::concat::join;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::text;

/// ONNX's Scan. Inputs are the loop-carried values, the scanned inputs, and the values of outer graphs; outputs
/// are the loop-carried values and the scan outputs, which are stacked over all iterations.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) body: Body,
    /// The number of loop-carried values.
    pub(crate) carried: usize,
    /// The dimension and direction of each scanned input.
    pub(crate) inputs: Vec<Along>,
    /// The dimension and direction of each scan output.
    pub(crate) outputs: Vec<Along>,
    /// Whether this is version 8, whose first input has the lengths of sequences, and whose first dimensions
    /// are batches.
    pub(crate) has_batches: bool,
}

/// The name of the dimensions of scan outputs in messages.
const PATH: &str = "attribute scan_output_axes";

/// A dimension, and the direction in which it is scanned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Along {
    pub(crate) axis: i64,
    pub(crate) backward: bool,
}

impl Op for Scan {
    fn need(&self, input: usize) -> Need {
        match input.checked_sub(usize::from(self.has_batches)) {
            None => Need::Host,
            Some(input) => self.body.need(input),
        }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let first = usize::from(self.has_batches);
        let value = |index| operands.value(first + index, "initial_state_and_scan_inputs").cloned();
        let count = self.carried + self.inputs.len();
        let given = (0..count).map(value).collect::<Result<Vec<Value>>>()?;
        let typed = given.iter().enumerate();
        typed.into_iter().try_for_each(|(index, it)| self.body.check_type(operands, index, it))?;
        let (carried, sequences) = given.split_at(self.carried);
        match self.has_batches {
            false => self.sequence(operands, carried.to_vec(), sequences, None),
            true => self.batches(operands, carried, sequences),
        }
    }
}

impl Scan {
    /// The outputs of version 8, which processes one sequence of the batch after the other.
    fn batches(
        &self,
        operands: &NodeInputs<'_>,
        carried: &[Value],
        sequences: &[Value],
    ) -> Result<Vec<Value>> {
        let mut batches: Vec<Vec<Value>> = Vec::new();
        for value in carried.iter().chain(sequences) {
            let shape = value.shape()?;
            let size = shape[operands.axis(0, shape.len(), "batch axis")?];
            self.body.check_count(operands, size)?;
            if let Some(first) = batches.first().filter(|it| it.len() as u64 != size) {
                let (problem, accepted) = ("is another number of batches", first.len().to_string());
                return Err(operands.node.invalid("inputs", size, problem, accepted));
            }
            batches.push(slices(operands, value, 0, false)?);
        }
        let count = batches.first().map_or(0, Vec::len);
        if count == 0 {
            return Err(operands.node.not_supported("it has no batches"));
        }
        let lengths = match operands.optional(0) {
            None => vec![None; count],
            Some(_) => {
                let lengths = operands.sizes(0, "sequence_lens")?;
                if lengths.len() != count {
                    let (given, problem) = (lengths.len(), "is the wrong number");
                    let accepted = format!("{count}, one for each batch");
                    return Err(operands.node.invalid("sequence_lens", given, problem, accepted));
                }
                lengths.into_iter().map(Some).collect()
            }
        };
        let mut outputs: Vec<Vec<Value>> = vec![vec![]; self.body.outputs()];
        for (batch, length) in lengths.into_iter().enumerate() {
            let own: Vec<Value> = batches.iter().map(|it| it[batch].clone()).collect();
            let (carried, sequences) = own.split_at(self.carried);
            let found = self.sequence(operands, carried.to_vec(), sequences, length)?;
            outputs.iter_mut().zip(found).for_each(|(all, value)| all.push(value));
        }
        let join = |all: &Vec<Value>| stacked(operands, all, 0, "batch axis");
        Ok(outputs.iter().map(|all| join(all).unwrap_or_else(Value::refused)).collect())
    }

    /// The outputs of one sequence, or of its first `length` slices; the other slices give zeros.
    fn sequence(
        &self,
        operands: &NodeInputs<'_>,
        mut carried: Vec<Value>,
        sequences: &[Value],
        length: Option<u64>,
    ) -> Result<Vec<Value>> {
        let (axes, count) = self.axes(operands, sequences)?;
        let trips = self.trips(operands, length, count)?;
        self.body.check_count(operands, count)?;
        if trips == 0 {
            return self.none(operands, carried, sequences, &axes, count);
        }
        let mut slices_of = Vec::new();
        for ((value, along), axis) in sequences.iter().zip(&self.inputs).zip(axes) {
            slices_of.push(slices(operands, value, axis, along.backward)?);
        }
        let mut scans: Vec<Vec<Value>> = vec![vec![]; self.outputs.len()];
        for trip in 0..usize::try_from(trips).unwrap_or(usize::MAX) {
            let slices = slices_of.iter().map(|it| &it[trip]);
            let found = self.iteration(operands, carried.iter().chain(slices))?;
            let mut found = found.into_iter();
            let next: Vec<Value> = found.by_ref().take(self.carried).collect();
            for (index, (before, after)) in carried.iter().zip(&next).enumerate() {
                self.body.check_carried(operands, index, [before, after], true)?;
            }
            carried = next;
            scans.iter_mut().zip(found).for_each(|(all, value)| all.push(value));
        }
        let collected = scans.into_iter().zip(&self.outputs).map(|(mut all, along)| {
            if along.backward {
                all.reverse();
            }
            let all = stacked(operands, &all, along.axis, PATH)?;
            if trips == count {
                return Ok(all);
            }
            let mut kind = all.kind()?;
            kind.shape.remove(operands.axis(along.axis, kind.shape.len(), PATH)?);
            let rest = zeros(operands, kind, count - trips, along.axis, PATH)?;
            join(operands, &[&all, &rest], along.axis, PATH)
        });
        let collected = collected.map(|collected| collected.unwrap_or_else(Value::refused));
        Ok(carried.into_iter().chain(collected).collect())
    }

    fn iteration<'a>(
        &self,
        operands: &'a NodeInputs<'_>,
        own: impl Iterator<Item = &'a Value>,
    ) -> Result<Vec<Value>> {
        let first = usize::from(self.has_batches) + self.carried + self.inputs.len();
        let around = operands.values.iter().skip(first).copied();
        self.body.run(operands, own.map(Some).chain(around))
    }

    /// The scanned dimension of each sequence, and the number of slices, which all sequences share.
    fn axes(&self, operands: &NodeInputs<'_>, sequences: &[Value]) -> Result<(Vec<usize>, u64)> {
        let (mut axes, mut count) = (Vec::new(), None);
        for (value, along) in sequences.iter().zip(&self.inputs) {
            let shape = value.shape()?;
            let axis = operands.axis(along.axis, shape.len(), "attribute scan_input_axes")?;
            let own = shape[axis];
            if *count.get_or_insert(own) != own {
                let (given, problem) = (text(shape), "has another number of slices");
                let accepted = count.unwrap_or(0).to_string();
                return Err(operands.node.invalid("inputs", given, problem, accepted));
            }
            axes.push(axis);
        }
        Ok((axes, count.unwrap_or(0)))
    }

    fn trips(&self, operands: &NodeInputs<'_>, length: Option<u64>, count: u64) -> Result<u64> {
        let trips = length.unwrap_or(count);
        if trips > count {
            let (problem, accepted) = ("is more than the slices", format!("up to {count}"));
            return Err(operands.node.invalid("sequence_lens", trips, problem, accepted));
        }
        if trips < count && self.inputs.iter().any(|input| input.backward) {
            let reason = "ONNX leaves open where a shorter sequence begins from its end on";
            return Err(operands.node.not_supported(reason));
        }
        Ok(trips)
    }

    /// The outputs without iterations: scan outputs are zeros of the kinds that an iteration would produce.
    fn none(
        &self,
        operands: &NodeInputs<'_>,
        carried: Vec<Value>,
        sequences: &[Value],
        axes: &[usize],
        count: u64,
    ) -> Result<Vec<Value>> {
        let device = DeviceNodes::shapes();
        let probe = NodeInputs { values: operands.values.clone(), device: &device, ..*operands };
        let mut slices = Vec::new();
        for (value, axis) in sequences.iter().zip(axes) {
            let Kind { element, mut shape } = value.kind()?;
            shape.remove(*axis);
            slices.push(Value::fill(Kind { element, shape }, 0));
        }
        let found = self.iteration(&probe, carried.iter().chain(&slices))?;
        let scans = found.into_iter().skip(self.carried).zip(&self.outputs).map(|(part, along)| {
            let zeros = |kind: Kind| zeros(operands, kind, count, along.axis, PATH);
            part.kind().and_then(zeros).unwrap_or_else(Value::refused)
        });
        let scans: Vec<Value> = scans.collect();
        Ok(carried.into_iter().chain(scans).collect())
    }
}
