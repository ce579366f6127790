//! `cargo xtask kernels`: compiles our kernels with a GPU's compiler, without a GPU.
//!
//! Mesa's RADV compiles for families of GPUs that are not present. The wrapping driver lets whole works run
//! on that null device, and writes the result of each pipeline to a file.

mod assembly;
mod compiled;
mod estimate;
mod parent;
mod peers;
mod table;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use dml_file::{print, println};
use xshell::{Shell, cmd};

use crate::environment::Environment;
use crate::wrapping_driver::{self, Mode};
use crate::{process, programs, setup, workspace};
use compiled::Compiled;
use estimate::{Card, Code, CompiledRun, Runs};
use table::{Comparison, Table};

/// Compile the kernels of the works that budgets are kept for as AMD's GPUs run them, without a GPU, and compare
/// with the checked-in table
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Families of GPUs, as RADV calls them
    #[arg(long, value_delimiter = ',', default_values_t = FAMILIES.map(str::to_owned))]
    pub(crate) families: Vec<String>,
    /// Compare with this table, such as one that the parent commit makes with the same compiler
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["write", "suite"])]
    pub(crate) against: Option<PathBuf>,
    /// Where the checked-in table is of another version of Mesa, look for spilled registers and scratch alone, in
    /// place of comparing with the parent commit, which has to be built
    #[arg(long)]
    pub(crate) without_parent: bool,
    /// Write the checked-in table
    #[arg(long, conflicts_with = "suite")]
    pub(crate) write: bool,
    /// Compile the kernels of the conformance suite at level 6_4 in place of the works', and look for spilled
    /// registers and scratch alone
    #[arg(long)]
    pub(crate) suite: bool,
    /// Compile single nodes by this runtime, ncnn and ONNX Runtime with WebGPU and ggml, and write a page of each
    /// family to docs/benchmarks; installs them in target/peers, 900 MB
    #[arg(long, conflicts_with_all = ["against", "write", "suite"])]
    pub(crate) peers: bool,
    /// Print an estimate of the time of each work on a card of each family. Estimates decide nothing
    #[arg(long, conflicts_with_all = ["suite", "peers"])]
    pub(crate) estimate: bool,
    /// Print estimates beside the times that `cargo xtask budgets --time` has measured, such as
    /// docs/benchmarks/data/works-h100.tsv, and how far off they are
    #[arg(long, value_name = "FILE", conflicts_with_all = ["suite", "peers"])]
    pub(crate) measured: Option<PathBuf>,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            families: FAMILIES.map(str::to_owned).to_vec(),
            against: None,
            without_parent: false,
            write: false,
            suite: false,
            peers: false,
            estimate: false,
            measured: None,
        }
    }
}

/// The families in the checked-in table.
pub(crate) const FAMILIES: [&str; 3] = ["vega10", "navi21", "navi31"];

/// The checked-in table, relative to the workspace.
const TABLE: &str = "xtask/kernels.txt";

/// The exit code of `dml-conformance run` if cases failed, as all do on a device that executes nothing.
const CASES_FAILED: i32 = 1;

