//! The host interpreter's memory before and after each dispatch of a plan.

use dml::core::Capabilities;
use dml::core::host::{HostBuffer, HostMemory, interpret};
use dml::core::plan::{Aliases, Dispatch, Plan, Slot, Step};
use dml_reference::{Memory, MemoryAfter, run_on_host_by};

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
    /// The bytes that each memory which it touches must have afterwards.
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
        let mut dispatches = Vec::new();
        let after = run_on_host_by(plan, aliases, memory, capabilities, |steps, host| {
            dispatches.extend(run_steps(plan, steps, host, capabilities)?);
            Ok(())
        })?;
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
