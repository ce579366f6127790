//! Every operator's cases, lowered and run by the host interpreter, against its reference.

use dml_core::capabilities::Features;
use dml_core::host::{HostMemory, interpret};
use dml_core::plan::{Plan, Step};
use dml_core::{AbstractOperator, Capabilities, Error, FeatureLevel, Strategy, Tuning, validate};
use dml_reference::{Case, Memory, PerOperator, Reference, Signature, run_on_host};

use crate::families::{attention, gather_scatter, nonzero, resample, roi, sort};
use crate::{OPERATORS, Operator, Target, TransferUse};

mod buffers;
mod dot_products;
mod huge;
mod numerics;
mod proofs;
mod recurrent;
mod root_mean_square;
mod row_kernels;
mod row_segments;
mod tables;
mod worked_shapes;

/// The offset of tensors, so that they do not start at a descriptor's alignment.
const MOVED: u64 = 64;

/// The kind of a step; for a dispatch, the name of its kernel. A test may leak names.
pub(crate) fn kind(step: &Step) -> &'static str {
    match step {
        Step::Fill(_) => "fill",
        Step::Update(_) => "update",
        Step::Copy(_) => "copy",
        Step::Dispatch(dispatch) => dispatch.kernel.variant.name.to_string().leak(),
    }
}

/// The kinds of the execution steps.
pub(crate) fn kinds(plan: &Plan) -> Vec<&'static str> {
    plan.exec.iter().map(kind).collect()
}

/// The plan of an operator for a device with Vulkan's minimal capabilities.
pub(crate) fn lower_with(
    desc: impl Into<AbstractOperator>,
    tuning: Tuning,
    transfer: TransferUse,
) -> Plan {
    let capabilities = &Capabilities::vulkan_minimum();
    lower_for(desc, &Target { capabilities, tuning, transfer })
}

/// The plan of an operator for any device.
pub(crate) fn lower_for(desc: impl Into<AbstractOperator>, target: &Target<'_>) -> Plan {
    crate::lower(&validate(&desc.into(), FeatureLevel::HIGHEST).unwrap(), target).unwrap()
}

/// The bytes of the outputs after a plan without initialization was run on the host.
pub(crate) fn outputs_on_host(
    plan: &Plan,
    inputs: &[Vec<u8>],
    capabilities: &Capabilities,
) -> Vec<Vec<u8>> {
    let mut memory = HostMemory::for_plan(plan);
    for (buffer, bytes) in memory.inputs.iter_mut().zip(inputs) {
        let buffer = buffer.as_mut().unwrap();
        buffer.bytes[..bytes.len()].copy_from_slice(bytes);
    }
    interpret(&plan.exec, &mut memory, capabilities).unwrap();
    memory.outputs.iter().flatten().map(|output| output.bytes.clone()).collect()
}

/// Calls `test` with every item on as many threads as there are processors; the results in the order of threads.
pub(crate) fn on_all_processors<T: Sync, R: Send>(
    items: &[T],
    test: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let every = |first| items.iter().skip(first).step_by(threads).map(&test).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|first| scope.spawn(move || every(first))).collect();
        started.into_iter().flat_map(|it| it.join().expect("a test that passes")).collect()
    })
}

/// The operator's reference.
pub(crate) fn reference(operator: &Operator) -> &'static dyn Reference {
    dml_reference::find(operator.schema().operator_type).unwrap()
}

/// The signatures that the highest feature level accepts.
fn signatures(operator: &Operator) -> impl Iterator<Item = Signature> {
    let reference = reference(operator);
    let accepts = |it: &Signature| validate(&reference.minimal(it), FeatureLevel::HIGHEST).is_ok();
    Signature::all(operator.schema()).filter(accepts)
}

