//! A model bound to inputs: operators over buffers, and the tensors to read back.

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
    /// The device values that the host had to know, in the order of [`Destination::Answer`].
    pub(crate) questions: Vec<HostQuestion>,
    /// The results that depend on elements of fixed inputs.
    pub(crate) conclusions: Arc<Conclusions>,
}

/// A device value that the host had to know.
#[derive(Clone, Debug)]
pub(crate) struct HostQuestion {
    pub(crate) key: Key,
    /// The node that needs the value.
    #[cfg_attr(not(feature = "execute"), expect(dead_code, reason = "errors of runs name it"))]
    pub(crate) node: NodeName,
    /// The value that the program was made for; `None` if the program only computes it.
    pub(crate) answer: Option<Tensor>,
}

/// An input whose values a run needs, or may replace.
#[derive(Clone, Debug)]
pub struct ProgramInput {
    /// The name.
    pub name: String,
    /// The type; `None` if neither the model nor the caller gives one.
    pub element: Option<ElementType>,
    /// The shape.
    pub shape: Vec<u64>,
    /// The values that were bound.
    pub tensor: Option<Tensor>,
    /// Whether shapes or operators depend on the values, so that a run cannot replace them. A session may,
    /// by values of which the host concludes the same.
    pub fixed: bool,
    /// Whether the caller gave the input's shape or values.
    pub given: bool,
}

/// Device memory that a run needs.
#[derive(Clone, Debug)]
pub struct BufferPlan {
    /// Bytes, a multiple of 4 and not 0.
    pub size: u64,
    /// The content before the first step.
    pub initial: Initial,
}

/// The content of a buffer before the first step.
#[derive(Clone, Debug)]
pub enum Initial {
    /// Undefined: no step reads it before writing it.
    Undefined,
    /// A tensor at its start.
    Tensor(Tensor),
    /// A sequence of values, each computed from the one before, at the buffer's start.
    Sequence(Sequence),
    /// The values of the input with this number.
    Input(usize),
    /// A tensor of the model, loaded when it is needed.
    Weight(Weight),
}

/// A tensor of a model whose elements are not loaded yet.
///
/// A cheap handle: clones, and the weights of other programs of the model, share one tensor.
#[derive(Clone, Debug)]
pub struct Weight(pub(crate) Arc<Constant>);

impl Weight {
    /// Reads the elements.
    ///
    /// # Errors
    /// [`Error::InFile`](crate::Error::InFile): the file with the elements cannot be read, or is too short.
    pub fn load(&self) -> Result<Tensor> {
        self.0.load()
    }
}

/// Weights are equal if they are the same tensor of the model.
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

/// An operator or graph to compile, with the node that it comes from.
#[derive(Clone, Debug)]
pub struct Operator {
    /// The node, the dispatchable, or the model.
    pub node: NodeName,
    /// The operator or graph.
    pub work: Work,
}

/// An operator or a graph to compile.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// One operator.
    Operator(AbstractOperator),
    /// A graph of operators: its inputs and outputs are bound by number.
    Graph {
        /// The graph.
        desc: Arc<GraphDesc>,
        /// The model's nodes that the nodes of the graph were made from, in the order of the graph.
        nodes: Vec<Arc<NodeName>>,
    },
}

impl From<AbstractOperator> for Work {
    fn from(operator: AbstractOperator) -> Self {
        Self::Operator(operator)
    }
}

impl Operator {
    /// The DirectML operators: one, or those of a graph.
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

/// One step of a program.
#[derive(Clone, Debug)]
pub enum Step {
    /// Initializes an operator: the inputs that it owns are kept for all later executions.
    Initialize(Initialization),
    /// Executes an operator.
    Dispatch(Dispatch),
    /// Reads a tensor for the caller.
    Read(Read),
}

/// The initialization of an operator.
#[derive(Clone, Debug)]
pub struct Initialization {
    /// The operator's index in [`Program::operators`].
    pub operator: usize,
    /// The inputs that are OWNED_BY_DML, ordered like [`Dispatch::inputs`].
    pub inputs: Vec<Option<Binding>>,
}

/// The execution of an operator.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// The operator's index in [`Program::operators`].
    pub operator: usize,
    /// Inputs in DirectML's binding order, or in the order of the graph's inputs; `None` where one is left out.
    /// Without an earlier initialization, the first dispatch initializes the operator with the inputs that are
    /// OWNED_BY_DML.
    pub inputs: Vec<Option<Binding>>,
    /// Outputs, in binding order; `None` where one is left out.
    pub outputs: Vec<Option<Binding>>,
    /// Whether the dispatch is executed once, before the first run: it depends only on weights.
    pub once: bool,
}

/// A range of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The buffer's index in [`Program::buffers`].
    pub buffer: usize,
    /// The offset of the first byte.
    pub offset: u64,
    /// The number of bytes.
    pub size: u64,
}

/// A tensor to read back.
#[derive(Clone, Debug)]
pub struct Read {
    /// The tensor's purpose.
    pub destination: Destination,
    /// The tensor's type.
    pub element: ElementType,
    /// The tensor's shape.
    pub shape: Vec<u64>,
    /// The location of its elements.
    pub source: Source,
}

/// The location of an output's elements.
#[derive(Clone, Debug)]
pub enum Source {
    /// Known without a run.
    Host(Tensor),
    /// The values of the input with this number.
    Input(usize),
    /// A buffer range that a step writes.
    Buffer(Binding),
}

/// The purpose of a tensor that is read back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Destination {
    /// The model's output of this name.
    Output(String),
    /// A device value that the host has to know, with this number; not given to the caller.
    Answer(usize),
    /// DxDispatch's `print`: show the resource.
    Print {
        /// The resource's name.
        resource: String,
        /// Whether the resource is described as well as its values shown.
        verbose: bool,
    },
    /// DxDispatch's `writeFile`: write it to a path relative to the caller's folder.
    File(PathBuf),
}

/// A tensor that a run returns.
#[derive(Clone, Debug)]
pub struct Output {
    /// The tensor's purpose.
    pub destination: Destination,
    /// The tensor.
    pub tensor: Tensor,
}

impl Program {
    /// Whether the host has to know values that the device computes: if they are others than the program was made for,
    /// the outputs of a run are not those of the model.
    pub fn asks_device(&self) -> bool {
        !self.questions.is_empty()
    }

    /// Whether the program only computes device values that the host asks for.
    pub(crate) fn is_open(&self) -> bool {
        self.questions.iter().any(|question| question.answer.is_none())
    }

    /// The inputs.
    pub fn inputs(&self) -> &[ProgramInput] {
        &self.inputs
    }

    /// The device memory that runs need.
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

    /// Whether the program or a run of it depends on the elements of the input with this number.
    pub(crate) fn reads(&self, input: usize) -> bool {
        let is_output = |step: &Step| matches!(step, Step::Read(Read { source: Source::Input(index), .. }) if *index == input);
        self.inputs.get(input).is_some_and(|it| it.fixed)
            || self
                .buffers
                .iter()
                .any(|buffer| matches!(buffer.initial, Initial::Input(i) if i == input))
            || self.steps.iter().any(is_output)
    }

    /// Whether a run needs a device: false if every output is empty or known to the host.
    pub fn needs_device(&self) -> bool {
        !self.buffers.is_empty()
    }
}

/// The name of a tensor of a sequence.
pub(crate) fn tensor_name(sequence: &str, at: usize) -> String {
    format!("{sequence}[{at}]")
}
