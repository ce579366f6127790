//! Graphs give the results of their operators run one by one, however they are compiled.

mod attention;
mod factors;
mod forms;
mod in_place;
mod moves;
mod operators;
mod picture;
mod repeated;

use dml_core::graph::GraphBuilder;
use dml_core::operators::{
    ActivationReluDesc, CastDesc, ElementWiseAddDesc, ElementWiseErfDesc, ElementWiseIdentityDesc,
    ElementWiseMultiplyDesc, GatherDesc, GemmDesc, ReduceDesc,
};
use dml_core::{
    Capabilities, DataType, FeatureLevel, GraphDesc, MatrixTransform, ReduceFunction, TensorDesc,
    Tuning, ValidatedGraph, validate_graph,
};
use dml_reference::Random;
use dml_reference::descriptors::gemm;
use dml_reference::graphs::{self, random_graph};

use super::every_way::{self, WAYS};
use super::{Explanation, GraphOptions, compile_graph};
use crate::tests::with_window;
use crate::{Target, TransferUse};
use dml_core::plan::Plan;

fn valid(graph: &GraphDesc) -> ValidatedGraph {
    validate_graph(graph, FeatureLevel::HIGHEST).unwrap()
}

fn compiled(
    graph: &ValidatedGraph,
    options: GraphOptions,
    transfer: TransferUse,
) -> (Plan, Explanation) {
    every_way::compiled(graph, options, transfer).unwrap()
}

/// Checks that every way to compile and run the graph gives the same elements.
fn check(graph: &ValidatedGraph, random: &mut Random, what: &str) -> Explanation {
    let (least, plans) = (Capabilities::vulkan_minimum(), every_way::plans(graph).unwrap());
    graphs::check(graph, random, &least, every_way::lowered, plans).expect(what);
    compiled(graph, WAYS[0], TransferUse::Allowed).1
}

#[test]
fn random_graphs_have_the_results_of_their_operators() {
    let (mut fused, mut folded, mut shared) = (0, 0, 0);
    for seed in 0..400 {
        let mut random = Random::new(&format!("graph {seed}"));
        let nodes = 1 + random.below(30);
        let graph = valid(&random_graph(&mut random, nodes));
        let explanation = check(&graph, &mut random, &format!("graph {seed}"));
        fused += usize::from(explanation.parts.iter().any(|part| part.nodes.len() > 1));
        folded += explanation.folded.len();
        let memory = explanation.memory;
        assert!(memory.lower_bound <= memory.planned && memory.planned <= memory.after_fusion);
        shared += usize::from(memory.planned < memory.after_fusion);
    }
    assert!(fused > 100 && folded > 10 && shared > 50, "{fused} {folded} {shared}");
}

fn tensor() -> TensorDesc {
    TensorDesc::packed(DataType::Float32, &[4, 100])
}

fn sum() -> ElementWiseAddDesc {
    ElementWiseAddDesc { a_tensor: tensor(), b_tensor: tensor(), output_tensor: tensor() }
}

/// A value that is cast to each of these types in turn.
fn casts(types: &[DataType]) -> ValidatedGraph {
    let tensor = |data_type| TensorDesc::packed(data_type, &[2, 64]);
    let mut graph = GraphBuilder::new();
    let mut value = graph.input();
    for pair in types.windows(2) {
        let [input_tensor, output_tensor] = [pair[0], pair[1]].map(tensor);
        value = graph.operator(CastDesc { input_tensor, output_tensor }, &[value]);
    }
    graph.output(value);
    valid(&graph.finish())
}

#[test]
fn what_a_narrow_type_drops_is_dropped_where_it_is_stored_nowhere() {
    use DataType::{Float32, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32};
    for narrow in [Int8, Uint8, Int16, Uint16] {
        for first in [Int32, Uint32, Int16, Uint16, Int64, Float32] {
            for last in [Float32, Int32, Uint16, Int64] {
                let graph = casts(&[first, narrow, last]);
                let what = format!("{first} {narrow} {last}");
                let explanation = check(&graph, &mut Random::new(&what), &what);
                assert_eq!(explanation.parts.len(), 1, "{explanation}");
            }
        }
    }
}

