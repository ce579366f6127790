//! Element-wise kernels that are linked wrongly: with another function, another class of strides, or without
//! the decoration that keeps roundings apart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use dml::core::kernel::{KernelModule, Shared};
use dml::core::plan::{InPlace, Plan, Step};
use dml::core::{Capabilities, Error, Validated, validate};
use dml_conformance::cases::{Case, Kind};
use dml_conformance::execute::{Details, Executor, Lowering, run};
use dml_conformance::results::ResultCode;
use dml_ops::{Target, TransferUse};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{AccessPattern, ElementWise};
use dml_spirv::functions::{self, Function};
use rspirv::dr::{Module, Operand};
use rspirv::spirv::{Decoration, Op};

use crate::{interpreter, on_a_device};

fn kernels(plan: &mut Plan) -> impl Iterator<Item = &mut Shared<KernelModule>> {
    let in_place = plan.in_place.iter_mut().flat_map(InPlace::own_steps_mut);
    plan.init.iter_mut().chain(&mut plan.exec).chain(in_place).filter_map(|step| match step {
        Step::Dispatch(dispatch) => Some(&mut dispatch.kernel.variant),
        _ => None,
    })
}

/// The cases with outputs at the highest level, with the kernels of their plans.
static CASES: LazyLock<Vec<(Case, Vec<Shared<KernelModule>>)>> = LazyLock::new(|| {
    let cases = crate::THOROUGH.iter().cloned();
    let with_kernels = |case: Case| {
        let operator = validate(&case.operator, case.level).unwrap();
        let capabilities = &Capabilities::vulkan_minimum();
        let (tuning, transfer) = (Default::default(), TransferUse::Allowed);
        let target = Target { capabilities, tuning, transfer };
        let mut plan = dml_ops::lower(&operator, &target).unwrap();
        let kernels = kernels(&mut plan).map(|kernel| kernel.clone()).collect();
        (case, kernels)
    };
    cases.filter(|case| case.kind() == Kind::Outputs).map(with_kernels).collect()
});

/// A lowering that links kernels wrongly.
struct Relinked<F>(F);

impl<F: Fn(&mut ElementWise) + Sync> Relinked<F> {
    /// The wrong kernel; `None` for other kernels, and for kernels that stay the same.
    fn instead(&self, kernel: &KernelModule) -> Option<Shared<KernelModule>> {
        let (right, types) = ElementWise::of(kernel)?;
        let mut wrong = right.clone();
        (self.0)(&mut wrong);
        (wrong != right).then(|| wrong.variant(types))
    }
}

impl<F: Fn(&mut ElementWise) + Sync> Lowering for Relinked<F> {
    fn lower(&self, operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
        let mut plan = dml_ops::lower(operator, target)?;
        for kernel in kernels(&mut plan) {
            if let Some(wrong) = self.instead(kernel) {
                *kernel = wrong;
            }
        }
        Ok(plan)
    }
}

/// Whether one of `cases` does not pass.
fn is_found<'a>(mut cases: impl Iterator<Item = &'a Case>, executor: &dyn Executor) -> bool {
    cases.any(|case| run(case, executor, Details::Failures).result != ResultCode::Pass)
}

/// A wrong way to access an operand.
#[derive(Clone, Copy, Debug)]
struct WrongAccess {
    of_output: bool,
    right: AccessPattern,
    wrong: AccessPattern,
}

const WRONG_ACCESSES: [WrongAccess; 5] = [
    WrongAccess { of_output: true, right: AccessPattern::Ragged, wrong: AccessPattern::Whole },
    WrongAccess { of_output: false, right: AccessPattern::Ragged, wrong: AccessPattern::Whole },
    WrongAccess { of_output: false, right: AccessPattern::Ragged, wrong: AccessPattern::Single },
    WrongAccess { of_output: false, right: AccessPattern::Whole, wrong: AccessPattern::Single },
    WrongAccess { of_output: false, right: AccessPattern::Single, wrong: AccessPattern::Whole },
];

impl WrongAccess {
    /// The kernel with operands of this width accessed wrongly.
    fn apply(self, width: ElementWidth, kernel: &mut ElementWise) {
        let ElementWise { inputs, output, .. } = kernel;
        let operands = if self.of_output { std::slice::from_mut(output) } else { &mut inputs[..] };
        let mut operands = operands.iter_mut();
        let is_one = |it: &&mut dml_spirv::element_wise::KernelOperand| {
            it.width == width && it.access == self.right
        };
        if let Some(operand) = operands.find(is_one) {
            operand.access = self.wrong;
        }
    }
}

/// The twins on the host only use strides, so only devices can find this defect.
#[test]
fn a_wrong_class_of_strides_is_found() {
    for wrong in WRONG_ACCESSES {
        for width in ElementWidth::ALL {
            let relinked = Relinked(|kernel: &mut ElementWise| wrong.apply(width, kernel));
            let differs = |kernels: &[Shared<KernelModule>]| {
                kernels.iter().any(|kernel| relinked.instead(kernel).is_some())
            };
            on_a_device(&relinked, |name, executor| {
                // One after the other: the first ones find the defect, and running all takes long.
                let differing = CASES.iter().filter(|(_, kernels)| differs(kernels));
                let is_found = is_found(differing.map(|(case, _)| case), executor);
                assert!(is_found, "{name}: {wrong:?} {width:?}");
            });
        }
    }
}

