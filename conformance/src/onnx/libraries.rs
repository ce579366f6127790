//! Other libraries that run whole models on the same device: programs that report the time of a run.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

/// A library, and the program that measures it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Library {
    /// Its name and version.
    pub name: String,
    /// The program and its arguments, to which a model's folder and a device's name are added. Its last line
    /// of output is an [`Answer`], and it ends by itself.
    command: Vec<String>,
}

/// A library's result for a model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The median of its runs, in seconds.
    Seconds(f64),
    /// A difference of its outputs from the expected ones.
    Wrong(String),
    /// The reason why there is no result.
    Reason(String),
}

impl Library {
    /// Runs the program. Its failure is an answer, too.
    pub(super) fn measure(&self, model: &Path, device: &str) -> Answer {
        let [program, arguments @ ..] = &self.command[..] else {
            return Answer::Reason("it has no program".to_owned());
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .arg(model)
            .arg(device)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit());
        match command.output() {
            Err(error) => Answer::Reason(format!("{program} does not start: {error}")),
            Ok(ended) => answer(&String::from_utf8_lossy(&ended.stdout)).unwrap_or_else(|| {
                Answer::Reason(format!("its program ends with {}", ended.status))
            }),
        }
    }
}

fn answer(printed: &str) -> Option<Answer> {
    let answer = serde_json::from_str(printed.lines().last()?).ok()?;
    // A time must be positive and finite.
    let is_time = |seconds: f64| seconds.is_finite() && seconds > 0.0;
    Some(answer).filter(|it| !matches!(it, Answer::Seconds(seconds) if !is_time(*seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_answer() {
        assert_eq!(answer("warming up\n{\"seconds\": 0.25}\n"), Some(Answer::Seconds(0.25)));
        let wrong = Answer::Wrong("1 of 2 numbers".to_owned());
        assert_eq!(answer(r#"{"wrong": "1 of 2 numbers"}"#), Some(wrong));
        let reason = Answer::Reason("no answer after 300 s".to_owned());
        assert_eq!(answer(r#"{"reason": "no answer after 300 s"}"#), Some(reason));
        for no_answer in
            ["", "{}", "half a li", "{\"seconds\": 0.25}\nafter it", "{\"seconds\": 0}"]
        {
            assert_eq!(answer(no_answer), None, "{no_answer}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_program_that_fails_or_is_not_there_is_a_reason() {
        let library = |command: &[&str]| Library {
            name: "other 1.0".to_owned(),
            command: command.iter().map(|&it| it.to_owned()).collect(),
        };
        let ends = |command: &[&str]| library(command).measure(Path::new("a/model"), "a device");
        let shell = |script: &str| ends(&["sh", "-c", script]);
        // The first argument after a script is what it is called.
        let told = shell(r#"printf '{"wrong": "%s, %s"}' "$0" "$1""#);
        assert_eq!(told, Answer::Wrong("a/model, a device".to_owned()));
        let code = Answer::Reason("its program ends with exit status: 3".to_owned());
        assert_eq!(shell("echo nothing; exit 3"), code);
        let Answer::Reason(reason) = shell("kill -9 $$") else { panic!("it was killed") };
        assert!(reason.starts_with("its program ends with signal: 9"), "{reason}");
        let Answer::Reason(reason) = ends(&["no/such/program"]) else { panic!("nothing ran") };
        assert!(reason.starts_with("no/such/program does not start"), "{reason}");
        assert_eq!(ends(&[]), Answer::Reason("it has no program".to_owned()));
    }
}
