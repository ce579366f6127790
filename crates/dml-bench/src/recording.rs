//! What recording an operator costs. That it allocates nothing is shown by tests of `dml-vk`.

use std::time::{Duration, Instant};

use anyhow::Result;
use dml::vk::{BindingTable, Bindings, Recorder};
use dml::{BufferBinding, DataType, Device};

use crate::band::Band;
use crate::report::Recording;
use crate::stats::Summary;

/// Operators in one command buffer.
const OPERATORS: u32 = 1000;
/// Of one operator.
const TARGET: Duration = Duration::from_micros(1);

/// Records operators of two sizes; the command buffers are not submitted.
///
/// # Errors
/// The device failed.
pub(crate) fn measure(device: &Device, rounds: usize) -> Result<Vec<Recording>> {
    let works = [
        ("3x3", Band::eye(DataType::Float32, &[3, 3])),
        ("1024x1024", Band::eye(DataType::Float32, &[1024, 1024])),
    ];
    let one = |(name, work): (&'static str, Band)| {
        let compiled = device.compile(work.operator())?;
        let buffer = device.create_buffer(compiled.output_size(0))?;
        let outputs = [Some(BufferBinding::whole(&buffer))];
        let bindings = Bindings { outputs: &outputs, ..Bindings::default() };
        let table = BindingTable::new(compiled.vulkan(), &bindings)?;
        let times = (0..rounds).map(|_| round(device, &table)).collect::<Result<Vec<_>>>()?;
        Ok(Recording { name, time: Summary::of(&times), target: TARGET.as_secs_f64() })
    };
    works.into_iter().map(one).collect()
}

fn round(device: &Device, table: &BindingTable) -> Result<Duration> {
    let mut recorder = Recorder::new(device.vulkan())?;
    recorder.reserve(OPERATORS as usize)?;
    // The first command makes the driver set its command buffer up.
    recorder.dispatch(table)?;
    let start = Instant::now();
    for _ in 1..OPERATORS {
        recorder.dispatch(table)?;
    }
    Ok(start.elapsed() / (OPERATORS - 1))
}
