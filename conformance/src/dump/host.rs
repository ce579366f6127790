//! What the host interpreter computes before and after each dispatch of a plan.

use dml::core::Capabilities;
use dml::core::host::{HostBuffer, HostMemory, interpret};
use dml::core::plan::{Aliases, Dispatch, Plan, Slot, Step};
use dml_ops::reference::{Input, Memory, MemoryAfter, SENTINEL, Tensor};

use crate::execute::Replay;

/// A case as the host computes it.
pub(super) struct Interpretation {
    /// Each dispatch, those of the initialization first.
    pub(super) dispatches: Vec<Dispatched>,
    /// Every byte of the buffers after execution.
    pub(super) after: MemoryAfter,
}

/// A dispatch as the host computes it.
pub(super) struct Dispatched {
    pub(super) dispatch: Dispatch,
    /// The dispatch by itself, with what it finds.
    pub(super) replay: Replay,
    /// What it must leave in each memory that it touches.
    pub(super) expected: Vec<Vec<u8>>,
}

impl Interpretation {
    /// Interprets `plan` on buffers that hold what `memory` says, as a device with these capabilities would
    /// run it.
    ///
    /// # Errors
    /// The plan is not well formed, may not be executed in place like that, or one of its steps cannot be
    /// interpreted.
    pub(super) fn run(
        plan: &Plan,
        aliases: &Aliases,
        memory: &Memory,
        capabilities: &Capabilities,
    ) -> Result<Self, String> {
        plan.check(capabilities).map_err(|problem| problem.to_string())?;
        let mut host = HostMemory::for_plan(plan);
        host.persistent.bytes.fill(SENTINEL);
        host.temporary.bytes.fill(SENTINEL);
        host.outputs = vec![None; memory.outputs.len()];
        host.inputs = inputs(memory, |input| input.is_owned);
        let mut dispatches = run_steps(plan, &plan.init, &mut host, capabilities)?;
        // Owned inputs are there no more, and those in place are the output.
        host.inputs = inputs(memory, Input::is_only_read);
        let outputs = memory.outputs.iter();
        host.outputs = outputs.map(|output| Some(buffer(&output.as_ref()?.tensor))).collect();
        host.aliases = aliases.clone();
        let steps = plan.exec_with(aliases);
        let steps = steps.ok_or("the plan may not be executed in place like that")?;
        dispatches.extend(run_steps(plan, steps, &mut host, capabilities)?);
        let bytes = |buffer: Option<HostBuffer>| buffer.map(|buffer| buffer.bytes);
        let after = MemoryAfter {
            inputs: host.inputs.into_iter().map(bytes).collect(),
            outputs: host.outputs.into_iter().map(bytes).collect(),
        };
        Ok(Self { dispatches, after })
    }
}

fn run_steps(
    plan: &Plan,
    steps: &[Step],
    host: &mut HostMemory,
    capabilities: &Capabilities,
) -> Result<Vec<Dispatched>, String> {
    let mut dispatches = Vec::new();
    for step in steps {
        let replay = match step {
            Step::Dispatch(dispatch) => {
                let bytes = |slot| Some(bound(host, slot)?.bound().to_vec());
                let replay = Replay::new(plan, dispatch, &host.aliases, bytes);
                Some((dispatch.clone(), replay.ok_or("a dispatch touches what is not bound")?))
            }
            _ => None,
        };
        interpret(std::slice::from_ref(step), host, capabilities)
            .map_err(|error| error.to_string())?;
        if let Some((dispatch, replay)) = replay {
            let after = |slot: &Slot| Some(bound(host, *slot)?.bound().to_vec());
            let expected = replay.slots.iter().filter_map(after).collect();
            dispatches.push(Dispatched { dispatch, replay, expected });
        }
    }
    Ok(dispatches)
}

fn bound(host: &HostMemory, slot: Slot) -> Option<&HostBuffer> {
    match slot {
        Slot::Input(index) => host.inputs.get(index as usize)?.as_ref(),
        Slot::Output(index) => host.outputs.get(index as usize)?.as_ref(),
        Slot::Temporary => Some(&host.temporary),
        Slot::Persistent => Some(&host.persistent),
        Slot::Constants => Some(&host.constants),
    }
}

fn inputs(memory: &Memory, is_bound: impl Fn(&Input) -> bool) -> Vec<Option<HostBuffer>> {
    let bound = |input: &Option<Input>| {
        input.as_ref().filter(|input| is_bound(input)).map(|input| buffer(&input.tensor))
    };
    memory.inputs.iter().map(bound).collect()
}

fn buffer(tensor: &Tensor) -> HostBuffer {
    HostBuffer { bytes: tensor.before.clone(), offset: tensor.offset, size: tensor.size }
}
