//! Programs: the nodes of an operator.

use dml_core::plan::BindingRequirement;
use dml_core::schema::FieldKind;
use dml_core::{Error, TensorFlags, TensorLayout, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::MAX_INPUTS;

use super::buffer::{Buffer, Content, Stage};
use super::node::{Node, Origin, Recorded, Sources};
use super::space::{IterationSpace, Operand, extent};

/// The computation of an operator, independent of how a device executes it. `schedule` turns a program into a plan.
#[derive(Clone, Debug)]
pub struct Program {
    /// The operator's name, for messages.
    pub(crate) operator: &'static str,
    /// The field that error messages name, unless they are about an input.
    pub(crate) field: &'static str,
    /// The inputs and outputs in binding order; `None` where a tensor is left out.
    pub(crate) inputs: Vec<Option<Binding>>,
    pub(crate) outputs: Vec<Option<Binding>>,
    /// Numbers of an input and an output that may be bound to the same bytes.
    pub(crate) in_place: Vec<(u32, u32)>,
    pub(crate) locals: Vec<Content>,
    /// The nodes in execution order.
    pub(crate) nodes: Vec<Recorded>,
}

/// A tensor that is bound when a program is executed, or initialized.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    /// The field of the operator that the tensor belongs to.
    pub(crate) field: &'static str,
    pub(crate) requirement: BindingRequirement,
    pub(crate) tensor: TensorLayout,
}

impl Binding {
    /// The bindings of all of an operator's tensors of a kind, in binding order.
    pub(crate) fn all(operator: &Validated, kind: FieldKind) -> Vec<Option<Self>> {
        let tensors = operator.tensors(kind);
        let of = |path: dml_core::schema::TensorPath, tensor: &TensorLayout| Self {
            field: path.field.name,
            requirement: BindingRequirement::of(path.name(), tensor),
            tensor: tensor.clone(),
        };
        tensors.map(|(path, tensor)| tensor.map(|tensor| of(path, tensor))).collect()
    }

    /// Whether the tensor is OWNED_BY_DML.
    pub(crate) fn is_owned(&self) -> bool {
        self.tensor.flags().contains(TensorFlags::OWNED_BY_DML)
    }
}

impl Program {
    /// An operator's program without nodes.
    pub(crate) fn of(operator: &Validated) -> Self {
        let schema = operator.schema();
        let mut outputs = schema.fields.iter().filter(|field| field.kind == FieldKind::Output);
        Self {
            field: outputs.next().map_or("", |field| field.name),
            inputs: Binding::all(operator, FieldKind::Input),
            outputs: Binding::all(operator, FieldKind::Output),
            ..Self::empty(schema.name)
        }
    }

    /// A program without bindings and nodes.
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

    /// When the contents of a buffer are available.
    pub(crate) fn stage(&self, buffer: Buffer) -> Stage {
        match buffer {
            Buffer::Input(_) if self.input(buffer).is_some_and(Binding::is_owned) => {
                Stage::Initialization
            }
            Buffer::Input(_) | Buffer::Output(_) => Stage::Execution,
            Buffer::Local(at) => self.locals[at].stage(),
        }
    }

    /// The binding of `buffer`, if it is an input that is not left out.
    pub(crate) fn input(&self, buffer: Buffer) -> Option<&Binding> {
        match buffer {
            Buffer::Input(at) => self.inputs.get(at as usize)?.as_ref(),
            _ => None,
        }
    }

    /// The size of a buffer in bytes; `None` where a tensor is left out.
    pub(crate) fn bytes(&self, buffer: Buffer) -> Option<u64> {
        let bytes = |all: &[Option<Binding>], at: u32| {
            all.get(at as usize)?.as_ref().map(|it| it.tensor.minimum_size())
        };
        match buffer {
            Buffer::Local(at) => Some(self.locals[at].bytes()),
            Buffer::Input(at) => bytes(&self.inputs, at),
            Buffer::Output(at) => bytes(&self.outputs, at),
        }
    }

    /// Numbers of the inputs of `space` that may be bound to the bytes of its output: inputs with the
    /// output's layout, so that each element is read where it is written. Inputs that are OWNED_BY_DML are
    /// left out, as no execution binds them.
    pub(crate) fn inputs_as_output(&self, space: &IterationSpace) -> Vec<u32> {
        let lies_alike =
            |it: &&Operand| it.base == space.output.base && it.lies_as(&space.output, &space.sizes);
        let alike = space.inputs.iter().filter(lies_alike);
        alike.filter_map(|it| self.executed_input(it)).collect()
    }

