//! Reference results of operators, element by element; test cases; and guarded buffers for tests, which reveal
//! every wrong byte.
//!
//! Each family of operators has a folder in `families/`, and a line in [`REFERENCES`]. All of it is written
//! from the documentation: this crate shares nothing with lowering or kernels.
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
mod per_operator;
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
pub use per_operator::PerOperator;
pub use random::Random;
pub use registry::{REFERENCES, find};
pub use signature::Signature;
use tensors::{MIXED, PADDED, REVERSED, SMALL, Sizes, TensorGenerator, shapes};
pub use text::element_text;

use dml_core::plan::Aliases;
use dml_core::schema::{Comparison, OperatorSchema};
use dml_core::{AbstractOperator, DataType, Error, TensorLayout, Validated};

/// An operator's documented meaning. Implementations follow the documentation's pseudocode and share nothing
/// with lowering, kernels or [`dml_core::value`], except for helpers that read long descriptors
/// ([`dml_core::operators::attention`], [`dml_core::operators::recurrent`]).
pub trait Reference: Sync {
    /// The operator's schema row.
    fn schema(&self) -> &'static OperatorSchema;

    /// The elements of every output as bit patterns, in row-major logical order. `inputs` has the elements of
    /// every input in the same form, and `None` for optional inputs that are left out.
    ///
    /// # Errors
    /// [`Error::Internal`]: the operator is another one than this reference's.
    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error>;

    /// The outputs on a device that flushes FLOAT32 subnormals to zero. `inputs` are flushed already where
    /// [`Self::may_flush`]; the outputs differ from [`Self::outputs`] if an intermediate number is subnormal.
    ///
    /// # Errors
    /// See [`Self::outputs`].
    fn flushed_outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        self.outputs(operator, inputs)
    }

    /// Whether a device may flush FLOAT32 subnormals in the input at `index`; false if kernels read its bits as
    /// integers.
    fn may_flush(&self, _operator: &Validated, _index: usize) -> bool {
        true
    }

    /// Whether intermediate numbers may be FLOAT32 subnormals although inputs and outputs are not.
    fn may_be_subnormal_within(&self, _operator: &Validated) -> bool {
        false
    }

    /// Random elements for an input that a case does not give, as bit patterns in row-major logical order,
    /// within the values that the operator accepts. Of elements that share an address, the last one counts.
    fn input_elements(
        &self,
        random: &mut Random,
        _operator: &Validated,
        _index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        (0..layout.element_count()).map(|_| random.input_element(layout.data_type())).collect()
    }

    /// A smallest operator whose tensors have this signature, whether or not any feature level accepts it.
    fn minimal(&self, signature: &Signature) -> AbstractOperator;

    /// All corner cases for tensors of this signature, which some feature level accepts.
    fn cases(&self, signature: &Signature) -> Vec<Case>;

    /// Whether other operators have the same cases and kernels, apart from the function computed.
    fn shares_cases(&self) -> bool {
        false
    }

    /// A random case for tensors of this signature, which some feature level accepts. It depends on `random`
    /// only; the caller names it.
    fn random(&self, random: &mut Random, signature: &Signature) -> Case;

    /// The required accuracy of elements of `data_type`: as the operator's schema row says, unless an attribute
    /// needs another one.
    fn comparison(&self, operator: &Validated, data_type: DataType) -> Comparison {
        operator.schema().comparison(data_type)
    }

    /// The absolute error that each element of each output may have with [`Numerics::Fast`], before the bound
    /// of [`Self::comparison`] applies. `None` if only that bound applies, as it does for every operator whose schema
    /// says [`FastComparison::AsExact`].
    ///
    /// # Errors
    /// See [`Self::outputs`].
    ///
    /// [`FastComparison::AsExact`]: dml_core::schema::FastComparison::AsExact
    /// [`Numerics::Fast`]: dml_core::Numerics::Fast
    fn fast_errors(
        &self,
        _operator: &Validated,
        _inputs: &[Option<Vec<u64>>],
    ) -> Result<Option<Vec<Vec<f64>>>, Error> {
        Ok(None)
    }

    /// Operators that break one of the rules between this operator's fields, for tensors of this signature,
    /// which some feature level accepts.
    fn broken_rules(&self, _signature: &Signature) -> Vec<BrokenRule> {
        vec![]
    }
}

/// An operator that validation must refuse.
#[derive(Clone, Debug)]
pub struct BrokenRule {
    /// The broken rule in snake case, beginning with `rule_`.
    pub name: Cow<'static, str>,
    /// The operator.
    pub operator: AbstractOperator,
    /// The full path of the field that the error must name, such as `InputTensor.DataType`.
    pub field: Cow<'static, str>,
}

/// One execution of an operator.
#[derive(Clone, Debug)]
pub struct Case {
    /// The distinctive property in snake case; unique among the operator's cases of one signature.
    pub name: Cow<'static, str>,
    /// The operator.
    pub operator: AbstractOperator,
    /// The byte offset of each input in its buffer.
    pub input_offset: u64,
    /// The byte offset of each output in its buffer.
    pub output_offset: u64,
    /// Whether the buffers have storage usage only.
    pub storage_only: bool,
    /// Pairs of an input and the output to whose range it is bound exactly. Inputs of one output hold the same
    /// bytes.
    pub in_place: Vec<(u32, u32)>,
    /// The elements of the first inputs; other inputs are pseudo-random, see [`Reference::input_elements`].
    pub inputs: Vec<Vec<u64>>,
    /// The outputs' elements if the documentation prints them; otherwise only the reference gives them.
    pub documented: Option<Vec<Vec<u64>>>,
}

impl Case {
    /// A case with default buffers and pseudo-random inputs.
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

    /// With outputs that start `bytes` into their buffers.
    pub fn at_output_offset(mut self, bytes: u64) -> Self {
        self.output_offset = bytes;
        self
    }

    /// With inputs that start `bytes` into their buffers.
    pub fn at_input_offset(mut self, bytes: u64) -> Self {
        self.input_offset = bytes;
        self
    }

    /// With these inputs bound to the first output's range.
    pub fn in_place(self, inputs: impl Into<Vec<u32>>) -> Self {
        self.in_place_of(inputs.into().into_iter().map(|input| (input, 0)).collect::<Vec<_>>())
    }

    /// With each of these inputs bound to the range of the paired output.
    pub fn in_place_of(mut self, pairs: impl Into<Vec<(u32, u32)>>) -> Self {
        self.in_place = pairs.into();
        self
    }

    /// The inputs that alias outputs.
    pub fn aliases(&self) -> Aliases {
        Aliases::new(self.in_place.iter().copied())
    }

    /// The output that an input is bound to.
    pub(crate) fn output_of(&self, input: usize) -> Option<usize> {
        let pair = self.in_place.iter().find(|(it, _)| *it as usize == input);
        pair.map(|(_, output)| *output as usize)
    }

    /// With these elements in the first inputs.
    pub fn with_inputs(mut self, inputs: Vec<Vec<u64>>) -> Self {
        self.inputs = inputs;
        self
    }

    /// With random offsets and buffer usages.
    pub fn with_random_buffers(mut self, random: &mut Random) -> Self {
        self.input_offset = random.offset();
        self.output_offset = random.offset();
        self.storage_only = random.one_in(4);
        self
    }

    /// With buffers of storage usage only.
    pub fn storage_only(mut self) -> Self {
        self.storage_only = true;
        self
    }

    /// With the outputs that the documentation prints.
    pub fn documented(mut self, outputs: Vec<Vec<u64>>) -> Self {
        self.documented = Some(outputs);
        self
    }
}
