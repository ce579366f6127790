//! `dml inspect`: what a model has, and what would run it.

use std::io::{self, Write as _};
use std::path::PathBuf;

use dml_import::{InputReport, Model, NodeReport, NodeSupport, Report, ValueReport};

use crate::model_inputs::{InputArgs, option, shape_text};

/// The arguments of `dml inspect`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An ONNX model, an OpenVINO .xml file, or a DxDispatch .json file
    model: PathBuf,
    #[command(flatten)]
    inputs: InputArgs,
}

/// Prints the report. No device is asked.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let report = Model::read(&args.model)?.inspect(&args.inputs.read()?)?;
    writeln!(io::stdout(), "{}", text(&report))?;
    Ok(())
}

fn text(report: &Report) -> String {
    let mut lines = vec![format!("format: {}", report.format)];
    let section = |title: &str, rows: Vec<String>| {
        let rows = rows.into_iter().map(|row| format!("  {row}"));
        let title = format!("{title}:");
        std::iter::once(title).chain(rows).collect::<Vec<_>>()
    };
    lines.extend(section("inputs", report.inputs.iter().map(input).collect()));
    lines.extend(section("nodes", report.nodes.iter().map(node).collect()));
    lines.extend(section("outputs", report.outputs.iter().map(value).collect()));
    lines.join("\n")
}

fn input(input: &InputReport) -> String {
    let needed = input.requirement.map(|it| format!(", needed: {}", option(&input.value, it)));
    value(&input.value) + &needed.unwrap_or_default()
}

fn value(value: &ValueReport) -> String {
    format!("{} {}", value.name, kind(value))
}

fn kind(value: &ValueReport) -> String {
    match (&value.element, &value.shape) {
        (None, None) => "of unknown type and shape".to_owned(),
        (element, shape) => {
            let element = element.as_deref().unwrap_or("of open type");
            format!("{element} {}", shape_text(shape.as_deref()))
        }
    }
}

fn node(report: &NodeReport) -> String {
    let known = report.outputs.iter().filter(|it| it.element.is_some() || it.shape.is_some());
    let outputs: Vec<String> = known.map(kind).collect();
    let arrow = if outputs.is_empty() { "" } else { " -> " };
    let support = match &report.support {
        NodeSupport::Host => "host".to_owned(),
        NodeSupport::Operator { operator, level } => {
            format!("{operator}, feature level {level} and later")
        }
        NodeSupport::Operators { operators, level } => {
            format!("{}, feature level {level} and later", operators.join(" + "))
        }
        NodeSupport::Alias => "alias".to_owned(),
        NodeSupport::Unsupported(reason) => format!("does not run: {reason}"),
    };
    format!("{}{arrow}{}: {support}", report.node, outputs.join(", "))
}