/// Whether one function can be linked in place of the other.
fn are_alike(a: &Function, b: &Function) -> bool {
    (a.arity, a.parameters, a.widths()) == (b.arity, b.parameters, b.widths())
}

#[test]
fn every_function_in_the_place_of_another_is_found() {
    // The cases that execute each function.
    let mut executing = BTreeMap::<String, Vec<&Case>>::new();
    let mut known = BTreeMap::<&str, BTreeSet<String>>::new();
    for (case, kernels) in CASES.iter() {
        let names = kernels.iter().flat_map(|kernel| {
            known.entry(&kernel.name).or_insert_with(|| function_names(kernel)).clone()
        });
        for name in names.collect::<BTreeSet<String>>() {
            executing.entry(name).or_default().push(case);
        }
    }
    let (mut count, mut missed) = (0, Vec::new());
    for right in functions::all() {
        let Some(executing) = executing.get(&format!("{right:?}")) else { continue };
        let is_told = |it: &&Function| !SAME_ON_THE_HOST.contains(&(it.name, right.name));
        let others = functions::all().filter(|it| *it != right && are_alike(it, right));
        for wrong in others.filter(is_told) {
            let relinked = Relinked(|kernel: &mut ElementWise| {
                let steps = kernel.program.steps.own().iter_mut();
                steps.filter(|step| step.function == right).for_each(|step| step.function = wrong);
            });
            count += 1;
            if !is_found(executing.iter().copied(), &interpreter(&relinked)) {
                missed.push(format!("{wrong:?} for {right:?}"));
            }
        }
    }
    eprintln!("{count} functions in the place of others");
    assert!(count > 100 && missed.is_empty(), "{count}: {missed:#?}");
}

/// Functions that the host cannot distinguish from others: subnormal numbers are added like integers, and
/// only some devices flush them to zero; and small integers are dequantized by a shorter way to the same number.
const SAME_ON_THE_HOST: [(&str, &str); 5] = [
    ("add", "joined"),
    ("sum_of_both", "joined"),
    ("as_operand", "same"),
    ("same", "as_operand"),
    ("dequantize_i32", "dequantize_small"),
];

fn function_names(kernel: &KernelModule) -> BTreeSet<String> {
    let steps = ElementWise::of(kernel).map(|(it, _)| it.program.steps).unwrap_or_default();
    steps.iter().map(|step| format!("{:?}", step.function)).collect()
}

/// The number of rounded results in a module, and of those that a driver may contract with others.
fn contractable(module: &Module) -> (usize, usize) {
    let decoration = Operand::Decoration(Decoration::NoContraction);
    let kept: BTreeSet<u32> = module
        .annotations
        .iter()
        .filter(|annotation| {
            annotation.class.opcode == Op::Decorate && annotation.operands[1] == decoration
        })
        .map(|annotation| annotation.operands[0].unwrap_id_ref())
        .collect();
    let is_rounded = |op: Op| {
        matches!(
            op,
            Op::FAdd | Op::FSub | Op::FMul | Op::FDiv | Op::FNegate | Op::VectorTimesScalar
        )
    };
    let rounded =
        module.all_inst_iter().filter(|all_inst_iter| is_rounded(all_inst_iter.class.opcode));
    let rounded: Vec<u32> = rounded.filter_map(|it| it.result_id).collect();
    (rounded.len(), rounded.iter().filter(|id| !kept.contains(id)).count())
}

/// Drivers differ in how they treat two roundings that may be fused, and CPU drivers keep both: so modules
/// are checked instead.
#[test]
fn nothing_that_is_executed_may_be_contracted_and_a_dropped_decoration_is_found() {
    let all = CASES.iter().flat_map(|(_, kernels)| kernels);
    let kernels: BTreeMap<&str, &KernelModule> =
        all.map(|kernel| (&*kernel.name, &**kernel)).collect();
    let mut decorations = 0;
    for (name, kernel) in kernels {
        let mut module = rspirv::dr::load_bytes(&kernel.spirv).unwrap();
        let (rounded, found) = contractable(&module);
        assert_eq!(found, 0, "{name}");
        let is_decoration = |it: &rspirv::dr::Instruction| {
            it.operands.get(1) == Some(&Operand::Decoration(Decoration::NoContraction))
        };
        let places: Vec<usize> = (0..module.annotations.len())
            .filter(|at| is_decoration(&module.annotations[*at]))
            .collect();
        assert!(places.len() >= rounded, "{name}");
        for at in places {
            let dropped = module.annotations.remove(at);
            assert_eq!(contractable(&module), (rounded, 1), "{name} without {dropped:?}");
            module.annotations.insert(at, dropped);
            decorations += 1;
        }
    }
    assert!(decorations > 20, "{decorations}");
}
