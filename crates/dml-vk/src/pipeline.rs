//! Compute pipelines, one for each kernel key.

pub(crate) mod file;
pub(crate) mod keeper;
pub(crate) mod plan_check;
pub(crate) mod work_group;

use std::collections::HashMap;
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;
use dml_core::capabilities::{Capabilities, Features, Limit, required_features};
use dml_core::kernel::{KernelBinding, KernelModule};
use dml_core::plan::KernelKey;

use crate::error::{Error, Result};
use crate::instance::raw::RawDevice;
use crate::pipeline::file::PipelineFile;
use crate::pipeline::keeper::PipelineKeeper;
use crate::pipeline::work_group::work_group;

/// The pipelines of a device that have been asked for so far.
pub(crate) struct PipelineCache {
    made: Mutex<HashMap<KernelKey, Arc<Pipeline>>>,
    handle: vk::PipelineCache,
    /// Where the cache is kept.
    keeper: Option<PipelineKeeper>,
    raw: Arc<RawDevice>,
}

impl PipelineCache {
    /// Starts with what `file` holds, and writes it from time to time and when the cache is dropped.
    pub(crate) fn new(raw: &Arc<RawDevice>, file: Option<PipelineFile>) -> Result<Self> {
        let mut keeper = file.map(PipelineKeeper::new);
        let initial = keeper.as_mut().map_or(&[][..], PipelineKeeper::content);
        let handle = match create(raw, initial) {
            Err(error) if !initial.is_empty() => {
                log::warn!("the driver refused the pipelines of an earlier process: {error}");
                create(raw, &[])
            }
            result => result,
        }?;
        raw.set_name(handle, "dml pipelines");
        Ok(Self { made: Mutex::default(), handle, keeper, raw: Arc::clone(raw) })
    }

    /// How many pipelines have been made.
    pub(crate) fn len(&self) -> usize {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The pipeline of `key`, made at the first call.
    ///
    /// Fails with [`Error::MissingFeatures`] or [`Error::LimitExceeded`] where the device cannot
    /// run the kernel, [`Error::Internal`] where key and kernel do not fit, [`Error::OutOfMemory`].
    pub(crate) fn get(
        &self,
        key: &KernelKey,
        capabilities: &Capabilities,
    ) -> Result<Arc<Pipeline>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = made.get(key) {
            return Ok(Arc::clone(pipeline));
        }
        let words = spirv_words(key.variant)?;
        dump(key.variant);
        check(key, &words, capabilities)?;
        let pipeline = Arc::new(Pipeline::new(&self.raw, self.handle, key, &words)?);
        made.insert(key.clone(), Arc::clone(&pipeline));
        Ok(pipeline)
    }

    /// Writes the file where enough is new, so that it outlives a process that is killed.
    pub(crate) fn keep(&self) {
        self.save(false);
    }

    fn save(&self, is_last: bool) {
        let Some(keeper) = self.keeper.as_ref().filter(|_| !self.raw.is_lost()) else { return };
        keeper.update(self.len(), is_last, || {
            // SAFETY: the cache belongs to this device and is alive.
            let data = unsafe { self.raw.core().get_pipeline_cache_data(self.handle) };
            self.raw.check("vkGetPipelineCacheData", data)
        });
    }
}

fn create(raw: &RawDevice, initial: &[u8]) -> Result<vk::PipelineCache> {
    let info = vk::PipelineCacheCreateInfo::default().initial_data(initial);
    // SAFETY: `initial` is empty, or was seen to be what this device's driver has written.
    let handle = unsafe { raw.core().create_pipeline_cache(&info, None) };
    raw.check("vkCreatePipelineCache", handle)
}

impl Drop for PipelineCache {
    fn drop(&mut self) {
        self.save(true);
        // SAFETY: only methods use the cache, and they borrow `self`.
        unsafe { self.raw.core().destroy_pipeline_cache(self.handle, None) };
    }
}

/// A compute pipeline with its layouts. Handles are null until they are made.
pub(crate) struct Pipeline {
    pub(crate) handle: vk::Pipeline,
    pub(crate) layout: vk::PipelineLayout,
    pub(crate) set_layout: vk::DescriptorSetLayout,
    raw: Arc<RawDevice>,
}

impl Pipeline {
    fn new(
        raw: &Arc<RawDevice>,
        cache: vk::PipelineCache,
        key: &KernelKey,
        words: &[u32],
    ) -> Result<Self> {
        // Whatever fails, `pipeline` destroys what was made before.
        let mut pipeline = Self {
            handle: vk::Pipeline::null(),
            layout: vk::PipelineLayout::null(),
            set_layout: vk::DescriptorSetLayout::null(),
            raw: Arc::clone(raw),
        };
        pipeline.set_layout = make_set_layout(raw, key.variant)?;
        pipeline.layout = make_layout(raw, key.variant, pipeline.set_layout)?;
        let module = ShaderModule::new(raw, words)?;
        raw.set_name(module.handle, key.variant.name);
        pipeline.handle = make_pipeline(raw, cache, key, &module, pipeline.layout)?;
        raw.set_name(pipeline.handle, key.variant.name);
        raw.set_name(pipeline.layout, key.variant.name);
        raw.set_name(pipeline.set_layout, key.variant.name);
        Ok(pipeline)
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        let core = self.raw.core();
        // SAFETY: whoever records or runs the pipeline owns a reference to `self`; null is allowed.
        unsafe { core.destroy_pipeline(self.handle, None) };
        // SAFETY: as above.
        unsafe { core.destroy_pipeline_layout(self.layout, None) };
        // SAFETY: as above; sets that were allocated with the layout may outlive it.
        unsafe { core.destroy_descriptor_set_layout(self.set_layout, None) };
    }
}

