//! Programs as text, a line for each buffer and node.

use std::collections::HashSet;
use std::fmt;

use dml_spirv::element_wise::{DIMENSIONS, ElementFormula as Functions, Value};
use dml_spirv::reduce::Reducer;

use super::buffer::{Buffer, Content, Stage};
use super::contraction::Sums;
use super::cost::NodeCost;
use super::node::{Band, Fill, Map, Node, Recorded, Reduce, RowGroup, RowOrder};
use super::numbers::Numbers;
use super::ordered::Sort;
use super::program::{Binding, Program};
use super::space::{IterationSpace, Operand};

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(at) => write!(f, "input {at}"),
            Self::Output(at) => write!(f, "output {at}"),
            Self::Local(at) => write!(f, "%{at}"),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.operator)?;
        bindings(f, &self.inputs, Buffer::Input)?;
        bindings(f, &self.outputs, Buffer::Output)?;
        write!(f, "{}", self.texts([self.nodes.as_slice()]).concat())
    }
}

impl Program {
    /// Parts of the nodes as text, in order, each with the local buffers that it is the first to use.
    pub(crate) fn texts<'a>(&self, parts: impl IntoIterator<Item = &'a [Recorded]>) -> Vec<String> {
        let mut known: HashSet<Buffer> = HashSet::new();
        let text = |nodes: &[Recorded]| {
            let mut text = String::new();
            for Recorded { node, .. } in nodes {
                let mut new = [&*node.reads(), &*node.writes()].concat();
                new.retain(|it| known.insert(*it));
                new.sort_unstable();
                for buffer in new {
                    if let Buffer::Local(at) = buffer {
                        text += &format!("  {buffer} = {}\n", self.locals[at]);
                    }
                }
                text += &format!("  {node}\n    {}\n", node.cost());
            }
            text
        };
        parts.into_iter().map(text).collect()
    }
}

fn bindings(
    f: &mut fmt::Formatter<'_>,
    all: &[Option<Binding>],
    buffer: fn(u32) -> Buffer,
) -> fmt::Result {
    for (at, binding) in (0..).zip(all) {
        let Some(Binding { requirement, tensor, .. }) = binding else { continue };
        let field =
            if requirement.field.is_empty() { "" } else { &format!("{} ", requirement.field) };
        let (data_type, sizes) = (tensor.data_type(), tensor.sizes());
        writeln!(f, "  {} = {field}{data_type} {sizes:?}", buffer(at))?;
    }
    Ok(())
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant { bytes, .. } => {
                let shown: String =
                    bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
                let rest = if bytes.len() > 8 { "..." } else { "" };
                write!(f, "constant 0x{shown}{rest}, {} bytes", bytes.len())
            }
            Self::Computed { width, count, stage } => {
                let when = match stage {
                    Stage::Execution => "",
                    Stage::Compilation | Stage::Initialization => ", made at initialization",
                };
                write!(f, "{count} elements of {} bits{when}", width.bits())
            }
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Map(Map { space, computation }) => {
                write!(f, "{} = map {}", written(space), called(&computation.program))?;
                reads(f, space)
            }
            Self::Reduce(Reduce { space, reduction, order, grids }) => {
                let name = match (grids, order) {
                    (Some(_), _) => "reduce grids",
                    (None, RowOrder::Flattened) => "reduce",
                    (None, RowOrder::Nested) => "reduce windows",
                };
                let (before, reducer) = (called(&reduction.program), joined(reduction.reducer));
                write!(f, "{} = {name} {reducer} of {before}", written(space))?;
                if !reduction.last.steps.is_empty() {
                    write!(f, ", then {}", called(&reduction.last))?;
                }
                if reduction.second.is_some() {
                    write!(f, ", with a second result in the last operand")?;
                }
                reads(f, space)
            }
            Self::Contract(all) => {
                let sums: Vec<String> = all.iter().map(contraction).collect();
                write!(f, "{}", sums.join("\n  "))
            }
            Self::ContractWhole(of) => {
                let [rows, columns, sums] = of.operands.each_ref().map(|it| buffer(&it.place));
                let [m, n, k] = of.sizes;
                write!(f, "{sums} = contract in any order {rows} by {columns}, [{m}, {n}, {k}]")
            }
            Self::Move(space) => {
                write!(f, "{} = move", written(space))?;
                reads(f, space)
            }
            Self::Scan(scan) => {
                let results: Vec<String> = scan.results.iter().map(buffer).collect();
                let (joins, elements) = (joins(scan.reducer), buffer(&scan.elements));
                let ([rows, length, columns], results) = (scan.sizes, results.join(", "));
                let sizes = format!("[{rows}, {length}, {columns}]");
                write!(f, "{results} = scan {joins} along dimension 1 of {sizes} ({elements})")
            }
            Self::Sort(Sort { rows, length, wanted, numbers, result }) => {
                let [length, wanted] = [length, wanted].map(|it| 1_u64 << it);
                let [numbers, result] = [numbers, result].map(buffer);
                write!(f, "{result} = sort the least {wanted} of [{rows}, {length}] ({numbers})")
            }
            Self::Attention(group) => {
                write!(f, "attention")?;
                group.members.iter().try_for_each(|member| write!(f, "\n    {}", member.node))
            }
            Self::Rows(RowGroup { members, .. }) => {
                write!(f, "rows")?;
                members.iter().try_for_each(|member| write!(f, "\n    {}", member.node))
            }
            Self::Fill(Fill { output, value, width }) => {
                write!(f, "{} = fill {value:#x} of {} bits", output.buffer, width.bits())
            }
            Self::Band(Band { input, output, begin, end, value }) => {
                let around =
                    input.as_ref().map_or(String::from("zeros"), |it| it.buffer.to_string());
                let output = output.buffer;
                write!(f, "{output} = band {value:#x} in diagonals {begin}..{end} on {around}")
            }
        }
    }
}

