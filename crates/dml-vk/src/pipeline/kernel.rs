//! One compute pipeline, made from a kernel with its specialization.

use std::ffi::CString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use ash::vk;
use dml_core::capabilities::{
    Capabilities, Features, required_features, with_float_modes, work_group,
};
use dml_core::kernel::KernelModule;
use dml_core::plan::KernelKey;

use crate::error::{Error, Result};
use crate::instance::raw::RawDevice;
use crate::pipeline::layouts::{Layouts, PipelineLayout};

/// A compute pipeline with its layout.
pub(crate) struct Pipeline {
    pub(crate) handle: vk::Pipeline,
    pub(crate) layout: Arc<PipelineLayout>,
    raw: Arc<RawDevice>,
}

impl Pipeline {
    /// Fails with [`Error::MissingFeatures`] or [`Error::LimitExceeded`] if the device cannot run the kernel,
    /// [`Error::Internal`] if key and kernel do not match, [`Error::OutOfMemory`].
    pub(crate) fn new(
        raw: &Arc<RawDevice>,
        cache: vk::PipelineCache,
        layouts: &Layouts,
        key: &KernelKey,
        capabilities: &Capabilities,
        dump: &DumpFolder,
    ) -> Result<Self> {
        let words = spirv_words(&key.variant)?;
        check(key, &words, capabilities)?;
        let words = with_float_modes(&words, capabilities.features);
        dump.write(&key.variant, &words);
        let layout = layouts.get(raw, &key.variant)?;
        let module = ShaderModule::new(raw, &words)?;
        raw.set_name(module.handle, &key.variant.name);
        let handle = make_pipeline(raw, cache, key, &module, layout.handle)?;
        raw.set_name(handle, &key.variant.name);
        Ok(Self { handle, layout, raw: Arc::clone(raw) })
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        if self.raw.is_forked() {
            return;
        }
        // SAFETY: whoever records or runs the pipeline owns a reference to `self`.
        unsafe { self.raw.core().destroy_pipeline(self.handle, None) };
    }
}

/// A shader module, which is only needed while a pipeline is made.
struct ShaderModule<'a> {
    handle: vk::ShaderModule,
    raw: &'a RawDevice,
}

impl<'a> ShaderModule<'a> {
    fn new(raw: &'a RawDevice, words: &[u32]) -> Result<Self> {
        let info = vk::ShaderModuleCreateInfo::default().code(words);
        // SAFETY: `Device::compile` alone leads here, whose caller promises valid SPIR-V; the features
        // that it needs were checked.
        let handle = unsafe { raw.core().create_shader_module(&info, None) };
        Ok(Self { handle: raw.check("vkCreateShaderModule", handle)?, raw })
    }
}

impl Drop for ShaderModule<'_> {
    fn drop(&mut self) {
        // SAFETY: a module may be destroyed once its pipelines have been made.
        unsafe { self.raw.core().destroy_shader_module(self.handle, None) };
    }
}

fn make_pipeline(
    raw: &RawDevice,
    cache: vk::PipelineCache,
    key: &KernelKey,
    module: &ShaderModule<'_>,
    layout: vk::PipelineLayout,
) -> Result<vk::Pipeline> {
    let variant = &key.variant;
    let entry_point = CString::new(variant.entry_point)
        .map_err(|_| Error::internal(format!("{}: NUL in its entry point", variant.name)))?;
    let entries: Vec<_> = variant
        .specialization_constants
        .iter()
        .zip(0..)
        .map(|(constant, index): (_, u32)| {
            vk::SpecializationMapEntry::default().constant_id(constant.id).offset(index * 4).size(4)
        })
        .collect();
    let values: Vec<u8> = key.specialization.iter().flat_map(|v| v.to_ne_bytes()).collect();
    let specialization = vk::SpecializationInfo::default().map_entries(&entries).data(&values);
    let stage = vk::PipelineShaderStageCreateInfo::default()
        .stage(vk::ShaderStageFlags::COMPUTE)
        .module(module.handle)
        .name(&entry_point)
        .specialization_info(&specialization);
    let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout);
    // SAFETY: module and layout are alive and made from one variant, of which the caller of
    // `Device::compile` promises that they fit each other.
    let made = unsafe { raw.core().create_compute_pipelines(cache, &[info], None) };
    let made = raw.check("vkCreateComputePipelines", made.map_err(|(_, code)| code))?;
    made.first().copied().ok_or_else(|| Error::internal("vkCreateComputePipelines made nothing"))
}

