//! `dml support`: which operators and types a device supports.

mod answers;
mod grid;
mod implemented;
mod json;
mod native;

use std::io::Write as _;

use dml::core::Capabilities;
use dml::core::operators::{self, OPERATORS};
use dml::core::schema::OperatorSchema;
use dml::{Device, DeviceOptions, FeatureLevel, Instance};
use dml_file::stdout;

use crate::{NameArgs, ProfileArgs};

/// The arguments of `dml support`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Operator under DirectML's name, such as GEMM; all operators if not given
    #[arg(value_name = "OPERATOR", value_parser = operator)]
    operator: Option<&'static OperatorSchema>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Print docs/operators.md, the page of implemented operators; needs no device
    #[arg(long, conflicts_with_all = ["operator", "json", "device", "profile", "feature_level"])]
    implemented: bool,
    /// Print docs/onnx-operators.md, the page of ONNX's operators; needs no device
    #[arg(long, conflicts_with_all = ["operator", "json", "device", "profile", "feature_level", "implemented"])]
    onnx: bool,
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    profile: ProfileArgs,
}

/// The device or profile, and the level, that the answers are for.
struct Subject {
    level: FeatureLevel,
    /// A device, or a profile by itself.
    name: String,
    /// The capabilities, with the offered features.
    offered: Capabilities,
    /// The capabilities that the profile states and the device lacks.
    shortfalls: Vec<String>,
}

/// Prints all answers for one operator, or a line for each operator.
///
/// The answers are for the profile alone if one is given and no device is named.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if args.implemented {
        writeln!(stdout(), "{}", implemented::page())?;
        return Ok(());
    }
    if args.onnx {
        writeln!(stdout(), "{}", implemented::onnx_page())?;
        return Ok(());
    }
    let subject = subject(args)?;
    let text = match (args.operator, args.json) {
        (Some(operator), true) => json::document(&subject, &[operator])?,
        (None, true) => json::document(&subject, OPERATORS)?,
        (Some(operator), false) => grid::operator(&subject, operator),
        (None, false) => grid::overview(&subject),
    };
    writeln!(stdout(), "{text}")?;
    Ok(())
}

fn operator(name: &str) -> Result<&'static OperatorSchema, String> {
    operators::find(name).ok_or_else(|| {
        let suggestion = operators::suggestion(name);
        format!(
            "unknown operator{suggestion}; accepted: DirectML's names, which `dml support` lists"
        )
    })
}

fn subject(args: &Args) -> anyhow::Result<Subject> {
    let level = args.name.feature_level;
    let profile = args.profile.chosen()?;
    if let (Some(profile), None) = (&profile, &args.name.device) {
        return Ok(Subject {
            level,
            name: format!("profile {}: {}", profile.name, profile.about()),
            offered: profile.cap.alone(),
            shortfalls: Vec::new(),
        });
    }
    let options = DeviceOptions {
        feature_level: level,
        selector: args.name.device.clone().unwrap_or_default(),
        cap: Some(profile.as_ref().map(|profile| profile.cap).unwrap_or_default()),
        ..DeviceOptions::default()
    }
    .resolved()?;
    let instance = Instance::new(&options.instance)?;
    let device = Device::on_with(&instance.select(&options.selector)?, &options)?;
    let under = profile.map_or_else(String::new, |it| format!(", under profile {}", it.name));
    Ok(Subject {
        level,
        name: format!("{}{under}", device.vulkan().info().name),
        offered: device.offered(),
        shortfalls: device.vulkan().shortfalls().iter().map(ToString::to_string).collect(),
    })
}
