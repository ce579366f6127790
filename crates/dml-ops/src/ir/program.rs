//! Programs: what an operator computes, node by node.

use dml_core::plan::BindingRequirement;
use dml_core::schema::FieldKind;
use dml_core::{Error, TensorFlags, TensorLayout, Validated};
use dml_spirv::element_wise::MAX_INPUTS;

use super::buffer::{Buffer, Content, Local, Stage};
use super::node::Node;
use super::space::{IterationSpace, Operand};

/// What an operator computes. It is made for any device; [`crate::schedule`] makes its plan for one.
#[derive(Clone, Debug)]
pub struct Program {
    /// The operator's name, for messages.
    pub(crate) operator: &'static str,
    /// The field that messages name where no input is what they are about.
    pub(crate) field: &'static str,
    /// In binding order; `None` where a tensor is left out.
    pub(crate) inputs: Vec<Option<Binding>>,
    pub(crate) outputs: Vec<Option<Binding>>,
    /// Inputs that the one output may be, since each of its elements is written where it is read last.
    pub(crate) in_place: Vec<u32>,
    pub(crate) locals: Vec<Local>,
    /// In an order in which each reads what those before it have written.
    pub(crate) nodes: Vec<Node>,
}

/// A tensor that is bound when a program is executed, or initialized.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    /// The field of the operator that it belongs to.
    pub(crate) field: &'static str,
    pub(crate) requirement: BindingRequirement,
    pub(crate) tensor: TensorLayout,
}

impl Binding {
    /// All of one kind, in binding order.
    pub(crate) fn all(operator: &Validated, kind: FieldKind) -> Vec<Option<Self>> {
        let tensors = operator.tensors(kind);
        let of = |path: dml_core::schema::TensorPath, tensor: &TensorLayout| Self {
            field: path.field.name,
            requirement: BindingRequirement::of(path.name(), tensor),
            tensor: tensor.clone(),
        };
        tensors.map(|(path, tensor)| tensor.map(|tensor| of(path, tensor))).collect()
    }

    /// One of a field that has one tensor.
    pub(crate) fn of(field: &'static str, tensor: &TensorLayout) -> Self {
        let requirement = BindingRequirement::of(field, tensor);
        Self { field, requirement, tensor: tensor.clone() }
    }

    /// Whether initialization keeps its elements.
    pub(crate) fn is_owned(&self) -> bool {
        self.tensor.flags().contains(TensorFlags::OWNED_BY_DML)
    }
}

impl Program {
    /// One that does nothing yet.
    pub(crate) fn of(operator: &Validated) -> Self {
        let schema = operator.schema();
        let mut outputs = schema.fields.iter().filter(|it| it.kind == FieldKind::Output);
        Self {
            field: outputs.next().map_or("", |field| field.name),
            inputs: Binding::all(operator, FieldKind::Input),
            outputs: Binding::all(operator, FieldKind::Output),
            ..Self::empty(schema.name)
        }
    }

    /// One of any tensors that does nothing yet.
    pub(crate) fn empty(operator: &'static str) -> Self {
        Self {
            operator,
            field: "",
            inputs: vec![],
            outputs: vec![],
            in_place: vec![],
            locals: vec![],
            nodes: vec![],
        }
    }

    /// When a buffer's elements are there.
    pub(crate) fn stage(&self, buffer: Buffer) -> Stage {
        match buffer {
            Buffer::Input(_) if self.input(buffer).is_some_and(Binding::is_owned) => {
                Stage::Initialization
            }
            Buffer::Input(_) | Buffer::Output(_) => Stage::Execution,
            Buffer::Local(at) => self.locals[at].content.stage(),
        }
    }

    /// The binding of an input.
    pub(crate) fn input(&self, buffer: Buffer) -> Option<&Binding> {
        match buffer {
            Buffer::Input(at) => self.inputs.get(at as usize)?.as_ref(),
            _ => None,
        }
    }

