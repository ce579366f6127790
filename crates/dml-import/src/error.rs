//! Errors of models and their inputs, and the wording of messages.

use std::fmt;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a model does not run. Messages are one line and name the file, the node and its operator, the
/// attribute or input, the value given, and what would be accepted.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of one file.
    #[error("{file}: {error}")]
    InFile {
        /// The file, as the caller named it.
        file: String,
        /// The error.
        error: Box<Error>,
    },
    /// A file cannot be read, or is too large to be read.
    #[error("{0}")]
    Unreadable(String),
    /// A file breaks the rules of its format.
    #[error("{0}")]
    Malformed(String),
    /// An attribute or an input of a node breaks a rule of its operator.
    #[error("{0}")]
    Invalid(Box<InvalidNode>),
    /// The model is in order, but this runtime does not run the node.
    #[error("{node}: not supported: {reason}")]
    NotSupported {
        /// The node.
        node: NodeName,
        /// The missing feature.
        reason: String,
    },
    /// A value given for an input does not fit the input that the model declares.
    #[error("{0}")]
    Input(Box<InvalidInput>),
    /// An output that was requested does not fit the output that the model has.
    #[error("{0}")]
    Output(Box<InvalidOutput>),
    /// Values were given to a run for an input that is bound to a tensor on the device.
    #[cfg(feature = "execute")]
    #[error(
        "input '{name}': must not be given: the input is bound to a device tensor, which \
         `IoBinding::set_input` replaces"
    )]
    BoundInput {
        /// The input's name.
        name: String,
    },
    /// The model has no input of this name.
    #[error("unknown input '{name}'; the model's inputs are: {inputs}")]
    UnknownInput {
        /// The name given.
        name: String,
        /// The names of the model's inputs.
        inputs: String,
    },
    /// The model has no output of this name.
    #[error("unknown output '{name}'; the model's outputs are: {outputs}")]
    UnknownOutput {
        /// The name given.
        name: String,
        /// The names of the model's outputs.
        outputs: String,
    },
    /// An input was not given.
    #[error("input '{name}': not given, and {requirement}")]
    Missing {
        /// The input's name.
        name: String,
        /// Whether its shape or its values are needed.
        requirement: Requirement,
    },
    /// An operator was refused by DirectML's rules.
    #[error("{node}: {error}")]
    Operator {
        /// The node that the operator was made from.
        node: NodeName,
        /// The refusal.
        error: Box<dml_core::Error>,
    },
    /// The device refused something, or failed.
    #[cfg(feature = "execute")]
    #[error("{node}: {error}")]
    Device {
        /// The node, dispatchable or program part that was executed.
        node: NodeName,
        /// The device's error.
        error: Box<dml::Error>,
    },
    /// The device has no memory for a tensor or for an operator's resources.
    #[cfg(feature = "execute")]
    #[error("{0}")]
    Memory(Box<MissingMemory>),
}

/// A buffer, or other device memory, that there is no room for.
#[cfg(feature = "execute")]
#[derive(Clone, Debug)]
pub struct MissingMemory {
    /// The content, such as `output 'y' float32 [2, 3]`, or the node that needs the memory.
    pub content: String,
    /// The buffer's size in bytes; `None` if the driver needs the memory for itself.
    pub size: Option<u64>,
    /// The bytes of device memory that all buffers of the device held when memory ran out.
    pub held: u64,
    /// The device's error.
    pub error: dml::Error,
}

#[cfg(feature = "execute")]
impl std::error::Error for MissingMemory {}

#[cfg(feature = "execute")]
impl fmt::Display for MissingMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { content, size, held, error } = self;
        match size {
            Some(size) => write!(f, "{content} needs {} bytes; ", in_groups(*size))?,
            None => write!(f, "{content}: ")?,
        }
        match error {
            dml::Error::Vulkan(dml::vk::Error::LimitExceeded { limit, available, .. }) => {
                write!(f, "{limit} of this device is {}", in_groups(*available))
            }
            other => write!(f, "{other}; {} bytes of it are held", in_groups(*held)),
        }
    }
}

