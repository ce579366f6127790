//! `dml inspect`: a model's inputs, outputs and operators, and whether they run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

mod memory;
mod picture;

use dml::Numerics;
use dml_file::{InputFiles, stdout};
use dml_import::{InputReport, Model, NodeName, NodeReport, NodeSupport, Report, ValueReport};

use crate::NumericsArgs;
use crate::files::write_raw;
use crate::model_inputs::{InputArgs, open_shape, option, shape_text};
use memory::Memory;

/// The arguments of `dml inspect`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// ONNX model, OpenVINO .xml file, or DxDispatch .json file
    model: PathBuf,
    #[command(flatten)]
    inputs: InputArgs,
    /// Write the graph of nodes to FILE in Graphviz's DOT language; - prints it instead of the list
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    #[command(flatten)]
    numerics: NumericsArgs,
}

/// Prints the report. It does not use a device.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let model = Model::read(&args.model)?;
    if let Some(path) = &args.dot {
        let mut read = InputFiles::new();
        model.files().iter().for_each(|path| read.add(path));
        args.inputs.add_files(&mut read);
        read.check(path)?;
    }
    let inputs = args.inputs.read()?;
    let report = model.inspect(&inputs)?;
    if args.dot.as_deref() == Some(Path::new("-")) {
        write!(stdout(), "{}", picture::dot(&report))?;
        return Ok(());
    }
    if let Some(path) = &args.dot {
        write_raw(path, picture::dot(&report).as_bytes())?;
    }
    writeln!(stdout(), "{}", text(&report))?;
    // Open sizes, and nodes that do not run, are in the report already.
    if let Ok(program) = model.bind(&inputs) {
        let memory = Memory::of(&program, args.numerics.numerics).map(|it| it.text());
        let memory = memory.unwrap_or_else(|error| format!("memory: not known: {error:#}"));
        writeln!(stdout(), "{memory}\n{}", numerics_text(args.numerics.numerics))?;
    }
    Ok(())
}

/// The line on numerics: whether results have the same bits on every device.
fn numerics_text(numerics: Numerics) -> String {
    let promise = match numerics {
        Numerics::Exact => "the same bits on every device",
        Numerics::Fast => "sums of products may differ between devices",
    };
    format!("numerics: {numerics}, {promise}")
}

fn text(report: &Report) -> String {
    let blocked = Blocked::of(report);
    let mut lines = vec![format!("format: {}", report.format)];
    let section = |title: &str, rows: Vec<String>| {
        let rows = rows.into_iter().map(|row| format!("  {row}"));
        let title = format!("{title}:");
        std::iter::once(title).chain(rows).collect::<Vec<_>>()
    };
    lines.extend(section("inputs", report.inputs.iter().map(input).collect()));
    // A node that needs the result of another node is counted in that node's line.
    let causes: HashSet<&NodeName> = report.nodes.iter().map(|node| &node.node).collect();
    let is_left_out = |node: &&NodeReport| match &node.support {
        NodeSupport::Blocked(cause) => causes.contains(cause),
        _ => false,
    };
    let nodes = report.nodes.iter().filter(|node| !is_left_out(node));
    let nodes = nodes.map(|report| node(report) + &blocked.text(&report.node));
    lines.extend(section("nodes", nodes.collect()));
    lines.extend(section("outputs", report.outputs.iter().map(value).collect()));
    lines.extend(summary(report, &blocked));
    lines.extend(arithmetic(report));
    lines.join("\n")
}

/// The lines on nodes that do not run, or depend on inputs that are not given.
fn summary(report: &Report, blocked: &Blocked) -> Vec<String> {
    let of = |wanted: fn(&NodeSupport) -> bool| {
        let nodes = report.nodes.iter().filter(|node| wanted(&node.support));
        Summary::of(nodes, blocked)
    };
    let mut lines = Vec::new();
    let refused = of(|support| matches!(support, NodeSupport::Unsupported(_)));
    lines.extend(refused.map(|summary| format!("does not run: {summary}")));
    if let Some(open) = of(|support| *support == NodeSupport::Open) {
        let missing = report.inputs.iter().filter(|input| input.requirement.is_some());
        let options = missing.map(|InputReport { value, .. }| {
            open_shape(value).unwrap_or_else(|| format!("--input {}=FILE.npy", value.name))
        });
        let options = options.collect::<Vec<_>>().join(" ");
        let give = if options.is_empty() { "" } else { "; give " };
        lines.push(format!("depends on what is not given: {open}{give}{options}"));
    }
    lines
}

