//! What this process and a device use at a moment, and how that has changed.

use std::alloc::System;

use cap::Cap;
use dml::Device;
use dml::vk::MemoryReport;

/// Counts what Rust code has on the heap. Drivers are written in C and C++ and have their own
/// allocator, so this is the runtime's share, to the byte.
#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// Bytes that Rust code has on the heap now.
pub(crate) fn heap() -> i64 {
    i64::try_from(HEAP.allocated()).unwrap_or(i64::MAX)
}

/// Bytes of physical memory that this process has, its drivers' included; `None` where the system
/// does not tell, which is everywhere but on Linux.
pub(crate) fn resident() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// What is in use at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) heap: i64,
    pub(crate) resident: Option<i64>,
    /// Objects that use the VkDevice.
    pub(crate) objects: usize,
    pub(crate) memory: MemoryReport,
}

impl Usage {
    /// What is in use now.
    pub(crate) fn of(device: &Device) -> Self {
        let vulkan = device.vulkan();
        Self {
            objects: vulkan.live_objects().count(),
            memory: vulkan.memory_report(),
            heap: heap(),
            resident: resident(),
        }
    }

    /// How much more physical memory this process has than `before`.
    pub(crate) fn resident_growth(&self, before: &Self) -> Option<i64> {
        Some(self.resident? - before.resident?)
    }
}

/// `bytes` with a sign, and in KiB from 10,000 on.
pub(crate) fn signed_bytes(bytes: i64) -> String {
    if bytes.abs() < 10_000 { format!("{bytes:+} B") } else { format!("{:+} KiB", bytes / 1024) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heap_is_counted_to_the_byte() {
        // Other tests of this process allocate meanwhile, but not a GiB.
        let before = heap();
        let held: Vec<u8> = Vec::with_capacity(1 << 30);
        assert!(heap() - before > 1 << 29);
        drop(held);
        assert!(heap() - before < 1 << 29);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn physical_memory_is_told_and_grows_where_it_is_touched() {
        let before = resident().unwrap();
        let held = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(resident().unwrap() - before > 32 << 20);
        drop(held);
    }

    #[test]
    fn growth_has_a_sign() {
        assert_eq!(signed_bytes(-12), "-12 B");
        assert_eq!(signed_bytes(0), "+0 B");
        assert_eq!(signed_bytes(20 << 10), "+20 KiB");
    }
}
