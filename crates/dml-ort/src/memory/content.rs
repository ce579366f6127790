//! The values in device memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use dml::Device;
use dml_import::{DeviceTensor, ElementType, Tensor};

use super::SMALL;
use crate::boundary::Result;
use crate::counters::{self, Copied};
use crate::process;

/// The readers of an output of a group of nodes in earlier runs, which tell where the next run leaves it.
#[derive(Debug, Default)]
pub(crate) struct OutputUse {
    by_host: AtomicBool,
    by_device: AtomicBool,
}

impl OutputUse {
    /// Whether a run leaves an output of `size` bytes on the device. Small ones are read with the run's other outputs.
    pub(crate) fn stays(&self, size: usize) -> bool {
        let is_read = |by: &AtomicBool| by.load(Ordering::Relaxed);
        size > SMALL && (is_read(&self.by_device) || !is_read(&self.by_host))
    }
}

/// Bytes on the host, on a device, or on both. Nothing changes them: a write replaces the value.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    host: Option<Bytes>,
    device: Option<DeviceTensor>,
    /// The output that the value is of.
    output: Option<Arc<OutputUse>>,
}

impl Value {
    /// Bytes of the host.
    pub(crate) fn of_host(bytes: Bytes) -> Self {
        Self { host: Some(bytes), device: None, output: None }
    }

    /// A tensor of a device.
    pub(crate) fn of_device(tensor: DeviceTensor) -> Self {
        Self { host: None, device: Some(tensor), output: None }
    }

    /// The value as that of an output.
    pub(crate) fn of_output(self, output: &Arc<OutputUse>) -> Self {
        Self { output: Some(Arc::clone(output)), ..self }
    }

    /// The number of its bytes.
    pub(crate) fn size(&self) -> usize {
        let of_tensor = |it: &DeviceTensor| {
            let count = it.shape().iter().product::<u64>();
            it.element_type().size().and_then(|size| usize::try_from(size * count).ok())
        };
        let of_host = self.host.as_ref().map(Bytes::len);
        of_host.or_else(|| of_tensor(self.device.as_ref()?)).unwrap_or(0)
    }

    fn note_use(&self, by: impl FnOnce(&OutputUse) -> &AtomicBool) {
        if let Some(output) = &self.output {
            by(output).store(true, Ordering::Relaxed);
        }
    }

    /// The bytes on the host.
    fn bytes(&self) -> Result<Bytes> {
        match (&self.host, &self.device) {
            (Some(bytes), _) => Ok(bytes.clone()),
            (None, Some(tensor)) => {
                process::check()?;
                let bytes = tensor.read()?.into_bytes();
                counters::add(Copied::FromDevice, bytes.len());
                Ok(bytes)
            }
            (None, None) => Ok(Bytes::new()),
        }
    }

    /// Copies the bytes to the host, which has as many.
    ///
    /// # Errors
    /// They cannot be read from their device.
    pub(crate) fn copy_to(&self, to: &mut [u8]) -> Result<()> {
        match (&self.host, &self.device) {
            (Some(bytes), _) => to.copy_from_slice(bytes),
            (None, Some(tensor)) => {
                process::check()?;
                tensor.read_into(to)?;
                counters::add(Copied::FromDevice, to.len());
            }
            (None, None) => to.fill(0),
        }
        Ok(())
    }
}

/// A value of so many bytes.
#[derive(Debug)]
struct Part {
    size: usize,
    value: Value,
    /// Whether a run has read the value from the host.
    is_read: bool,
}

/// An allocation, with what was written to it. Bytes that nobody has written are 0.
#[derive(Debug)]
pub(crate) struct Allocation {
    size: usize,
    /// The parts, by their offset. They do not overlap.
    parts: Mutex<BTreeMap<usize, Part>>,
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // The driver would wait for threads that only the parent process has.
        if process::is_forked() {
            std::mem::forget(std::mem::take(&mut *self.parts()));
        }
    }
}

impl Allocation {
    pub(super) fn new(size: usize) -> Self {
        Self { size, parts: Mutex::default() }
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    fn parts(&self) -> MutexGuard<'_, BTreeMap<usize, Part>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces `size` bytes.
    ///
    /// # Errors
    /// A part of another value that stays cannot be read from its device.
    pub(crate) fn write(&self, offset: usize, size: usize, value: Value) -> Result<()> {
        let mut parts = self.parts();
        clear(&mut parts, offset, size)?;
        if size > 0 {
            parts.insert(offset, Part { size, value, is_read: false });
        }
        Ok(())
    }

    /// Forgets `size` bytes.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub(crate) fn clear(&self, offset: usize, size: usize) -> Result<()> {
        clear(&mut self.parts(), offset, size)
    }

    /// The value of `size` bytes.
    ///
    /// # Errors
    /// Several values have to be joined, and one cannot be read from its device.
    pub(super) fn value(&self, offset: usize, size: usize) -> Result<Value> {
        let parts = self.parts();
        match parts.get(&offset) {
            Some(part) if part.size == size => Ok(part.value.clone()),
            _ => joined(&parts, offset, size).map(Value::of_host),
        }
    }