/// Runs the command and returns its exit code.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    let measured = args.measured.as_deref();
    let measured =
        measured.map(|file| MeasuredTimes::read(sh, file, &args.families)).transpose()?;
    let driver = setup::radv(sh)?;
    let environment =
        wrapping_driver::around(sh, &driver.path, Mode::Null, driver.environment.clone())?;
    let null_of = |family| Null { environment: environment.clone(), family };
    let nulls: Vec<Null<'_>> =
        args.families.iter().map(|family| null_of(family.as_str())).collect();
    if args.peers {
        peers::write_pages(sh, &nulls, &driver.version)?;
        return Ok(0);
    }
    let mut now = Table { compiler: driver.version, rows: Vec::new() };
    for null in &nulls {
        match args.suite {
            true => null.add_suite(sh, &mut now)?,
            false => {
                let works = null.add_works(sh, &mut now)?;
                print_estimates(args, null.family, &works, measured.as_ref());
            }
        }
    }
    let spilled = now.spilled();
    print_all("in memory instead of registers", &spilled);
    if args.suite {
        println!("{} kernels of the suite with Mesa {}", now.rows.len(), now.compiler);
        return Ok(i32::from(!spilled.is_empty()));
    }
    let made = folder().join("table.txt");
    sh.write_file(&made, now.to_string())?;
    println!("{}: {} kernels with Mesa {}", made.display(), now.rows.len(), now.compiler);
    let checked_in = workspace::root().join(TABLE);
    if args.write {
        sh.write_file(&checked_in, completed(&checked_in, now, &args.families)?.to_string())?;
        return Ok(i32::from(!spilled.is_empty()));
    }
    let given = read(args.against.as_deref().unwrap_or(&checked_in))?;
    let Some(before) = by_this_compiler(sh, given, args, &now)? else {
        return Ok(i32::from(!spilled.is_empty()));
    };
    let Comparison { worse, differing } = now.compared(&before.table.of(&args.families));
    print_all("differs", &differing);
    print_all("worse", &worse);
    let is_stale = before.is_checked_in && !differing.is_empty();
    if is_stale {
        println!(
            "{TABLE} is not what the compiler makes: write it with `cargo xtask kernels --write`"
        );
    }
    Ok(i32::from(is_stale || !worse.is_empty() || !spilled.is_empty()))
}

/// A table to compare with.
struct PreviousTable {
    table: Table,
    /// Whether the table must be equal to that of this run.
    is_checked_in: bool,
}

/// `given`, or, if that is the checked-in table of another compiler, the table of the parent commit with this
/// compiler. `None` if nothing can be compared.
fn by_this_compiler(
    sh: &Shell,
    given: Table,
    args: &Args,
    now: &Table,
) -> Result<Option<PreviousTable>> {
    let is_checked_in = args.against.is_none();
    if given.compiler == now.compiler {
        return Ok(Some(PreviousTable { table: given, is_checked_in }));
    }
    ensure!(is_checked_in, other_compiler(&given.compiler, &now.compiler));
    println!("{TABLE} is of Mesa {}, and this is {}", given.compiler, now.compiler);
    let table = match args.without_parent {
        true => None,
        false => parent::table(sh, &now.compiler)?,
    };
    if table.is_none() {
        println!("without the parent commit, spilled registers and scratch alone are checked");
    }
    Ok(table.map(|table| PreviousTable { table, is_checked_in: false }))
}

fn print_all(what: &str, lines: &[String]) {
    lines.iter().for_each(|line| println!("{what}: {line}"));
}

/// Measured times, and the card on which they were measured.
struct MeasuredTimes {
    runs: Runs,
    card: &'static Card,
}

impl MeasuredTimes {
    fn read(sh: &Shell, file: &Path, families: &[String]) -> Result<Self> {
        let runs: Runs = sh.read_file(file)?.parse().with_context(|| file.display().to_string())?;
        let device = &runs.device;
        let card = Card::measured(device).with_context(|| {
            format!(
                "{}: unknown card {device:?}; the measured card is NVIDIA H100 80GB HBM3",
                file.display()
            )
        })?;
        ensure!(
            families.iter().any(|family| family == card.family),
            "estimates for {device} count the kernels of {}: add it to --families",
            card.family
        );
        Ok(Self { runs, card })
    }
}

/// Prints the estimates that `args` request for the works of a family.
fn print_estimates(
    args: &Args,
    family: &str,
    works: &[CompiledRun],
    measured: Option<&MeasuredTimes>,
) {
    if args.estimate {
        match Card::of_family(family) {
            Some(card) => print!("{}", estimate::estimates(card, works)),
            None => println!("no estimate for {family}; expected vega10, navi21 or navi31"),
        }
    }
    if let Some(MeasuredTimes { runs, card }) = measured
        && card.family == family
    {
        print!("{}", estimate::calibration(card, works, runs));
    }
}

fn read(file: &Path) -> Result<Table> {
    let text = std::fs::read_to_string(file);
    text.map_err(anyhow::Error::from)
        .and_then(|text| Table::parse(&text))
        .with_context(|| file.display().to_string())
}

