//! `cargo xtask example`: the examples with public models, compared with ONNX Runtime's answers; and one that
//! trains a network, as NumPy does too.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use dml_file::println;
use xshell::{Shell, cmd};

use crate::environment::{Environment, joined};
use crate::models::smollm2;
use crate::{conformance, models, onnxruntime, process, programs, workspace};

/// Run an example on a public model, and compare with ONNX Runtime, or train one, and compare with NumPy; fetches
/// models, and sets up CPU drivers where no Vulkan device answers
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which example
    pub(crate) name: Name,
    /// The question for chat, instead of the one whose answer is compared with ONNX Runtime's
    pub(crate) question: Option<String>,
    /// Run on the CPU drivers, even if there are other devices
    #[arg(long)]
    pub(crate) cpu_drivers: bool,
}

/// An example.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Name {
    /// Finds speech in a minute of audio with Silero's detector
    VoiceActivity,
    /// Tells the types of files of the repository with Magika's model
    FileTypes,
    /// Trains a classifier of points by DirectML's operators alone
    Train,
    /// Answers a question with SmolLM2-135M-Instruct, whose keys and values stay on the device
    Chat,
}

/// Runs the command and returns the exit code of the first program that fails.
pub(crate) fn run(sh: &Shell, args: &Args) -> Result<i32> {
    if args.question.is_some() && args.name != Name::Chat {
        anyhow::bail!("only the example chat takes a question");
    }
    let environment = conformance::environment(sh, args.cpu_drivers)?;
    let results = workspace::root().join("target/examples");
    sh.create_dir(&results)?;
    match args.name {
        Name::VoiceActivity => voice_activity(sh, &environment, &results),
        Name::FileTypes => file_types(sh, &environment, &results),
        Name::Train => train(sh, &environment, &results),
        Name::Chat => chat(sh, &environment, &results, args.question.as_deref()),
    }
}

fn voice_activity(sh: &Shell, environment: &Environment, results: &Path) -> Result<i32> {
    let (model, _) = models::packaged(sh, "silero_vad")?;
    let example = programs::example(sh, "dml-import", "voice_activity")?;
    process::succeed(environment.apply(cmd!(sh, "{example} {model} {results}")))?;
    let check = cmd!(sh, "python3 xtask/src/example/voice_activity.py {model} {results}");
    process::exit_code(check.env("PYTHONPATH", onnxruntime::current(sh)?))
}

fn file_types(sh: &Shell, environment: &Environment, results: &Path) -> Result<i32> {
    let (model, package) = models::packaged(sh, "magika")?;
    let folder = model.parent().unwrap_or(&package);
    let example = programs::example(sh, "dml-import", "file_types")?;
    // Seeds are bytes without a type, each with a kind of name of its own.
    let files = cmd!(sh, "git ls-files -- :!fuzz/seeds").quiet().read()?;
    let files = of_each_kind(files.lines());
    let found = environment.apply(cmd!(sh, "{example} {folder}").args(files)).quiet().read()?;
    println!("{found}");
    let answers = results.join("file_types.txt");
    sh.write_file(&answers, found)?;
    let check = cmd!(sh, "python3 xtask/src/example/file_types.py {answers}");
    process::exit_code(check.env("PYTHONPATH", joined(&[package, onnxruntime::current(sh)?])?))
}

fn train(sh: &Shell, environment: &Environment, results: &Path) -> Result<i32> {
    let example = programs::example(sh, "dml", "train")?;
    let found = environment.apply(cmd!(sh, "{example}")).quiet().read()?;
    println!("{found}");
    let answers = results.join("train.txt");
    sh.write_file(&answers, found)?;
    let check = cmd!(sh, "python3 xtask/src/example/train.py {answers}");
    // Which has NumPy beside it.
    process::exit_code(check.env("PYTHONPATH", onnxruntime::current(sh)?))
}

fn chat(
    sh: &Shell,
    environment: &Environment,
    results: &Path,
    question: Option<&str>,
) -> Result<i32> {
    let (model, vocabulary) = (smollm2::make_sure(sh)?.join("int4.onnx"), smollm2::source(sh)?);
    let example = programs::example(sh, "dml-import", "chat")?;
    let asked = question.unwrap_or("What is the capital of France?");
    let code = process::exit_code(
        environment.apply(cmd!(sh, "{example} {model} {vocabulary} {asked} {results}")),
    )?;
    // Other questions may have answers with two tokens that are as good.
    if code != 0 || question.is_some() {
        return Ok(code);
    }
    let check = cmd!(sh, "python3 xtask/src/example/chat.py {model} {results}");
    // The tests of the plug-in have the prompt.
    let paths = [workspace::root().join(onnxruntime::TESTS), onnxruntime::current(sh)?];
    process::exit_code(check.env("PYTHONPATH", joined(&paths)?))
}

/// A CPU driver takes most of a second for a file: so many of each kind of name, which are different enough.
const OF_EACH_KIND: usize = 2;

fn of_each_kind<'a>(files: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut taken: HashMap<&'a str, usize> = HashMap::new();
    let mut is_wanted = |file: &'a str| {
        let name = file.rsplit('/').next().unwrap_or(file);
        let count = taken.entry(name.rsplit('.').next().unwrap_or(name)).or_default();
        *count += 1;
        *count <= OF_EACH_KIND
    };
    files.filter(|&file| is_wanted(file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_files_of_each_kind_of_name_are_classified() {
        let files = ["a/one.rs", "LICENSE", "two.rs", "b.rs/three.md", "a/four.rs", "b/LICENSE"];
        let expected = ["a/one.rs", "LICENSE", "two.rs", "b.rs/three.md", "b/LICENSE"];
        assert_eq!(of_each_kind(files.into_iter()), expected);
    }
}