/// Operators with their numbers of nodes, and how many nodes need their results.
struct Summary {
    operators: Vec<String>,
    blocked: usize,
}

impl Summary {
    /// The most frequent operators first; `None` without nodes.
    fn of<'a>(nodes: impl Iterator<Item = &'a NodeReport>, blocked: &Blocked) -> Option<Self> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut names = HashSet::new();
        for report in nodes {
            *counts.entry(&report.node.operator).or_default() += 1;
            names.insert(&report.node);
        }
        let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| Reverse(*count));
        let operators = counts.iter().map(|(operator, count)| format!("{operator} ({count})"));
        let operators: Vec<String> = operators.collect();
        let blocked = names.into_iter().map(|name| blocked.count(name)).sum();
        (!operators.is_empty()).then_some(Self { operators, blocked })
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.operators.join(", "))?;
        match self.blocked {
            0 => Ok(()),
            1 => write!(f, ", and 1 node that needs their results"),
            count => write!(f, ", and {count} nodes that need their results"),
        }
    }
}

/// The number of nodes that need the result of each node that does not run or depends on inputs that are not given.
struct Blocked<'a>(HashMap<&'a NodeName, usize>);

impl<'a> Blocked<'a> {
    fn of(report: &'a Report) -> Self {
        let mut counts: HashMap<&NodeName, usize> = HashMap::new();
        for node in &report.nodes {
            if let NodeSupport::Blocked(cause) = &node.support {
                *counts.entry(cause).or_default() += 1;
            }
        }
        Self(counts)
    }

    fn count(&self, node: &NodeName) -> usize {
        self.0.get(node).copied().unwrap_or(0)
    }

    /// The end of a node's line.
    fn text(&self, node: &NodeName) -> String {
        match self.count(node) {
            0 => String::new(),
            1 => "; 1 node that needs its result is left out".to_owned(),
            count => format!("; {count} nodes that need its result are left out"),
        }
    }
}

/// The model's total operations, if every node runs and all sizes are known.
fn arithmetic(report: &Report) -> Option<String> {
    let runs = |node: &NodeReport| {
        use NodeSupport::{Blocked, Open, Unsupported};
        !matches!(node.support, Unsupported(_) | Blocked(_) | Open)
    };
    if !report.nodes.iter().all(runs) {
        return None;
    }
    let flops: Option<Vec<u64>> = report.nodes.iter().map(|node| node.flops).collect();
    let flops = flops?.into_iter().fold(0, u64::saturating_add);
    Some(format!("flops: {}", scaled(flops)))
}

/// A count with three or four digits, and its unit prefix.
fn scaled(count: u64) -> String {
    const STEPS: [(f64, &str); 4] = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")];
    let number = count as f64;
    match STEPS.iter().find(|(step, _)| number >= *step) {
        Some((step, unit)) => format!("{:.3}{unit}", number / step),
        None => count.to_string(),
    }
}

fn input(input: &InputReport) -> String {
    let needed = input
        .requirement
        .map(|requirement| format!(", needed: {}", option(&input.value, requirement)));
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
    let known =
        report.outputs.iter().filter(|output| output.element.is_some() || output.shape.is_some());
    let outputs: Vec<String> = known.map(kind).collect();
    let arrow = if outputs.is_empty() { "" } else { " -> " };
    let flops =
        report.flops.filter(|flop| *flop > 0).map(|flop| format!(", {} flops", scaled(flop)));
    let support = support_text(&report.support);
    format!("{}{arrow}{}: {support}{}", report.node, outputs.join(", "), flops.unwrap_or_default())
}

/// How a node is run.
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
        NodeSupport::Open => "depends on sizes or values that are not given".to_owned(),
        NodeSupport::Blocked(other) => {
            format!("needs the result of {other}, which does not run or is not known")
        }
        NodeSupport::Unsupported(reason) => format!("does not run: {reason}"),
    }
}

/// The operators as `A + 3 B`: loops repeat operators.
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
