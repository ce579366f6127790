//! Descriptor sets: allocated and written once, when buffers are bound.

use std::sync::Arc;

use ash::vk;

use crate::error::{Error, Result};
use crate::instance::raw::RawDevice;
use crate::pipeline::Pipeline;

/// A descriptor to be written.
pub(crate) struct Descriptor {
    pub(crate) binding: u32,
    /// Of a storage buffer or of a uniform buffer.
    pub(crate) ty: vk::DescriptorType,
    pub(crate) info: vk::DescriptorBufferInfo,
}

/// The descriptor sets of a binding table, with the pool that they come from.
pub(crate) struct DescriptorSets {
    /// Null where there are no sets.
    pool: vk::DescriptorPool,
    sets: Vec<vk::DescriptorSet>,
    raw: Arc<RawDevice>,
}

impl DescriptorSets {
    /// One set for each entry, written with its descriptors.
    pub(crate) fn new(
        raw: &Arc<RawDevice>,
        name: &str,
        contents: &[(&Pipeline, Vec<Descriptor>)],
    ) -> Result<Self> {
        let mut made =
            Self { pool: vk::DescriptorPool::null(), sets: Vec::new(), raw: Arc::clone(raw) };
        if contents.is_empty() {
            return Ok(made);
        }
        made.pool = make_pool(raw, contents)?;
        raw.set_name(made.pool, name);
        let layouts: Vec<_> = contents.iter().map(|(pipeline, _)| pipeline.set_layout).collect();
        let info = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(made.pool)
            .set_layouts(&layouts);
        // SAFETY: the pool is new and not shared; the pipelines keep their layouts alive.
        let sets = unsafe { raw.core().allocate_descriptor_sets(&info) };
        made.sets = raw.check("vkAllocateDescriptorSets", sets)?;
        // The pool has the name, the sets have none: Mesa's drivers leak the names of sets that are
        // freed with their pool.
        for (set, (_, descriptors)) in made.sets.iter().zip(contents) {
            write(raw, *set, descriptors);
        }
        Ok(made)
    }

    /// The sets, in the order of their contents.
    pub(crate) fn handles(&self) -> &[vk::DescriptorSet] {
        &self.sets
    }
}

impl Drop for DescriptorSets {
    fn drop(&mut self) {
        // SAFETY: whoever has recorded the sets keeps the table that owns `self` until the commands
        // have completed; null is allowed.
        unsafe { self.raw.core().destroy_descriptor_pool(self.pool, None) };
    }
}

fn make_pool(
    raw: &RawDevice,
    contents: &[(&Pipeline, Vec<Descriptor>)],
) -> Result<vk::DescriptorPool> {
    let count = |count: usize| {
        u32::try_from(count).map_err(|_| Error::internal("more than 2^32 descriptors"))
    };
    let size = |ty| {
        let descriptors = contents.iter().flat_map(|(_, descriptors)| descriptors);
        let size = vk::DescriptorPoolSize::default().ty(ty);
        Ok(size.descriptor_count(count(descriptors.filter(|it| it.ty == ty).count())?))
    };
    let storage = size(vk::DescriptorType::STORAGE_BUFFER)?;
    let uniform = size(vk::DescriptorType::UNIFORM_BUFFER)?;
    let mut sizes = vec![storage.descriptor_count(storage.descriptor_count.max(1))];
    sizes.extend(Some(uniform).filter(|it| it.descriptor_count > 0));
    let info =
        vk::DescriptorPoolCreateInfo::default().max_sets(count(contents.len())?).pool_sizes(&sizes);
    // SAFETY: `info` points to an array that outlives the call; no count is 0.
    let pool = unsafe { raw.core().create_descriptor_pool(&info, None) };
    raw.check("vkCreateDescriptorPool", pool)
}

fn write(raw: &RawDevice, set: vk::DescriptorSet, descriptors: &[Descriptor]) {
    let writes: Vec<_> = descriptors
        .iter()
        .map(|descriptor| {
            vk::WriteDescriptorSet::default()
                .dst_set(set)
                .dst_binding(descriptor.binding)
                .descriptor_type(descriptor.ty)
                .buffer_info(std::slice::from_ref(&descriptor.info))
        })
        .collect();
    if !writes.is_empty() {
        // SAFETY: the set is new, so nothing uses it; the buffers are alive, have STORAGE usage or,
        // the constants, UNIFORM usage, and the ranges lie inside them, start aligned and are within the device's limit.
        unsafe { raw.core().update_descriptor_sets(&writes, &[]) };
    }
}
