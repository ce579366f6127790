//! A command buffer that is recorded once and submitted again and again, with the buffer it writes.

use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use dml::vk::{BindingTable, Bindings, CommandList, Recorder, Timestamps};
use dml::{Buffer, BufferBinding, CompiledOperator, Device};

use crate::band::SENTINEL;
use crate::case::Baseline;

/// The expected contents of a lane's buffer.
#[derive(Clone, Copy)]
pub(crate) enum Expected<'a> {
    /// Exactly these bytes, then zeros or the old contents.
    Bytes(&'a [u8]),
    /// These numbers of FLOAT32, each with at most this relative error.
    Near(&'a [u8], f32),
    /// So many zeros, then anything.
    Zeros(usize),
    /// No check.
    Nothing,
}

/// Times of one submission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// From before the submission to after the wait, on the host's clock.
    pub(crate) wall: Duration,
    /// The time of the recorded work on the device's clock.
    pub(crate) device: Option<Duration>,
}

/// One of several lanes that take turns, so that none finds its memory in a cache. Lanes that are compared
/// share their buffers, because the speed of memory depends on its address.
pub(crate) struct Lane<'a> {
    device: dml::vk::Device,
    buffer: Option<Rc<Buffer>>,
    // `None` while the commands are submitted.
    work: Option<CommandList>,
    reset: Option<CommandList>,
    timestamps: Option<Timestamps>,
    expected: Expected<'a>,
}

impl<'a> Lane<'a> {
    /// Executes a compiled operator, with `buffer` as its output.
    pub(crate) fn operator(
        device: &Device,
        compiled: &CompiledOperator,
        buffer: &Rc<Buffer>,
        inputs: &[Buffer],
        expected: Expected<'a>,
        timed: bool,
    ) -> Result<Self> {
        let size = compiled.binding_properties().temporary_resource_size;
        let temporary = if size > 0 { Some(device.create_buffer(size)?) } else { None };
        // Absent inputs have no buffer.
        let mut given = inputs.iter();
        let places = compiled.vulkan().inputs().iter();
        let inputs: Vec<_> = places
            .map(|place| place.as_ref().and_then(|_| given.next()).map(BufferBinding::whole))
            .collect();
        let places = compiled.vulkan().outputs().iter();
        let outputs: Vec<_> =
            places.map(|place| place.as_ref().map(|_| BufferBinding::whole(buffer))).collect();
        let bindings = Bindings {
            inputs: &inputs,
            outputs: &outputs,
            temporary: &temporary.iter().map(BufferBinding::whole).collect::<Vec<_>>(),
            persistent: &[],
        };
        let table = BindingTable::new(compiled.vulkan(), &bindings)?;
        Self::new(device, Some(buffer), expected, timed, |it| it.dispatch(&table))
    }

