//! Descriptor set layouts, each with all sets that were allocated for it.
//!
//! A set is written when buffers are bound, and may be rewritten as soon as no work uses it. Sets are
//! therefore never freed but reused by later tables, and binding creates objects of Vulkan only if more sets
//! are in use than ever before.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;

use crate::error::{Error, Result};
use crate::instance::raw::RawDevice;

/// The least number of sets in a pool.
const LEAST_SETS: usize = 16;

/// The bindings of a kernel. Kernels with the same bindings can use each other's sets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SetShape {
    /// The binding numbers of the storage buffers.
    pub(crate) storage: Vec<u32>,
    /// The binding number of the uniform block.
    pub(crate) uniform: Option<u32>,
}

/// A VkDescriptorSetLayout and its sets.
pub(crate) struct SetLayout {
    pub(crate) handle: vk::DescriptorSetLayout,
    shape: SetShape,
    sets: Mutex<Sets>,
    raw: Arc<RawDevice>,
}

#[derive(Default)]
struct Sets {
    free: Vec<vk::DescriptorSet>,
    /// The number of sets, free or not.
    count: usize,
    pools: Vec<vk::DescriptorPool>,
}

impl SetLayout {
    pub(crate) fn new(raw: &Arc<RawDevice>, shape: SetShape) -> Result<Self> {
        let binding = |number: u32, ty| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(number)
                .descriptor_type(ty)
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
        };
        let storage =
            shape.storage.iter().map(|it| binding(*it, vk::DescriptorType::STORAGE_BUFFER));
        let uniform =
            shape.uniform.map(|uniform| binding(uniform, vk::DescriptorType::UNIFORM_BUFFER));
        let bindings: Vec<_> = storage.chain(uniform).collect();
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: `info` points to `bindings`, which outlives the call.
        let handle = unsafe { raw.core().create_descriptor_set_layout(&info, None) };
        let handle = raw.check("vkCreateDescriptorSetLayout", handle)?;
        raw.set_name(handle, "dml descriptors");
        Ok(Self { handle, shape, sets: Mutex::default(), raw: Arc::clone(raw) })
    }

    /// `count` sets that are not in use. Their contents are undefined.
    pub(crate) fn take(self: &Arc<Self>, count: usize) -> Result<TakenSets> {
        let mut sets = self.sets();
        if sets.free.len() < count {
            // At least doubles the number of sets, so that the number of pools grows logarithmically.
            let more = (count - sets.free.len()).max(sets.count).max(LEAST_SETS);
            self.add_pool(&mut sets, more)?;
        }
        let at = sets.free.len() - count;
        Ok(TakenSets { sets: sets.free.split_off(at), layout: Arc::clone(self) })
    }

    fn sets(&self) -> MutexGuard<'_, Sets> {
        self.sets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_pool(&self, sets: &mut Sets, count: usize) -> Result<()> {
        let too_many = || Error::internal("more than 2^32 descriptors");
        let max_sets = u32::try_from(count).map_err(|_| too_many())?;
        let size = |ty, each: usize| {
            let descriptors = u32::try_from(each * count).map_err(|_| too_many())?;
            Ok(vk::DescriptorPoolSize::default().ty(ty).descriptor_count(descriptors))
        };
        // No descriptor count may be 0, and a layout may be empty.
        let storage = size(vk::DescriptorType::STORAGE_BUFFER, self.shape.storage.len().max(1))?;
        let uniform = size(vk::DescriptorType::UNIFORM_BUFFER, 1)?;
        let sizes = [storage, uniform];
        let sizes = if self.shape.uniform.is_some() { &sizes[..] } else { &sizes[..1] };
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(max_sets).pool_sizes(sizes);
        // SAFETY: `info` points to an array that outlives the call; no count is 0.
        let pool = unsafe { self.raw.core().create_descriptor_pool(&info, None) };
        let pool = self.raw.check("vkCreateDescriptorPool", pool)?;
        // The pool has a name, the sets have none: Mesa's drivers leak the names of sets that are freed
        // with their pool.
        self.raw.set_name(pool, "dml descriptors");
        let layouts = vec![self.handle; count];
        let info =
            vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
        // SAFETY: the pool is new and not shared; the layouts are `self`'s.
        let allocated = unsafe { self.raw.core().allocate_descriptor_sets(&info) };
        let allocated =
            self.raw.check("vkAllocateDescriptorSets", allocated).inspect_err(|_| {
                // SAFETY: nothing was allocated from the pool.
                unsafe { self.raw.core().destroy_descriptor_pool(pool, None) };
            })?;
        sets.pools.push(pool);
        sets.count += allocated.len();
        sets.free.extend(allocated);
        Ok(())
    }
}

impl Drop for SetLayout {
    fn drop(&mut self) {
        if self.raw.is_forked() {
            return;
        }
        let core = self.raw.core();
        for pool in std::mem::take(&mut self.sets().pools) {
            // SAFETY: whoever uses a set owns a reference to `self`.
            unsafe { core.destroy_descriptor_pool(pool, None) };
        }
        // SAFETY: as above.
        unsafe { core.destroy_descriptor_set_layout(self.handle, None) };
    }
}

/// Descriptor sets that are in use by their owner alone. An owner that has recorded them keeps this until the
/// commands have completed.
pub(crate) struct TakenSets {
    pub(crate) sets: Vec<vk::DescriptorSet>,
    layout: Arc<SetLayout>,
}

impl Drop for TakenSets {
    fn drop(&mut self) {
        if self.layout.raw.is_forked() {
            return;
        }
        self.layout.sets().free.append(&mut self.sets);
    }
}
