//! Kernels that compute something else: their SPIR-V is changed, their twin on the host is not, so
//! only devices can find it.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use dml::core::kernel::{KernelDescription, KernelModule, Shared};
use dml::core::plan::{InPlace, Plan, Step};
use dml::core::{Error, Validated};
use dml::vk::EntryPoints;
use dml_conformance::execute::Lowering;
use dml_ops::Target;
use rspirv::binary::Assemble as _;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Op, Word};

use crate::{Devices, changed, changed_on, check_found, on_a_device, on_devices_with};

/// Changes a kernel's instructions; returns how many.
type Change = fn(&mut Module) -> usize;

/// Executes changed kernels in place of the right ones.
struct ChangedKernels {
    name: &'static str,
    change: Change,
    made: Mutex<HashMap<String, Shared<KernelModule>>>,
}

impl ChangedKernels {
    fn new(name: &'static str, change: Change) -> Self {
        Self { name, change, made: Mutex::default() }
    }

    fn variant(&self, right: &Shared<KernelModule>) -> Shared<KernelModule> {
        let mut made = self.made.lock().unwrap();
        made.entry(right.name.to_string()).or_insert_with(|| self.make(right)).clone()
    }

    fn make(&self, right: &Shared<KernelModule>) -> Shared<KernelModule> {
        let mut module = rspirv::dr::load_bytes(&right.spirv).unwrap();
        if (self.change)(&mut module) == 0 {
            return right.clone();
        }
        let spirv: Vec<u8> = module.assemble().into_iter().flat_map(u32::to_le_bytes).collect();
        let name = format!("{}_{}", right.name, self.name).into();
        let like = right.description().clone();
        KernelModule::new(KernelDescription { name, spirv: spirv.into(), ..like }).into()
    }
}

impl Lowering for ChangedKernels {
    fn lower(&self, operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
        let mut plan = dml_ops::lower(operator, target)?;
        let in_place = plan.in_place.iter_mut().flat_map(InPlace::own_steps_mut);
        for step in plan.init.iter_mut().chain(&mut plan.exec).chain(in_place) {
            if let Step::Dispatch(dispatch) = step {
                dispatch.kernel.variant = self.variant(&dispatch.kernel.variant);
            }
        }
        Ok(plan)
    }
}

fn check(mutation: &ChangedKernels) {
    on_a_device(mutation, |name, executor| {
        check_found(name, changed(mutation), executor, WRONG_ELEMENT);
    });
    assert!(mutation.made.lock().unwrap().values().any(|it| it.name.ends_with(mutation.name)));
}

const WRONG_ELEMENT: &str = ": output 0: element";

/// Only devices with the types have such kernels.
fn check_native(mutation: &ChangedKernels) {
    let devices = AtomicUsize::new(0);
    on_devices_with(Devices::Every, EntryPoints::default(), mutation, |name, executor| {
        let capabilities = executor.capabilities().expect("a device has capabilities");
        let mut cases = changed_on(capabilities, mutation).peekable();
        if cases.peek().is_some() {
            check_found(name, cases, executor, WRONG_ELEMENT);
            devices.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert!(devices.into_inner() > 0, "{}: no device has such kernels", mutation.name);
}

fn blocks(module: &mut Module) -> impl Iterator<Item = &mut Vec<Instruction>> {
    let blocks = module.functions.iter_mut().flat_map(|function| &mut function.blocks);
    blocks.map(|block| &mut block.instructions)
}

/// The ids of numbers, integers or floats, of so many bits.
fn numbers_of(module: &Module, of: Op, bits: u32) -> Vec<Word> {
    let types = module
        .types_global_values
        .iter()
        .filter(|types_global_value| types_global_value.class.opcode == of);
    let of_bits =
        types.filter(|data_type| data_type.operands.first() == Some(&Operand::LiteralBit32(bits)));
    of_bits.filter_map(|it| it.result_id).collect()
}

/// Differences where sums of 64 bits have to be.
fn subtract_native_words(module: &mut Module) -> usize {
    let wide = numbers_of(module, Op::TypeInt, 64);
    let is_sum = |it: &Instruction| {
        it.class.opcode == Op::IAdd && it.result_type.is_some_and(|found| wide.contains(&found))
    };
    let mut count = 0;
    for sum in blocks(module).flatten().filter(|it| is_sum(it)) {
        let operands = std::mem::take(&mut sum.operands);
        *sum = Instruction::new(Op::ISub, sum.result_type, sum.result_id, operands);
        count += 1;
    }
    count
}

#[test]
fn a_broken_kernel_for_integers_of_64_bits_is_found() {
    check_native(&ChangedKernels::new("subtracting", subtract_native_words));
}

/// The upper one of two halves where the lower one has to be.
fn take_the_upper_half(module: &mut Module) -> usize {
    let halves = numbers_of(module, Op::TypeFloat, 16);
    let is_half = |it: &Instruction| {
        it.class.opcode == Op::CompositeExtract
            && it.result_type.is_some_and(|found| halves.contains(&found))
    };
    let mut count = 0;
    for taken in blocks(module).flatten().filter(|it| is_half(it)) {
        taken.operands[1] = Operand::LiteralBit32(1);
        count += 1;
    }
    count
}

#[test]
fn a_broken_kernel_for_floats_of_16_bits_is_found() {
    check_native(&ChangedKernels::new("upper", take_the_upper_half));
}

/// Elements with a sign where those of narrow buffers have none.
fn extend_signs(module: &mut Module) -> usize {
    let mut count = 0;
    for widened in blocks(module).flatten().filter(|it| it.class.opcode == Op::UConvert) {
        let operands = std::mem::take(&mut widened.operands);
        *widened = Instruction::new(Op::SConvert, widened.result_type, widened.result_id, operands);
        count += 1;
    }
    count
}

#[test]
fn a_broken_kernel_for_narrow_storage_is_found() {
    check_native(&ChangedKernels::new("signed", extend_signs));
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
