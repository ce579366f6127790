//! Descriptor sets, taken and written once, when buffers are bound.

use std::sync::Arc;

use ash::vk;

use crate::error::Result;
use crate::instance::raw::RawDevice;
use crate::pipeline::set_layout::{SetLayout, TakenSets};

/// A descriptor to be written.
pub(crate) struct Descriptor {
    pub(crate) binding: u32,
    /// The type: a storage buffer or a uniform buffer.
    pub(crate) ty: vk::DescriptorType,
    pub(crate) info: vk::DescriptorBufferInfo,
}

/// The layout and the descriptors of one set.
pub(crate) struct SetContent {
    pub(crate) layout: Arc<SetLayout>,
    pub(crate) descriptors: Vec<Descriptor>,
}

/// The descriptor sets of a binding table.
pub(crate) struct DescriptorSets {
    sets: Vec<vk::DescriptorSet>,
    /// Owns the sets of each layout.
    _taken: Vec<TakenSets>,
}

impl DescriptorSets {
    /// One set for each entry, written with its descriptors.
    pub(crate) fn new(raw: &RawDevice, contents: &[SetContent]) -> Result<Self> {
        let mut counts: Vec<(&Arc<SetLayout>, usize)> = Vec::new();
        let place = |layouts: &[(&Arc<SetLayout>, usize)], content: &SetContent| {
            layouts.iter().position(|(layout, _)| Arc::ptr_eq(layout, &content.layout))
        };
        for content in contents {
            match place(&counts, content) {
                Some(at) => counts[at].1 += 1,
                None => counts.push((&content.layout, 1)),
            }
        }
        let taken = counts.iter().map(|(layout, count)| layout.take(*count));
        let taken = taken.collect::<Result<Vec<_>>>()?;
        let mut next: Vec<_> = taken.iter().map(|it| it.sets.iter().copied()).collect();
        let sets: Vec<_> =
            contents.iter().filter_map(|content| next[place(&counts, content)?].next()).collect();
        write(raw, &sets, contents);
        Ok(Self { sets, _taken: taken })
    }

    /// The sets, in the order of `contents`.
    pub(crate) fn handles(&self) -> &[vk::DescriptorSet] {
        &self.sets
    }
}

fn write(raw: &RawDevice, sets: &[vk::DescriptorSet], contents: &[SetContent]) {
    let of_set = |(set, content): (vk::DescriptorSet, _)| {
        let SetContent { descriptors, .. }: &SetContent = content;
        descriptors.iter().map(move |descriptor| {
            vk::WriteDescriptorSet::default()
                .dst_set(set)
                .dst_binding(descriptor.binding)
                .descriptor_type(descriptor.ty)
                .buffer_info(std::slice::from_ref(&descriptor.info))
        })
    };
    let writes: Vec<_> = sets.iter().copied().zip(contents).flat_map(of_set).collect();
    if !writes.is_empty() {
        // SAFETY: the sets were just taken, so nothing uses them; the buffers are alive, have STORAGE usage
        // or, the constants, UNIFORM usage, and the ranges lie inside them, start aligned and are within
        // the device's limit.
        unsafe { raw.core().update_descriptor_sets(&writes, &[]) };
    }
}
