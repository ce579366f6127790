//! Prepares a skeleton or a library so that it can be linked without parsing SPIR-V.

use anyhow::{Result, bail, ensure};
use rspirv::binary::Assemble;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Decoration, GlslStd450Op, Op, StorageClass};

/// The extended instructions that may be used: their results are exact on every device.
const EXACT: [GlslStd450Op; 9] = [
    GlslStd450Op::FAbs,
    GlslStd450Op::FindSMsb,
    GlslStd450Op::FindUMsb,
    GlslStd450Op::SClamp,
    GlslStd450Op::SMax,
    GlslStd450Op::SMin,
    GlslStd450Op::UClamp,
    GlslStd450Op::UMax,
    GlslStd450Op::UMin,
];

/// Whether a module's fused multiplications and additions are exact on every device.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Products {
    /// A device that fuses them gives other results than one that rounds twice.
    Rounded,
    /// The products are exact, whether they are fused or not: there is one rounding.
    Exact,
}

/// A module and its relocations, both as they are checked in.
pub(crate) struct Digest {
    pub(crate) spirv: Vec<u8>,
    /// One word for each instruction after the header: in the low 24 bits, which of its words from
    /// the second on are ids; in the others, the position of the id that it defines, or 0.
    pub(crate) relocations: Vec<u8>,
}

/// Decorates instructions that must not be reassociated and buffers that may alias, and finds all ids.
///
/// # Errors
/// The module uses an instruction whose result may differ between devices, or one that is too long.
pub(crate) fn digest(spirv: &[u8], products: Products) -> Result<Digest> {
    let mut module = match rspirv::dr::load_bytes(spirv) {
        Ok(module) => module,
        Err(state) => bail!("not SPIR-V: {state}"),
    };
    check_instructions(&module, products)?;
    let decorations: Vec<Instruction> = decorated(&module).collect();
    module.annotations.extend(decorations);
    let relocations: Result<Vec<u32>> = module.all_inst_iter().map(relocation).collect();
    Ok(Digest { spirv: bytes(&module.assemble()), relocations: bytes(&relocations?) })
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn instructions(module: &Module) -> impl Iterator<Item = &Instruction> {
    module.functions.iter().flat_map(rspirv::dr::Function::all_inst_iter)
}

fn check_instructions(module: &Module, products: Products) -> Result<()> {
    for it in instructions(module) {
        if it.class.opcode == Op::ExtInst {
            let Some(&Operand::LiteralExtInstInteger(number)) = it.operands.get(1) else {
                bail!("an extended instruction without a number");
            };
            let fused = (products == Products::Exact).then_some(&GlslStd450Op::Fma);
            let allowed = EXACT.iter().chain(fused).any(|it| *it as u32 == number);
            ensure!(allowed, "extended instruction {number} may differ from device to device");
        }
        let is_remainder = matches!(it.class.opcode, Op::SRem | Op::SMod | Op::FRem | Op::FMod);
        ensure!(!is_remainder, "{:?} may differ from device to device", it.class.opcode);
    }
    Ok(())
}

/// The decorations that are added: `NoContraction` on float arithmetic, and `Aliased` on buffers.
fn decorated(module: &Module) -> impl Iterator<Item = Instruction> {
    let is_rounded = |it: &&Instruction| {
        use Op::{FAdd, FDiv, FMul, FNegate, FSub, VectorTimesScalar};
        matches!(it.class.opcode, FAdd | FDiv | FMul | FNegate | FSub | VectorTimesScalar)
    };
    let is_buffer = |it: &&Instruction| {
        it.class.opcode == Op::Variable
            && it.operands.first() == Some(&Operand::StorageClass(StorageClass::StorageBuffer))
    };
    let decorate = |decoration| {
        move |it: &Instruction| {
            let target = Operand::IdRef(it.result_id.expect("it has a result"));
            let operands = vec![target, Operand::Decoration(decoration)];
            Instruction::new(Op::Decorate, None, None, operands)
        }
    };
    let rounded = instructions(module).filter(is_rounded).map(decorate(Decoration::NoContraction));
    let globals = module.types_global_values.iter();
    rounded.chain(globals.filter(is_buffer).map(decorate(Decoration::Aliased)))
}

fn relocation(instruction: &Instruction) -> Result<u32> {
    let (mut mask, mut result, mut at) = (0, 0, 1_u32);
    for is_there in [instruction.result_type.is_some(), instruction.result_id.is_some()] {
        if is_there {
            mask |= 1 << (at - 1);
            at += 1;
        }
    }
    if instruction.result_id.is_some() {
        result = at - 1;
    }
    for operand in &instruction.operands {
        let mut words = Vec::new();
        operand.assemble_into(&mut words);
        if operand.id_ref_any().is_some() {
            ensure!(at <= 24, "{:?} has too many operands", instruction.class.opcode);
            mask |= 1 << (at - 1);
        }
        at += u32::try_from(words.len())?;
    }
    Ok(mask | result << 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_results_are_found() {
        let add = Instruction::new(
            Op::FAdd,
            Some(1),
            Some(2),
            vec![Operand::IdRef(3), Operand::IdRef(4)],
        );
        assert_eq!(relocation(&add).unwrap(), 0b1111 | 2 << 24);
        let constant =
            Instruction::new(Op::Constant, Some(1), Some(2), vec![Operand::LiteralBit32(9)]);
        assert_eq!(relocation(&constant).unwrap(), 0b11 | 2 << 24);
        let store =
            Instruction::new(Op::Store, None, None, vec![Operand::IdRef(3), Operand::IdRef(4)]);
        assert_eq!(relocation(&store).unwrap(), 0b11);
    }
}
