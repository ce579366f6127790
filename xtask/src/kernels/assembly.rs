//! The loops of a kernel, counted in the assembly from RADV's compiler.
//!
//! A block begins at its label, and a jump to a label at or above it ends a loop. Innermost loops take most
//! of the time.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The instructions of an invocation in one iteration of a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Loop {
    /// Instructions, except waits and hints.
    pub(super) instructions: u32,
    /// Sums, products, minima and maxima of floats, and dot products. An instruction with two operations
    /// counts twice, here and in `other_vector`.
    pub(super) float: u32,
    /// Other vector operations at full rate: addresses, conversions, selections.
    pub(super) other_vector: u32,
    /// Vector operations at a quarter of the rate or less: integer products of 32 bits, transcendental
    /// functions, doubles.
    pub(super) quarter_rate: u32,
    /// Operations for all invocations at once, including jumps.
    pub(super) scalar: u32,
    /// Reads and writes, by kind and width, such as `load.b128`.
    pub(super) memory: BTreeMap<String, u32>,
}

/// A loop without its inner loops, or a kernel without its loops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    /// The instructions of one iteration, including those in branches that are not always taken.
    pub(super) own: Loop,
    /// The number of fused products and sums in `own.float`.
    pub(super) fused: u32,
    /// The index of the section around it; `None` for the whole kernel.
    pub(super) parent: Option<usize>,
}

/// The class of an instruction.
#[derive(Debug, PartialEq, Eq)]
enum Class {
    Float,
    OtherVector,
    QuarterRate,
    Scalar,
    Memory(String),
    /// Waits and hints, and unknown instructions.
    Nothing,
}

/// The innermost loops, in the order of the code.
pub(super) fn innermost_loops(assembly: &str) -> Vec<Loop> {
    let blocks = blocks(assembly);
    let loops = ranges(&blocks);
    let contains = |outer: &RangeInclusive<usize>, inner: &RangeInclusive<usize>| {
        outer != inner && outer.start() <= inner.start() && inner.end() <= outer.end()
    };
    let is_innermost =
        |outer: &&RangeInclusive<usize>| !loops.iter().any(|inner| contains(outer, inner));
    loops.iter().filter(is_innermost).map(|range| count(blocks[range.clone()].iter())).collect()
}

/// The whole kernel, then its loops, in the order of the code; a loop comes after the one that contains it.
pub(super) fn sections(assembly: &str) -> Vec<Section> {
    let blocks = blocks(assembly);
    let mut ranges = ranges(&blocks);
    ranges.insert(0, 0..=blocks.len().saturating_sub(1));
    // The innermost section of each block: ranges are ordered by their starts, so later ones are further in.
    let section_of = |block: usize| ranges.iter().rposition(|range| range.contains(&block));
    let section = |(index, range): (usize, &RangeInclusive<usize>)| {
        let own = range.clone().filter(|block| section_of(*block) == Some(index));
        let own: Vec<&Block<'_>> = own.filter_map(|block| blocks.get(block)).collect();
        let parent = ranges[..index].iter().rposition(|outer| outer.contains(range.end()));
        Section { own: count(own.iter().copied()), fused: fused(&own), parent }
    };
    ranges.iter().enumerate().map(section).collect()
}

struct Block<'a> {
    label: &'a str,
    instructions: Vec<&'a str>,
}

fn blocks(assembly: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for line in assembly.lines() {
        let code = line.split_once(';').map_or(line, |(code, _)| code).trim();
        if let Some(label) = code.strip_suffix(':').filter(|it| it.starts_with("BB")) {
            blocks.push(Block { label, instructions: Vec::new() });
        } else if let Some(block) = blocks.last_mut()
            && !code.is_empty()
        {
            block.instructions.push(code);
        }
    }
    blocks
}

