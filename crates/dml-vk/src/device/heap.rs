//! The heap that device memory is allocated from.

use ash::{ext, vk};

use crate::device::Device;

/// The largest heap of device-local memory, see [`Device::device_heap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapReport {
    /// The bytes of the heap.
    pub size: u64,
    /// How many bytes of it this process can use at present, what it uses included, as VK_EXT_memory_budget tells;
    /// the heap's size on devices without the extension.
    pub budget: u64,
    /// How many bytes of it this process uses, as VK_EXT_memory_budget tells; `None` on devices without the
    /// extension.
    pub usage: Option<u64>,
}

impl Device {
    /// The largest heap of device-local memory. Every call asks the driver.
    pub fn device_heap(&self) -> HeapReport {
        let physical = self.physical();
        let core = physical.instance.table.core();
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let has_budget = physical.has_extension(ext::memory_budget::NAME);
        let mut memory = vk::PhysicalDeviceMemoryProperties2::default();
        if has_budget {
            memory = memory.push_next(&mut budget);
        }
        // SAFETY: the handle was enumerated from this instance, which is alive; a structure is chained only if the
        // device has its extension. A device of this crate has Vulkan 1.1.
        unsafe { core.get_physical_device_memory_properties2(physical.raw(), &mut memory) };
        let memory = memory.memory_properties;
        largest(&memory, has_budget.then_some(&budget))
    }
}

fn largest(
    memory: &vk::PhysicalDeviceMemoryProperties,
    budget: Option<&vk::PhysicalDeviceMemoryBudgetPropertiesEXT<'_>>,
) -> HeapReport {
    let heaps = memory.memory_heaps_as_slice().iter().enumerate();
    let local = heaps.filter(|(_, it)| it.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL));
    let (index, size) =
        local.map(|(index, it)| (index, it.size)).max_by_key(|(_, size)| *size).unwrap_or((0, 0));
    let of = |all: &[u64]| all.get(index).copied();
    let told = budget.and_then(|budget| of(&budget.heap_budget)).filter(|told| *told > 0);
    HeapReport {
        size,
        budget: told.map_or(size, |told| told.min(size)),
        usage: budget.and_then(|budget| of(&budget.heap_usage)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heaps() -> vk::PhysicalDeviceMemoryProperties {
        let mut memory =
            vk::PhysicalDeviceMemoryProperties { memory_heap_count: 3, ..Default::default() };
        let local = vk::MemoryHeapFlags::DEVICE_LOCAL;
        for (index, (size, flags)) in
            [(100, vk::MemoryHeapFlags::empty()), (8, local), (20, local)].into_iter().enumerate()
        {
            memory.memory_heaps[index] = vk::MemoryHeap { size, flags };
        }
        memory
    }

    #[test]
    fn the_largest_heap_of_the_device_is_told() {
        let report = largest(&heaps(), None);
        assert_eq!(report, HeapReport { size: 20, budget: 20, usage: None });
    }

    #[test]
    fn a_budget_is_at_most_the_heap_and_0_is_none() {
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        for (told, expected) in [(7, 7), (30, 20), (0, 20)] {
            (budget.heap_budget[2], budget.heap_usage[2]) = (told, 5);
            let report = largest(&heaps(), Some(&budget));
            assert_eq!(report, HeapReport { size: 20, budget: expected, usage: Some(5) });
        }
    }
}
