//! `dml graph`: how a graph of operators is compiled.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use dml::core::graph::ValidatedGraph;
use dml::core::plan::{BindingRequirement, Plan};
use dml::core::schema::FieldKind;
use dml::core::{json, validate_graph};
use dml::ops::graph::{Explanation, compile_graph};
use dml::ops::{Target, TransferUse};
use dml::{Device, ExecutionFlags, GraphDesc, GraphOptions};
use dml_file::{InputFiles, eprintln, stdout};

use crate::files::{printable, write_raw};
use crate::model_inputs::{Usage, shape_text};
use crate::{DeviceArgs, NO_DEVICE, exit_code};

/// The size of the largest accepted file, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The arguments of `dml graph`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Graph in JSON, with the names of DML_GRAPH_DESC's members (docs/graphs.md)
    file: PathBuf,
    /// Print which nodes are fused, which are not and why, and the memory of intermediate results
    #[arg(long)]
    explain: bool,
    /// Write the compiled graph to FILE in Graphviz's DOT language; - prints it instead of the report
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    /// Compile without fusing nodes
    #[arg(long)]
    no_fuse: bool,
    #[command(flatten)]
    device: DeviceArgs,
}

/// A compiled graph: its plan, and the explanation of the compilation.
struct Compiled {
    plan: Plan,
    explanation: Explanation,
}

/// Compiles the graph, and prints and draws the result.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let is_printed = args.dot.as_deref() == Some(Path::new("-"));
    if is_printed && args.explain {
        anyhow::bail!(Usage("--explain and --dot - both print; give --dot a file".to_owned()));
    }
    if let Some(path) = &args.dot {
        let mut read = InputFiles::new();
        read.add(&args.file);
        args.device.profile.add_files(&mut read);
        read.check(path)?;
    }
    let name = || printable(&args.file.display().to_string());
    let desc = read(&args.file).with_context(name)?;
    let level = args.device.name.feature_level;
    let graph = validate_graph(&desc, level).with_context(name)?;
    let Compiled { plan, explanation } = compile(args, &desc, &graph)?;
    if is_printed {
        write!(stdout(), "{}", explanation.to_dot(&graph))?;
        return Ok(());
    }
    if let Some(path) = &args.dot {
        write_raw(path, explanation.to_dot(&graph).as_bytes())?;
    }
    writeln!(stdout(), "{}", text(&graph, &plan))?;
    if args.explain {
        writeln!(stdout(), "\n{explanation}")?;
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<GraphDesc> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    read.context("cannot be read")?;
    let is_whole = u64::try_from(bytes.len()).is_ok_and(|length| length <= MAX_BYTES);
    anyhow::ensure!(is_whole, "too large; accepted: up to {MAX_BYTES} bytes");
    let mut graph = json::graph(&serde_json::from_slice(&bytes).context("not a JSON file")?)?;
    // Names are part of whatever is printed.
    for node in &mut graph.nodes {
        node.name = printable(&node.name).into();
    }
    let inputs = graph.input_edges.iter_mut().map(|input_edge| &mut input_edge.name);
    let outputs = graph.output_edges.iter_mut().map(|output_edge| &mut output_edge.name);
    let others =
        graph.intermediate_edges.iter_mut().map(|intermediate_edge| &mut intermediate_edge.name);
    for name in inputs.chain(outputs).chain(others) {
        *name = printable(name);
    }
    Ok(graph)
}

/// Compiles for the device. If no device is named and there is none, compiles for the profile, or for the least
/// capabilities that Vulkan guarantees.
fn compile(args: &Args, desc: &GraphDesc, graph: &ValidatedGraph) -> anyhow::Result<Compiled> {
    let options = GraphOptions { fuse: !args.no_fuse };
    let on_device = |device: &Device| {
        let compiled = device.compile_graph_with(desc, ExecutionFlags::NONE, options)?;
        let explanation = compiled.explanation().cloned();
        let explanation = explanation.context("a graph has no explanation")?;
        Ok(Compiled { plan: compiled.vulkan().plan().clone(), explanation })
    };
    let is_asked_for = args.device.name.device.is_some() || args.device.validation;
    match args.device.with_device(on_device) {
        Err(error) if exit_code(&error) == NO_DEVICE && !is_asked_for => {}
        result => return result,
    }
    let profile = args.device.profile.chosen()?;
    let what = match &profile {
        Some(profile) => format!("profile {}", profile.name),
        None => "the minimum limits of Vulkan".to_owned(),
    };
    eprintln!("note: no Vulkan device found; compiled for {what}");
    let capabilities = &profile.map(|profile| profile.cap).unwrap_or_default().alone();
    let target = Target {
        capabilities,
        tuning: dml::core::Tuning::new().with_numerics(args.device.numerics.numerics),
        transfer: TransferUse::Allowed,
    };
    let (plan, explanation) = compile_graph(graph, &target, options)?;
    Ok(Compiled { plan, explanation })
}

/// The report: the inputs and outputs to bind, and the work of an execution.
fn text(graph: &ValidatedGraph, plan: &Plan) -> String {
    let mut lines = vec![];
    for (title, kind, all) in
        [("inputs", FieldKind::Input, &plan.inputs), ("outputs", FieldKind::Output, &plan.outputs)]
    {
        lines.push(format!("{title}:"));
        let rows = all.iter().enumerate();
        lines.extend(rows.map(|(index, needs)| binding(graph, kind, index, needs.as_ref())));
    }
    lines.push(format!("steps: {}", plan.exec.len()));
    lines.push(format!("temporary resource: {} bytes", plan.temporary_size));
    lines.push(format!("persistent resource: {} bytes", plan.persistent_size));
    lines.join("\n")
}

fn binding(
    graph: &ValidatedGraph,
    kind: FieldKind,
    index: usize,
    needs: Option<&BindingRequirement>,
) -> String {
    let (Some(tensor), Some(needs)) = (graph.tensor(kind, index), needs) else {
        return format!("  {index}: not read");
    };
    let sizes: Vec<String> = tensor.sizes().iter().map(ToString::to_string).collect();
    let shape = shape_text(Some(&sizes));
    format!("  {index}: {} {shape}, {} bytes", tensor.data_type(), needs.size)
}
