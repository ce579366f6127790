//! Options that several commands share.

use std::ffi::OsString;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use dml::core::Strategy;
use dml::{DeviceSelector, Numerics};
use dml_file::eprintln;

use crate::child::Launch;
use crate::exit::Usage;
use crate::fault;
use crate::parallel;
use crate::pool::Pool;
use crate::target::{Devices, Opening, Profiles, Survey, Target};

/// The options for targets, beside the device.
#[derive(Debug, clap::Args)]
pub(super) struct PlaceArgs {
    /// Treat devices as having no more than this profile: a name, a part of it, a file, or all of
    /// them; what DML_PROFILE names if not given
    #[arg(long, value_name = "P|all")]
    profile: Option<String>,
    /// Execute with this strategy wherever it applies, or with each in turn; the runtime chooses if
    /// not given
    #[arg(long, value_name = "S|all", value_parser = parse_strategies)]
    strategy: Option<Strategies>,
    /// Which kernels run where a device has optional types, such as 64-bit integers: those that use them, those
    /// that emulate them, or each in turn
    #[arg(long, value_name = "native|emulated|all", value_enum, default_value = "native")]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    variants: Variants,
    /// Create devices with these numerics. With fast ones sums of products are compared within a tolerance of
    /// their own, and not between devices
    #[arg(long, value_name = "exact|fast", default_value_t)]
    numerics: Numerics,
    /// Run under the Vulkan validation layer; any message fails the case that caused it
    #[arg(long)]
    validation: bool,
    /// Whether robustBufferAccess is enabled, which hides writes outside of bindings; the value of
    /// DML_ROBUST_ACCESS if not given
    #[arg(long, value_name = "on|off", value_enum, hide_possible_values = true)]
    robust_access: Option<Switch>,
    /// Whether every transfer goes through a staging buffer, as on most discrete GPUs; what
    /// DML_STAGED_TRANSFERS says if not given
    #[arg(long, value_name = "on|off", value_enum, hide_possible_values = true)]
    staged_transfers: Option<Switch>,
    /// The most operations of a dispatch, and a quarter of those of a batch, so that a low number divides whatever
    /// is larger; what DML_WORK_BOUND says if not given, else the bound of the device's type
    #[arg(long, value_name = "OPERATIONS")]
    work_bound: Option<NonZeroU64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Variants {
    Native,
    Emulated,
    All,
}

impl Variants {
    /// The target as it is, with emulated types, or both. A target without optional types runs once.
    fn of(self, target: Target) -> Vec<Target> {
        let emulated = target.clone().with_emulated_types();
        match (self, emulated) {
            (Self::All, Some(emulated)) => vec![target, emulated],
            (Self::Emulated, Some(emulated)) => vec![emulated],
            _ => vec![target],
        }
    }
}

/// The options for workers.
#[derive(Debug, clap::Args)]
pub(super) struct PoolArgs {
    /// Use this Vulkan driver (an ICD manifest) and no other
    #[arg(long, value_name = "FILE")]
    icd: Option<PathBuf>,
    /// How many worker processes run at a time; the number of cores if not given
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// End a case that takes longer than this
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    timeout: NonZeroU64,
    /// Run in this process, for debuggers: a crash ends everything and nothing times out
    #[arg(long, conflicts_with_all = ["icd", "jobs", "timeout"])]
    pub(super) no_isolation: bool,
}

/// Reads `--device`.
pub(super) fn parse_devices(text: &str) -> Result<Devices, String> {
    match text {
        "all" => Ok(Devices::All),
        "interpreter" => Ok(Devices::Interpreter),
        _ => {
            let parsed = text.parse::<DeviceSelector>();
            parsed.map(|_| Devices::One(text.to_owned())).map_err(|error| error.to_string())
        }
    }
}

impl PlaceArgs {
    /// The survey of `devices` with these options.
    fn survey(&self, devices: Devices) -> anyhow::Result<Survey> {
        let profiles = match self.profile.as_deref() {
            None => Profiles::from_environment(),
            Some("all") => Profiles::All,
            Some(name) => Profiles::One(name.to_owned()),
        };
        if let Profiles::One(name) = &profiles {
            // Before any process is started.
            dml::profiles::find(name)?;
        }
        let is_on = |switch: Switch| switch == Switch::On;
        let opening = Opening {
            validation: self.validation,
            robust_access: self.robust_access.map(is_on),
            staged_transfers: self.staged_transfers.map(is_on),
            work_bound: self.work_bound.map(NonZeroU64::get),
        };
        Ok(Survey { devices, profiles, opening })
    }
}

/// The strategies that an option selects.
#[derive(Clone, Debug)]
struct Strategies(Vec<Strategy>);

fn parse_strategies(text: &str) -> Result<Strategies, String> {
    if text == "all" {
        return Ok(Strategies(Strategy::ALL.to_vec()));
    }
    text.parse().map(|parse| Strategies(vec![parse])).map_err(|error| format!("{error}, all"))
}

impl PoolArgs {
    /// Workers as the options say.
    pub(super) fn pool(&self) -> anyhow::Result<Pool> {
        Ok(Pool {
            launch: Launch { program: None, environment: self.environment()? },
            jobs: self.jobs.map_or_else(parallel::cores, NonZeroUsize::get),
            timeout: Duration::from_secs(self.timeout.get()),
        })
    }

    /// The targets of `place` on `devices`, found in the way in which cases run.
    pub(super) fn targets(
        &self,
        place: &PlaceArgs,
        devices: Devices,
        pool: &Pool,
    ) -> anyhow::Result<Vec<Target>> {
        let targets = self.found(&place.survey(devices)?, pool)?.into_iter();
        let targets = targets.map(|target| target.with_numerics(place.numerics));
        let targets: Vec<Target> = targets.flat_map(|target| place.variants.of(target)).collect();
        let Some(Strategies(strategies)) = &place.strategy else { return Ok(targets) };
        let with_each = |target: Target| {
            strategies.iter().map(move |strategy| target.clone().with_strategy(*strategy))
        };
        Ok(targets.into_iter().flat_map(with_each).collect())
    }

    fn found(&self, survey: &Survey, pool: &Pool) -> anyhow::Result<Vec<Target>> {
        if self.no_isolation {
            return survey.targets();
        }
        if let Some(fault) = std::env::var_os(fault::VARIABLE) {
            let fault = fault.display();
            eprintln!("note: {}={fault}: workers fail on purpose", fault::VARIABLE);
        }
        pool.survey(survey)
    }

    /// The environment for a driver: a newer loader reads the first variable, an older one the second.
    fn environment(&self) -> anyhow::Result<Vec<(&'static str, Option<OsString>)>> {
        let Some(path) = &self.icd else { return Ok(Vec::new()) };
        let path = path
            .canonicalize()
            .map_err(|error| Usage(format!("--icd: {}: {error}", path.display())))?;
        let variables = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];
        Ok(variables.map(|variable| (variable, Some(path.clone().into_os_string()))).to_vec())
    }
}
