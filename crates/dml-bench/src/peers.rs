//! Other libraries: one Python process for each, which makes one timed run for each request.
//!
//! The process times itself, so that no figure includes the time of a request's transfer.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::case::{Case, Other};
use crate::report::{OtherResult, PeerStatus, PeerTimes};
use crate::stats::{Ratio, Summary};

const SCRIPT: &str = include_str!("../peers/peer.py");
const MEANING: &str = include_str!("../peers/meaning.py");

/// Each library with its part of the program. Each has its own folder below the one that `--peers` names.
const LIBRARIES: [(&str, &str); 8] = [
    ("numpy", include_str!("../peers/libraries/numpy.py")),
    ("onnxruntime", include_str!("../peers/libraries/onnxruntime.py")),
    ("openvino", include_str!("../peers/libraries/openvino.py")),
    ("jax", include_str!("../peers/libraries/jax.py")),
    ("torch", include_str!("../peers/libraries/torch.py")),
    ("cupy", include_str!("../peers/libraries/cupy.py")),
    ("iree", include_str!("../peers/libraries/iree.py")),
    ("ncnn", include_str!("../peers/libraries/ncnn.py")),
];

/// A peer gets no more turns once it has had so many, and its time is spent.
const LEAST_TURNS: usize = 5;

/// The libraries that answer, and the reasons why the others do not. Empty if no peers were requested.
#[derive(Default)]
pub(crate) struct Peers {
    folder: PathBuf,
    libraries: BTreeMap<&'static str, Result<Process, String>>,
}

/// The turns of one peer in one case.
pub(crate) struct PeerRuns {
    peer: Other,
    state: Result<(), String>,
    times: Vec<Duration>,
    /// The time spent, including checks.
    spent: Duration,
}

struct Process {
    version: String,
    child: Child,
    // Dropped before the child is waited for: closing its input ends it.
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peers {
    /// Starts every library that is installed below `folder`.
    pub(crate) fn start(folder: &Path) -> Self {
        let start = |(library, source)| (library, Process::start(folder, library, source));
        Self { folder: folder.to_owned(), libraries: LIBRARIES.map(start).into() }
    }

    /// The libraries, and whether they answer.
    pub(crate) fn status(&self) -> Vec<PeerStatus> {
        let status = |(name, process): (&&str, &Result<Process, String>)| PeerStatus {
            name: (*name).to_owned(),
            status: process.as_ref().map(|it| it.version.clone()).map_err(Clone::clone).into(),
        };
        self.libraries.iter().map(status).collect()
    }

    /// Asks the case's peers to get ready, which includes warming up. Peers that use Vulkan take the device
    /// of this name.
    pub(crate) fn prepare(&mut self, case: &Case, device: &str) -> Vec<PeerRuns> {
        if self.libraries.is_empty() {
            return Vec::new();
        }
        self.restart_ended();
        let one = |peer: &Other| {
            let request = json!({
                "prepare": peer.name,
                "case": case.id,
                "type": case.work.data_type().to_string(),
                "sizes": case.work.sizes(),
                "inputs": case.work.input_sizes(),
                "parameters": case.parameters,
                "device": device,
            });
            let state = self.ask(peer, &request).map(|_| ()).map_err(|error| format!("{error:#}"));
            PeerRuns { peer: *peer, state, times: Vec::new(), spent: Duration::ZERO }
        };
        case.peers.iter().map(one).collect()
    }

    /// One timed run of each peer that has spent less than `most`. A peer that fails gets no more turns, and
    /// its reason is reported.
    pub(crate) fn turn(&mut self, runs: &mut [PeerRuns], most: Duration) {
        for run in runs.iter_mut().filter(|run| run.has_turn(most)) {
            let start = Instant::now();
            let answer = self.ask(&run.peer, &json!({"run": run.peer.name}));
            let time = answer.and_then(|answer| {
                answer["ns"].as_u64().map(Duration::from_nanos).context("it told no time")
            });
            match time {
                Ok(time) => run.times.push(time),
                Err(error) => run.state = Err(format!("{error:#}")),
            }
            run.spent += start.elapsed();
        }
    }

    /// Restarts libraries that crashed: they may work in the next case, or on the next device.
    fn restart_ended(&mut self) {
        for (library, source) in LIBRARIES {
            let Some(Ok(process)) = self.libraries.get_mut(library) else { continue };
            if process.has_ended() {
                let process = Process::start(&self.folder, library, source);
                self.libraries.insert(library, process);
            }
        }
    }

    fn ask(&mut self, peer: &Other, request: &Value) -> Result<Value> {
        let library = peer.name.split(':').next().unwrap_or_default();
        match self.libraries.get_mut(library) {
            Some(Ok(process)) => process.ask(request),
            Some(Err(reason)) => bail!("{reason}"),
            None => bail!("there is no such peer"),
        }
    }
}

impl PeerRuns {
    fn has_turn(&self, most: Duration) -> bool {
        self.state.is_ok() && (self.times.len() < LEAST_TURNS || self.spent < most)
    }

