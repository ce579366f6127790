//! The table of kernels: a line for each kernel and family of GPUs.

use std::collections::BTreeMap;
use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use anyhow::{Context as _, Result, ensure};

use super::assembly::Loop;
use super::compiled::Compiled;

const FIRST_LINE: &str = "# Written by `cargo xtask kernels --write`: do not edit. docs/gpu-without-a-gpu.md explains it.";
const COMPILER: &str = "# compiler: ";
/// The columns of a kernel; its name, which has spaces, is last.
const KERNEL: [&str; 8] =
    ["family", "waves", "vgprs", "spills", "scratch", "lds", "work", "kernel"];
/// The columns of its innermost loops, in separate lines.
const LOOP: [&str; 7] = ["loop", "instructions", "float", "vector", "quarter", "scalar", "memory"];

/// The compiled kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    /// The version of Mesa.
    pub(super) compiler: String,
    /// The rows, in the order of their first use.
    pub(super) rows: Vec<KernelEntry>,
}

/// A kernel compiled for a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KernelEntry {
    pub(super) family: String,
    /// The first work that uses it.
    pub(super) work: String,
    pub(super) compiled: Compiled,
}

impl KernelEntry {
    fn name(&self) -> (&str, &str) {
        (&self.family, &self.compiled.kernel)
    }

    fn cells(&self) -> [String; KERNEL.len()] {
        let it = &self.compiled;
        let [waves, vgprs, spills, scratch, lds] =
            [it.waves, it.vgprs, it.spills, it.scratch, it.lds].map(|number| number.to_string());
        let (family, work, kernel) = (self.family.clone(), self.work.clone(), it.kernel.clone());
        [family, waves, vgprs, spills, scratch, lds, work, kernel]
    }

    fn parse(line: &str) -> Result<Self> {
        let mut cells = Cells(line);
        let family = cells.next()?.to_owned();
        let (waves, vgprs, spills) = (cells.number()?, cells.number()?, cells.number()?);
        let (scratch, lds) = (cells.number()?, cells.number()?);
        let work = cells.next()?.to_owned();
        let (kernel, loops) = (cells.0.trim().to_owned(), Vec::new());
        ensure!(!kernel.is_empty(), "too few columns");
        let compiled = Compiled { kernel, vgprs, spills, scratch, lds, waves, loops };
        Ok(Self { family, work, compiled })
    }
}

/// The rest of a line.
struct Cells<'a>(&'a str);

impl<'a> Cells<'a> {
    fn next(&mut self) -> Result<&'a str> {
        let rest = self.0.trim_start();
        let end = rest.find(' ').unwrap_or(rest.len());
        let (cell, rest) = rest.split_at(end);
        self.0 = rest;
        ensure!(!cell.is_empty(), "too few columns");
        Ok(cell)
    }

    fn number<T: FromStr<Err = ParseIntError>>(&mut self) -> Result<T> {
        let cell = self.next()?;
        cell.parse().with_context(|| format!("{cell} is not a number"))
    }
}

fn loop_cells(it: &Loop) -> [String; LOOP.len()] {
    let counts = [it.instructions, it.float, it.other_vector, it.quarter_rate, it.scalar];
    let [instructions, float, vector, quarter, scalar] = counts.map(|number| number.to_string());
    [LOOP[0].to_owned(), instructions, float, vector, quarter, scalar, memory(&it.memory)]
}

/// A loop from the columns after the first.
fn loop_of(line: &str) -> Result<Loop> {
    let mut cells = Cells(line);
    let (instructions, float) = (cells.number()?, cells.number()?);
    let (other_vector, quarter_rate) = (cells.number()?, cells.number()?);
    let (scalar, memory) = (cells.number()?, memory_of(cells.next()?)?);
    Ok(Loop { instructions, float, other_vector, quarter_rate, scalar, memory })
}

/// Accesses without spaces: `4*load.b32,1*store.b128`, or `-` if there are none.
fn memory(accesses: &BTreeMap<String, u32>) -> String {
    let shown: Vec<_> = accesses.iter().map(|(kind, count)| format!("{count}*{kind}")).collect();
    if shown.is_empty() { "-".to_owned() } else { shown.join(",") }
}

fn memory_of(text: &str) -> Result<BTreeMap<String, u32>> {
    let accesses = text.split(',').filter(|it| *it != "-");
    accesses
        .map(|access| {
            let (count, kind) = access.split_once('*').context("an access without a count")?;
            Ok((kind.to_owned(), count.parse()?))
        })
        .collect()
}

impl Table {
    /// Adds the compiled kernels of a work. A kernel that is already in the table for this family stays as it
    /// is, unless it differs: pipelines of one name may have different functions linked into them.
    pub(super) fn add(&mut self, family: &str, work: &str, compiled: Vec<Compiled>) {
        for one in compiled {
            let alike = |row: &&KernelEntry| {
                row.family == family && is_of(&row.compiled.kernel, &one.kernel)
            };
            let known: Vec<&KernelEntry> = self.rows.iter().filter(alike).collect();
            let is_known = known
                .iter()
                .any(|row| Compiled { kernel: one.kernel.clone(), ..row.compiled.clone() } == one);
            if is_known {
                continue;
            }
            let kernel = match known.len() {
                0 => one.kernel.clone(),
                count => format!("{} #{}", one.kernel, count + 1),
            };
            let compiled = Compiled { kernel, ..one };
            self.rows.push(KernelEntry {
                family: family.to_owned(),
                work: work.to_owned(),
                compiled,
            });
        }
    }

