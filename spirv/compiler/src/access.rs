//! A kernel's accesses to its storage buffers, followed through its instructions.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Op, StorageClass};

use crate::instruction::id_operand;

/// The kinds of access that a kernel makes to one buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BufferUse {
    reads: bool,
    writes: bool,
}

impl BufferUse {
    /// The variant of `dml_core::plan::Access`.
    pub(crate) fn name(self) -> &'static str {
        match (self.reads, self.writes) {
            (true, true) => "ReadWrite",
            (false, true) => "Write",
            (_, false) => "Read",
        }
    }
}

/// The accesses to each storage buffer, by the id of its variable. Buffers that no instruction loads
/// from or stores to are absent.
pub(crate) fn buffer_accesses(module: &Module) -> Result<BTreeMap<u32, BufferUse>> {
    // Every pointer into a buffer, with the buffer's variable.
    let mut pointers = BTreeMap::new();
    for value in &module.types_global_values {
        let is_buffer =
            value.operands.first() == Some(&Operand::StorageClass(StorageClass::StorageBuffer));
        if let (Op::Variable, true, Some(id)) = (value.class.opcode, is_buffer, value.result_id) {
            pointers.insert(id, id);
        }
    }
    let mut uses = BTreeMap::new();
    let blocks = module.functions.iter().flat_map(|function| &function.blocks);
    for instruction in blocks.flat_map(|block| &block.instructions) {
        visit(instruction, &mut pointers, &mut uses)?;
    }
    Ok(uses)
}

fn visit(
    instruction: &Instruction,
    pointers: &mut BTreeMap<u32, u32>,
    uses: &mut BTreeMap<u32, BufferUse>,
) -> Result<()> {
    let ids = || instruction.operands.iter().filter_map(Operand::id_ref_any);
    if !ids().any(|id| pointers.contains_key(&id)) {
        return Ok(());
    }
    let opcode = instruction.class.opcode;
    // A pointer that is used anywhere but as the first operand cannot be followed further.
    let first = id_operand(instruction, 0).and_then(|id| pointers.get(&id).copied());
    let (Some(buffer), 1) = (first, ids().filter(|id| pointers.contains_key(id)).count()) else {
        bail!("a pointer to a buffer is used by Op{opcode:?}, which reflection cannot follow");
    };
    let (reads, writes) = match opcode {
        Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject => {
            pointers.extend(instruction.result_id.map(|id| (id, buffer)));
            return Ok(());
        }
        Op::ArrayLength => return Ok(()),
        Op::Load | Op::AtomicLoad => (true, false),
        Op::Store | Op::AtomicStore => (false, true),
        Op::AtomicExchange
        | Op::AtomicCompareExchange
        | Op::AtomicIIncrement
        | Op::AtomicIDecrement
        | Op::AtomicIAdd
        | Op::AtomicISub
        | Op::AtomicSMin
        | Op::AtomicUMin
        | Op::AtomicSMax
        | Op::AtomicUMax
        | Op::AtomicAnd
        | Op::AtomicOr
        | Op::AtomicXor => (true, true),
        other => {
            bail!("a pointer to a buffer is used by Op{other:?}, which reflection cannot follow")
        }
    };
    let entry: &mut BufferUse = uses.entry(buffer).or_default();
    entry.reads |= reads;
    entry.writes |= writes;
    Ok(())
}
