//! `dml-conformance show`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::options::{PlaceArgs, PoolArgs, parse_devices};
use crate::cases::{CaseId, Finder, Listed, Listing};
use crate::dump;
use crate::execute::Details;
use crate::exit::{self, Usage};
use crate::report::show::side_by_side;
use crate::runner::{run_in_process, run_isolated};
use crate::selection::no_such_case;
use crate::target::Devices;
use crate::worker;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The id of the case, such as a report prints it
    id: CaseId,
    /// A device by index, name or UUID; or interpreter, which needs no Vulkan
    #[arg(
        long,
        value_name = "D|interpreter",
        default_value = "best",
        value_parser = parse_devices
    )]
    device: Devices,
    /// Also write each kernel's SPIR-V, and what each dispatch gets and gives, into this folder, which must be
    /// new or empty: what a report of a driver's mistake needs
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    how: PoolArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let case = Finder::default()
        .find(&args.id)
        .ok_or_else(|| Usage(format!("{}; `list` prints the ids", no_such_case(&args.id))))?;
    let pool = args.how.pool()?;
    let targets = args.how.targets(&args.place, args.device.clone(), &pool)?;
    let [target] = targets.as_slice() else {
        let titles: Vec<String> = targets.iter().map(crate::target::Target::title).collect();
        let problem = format!(
            "`show` runs a case on one device with one profile and one strategy; these are chosen: {}",
            titles.join(", ")
        );
        return Err(Usage(problem).into());
    };
    if !target.can_run(case.kind()) {
        let problem = format!("{} binds buffers, which needs a Vulkan device", args.id);
        return Err(Usage(problem).into());
    }
    let folder = args.dump.as_deref();
    if let Some(folder) = folder {
        dump::prepare(&case, folder).map_err(|error| Usage(format!("--dump: {error}")))?;
    }
    let dumped = folder.map(|folder| match args.how.no_isolation {
        true => worker::dump_case(target, &args.id, folder),
        false => pool.dump(target, &args.id, folder),
    });
    let cases: Listing = [Listed::from(&case)].into();
    let outcomes = if args.how.no_isolation {
        run_in_process(target, &cases, None, Details::Everything, |_| ())?
    } else {
        run_isolated(target, &cases, &pool, Details::Everything, |_| ())?
    };
    let mut output = dml_file::stdout();
    writeln!(output, "{}", target.title())?;
    write!(output, "{}", side_by_side(&outcomes.result(0)))?;
    if let Some((folder, dumped)) = folder.zip(dumped) {
        dumped.with_context(|| format!("--dump: {} is incomplete", folder.display()))?;
    }
    Ok(ExitCode::from(exit::of(outcomes.into_run().total(), false)))
}
