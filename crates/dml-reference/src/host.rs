//! Executes a case on the host interpreter.

use dml_core::Capabilities;
use dml_core::host::{HostBuffer, HostMemory, interpret};
use dml_core::plan::{Aliases, Plan, Step};

use super::guarded::{SENTINEL, Tensor};
use super::memory::{Input, Memory, MemoryAfter};

/// Interprets `plan` as a device with these capabilities would run it, on the buffers of `memory`, with inputs
/// in place as `aliases` says.
///
/// # Errors
/// The plan is malformed, does not allow this aliasing, or one of its steps cannot be interpreted.
pub fn run_on_host(
    plan: &Plan,
    aliases: &Aliases,
    memory: &Memory,
    capabilities: &Capabilities,
) -> Result<MemoryAfter, String> {
    run_on_host_by(plan, aliases, memory, capabilities, |steps, host| {
        interpret(steps, host, capabilities).map_err(|error| error.to_string())
    })
}

/// Like [`run_on_host`], but `execute` interprets the steps, first those of the initialization.
///
/// # Errors
/// See [`run_on_host`]; errors of `execute`.
pub fn run_on_host_by(
    plan: &Plan,
    aliases: &Aliases,
    memory: &Memory,
    capabilities: &Capabilities,
    mut execute: impl FnMut(&[Step], &mut HostMemory) -> Result<(), String>,
) -> Result<MemoryAfter, String> {
    plan.check(capabilities).map_err(|problem| problem.to_string())?;
    let mut host = HostMemory::for_plan(plan);
    host.persistent.bytes.fill(SENTINEL);
    host.temporary.bytes.fill(SENTINEL);
    host.outputs = vec![None; memory.outputs.len()];
    host.inputs = inputs(memory, |input| input.is_owned);
    execute(&plan.init, &mut host)?;
    // Owned inputs are not bound any more, and inputs in place share the output's buffer.
    host.inputs = inputs(memory, Input::is_only_read);
    let outputs = memory.outputs.iter().map(|output| Some(buffer(&output.as_ref()?.tensor)));
    host.outputs = outputs.collect();
    host.aliases = aliases.clone();
    let steps = plan.exec_with(aliases).ok_or("the plan may not be executed in place like that")?;
    execute(&steps, &mut host)?;
    let bytes = |buffer: Option<HostBuffer>| buffer.map(|buffer| buffer.bytes);
    Ok(MemoryAfter {
        inputs: host.inputs.into_iter().map(bytes).collect(),
        outputs: host.outputs.into_iter().map(bytes).collect(),
    })
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
