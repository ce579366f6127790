//! `dml inspect`: what a model has, and what would run it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

mod memory;
mod picture;

use dml_import::{InputReport, Model, NodeReport, NodeSupport, Report, ValueReport};

use crate::files::write_raw;
use crate::model_inputs::{InputArgs, option, shape_text};
use memory::Memory;

/// The arguments of `dml inspect`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An ONNX model, an OpenVINO .xml file, or a DxDispatch .json file
    model: PathBuf,
    #[command(flatten)]
    inputs: InputArgs,
    /// Write a picture to this file, in Graphviz's language DOT; - prints it and nothing else
    #[arg(long, value_name = "OUT")]
    dot: Option<PathBuf>,
}

/// Prints the report. No device is asked.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let (model, inputs) = (Model::read(&args.model)?, args.inputs.read()?);
    let report = model.inspect(&inputs)?;
    if args.dot.as_deref() == Some(Path::new("-")) {
        write!(io::stdout(), "{}", picture::dot(&report))?;
        return Ok(());
    }
    if let Some(path) = &args.dot {
        write_raw(path, picture::dot(&report).as_bytes())?;
    }
    writeln!(io::stdout(), "{}", text(&report))?;
    // What is open, or does not run, has been said.
    if let Ok(program) = model.bind(&inputs) {
        let memory = Memory::of(&program).map(|it| it.text());
        let memory = memory.unwrap_or_else(|error| format!("memory: not known: {error:#}"));
        writeln!(io::stdout(), "{memory}")?;
    }
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
    lines.extend(unsupported(report));
    lines.extend(arithmetic(report));
    lines.join("\n")
}

/// The operators that do not run, the most frequent first.
fn unsupported(report: &Report) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for node in &report.nodes {
        if let NodeSupport::Unsupported(_) = node.support {
            *counts.entry(&node.node.operator).or_default() += 1;
        }
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let counts: Vec<String> =
        counts.iter().map(|(operator, count)| format!("{operator} ({count})")).collect();
    (!counts.is_empty()).then(|| format!("does not run: {}", counts.join(", ")))
}

/// All of it, where all sizes are known.
fn arithmetic(report: &Report) -> Option<String> {
    let flops: Option<Vec<u64>> = report.nodes.iter().map(|node| node.flops).collect();
    let flops = flops?.into_iter().fold(0, u64::saturating_add);
    Some(format!("flops: {}", scaled(flops)))
}

/// Three digits or four, and what they are counted in.
fn scaled(count: u64) -> String {
    const STEPS: [(f64, &str); 4] = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")];
    let number = count as f64;
    match STEPS.iter().find(|(step, _)| number >= *step) {
        Some((step, unit)) => format!("{:.3}{unit}", number / step),
        None => count.to_string(),
    }
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
    let flops = report.flops.filter(|it| *it > 0).map(|it| format!(", {} flops", scaled(it)));
    let support = support_text(&report.support);
    format!("{}{arrow}{}: {support}{}", report.node, outputs.join(", "), flops.unwrap_or_default())
}

/// What runs a node.
fn support_text(support: &NodeSupport) -> String {
    match support {
        NodeSupport::Host => "host".to_owned(),
        NodeSupport::Operator { operator, level } => {
            format!("{operator}, feature level {level} and later")
        }
        NodeSupport::Operators { operators, level } => {
            format!("{}, feature level {level} and later", counted(operators))
        }
        NodeSupport::Alias => "alias".to_owned(),
        NodeSupport::AfterReading(reader) => {
            format!("known to a run, once {reader} has read what a device computes")
        }
        NodeSupport::Blocked(other) => format!("needs the result of {other}, which does not run"),
        NodeSupport::Unsupported(reason) => format!("does not run: {reason}"),
    }
}

/// `A + 3 B`: loops have the same ones many times over.
fn counted(operators: &[&str]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for name in operators {
        match counts.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    let text = |(name, count): &(&str, usize)| match count {
        1 => (*name).to_owned(),
        many => format!("{many} {name}"),
    };
    counts.iter().map(text).collect::<Vec<String>>().join(" + ")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn operators_are_counted_in_the_order_of_their_first_use() {
        assert_eq!(counted(&["B", "A", "B", "B"]), "3 B + A");
        assert_eq!(counted(&["A"]), "A");
    }
}
