//! The pipeline layouts of a device: one for each set of bindings and each size of the push constants.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;
use dml_core::kernel::KernelModule;

use crate::error::Result;
use crate::instance::raw::RawDevice;
use crate::pipeline::set_layout::{SetLayout, SetShape};

/// The pipeline layouts that kernels have needed so far.
#[derive(Default)]
pub(crate) struct Layouts {
    /// The layouts for each set shape, by the size of the push constants.
    made: Mutex<HashMap<SetShape, HashMap<u32, Arc<PipelineLayout>>>>,
}

/// A VkPipelineLayout with one set.
pub(crate) struct PipelineLayout {
    pub(crate) handle: vk::PipelineLayout,
    pub(crate) set: Arc<SetLayout>,
    raw: Arc<RawDevice>,
}

impl Layouts {
    /// The layout of a kernel.
    pub(crate) fn get(
        &self,
        raw: &Arc<RawDevice>,
        variant: &KernelModule,
    ) -> Result<Arc<PipelineLayout>> {
        let shape = SetShape {
            storage: variant.bindings.iter().map(|binding| binding.binding).collect(),
            uniform: variant.uniform_binding,
        };
        let size = variant.push_constant_size();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let known = made.entry(shape.clone()).or_default();
        if let Some(layout) = known.get(&size) {
            return Ok(Arc::clone(layout));
        }
        let set = match known.values().next() {
            Some(other) => Arc::clone(&other.set),
            None => Arc::new(SetLayout::new(raw, shape)?),
        };
        let layout = Arc::new(PipelineLayout::new(raw, set, size)?);
        known.insert(size, Arc::clone(&layout));
        Ok(layout)
    }
}

impl PipelineLayout {
    /// `push_constants` bytes were seen to be within the device's limit.
    fn new(raw: &Arc<RawDevice>, set: Arc<SetLayout>, push_constants: u32) -> Result<Self> {
        let sets = [set.handle];
        let ranges = [vk::PushConstantRange::default()
            .stage_flags(vk::ShaderStageFlags::COMPUTE)
            .size(push_constants)];
        let mut info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
        if push_constants > 0 {
            info = info.push_constant_ranges(&ranges);
        }
        // SAFETY: `info` points to arrays that outlive the call; `set` is alive.
        let handle = unsafe { raw.core().create_pipeline_layout(&info, None) };
        let handle = raw.check("vkCreatePipelineLayout", handle)?;
        raw.set_name(handle, "dml layout");
        Ok(Self { handle, set, raw: Arc::clone(raw) })
    }
}

impl Drop for PipelineLayout {
    fn drop(&mut self) {
        if self.raw.is_forked() {
            return;
        }
        // SAFETY: whoever records with the layout owns a reference to `self`.
        unsafe { self.raw.core().destroy_pipeline_layout(self.handle, None) };
    }
}
