//! The `dml` command.

#![forbid(unsafe_code)]

mod devices;
mod diag;
mod matrix;
mod npy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use dml::{Device, DeviceSelector, FeatureLevel, Instance, InstanceDesc, Validation};

/// An operator or a file was refused, or execution failed.
const FAILED: u8 = 1;
/// The command was not understood.
const WRONG_USAGE: u8 = 2;
/// There is no device to run on.
const NO_DEVICE: u8 = 3;

/// Runs DirectML-style operators on Vulkan devices.
///
/// Exit code: 0 success, 1 refused or failed, 2 wrong usage, 3 no device.
#[derive(Debug, Parser)]
#[command(name = "dml", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Lists the Vulkan devices of this machine and what they offer
    Devices(devices::Args),
    /// Executes DIAGONAL_MATRIX and prints the result
    Diag(diag::Args),
}

/// Where and as what an operator runs.
#[derive(Debug, clap::Args)]
struct DeviceArgs {
    /// The DirectML feature level that the device is created at
    #[arg(long, value_name = "L", default_value_t)]
    feature_level: FeatureLevel,
    /// A device by index, name or UUID; the best one if not given
    #[arg(long, value_name = "D")]
    device: Option<DeviceSelector>,
    /// Run under the Vulkan validation layer; any message of it is an error
    #[arg(long)]
    validation: bool,
}

impl DeviceArgs {
    /// Opens the device and calls `work` with it. Under the validation layer, any message of it is
    /// an error.
    fn with_device<T>(&self, work: impl FnOnce(&Device) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let validation = if self.validation { Validation::Required } else { Validation::Off };
        let instance = Instance::new(&InstanceDesc { validation, ..InstanceDesc::default() })?;
        let selector = self.device.clone().unwrap_or_default();
        let device = Device::on(&instance.select(&selector)?, self.feature_level)?;
        let result = work(&device)?;
        drop(device);
        if self.validation {
            let messages = instance.take_validation_messages();
            let texts: Vec<String> = messages.iter().map(ToString::to_string).collect();
            anyhow::ensure!(
                texts.is_empty(),
                "the validation layer reports:\n{}",
                texts.join("\n")
            );
        }
        Ok(result)
    }
}

#[expect(clippy::print_stderr, reason = "a command tells its user what went wrong")]
fn main() -> ExitCode {
    env_logger::init();
    let result = match Cli::parse().command {
        Command::Devices(args) => devices::run(&args),
        Command::Diag(args) => diag::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the output has seen enough.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(exit_code(&error))
        }
    }
}

fn exit_code(error: &anyhow::Error) -> u8 {
    let vulkan = match error.downcast_ref::<dml::Error>() {
        Some(dml::Error::Vulkan(vulkan)) => Some(vulkan),
        _ => error.downcast_ref::<dml::vk::Error>(),
    };
    match vulkan {
        Some(dml::vk::Error::NoLoader { .. } | dml::vk::Error::NoDevice { .. }) => NO_DEVICE,
        Some(dml::vk::Error::InvalidArgument { .. }) => WRONG_USAGE,
        _ => FAILED,
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
