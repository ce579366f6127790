//! Scatters into the bytes of their own data.

use super::*;
use dml_core::operators::ScatterElementsDesc;
use dml_core::plan::Aliases;

/// Elements that replace some in `rows`; one of them is of no row.
fn scatter(rows: u32) -> ValidatedGraph {
    let [data, row] = [rows, 1].map(|it| [1, 3, it, 4]);
    let scatter = ScatterElementsDesc {
        input_tensor: TensorDesc::packed(DataType::Float32, &data),
        indices_tensor: TensorDesc::packed(DataType::Int32, &row),
        updates_tensor: TensorDesc::packed(DataType::Float32, &row),
        output_tensor: TensorDesc::packed(DataType::Float32, &data),
        axis: 2,
    };
    let mut graph = GraphBuilder::new();
    let [data, updates] = [(); 2].map(|()| graph.input());
    let indices = [0, 1, 2, 3, 4, 5, 3, 3, 3, 0, -1, 4].map(i32::to_le_bytes);
    let indices = graph.constant(indices.concat());
    let scattered = graph.operator(scatter, &[data, indices, updates]);
    graph.output(scattered);
    valid(&graph.finish())
}

#[test]
fn a_scatter_in_place_copies_nothing_that_it_keeps() {
    let in_place = Aliases::new([(0, 0)]);
    let bytes = |rows, aliases: &Aliases| -> u64 {
        let plan = compiled(&scatter(rows), WAYS[0], TransferUse::Allowed).0;
        let steps = plan.exec_with(aliases).unwrap();
        steps.iter().map(|step| step.cost().bytes).sum()
    };
    assert_eq!(bytes(5, &in_place), bytes(500, &in_place));
    assert!(bytes(5, &Aliases::NONE) < bytes(500, &Aliases::NONE));
    check(&scatter(5), &mut Random::new("a scatter"), "a scatter");
}
