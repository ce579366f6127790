//! Files about each dispatch of a case, which a driver's developer can replay without this project:
//! `dml-conformance show ID --dump DIR`.

mod files;
mod host;

use std::path::{Path, PathBuf};

use dml::core::Strategy;
use dml::core::plan::Plan;
use dml_reference::{Case as CornerCase, Memory};

use crate::cases::{Case, CaseId, Expectation};
use crate::execute::{Executable, Executor, is_fused, kernel_strategy, memory, plan_text};
use files::{Folder, Moment};
use host::Interpretation;

/// Why files about a case cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DumpError {
    /// Something is there already.
    #[error("{} is not empty; expected a folder that does not exist or has no files", .0.display())]
    NotEmpty(PathBuf),
    /// A file or a folder cannot be written.
    #[error("{}: {error}", .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A refusal executes nothing.
    #[error("{0} must be refused and executes nothing; expected a case with outputs")]
    NoOutputs(CaseId),
    /// The case cannot be executed.
    #[error("the case cannot be executed: {0}")]
    NotExecuted(String),
}

/// Makes the folder where there is none.
///
/// # Errors
/// It has files already, or cannot be made; or the case has no outputs.
pub(crate) fn prepare(case: &Case, folder: &Path) -> Result<(), DumpError> {
    corner(case)?;
    let failed = |error| DumpError::Io { path: folder.to_owned(), error };
    if folder.exists() {
        let mut entries = folder.read_dir().map_err(failed)?;
        return match entries.next() {
            Some(_) => Err(DumpError::NotEmpty(folder.to_owned())),
            None => Ok(()),
        };
    }
    std::fs::create_dir_all(folder).map_err(failed)
}

fn corner(case: &Case) -> Result<&CornerCase, DumpError> {
    match &case.expectation {
        Expectation::Outputs(corner) => Ok(corner),
        _ => Err(DumpError::NoOutputs(case.id.clone())),
    }
}

/// Executes the case on the target called `title`, and writes what its kernels are, get and give into an
/// empty folder. Whatever does not depend on the driver is written first, so that it is there where the
/// driver crashes. A case whose bytes the host makes is executed by a strategy that dispatches kernels,
/// where there is one.
///
/// # Errors
/// The case cannot be executed, or a file cannot be written.
pub(crate) fn write(
    case: &Case,
    title: &str,
    executor: &dyn Executor,
    folder: &Path,
) -> Result<(), DumpError> {
    let problem = DumpError::NotExecuted;
    let dumped = Dumped::compile(case, executor)?;
    let Dumped { corner, compiled, plan, memory, .. } = &dumped;
    let capabilities =
        executor.capabilities().ok_or_else(|| problem("nothing is known of its limits".into()))?;
    let host = Interpretation::run(plan, &corner.aliases(), memory, capabilities);
    let host = host.map_err(problem)?;

    let mut files = Folder::new(folder, capabilities.features);
    files.write("README.txt", dumped.readme(title, host.dispatches.len()).as_bytes())?;
    files.write("case.txt", dumped.description(&host).as_bytes())?;
    let outputs = memory.outputs.iter().map(Option::as_ref);
    let before = outputs.map(|output| Some(&*output?.tensor.before));
    files.write_outputs(Moment::Before, before)?;
    let expected = host.after.outputs.iter().map(Option::as_deref);
    files.write_outputs(Moment::Expected, expected)?;
    for (number, dispatched) in host.dispatches.iter().enumerate() {
        files.write_dispatch(number, dispatched)?;
    }
    // From here on the driver is asked.
    let after = compiled.execute(corner, memory).map_err(problem)?;
    files.write_outputs(Moment::Actual, after.outputs.iter().map(Option::as_deref))?;
    for (number, dispatched) in host.dispatches.iter().enumerate() {
        if let Some(after) = executor.replay(compiled.operator(), &dispatched.replay) {
            let after = after.map_err(|error| problem(error.to_string()))?;
            files.write_bindings(number, dispatched, Moment::Actual, &after)?;
        }
    }
    Ok(())
}

