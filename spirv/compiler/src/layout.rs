//! Sizes of explicitly laid out types.

use anyhow::{Context, Result, bail, ensure};
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Decoration, Op};

use crate::instruction::{decoration, definition, id_operand, literal};

/// Bytes up to the end of the block that `variable` points to.
pub(crate) fn size_of_block(module: &Module, variable: &Instruction) -> Result<u32> {
    let pointer = variable
        .result_type
        .and_then(|id| definition(module, id))
        .context("a variable without a type")?;
    size_of(module, id_operand(pointer, 1).context("a pointer to nothing")?)
}

fn size_of(module: &Module, id: u32) -> Result<u32> {
    let found = definition(module, id).context("a type that is not defined")?;
    match found.class.opcode {
        Op::TypeInt | Op::TypeFloat => Ok(literal(found, 0).context("a type without a width")? / 8),
        Op::TypeVector => {
            let component = size_of(module, id_operand(found, 0).context("a vector of nothing")?)?;
            Ok(component * literal(found, 1).context("a vector without a length")?)
        }
        Op::TypeArray => size_of_array(module, id, found),
        Op::TypeStruct => size_of_struct(module, id, found),
        other => bail!("Op{other:?} in a push constant block: its size is not known here"),
    }
}

fn size_of_array(module: &Module, id: u32, array: &Instruction) -> Result<u32> {
    let stride = decoration(module, id, Decoration::ArrayStride).context("no array stride")?;
    let length = id_operand(array, 1)
        .and_then(|length| definition(module, length))
        .context("an array without a length")?;
    ensure!(length.class.opcode == Op::Constant, "an array whose length can be specialized");
    Ok(stride * literal(length, 0).context("an array without a length")?)
}

fn size_of_struct(module: &Module, id: u32, members: &Instruction) -> Result<u32> {
    let mut end = 0;
    for (index, member) in (0..).zip(&members.operands) {
        let offset = member_offset(module, id, index).context("a member without an offset")?;
        let size = size_of(module, member.id_ref_any().context("a member without a type")?)?;
        end = end.max(offset + size);
    }
    Ok(end)
}

fn member_offset(module: &Module, id: u32, member: u32) -> Option<u32> {
    module
        .annotations
        .iter()
        .find(|annotation| {
            annotation.class.opcode == Op::MemberDecorate
                && id_operand(annotation, 0) == Some(id)
                && literal(annotation, 1) == Some(member)
                && annotation.operands.get(2) == Some(&Operand::Decoration(Decoration::Offset))
        })
        .and_then(|annotation| literal(annotation, 3))
}