/// Checks a case on each target; a plan that several targets share runs once.
fn check_case(operator: &Operator, signature: &Signature, case: Case, targets: &[Target<'_>]) {
    let name = format!("{} {signature:?} {}", operator.schema().name, case.name);
    let validated = validate(&case.operator, FeatureLevel::HIGHEST).expect(&name);
    let case = Case {
        input_offset: case.input_offset + MOVED,
        output_offset: case.output_offset + MOVED,
        ..case
    };
    let memory = Memory::new(reference(operator), &validated, &case).expect(&name);
    let mut plans: Vec<Plan> = vec![];
    for target in targets {
        let plan = match operator.lower(&validated, target) {
            Err(Error::DeviceLimit { unit: "bytes", .. }) if needs_whole_operands(operator) => {
                continue;
            }
            plan => plan.expect(&name),
        };
        check_limits(&plan, target);
        if plans.contains(&plan) {
            continue;
        }
        let run = run_on_host(&plan, &case.aliases(), &memory, target.capabilities);
        let checked = memory.check(&run.expect(&name));
        checked.unwrap_or_else(|difference| panic!("{name} {target:?}: {difference}"));
        plans.push(plan);
    }
}

/// Whether one descriptor must cover all elements that indices choose from, on any device.
fn needs_whole_operands(operator: &Operator) -> bool {
    let all = [
        attention::OPERATORS,
        gather_scatter::OPERATORS,
        nonzero::OPERATORS,
        roi::OPERATORS,
        resample::OPERATORS,
        sort::OPERATORS,
    ]
    .concat();
    all.iter().any(|it| std::ptr::eq(*it, operator))
}

/// Checks that a plan keeps the limits of its target, wherever its tensors are bound.
pub(crate) fn check_limits(plan: &Plan, target: &Target<'_>) {
    assert!(target.transfer == TransferUse::Allowed || plan.is_dispatch_only());
    plan.check(target.capabilities).unwrap();
    for step in plan.steps() {
        let Step::Dispatch(dispatch) = step else { continue };
        let windows = dispatch.windows.iter().map(|window| window.range.end - window.range.start);
        assert!(windows.clone().all(|it| it <= target.max_window()), "{step:?}");
        // The bytes of windows may be read and written, each once.
        let most = 2 * windows.sum::<u64>();
        let cost = dispatch.cost;
        assert!(cost.operations > 0 && (1..=most).contains(&cost.bytes), "{step:?}");
        let is_divided = cost.as_operations() <= target.tuning.dispatch_bound;
        assert!(is_divided || dispatch.groups == [1; 3], "{step:?}");
    }
}

/// A device whose descriptors can cover `window` bytes wherever a tensor starts.
pub(crate) fn with_window(window: u64, alignment: u64) -> Capabilities {
    let mut capabilities = Capabilities::vulkan_minimum();
    capabilities.limits.min_storage_buffer_offset_alignment = alignment;
    capabilities.limits.max_storage_buffer_range = window + alignment;
    capabilities
}

/// The number of an operator's cases that are run on the host, evenly chosen; an optimized build runs more. Devices
/// run all.
const MOST_CASES: usize = if cfg!(debug_assertions) { 24 } else { 200 };

fn check_everything(targets: &[Target<'_>]) {
    check_operators(OPERATORS.iter().copied(), targets);
}

/// Checks cases of some operators on each target.
fn check_operators(operators: impl IntoIterator<Item = &'static Operator>, targets: &[Target<'_>]) {
    for operator in operators {
        for (signature, case) in sampled_cases(operator) {
            check_case(operator, &signature, case, targets);
        }
    }
}

/// At most [`MOST_CASES`] of an operator's cases, made once for all tests.
fn sampled_cases(operator: &Operator) -> impl Iterator<Item = (Signature, Case)> {
    static SAMPLES: PerOperator<Vec<(Signature, Case)>> = PerOperator::new();
    let sampled = || {
        let of = |it: Signature| {
            let cases = reference(operator).chosen_cases(&it).into_iter();
            cases.map(move |case| (it.clone(), case))
        };
        let all: Vec<(Signature, Case)> = signatures(operator).flat_map(of).collect();
        let step = all.len().div_ceil(MOST_CASES).max(1);
        all.into_iter().step_by(step).collect()
    };
    SAMPLES.get_or_init(operator.schema(), sampled).iter().cloned()
}

#[test]
fn documented_examples_are_what_the_reference_says() {
    let mut counts = vec![];
    for operator in OPERATORS.iter().copied() {
        let cases = signatures(operator).flat_map(|it| reference(operator).chosen_cases(&it));
        let documented: Vec<_> = cases.filter(|case| case.documented.is_some()).collect();
        for case in &documented {
            let validated = validate(&case.operator, operator.schema().introduced()).unwrap();
            let inputs: Vec<_> = case.inputs.iter().cloned().map(Some).collect();
            let outputs = reference(operator).outputs(&validated, &inputs).unwrap();
            assert_eq!(Some(outputs), case.documented, "{}", case.name);
        }
        counts.push((operator.schema().name, documented.len()));
    }
    counts.retain(|(_, count)| *count > 0);
    counts.sort_unstable();
    let expected = [
        ("AVERAGE_POOLING_GRAD", 1),
        ("DEPTH_TO_SPACE1", 2),
        // Four of one page, and five of the other with 2, 3 and 4 dimensions.
        ("DIAGONAL_MATRIX", 4),
        ("DIAGONAL_MATRIX1", 15),
        ("FILL_VALUE_SEQUENCE", 2),
        ("GATHER_ELEMENTS", 1),
        ("MAX_POOLING_GRAD", 1),
        ("PADDING1", 3),
        ("RANDOM_GENERATOR", 3),
        ("REVERSE_SUBSEQUENCES", 2),
        ("ROI_ALIGN_GRAD", 1),
        ("SLICE", 1),
        ("SLICE1", 2),
        ("SPACE_TO_DEPTH1", 2),
    ];
    assert_eq!(counts, expected);
}

#[test]
fn every_case_lowers_to_what_the_reference_says() {
    let minimum = Capabilities::vulkan_minimum();
    // Work groups that are too small for kernels with shared memory, though the tuning asks for them.
    let mut small = Capabilities::vulkan_minimum();
    small.limits.max_compute_work_group_count = [5, 1, 1];
    small.limits.max_compute_work_group_size[0] = 16;
    small.limits.max_compute_work_group_invocations = 16;
    let tuning = Tuning::new();
    let targets = [
        (&minimum, tuning, TransferUse::Allowed),
        (&minimum, tuning, TransferUse::StorageOnly),
        (&small, tuning.with_local_size(8).with_shared_tiles(), TransferUse::StorageOnly),
    ];
    check_everything(&targets.map(|(capabilities, tuning, transfer)| Target {
        capabilities,
        tuning,
        transfer,
    }));
}

/// A feature level decides which operators are accepted, never how they are executed.
#[test]
fn plans_do_not_depend_on_the_level() {
    let capabilities = &Capabilities::vulkan_minimum();
    let target = Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::StorageOnly };
    let mut several = 0;
    for operator in OPERATORS.iter().copied() {
        for (_, case) in sampled_cases(operator) {
            let plan = |level| {
                let validated = validate(&case.operator, level).ok()?;
                Some(operator.lower(&validated, &target).unwrap())
            };
            let mut plans: Vec<Plan> = FeatureLevel::ALL.into_iter().filter_map(plan).collect();
            several += usize::from(plans.len() > 1);
            plans.dedup();
            assert_eq!(plans.len(), 1, "{} {}", operator.schema().name, case.name);
        }
    }
    assert!(several > 1000, "{several}");
}