/// A case that is dumped.
struct Dumped<'a> {
    case: &'a Case,
    corner: &'a CornerCase,
    compiled: Box<dyn Executable + 'a>,
    /// Unless the runtime chose it.
    strategy: Option<Strategy>,
    plan: Plan,
    memory: Memory,
}

impl<'a> Dumped<'a> {
    fn compile(case: &'a Case, executor: &'a dyn Executor) -> Result<Self, DumpError> {
        let corner = corner(case)?;
        let refused = |error: dml::Error| DumpError::NotExecuted(format!("refused: {error}"));
        let mut compiled = executor.compile(&case.operator, case.level).map_err(refused)?;
        let mut strategy = executor.strategy();
        let by_kernels = kernel_strategy(&*compiled, corner).filter(|_| strategy.is_none());
        if let Some(other) = by_kernels {
            compiled = executor.compile_by(&case.operator, case.level, other).map_err(refused)?;
            strategy = by_kernels;
        }
        let plan = compiled.plan(corner);
        let plan = plan.map_err(|error| DumpError::NotExecuted(error.to_string()))?;
        let memory = memory(compiled.operator(), corner, executor.numerics());
        let memory = memory.map_err(DumpError::NotExecuted)?;
        Ok(Self { case, corner, compiled, strategy, plan, memory })
    }

    /// Five lines for whoever gets the folder.
    fn readme(&self, title: &str, dispatches: usize) -> String {
        let id = &self.case.id;
        let how = self.strategy.map_or_else(String::new, |it| format!(" by strategy {it}"));
        let fused = match is_fused(&self.plan, self.corner) {
            true => {
                "The device may fuse multiplications and additions of a `fused` kernel, which the host rounds apart.\n"
            }
            false => "",
        };
        let dispatches = match dispatches {
            1 => "1 dispatch".to_owned(),
            some => format!("{some} dispatches"),
        };
        format!(
            "{id} on {title}: {dispatches}{how}. case.txt has the operator, its plan and where \
             outputs lie in their buffers.\n\
             output_N.before.bin, .expected.bin and .actual.bin are the whole buffer of output N with 256 \
             bytes 0xA5 on both sides, expected by the host, actual from this device.\n\
             dispatch_K/dispatch.json has the SPIR-V's path, entry point, specialization constants, group \
             counts, push constant fields and storage buffers of dispatch K; .bin files are raw bytes.\n\
             To replay dispatch K: bind a storage buffer with binding_B.before.bin to each binding B of set \
             0 (overlapping ranges of one memory share bytes) and uniform.bin to uniform_binding, push \
             push_constants.bin, dispatch the groups.\n\
             Compare each written binding with binding_B.expected.bin; binding_B.actual.bin is what this \
             device left, replaying the dispatch alone. An actual file that is missing was not reached.\n"
        ) + fused
    }

    fn description(&self, host: &Interpretation) -> String {
        let descriptor = plan_text::descriptor(&self.case.operator);
        let plan = plan_text::text(&self.plan, &self.corner.aliases());
        let reference = match self.memory.check(&host.after) {
            Ok(_) => "the expected bytes are those of the reference".to_owned(),
            Err(difference) => {
                format!("the expected bytes differ from the reference: {difference}")
            }
        };
        let outputs = (0..).zip(&self.memory.outputs).filter_map(|(number, output): (u32, _)| {
            let tensor = &output.as_ref()?.tensor;
            let end = tensor.offset + tensor.size;
            Some(format!("output {number} is bytes {}..{end} of its buffer\n", tensor.offset))
        });
        let outputs: String = outputs.collect();
        format!("{}\n\n{descriptor}\n\n{plan}\n\n{outputs}{reference}\n", self.case.id)
    }
}

#[cfg(test)]
mod tests;
