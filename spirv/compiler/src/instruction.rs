//! Operands, definitions and decorations of a module's instructions.

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Decoration, Op};

/// The type, constant or variable with the result `id`.
pub(crate) fn definition(module: &Module, id: u32) -> Option<&Instruction> {
    module.types_global_values.iter().find(|value| value.result_id == Some(id))
}

/// The literal of the decoration of `id`.
pub(crate) fn decoration(module: &Module, id: u32, wanted: Decoration) -> Option<u32> {
    module
        .annotations
        .iter()
        .find(|annotation| {
            annotation.class.opcode == Op::Decorate
                && id_operand(annotation, 0) == Some(id)
                && annotation.operands.get(1) == Some(&Operand::Decoration(wanted))
        })
        .and_then(|annotation| literal(annotation, 2))
}

/// The id that is the operand at `index` of an instruction.
pub(crate) fn id_operand(instruction: &Instruction, index: usize) -> Option<u32> {
    instruction.operands.get(index)?.id_ref_any()
}

/// The 32-bit literal that is the operand at `index` of an instruction.
pub(crate) fn literal(instruction: &Instruction, index: usize) -> Option<u32> {
    match instruction.operands.get(index) {
        Some(&Operand::LiteralBit32(value)) => Some(value),
        _ => None,
    }
}
