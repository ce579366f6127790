//! Four element-wise operators one after the other, fused to one kernel or not.

use dml::core::operators::{
    ActivationReluDesc, ElementWiseAddDesc, ElementWiseClip1Desc, ElementWiseDivideDesc,
};
use dml::{
    CompiledOperator, DataType, Device, ExecutionFlags, GraphBuilder, GraphDesc, GraphOptions,
    TensorDesc,
};

use crate::add::Add;

/// The greatest result.
const MOST: f32 = 10.0;

/// clip(relu((a + b) / c), 0, 10) of FLOAT32 tensors as a graph.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    /// Sizes of every tensor.
    pub(crate) sizes: Vec<u32>,
    /// Whether it is one kernel.
    pub(crate) fuse: bool,
}

impl Chain {
    /// As an operator of its own.
    pub(crate) fn compile(&self, device: &Device) -> dml::Result<CompiledOperator> {
        let options = GraphOptions { fuse: self.fuse, ..GraphOptions::default() };
        device.compile_graph_with(&self.graph(), ExecutionFlags::NONE, options)
    }

    fn graph(&self) -> GraphDesc {
        let tensor = || TensorDesc::packed(DataType::Float32, &self.sizes);
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

    /// As many sums.
    fn sum(&self) -> Add {
        Add::packed(DataType::Float32, &self.sizes)
    }

    /// The bytes of the three operands.
    pub(crate) fn inputs(&self) -> Vec<Vec<u8>> {
        let mut inputs = self.sum().inputs();
        let count = inputs[0].len() / 4;
        inputs.push((0..count).flat_map(|at| divisor(at).to_le_bytes()).collect());
        inputs
    }

    /// The bytes of the output: each operator rounds as the host does.
    pub(crate) fn expected(&self) -> Vec<u8> {
        let sums = self.sum().expected();
        let (sums, _) = sums.as_chunks::<4>();
        let result = |(at, sum): (usize, &[u8; 4])| {
            (f32::from_le_bytes(*sum) / divisor(at)).max(0.0).clamp(0.0, MOST).to_le_bytes()
        };
        sums.iter().enumerate().flat_map(result).collect()
    }
}

/// 1.5 to 8.5.
fn divisor(at: usize) -> f32 {
    1.5 + f32::from(u8::try_from(at % 8).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_results_are_cut_at_either_end() {
        let work = Chain { sizes: vec![64, 64], fuse: true };
        let bytes = work.expected();
        let (words, _) = bytes.as_chunks::<4>();
        let results: Vec<f32> = words.iter().copied().map(f32::from_le_bytes).collect();
        assert_eq!(results.len(), 4096);
        let is_inside = |it: &&f32| **it > 0.0 && **it < MOST;
        assert!(results.contains(&0.0) && results.contains(&MOST));
        assert!(results.iter().filter(is_inside).count() > 100);
    }
}