/// Every strategy in every case that it can serve, with the preferences of the others disabled.
#[test]
fn every_case_is_the_same_with_every_strategy() {
    let minimum = &Capabilities::vulkan_minimum();
    let small = &with_window(268, 256);
    // Every feature that a strategy may need.
    let mut rich = Capabilities { features: Features::ALL, ..minimum.clone() };
    rich.limits.max_compute_work_group_invocations = 256;
    rich.limits.max_compute_work_group_size[0] = 256;
    rich.limits.cooperative_matrix_size = [8, 16, 4];
    let rich = &rich;
    let targets = Strategy::ALL.into_iter().flat_map(|strategy| {
        let tuning = Tuning::new().with_strategy(strategy);
        let short = tuning.with_local_size(8).with_sizes(0, 24, 4);
        let target =
            |capabilities, tuning| Target { capabilities, tuning, transfer: TransferUse::Allowed };
        // Twins do not support the hardware's optional types.
        let of_words = tuning.without_native_types();
        [target(minimum, tuning), target(small, short), target(rich, of_words)]
    });
    check_everything(&targets.collect::<Vec<_>>());
}

/// Checks every case on devices with these descriptors and this tuning, however transfers may be used.
fn check_devices(devices: &[(&Capabilities, Tuning)]) {
    let targets =
        [TransferUse::Allowed, TransferUse::StorageOnly].into_iter().flat_map(|transfer| {
            let target = move |&(capabilities, tuning)| Target { capabilities, tuning, transfer };
            devices.iter().map(target)
        });
    check_everything(&targets.collect::<Vec<_>>());
}

/// Devices whose descriptors cover less than a tensor.
#[test]
fn every_case_is_the_same_in_boxes() {
    let short = Tuning::new().with_local_size(8);
    check_devices(&[
        (&with_window(64, 16), short),
        (&with_window(268, 256), short),
        (&with_window(1024, 64), Tuning::new()),
        (&with_window(1024, 64), Tuning::new().with_shared_tiles()),
    ]);
}

/// Devices whose dispatches have few groups in one dimension, or are divided for their work: to some groups, and to
/// each by itself.
#[test]
fn every_case_is_the_same_in_parts() {
    let short = Tuning::new().with_local_size(8);
    let mut one_dimensional = with_window(100, 4);
    one_dimensional.limits.max_compute_work_group_count = [2, 1, 1];
    check_devices(&[
        (&one_dimensional, short),
        (&with_window(1 << 20, 64), short.with_dispatch_bound(1000)),
        (&with_window(1 << 20, 64), Tuning::new().with_shared_tiles().with_dispatch_bound(1)),
    ]);
}
