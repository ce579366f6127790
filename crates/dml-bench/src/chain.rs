//! Graphs of operators one after the other, fused to as few kernels as can be or not.

use dml::core::operators::{
    ActivationReluDesc, ElementWiseAddDesc, ElementWiseClip1Desc, ElementWiseDivideDesc,
};
use dml::{DataType, GraphBuilder, GraphDesc, TensorDesc};

use crate::operation::Operation;

/// The greatest result.
const MOST: f32 = 10.0;

/// clip(relu((a + b) / c), 0, 10) of FLOAT32 tensors, as one kernel or as four.
pub(crate) fn chain(sizes: &[u32], fuse: bool) -> Operation {
    let tensor = TensorDesc::packed(DataType::Float32, sizes);
    let inputs = [(); 3].map(|()| tensor.clone());
    // Each operator rounds as the host does.
    Operation::of_graph((graph(&tensor), fuse), &inputs, &tensor, |inputs| {
        let [a, b, c] = [0, 1, 2].map(|at| inputs[at].iter());
        a.zip(b).zip(c).map(|((a, b), c)| ((a + b) / c).max(0.0).clamp(0.0, MOST)).collect()
    })
    .with_input(2, |at| 1.5 + f32::from(u8::try_from(at % 8).unwrap_or(0)))
}

fn graph(like: &TensorDesc) -> GraphDesc {
    let tensor = || like.clone();
    let mut graph = GraphBuilder::new();
    let [a, b, c] = [graph.input(), graph.input(), graph.input()];
    let (a_tensor, b_tensor, output_tensor) = (tensor(), tensor(), tensor());
    let sum = ElementWiseAddDesc { a_tensor, b_tensor, output_tensor };
    let sum = graph.operator(sum, &[a, b]);
    let (a_tensor, b_tensor, output_tensor) = (tensor(), tensor(), tensor());
    let quotient = ElementWiseDivideDesc { a_tensor, b_tensor, output_tensor };
    let quotient = graph.operator(quotient, &[sum, c]);
    let (input_tensor, output_tensor) = (tensor(), tensor());
    let relu = graph.operator(ActivationReluDesc { input_tensor, output_tensor }, &[quotient]);
    let (input_tensor, output_tensor) = (tensor(), tensor());
    let clip = ElementWiseClip1Desc {
        input_tensor,
        output_tensor,
        scale_bias: None,
        min_max_data_type: DataType::Float32,
        min: 0.0_f32.into(),
        max: MOST.into(),
    };
    let clip = graph.operator(clip, &[relu]);
    graph.output(clip);
    graph.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_results_are_cut_at_either_end() {
        let bytes = chain(&[64, 64], true).expected();
        let (words, _) = bytes.as_chunks::<4>();
        let results: Vec<f32> = words.iter().copied().map(f32::from_le_bytes).collect();
        assert_eq!(results.len(), 4096);
        let is_inside = |it: &&f32| **it > 0.0 && **it < MOST;
        assert!(results.contains(&0.0) && results.contains(&MOST));
        assert!(results.iter().filter(is_inside).count() > 100);
    }
}
