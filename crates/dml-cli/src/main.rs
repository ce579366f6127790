//! The `dml` command.

#![forbid(unsafe_code)]

mod devices;
mod diag;
mod files;
mod graph;
mod inspect;
mod latency;
mod matrix;
mod model_inputs;
mod progress;
mod run;
mod support;

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use clap::{Parser, Subcommand};
use dml::profiles::{self, Profile};
use dml::{
    CapabilityCap, Device, DeviceOptions, DeviceSelector, FeatureLevel, Instance, InstanceDesc,
    Numerics, Validation,
};
use dml_file::{InputFiles, OverwrittenInput, eprintln};

/// An operator or a file was refused, or execution failed.
const FAILED: u8 = 1;
/// The command was not understood.
const WRONG_USAGE: u8 = 2;
/// There is no device to run on.
const NO_DEVICE: u8 = 3;

/// Shown after the help of `dml`.
const EXAMPLES: &str = "\
Examples:
  dml devices                                           which devices there are
  dml inspect model.onnx                                what a model needs, and whether it runs
  dml run model.onnx --input x=x.npy --output-dir out   run it
  dml run model.onnx --random --repeat 20               how fast it is
  dml support CONVOLUTION                               data types and ranks of an operator

Exit codes: 0 success, 1 refused or failed, 2 wrong usage, 3 no device";

/// Run models, graphs and operators with DirectML's operators on Vulkan devices
#[derive(Debug, Parser)]
#[command(name = "dml", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run an ONNX, OpenVINO or DxDispatch model; print its outputs or write them to files
    Run(run::Args),
    /// List a model's inputs, outputs and nodes, and whether they run (needs no device)
    Inspect(inspect::Args),
    /// List the Vulkan devices, their limits and features
    Devices(devices::Args),
    /// Tell which operators, data types and ranks a device or a profile supports
    Support(support::Args),
    /// Compile a graph of operators in JSON, and show what was fused
    Graph(graph::Args),
    /// Execute one operator, DIAGONAL_MATRIX, and print the matrix
    Diag(diag::Args),
}

/// A whole number of an option.
fn whole_number<T: FromStr>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| "not a whole number, or out of range".to_owned())
}

/// A device and its feature level.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Device")]
struct NameArgs {
    /// DirectML feature level; operators and data types above it are refused
    #[arg(long, visible_alias = "level", value_name = "LEVEL", default_value_t)]
    feature_level: FeatureLevel,
    /// Index, UUID or part of the name of a device (see `dml devices`); the best one if not given
    #[arg(long, value_name = "DEVICE")]
    device: Option<DeviceSelector>,
}

/// The profile that caps a device's features and limits.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Device")]
struct ProfileArgs {
    /// Cap the device by a profile (docs/profiles.md): a name, a part of it, or a file [env: DML_PROFILE]
    #[arg(long, value_name = "PROFILE", value_parser = NamedProfile::find)]
    profile: Option<NamedProfile>,
}

/// A profile, and the name or path that it was found by.
#[derive(Clone, Debug)]
struct NamedProfile {
    name: PathBuf,
    profile: Profile,
}

impl NamedProfile {
    fn find(text: &str) -> Result<Self, profiles::Error> {
        Ok(Self { name: text.into(), profile: profiles::find(text)? })
    }
}

impl ProfileArgs {
    /// The profile of the command line, else of the environment.
    fn chosen(&self) -> Result<Option<Profile>, dml::Error> {
        match &self.profile {
            Some(NamedProfile { profile, .. }) => Ok(Some(profile.clone())),
            None => Ok(profiles::from_environment()?),
        }
    }

    /// Adds the file of the profile, if it has one.
    fn add_files(&self, files: &mut InputFiles) {
        if let Some(NamedProfile { name, .. }) = &self.profile {
            files.add(name);
        }
    }

    /// The cap to create a device with.
    fn cap(&self) -> Result<CapabilityCap, dml::Error> {
        Ok(self.chosen()?.map_or(CapabilityCap::NONE, |profile| profile.cap))
    }
}

/// Whether results have the same bits on every device.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Device")]
struct NumericsArgs {
    /// exact: the same bits on every device; fast: sums of products may differ, and take less time
    #[arg(long, value_name = "exact|fast", default_value_t)]
    numerics: Numerics,
}

/// The device that runs an operator.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Device")]
struct DeviceArgs {
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    numerics: NumericsArgs,
    #[command(flatten)]
    profile: ProfileArgs,
    /// Run under the Vulkan validation layer; any message of the layer is an error
    #[arg(long)]
    validation: bool,
}

impl DeviceArgs {
    /// Opens the device and calls `work` with it. Any message of the validation layer is an error.
    fn with_device<T>(&self, work: impl FnOnce(&Device) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let validation = if self.validation { Validation::Required } else { Validation::Off };
        let options = DeviceOptions {
            feature_level: self.name.feature_level,
            numerics: self.numerics.numerics,
            selector: self.name.device.clone().unwrap_or_default(),
            cap: Some(self.profile.cap()?),
            instance: InstanceDesc { validation, ..InstanceDesc::default() },
            ..DeviceOptions::default()
        }
        .resolved()?;
        let instance = Instance::new(&options.instance)?;
        let device = Device::on_with(&instance.select(&options.selector)?, &options)?;
        report_shortfalls(&device);
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

/// Prints the capabilities that the profile states and the device lacks.
fn report_shortfalls(device: &Device) {
    let texts: Vec<String> = device.vulkan().shortfalls().iter().map(ToString::to_string).collect();
    if !texts.is_empty() {
        eprintln!("note: the profile states more than this device has: {}", texts.join(", "));
    }
}

fn main() -> ExitCode {
    // Messages of the layer and the loader are part of errors, or requested with --validation.
    let quiet = env_logger::Env::default().default_filter_or("error,dml_vk::validation=off");
    env_logger::Builder::from_env(quiet).init();
    let result = match Cli::parse().command {
        Command::Devices(args) => devices::run(&args),
        Command::Diag(args) => diag::run(&args),
        Command::Graph(args) => graph::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Support(args) => support::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(exit_code(&error))
        }
    }
}

fn exit_code(error: &anyhow::Error) -> u8 {
    if let Some(dml::Error::Profile(_) | dml::Error::Environment { .. }) = error.downcast_ref() {
        return WRONG_USAGE;
    }
    if error.is::<model_inputs::Usage>() || error.is::<OverwrittenInput>() {
        return WRONG_USAGE;
    }
    let vulkan = match error.downcast_ref::<dml::Error>() {
        Some(dml::Error::Vulkan(vulkan)) => Some(vulkan),
        _ => error.downcast_ref::<dml::vk::Error>(),
    };
    match vulkan {
        Some(dml::vk::Error::NoLoader { .. } | dml::vk::Error::NoDevice { .. }) => NO_DEVICE,
        Some(dml::vk::Error::InvalidArgument { .. } | dml::vk::Error::DeviceSelection { .. }) => {
            WRONG_USAGE
        }
        _ => FAILED,
    }
}
