//! Kernels that compute something else: their SPIR-V is changed, their twin on the host is not, so
//! only devices can find it.

use std::collections::HashMap;
use std::sync::Mutex;

use dml::core::kernel::{KernelDescription, KernelModule};
use dml::core::plan::{InPlace, Plan, Step};
use dml::core::{Error, Validated};
use dml_conformance::execute::Lowering;
use dml_ops::Target;
use rspirv::binary::Assemble as _;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Op, Word};

use crate::{changed, check_found, on_every_device};

/// Changes a kernel's instructions; returns how many.
type Change = fn(&mut Module) -> usize;

/// Executes changed kernels in place of the right ones.
struct ChangedKernels {
    name: &'static str,
    change: Change,
    made: Mutex<HashMap<&'static str, &'static KernelModule>>,
}

impl ChangedKernels {
    fn new(name: &'static str, change: Change) -> Self {
        Self { name, change, made: Mutex::default() }
    }

    fn variant(&self, right: &'static KernelModule) -> &'static KernelModule {
        let mut made = self.made.lock().unwrap();
        made.entry(right.name).or_insert_with(|| self.make(right))
    }

    /// It lives as long as the program, as any kernel does.
    fn make(&self, right: &'static KernelModule) -> &'static KernelModule {
        let mut module = rspirv::dr::load_bytes(right.spirv).unwrap();
        if (self.change)(&mut module) == 0 {
            return right;
        }
        let spirv: Vec<u8> = module.assemble().into_iter().flat_map(u32::to_le_bytes).collect();
        Box::leak(Box::new(KernelModule::new(KernelDescription {
            name: String::leak(format!("{}_{}", right.name, self.name)),
            spirv: Vec::leak(spirv),
            ..*right.description()
        })))
    }
}

impl Lowering for ChangedKernels {
    fn lower(&self, operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
        let mut plan = dml_ops::lower(operator, target)?;
        let in_place = plan.in_place.iter_mut().flat_map(InPlace::own_steps_mut);
        for step in plan.init.iter_mut().chain(&mut plan.exec).chain(in_place) {
            if let Step::Dispatch(dispatch) = step {
                dispatch.kernel.variant = self.variant(dispatch.kernel.variant);
            }
        }
        Ok(plan)
    }
}

fn check(mutation: &ChangedKernels) {
    let cases = changed(mutation);
    on_every_device(mutation, |name, executor| {
        check_found(name, &cases, executor, ": output 0: element");
    });
    assert!(mutation.made.lock().unwrap().values().any(|it| it.name.ends_with(mutation.name)));
}

fn blocks(module: &mut Module) -> impl Iterator<Item = &mut Vec<Instruction>> {
    let blocks = module.functions.iter_mut().flat_map(|function| &mut function.blocks);
    blocks.map(|block| &mut block.instructions)
}

/// Quotients where remainders have to be.
fn divide_instead_of_remainder(module: &mut Module) -> usize {
    let mut count = 0;
    for instruction in blocks(module).flatten() {
        if instruction.class.opcode == Op::UMod {
            *instruction = Instruction::new(
                Op::UDiv,
                instruction.result_type,
                instruction.result_id,
                std::mem::take(&mut instruction.operands),
            );
            count += 1;
        }
    }
    count
}

#[test]
fn a_broken_kernel_is_found() {
    check(&ChangedKernels::new("broken", divide_instead_of_remainder));
}

/// A load, a bitwise operation and a store in place of each atomic: what a driver without atomics
/// would do, and wrong as soon as two invocations share a word.
fn plain_read_modify_write(module: &mut Module) -> usize {
    let mut next = module.header.as_ref().map_or(0, |header| header.bound);
    let mut count = 0;
    for block in blocks(module) {
        let mut changed = Vec::with_capacity(block.len());
        for instruction in block.drain(..) {
            let bitwise = match instruction.class.opcode {
                Op::AtomicOr => Op::BitwiseOr,
                Op::AtomicAnd => Op::BitwiseAnd,
                _ => {
                    changed.push(instruction);
                    continue;
                }
            };
            changed.extend(plain(&instruction, bitwise, next));
            next += 1;
            count += 1;
        }
        *block = changed;
    }
    if let Some(header) = &mut module.header {
        header.bound = next;
    }
    count
}

/// The operands of an atomic are the pointer, two that order memory, and the value; its result is
/// what was there before.
fn plain(atomic: &Instruction, bitwise: Op, result: Word) -> [Instruction; 3] {
    let before = atomic.result_id.expect("an atomic has a result");
    let [pointer, _, _, value] = atomic.operands.as_slice() else { panic!("{atomic:?}") };
    let after = Operand::IdRef(result);
    [
        Instruction::new(Op::Load, atomic.result_type, Some(before), vec![pointer.clone()]),
        Instruction::new(
            bitwise,
            atomic.result_type,
            Some(result),
            vec![Operand::IdRef(before), value.clone()],
        ),
        Instruction::new(Op::Store, None, None, vec![pointer.clone(), after]),
    ]
}

#[test]
fn a_plain_read_modify_write_is_found() {
    check(&ChangedKernels::new("plain", plain_read_modify_write));
}
