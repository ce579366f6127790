//! `dml-conformance show`.

use std::io::Write as _;
use std::process::ExitCode;

use super::options::{PlaceArgs, PoolArgs, parse_devices};
use crate::cases::{CaseId, Finder, Listed, Listing};
use crate::execute::Details;
use crate::exit::{self, Usage};
use crate::report::show::side_by_side;
use crate::runner::{run_in_process, run_isolated};
use crate::selection::no_such_case;
use crate::target::Devices;

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
    let cases: Listing = [Listed::from(&case)].into();
    let outcomes = if args.how.no_isolation {
        run_in_process(target, &cases, None, Details::Everything, |_| ())?
    } else {
        run_isolated(target, &cases, &pool, Details::Everything, |_| ())?
    };
    let mut output = dml_file::stdout();
    writeln!(output, "{}", target.title())?;
    write!(output, "{}", side_by_side(&outcomes.result(0)))?;
    Ok(ExitCode::from(exit::of(outcomes.into_run().total(), false)))
}
