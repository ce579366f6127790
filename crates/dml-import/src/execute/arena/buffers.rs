//! The buffers of an arena, and the sizes that programs need.

use dml::{Buffer, BufferUsage, Device, MemoryLocation};

use crate::error::Result;
use crate::execute::memory::{create, create_for_transfers};

/// Buffers by role; `None` where no program has needed one.
#[derive(Clone, Debug, Default)]
pub(in crate::execute) struct ArenaBuffers {
    /// Device memory: the first buffer is the largest one of each program, and so on.
    pub(in crate::execute) device: Vec<Option<Buffer>>,
    pub(in crate::execute) upload: Option<Buffer>,
    pub(in crate::execute) readback: Option<Buffer>,
}

/// The buffer sizes in bytes that a program needs.
#[derive(Clone, Debug, Default)]
pub(in crate::execute) struct Demand {
    /// Device memory, in falling order.
    pub(in crate::execute) device: Vec<u64>,
    pub(in crate::execute) upload: u64,
    pub(in crate::execute) readback: u64,
}

/// A multiple of every device's nonCoherentAtomSize: large buffers of whole atoms have memory of their own.
const ATOM: u64 = 256;

impl ArenaBuffers {
    pub(super) fn sizes(&self) -> Demand {
        let size = |buffer: &Option<Buffer>| buffer.as_ref().map_or(0, Buffer::size);
        Demand {
            device: self.device.iter().map(size).collect(),
            upload: size(&self.upload),
            readback: size(&self.readback),
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.sizes().bytes()
    }

    /// Whether a buffer exists that is smaller than the demand.
    pub(super) fn have_one_smaller_than(&self, demand: &Demand) -> bool {
        let has = self.sizes();
        let mut device = has.device.iter().zip(&demand.device);
        let is_small = |has: u64, wanted: u64| (1..wanted).contains(&has);
        device.any(|(has, wanted)| is_small(*has, *wanted))
            || is_small(has.upload, demand.upload)
            || is_small(has.readback, demand.readback)
    }

    pub(super) fn grow(
        &mut self,
        device: &Device,
        demand: &Demand,
        content: impl Fn(usize) -> String,
    ) -> Result<()> {
        let slots = self.device.len().max(demand.device.len());
        self.device.resize(slots, None);
        for (index, (slot, size)) in self.device.iter_mut().zip(&demand.device).enumerate() {
            renew(slot, *size, |size| create(device, size, || content(index)))?;
        }
        let staging = |slot: &mut Option<Buffer>, size, role| {
            renew(slot, size, |size| create_for_transfers(device, size, role))
        };
        let upload = (MemoryLocation::Upload, BufferUsage::TRANSFER_SRC, "inputs");
        staging(&mut self.upload, demand.upload, upload)?;
        let readback = (MemoryLocation::Readback, BufferUsage::TRANSFER_DST, "outputs");
        staging(&mut self.readback, demand.readback, readback)
    }
}

impl Demand {
    pub(super) fn bytes(&self) -> u64 {
        let staging = [self.upload, self.readback];
        self.device.iter().copied().chain(staging).fold(0, u64::saturating_add)
    }

    /// The larger size of each buffer.
    pub(super) fn larger(self, other: &Self) -> Self {
        let count = self.device.len().max(other.device.len());
        let size = |of: &Self, index: usize| of.device.get(index).copied().unwrap_or(0);
        Self {
            device: (0..count).map(|index| size(&self, index).max(size(other, index))).collect(),
            upload: self.upload.max(other.upload),
            readback: self.readback.max(other.readback),
        }
    }
}

/// Replaces a buffer that is smaller than `wanted`. The old one is freed first, so that its memory can be used again.
fn renew(
    slot: &mut Option<Buffer>,
    wanted: u64,
    make: impl Fn(u64) -> Result<Buffer>,
) -> Result<()> {
    let has = slot.as_ref().map_or(0, Buffer::size);
    if has >= wanted {
        return Ok(());
    }
    *slot = None;
    // Programs whose sizes grow from run to run would replace an exact buffer each time.
    let roomy = if has > 0 { with_slack(wanted) } else { wanted.next_multiple_of(ATOM) };
    *slot = Some(make(roomy).or_else(|_| make(wanted))?);
    Ok(())
}

/// At most an eighth more than `size`, so that sizes which differ little become equal.
pub(super) fn with_slack(size: u64) -> u64 {
    let unit = size.checked_next_power_of_two().map_or(1, |power| (power / 16).max(ATOM));
    size.checked_next_multiple_of(unit).unwrap_or(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slack_is_at_most_an_eighth_of_large_sizes() {
        for size in [4096, 4100, 8191, 8193, 1 << 30, (1 << 30) + 4] {
            let larger = with_slack(size);
            assert!(larger >= size && larger - size <= size / 8, "{size}: {larger}");
        }
        assert_eq!(with_slack(u64::MAX), u64::MAX);
        assert_eq!(with_slack(0), 0);
    }

    #[test]
    fn demands_are_compared_buffer_by_buffer() {
        let one = Demand { device: vec![8, 4], upload: 1, readback: 7 };
        let other = Demand { device: vec![6], upload: 3, readback: 5 };
        let Demand { device, upload, readback } = one.larger(&other);
        assert_eq!((device, upload, readback), (vec![8, 4], 3, 7));
    }
}
