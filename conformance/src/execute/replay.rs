//! One dispatch by itself, with a buffer for each memory that it touches.

use dml::core::Strategy;
use dml::core::plan::{
    Aliases, BindingRequirement, BoundAt, Dispatch, Divisions, Plan, Slot, Step,
};

/// One dispatch, and what the memory that it touches holds before it.
pub struct Replay {
    /// A plan of the dispatch alone: each memory that it touches is an output.
    pub plan: Plan,
    /// The bytes of each output before.
    pub before: Vec<Vec<u8>>,
    /// The slot that each output stands for.
    pub slots: Vec<Slot>,
    aliases: Aliases,
}

/// The alignment of bindings in bytes: DirectML's for tensors.
const ALIGNMENT: u32 = 16;

impl Replay {
    /// The replay of a dispatch of `plan`, where inputs are outputs as `aliases` says and `bytes` gives the bytes
    /// that are bound to a slot. `None` if a slot has none.
    pub fn new(
        plan: &Plan,
        dispatch: &Dispatch,
        aliases: &Aliases,
        bytes: impl Fn(Slot) -> Option<Vec<u8>>,
    ) -> Option<Self> {
        let mut slots = Vec::<Slot>::new();
        let mut dispatch = dispatch.clone();
        for window in &mut dispatch.windows {
            let slot = aliases.slot(window.slot);
            let known = slots.iter().position(|it| *it == slot);
            let output = known.unwrap_or_else(|| {
                slots.push(slot);
                slots.len() - 1
            });
            window.slot = Slot::Output(u32::try_from(output).ok()?);
        }
        let before: Vec<Vec<u8>> = slots.iter().map(|slot| bytes(*slot)).collect::<Option<_>>()?;
        let requirement = |bytes: &Vec<u8>| BindingRequirement {
            field: "memory".into(),
            size: bytes.len() as u64,
            alignment: ALIGNMENT,
            bound_at: BoundAt::Execution,
        };
        let plan = Plan {
            operator: plan.operator,
            strategy: Strategy::Kernel,
            inputs: Vec::new(),
            outputs: before.iter().map(|bytes| Some(requirement(bytes))).collect(),
            init: Vec::new(),
            exec: vec![Step::Dispatch(dispatch)],
            in_place: Vec::new(),
            temporary_size: 0,
            persistent_size: 0,
            divisions: Divisions::default(),
            constants: plan.constants.clone(),
        };
        Some(Self { plan, before, slots, aliases: aliases.clone() })
    }

    /// Which of the outputs stands for the memory of a slot.
    pub fn output(&self, slot: Slot) -> Option<usize> {
        let slot = self.aliases.slot(slot);
        self.slots.iter().position(|it| *it == slot)
    }
}