    /// Parses the text of [`fmt::Display`].
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut table = Self::default();
        for (index, line) in text.lines().enumerate() {
            if let Some(compiler) = line.strip_prefix(COMPILER) {
                compiler.clone_into(&mut table.compiler);
            } else if !line.starts_with('#') {
                table.parse_line(line).with_context(|| format!("line {}", index + 1))?;
            }
        }
        ensure!(!table.compiler.is_empty(), "there is no line `{COMPILER}...`");
        Ok(table)
    }

    fn parse_line(&mut self, line: &str) -> Result<()> {
        match line.trim_start().strip_prefix(LOOP[0]) {
            Some(rest) => {
                let row = self.rows.last_mut().context("a loop without a kernel")?;
                row.compiled.loops.push(loop_of(rest)?);
            }
            None => self.rows.push(KernelEntry::parse(line)?),
        }
        Ok(())
    }

    /// Only the rows of these families.
    pub(super) fn of(mut self, families: &[String]) -> Self {
        self.rows.retain(|row| families.contains(&row.family));
        self
    }

    /// Kernels with values in memory that should be in registers, one sentence each.
    pub(super) fn spilled(&self) -> Vec<String> {
        let is_bad = |row: &&KernelEntry| row.compiled.spills > 0 || row.compiled.scratch > 0;
        let told = |row: &KernelEntry| {
            let Compiled { spills, scratch, kernel, .. } = &row.compiled;
            let KernelEntry { family, work, .. } = row;
            format!(
                "{family}: {kernel} ({work}): {spills} spilled registers, {scratch} bytes of scratch"
            )
        };
        self.rows.iter().filter(is_bad).map(told).collect()
    }

    /// The deteriorations compared with `before`, one sentence each, and the other differences.
    pub(super) fn compared(&self, before: &Self) -> Comparison {
        let old: BTreeMap<_, _> = before.rows.iter().map(|row| (row.name(), row)).collect();
        let new: BTreeMap<_, _> = self.rows.iter().map(|row| (row.name(), row)).collect();
        let mut found = Comparison::default();
        for row in &self.rows {
            let KernelEntry { family, work, compiled: now } = row;
            let shown = format!("{family}: {} ({work})", now.kernel);
            let Some(was) = old.get(&row.name()).map(|it| &it.compiled) else {
                found.differing.push(format!("{shown}: new"));
                continue;
            };
            if now.waves < was.waves {
                found.worse.push(format!("{shown}: {} waves, {} before", now.waves, was.waves));
            }
            for (long, was_long) in lengths(&now.loops, &was.loops) {
                if u64::from(long) * 10 > u64::from(was_long) * 11 {
                    found.worse.push(format!(
                        "{shown}: {long} instructions in an innermost loop, {was_long} before"
                    ));
                }
            }
            if now != was {
                found.differing.push(format!("{shown}: changed"));
            }
        }
        let gone = before.rows.iter().filter(|row| !new.contains_key(&row.name()));
        found
            .differing
            .extend(gone.map(|row| format!("{}: {}: gone", row.family, row.compiled.kernel)));
        found
    }
}

/// The instructions of loops, paired with those before: one by one if there are as many, otherwise only the
/// longest.
fn lengths(now: &[Loop], before: &[Loop]) -> Vec<(u32, u32)> {
    let length = |it: &Loop| it.instructions;
    if now.len() == before.len() {
        return now.iter().map(length).zip(before.iter().map(length)).collect();
    }
    let longest = |loops: &[Loop]| loops.iter().map(length).max();
    longest(now).zip(longest(before)).into_iter().collect()
}

/// Whether `kernel` is `name`, or a further variant of it.
fn is_of(kernel: &str, name: &str) -> bool {
    kernel.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(" #"))
}

/// The comparison of two tables.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    /// Kernels with fewer waves, or a loop that is longer by more than a tenth.
    pub(super) worse: Vec<String>,
    /// Any other difference of a newly written table.
    pub(super) differing: Vec<String>,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST_LINE}")?;
        writeln!(f, "{COMPILER}{}", self.compiler)?;
        let kernels: Vec<_> = self.rows.iter().map(KernelEntry::cells).collect();
        let loops =
            |row: &KernelEntry| row.compiled.loops.iter().map(loop_cells).collect::<Vec<_>>();
        let loops: Vec<_> = self.rows.iter().map(loops).collect();
        let heading = KERNEL.map(str::to_owned);
        let kernel_widths = widths(kernels.iter().chain([&heading]));
        let loop_heading = LOOP.map(str::to_owned);
        let loop_widths = widths(loops.iter().flatten().chain([&loop_heading]));
        write_line(f, "# ", &heading, &kernel_widths)?;
        write_line(f, "#   ", &loop_heading, &loop_widths)?;
        for (kernel, loops) in kernels.iter().zip(&loops) {
            write_line(f, "", kernel, &kernel_widths)?;
            for one in loops {
                write_line(f, "    ", one, &loop_widths)?;
            }
        }
        Ok(())
    }
}

/// The width of each column.
fn widths<'a, const N: usize>(rows: impl Iterator<Item = &'a [String; N]>) -> [usize; N] {
    rows.fold([0; N], |widths, row| std::array::from_fn(|at| widths[at].max(row[at].len())))
}

/// Numbers are aligned right, texts left; the last column has no padding.
fn write_line<const N: usize>(
    f: &mut fmt::Formatter<'_>,
    start: &str,
    cells: &[String; N],
    widths: &[usize; N],
) -> fmt::Result {
    write!(f, "{start}")?;
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let is_text = column == 0 || cell.starts_with(|it: char| !it.is_ascii_digit());
        match () {
            () if column + 1 == N => writeln!(f, "{cell}")?,
            () if is_text => write!(f, "{cell:width$}  ")?,
            () => write!(f, "{cell:>width$}  ")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
