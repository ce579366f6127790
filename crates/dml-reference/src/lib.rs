//! What an operator's result is, element by element, the cases worth testing, and the buffers that a test
//! runs them on, which show every byte that is not as it must be.
//!
//! One folder for each family of operators in `families/`, one line for each in [`REFERENCES`]. All of it is
//! written from the documentation: this crate knows neither how an operator is lowered nor a kernel.
#![forbid(unsafe_code)]

mod compare;
pub mod descriptors;
mod edges;
mod elements;
mod families;
pub mod graphs;
mod guarded;
mod host;
mod layouts;
mod maximum;
mod memory;
pub mod number;
mod pairwise;
mod random;
mod registry;
mod signature;
mod tensors;
mod text;
mod value;

use std::borrow::Cow;

pub use compare::accepts;
use compare::canonical;
pub use edges::edges;
pub use elements::{element, elements_in};
pub use families::element_wise::function_of_floats;
pub use guarded::{Difference, GUARD, Output, SENTINEL, Tensor, coordinate};
pub use host::{run_on_host, run_on_host_by};
pub use maximum::MaximumError;
pub use memory::{Input, Memory, MemoryAfter};
pub use random::Random;
pub use registry::{REFERENCES, find};
pub use signature::Signature;
use tensors::{MIXED, PADDED, REVERSED, SMALL, Sizes, TensorMaker, shapes};
pub use text::element_text;

use dml_core::plan::Aliases;
use dml_core::schema::{Comparison, OperatorSchema};
use dml_core::{AbstractOperator, DataType, Error, TensorLayout, Validated};

/// An operator's documented meaning. Implementations follow the documentation's pseudocode and
/// share nothing with lowering, kernels or [`dml_core::value`], but what is long to read off a descriptor
/// ([`dml_core::operators::attention`], [`dml_core::operators::recurrent`]).
pub trait Reference: Sync {
    /// The operator's row.
    fn schema(&self) -> &'static OperatorSchema;

    /// The elements of every output as bit patterns, in row-major logical order. `inputs` has the
    /// elements of every input in the same form, `None` where an optional one is left out.
    ///
    /// # Errors
    /// [`Error::Internal`]: the operator is not this one.
    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error>;

    /// The same on a device that takes zeros for subnormals of FLOAT32, of which `inputs` have none any
    /// more where [`Self::may_flush`]: differs where there are some between an input and its output.
    ///
    /// # Errors
    /// As [`Self::outputs`].
    fn flushed_outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        self.outputs(operator, inputs)
    }

    /// Whether a device may take zeros for the subnormals of FLOAT32 in the input at `index`: not where its
    /// kernels read their bits as integers.
    fn may_flush(&self, _operator: &Validated, _index: usize) -> bool {
        true
    }

    /// Whether there may be subnormals of FLOAT32 between inputs that are none and their outputs.
    fn may_be_subnormal_within(&self, _operator: &Validated) -> bool {
        false
    }

    /// The elements of an input that a case does not give, as bit patterns in row-major logical order:
    /// of what the operator takes there. Where elements share an address the last one counts.
    fn input_elements(
        &self,
        random: &mut Random,
        _operator: &Validated,
        _index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        (0..layout.element_count()).map(|_| random.input_element(layout.data_type())).collect()
    }

    /// A smallest operator whose tensors have this signature, whether or not any feature level
    /// accepts that.
    fn minimal(&self, signature: &Signature) -> AbstractOperator;

    /// All corner cases for tensors of this signature, which some level accepts.
    fn cases(&self, signature: &Signature) -> Vec<Case>;

    /// Whether other operators have the same cases and kernels, but for what they compute.
    fn shares_cases(&self) -> bool {
        false
    }

    /// A case for tensors of this signature, which some level accepts, that depends on `random`
    /// alone. It gets its name from whoever asked for it.
    fn random(&self, random: &mut Random, signature: &Signature) -> Case;

    /// How near elements of `data_type` must be to the reference's: as the operator's row says, unless
    /// an attribute asks for more.
    fn comparison(&self, operator: &Validated, data_type: DataType) -> Comparison {
        operator.schema().comparison(data_type)
    }

    /// How far each element of each output may be from [`Self::outputs`] with [`Numerics::Fast`], as a number; the
    /// bound of [`Self::comparison`] counts from there on. `None` where that bound alone counts.
    ///
    /// # Errors
    /// As [`Self::outputs`].
    ///
    /// [`Numerics::Fast`]: dml_core::Numerics::Fast
    fn fast_errors(
        &self,
        _operator: &Validated,
        _inputs: &[Option<Vec<u64>>],
    ) -> Result<Option<Vec<Vec<f64>>>, Error> {
        Ok(None)
    }

    /// Operators that break one of the rules between this operator's fields, for tensors of this
    /// signature, which some level accepts.
    fn broken_rules(&self, _signature: &Signature) -> Vec<BrokenRule> {
        vec![]
    }
}

