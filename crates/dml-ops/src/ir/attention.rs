//! Attention: the scores of queries and keys, their softmax, and the sum of values that it weighs.

use dml_spirv::attention::{ELEMENT_DIMENSION, KEY_DIMENSION, Passes, QUERY_DIMENSION};
use dml_spirv::element_wise::{DIMENSIONS, Formula};

use super::buffer::Buffer;
use super::space::Operand;

/// The last dimension: the depths of queries and keys, the elements of values, or the keys of scores.
const INNER: usize = DIMENSIONS - 1;

/// Products, a softmax and products that one kernel can compute, which writes no scores.
///
/// Operands have four dimensions of batches and heads, then one each of queries, keys and nothing; the last one is their own.
#[derive(Clone, Debug)]
pub(crate) struct Attention {
    /// Batches and heads, outermost first.
    pub(crate) outer: [u32; QUERY_DIMENSION],
    pub(crate) queries: u32,
    pub(crate) keys: u32,
    /// Elements of a query and a key.
    pub(crate) depths: u32,
    /// Elements of a value.
    pub(crate) elements: u32,
    /// Queries, keys and values first.
    pub(crate) inputs: Vec<Input>,
    pub(crate) output: Operand,
    pub(crate) formulas: Formulas,
    /// The parameters of all formulas.
    pub(crate) parameters: Vec<u32>,
    /// How often the kernel goes through the keys.
    pub(crate) passes: Passes,
}

/// An operand that is read.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) operand: Operand,
    /// The meaning of its last dimension.
    pub(crate) along: Along,
}

/// The last dimension of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Along {
    /// The elements of queries and keys.
    Depths,
    /// The elements of values and of the output.
    Elements,
    /// The keys, of inputs of scores.
    Keys,
}

/// The programs of an attention: as [`dml_spirv::attention::Attention`] has them.
#[derive(Clone, Debug)]
pub(crate) struct Formulas {
    pub(crate) factors: [Formula; 3],
    pub(crate) score: Formula,
    pub(crate) greatest_epilogue: Option<Formula>,
    pub(crate) weight: Formula,
    pub(crate) sum_epilogue: Option<Formula>,
    pub(crate) share: Option<Formula>,
    pub(crate) result: Formula,
}

impl Attention {
    /// The sizes of the space of an operand.
    pub(crate) fn sizes(&self, along: Along) -> [u32; DIMENSIONS] {
        let mut sizes = [1; DIMENSIONS];
        sizes[..QUERY_DIMENSION].copy_from_slice(&self.outer);
        sizes[QUERY_DIMENSION] = self.queries;
        sizes[KEY_DIMENSION] = self.keys;
        sizes[ELEMENT_DIMENSION] = 1;
        sizes[INNER] = match along {
            Along::Depths => self.depths,
            Along::Elements => self.elements,
            Along::Keys => self.keys,
        };
        sizes
    }

    /// The sizes that the kernel is told: those of queries and keys, and the elements of a value.
    pub(crate) fn sizes_of_kernel(&self) -> [u32; DIMENSIONS] {
        let mut sizes = self.sizes(Along::Depths);
        sizes[ELEMENT_DIMENSION] = self.elements;
        sizes
    }

    /// The operands with the sizes of their spaces, the output's last.
    pub(crate) fn operands(&self) -> impl Iterator<Item = (&Operand, [u32; DIMENSIONS])> {
        let inputs = self.inputs.iter().map(|input| (&input.operand, self.sizes(input.along)));
        inputs.chain([(&self.output, self.sizes(Along::Elements))])
    }

    /// Passes over the keys, in each of which the products of queries and keys are computed.
    pub(crate) fn passes(&self) -> u64 {
        match (self.passes, &self.formulas.share) {
            (Passes::Once, _) => 1,
            (Passes::Several, None) => 2,
            (Passes::Several, Some(_)) => 3,
        }
    }

    /// Multiplications, additions and functions of all passes.
    pub(crate) fn operations(&self) -> u64 {
        let scores = self.outer.iter().chain([&self.queries, &self.keys]);
        let scores = scores.map(|size| u64::from(*size)).fold(1, u64::saturating_mul);
        let [depths, elements] = [self.depths, self.elements].map(u64::from);
        let Formulas { score, weight, share, .. } = &self.formulas;
        let steps = [Some(score), Some(weight), share.as_ref()].into_iter().flatten();
        let steps: u64 = steps.map(|step| step.program.steps.len() as u64).sum();
        scores.saturating_mul(2 * (depths * self.passes() + elements) + steps)
    }

    #[must_use]
    pub(crate) fn renamed(&self, name: &impl Fn(Buffer) -> Buffer) -> Self {
        let input = |it: &Input| Input { operand: it.operand.renamed(name), along: it.along };
        Self {
            inputs: self.inputs.iter().map(input).collect(),
            output: self.output.renamed(name),
            ..self.clone()
        }
    }
}