/// The sum of halves of words, in a width of which two fit a word, and in one of which four fit.
#[test]
fn elements_of_two_widths_are_not_taken_by_words() {
    let tensor = |data_type| TensorDesc::packed(data_type, &[2, 64]);
    let [wide, narrow] = [DataType::Uint16, DataType::Uint8].map(|it| move || tensor(it));
    let mut graph = GraphBuilder::new();
    let values = [(); 2].map(|()| {
        let value = graph.input();
        let cast = CastDesc { input_tensor: wide(), output_tensor: narrow() };
        graph.operator(cast, &[value])
    });
    let sum =
        ElementWiseAddDesc { a_tensor: narrow(), b_tensor: narrow(), output_tensor: narrow() };
    let sum = graph.operator(sum, &values);
    let cast = CastDesc { input_tensor: narrow(), output_tensor: wide() };
    let sum = graph.operator(cast, &[sum]);
    graph.output(sum);
    check(&valid(&graph.finish()), &mut Random::new("widths"), "widths");
}

/// A kernel that loses an input when a copy of that input is fused with it.
#[test]
fn what_joins_a_large_function_may_take_an_input_away() {
    let tensor = || TensorDesc::packed(DataType::Float32, &[2, 3]);
    let transposed = || tensor().with_strides(&[1, 2]);
    let identity = ElementWiseIdentityDesc {
        input_tensor: transposed(),
        output_tensor: tensor(),
        scale_bias: None,
    };
    let erf =
        ElementWiseErfDesc { input_tensor: tensor(), output_tensor: tensor(), scale_bias: None };
    let sum =
        ElementWiseAddDesc { a_tensor: tensor(), b_tensor: transposed(), output_tensor: tensor() };
    let mut graph = GraphBuilder::new();
    let input = graph.input();
    let copy = graph.operator(identity, &[input]);
    let error = graph.operator(erf, &[copy]);
    let result = graph.operator(sum, &[error, input]);
    graph.output(result);
    check(&valid(&graph.finish()), &mut Random::new("large"), "large");
}

#[test]
fn a_chain_becomes_as_few_kernels_as_inputs_allow() {
    let mut graph = GraphBuilder::new();
    let mut value = graph.input();
    for _ in 0..12 {
        let other = graph.input();
        value = graph.operator(sum(), &[value, other]);
    }
    graph.output(value);
    let graph = valid(&graph.finish());
    let (plan, explanation) = compiled(&graph, GraphOptions::default(), TransferUse::Allowed);
    assert_eq!(plan.exec.len(), 2, "{explanation}");
    assert_eq!(explanation.not_fused[0].reason, "one kernel would have too many inputs");
    check(&graph, &mut Random::new("chain"), "chain");
}

#[test]
fn a_result_that_is_read_twice_by_one_kernel_is_fused() {
    let mut graph = GraphBuilder::new();
    let input = graph.input();
    let once = graph.operator(sum(), &[input, input]);
    let relu = ActivationReluDesc { input_tensor: tensor(), output_tensor: tensor() };
    let relu = graph.operator(relu, &[once]);
    let both = graph.operator(sum(), &[once, relu]);
    graph.output(both);
    let graph = valid(&graph.finish());
    let (plan, explanation) = compiled(&graph, GraphOptions::default(), TransferUse::Allowed);
    assert_eq!((plan.exec.len(), plan.temporary_size), (1, 0), "{explanation}");
    let in_place: Vec<_> = plan.in_place.iter().map(dml_core::plan::InPlace::pair).collect();
    assert_eq!(in_place, [(0, 0)]);
    check(&graph, &mut Random::new("diamond"), "diamond");
}

/// A reshape between two nodes is no node: the second one, with an addend for each of its 3 rows, reads what the first one
/// has written with other sizes. A transposed view is read by a kernel of its own.
#[test]
fn a_result_that_is_read_reshaped_is_fused() {
    for (sizes, strides, kernels) in [([2, 3, 4], [12, 4, 1], 1), ([4, 3, 2], [1, 4, 12], 2)] {
        let mut graph = GraphBuilder::new();
        let (input, addend) = (graph.input(), graph.input());
        let flat = || TensorDesc::packed(DataType::Float32, &[2, 12]);
        let relu = ActivationReluDesc { input_tensor: flat(), output_tensor: flat() };
        let relu = graph.operator(relu, &[input]);
        let tensor = || TensorDesc::packed(DataType::Float32, &sizes);
        let sum = ElementWiseAddDesc {
            a_tensor: tensor().with_strides(&strides),
            b_tensor: tensor().with_strides(&[0, 1, 0]),
            output_tensor: tensor(),
        };
        let sum = graph.operator(sum, &[relu, addend]);
        graph.output(sum);
        let graph = valid(&graph.finish());
        let (plan, explanation) = compiled(&graph, GraphOptions::default(), TransferUse::Allowed);
        assert_eq!(plan.exec.len(), kernels, "{explanation}");
        check(&graph, &mut Random::new("reshaped"), "reshaped");
    }
}

