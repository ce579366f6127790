//! Every operator of which a graph can fuse something, between operators that it can be fused with.

use dml_core::operators::{ElementWiseMaxDesc, MeanVarianceNormalization2Desc};
use dml_core::schema::FieldKind;
use dml_core::{AbstractOperator, TensorDesc, TensorFlags};
use dml_reference::Signature;

use super::*;
use crate::tests::{on_all_processors, reference};
use crate::{OPERATORS, Operator};

const MOST_CASES: usize = 8;

/// The greater of an element and itself.
fn same(tensor: &TensorDesc) -> ElementWiseMaxDesc {
    let tensor = || TensorDesc { flags: TensorFlags::NONE, ..tensor.clone() };
    ElementWiseMaxDesc { a_tensor: tensor(), b_tensor: tensor(), output_tensor: tensor() }
}

/// An operator whose first input is computed before, and whose outputs are computed with afterwards; `None` where the
/// types or layouts of its tensors do not allow that.
fn between(operator: &AbstractOperator) -> Option<ValidatedGraph> {
    let mut graph = GraphBuilder::new();
    let tensors = operator.bindings(FieldKind::Input).filter_map(|(_, tensor)| tensor);
    let mut values = vec![];
    for (at, tensor) in tensors.enumerate() {
        let value = graph.input();
        let is_computed = at == 0 && !tensor.flags.contains(TensorFlags::OWNED_BY_DML);
        values.push(match is_computed {
            true => graph.operator(same(tensor), &[value, value]),
            false => value,
        });
    }
    let output = operator.bindings(FieldKind::Output).find_map(|(_, tensor)| tensor)?;
    let result = graph.operator(operator.clone(), &values);
    let result = graph.operator(same(output), &[result, result]);
    graph.output(result);
    validate_graph(&graph.finish(), FeatureLevel::HIGHEST).ok()
}

/// How many cases of an operator have an output, and how many of them are fused with an operator beside them.
fn check_operator(operator: &Operator) -> [usize; 2] {
    let signatures = Signature::all(operator.schema()).filter(|signature| {
        let minimal = reference(operator).minimal(signature);
        dml_core::validate(&minimal, FeatureLevel::HIGHEST).is_ok()
    });
    let cases: Vec<_> =
        signatures.flat_map(|signature| reference(operator).chosen_cases(&signature)).collect();
    let mut fused = 0;
    for case in cases.iter().step_by(cases.len().div_ceil(MOST_CASES).max(1)) {
        let Some(graph) = between(&case.operator) else { continue };
        let name = format!("{} {}", operator.schema().name, case.name);
        let explanation = check(&graph, &mut Random::new(&name), &name);
        fused += usize::from(explanation.parts.len() < 3);
    }
    [cases.len(), fused]
}

#[test]
fn what_is_fused_has_the_results_of_its_operators() {
    let counts = on_all_processors(&OPERATORS, |operator| check_operator(operator));
    let operators = counts.iter().filter(|[cases, _]| *cases > 0).count();
    let fused: usize = counts.iter().map(|[_, fused]| fused).sum();
    assert!(operators > 100 && fused > 400, "{operators} {fused}");
}

/// The scale is left out, so that the bias is the second operand and the third binding.
#[test]
fn an_operand_is_found_by_its_binding() {
    let tensor = || TensorDesc::packed(DataType::Float32, &[2, 3, 4, 5]);
    let normalization = MeanVarianceNormalization2Desc {
        input_tensor: tensor(),
        scale_tensor: None,
        bias_tensor: Some(tensor()),
        output_tensor: tensor(),
        axes: vec![1],
        use_mean: false,
        use_variance: false,
        epsilon: 0.0,
        fused_activation: None,
    };
    let mut graph = GraphBuilder::new();
    let [input, bias] = [(); 2].map(|()| graph.input());
    let bias = graph.operator(same(&tensor()), &[bias, bias]);
    let result = graph.operator(normalization, &[input, bias]);
    graph.output(result);
    let explanation = check(&valid(&graph.finish()), &mut Random::new("bias"), "bias");
    assert_eq!(explanation.parts.len(), 1, "{explanation}");
}