    /// The peer's times as ratios to the operator and the baseline, which had a turn before each of its turns.
    pub(crate) fn finish(
        self,
        operator: &[Duration],
        baseline: &[Duration],
        device: &str,
    ) -> OtherResult<PeerTimes> {
        let turns = self.times.len();
        let outcome = match self.state {
            Ok(()) if turns == 0 => Err("it had no turn".to_owned()),
            Ok(()) => Ok(PeerTimes {
                ratio: Ratio::of(&operator[..turns], &self.times),
                baseline_ratio: Ratio::of(&baseline[..turns], &self.times),
                times: Summary::of(&self.times),
            }),
            Err(reason) => Err(reason),
        };
        OtherResult {
            name: self.peer.name.to_owned(),
            target: self.peer.target_on(device),
            outcome: outcome.into(),
        }
    }
}

impl Process {
    fn start(folder: &Path, library: &str, source: &str) -> Result<Self, String> {
        // The installer leaves the reason for a missing library there.
        if let Ok(reason) = fs::read_to_string(folder.join(format!("{library}.missing"))) {
            return Err(reason.trim().to_owned());
        }
        Self::spawn(folder, library, source).map_err(|error| format!("{error:#}"))
    }

    fn spawn(folder: &Path, library: &str, source: &str) -> Result<Self> {
        let mut child = Command::new("python3")
            .args(["-c", SCRIPT, library, MEANING, source])
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

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
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
        // Closing its requests ends the process.
        self.requests = None;
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Presence;

    fn runs(milliseconds: &[u64]) -> PeerRuns {
        PeerRuns {
            peer: Other {
                name: "iree:add",
                target: Some(0.5),
                only_on: Some("llvmpipe"),
                elsewhere: None,
            },
            state: Ok(()),
            times: milliseconds.iter().copied().map(Duration::from_millis).collect(),
            spent: Duration::from_secs(9),
        }
    }

    #[test]
    fn every_peer_of_a_case_is_a_library() {
        for peer in crate::cases::all().iter().flatten().flat_map(|case| &case.peers) {
            let (library, _) = peer.name.split_once(':').unwrap();
            assert!(LIBRARIES.iter().any(|(name, _)| *name == library), "{}", peer.name);
        }
    }

    #[test]
    fn a_slow_peer_has_its_least_turns_and_one_that_failed_has_none() {
        let (short, long) = (Duration::from_secs(8), Duration::from_secs(10));
        assert!(runs(&[1; LEAST_TURNS - 1]).has_turn(short));
        assert!(!runs(&[1; LEAST_TURNS]).has_turn(short));
        assert!(runs(&[1; LEAST_TURNS]).has_turn(long));
        let failed = PeerRuns { state: Err("it crashed".to_owned()), ..runs(&[]) };
        assert!(!failed.has_turn(long));
    }

    #[test]
    fn a_peer_is_compared_with_the_turns_that_it_took_part_in() {
        let of = |all: [u64; 4]| all.map(Duration::from_millis);
        let result = runs(&[8, 8]).finish(&of([4, 4, 99, 99]), &of([2, 2, 99, 99]), "llvmpipe");
        let Presence::There(times) = result.outcome else { panic!("it has times") };
        assert_eq!((times.ratio.of_medians, times.ratio.turns), (0.5, 2));
        assert_eq!(times.baseline_ratio.of_medians, 0.25);
        assert_eq!(result.target, Some(0.5));
        let none = runs(&[]).finish(&of([4; 4]), &of([2; 4]), "SwiftShader");
        assert!(matches!(none.outcome, Presence::Missing(_)));
        assert_eq!(none.target, None);
    }
}