/// An operator that must be refused.
#[derive(Clone, Debug)]
pub struct BrokenRule {
    /// What is wrong with it, in snake case, beginning with `rule_`.
    pub name: Cow<'static, str>,
    /// The operator.
    pub operator: AbstractOperator,
    /// The whole path of the field that the refusal must name, such as `InputTensor.DataType`.
    pub field: Cow<'static, str>,
}

/// One execution of an operator.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is special about it, in snake case; unique among the operator's cases of one
    /// signature.
    pub name: Cow<'static, str>,
    /// The operator.
    pub operator: AbstractOperator,
    /// Where each input starts in its buffer, in bytes.
    pub input_offset: u64,
    /// Where each output starts in its buffer, in bytes.
    pub output_offset: u64,
    /// Whether the buffers have storage usage alone.
    pub storage_only: bool,
    /// Inputs that are bound to exactly the range of an output, each with that output. Those of one output hold the
    /// same bytes.
    pub in_place: Vec<(u32, u32)>,
    /// The elements of the first inputs; those of the others are pseudo-random, see
    /// [`Reference::input_elements`].
    pub inputs: Vec<Vec<u64>>,
    /// The outputs' elements where the documentation prints them; otherwise only the reference
    /// tells.
    pub documented: Option<Vec<Vec<u64>>>,
}

impl Case {
    /// A case without anything special about its buffers.
    pub fn new(name: impl Into<Cow<'static, str>>, operator: impl Into<AbstractOperator>) -> Self {
        Self {
            name: name.into(),
            operator: operator.into(),
            input_offset: 0,
            output_offset: 0,
            storage_only: false,
            in_place: vec![],
            inputs: vec![],
            documented: None,
        }
    }

    /// The same with outputs that start `bytes` into their buffers.
    pub fn at_output_offset(mut self, bytes: u64) -> Self {
        self.output_offset = bytes;
        self
    }

    /// The same with inputs that start `bytes` into their buffers.
    pub fn at_input_offset(mut self, bytes: u64) -> Self {
        self.input_offset = bytes;
        self
    }

    /// The same with these inputs bound to the first output's range.
    pub fn in_place(self, inputs: impl Into<Vec<u32>>) -> Self {
        self.in_place_of(inputs.into().into_iter().map(|input| (input, 0)).collect::<Vec<_>>())
    }

    /// The same with these inputs bound each to the range of the output beside it.
    pub fn in_place_of(mut self, pairs: impl Into<Vec<(u32, u32)>>) -> Self {
        self.in_place = pairs.into();
        self
    }

    /// Which inputs are which outputs.
    pub fn aliases(&self) -> Aliases {
        Aliases::new(self.in_place.iter().copied())
    }

    /// The output to whose range an input is bound.
    pub(crate) fn output_of(&self, input: usize) -> Option<usize> {
        let pair = self.in_place.iter().find(|(it, _)| *it as usize == input);
        pair.map(|(_, output)| *output as usize)
    }

    /// The same with these elements in the first inputs.
    pub fn with_inputs(mut self, inputs: Vec<Vec<u64>>) -> Self {
        self.inputs = inputs;
        self
    }

    /// The same with offsets and buffers from `random`.
    pub fn with_random_buffers(mut self, random: &mut Random) -> Self {
        self.input_offset = random.offset();
        self.output_offset = random.offset();
        self.storage_only = random.one_in(4);
        self
    }

    /// The same with buffers of storage usage alone.
    pub fn storage_only(mut self) -> Self {
        self.storage_only = true;
        self
    }

    /// The same with the outputs that the documentation prints.
    pub fn documented(mut self, outputs: Vec<Vec<u64>>) -> Self {
        self.documented = Some(outputs);
        self
    }
}