    /// Records the baseline's command on the first `bytes` of `buffer`.
    pub(crate) fn baseline(
        device: &Device,
        baseline: Baseline,
        buffer: &Rc<Buffer>,
        bytes: u64,
        input: Option<(&Buffer, &'a [u8])>,
        timed: bool,
    ) -> Result<Self> {
        match (baseline, input) {
            (Baseline::EmptySubmit, _) => {
                Self::new(device, None, Expected::Nothing, timed, |_| Ok(()))
            }
            (Baseline::Fill, _) => {
                let expected = Expected::Zeros(usize::try_from(bytes)?);
                Self::new(device, Some(buffer), expected, timed, |recorder| {
                    recorder.fill_buffer(buffer, 0..bytes, 0)
                })
            }
            (Baseline::Copy | Baseline::CopyOfInput, Some((source, expected))) => {
                let expected = Expected::Bytes(expected);
                Self::new(device, Some(buffer), expected, timed, |recorder| {
                    recorder.copy_buffer(source, 0, buffer, 0, bytes)
                })
            }
            (Baseline::Copy | Baseline::CopyOfInput, None) => bail!("a copy needs an input"),
        }
    }

    /// Records the commands that write `buffer`, and those that overwrite it between two runs.
    pub(crate) fn new(
        device: &Device,
        buffer: Option<&Rc<Buffer>>,
        expected: Expected<'a>,
        timed: bool,
        record: impl FnOnce(&mut Recorder) -> dml::vk::Result<()>,
    ) -> Result<Self> {
        let device = device.vulkan().clone();
        let timestamps = if timed { Timestamps::new(&device, 2).ok() } else { None };
        let mut recorder = Recorder::repeatable(&device)?;
        if let Some(timestamps) = &timestamps {
            recorder.write_timestamp(timestamps, 0)?;
        }
        record(&mut recorder)?;
        if let Some(timestamps) = &timestamps {
            recorder.write_timestamp(timestamps, 1)?;
        }
        let work = Some(recorder.finish()?);
        let mut recorder = Recorder::repeatable(&device)?;
        if let Some(buffer) = buffer {
            recorder.fill_buffer(buffer, 0..buffer.size(), u32::from_le_bytes([SENTINEL; 4]))?;
        }
        let reset = Some(recorder.finish()?);
        Ok(Self { device, buffer: buffer.cloned(), work, reset, timestamps, expected })
    }

    /// Overwrites the result of an earlier run.
    pub(crate) fn reset(&mut self) -> Result<()> {
        submit(&self.device, &mut self.reset).map(|_| ())
    }

    /// Submits, waits, and returns the times.
    pub(crate) fn run(&mut self) -> Result<Sample> {
        let wall = submit(&self.device, &mut self.work)?;
        let device = match &self.timestamps {
            Some(timestamps) => timestamps.elapsed(0, 1)?,
            None => None,
        };
        Ok(Sample { wall, device })
    }

    /// Compares every byte with the expected ones.
    pub(crate) fn verify(&self) -> Result<()> {
        let Some(buffer) = &self.buffer else { return Ok(()) };
        let found = self.device.read_buffer(buffer, 0..buffer.size())?;
        let first_wrong = match self.expected {
            Expected::Nothing => None,
            Expected::Zeros(count) => first_difference(&found[..count], |at, length| {
                found[at..at + length].iter().all(|byte| *byte == 0)
            }),
            Expected::Near(bytes, tolerance) => first_difference(bytes, |at, length| {
                let range = at..at + length;
                are_near(&found[range.clone()], &bytes[range], tolerance)
            }),
            Expected::Bytes(bytes) => first_difference(&found, |at, length| {
                let (start, end) = (at.min(bytes.len()), (at + length).min(bytes.len()));
                let is_untouched = |byte: &u8| [0, SENTINEL].contains(byte);
                bytes[start..end] == found[start..end]
                    && found[end.max(at)..at + length].iter().all(is_untouched)
            }),
        };
        match first_wrong {
            None => Ok(()),
            Some(block) => bail!("wrong bytes in the block of 4096 at byte {block}"),
        }
    }
}

fn submit(device: &dml::vk::Device, list: &mut Option<CommandList>) -> Result<Duration> {
    let taken = list.take().context("an earlier submission of this list failed")?;
    let start = Instant::now();
    let submission = device.submit(taken)?;
    submission.wait()?;
    let wall = start.elapsed();
    *list = Some(submission.into_list()?);
    Ok(wall)
}

fn are_near(found: &[u8], expected: &[u8], tolerance: f32) -> bool {
    let numbers = |bytes| <[u8]>::as_chunks::<4>(bytes).0.iter().copied().map(f32::from_le_bytes);
    let is_near = |(found, wanted): (f32, f32)| (found - wanted).abs() <= tolerance * wanted.abs();
    numbers(found).zip(numbers(expected)).all(is_near)
}

fn first_difference(found: &[u8], is_right: impl Fn(usize, usize) -> bool) -> Option<usize> {
    const BLOCK: usize = 4096;
    (0..found.len()).step_by(BLOCK).find(|at| !is_right(*at, BLOCK.min(found.len() - at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_near_in_their_own_size() {
        let bytes = |it: [f32; 2]| it.map(f32::to_le_bytes).concat();
        let is = |found| are_near(&bytes(found), &bytes([100.0, 0.01]), 0.01);
        assert!(is([100.9, 0.01]) && is([99.1, 0.009_95]));
        assert!(!is([101.1, 0.01]) && !is([100.0, 0.02]) && !is([f32::NAN, 0.01]));
    }
}
