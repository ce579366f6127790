//! The time from the start of a process to its first result, with and without the caches of earlier processes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use dml::vk::DeviceInfo;
use dml::{BufferBinding, DataType, Device, DeviceOptions, DeviceSelector};
use dml_file::{eprintln, println};

use crate::band::Band;
use crate::report::ColdStart;
use crate::stats::Summary;

/// The first argument of a process that is started to be timed.
pub(crate) const CHILD: &str = "--cold-start-child";

/// The caches that a process finds.
#[derive(Clone, Copy)]
struct Caches {
    name: &'static str,
    pipelines: bool,
    drivers: bool,
}

const CACHES: [Caches; 3] = [
    Caches { name: "no cache", pipelines: false, drivers: false },
    Caches { name: "pipeline cache", pipelines: true, drivers: false },
    Caches { name: "pipeline cache and the driver's own", pipelines: true, drivers: true },
];

/// Starts processes with and without caches, in turns.
///
/// # Errors
/// A process could not be started, or failed.
pub(crate) fn measure(device: &DeviceInfo, rounds: usize) -> Result<Vec<ColdStart>> {
    let folder = tempfile::tempdir()?;
    let mut times = CACHES.map(|caches| (caches, Vec::new()));
    // The first round fills the caches.
    for round in 0..=rounds {
        for (caches, times) in &mut times {
            let time = start(device, *caches, folder.path())?;
            if round > 0 {
                times.push(time);
            }
        }
    }
    let summary = |(caches, times): (Caches, Vec<Duration>)| ColdStart {
        name: caches.name,
        time: Summary::of(&times),
    };
    Ok(times.into_iter().map(summary).collect())
}

fn start(device: &DeviceInfo, caches: Caches, folder: &Path) -> Result<Duration> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([CHILD, &format!("uuid:{}", device.device_uuid_text())]).stdout(Stdio::piped());
    if caches.pipelines {
        command.env("DML_PIPELINE_CACHE", folder);
    } else {
        command.env("DML_PIPELINE_CACHE", "off");
    }
    if caches.drivers {
        command.env("MESA_SHADER_CACHE_DIR", folder);
    } else {
        command.env("MESA_SHADER_CACHE_DISABLE", "true").env("__GL_SHADER_DISK_CACHE", "0");
    }
    let start = Instant::now();
    let mut child = command.spawn().context("starting this program again")?;
    let output = child.stdout.take().context("the output was piped")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let time = start.elapsed();
    let status = child.wait()?;
    ensure!(status.success() && line.trim() == "done", "a started process failed: {status}");
    Ok(time)
}

/// Runs one operator on the device that `selector` names, in a started process.
pub(crate) fn child(selector: &str) -> ExitCode {
    match first_result(selector) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn first_result(selector: &str) -> Result<()> {
    let selector: DeviceSelector = selector.parse()?;
    let device = Device::open_with(&DeviceOptions { selector, ..DeviceOptions::default() })?;
    let work = Band::eye(DataType::Float32, &[1024, 1024]);
    let operator = device.compile(work.operator())?;
    let buffer = device.create_buffer(operator.output_size(0))?;
    device.execute(&operator, &[], &[Some(BufferBinding::whole(&buffer))])?;
    let found = device.vulkan().read_buffer(&buffer, 0..buffer.size())?;
    println!("done");
    dml_file::stdout().flush()?;
    ensure!(found == work.expected(buffer.size()), "the first result is wrong");
    Ok(())
}
