use dml_core::operators::descs::GemmDesc;
use dml_core::schema::{FastComparison, FieldKind};
use dml_core::{
    AbstractOperator, DataType, FeatureLevel, MatrixTransform, Numerics, TensorDesc, TensorLayout,
    validate,
};

use crate::descriptors::gemm;
use crate::{Case, Memory, MemoryAfter, Reference, Signature};

/// A row of four FLOAT32 elements times a column of ones, with this Alpha and activation.
fn product(alpha: f32, fused_activation: Option<AbstractOperator>) -> AbstractOperator {
    let tensor = |sizes: &[u32]| TensorDesc::packed(DataType::Float32, sizes);
    GemmDesc {
        alpha,
        fused_activation,
        ..gemm(
            [tensor(&[1, 1, 1, 4]), tensor(&[1, 1, 4, 1]), tensor(&[1, 1, 1, 1])],
            MatrixTransform::None,
        )
    }
    .into()
}

/// Whether `found` is accepted as the sum of these products.
fn is_accepted(operator: &AbstractOperator, row: [f32; 4], found: f32, numerics: Numerics) -> bool {
    let bits = |it: f32| u64::from(it.to_bits());
    let inputs = vec![row.map(bits).to_vec(), vec![bits(1.0); 4]];
    let case = Case::new("a", operator.clone()).with_inputs(inputs);
    let validated = validate(operator, FeatureLevel::HIGHEST).unwrap();
    let reference = crate::find(validated.schema().operator_type).unwrap();
    let memory = Memory::with_numerics(reference, &validated, &case, numerics).unwrap();
    let output = memory.outputs[0].as_ref().unwrap();
    let mut after = output.tensor.before.clone();
    after[256..260].copy_from_slice(&found.to_le_bytes());
    let inputs =
        memory.inputs.iter().map(|input| Some(input.as_ref()?.tensor.before.clone())).collect();
    memory.check(&MemoryAfter { inputs, outputs: vec![Some(after)] }).is_ok()
}

/// 2^-24 of the sum of magnitudes, the largest error of one rounding.
const UNIT: f32 = 2.0 * 1024.0 / (1 << 24) as f32;

#[test]
fn with_fast_numerics_sums_that_cancel_may_be_off_by_a_part_of_their_magnitudes() {
    let row = [1024.0, 1.0, -1024.0, 0.0];
    let sum = product(1.0, None);
    for numerics in Numerics::ALL {
        assert!(is_accepted(&sum, row, 1.0, numerics), "{numerics}");
        assert!(!is_accepted(&sum, row, f32::NAN, numerics), "{numerics}");
        assert!(!is_accepted(&sum, row, f32::INFINITY, numerics), "{numerics}");
    }
    // Four products, and six other roundings.
    for off in [-10.0 * UNIT, 10.0 * UNIT] {
        assert!(is_accepted(&sum, row, 1.0 + off, Numerics::Fast), "{off}");
        assert!(!is_accepted(&sum, row, 1.0 + off, Numerics::Exact), "{off}");
        assert!(!is_accepted(&sum, row, 1.0 + 1.2 * off, Numerics::Fast), "{off}");
    }
    let nothing = [1024.0, 1.0, -1024.0, -1.0];
    assert!(is_accepted(&sum, nothing, -0.0, Numerics::Fast));
    assert!(!is_accepted(&sum, nothing, -0.0, Numerics::Exact));
}

#[test]
fn alpha_and_activations_change_what_is_allowed_as_they_change_the_sum() {
    let row = [1024.0, 1.0, -1024.0, 0.0];
    let halved = product(-0.5, None);
    assert!(is_accepted(&halved, row, -0.5 + 4.9 * UNIT, Numerics::Fast));
    assert!(!is_accepted(&halved, row, -0.5 + 5.5 * UNIT, Numerics::Fast));
    let relu = AbstractOperator::nested(&dml_core::operators::ACTIVATION_RELU, vec![]).unwrap();
    let cut = product(-1.0, Some(relu));
    assert!(is_accepted(&cut, row, 0.0, Numerics::Fast));
    assert!(!is_accepted(&cut, row, UNIT, Numerics::Fast), "all of the interval is 0");
}

#[test]
fn sums_that_are_exact_stay_exact_with_fast_numerics() {
    // With products of 0, the allowed error is 0.
    let zeros = [0.0; 4];
    let sum = product(1.0, None);
    assert!(is_accepted(&sum, zeros, 0.0, Numerics::Fast));
    assert!(!is_accepted(&sum, zeros, 1e-30, Numerics::Fast));
}

/// Whether the reference allows errors with fast numerics in some combination of types.
fn has_fast_errors(reference: &dyn Reference) -> bool {
    let accepted = |it: &Signature| validate(&reference.minimal(it), FeatureLevel::HIGHEST).ok();
    Signature::all(reference.schema()).filter_map(|it| accepted(&it)).any(|operator| {
        let layouts = operator.tensors(FieldKind::Input).map(|(_, layout)| layout);
        let ones =
            |layout: &TensorLayout| vec![1; usize::try_from(layout.element_count()).unwrap()];
        let inputs: Vec<Option<Vec<u64>>> = layouts.map(|it| it.map(ones)).collect();
        reference.fast_errors(&operator, &inputs).is_ok_and(|errors| errors.is_some())
    })
}

#[test]
fn the_schema_says_which_operators_have_errors_with_fast_numerics() {
    for reference in crate::REFERENCES.iter().copied() {
        let schema = reference.schema();
        let of_products = schema.fast == FastComparison::SumsOfProducts;
        assert_eq!(has_fast_errors(reference), of_products, "{}", schema.name);
    }
}