/// Needed only while a pipeline is made.
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

fn make_set_layout(raw: &RawDevice, variant: &KernelModule) -> Result<vk::DescriptorSetLayout> {
    let binding = |number, ty| {
        vk::DescriptorSetLayoutBinding::default()
            .binding(number)
            .descriptor_type(ty)
            .descriptor_count(1)
            .stage_flags(vk::ShaderStageFlags::COMPUTE)
    };
    let storage = |it: &KernelBinding| binding(it.binding, vk::DescriptorType::STORAGE_BUFFER);
    let uniform = |number| binding(number, vk::DescriptorType::UNIFORM_BUFFER);
    let bindings: Vec<_> =
        variant.bindings.iter().map(storage).chain(variant.uniform_binding.map(uniform)).collect();
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
    // SAFETY: `info` points to `bindings`, which outlives the call.
    let layout = unsafe { raw.core().create_descriptor_set_layout(&info, None) };
    raw.check("vkCreateDescriptorSetLayout", layout)
}

fn make_layout(
    raw: &RawDevice,
    variant: &KernelModule,
    set_layout: vk::DescriptorSetLayout,
) -> Result<vk::PipelineLayout> {
    let set_layouts = [set_layout];
    let ranges = [vk::PushConstantRange::default()
        .stage_flags(vk::ShaderStageFlags::COMPUTE)
        .size(variant.push_constant_size())];
    let mut info = vk::PipelineLayoutCreateInfo::default().set_layouts(&set_layouts);
    if variant.push_constant_size() > 0 {
        info = info.push_constant_ranges(&ranges);
    }
    // SAFETY: `info` points to arrays that outlive the call; the size was checked.
    let layout = unsafe { raw.core().create_pipeline_layout(&info, None) };
    raw.check("vkCreatePipelineLayout", layout)
}

fn make_pipeline(
    raw: &RawDevice,
    cache: vk::PipelineCache,
    key: &KernelKey,
    module: &ShaderModule<'_>,
    layout: vk::PipelineLayout,
) -> Result<vk::Pipeline> {
    let variant = key.variant;
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

pub(crate) fn spirv_words(variant: &KernelModule) -> Result<Vec<u32>> {
    let (words, rest) = variant.spirv.as_chunks::<4>();
    if words.is_empty() || !rest.is_empty() {
        return Err(Error::internal(format!("{}: truncated SPIR-V", variant.name)));
    }
    Ok(words.iter().copied().map(u32::from_le_bytes).collect())
}

/// Writes the kernel's SPIR-V into the folder that DML_DUMP_KERNELS names, for whoever has to debug it.
fn dump(variant: &KernelModule) {
    let Some(folder) = std::env::var_os("DML_DUMP_KERNELS").filter(|it| !it.is_empty()) else {
        return;
    };
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '.';
    let name: String = variant.name.chars().map(|it| if is_plain(it) { it } else { '_' }).collect();
    let path = PathBuf::from(folder).join(format!("{name}.spv"));
    if let Err(error) = std::fs::write(&path, variant.spirv) {
        log::warn!(
            "the kernel {} could not be written to {}: {error}",
            variant.name,
            path.display()
        );
    }
}

/// Whether the device can run the kernel with these specialization constants.
fn check(key: &KernelKey, words: &[u32], capabilities: &Capabilities) -> Result<()> {
    let variant = key.variant;
    if key.specialization.len() != variant.specialization_constants.len() {
        return Err(Error::internal(format!("{}: wrong specialization count", variant.name)));
    }
    let of_spirv = required_features(words)
        .map_err(|problem| Error::internal(format!("{}: {problem}", variant.name)))?;
    let stated: Features = variant.required_features.iter().copied().collect();
    let missing = of_spirv.or(stated).without(capabilities.features);
    if missing != Features::NONE {
        let features = missing.iter().collect();
        return Err(Error::MissingFeatures { kernel: variant.name, features });
    }
    let ids = variant.specialization_constants.iter().map(|constant| constant.id);
    let values = ids.zip(key.specialization.iter().copied()).collect();
    let group = work_group(words, &values)
        .ok_or_else(|| Error::internal(format!("{}: no work group size", variant.name)))?;
    let [x, y, z] = group.size.map(u64::from);
    let checks = [
        (Limit::MaxComputeWorkGroupSizeX, x),
        (Limit::MaxComputeWorkGroupSizeY, y),
        (Limit::MaxComputeWorkGroupSizeZ, z),
        (Limit::MaxComputeWorkGroupInvocations, x.saturating_mul(y).saturating_mul(z)),
        (Limit::MaxComputeSharedMemorySize, group.shared_bytes),
    ];
    for (limit, needed) in variant.needed_limits().into_iter().chain(checks) {
        let available = capabilities.limits.get(limit);
        if needed > available {
            let (what, limit) = (format!("kernel {}", variant.name), limit.name());
            return Err(Error::LimitExceeded { what, limit, needed, available });
        }
    }
    Ok(())
}