/// The addend of a product.
#[derive(PartialEq)]
enum Addend {
    Input,
    /// A factor of the product.
    Factor,
    /// A result of a node after the product.
    Later,
}

/// A product of matrices with a bias, and a sum with an addend.
fn product_then_sum(data_type: DataType, addend: &Addend, is_output: bool) -> ValidatedGraph {
    let of_sizes = |sizes: &[u32]| TensorDesc::packed(data_type, sizes);
    let tensor = || of_sizes(&[4, 100]);
    let gemm = |c_tensor| GemmDesc {
        c_tensor,
        beta: 1.0,
        ..gemm([tensor(), of_sizes(&[100, 100]), tensor()], MatrixTransform::None)
    };
    let relu = || ActivationReluDesc { input_tensor: tensor(), output_tensor: tensor() };
    let sum =
        ElementWiseAddDesc { a_tensor: tensor(), b_tensor: tensor(), output_tensor: tensor() };
    let mut graph = GraphBuilder::new();
    let [x, b, c, other] = [(); 4].map(|()| graph.input());
    let x = graph.operator(relu(), &[x]);
    let product = graph.operator(gemm(Some(tensor().with_strides(&[0, 1]))), &[x, b, c]);
    graph.name(product, "product");
    let other = match addend {
        Addend::Input => other,
        Addend::Factor => x,
        Addend::Later => graph.operator(gemm(None), &[x, b]),
    };
    let sum = graph.operator(sum, &[product, other]);
    graph.output(sum);
    if is_output {
        graph.output(product);
    }
    valid(&graph.finish())
}

/// The nodes of each part, and the reasons why others were not fused.
fn parts_of(graph: &ValidatedGraph) -> (Vec<String>, Vec<&'static str>) {
    let explanation = check(graph, &mut Random::new("product"), "product");
    let nodes = explanation.parts.iter().map(|part| part.nodes.join(" + ")).collect();
    (nodes, explanation.not_fused.iter().map(|it| it.reason).collect())
}

#[test]
fn what_a_product_adds_to_its_sums_is_fused_with_what_reads_it() {
    let [product, last] = ["Nodes[1] (product)", "Nodes[1] (product) + Nodes[2]"];
    for addend in [Addend::Input, Addend::Factor] {
        let parts = parts_of(&product_then_sum(DataType::Float32, &addend, false)).0;
        assert_eq!(parts, ["Nodes[0]", product, last]);
    }
    // Halves are converted before they are multiplied, in the same kernel.
    let parts = parts_of(&product_then_sum(DataType::Float16, &Addend::Input, false)).0;
    assert_eq!(parts, ["Nodes[0] + Nodes[1] (product)", product, last]);
    let parts = parts_of(&product_then_sum(DataType::Float16, &Addend::Factor, false)).0;
    assert_eq!(parts, ["Nodes[0]", product, last]);
    let (_, reasons) = parts_of(&product_then_sum(DataType::Float32, &Addend::Input, true));
    assert_eq!(reasons, ["its result is an output of the graph"]);
}

#[test]
fn sums_that_are_larger_than_a_products_result_wait_for_nothing() {
    let (parts, reasons) = parts_of(&product_then_sum(DataType::Float32, &Addend::Later, false));
    assert_eq!((parts.len(), reasons), (4, vec![]));
    let (parts, reasons) = parts_of(&product_then_sum(DataType::Float16, &Addend::Later, false));
    let several = "its result is read by several";
    assert_eq!(
        (parts.len(), reasons),
        (4, vec![several, "what is larger than its result would be kept for longer"])
    );
}

