//! Every operator with indices or regions, with arbitrary indices, on the host interpreter, which refuses
//! every access outside of a window. The results must be the reference's, and other bytes must stay.

use std::sync::LazyLock;

use dml::core::operators as op;
use dml::core::schema::{FieldKind, OperatorSchema};
use dml::core::{Capabilities, Tuning, validate};
use dml::{AbstractOperator, FeatureLevel};
use dml_ops::{Target, TransferUse};
use dml_reference::{Case, Memory, Random, Signature, run_on_host};

/// The operators.
pub static OPERATORS: [&OperatorSchema; 13] = [
    &op::GATHER,
    &op::GATHER_ELEMENTS,
    &op::GATHER_ND,
    &op::GATHER_ND1,
    &op::SCATTER_ELEMENTS,
    &op::SCATTER_ND,
    &op::ONE_HOT,
    &op::MAX_UNPOOLING,
    &op::REVERSE_SUBSEQUENCES,
    &op::ROI_POOLING,
    &op::ROI_ALIGN,
    &op::ROI_ALIGN1,
    &op::ROI_ALIGN_GRAD,
];

/// The signatures of each operator.
static SIGNATURES: LazyLock<Vec<Vec<Signature>>> = LazyLock::new(|| {
    let of = |schema: &&'static OperatorSchema| {
        let reference = dml_reference::find(schema.operator_type);
        let reference = reference.expect("an operator that is implemented");
        let accepted =
            |it: &Signature| validate(&reference.minimal(it), FeatureLevel::HIGHEST).is_ok();
        Signature::all(schema).filter(accepted).collect()
    };
    OPERATORS.iter().map(of).collect()
});

/// Whether an input is written to indexed positions, which may be equal: then its elements are all the same.
fn is_written_anywhere(operator: &AbstractOperator, field: &str) -> bool {
    field == "UpdatesTensor" || operator.schema().name == "MAX_UNPOOLING" && field == "InputTensor"
}

/// Whether an input has indices or regions by which elements of others are found.
fn is_place(operator: &AbstractOperator, field: &str) -> bool {
    let is_of_regions = operator.schema().name.starts_with("ROI_");
    !is_of_regions || matches!(field, "BatchIndicesTensor")
}

/// A random case of the operator at `index`, whose elements have any bits; of operators on regions, only the
/// indices.
///
/// # Panics
/// `index` is not below the number of operators.
pub fn case(index: usize, random: &mut Random) -> Case {
    let reference = dml_reference::find(OPERATORS[index].operator_type).expect("it is implemented");
    let signature = random.pick(&SIGNATURES[index]);
    let mut case = reference.random(random, &signature);
    let validated = validate(&case.operator, FeatureLevel::HIGHEST).expect("a case is accepted");
    for (path, layout) in validated.present_tensors(FieldKind::Input) {
        let (count, data_type) = (layout.element_count(), layout.data_type());
        if !is_place(&case.operator, path.field.name) {
            let input = case.inputs.len();
            let drawn = reference.input_elements(random, &validated, input, layout);
            case.inputs.push(drawn);
            continue;
        }
        let mask = u64::MAX >> (64 - data_type.bits());
        let once = random.bits() & mask;
        let any = |random: &mut Random| match random.below(3) {
            // Near a small dimension's ends, counted from either one, and next to 2^32.
            0 => u64::from(random.below(40)).wrapping_sub(20) & mask,
            1 => (1 << 32 | u64::from(random.below(3))) & mask,
            _ => random.element(data_type) & mask,
        };
        let is_once = is_written_anywhere(&case.operator, path.field.name);
        case.inputs.push((0..count).map(|_| if is_once { once } else { any(random) }).collect());
    }
    case
}

/// Checks a case on the host, and returns the initial contents of its buffers.
///
/// # Errors
/// A description of the defect.
pub fn check(case: &Case) -> Result<Memory, String> {
    let name = || format!("{:?}", case.operator);
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", name());
    let operator = validate(&case.operator, FeatureLevel::HIGHEST).map_err(|it| failed(&it))?;
    let reference = dml_reference::find(operator.schema().operator_type);
    let reference = reference.ok_or_else(|| failed(&"it is not implemented"))?;
    let memory = Memory::new(reference, &operator, case);
    let memory = memory.map_err(|it| failed(&it))?;
    let capabilities = &Capabilities::vulkan_minimum();
    let target = Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::Allowed };
    let plan = dml_ops::lower(&operator, &target).map_err(|it| failed(&it))?;
    let host = run_on_host(&plan, &case.aliases(), &memory, capabilities);
    let host = host.map_err(|it| failed(&it))?;
    memory.check(&host).map_err(|it| failed(&it))?;
    Ok(memory)
}
