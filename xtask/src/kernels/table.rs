//! The table of kernels: a line for each kernel and family of GPUs.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context as _, Result, ensure};

use super::assembly::Loop;
use super::compiled::Compiled;

const FIRST_LINE: &str = "# Written by `cargo xtask kernels --write`: do not edit. docs/gpu-without-a-gpu.md explains it.";
const COMPILER: &str = "# compiler: ";
const HEADER: [&str; 15] = [
    "family",
    "waves",
    "vgprs",
    "spills",
    "scratch",
    "lds",
    "loops",
    "instructions",
    "float",
    "vector",
    "quarter",
    "scalar",
    "memory",
    "work",
    "kernel",
];

/// What the compiler made of kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    /// The version of Mesa.
    pub(super) compiler: String,
    /// In the order of their first use.
    pub(super) rows: Vec<Row>,
}

/// A kernel on a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) family: String,
    /// The first work that uses it.
    pub(super) work: String,
    pub(super) compiled: Compiled,
}

impl Row {
    fn name(&self) -> (&str, &str) {
        (&self.family, &self.compiled.kernel)
    }

    fn cells(&self) -> [String; HEADER.len()] {
        let it = &self.compiled;
        let counts = &it.longest;
        let number = |number: u32| number.to_string();
        [
            self.family.clone(),
            it.waves.to_string(),
            it.vgprs.to_string(),
            it.spills.to_string(),
            it.scratch.to_string(),
            it.lds.to_string(),
            it.loops.to_string(),
            number(counts.instructions),
            number(counts.float),
            number(counts.other_vector),
            number(counts.quarter_rate),
            number(counts.scalar),
            memory(&counts.memory),
            self.work.clone(),
            it.kernel.clone(),
        ]
    }

    fn parse(line: &str) -> Result<Self> {
        let mut rest = line;
        let mut next = || {
            let trimmed = rest.trim_start();
            let (cell, after) = trimmed.split_once(' ').context("too few columns")?;
            rest = after;
            anyhow::Ok(cell)
        };
        let family = next()?.to_owned();
        let mut numbers = [0_u64; 11];
        for number in &mut numbers {
            *number = next()?.parse()?;
        }
        let (memory, work) = (memory_of(next()?)?, next()?.to_owned());
        let [waves, vgprs, spills, scratch, lds, loops, counts @ ..] = numbers;
        let count = |index: usize| u32::try_from(counts[index]);
        let longest = Loop {
            instructions: count(0)?,
            float: count(1)?,
            other_vector: count(2)?,
            quarter_rate: count(3)?,
            scalar: count(4)?,
            memory,
        };
        let (kernel, loops) = (rest.trim().to_owned(), usize::try_from(loops)?);
        let compiled = Compiled { kernel, vgprs, spills, scratch, lds, waves, loops, longest };
        Ok(Self { family, work, compiled })
    }
}

/// Without spaces: `4*load.b32,1*store.b128`, or `-` where there is no access.
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
    /// Adds what a work was compiled to. A kernel that is there already on this family stays as it is, but where
    /// it became another thing: pipelines of one name may differ in what is linked into them.
    pub(super) fn add(&mut self, family: &str, work: &str, compiled: Vec<Compiled>) {
        for one in compiled {
            let alike =
                |row: &&Row| row.family == family && is_of(&row.compiled.kernel, &one.kernel);
            let known: Vec<&Row> = self.rows.iter().filter(alike).collect();
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
            self.rows.push(Row { family: family.to_owned(), work: work.to_owned(), compiled });
        }
    }

    /// Reads what [`fmt::Display`] wrote.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut table = Self::default();
        for (index, line) in text.lines().enumerate() {
            if let Some(compiler) = line.strip_prefix(COMPILER) {
                compiler.clone_into(&mut table.compiler);
            } else if !line.starts_with('#') {
                let row = Row::parse(line).with_context(|| format!("line {}", index + 1))?;
                table.rows.push(row);
            }
        }
        ensure!(!table.compiler.is_empty(), "there is no line `{COMPILER}...`");
        Ok(table)
    }

    /// The rows of these families alone.
    pub(super) fn of(mut self, families: &[String]) -> Self {
        self.rows.retain(|row| families.contains(&row.family));
        self
    }

    /// Kernels that lie in memory where they should be in registers, a sentence each.
    pub(super) fn spilled(&self) -> Vec<String> {
        let is_bad = |row: &&Row| row.compiled.spills > 0 || row.compiled.scratch > 0;
        let told = |row: &Row| {
            let Compiled { spills, scratch, kernel, .. } = &row.compiled;
            let Row { family, work, .. } = row;
            format!(
                "{family}: {kernel} ({work}): {spills} spilled registers, {scratch} bytes of scratch"
            )
        };
        self.rows.iter().filter(is_bad).map(told).collect()
    }

    /// What is worse than in `before`, a sentence each, and what differs otherwise.
    pub(super) fn compared(&self, before: &Self) -> Comparison {
        let old: BTreeMap<_, _> = before.rows.iter().map(|row| (row.name(), row)).collect();
        let new: BTreeMap<_, _> = self.rows.iter().map(|row| (row.name(), row)).collect();
        let mut found = Comparison::default();
        for row in &self.rows {
            let Row { family, work, compiled: now } = row;
            let shown = format!("{family}: {} ({work})", now.kernel);
            let Some(was) = old.get(&row.name()).map(|it| &it.compiled) else {
                found.differing.push(format!("{shown}: new"));
                continue;
            };
            let [long, was_long] = [now, was].map(|it| it.longest.instructions);
            if now.waves < was.waves {
                found.worse.push(format!("{shown}: {} waves, {} before", now.waves, was.waves));
            }
            if u64::from(long) * 10 > u64::from(was_long) * 11 {
                found.worse.push(format!(
                    "{shown}: {long} instructions in the innermost loop, {was_long} before"
                ));
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

/// Whether `kernel` is `name`, or one of its further forms.
fn is_of(kernel: &str, name: &str) -> bool {
    kernel.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(" #"))
}

/// Two tables side by side.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    /// Fewer waves, or a loop that is longer by more than a tenth.
    pub(super) worse: Vec<String>,
    /// Anything else that a table written anew would show.
    pub(super) differing: Vec<String>,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST_LINE}")?;
        writeln!(f, "{COMPILER}{}", self.compiler)?;
        let header = HEADER.map(str::to_owned);
        let rows: Vec<_> = self.rows.iter().map(Row::cells).collect();
        let width = |column: usize| {
            let extra = if column == 0 { 2 } else { 0 };
            let cells = rows.iter().map(|row| row[column].len());
            cells.chain([HEADER[column].len() + extra]).max().unwrap_or(0)
        };
        let widths: [usize; HEADER.len()] = std::array::from_fn(width);
        let mut line = |start: &str, cells: &[String; HEADER.len()]| {
            let [first, middle @ .., memory, work, kernel] = cells;
            let [first_width, middle_widths @ .., memory_width, work_width, _] = widths;
            write!(f, "{:first_width$}", format!("{start}{first}"))?;
            for (cell, width) in middle.iter().zip(middle_widths) {
                write!(f, "  {cell:>width$}")?;
            }
            writeln!(f, "  {memory:memory_width$}  {work:work_width$}  {kernel}")
        };
        line("# ", &header)?;
        rows.iter().try_for_each(|row| line("", row))
    }
}

#[cfg(test)]
mod tests;