    /// Numbers of the inputs that a space reads and that are bound when the program is executed.
    pub(crate) fn inputs_read(&self, space: &IterationSpace) -> Vec<u32> {
        space.inputs.iter().filter_map(|input| self.executed_input(input)).collect()
    }

    fn executed_input(&self, operand: &Operand) -> Option<u32> {
        match operand.buffer {
            Some(buffer @ Buffer::Input(at)) if self.stage(buffer) == Stage::Execution => Some(at),
            _ => None,
        }
    }

    /// Declares a buffer.
    pub(crate) fn declare(&mut self, content: Content) -> Buffer {
        self.locals.push(content);
        Buffer::Local(self.locals.len() - 1)
    }

    /// Adds a node.
    ///
    /// # Errors
    /// [`Error::Internal`] if the node has more inputs than kernels have, if an operand exceeds its buffer,
    /// or if a node other than a Map writes a buffer of [`Stage::Initialization`].
    pub(crate) fn record(&mut self, node: Node) -> Result<(), Error> {
        if let Some(space) = node.space() {
            self.check_space(space)?;
            self.check_stage(space.output.buffer, matches!(node, Node::Map(_)))?;
        }
        self.push(node);
        Ok(())
    }

    /// Adds a node without checks, as one of the program's operator.
    pub(super) fn push(&mut self, node: Node) {
        let displaced = node.space().and_then(|space| {
            space.inputs.iter().find(|input| input.displacement.is_some()).and_then(|it| it.buffer)
        });
        let input = displaced.and_then(|buffer| self.input(buffer));
        // The field of an input that has to be bound as a whole, else the field of the output.
        let field = input.map_or(self.field, |input| input.field);
        let origin = Origin { operator: self.operator, field, sources: Sources::new() };
        self.nodes.push(Recorded { node, origin });
    }

    fn check_space(&self, space: &IterationSpace) -> Result<(), Error> {
        if space.inputs.len() > MAX_INPUTS {
            let problem = format!("a node has {} inputs, not {MAX_INPUTS}", space.inputs.len());
            return Err(Error::internal(self.operator, problem));
        }
        for operand in space.stored() {
            let dimensions = space.sizes.into_iter().zip(operand.strides);
            self.check(operand.buffer, operand.base, operand.beyond(), dimensions, operand.width)?;
        }
        Ok(())
    }

    /// Checks that only a Map writes a buffer of [`Stage::Initialization`]: the schedule runs no other nodes there.
    ///
    /// # Errors
    /// [`Error::Internal`] if another node writes such a buffer.
    pub(crate) fn check_stage(&self, buffer: Option<Buffer>, is_map: bool) -> Result<(), Error> {
        let stage = buffer
            .filter(|buffer| matches!(buffer, Buffer::Local(_)))
            .map(|buffer| self.stage(buffer));
        match stage {
            Some(Stage::Initialization) if !is_map => {
                Err(Error::internal(self.operator, "only a Map writes what initialization makes"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that a view stays within its buffer, with up to `beyond` elements more for displacements.
    ///
    /// # Errors
    /// [`Error::Internal`] if it does not.
    pub(crate) fn check(
        &self,
        buffer: Option<Buffer>,
        base: i64,
        beyond: u64,
        dimensions: impl IntoIterator<Item = (u32, i64)>,
        width: ElementWidth,
    ) -> Result<(), Error> {
        let Some(buffer) = buffer else { return Ok(()) };
        let size = self.bytes(buffer);
        let (least, greatest) = extent(base, dimensions).into_inner();
        let greatest = greatest.saturating_add_unsigned(beyond);
        let end = u64::try_from(greatest).map_or(0, |it| width.bytes_of(it + 1));
        match size {
            Some(size) if least >= 0 && end <= size => Ok(()),
            _ => {
                let size = size.unwrap_or_default();
                let problem = format!(
                    "a node has elements {least} to {greatest} of {} bits in {buffer}, which has \
                     {size} bytes",
                    width.bits()
                );
                Err(Error::internal(self.operator, problem))
            }
        }
    }
}
