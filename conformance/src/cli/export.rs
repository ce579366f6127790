//! `dml-conformance export`.

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::dxdispatch::export::{Choice, export};
use crate::dxdispatch::manifest::Manifest;
use crate::exit::Usage;
use crate::pattern::Pattern;
use crate::selection::Selection;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Export for Microsoft's DxDispatch into this folder, which is new or empty
    #[arg(long, value_name = "DIR")]
    dxdispatch: PathBuf,
    /// Every case of operators whose names match, in lower case; of the others a sample
    #[arg(long, value_name = "GLOB", default_value = "{diagonal_matrix*,fill_value_*}")]
    whole: Pattern,
    /// How many cases of each other operator
    #[arg(long, value_name = "N", default_value = "8")]
    sample: NonZeroUsize,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    make_empty(&args.dxdispatch)?;
    let cases = args.selection.cases()?;
    let choice = Choice { whole: &args.whole, sample: args.sample };
    let manifest = export(&args.dxdispatch, &cases, &choice)?;
    writeln!(dml_file::stdout(), "{}", summary(&args.dxdispatch, &manifest))?;
    Ok(ExitCode::SUCCESS)
}

/// Cases of two exports in one folder would be taken for one.
fn make_empty(folder: &Path) -> anyhow::Result<()> {
    let usage = |problem: String| Usage(format!("--dxdispatch: {}: {problem}", folder.display()));
    std::fs::create_dir_all(folder).map_err(|error| usage(error.to_string()))?;
    let mut entries = std::fs::read_dir(folder).map_err(|error| usage(error.to_string()))?;
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(usage("is not empty; accepted: a new or an empty folder".to_owned()).into()),
    }
}

fn summary(folder: &Path, manifest: &Manifest) -> String {
    let mut operators: Vec<&str> = manifest.cases.iter().map(|case| &*case.operator).collect();
    operators.sort_unstable();
    operators.dedup();
    let left_out = manifest.left_out.iter().map(|(reason, count)| format!("{count} {reason}"));
    let left_out: Vec<String> = left_out.collect();
    let left_out = if left_out.is_empty() { "none".to_owned() } else { left_out.join(", ") };
    let (cases, folder) = (manifest.cases.len(), folder.display());
    format!("{cases} cases of {} operators in {folder}; left out: {left_out}", operators.len())
}