/// The digits of a number in groups of three.
#[cfg(feature = "execute")]
fn in_groups(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// An invalid attribute or input of a node.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{node}: {path}: {value} {problem}; accepted: {accepted}")]
pub struct InvalidNode {
    /// The node.
    pub node: NodeName,
    /// The attribute or input.
    pub path: String,
    /// The value given.
    pub value: String,
    /// Why it is refused.
    pub problem: String,
    /// A description of accepted values.
    pub accepted: String,
}

/// An invalid value for an input of the model.
#[derive(Clone, Debug, thiserror::Error)]
#[error("input '{name}': {value} {problem}; accepted: {accepted}")]
pub struct InvalidInput {
    /// The input's name.
    pub name: String,
    /// The value given.
    pub value: String,
    /// Why it is refused.
    pub problem: String,
    /// A description of accepted values.
    pub accepted: String,
}

/// An invalid request for an output of the model.
#[derive(Clone, Debug, thiserror::Error)]
#[error("output '{name}': {value} {problem}; accepted: {accepted}")]
pub struct InvalidOutput {
    /// The output's name.
    pub name: String,
    /// The value found.
    pub value: String,
    /// Why it is refused.
    pub problem: String,
    /// A description of accepted values.
    pub accepted: String,
}

impl Error {
    /// This error with the name of `file`, unless it already names one.
    pub(crate) fn in_file(self, file: &str) -> Self {
        match self {
            Self::InFile { .. } => self,
            error => Self::InFile { file: file.to_owned(), error: Box::new(error) },
        }
    }

    /// This error with the name of the input that it is about.
    pub(crate) fn in_input(self, name: &str) -> Self {
        Self::malformed(format!("input '{}': {self}", shortened(name)))
    }

    pub(crate) fn input(
        name: &str,
        value: impl Into<String>,
        problem: &str,
        accepted: impl Into<String>,
    ) -> Self {
        Self::Input(Box::new(InvalidInput {
            name: shortened(name),
            value: value.into(),
            problem: problem.to_owned(),
            accepted: shortened(&accepted.into()),
        }))
    }

    #[cfg(feature = "execute")]
    pub(crate) fn output(
        name: &str,
        value: impl Into<String>,
        problem: &str,
        accepted: impl Into<String>,
    ) -> Self {
        Self::Output(Box::new(InvalidOutput {
            name: shortened(name),
            value: value.into(),
            problem: shortened(problem),
            accepted: shortened(&accepted.into()),
        }))
    }

    /// The error of an input name that the model does not have.
    pub(crate) fn unknown_input<'a>(name: &str, inputs: impl Iterator<Item = &'a str>) -> Self {
        Self::UnknownInput { name: shortened(name), inputs: name_list(inputs) }
    }

    /// The error of an output name that the model does not have.
    #[cfg(feature = "execute")]
    pub(crate) fn unknown_output<'a>(name: &str, outputs: impl Iterator<Item = &'a str>) -> Self {
        Self::UnknownOutput { name: shortened(name), outputs: name_list(outputs) }
    }

    pub(crate) fn missing(name: &str, requirement: Requirement) -> Self {
        Self::Missing { name: shortened(name), requirement }
    }

    pub(crate) fn malformed(problem: impl Into<String>) -> Self {
        Self::Malformed(problem.into())
    }

    /// The node that breaks a rule or is not supported; `None` for errors that concern no node.
    pub(crate) fn node(&self) -> Option<&NodeName> {
        match self {
            Self::InFile { error, .. } => error.node(),
            Self::Invalid(invalid) => Some(&invalid.node),
            Self::NotSupported { node, .. } | Self::Operator { node, .. } => Some(node),
            _ => None,
        }
    }

    /// The device's error, if the device refused something, failed, or ran out of memory.
    #[cfg(feature = "execute")]
    pub fn device_error(&self) -> Option<&dml::Error> {
        match self.kind() {
            Self::Device { error, .. } => Some(error),
            Self::Memory(missing) => Some(&missing.error),
            _ => None,
        }
    }

    /// This error as [`Error::Memory`], if the device is out of memory.
    #[cfg(feature = "execute")]
    pub(crate) fn with_device_memory(self, device: &dml::Device) -> Self {
        match self {
            Self::InFile { file, error } => error.with_device_memory(device).in_file(&file),
            Self::Device { node, error } if error.is_out_of_memory() => {
                let (content, error) = (node.to_string(), *error);
                let held = device.vulkan().memory_report().allocated;
                Self::Memory(Box::new(MissingMemory { content, size: None, held, error }))
            }
            other => other,
        }
    }

    /// The error without the file's name.
    pub fn kind(&self) -> &Self {
        match self {
            Self::InFile { error, .. } => error.kind(),
            other => other,
        }
    }
}

/// The part of an input that a caller has to give for an input before a model runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Requirement {
    /// Its shape: [`Inputs::with_shape`](crate::Inputs::with_shape) is enough.
    Shape,
    /// Its values: [`Inputs::with_tensor`](crate::Inputs::with_tensor).
    Values,
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Shape => "its shape is needed",
            Self::Values => "its values are needed",
        })
    }
}

/// A node and its operator, as messages show them: `EyeLike 'n1'`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeName {
    /// The operator under the format's name.
    pub operator: String,
    /// The node's name, or the name of its first output if the node has none.
    pub name: String,
}

impl NodeName {
    pub(crate) fn new(operator: impl Into<String>, name: impl Into<String>) -> Self {
        Self { operator: shortened(&operator.into()), name: shortened(&name.into()) }
    }

    pub(crate) fn not_supported(&self, reason: impl Into<String>) -> Error {
        Error::NotSupported { node: self.clone(), reason: reason.into() }
    }

    pub(crate) fn invalid(
        &self,
        path: impl Into<String>,
        value: impl fmt::Display,
        problem: impl Into<String>,
        accepted: impl Into<String>,
    ) -> Error {
        Error::Invalid(Box::new(InvalidNode {
            node: self.clone(),
            path: path.into(),
            value: shortened(&value.to_string()),
            problem: problem.into(),
            accepted: accepted.into(),
        }))
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} '{}'", self.operator, self.name)
    }
}

/// A list of names in a message: `a, b`, or `none`.
fn name_list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { shortened(&names.join(", ")) }
}

/// One line of bounded length for names and values from files, which may be long or have control characters.
pub(crate) fn shortened(text: &str) -> String {
    const SHOWN: usize = 80;
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if let Some((end, _)) = line.char_indices().nth(SHOWN) {
        line.truncate(end);
        line.push_str("...");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_once() {
        let error = Error::malformed("is empty").in_file("a.onnx").in_file("b.onnx");
        assert_eq!(error.to_string(), "a.onnx: is empty");
        assert!(matches!(error.kind(), Error::Malformed(_)));
    }

    #[cfg(feature = "execute")]
    #[test]
    fn digits_are_in_groups_of_three() {
        let texts = [0, 999, 1000, 14_400_000_000].map(in_groups);
        assert_eq!(texts, ["0", "999", "1,000", "14,400,000,000"]);
    }

    #[test]
    fn names_from_files_stay_on_one_short_line() {
        let name = NodeName::new("Eye\nLike", "x".repeat(1000));
        assert_eq!(name.to_string(), format!("Eye Like '{}...'", "x".repeat(80)));
    }
}
