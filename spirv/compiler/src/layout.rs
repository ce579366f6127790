//! Members and sizes of explicitly laid out types.

use anyhow::{Context, Result, bail, ensure};
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Decoration, Op};

use crate::instruction::{decoration, definition, id_operand, literal};

/// A member of a block or of a structure in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// The name; empty if the module has no names.
    pub(crate) name: String,
    /// Bytes from the start of the block or structure.
    pub(crate) offset: u32,
    pub(crate) size: u32,
    /// The members of a structure.
    pub(crate) members: Vec<Field>,
}

impl Field {
    /// Whether both have equal offsets and sizes, whatever their names.
    pub(crate) fn has_place_of(&self, other: &Self) -> bool {
        (self.offset, self.size) == (other.offset, other.size)
            && have_same_places(&self.members, &other.members)
    }
}

pub(crate) fn have_same_places(one: &[Field], other: &[Field]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.has_place_of(b))
}

/// The members of the block that `variable` points to, by ascending offset.
pub(crate) fn fields_of_block(module: &Module, variable: &Instruction) -> Result<Vec<Field>> {
    let pointer = variable
        .result_type
        .and_then(|id| definition(module, id))
        .context("a variable without a type")?;
    fields_of_struct(module, id_operand(pointer, 1).context("a pointer to nothing")?)
}

/// The members of a structure; empty for other types.
fn fields_of_struct(module: &Module, id: u32) -> Result<Vec<Field>> {
    let found = definition(module, id).context("a type that is not defined")?;
    if found.class.opcode != Op::TypeStruct {
        return Ok(Vec::new());
    }
    let field = |(index, member): (u32, &Operand)| {
        let offset = member_offset(module, id, index).context("a member without an offset")?;
        let ty = member.id_ref_any().context("a member without a type")?;
        let name = member_name(module, id, index).unwrap_or_default();
        let (size, members) = (size_of(module, ty)?, fields_of_struct(module, ty)?);
        Ok(Field { name, offset, size, members })
    };
    let mut fields = (0..).zip(&found.operands).map(field).collect::<Result<Vec<_>>>()?;
    fields.sort_by_key(|field| field.offset);
    Ok(fields)
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
        Op::TypeStruct => {
            let fields = fields_of_struct(module, id)?;
            Ok(fields.last().map_or(0, |it| it.offset + it.size))
        }
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

fn member_name(module: &Module, id: u32, member: u32) -> Option<String> {
    let is_it = |it: &&Instruction| {
        it.class.opcode == Op::MemberName
            && id_operand(it, 0) == Some(id)
            && literal(it, 1) == Some(member)
    };
    match module.debug_names.iter().find(is_it)?.operands.get(2)? {
        Operand::LiteralString(name) => Some(name.clone()),
        _ => None,
    }
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
