//! Other libraries: one Python process for each, which does one timed run for one request.
//!
//! The process times itself, so what a request costs on its way is in no figure.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::case::{Case, PeerTarget};
use crate::report::{PeerResult, PeerStatus, PeerTimes};
use crate::stats::{Ratio, Summary};

const SCRIPT: &str = include_str!("../peers/peer.py");

/// Each has a folder of its own below the one that `--peers` names.
const LIBRARIES: [&str; 6] = ["numpy", "onnxruntime", "openvino", "jax", "torch", "cupy"];

/// The libraries that answer, and why the others do not. Empty where nobody asked for them.
#[derive(Default)]
pub(crate) struct Peers {
    libraries: BTreeMap<&'static str, Result<Process, String>>,
}

/// What is left of one peer's turns in one case.
pub(crate) struct PeerRuns {
    peer: PeerTarget,
    state: Result<(), String>,
    times: Vec<Duration>,
}

struct Process {
    version: String,
    child: Child,
    // Dropped before the child is waited for, which ends it.
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peers {
    /// Starts every library that is installed below `folder`.
    pub(crate) fn start(folder: &Path) -> Self {
        let start = |library| (library, Process::start(folder, library));
        Self { libraries: LIBRARIES.map(start).into() }
    }

    /// Who answers.
    pub(crate) fn status(&self) -> Vec<PeerStatus> {
        let status = |(name, process): (&&str, &Result<Process, String>)| PeerStatus {
            name: (*name).to_owned(),
            status: process.as_ref().map(|it| it.version.clone()).map_err(Clone::clone).into(),
        };
        self.libraries.iter().map(status).collect()
    }

    /// Asks the case's peers to get ready, which includes warming up.
    pub(crate) fn prepare(&mut self, case: &Case) -> Vec<PeerRuns> {
        if self.libraries.is_empty() {
            return Vec::new();
        }
        let one = |peer: &PeerTarget| {
            let work = &case.work;
            let request = json!({
                "prepare": peer.name,
                "type": work.data_type.to_string(),
                "sizes": work.sizes,
            });
            let state = self.ask(peer, &request).map(|_| ()).map_err(|error| format!("{error:#}"));
            PeerRuns { peer: *peer, state, times: Vec::new() }
        };
        case.peers.iter().map(one).collect()
    }

    /// One timed run of each. A peer that fails has no more turns, and its reason is reported.
    pub(crate) fn turn(&mut self, runs: &mut [PeerRuns]) {
        for run in runs.iter_mut().filter(|run| run.state.is_ok()) {
            let answer = self.ask(&run.peer, &json!({"run": run.peer.name}));
            let time = answer.and_then(|answer| {
                answer["ns"].as_u64().map(Duration::from_nanos).context("it told no time")
            });
            match time {
                Ok(time) => run.times.push(time),
                Err(error) => run.state = Err(format!("{error:#}")),
            }
        }
    }

    fn ask(&mut self, peer: &PeerTarget, request: &Value) -> Result<Value> {
        let library = peer.name.split(':').next().unwrap_or_default();
        match self.libraries.get_mut(library) {
            Some(Ok(process)) => process.ask(request),
            Some(Err(reason)) => bail!("{reason}"),
            None => bail!("there is no such peer"),
        }
    }
}

impl PeerRuns {
    /// In times of the operator and the baseline, which had as many turns.
    pub(crate) fn finish(self, operator: &[Duration], baseline: &[Duration]) -> PeerResult {
        let outcome = self.state.map(|()| PeerTimes {
            ratio: Ratio::of(operator, &self.times),
            baseline_ratio: Ratio::of(baseline, &self.times),
            times: Summary::of(&self.times),
        });
        PeerResult {
            name: self.peer.name.to_owned(),
            target: self.peer.target,
            outcome: outcome.into(),
        }
    }
}

impl Process {
    fn start(folder: &Path, library: &str) -> Result<Self, String> {
        // Whoever installs says there why something is missing.
        if let Ok(reason) = fs::read_to_string(folder.join(format!("{library}.missing"))) {
            return Err(reason.trim().to_owned());
        }
        Self::spawn(folder, library).map_err(|error| format!("{error:#}"))
    }

    fn spawn(folder: &Path, library: &str) -> Result<Self> {
        let mut child = Command::new("python3")
            .args(["-c", SCRIPT, library])
            .env("PYTHONPATH", folder.join(library))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("starting python3")?;
        let requests = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().context("the output was piped")?);
        let mut process = Self { version: String::new(), child, requests, answers };
        let answer = process.answer()?;
        process.version = answer["version"].as_str().unwrap_or("of unknown version").to_owned();
        Ok(process)
    }

    fn ask(&mut self, request: &Value) -> Result<Value> {
        let requests = self.requests.as_mut().context("it was stopped")?;
        writeln!(requests, "{request}").context("it has ended")?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        if line.is_empty() {
            bail!("its process has ended");
        }
        let answer: Value = serde_json::from_str(&line).context("it answered no JSON")?;
        match answer["error"].as_str() {
            Some(error) => bail!("{error}"),
            None => Ok(answer),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The end of its requests ends it.
        self.requests = None;
        let _ = self.child.wait();
    }
}