impl fmt::Display for NodeCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { work, invocations } = self;
        let (bytes, operations) = (work.bytes, work.operations);
        write!(f, "{bytes} bytes, {operations} operations, {invocations} invocations")
    }
}

/// The output's view, with the sizes that are more than 1.
fn written(space: &IterationSpace) -> String {
    format!("{} over {:?}", view(&space.output, &space.sizes), used(&space.sizes))
}

fn used(sizes: &[u32; DIMENSIONS]) -> Vec<u32> {
    let first = sizes.iter().position(|size| *size > 1).unwrap_or(DIMENSIONS);
    sizes[first..].to_vec()
}

fn reads(f: &mut fmt::Formatter<'_>, space: &IterationSpace) -> fmt::Result {
    let views: Vec<String> = space.inputs.iter().map(|input| view(input, &space.sizes)).collect();
    if views.is_empty() { Ok(()) } else { write!(f, " ({})", views.join(", ")) }
}

fn buffer(operand: &Operand) -> String {
    operand.buffer.map_or_else(|| String::from("numbers"), |it| it.to_string())
}

/// A buffer and its view: the first element if it is not 0, and strides if they are not those of packed elements.
fn view(operand: &Operand, sizes: &[u32; DIMENSIONS]) -> String {
    let mut text = buffer(operand);
    if operand.base != 0 {
        text += &format!("+{}", operand.base);
    }
    let packed = operand.clone().packed(sizes);
    if !operand.lies_as(&packed, sizes) {
        let first = sizes.iter().position(|size| *size > 1).unwrap_or(DIMENSIONS);
        text += &format!(" by {:?}", &operand.strides[first..]);
    }
    if let Some(displacement) = operand.displacement {
        text += &format!(" displaced by {}", value(displacement.by));
    }
    if let Some(second) = operand.second {
        text += &format!(" and {} at +{}", value(second.value), second.distance);
    }
    text
}

fn value(value: Value) -> String {
    match value {
        Value::Input(at) => format!("i{at}"),
        Value::Result(at) => format!("r{at}"),
        Value::Parameter(at) => format!("p{at}"),
    }
}

/// How two states are joined.
fn joins(reducer: &Reducer) -> String {
    reducer.joins().iter().map(|join| join.name).collect::<Vec<_>>().join(" ")
}

/// The functions that join a row's elements, and the one that makes the result.
fn joined(reducer: &Reducer) -> String {
    let functions = reducer.joins().iter().chain(reducer.results());
    functions.map(|function| function.name).collect::<Vec<_>>().join(" ")
}

/// The functions of a program, in their order.
fn called(program: &Functions) -> String {
    let names: Vec<&str> = program.steps.iter().map(|step| step.function.name).collect();
    if names.is_empty() { String::from("same") } else { names.join(" ") }
}

fn contraction(sums: &Sums) -> String {
    let sizes = |all: &[super::Dimension]| all.iter().map(|it| it.size).collect::<Vec<_>>();
    let [rows, columns, output] = sums.places.map(|place| match place.base {
        0 => place.buffer.to_string(),
        base => format!("{}+{base}", place.buffer),
    });
    let what = match (sums.goes_on, &sums.numbers) {
        (true, _) => "contract on from there",
        (false, Numbers::Bytes(_)) => "contract four bytes of",
        (false, _) => "contract",
    };
    format!(
        "{output} = {what} {rows} by {columns}: batches {:?}, rows {}, columns {:?}, depths {:?}",
        sizes(&sums.batches),
        sums.row.size,
        sizes(&sums.columns),
        sizes(&sums.depths)
    )
}