/// A tensor times itself, reduced by `function` along axes.
fn square_then_reduce(
    data_type: DataType,
    function: ReduceFunction,
    axes: &[u32],
) -> ValidatedGraph {
    let tensor = || TensorDesc::packed(data_type, &[2, 3, 5, 7]);
    let output: Vec<u32> = [2, 3, 5, 7].to_vec();
    let output = (0..).zip(output).map(|(at, size)| if axes.contains(&at) { 1 } else { size });
    let output = TensorDesc::packed(data_type, &output.collect::<Vec<_>>());
    let product =
        ElementWiseMultiplyDesc { a_tensor: tensor(), b_tensor: tensor(), output_tensor: tensor() };
    let reduce =
        ReduceDesc { function, input_tensor: tensor(), output_tensor: output, axes: axes.to_vec() };
    let mut graph = GraphBuilder::new();
    let input = graph.input();
    let square = graph.operator(product, &[input, input]);
    let result = graph.operator(reduce, &[square]);
    graph.output(result);
    valid(&graph.finish())
}

#[test]
fn elements_of_rows_are_computed_on_the_way() {
    use ReduceFunction::{Average, L1, Max, Sum};
    for data_type in [DataType::Float32, DataType::Float16] {
        for function in [Sum, Max, L1, Average] {
            for axis in 0..4 {
                let (found, _) = parts_of(&square_then_reduce(data_type, function, &[axis]));
                assert_eq!(found, ["Nodes[0] + Nodes[1]"], "{data_type} {function:?} {axis}");
            }
        }
    }
    // The order of sums over several dimensions is that of their sizes, whatever their strides.
    let (found, _) = parts_of(&square_then_reduce(DataType::Float32, Sum, &[1, 3]));
    assert_eq!(found, ["Nodes[0] + Nodes[1]"]);
}

/// A sum, and elements that are gathered from it, for which all of it must fit one descriptor.
fn sum_and_gather(gathered_is_output: bool) -> ValidatedGraph {
    let gather = GatherDesc {
        input_tensor: tensor(),
        indices_tensor: TensorDesc::packed(DataType::Uint32, &[1, 3]),
        output_tensor: TensorDesc::packed(DataType::Float32, &[4, 3]),
        axis: 1,
        index_dimensions: 1,
    };
    let mut graph = GraphBuilder::new();
    let [input, indices] = [(); 2].map(|()| graph.input());
    let sum = graph.operator(sum(), &[input, input]);
    let gathered = graph.operator(gather, &[sum, indices]);
    graph.output(sum);
    if gathered_is_output {
        graph.output(gathered);
    }
    valid(&graph.finish())
}

#[test]
fn what_nothing_needs_is_not_lowered() {
    let capabilities = &with_window(16, 16);
    let (tuning, transfer) = (Tuning::new(), TransferUse::Allowed);
    let target = Target { capabilities, tuning, transfer };
    let compiled = |is_output| {
        compile_graph(&sum_and_gather(is_output), &target, GraphOptions::default()).map(|it| it.1)
    };
    assert_eq!(compiled(false).unwrap().unneeded, ["Nodes[1]"]);
    let error = compiled(true).unwrap_err().to_string();
    assert!(error.contains("Nodes[1]"), "{error}");
}

#[test]
fn a_copy_to_where_it_is_read_is_no_step() {
    let identity = || ElementWiseIdentityDesc {
        input_tensor: tensor(),
        output_tensor: tensor(),
        scale_bias: None,
    };
    let mut graph = GraphBuilder::new();
    let input = graph.input();
    let copy = graph.operator(identity(), &[input]);
    let copy = graph.operator(identity(), &[copy]);
    let sum = graph.operator(sum(), &[copy, input]);
    graph.name(sum, "the sum");
    let unused = graph.operator(identity(), &[sum]);
    graph.name(unused, "nobody's");
    graph.output(sum);
    graph.output(sum);
    let graph = valid(&graph.finish());
    let (plan, explanation) = compiled(&graph, GraphOptions::default(), TransferUse::Allowed);
    assert_eq!(plan.exec.len(), 2, "the sum, and a copy of it: {explanation}");
    assert_eq!(explanation.folded, ["Nodes[0]", "Nodes[1]"]);
    assert_eq!(explanation.unneeded, ["Nodes[3] (nobody's)"]);
    assert_eq!(explanation.parts[0].nodes, ["Nodes[2] (the sum)"]);
    check(&graph, &mut Random::new("copies"), "copies");
}
