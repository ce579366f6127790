//! Fast numerics only change the kernels of sums of products.

use std::collections::BTreeSet;

use dml_core::plan::{Plan, Step};
use dml_core::{Capabilities, FeatureLevel, Numerics, Tuning, validate};
use dml_spirv::product::{Arithmetic, Product};

use super::{kind, reference, signatures};
use crate::{OPERATORS, Target, TransferUse, is_fused};

/// The number of an operator's cases whose plans are compared.
const MOST_CASES: usize = 60;

/// The plan with kernels that do not fuse multiplications and additions.
fn unfused(mut plan: Plan) -> Plan {
    for step in plan.init.iter_mut().chain(&mut plan.exec) {
        let Step::Dispatch(dispatch) = step else { continue };
        let variant = &mut dispatch.kernel.variant;
        if let Some(product) = Product::of(variant) {
            let fused = Arithmetic::FusedFloats;
            assert_eq!(product.arithmetic == fused, is_fused(variant), "{}", variant.name);
            if product.arithmetic == fused {
                *variant = Product { arithmetic: Arithmetic::Floats, ..product }.variant();
            }
        }
    }
    plan
}

#[test]
fn fast_numerics_change_kernels_that_add_up_floats_and_nothing_else() {
    let capabilities = &Capabilities::vulkan_minimum();
    let mut changed = BTreeSet::new();
    for operator in OPERATORS.iter().copied() {
        let name = operator.schema().name;
        let cases = signatures(operator).flat_map(|it| reference(operator).chosen_cases(&it));
        let cases: Vec<_> = cases.collect();
        for case in cases.iter().step_by(cases.len().div_ceil(MOST_CASES).max(1)) {
            let validated = validate(&case.operator, FeatureLevel::HIGHEST).unwrap();
            let [exact, fast] = Numerics::ALL.map(|numerics| {
                let tuning = Tuning::new().with_numerics(numerics);
                let target = Target { capabilities, tuning, transfer: TransferUse::Allowed };
                operator.lower(&validated, &target).unwrap()
            });
            let fused = |plan: &Plan| plan.steps().map(kind).any(|it| it.contains("fused"));
            assert!(!fused(&exact), "{name} {}", case.name);
            if fused(&fast) {
                changed.insert(name);
            }
            assert_eq!(unfused(fast), exact, "{name} {}", case.name);
        }
    }
    let of_products = [
        "CONVOLUTION",
        "GEMM",
        "GRU",
        "LSTM",
        "MATRIX_MULTIPLY_INTEGER_TO_FLOAT",
        "MULTIHEAD_ATTENTION",
        "MULTIHEAD_ATTENTION1",
        "RNN",
    ];
    assert_eq!(changed.into_iter().collect::<Vec<_>>(), of_products);
}
