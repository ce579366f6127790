//! The files of a dump: never one that is there already.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use dml::core::capabilities::{Features, with_float_modes};
use dml::core::kernel::{KernelModule, PushField, Shared};
use dml::core::plan::{Access, Dispatch, Window};
use serde::Serialize;

use super::DumpError;
use super::host::Dispatched;

/// The folder of a dump.
pub(super) struct Folder {
    path: PathBuf,
    /// Features that the device has enabled.
    features: Features,
    /// The kernels that have a file, with its path.
    kernels: Vec<(Shared<KernelModule>, String)>,
}

/// When the bytes of a file were in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Before the dispatch, or before the operator.
    Before,
    /// Afterwards, as the host computes it.
    Expected,
    /// Afterwards, on the device.
    Actual,
}

impl Moment {
    /// The name of the file for something at this moment.
    fn file(self, of: &str) -> String {
        let name = match self {
            Self::Before => "before",
            Self::Expected => "expected",
            Self::Actual => "actual",
        };
        format!("{of}.{name}.bin")
    }
}

impl Folder {
    /// The folder at `path`, which is empty, for a device with these features.
    pub(super) fn new(path: &Path, features: Features) -> Self {
        Self { path: path.to_owned(), features, kernels: Vec::new() }
    }

    /// Writes a new file.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), DumpError> {
        let path = self.path.join(name);
        let failed = |error| DumpError::Io { path: path.clone(), error };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        let mut file =
            OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed)?;
        file.write_all(bytes).map_err(failed)
    }

    /// Writes the buffers of outputs.
    pub(super) fn write_outputs<'b>(
        &self,
        moment: Moment,
        outputs: impl Iterator<Item = Option<&'b [u8]>>,
    ) -> Result<(), DumpError> {
        for (number, bytes) in outputs.enumerate() {
            if let Some(bytes) = bytes {
                self.write(&moment.file(&format!("output_{number}")), bytes)?;
            }
        }
        Ok(())
    }

    /// Writes all about a dispatch that does not depend on the driver.
    pub(super) fn write_dispatch(
        &mut self,
        number: usize,
        dispatched: &Dispatched,
    ) -> Result<(), DumpError> {
        let Dispatched { dispatch, replay, expected } = dispatched;
        let folder = dispatch_folder(number);
        let spirv = self.kernel(&dispatch.kernel.variant)?;
        let form = DispatchForm::new(dispatch, spirv);
        let mut text = serde_json::to_string_pretty(&form).unwrap_or_default();
        text.push('\n');
        self.write(&format!("{folder}/dispatch.json"), text.as_bytes())?;
        self.write(&format!("{folder}/{PUSH_CONSTANTS}"), &push_constants(dispatch))?;
        if let Some(range) = &dispatch.uniform {
            let uniform = part(&replay.plan.constants, range);
            self.write(&format!("{folder}/{UNIFORM}"), uniform)?;
        }
        self.write_bindings(number, dispatched, Moment::Before, &replay.before)?;
        self.write_bindings(number, dispatched, Moment::Expected, expected)
    }

    /// Writes what the windows of a dispatch show of its memory. What is only read stays as before.
    pub(super) fn write_bindings(
        &self,
        number: usize,
        dispatched: &Dispatched,
        moment: Moment,
        memory: &[Vec<u8>],
    ) -> Result<(), DumpError> {
        let Dispatched { dispatch, replay, .. } = dispatched;
        for (binding, window) in bindings(dispatch) {
            let output = replay.output(window.slot).and_then(|output| memory.get(output));
            if let Some(bytes) = output
                && (moment == Moment::Before || window.access.writes())
            {
                let file = moment.file(&format!("binding_{binding}"));
                let name = format!("{}/{file}", dispatch_folder(number));
                self.write(&name, part(bytes, &window.range))?;
            }
        }
        Ok(())
    }

    /// The path of a kernel's SPIR-V, as the driver is given it.
    fn kernel(&mut self, kernel: &Shared<KernelModule>) -> Result<String, DumpError> {
        if let Some((_, path)) = self.kernels.iter().find(|(known, _)| known == kernel) {
            return Ok(path.clone());
        }
        let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '.';
        let name: String =
            kernel.name.chars().map(|it| if is_plain(it) { it } else { '_' }).collect();
        let path = format!("kernels/{}_{name}.spv", self.kernels.len());
        let words: Vec<u32> =
            kernel.spirv.as_chunks::<4>().0.iter().copied().map(u32::from_le_bytes).collect();
        let words = with_float_modes(&words, self.features);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.write(&path, &bytes)?;
        self.kernels.push((kernel.clone(), path.clone()));
        Ok(path)
    }
}