/// The blocks of each loop. Several jumps to one label are one loop, as with `continue`.
fn ranges(blocks: &[Block<'_>]) -> Vec<RangeInclusive<usize>> {
    let mut ends = BTreeMap::new();
    for (index, block) in blocks.iter().enumerate() {
        for target in block.instructions.iter().filter_map(|instruction| jump(instruction)) {
            if let Some(start) = blocks[..=index].iter().position(|it| it.label == target) {
                ends.insert(start, index);
            }
        }
    }
    ends.into_iter().map(|(start, end)| start..=end).collect()
}

/// The label that an instruction jumps to.
fn jump(instruction: &str) -> Option<&str> {
    let (operation, target) = instruction.split_once(char::is_whitespace)?;
    let jumps = operation.starts_with("s_branch") || operation.starts_with("s_cbranch");
    jumps.then(|| target.trim())
}

/// The number of fused products and sums.
fn fused(blocks: &[&Block<'_>]) -> u32 {
    let instructions = blocks.iter().flat_map(|block| &block.instructions);
    let operations = instructions.flat_map(|instruction| instruction.split("::"));
    let is_fused = |operation: &&str| {
        let name = operation.trim_start().strip_prefix("v_").unwrap_or_default();
        let name = name.strip_prefix("dual_").unwrap_or(name);
        let name = name.strip_prefix("pk_").unwrap_or(name);
        FUSED.iter().any(|prefix| name.starts_with(prefix)) && !name.contains("f64")
    };
    operations.filter(is_fused).fold(0, |count, _| count + 1)
}

fn count<'a>(blocks: impl Iterator<Item = &'a Block<'a>>) -> Loop {
    let mut found = Loop::default();
    for instruction in blocks.flat_map(|block| &block.instructions) {
        let mut counts = false;
        for operation in instruction.split("::") {
            let Some(name) = operation.split_whitespace().next() else { continue };
            let class = class(name);
            counts |= class != Class::Nothing;
            match class {
                Class::Float => found.float += 1,
                Class::OtherVector => found.other_vector += 1,
                Class::QuarterRate => found.quarter_rate += 1,
                Class::Scalar => found.scalar += 1,
                Class::Memory(kind) => *found.memory.entry(kind).or_default() += 1,
                Class::Nothing => {}
            }
        }
        found.instructions += u32::from(counts);
    }
    found
}

const HINTS: [&str; 7] =
    ["s_wait", "s_delay", "s_nop", "s_clause", "s_inst_prefetch", "s_sendmsg", "s_endpgm"];
const FLOAT: [&str; 13] = [
    "add_f",
    "sub_f",
    "subrev_f",
    "mul_f",
    "mul_legacy_f",
    "max_f",
    "min_f",
    "fma",
    "mac_f",
    "mad_f",
    "mad_mix",
    "dot",
    "wmma",
];
/// The prefixes in [`FLOAT`] of fused products and sums.
const FUSED: [&str; 4] = ["fma", "mac_f", "mad_f", "mad_mix"];
const QUARTER_RATE: [&str; 13] = [
    "mul_lo_u32",
    "mul_lo_i32",
    "mul_hi_u32",
    "mul_hi_i32",
    "mad_u64",
    "mad_i64",
    "rcp_",
    "rsq_",
    "sqrt_",
    "exp_",
    "log_",
    "sin_",
    "cos_",
];

fn class(name: &str) -> Class {
    let starts =
        |prefixes: &[&str], text: &str| prefixes.iter().any(|prefix| text.starts_with(prefix));
    if let Some(kind) = memory(name) {
        return Class::Memory(kind);
    }
    if let Some(operation) = name.strip_prefix("v_") {
        let operation = operation.strip_prefix("dual_").unwrap_or(operation);
        let operation = operation.strip_prefix("pk_").unwrap_or(operation);
        let is_double = operation.contains("f64");
        // Products of 24 bits, such as `v_mul_hi_u32_u24`, are at full rate.
        let is_slow = starts(&QUARTER_RATE, operation) && !operation.contains("24");
        return if is_double || is_slow {
            Class::QuarterRate
        } else if starts(&FLOAT, operation) {
            Class::Float
        } else {
            Class::OtherVector
        };
    }
    match name.starts_with("s_") && !starts(&HINTS, name) {
        true => Class::Scalar,
        false => Class::Nothing,
    }
}

/// The kind and the width of an instruction's memory access, if it has one.
fn memory(name: &str) -> Option<String> {
    let (space, rest) = [
        ("lds", "ds_"),
        ("scalar", "s_buffer_"),
        ("scalar", "s_"),
        ("scratch", "scratch_"),
        ("", "buffer_"),
        ("", "global_"),
        ("", "flat_"),
    ]
    .into_iter()
    .find_map(|(space, prefix)| Some((space, name.strip_prefix(prefix)?)))?;
    let (access, width) = rest.split_once('_')?;
    let two = ["2addr_stride64_", "2addr_"].into_iter().find_map(|it| width.strip_prefix(it));
    let of_two = if two.is_some() { "x2" } else { "" };
    let width = two.unwrap_or(width);
    let (access, pairs) = match access {
        "load" | "read" => ("load", of_two),
        "store" | "write" => ("store", of_two),
        "load2" | "read2" | "read2st64" => ("load", "x2"),
        "store2" | "write2" | "write2st64" => ("store", "x2"),
        "atomic" | "add" | "max" | "min" | "and" | "or" | "cmpst" if space != "scalar" => {
            return Some(joined(space, "atomic", ""));
        }
        _ => return None,
    };
    Some(joined(space, access, &format!(".{}{pairs}", bits(width))))
}

fn joined(space: &str, access: &str, width: &str) -> String {
    match space {
        "" => format!("{access}{width}"),
        _ => format!("{space}-{access}{width}"),
    }
}

/// A width in the notation of newer assemblers, for those that count words of 32 bits.
fn bits(width: &str) -> &str {
    let first = width.split('_').next().unwrap_or(width);
    match first {
        "dword" => "b32",
        "dwordx2" => "b64",
        "dwordx3" => "b96",
        "dwordx4" => "b128",
        "dwordx8" => "b256",
        "dwordx16" => "b512",
        "ushort" | "sshort" | "short" | "u16" | "i16" | "d16" => "b16",
        "ubyte" | "sbyte" | "byte" | "u8" | "i8" => "b8",
        other => other,
    }
}

#[cfg(test)]
mod tests;