    /// Copies bytes to the host.
    ///
    /// # Errors
    /// They cannot be read from their device.
    pub(super) fn read(&self, offset: usize, to: &mut [u8]) -> Result<()> {
        let value = self.value(offset, to.len())?;
        value.note_use(|it| &it.by_host);
        value.copy_to(to)
    }

    /// The bytes on the host, for a run.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(crate) fn on_host(&self, offset: usize, size: usize) -> Result<Bytes> {
        let value = self.value(offset, size)?;
        value.note_use(|it| &it.by_device);
        value.bytes()
    }

    /// The bytes as a tensor in memory of `device`, for a run; `None` for bytes that a run should upload with its other
    /// inputs: small ones, and those that were never read before.
    ///
    /// # Errors
    /// There is no room for them on the device.
    pub(crate) fn on_device(
        &self,
        device: &Device,
        (element, shape): (ElementType, &[u64]),
        (offset, size): (usize, usize),
    ) -> Result<Option<DeviceTensor>> {
        let mut parts = self.parts();
        let Some(part) = parts.get_mut(&offset).filter(|it| it.size == size && size > SMALL) else {
            return Ok(None);
        };
        part.value.note_use(|it| &it.by_device);
        if let Some(tensor) = part.value.device.as_ref().filter(|it| it.is_on(device)) {
            return Ok(Some(tensor.reinterpreted(element, shape)?));
        }
        if !std::mem::replace(&mut part.is_read, true) {
            return Ok(None);
        }
        let bytes = part.value.bytes()?;
        let tensor = match DeviceTensor::new(device, &Tensor::new(element, shape, bytes)?) {
            // A run uploads it, and frees memory of other programs for it.
            Err(error) if error.device_error().is_some_and(dml::Error::is_out_of_memory) => {
                return Ok(None);
            }
            made => made?,
        };
        counters::add(Copied::ToDevice, size);
        part.value = Value { host: None, device: Some(tensor.clone()), ..part.value.clone() };
        Ok(Some(tensor))
    }
}

/// The bytes of several parts.
fn joined(parts: &BTreeMap<usize, Part>, offset: usize, size: usize) -> Result<Bytes> {
    let mut all = vec![0; size];
    let end = offset + size;
    for (first, part) in parts.range(..end) {
        let (from, to) = (offset.max(*first), end.min(first + part.size));
        if from < to {
            let bytes = part.value.bytes()?;
            all[from - offset..to - offset].copy_from_slice(&bytes[from - first..to - first]);
        }
    }
    Ok(all.into())
}

/// Removes what is in a range, and keeps what lies before and after it.
fn clear(parts: &mut BTreeMap<usize, Part>, offset: usize, size: usize) -> Result<()> {
    let end = offset + size;
    let overlaps = |(first, part): &(&usize, &Part)| **first + part.size > offset;
    let found: Vec<usize> = parts.range(..end).filter(overlaps).map(|(first, _)| *first).collect();
    for first in found {
        let Some(part) = parts.get(&first) else { continue };
        let last = first + part.size;
        let is_cut = first < offset || last > end;
        let bytes = if is_cut { part.value.bytes()? } else { Bytes::new() };
        parts.remove(&first);
        let mut keep = |from: usize, to: usize| {
            let value = Value::of_host(bytes.slice(from - first..to - first));
            parts.insert(from, Part { size: to - from, value, is_read: false });
        };
        if first < offset {
            keep(first, offset);
        }
        if last > end {
            keep(end, last);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(bytes: &[u8]) -> Value {
        Value::of_host(Bytes::copy_from_slice(bytes))
    }

    fn read(allocation: &Allocation, offset: usize, size: usize) -> Vec<u8> {
        let mut bytes = vec![9; size];
        allocation.read(offset, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_write_replaces_its_bytes_and_no_others() {
        let allocation = Allocation::new(8);
        allocation.write(0, 6, host(&[1, 2, 3, 4, 5, 6])).unwrap();
        assert_eq!(read(&allocation, 0, 8), [1, 2, 3, 4, 5, 6, 0, 0]);
        allocation.write(2, 2, host(&[7, 8])).unwrap();
        assert_eq!(read(&allocation, 0, 8), [1, 2, 7, 8, 5, 6, 0, 0]);
        assert_eq!(read(&allocation, 3, 2), [8, 5]);
        allocation.clear(1, 4).unwrap();
        assert_eq!(read(&allocation, 0, 8), [1, 0, 0, 0, 0, 6, 0, 0]);
    }

    #[test]
    fn outputs_stay_on_the_device_unless_only_the_host_reads_them() {
        let (output, allocation) = (Arc::new(OutputUse::default()), Allocation::new(SMALL + 1));
        assert!(output.stays(SMALL + 1) && !output.stays(SMALL));
        let value = host(&[1; SMALL + 1]).of_output(&output);
        allocation.write(0, SMALL + 1, value.clone()).unwrap();
        assert!(output.stays(SMALL + 1));
        read(&allocation, 0, SMALL + 1);
        assert!(!output.stays(SMALL + 1));
        allocation.on_host(0, SMALL + 1).unwrap();
        assert!(output.stays(SMALL + 1) && !output.stays(SMALL));
    }
}
