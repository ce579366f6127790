//! A model of any format.

mod forms;

use std::path::{Path, PathBuf};
#[cfg(feature = "execute")]
use std::sync::Arc;

use bytes::Bytes;
#[cfg(feature = "execute")]
use dml_core::KnownOperators;

use crate::assemble::{assemble, assemble_questions};
use crate::dxdispatch::Script;
use crate::error::{Error, Result};
use crate::files::{Folder, OpenFile, OwnFile};
use crate::format::{BEGINNING, Format};
#[cfg(feature = "execute")]
use crate::graph::typed;
use crate::graph::{Answers, Extent, Graph, evaluate, evaluate_reading};
#[cfg(feature = "execute")]
use crate::inputs::Input;
use crate::inputs::Inputs;
use crate::inspect::{self, Report};
#[cfg(feature = "execute")]
use crate::program::ProgramInput;
use crate::program::{Destination, Program};
use crate::{dxdispatch, format, onnx, openvino, random};

pub use forms::InputForm;
use forms::set_form;

/// A model that was read and has no inputs bound yet.
#[derive(Debug)]
pub struct Model {
    format: Format,
    /// The model's name in messages.
    file: String,
    files: Vec<PathBuf>,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Graph(Graph),
    Script(Script),
}

impl Model {
    /// Reads a model. Its first bytes determine the format. Files that it names must be in its folder.
    ///
    /// # Errors
    /// [`Error::InFile`]: the file cannot be read, breaks its format's rules, or is larger than this
    /// crate reads.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = path.display().to_string();
        Self::read_at(path).map_err(|error| error.in_file(&file)).map(|it| Self { file, ..it })
    }

    fn read_at(path: &Path) -> Result<Self> {
        let mut file = OpenFile::open(path)?;
        let version = file.version();
        let format = Format::of(&file.range(0, version.length().min(BEGINNING as u64))?);
        let bytes = file.read(format.limit())?;
        let own = OwnFile { path: path.to_owned(), version, bytes: bytes.clone() };
        Self::parse(format, bytes, Some(own))
    }

    /// Reads a model from memory. It cannot name other files: neither the external data of ONNX, nor
    /// the .bin file of OpenVINO, nor the source files of DxDispatch.
    ///
    /// # Errors
    /// As [`Model::read`].
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self> {
        let bytes = bytes.into();
        let format = Format::of(&bytes);
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if length > format.limit() {
            let accepted = format.limit();
            let problem = format!("{length} bytes are too many; accepted: up to {accepted}");
            return Err(Error::Unreadable(problem));
        }
        Self::parse(format, bytes, None)
    }

    /// Builds a model from an ONNX graph that another reader holds. Messages call it `name`.
    ///
    /// # Errors
    /// As [`Model::read`].
    pub fn from_onnx(name: impl Into<String>, source: &onnx::Source) -> Result<Self> {
        let file = name.into();
        let graph = onnx::graph(source).map_err(|error| error.in_file(&file))?;
        Ok(Self { format: Format::Onnx, file, files: vec![], content: Content::Graph(graph) })
    }

    /// The model with inputs that are sequences or optional values in these forms, by name. The tensors of a sequence
    /// are inputs `name[0]`, `name[1]` and so on; an output that is a sequence has such names too.
    ///
    /// # Errors
    /// [`Error::InFile`], with [`Error::UnknownInput`] for a name that is no input's.
    pub fn with_forms(mut self, forms: &[(&str, InputForm)]) -> Result<Self> {
        if let Content::Graph(graph) = &mut self.content {
            for (name, form) in forms {
                set_form(graph, name, *form).map_err(|error| error.in_file(&self.file))?;
            }
        }
        Ok(self)
    }

    /// A model of this content, which is that of the file `own` if there is one.
    fn parse(format: Format, bytes: Bytes, own: Option<OwnFile>) -> Result<Self> {
        let path = own.as_ref().map(|own| own.path.clone());
        let path = path.as_deref();
        let mut folder = path.and_then(Path::parent).map(Folder::new);
        let content = match format {
            Format::Onnx => {
                folder = folder.zip(own).map(|(folder, own)| folder.with_own_file(own));
                let graph = onnx::read(bytes.clone(), folder.as_ref());
                Content::Graph(graph.map_err(|error| format::explained(error, &bytes))?)
            }
            Format::OpenVino => Content::Graph(openvino::read(&bytes, path)?),
            Format::DxDispatch => Content::Script(dxdispatch::read(&bytes, folder.as_ref())?),
        };
        let mut files: Vec<PathBuf> = path.map(Path::to_owned).into_iter().collect();
        if let (Format::OpenVino, Some(path)) = (format, path) {
            files.push(openvino::weights_file(path));
        }
        files.extend(folder.into_iter().flat_map(Folder::into_named));
        Ok(Self { format, file: "model".to_owned(), files, content })
    }

    /// The files that the model is read from: its own, and those with its weights and other values, which may
    /// be read as late as a run. Empty for a model that is not in a file.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Where each output of a run goes, in the order of the outputs.
    ///
    /// # Errors
    /// [`Error::InFile`]: a command of a script is refused.
    pub fn destinations(&self) -> Result<Vec<Destination>> {
        match &self.content {
            Content::Graph(graph) => {
                let outputs = graph.outputs.iter();
                Ok(outputs.map(|output| Destination::Output(output.name.clone())).collect())
            }
            Content::Script(script) => {
                script.destinations().map_err(|error| error.in_file(&self.file))
            }
        }
    }

    /// DirectML's operators of its programs.
    #[cfg(feature = "execute")]
    pub(crate) fn operators(&self) -> Arc<KnownOperators> {
        match &self.content {
            Content::Graph(graph) => Arc::clone(&graph.operators),
            Content::Script(_) => Arc::default(),
        }
    }

    /// Its name in messages.
    #[cfg(feature = "execute")]
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The model's file format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Finds all shapes for the inputs given, and the operators that run the model with them.
    ///
    /// An input of fixed shape need not be given where only its shape matters. The values of an input
    /// that shapes depend on must be given; those that a device reads may also be given to a run.
    ///
    /// # Errors
    /// [`Error::InFile`], with what is wrong: an input is missing or does not fit; a node that an
    /// output depends on breaks a rule or is not supported.
    pub fn bind(&self, inputs: &Inputs) -> Result<Program> {
        let bound = match &self.content {
            Content::Graph(graph) => {
                evaluate(graph, inputs, Extent::Outputs).and_then(|it| assemble(graph, &it))
            }
            Content::Script(script) => script.bind(inputs),
        };
        bound.map_err(|error| error.in_file(&self.file))
    }

    /// Whether the host has to know values that the device computes from these inputs. Then no single
    /// [`Program`] computes all of the model, and a `Session` runs it.
    pub fn needs_session(&self, inputs: &Inputs) -> bool {
        self.bind(inputs).is_err()
            && self
                .bind_reading(inputs, Answers::default())
                .is_ok_and(|it| it.is_some_and(|program| program.is_open()))
    }

    /// Binds a model whose shapes or conditions depend on device values, as far as `answers` go. The program
    /// computes the outputs, or the values that the host asks for next. `None` if the host asks for none.
    pub(crate) fn bind_reading(
        &self,
        inputs: &Inputs,
        answers: Answers,
    ) -> Result<Option<Program>> {
        let Content::Graph(graph) = &self.content else { return Ok(None) };
        let bound =
            evaluate_reading(graph, inputs, Extent::Outputs, answers).and_then(|evaluation| {
                let questions = evaluation.device.questions();
                if questions.is_empty() {
                    return Ok(None);
                }
                let whole = assemble(graph, &evaluation);
                let is_open = questions.iter().any(|question| question.answer.is_none());
                match whole {
                    Err(_) if is_open => assemble_questions(graph, &evaluation).map(Some),
                    whole => whole.map(Some),
                }
            });
        bound.map_err(|error| error.in_file(&self.file))
    }

    /// Whether `program`, which was bound to other values of inputs that are fixed, is that of these as well:
    /// shapes and operators depend on what the host computes of them, which may be the same.
    #[cfg(feature = "execute")]
    pub(crate) fn concludes_same(&self, program: &Program, inputs: &Inputs) -> bool {
        let Content::Graph(graph) = &self.content else { return false };
        let value = |bound: &ProgramInput| {
            if !bound.fixed {
                return Ok(None);
            }
            let given = match inputs.get(&bound.name) {
                Some(Input::Tensor(given)) => Some(typed(given, bound.element, &bound.name)?),
                _ => None,
            };
            let is_other = given.is_some() && given != bound.tensor;
            Ok(given.or_else(|| bound.tensor.clone()).map(|it| (it, is_other)))
        };
        let values: Result<Vec<_>> = program.inputs.iter().map(value).collect();
        values.is_ok_and(|value| program.conclusions.hold(graph, value))
    }

    /// `given`, with random values for all other inputs that have no default, also for those of which only
    /// the shape is given. Floats are uniform from -1 to 1, integers and truth values 0 or 1; they follow from
    /// the seed and the input's name alone.
    ///
    /// # Errors
    /// [`Error::InFile`], with [`Error::Missing`] for an input whose shape is open, and where there is no
    /// memory for the values.
    pub fn with_random(&self, given: &Inputs, seed: u64) -> Result<Inputs> {
        match &self.content {
            Content::Graph(graph) => random::fill(graph, given, seed),
            Content::Script(_) => Ok(given.clone()),
        }
        .map_err(|error| error.in_file(&self.file))
    }

    /// Reports the model's inputs, nodes and outputs, and how its nodes would run, as far as `inputs` tell.
    ///
    /// # Errors
    /// [`Error::InFile`]: an input does not fit, or the graph as a whole is malformed. Errors of single nodes
    /// are in their reports.
    pub fn inspect(&self, inputs: &Inputs) -> Result<Report> {
        let report = match &self.content {
            Content::Graph(graph) => inspect::graph(self.format, graph, inputs),
            Content::Script(script) => script.inspect(inputs),
        };
        report.map_err(|error| error.in_file(&self.file))
    }
}