const PUSH_CONSTANTS: &str = "push_constants.bin";
const UNIFORM: &str = "uniform.bin";

fn dispatch_folder(number: usize) -> String {
    format!("dispatch_{number}")
}

/// The windows of a dispatch with the numbers of their bindings.
fn bindings(dispatch: &Dispatch) -> impl Iterator<Item = (u32, &Window)> {
    let bindings = dispatch.kernel.variant.bindings.iter().map(|binding| binding.binding);
    bindings.zip(&dispatch.windows)
}

/// The push constants where each buffer begins with its window.
fn push_constants(dispatch: &Dispatch) -> Vec<u8> {
    let mut bytes = dispatch.push_constants.clone();
    for window in &dispatch.windows {
        let at = window.base_word_at as usize;
        if let Some(word) = bytes.get_mut(at..at + 4) {
            word.fill(0);
        }
    }
    bytes
}

/// A range of bytes, as far as there are any.
fn part<'b>(bytes: &'b [u8], range: &Range<u64>) -> &'b [u8] {
    let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    bytes.get(index(range.start)..index(range.end)).unwrap_or_default()
}

/// The contents of `dispatch.json`.
#[derive(Serialize)]
struct DispatchForm {
    kernel: String,
    /// Relative to the folder of the dump.
    spirv: String,
    entry_point: &'static str,
    groups: [u32; 3],
    specialization_constants: Vec<ConstantForm>,
    push_constants: Vec<FieldForm>,
    /// The binding number of the uniform block.
    uniform_binding: Option<u32>,
    bindings: Vec<BindingForm>,
}

#[derive(Serialize)]
struct ConstantForm {
    id: u32,
    name: &'static str,
    value: u32,
}

#[derive(Serialize)]
struct FieldForm {
    name: &'static str,
    offset: u32,
    size: u32,
}

/// A storage buffer of descriptor set 0.
#[derive(Serialize)]
struct BindingForm {
    binding: u32,
    access: &'static str,
    /// The memory, such as `output 0`; bindings of one memory whose ranges overlap share bytes.
    memory: String,
    /// Bytes of the memory.
    range: [u64; 2],
}

impl DispatchForm {
    fn new(dispatch: &Dispatch, spirv: String) -> Self {
        let kernel = &dispatch.kernel.variant;
        let values = dispatch.kernel.specialization.iter();
        let constant = |(constant, value): (&dml::core::kernel::SpecializationConstant, &u32)| {
            ConstantForm { id: constant.id, name: constant.name, value: *value }
        };
        let field = |it: &PushField| FieldForm { name: it.name, offset: it.offset, size: it.size };
        let binding = |(binding, window): (u32, &Window)| BindingForm {
            binding,
            access: match window.access {
                Access::Read => "read",
                Access::Write => "write",
                Access::ReadWrite => "read-write",
            },
            memory: window.slot.to_string(),
            range: [window.range.start, window.range.end],
        };
        Self {
            kernel: kernel.name.to_string(),
            spirv,
            entry_point: kernel.entry_point,
            groups: dispatch.groups,
            specialization_constants: kernel
                .specialization_constants
                .iter()
                .zip(values)
                .map(constant)
                .collect(),
            push_constants: kernel.push_fields.iter().map(field).collect(),
            uniform_binding: kernel.uniform_binding.filter(|_| dispatch.uniform.is_some()),
            bindings: bindings(dispatch).map(binding).collect(),
        }
    }
}
