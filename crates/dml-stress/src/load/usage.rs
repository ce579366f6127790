//! The memory and objects that this process and a device use, and their changes.

use std::alloc::System;

use cap::Cap;
use dml::Device;
use dml::vk::MemoryReport;

/// Counts the heap memory of Rust code. Drivers are written in C and C++ and have their own allocator, so
/// this is the runtime's share, to the byte.
#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// Bytes that Rust code has on the heap now.
pub(crate) fn heap() -> i64 {
    i64::try_from(HEAP.allocated()).unwrap_or(i64::MAX)
}

/// Bytes of physical memory that this process has, including its drivers'; `None` if the system does not
/// report it, as on everything except Linux.
pub(crate) fn resident() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The memory and objects in use at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) heap: i64,
    pub(crate) resident: Option<i64>,
    /// Objects that use the VkDevice.
    pub(crate) objects: usize,
    pub(crate) memory: MemoryReport,
}

impl Usage {
    /// The current usage.
    pub(crate) fn of(device: &Device) -> Self {
        let vulkan = device.vulkan();
        Self {
            objects: vulkan.live_objects().count(),
            memory: vulkan.memory_report(),
            heap: heap(),
            resident: resident(),
        }
    }
}

/// Physical memory at the start, and at the end of each of a number of equal stretches of work.
pub(crate) struct Stretches {
    resident: Vec<Option<i64>>,
    length: usize,
}

impl Stretches {
    /// An odd number, so that there is a median growth.
    const COUNT: usize = 5;

    /// Starts work of so many steps; the heap is read after this.
    pub(crate) fn start(steps: usize) -> Self {
        // Room for all, so that the heap does not grow later.
        let mut all = Vec::with_capacity(Self::COUNT + 1);
        all.push(resident());
        Self { resident: all, length: steps.div_ceil(Self::COUNT).max(1) }
    }

    /// Records that so many steps are done.
    pub(crate) fn done(&mut self, steps: usize) {
        if steps.is_multiple_of(self.length) {
            self.resident.push(resident());
        }
    }

    /// The growth of the process over all of the work; `None` if the system does not report it. A repeated
    /// leak adds to every stretch, while a driver now and then reserves memory for later: so the median
    /// growth of a stretch counts, times the number of stretches.
    pub(crate) fn growth(&self) -> Option<i64> {
        let resident: Option<Vec<i64>> = self.resident.iter().copied().collect();
        steady(&resident?)
    }
}

fn steady(resident: &[i64]) -> Option<i64> {
    let mut growth: Vec<i64> = resident.windows(2).map(|it| it[1] - it[0]).collect();
    growth.sort_unstable();
    let middle = *growth.get(growth.len() / 2)?;
    Some(middle * i64::try_from(growth.len()).ok()?)
}

/// `bytes` with a sign, in KiB from 10,000 on.
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
    fn what_grows_all_the_time_counts_and_a_leap_does_not() {
        assert_eq!(steady(&[100, 110, 120, 130, 140, 150]), Some(50));
        assert_eq!(steady(&[100, 100, 100, 2000, 2000, 2000]), Some(0));
        assert_eq!(steady(&[100, 900, 910, 920, 2000, 2010]), Some(50));
        assert_eq!(steady(&[100]), None);
        let mut stretches = Stretches::start(7);
        (1..=7).for_each(|step| stretches.done(step));
        assert_eq!(stretches.resident.len(), 4);
    }

    #[test]
    fn growth_has_a_sign() {
        assert_eq!(signed_bytes(-12), "-12 B");
        assert_eq!(signed_bytes(0), "+0 B");
        assert_eq!(signed_bytes(20 << 10), "+20 KiB");
    }
}