fn spirv_words(variant: &KernelModule) -> Result<Vec<u32>> {
    let (words, rest) = variant.spirv.as_chunks::<4>();
    if words.is_empty() || !rest.is_empty() {
        return Err(Error::internal(format!("{}: truncated SPIR-V", variant.name)));
    }
    Ok(words.iter().copied().map(u32::from_le_bytes).collect())
}

/// The folder that DML_DUMP_KERNELS names, into which the SPIR-V of kernels is written for debugging.
pub(crate) struct DumpFolder(Option<PathBuf>);

impl DumpFolder {
    /// Reads the environment. Pipelines are made on several threads, while the host may change its
    /// environment, so this is only done when a device is created.
    pub(crate) fn from_environment() -> Self {
        let folder = std::env::var_os("DML_DUMP_KERNELS").filter(|folder| !folder.is_empty());
        Self(folder.map(PathBuf::from))
    }

    /// Writes the SPIR-V that the driver gets for `variant`.
    fn write(&self, variant: &KernelModule, words: &[u32]) {
        let Some(folder) = &self.0 else { return };
        let path = folder.join(file_name(&variant.name));
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        if let Err(error) = std::fs::write(&path, bytes) {
            let (name, path) = (&variant.name, path.display());
            log::warn!("the kernel {name} could not be written to {path}: {error}");
        }
    }
}

/// The most bytes of a kernel's name in a file name; Linux allows 255.
const MOST_OF_NAME: usize = 200;

/// A file name for a kernel. The names of linked kernels list their functions: long ones are cut, and end with a hash.
fn file_name(kernel: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '.';
    let mut name: String =
        kernel.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    if name.len() > MOST_OF_NAME {
        let mut hasher = DefaultHasher::new();
        kernel.hash(&mut hasher);
        name.truncate(MOST_OF_NAME);
        name += &format!("_{:016x}", hasher.finish());
    }
    name + ".spv"
}

/// Whether the device can run the kernel with these specialization constants.
fn check(key: &KernelKey, words: &[u32], capabilities: &Capabilities) -> Result<()> {
    let variant = &key.variant;
    if key.specialization.len() != variant.specialization_constants.len() {
        return Err(Error::internal(format!("{}: wrong specialization count", variant.name)));
    }
    let of_spirv = required_features(words)
        .map_err(|problem| Error::internal(format!("{}: {problem}", variant.name)))?;
    let stated: Features = variant.required_features.iter().copied().collect();
    let missing = of_spirv.or(stated).without(capabilities.features);
    if missing != Features::NONE {
        let features = missing.iter().collect();
        return Err(Error::MissingFeatures { kernel: variant.name.to_string(), features });
    }
    let ids = variant.specialization_constants.iter().map(|constant| constant.id);
    let values = ids.zip(key.specialization.iter().copied()).collect();
    let group = work_group(words, &values)
        .ok_or_else(|| Error::internal(format!("{}: no work group size", variant.name)))?;
    for (limit, needed) in variant.needed_limits().chain(group.needed_limits()) {
        let available = capabilities.limits.get(limit);
        if needed > available {
            let (what, limit) = (format!("kernel {}", variant.name), limit.name());
            return Err(Error::LimitExceeded { what, limit, needed, available });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_of_kernels_are_names_of_files() {
        assert_eq!(file_name("rows f32.add"), "rows_f32.add.spv");
        let long = |last: &str| format!("{}{last}", "exponential.sigmoid ".repeat(20));
        let names = ["f32.add", "f32.multiply"].map(|last| file_name(&long(last)));
        assert!(names.iter().all(|name| name.len() <= 255), "{names:?}");
        assert_ne!(names[0], names[1]);
    }
}