/// `now` with the rows of other families in the checked-in table.
fn completed(checked_in: &Path, mut now: Table, families: &[String]) -> Result<Table> {
    if !checked_in.is_file() {
        return Ok(now);
    }
    let mut others = read(checked_in)?;
    others.rows.retain(|row| !families.contains(&row.family));
    ensure!(
        others.rows.is_empty() || others.compiler == now.compiler,
        "{TABLE} has rows of other families by Mesa {}, and this is {}: leave out --families",
        others.compiler,
        now.compiler
    );
    now.rows.extend(others.rows);
    Ok(now)
}

fn other_compiler(before: &str, now: &str) -> String {
    format!(
        "the given table is of Mesa {before}, and this is {now}: a difference may be the compiler's. Give one that \
         this compiler has made: `cargo xtask kernels` in another checkout writes {}",
        folder().join("table.txt").display()
    )
}

/// The folder for the files of runs.
fn folder() -> PathBuf {
    workspace::target_dir().join("kernels")
}

/// RADV's null device of one family.
struct Null<'a> {
    environment: Environment,
    family: &'a str,
}

impl Null<'_> {
    /// Runs each work in its own process, because each has its own pipelines. Returns the works' commands,
    /// and their compiled kernels.
    fn add_works(&self, sh: &Shell, table: &mut Table) -> Result<Vec<CompiledRun>> {
        let program = programs::example(sh, "dml-bench", "compile_works")?;
        let works = cmd!(sh, "{program}").quiet().read()?;
        ensure!(!works.is_empty(), "there are no works");
        let mut compiled_runs = Vec::new();
        for work in works.lines() {
            let mut planned = String::new();
            let compiled = self.compiled(sh, work, |environment| {
                let command = cmd!(sh, "{program} {work}");
                eprintln!("$ {command}");
                planned = environment.apply(command.quiet()).read()?;
                Ok(())
            })?;
            let run = planned.parse::<Runs>()?.runs.pop();
            let run = run.with_context(|| format!("compile_works printed no plan for {work}"))?;
            let kernel_of = |(compiled, assembly): &(Compiled, String)| {
                (compiled.kernel.clone(), Code::new(compiled, &assembly::sections(assembly)))
            };
            // The first of several pipelines with one name is kept.
            let kernels = compiled.iter().rev().map(kernel_of).collect();
            compiled_runs.push(CompiledRun { run, kernels });
            table.add(self.family, work, compiled.into_iter().map(|(one, _)| one).collect());
        }
        Ok(compiled_runs)
    }

    fn add_suite(&self, sh: &Shell, table: &mut Table) -> Result<()> {
        let program = programs::build(sh, "dml-conformance", "dml-conformance")?;
        let options = ["--feature-level", "6_4", "--device", "0"];
        let compiled = self.compiled(sh, "suite", |environment| {
            let command = environment.apply(cmd!(sh, "{program} run {options...}")).ignore_stdout();
            let code = process::exit_code(command)?;
            ensure!(code == CASES_FAILED, "the suite ended with {code}");
            Ok(())
        })?;
        table.add(self.family, "suite", compiled.into_iter().map(|(one, _)| one).collect());
        Ok(())
    }

    /// The kernels, with their assembly, that are compiled while `run` runs programs in the environment that
    /// it gets.
    fn compiled(
        &self,
        sh: &Shell,
        name: &str,
        run: impl FnOnce(Environment) -> Result<()>,
    ) -> Result<Vec<(Compiled, String)>> {
        let (environment, output) = self.fresh(sh, Path::new(name))?;
        run(environment)?;
        let compiled = compiled::read_with_assembly(&output)?;
        ensure!(!compiled.is_empty(), "{name} has compiled nothing for {}", self.family);
        Ok(compiled)
    }

    /// An environment in which the driver writes to an empty folder, and that folder.
    fn fresh(&self, sh: &Shell, name: &Path) -> Result<(Environment, PathBuf)> {
        let output = folder().join(self.family).join(name);
        sh.remove_path(&output)?;
        sh.create_dir(&output)?;
        let environment = self
            .environment
            .clone()
            .with("RADV_FORCE_FAMILY", self.family)
            .with("RADV_DEBUG", "nocache")
            .with("DML_DRIVER_OUTPUT", &output);
        Ok((environment, output))
    }
}
