//! What a model comes to when its inputs are bound: operators over buffers, and what is read back.

use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use dml_core::graph::NodeKind;
use dml_core::{AbstractOperator, GraphDesc};

use crate::constant::Constant;
use crate::element::ElementType;
use crate::error::{NodeName, Result};
use crate::graph::{Conclusions, Key};
pub use crate::sequence::Sequence;
use crate::tensor::Tensor;

/// A model with all shapes known: runs any number of times on any device.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub(crate) inputs: Vec<ProgramInput>,
    pub(crate) buffers: Vec<BufferPlan>,
    pub(crate) operators: Vec<Operator>,
    pub(crate) steps: Vec<Step>,
    /// What the host had to know of a device's values, in the order of [`Destination::Answer`].
    pub(crate) questions: Vec<Asked>,
    /// What depends on elements of inputs that are fixed.
    pub(crate) conclusions: Arc<Conclusions>,
}

/// A value of a device that the host had to know.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) key: Key,
    /// The node that asked.
    #[cfg_attr(not(feature = "execute"), expect(dead_code, reason = "errors of runs name it"))]
    pub(crate) node: NodeName,
    /// What the program was made for; `None` where nothing of it is made yet.
    pub(crate) answer: Option<Tensor>,
}

/// An input whose values a run needs, or may replace.
#[derive(Clone, Debug)]
pub struct ProgramInput {
    /// The name.
    pub name: String,
    /// The type; `None` where neither the model nor the caller says.
    pub element: Option<ElementType>,
    /// The shape.
    pub shape: Vec<u64>,
    /// The values that were bound.
    pub tensor: Option<Tensor>,
    /// Whether shapes or operators depend on the values, so that a run cannot replace them. A session may,
    /// by values of which the host concludes the same.
    pub fixed: bool,
    /// Whether the caller gave its shape or its values.
    pub given: bool,
}

/// Device memory that a run needs.
#[derive(Clone, Debug)]
pub struct BufferPlan {
    /// Bytes, a multiple of 4 and not 0.
    pub size: u64,
    /// What is in it before the first step.
    pub initial: Initial,
}

/// What is in a buffer before the first step.
#[derive(Clone, Debug)]
pub enum Initial {
    /// Nothing that is read.
    Undefined,
    /// A tensor at its start.
    Tensor(Tensor),
    /// Values that follow from the first one, at its start.
    Sequence(Sequence),
    /// The values of the input with this number.
    Input(usize),
    /// A tensor of the model, which is read when it is needed.
    Weight(Weight),
}

/// A tensor of a model whose elements are not read yet.
///
/// A cheap handle: clones are the same tensor, and so are those in other programs of the model.
#[derive(Clone, Debug)]
pub struct Weight(pub(crate) Arc<Constant>);

impl Weight {
    /// Reads the elements.
    ///
    /// # Errors
    /// [`Error::InFile`](crate::Error::InFile): the file that has them cannot be read, or ends before
    /// they do.
    pub fn load(&self) -> Result<Tensor> {
        self.0.load()
    }
}