    /// The inputs that may be the output of a space: those that lie as it does, so that each element is read where it
    /// is written. What initialization keeps is not written.
    pub(crate) fn inputs_as_output(&self, space: &IterationSpace) -> Vec<u32> {
        let lies_alike = |it: &&Operand| it.lies_as(&space.output, &space.sizes);
        let number = |it: &Operand| match it.buffer {
            Some(buffer @ Buffer::Input(at)) if self.stage(buffer) == Stage::Execution => Some(at),
            _ => None,
        };
        space.inputs.iter().filter(lies_alike).filter_map(number).collect()
    }

    /// Declares a buffer.
    pub(crate) fn declare(&mut self, content: Content) -> Buffer {
        self.locals.push(Local { content, declared_after: self.nodes.len() });
        Buffer::Local(self.locals.len() - 1)
    }

    /// Adds a node that is applied to a space.
    ///
    /// # Errors
    /// [`Error::Internal`]: it reads more than kernels do, an operand leaves its buffer, or something else than a Map
    /// writes what initialization makes.
    pub(crate) fn record(&mut self, node: Node) -> Result<(), Error> {
        if let Some(space) = node.space() {
            self.check_space(space)?;
            self.check_stage(space.output.buffer, matches!(node, Node::Map(_)))?;
        }
        self.nodes.push(node);
        Ok(())
    }

    fn check_space(&self, space: &IterationSpace) -> Result<(), Error> {
        if space.inputs.len() > MAX_INPUTS {
            let problem = format!("a node has {} inputs, not {MAX_INPUTS}", space.inputs.len());
            return Err(Error::internal(self.operator, problem));
        }
        for operand in space.stored() {
            let dimensions = space.sizes.into_iter().zip(operand.strides);
            let bytes = u64::from(operand.width.bytes());
            let beyond = operand.displacement.map_or(0, |it| it.most);
            self.check(operand.buffer, operand.base, beyond, dimensions, bytes)?;
        }
        Ok(())
    }

    /// That what initialization makes is made by a Map: the schedule has no other nodes there.
    ///
    /// # Errors
    /// [`Error::Internal`]: it is not.
    pub(crate) fn check_stage(&self, buffer: Option<Buffer>, is_map: bool) -> Result<(), Error> {
        let stage = buffer.filter(|it| matches!(it, Buffer::Local(_))).map(|it| self.stage(it));
        match stage {
            Some(Stage::Initialization) if !is_map => {
                Err(Error::internal(self.operator, "only a Map writes what initialization makes"))
            }
            _ => Ok(()),
        }
    }

    /// That all elements of a view are in its buffer, those `beyond` their coordinates too.
    ///
    /// # Errors
    /// [`Error::Internal`]: they are not.
    pub(crate) fn check(
        &self,
        buffer: Option<Buffer>,
        base: i64,
        beyond: u64,
        dimensions: impl IntoIterator<Item = (u32, i64)>,
        element_bytes: u64,
    ) -> Result<(), Error> {
        let size = match buffer {
            Some(Buffer::Local(at)) => Some(self.locals[at].content.bytes()),
            Some(it @ Buffer::Input(_)) => self.input(it).map(|it| it.tensor.minimum_size()),
            Some(Buffer::Output(at)) => {
                let output = self.outputs.get(at as usize).and_then(Option::as_ref);
                output.map(|it| it.tensor.minimum_size())
            }
            None => return Ok(()),
        };
        let (mut least, mut greatest) = (base, base.saturating_add_unsigned(beyond));
        for (size, stride) in dimensions {
            let distance = stride.saturating_mul(i64::from(size) - 1);
            least = least.saturating_add(distance.min(0));
            greatest = greatest.saturating_add(distance.max(0));
        }
        let end = u64::try_from(greatest).map_or(0, |it| (it + 1).saturating_mul(element_bytes));
        match size {
            Some(size) if least >= 0 && end <= size => Ok(()),
            _ => {
                let problem = format!(
                    "a node has elements {least} to {greatest} of {element_bytes} bytes in {buffer:?}, \
                     which has {size:?} bytes"
                );
                Err(Error::internal(self.operator, problem))
            }
        }
    }
}