/// Equal are those that are one tensor of the model.
impl PartialEq for Weight {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Weight {}

impl Hash for Weight {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

/// What is compiled, and where it comes from.
#[derive(Clone, Debug)]
pub struct Operator {
    /// The node, the dispatchable, or the model.
    pub node: NodeName,
    /// What is compiled.
    pub work: Work,
}

/// What is compiled.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// One operator.
    Operator(AbstractOperator),
    /// A graph of them: its inputs and outputs are bound by their numbers.
    Graph {
        /// The graph.
        desc: Arc<GraphDesc>,
        /// What the nodes of the graph were made from, in its order.
        nodes: Vec<Arc<NodeName>>,
    },
}

impl From<AbstractOperator> for Work {
    fn from(operator: AbstractOperator) -> Self {
        Self::Operator(operator)
    }
}

impl Operator {
    /// The operators of DirectML: one, or those of a graph.
    pub fn operators(&self) -> Vec<&AbstractOperator> {
        match &self.work {
            Work::Operator(operator) => vec![operator],
            Work::Graph { desc, .. } => {
                let operators = desc.nodes.iter().filter_map(|node| match &node.kind {
                    NodeKind::Operator(operator) => Some(operator),
                    NodeKind::Constant(_) => None,
                });
                operators.collect()
            }
        }
    }
}

/// What happens, in order.
#[derive(Clone, Debug)]
pub enum Step {
    /// What an operator keeps is given to it, for all executions that follow.
    Initialize(Initialization),
    /// An operator is executed.
    Dispatch(Dispatch),
    /// A tensor is handed to the caller.
    Read(Read),
}

/// The initialization of an operator.
#[derive(Clone, Debug)]
pub struct Initialization {
    /// Its number in [`Program::operators`].
    pub operator: usize,
    /// As [`Dispatch::inputs`]; those that are OWNED_BY_DML.
    pub inputs: Vec<Option<Binding>>,
}

/// The execution of an operator.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// Its number in [`Program::operators`].
    pub operator: usize,
    /// In DirectML's binding order, or that of the graph's inputs; `None` where one is left out. Those
    /// that are OWNED_BY_DML are kept from the first dispatch, where no initialization came before.
    pub inputs: Vec<Option<Binding>>,
    /// The same for outputs.
    pub outputs: Vec<Option<Binding>>,
    /// Whether it is executed once, before the first run: it reads weights and what is made of these alone.
    pub once: bool,
}

/// A part of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The buffer's number in [`Program::buffers`].
    pub buffer: usize,
    /// The first byte.
    pub offset: u64,
    /// The number of bytes.
    pub size: u64,
}

/// A tensor that the caller gets.
#[derive(Clone, Debug)]
pub struct Read {
    /// What it is for.
    pub destination: Destination,
    /// Its type.
    pub element: ElementType,
    /// Its shape.
    pub shape: Vec<u64>,
    /// Where its elements are.
    pub source: Source,
}

/// Where the elements of an output are.
#[derive(Clone, Debug)]
pub enum Source {
    /// Known without a run.
    Host(Tensor),
    /// Those of an input.
    Input(usize),
    /// Written by a step.
    Buffer(Binding),
}

/// What the caller is to do with a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Destination {
    /// It is the model's output of this name.
    Output(String),
    /// It is what the host has to know of the device, with this number: runs do not give it to the caller.
    Answer(usize),
    /// DxDispatch's `print`: show the resource.
    Print {
        /// The resource's name.
        resource: String,
        /// Whether more than the values is asked for.
        verbose: bool,
    },
    /// DxDispatch's `writeFile`: write it to a path relative to the caller's folder.
    File(PathBuf),
}

/// A tensor that a run gave.
#[derive(Clone, Debug)]
pub struct Output {
    /// What it is for.
    pub destination: Destination,
    /// The tensor.
    pub tensor: Tensor,
}

impl Program {
    /// Whether it only computes what the host asks for.
    pub(crate) fn is_open(&self) -> bool {
        self.questions.iter().any(|it| it.answer.is_none())
    }

    /// The inputs.
    pub fn inputs(&self) -> &[ProgramInput] {
        &self.inputs
    }

    /// The device memory.
    pub fn buffers(&self) -> &[BufferPlan] {
        &self.buffers
    }

    /// The operators.
    pub fn operators(&self) -> &[Operator] {
        &self.operators
    }

    /// The steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether the elements of the input with this number matter, to the program or to a run of it.
    pub(crate) fn reads(&self, input: usize) -> bool {
        let is_output = |step: &Step| matches!(step, Step::Read(Read { source: Source::Input(index), .. }) if *index == input);
        self.inputs.get(input).is_some_and(|it| it.fixed)
            || self.buffers.iter().any(|it| matches!(it.initial, Initial::Input(i) if i == input))
            || self.steps.iter().any(is_output)
    }

    /// Whether a run needs a device: not where every output is empty or known to the host.
    pub fn needs_device(&self) -> bool {
        !self.buffers.is_empty()
    }
}
