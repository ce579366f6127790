//! A digest of every plan: two states of the lowerings that print the same lines make the same plans.
//!
//! ```text
//! cargo run --release -p dml-conformance --example plan_digests > before.txt
//! ```
//! A line is an operator (`GRAPH` for random graphs), the device that plans are for, how many there are, and the
//! digest of all of them in their order. Devices are the profiles, as a CPU driver and as a discrete card would
//! tune them, with and without copies. No device is needed. Each plan is made for every extreme profile; of those
//! of real devices each sees another part of the cases, one in so many as the first argument says (1 for all).

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;

use dml::core::graph::{GraphDesc, ValidatedGraph, validate_graph};
use dml::core::plan::{Plan, Step};
use dml::core::{Capabilities, Error, FeatureLevel, Tuning, Validated, validate};
use dml::ops::graph::{GraphOptions, compile_graph};
use dml::ops::{OPERATORS, Operator, Target, TransferUse};
use dml::vk::DeviceType;
use dml_reference::graphs::random_graph;
use dml_reference::{Random, Reference, Signature};

/// How many random graphs, as the tests of graphs draw them.
const GRAPHS: u32 = 400;

/// How many devices share the cases.
const DEFAULT_ONE_IN: usize = 32;

struct Device {
    name: String,
    capabilities: Capabilities,
    tuning: Tuning,
    transfer: TransferUse,
    /// Every so many-th case, from which one on.
    share: (usize, usize),
}

impl Device {
    fn target(&self) -> Target<'_> {
        let Self { capabilities, tuning, transfer, .. } = self;
        Target { capabilities, tuning: *tuning, transfer: *transfer }
    }
}

/// The digest of several plans or refusals.
#[derive(Default)]
struct Digest {
    hasher: DefaultHasher,
    count: u64,
}

impl Digest {
    fn add(&mut self, plan: &Result<Plan, Error>) {
        format!("{plan:?}").hash(&mut self.hasher);
        for step in plan.iter().flat_map(Plan::steps) {
            if let Step::Dispatch(dispatch) = step {
                dispatch.kernel.variant.hash(&mut self.hasher);
            }
        }
        self.count += 1;
    }
}

fn main() -> anyhow::Result<()> {
    let one_in = std::env::args().nth(1).map_or(Ok(DEFAULT_ONE_IN), |it| it.parse())?;
    let devices = devices(one_in)?;
    let mut out = io::stdout().lock();
    for operator in OPERATORS.iter().copied() {
        let name = operator.schema().name;
        let all = validated(operator);
        write_lines(&mut out, name, &devices, &all, |it, target| operator.lower(it, target))?;
    }
    let graphs: Vec<ValidatedGraph> = (0..GRAPHS).filter_map(graph).collect();
    let compiled = |graph: &ValidatedGraph, target: &Target<'_>| {
        compile_graph(graph, target, GraphOptions::default()).map(|(plan, _)| plan)
    };
    write_lines(&mut out, "GRAPH", &devices, &graphs, compiled)?;
    Ok(())
}

fn write_lines<T>(
    out: &mut impl io::Write,
    name: &str,
    devices: &[Device],
    all: &[T],
    lower: impl Fn(&T, &Target<'_>) -> Result<Plan, Error>,
) -> io::Result<()> {
    let mut lines = String::new();
    for device in devices {
        let mut digest = Digest::default();
        let (first, step) = device.share;
        all.iter()
            .skip(first)
            .step_by(step)
            .for_each(|it| digest.add(&lower(it, &device.target())));
        let Digest { hasher, count } = digest;
        let hash = hasher.finish();
        writeln!(lines, "{name} {} {count} {hash:016x}", device.name).expect("a string takes all");
    }
    out.write_all(lines.as_bytes())
}

fn devices(one_in: usize) -> anyhow::Result<Vec<Device>> {
    let mut devices = Vec::new();
    for profile in dml::profiles::all()? {
        for (kind, device_type) in [("cpu", DeviceType::Cpu), ("card", DeviceType::Discrete)] {
            for transfer in [TransferUse::Allowed, TransferUse::StorageOnly] {
                let is_device = profile.is_device();
                let share = if is_device { (devices.len() % one_in, one_in) } else { (0, 1) };
                devices.push(Device {
                    share,
                    name: format!("{} {kind} {transfer:?}", profile.name),
                    capabilities: profile.cap.alone(),
                    tuning: dml::tuning_for(device_type),
                    transfer,
                });
            }
        }
    }
    Ok(devices)
}

/// The descriptors of the suite that the highest level accepts.
fn validated(operator: &Operator) -> Vec<Validated> {
    let schema = operator.schema();
    let reference = dml_reference::find(schema.operator_type).expect("one of each operator");
    let signatures = Signature::all(schema);
    let cases = signatures
        .filter(|signature| is_accepted(reference, signature))
        .flat_map(|signature| reference.chosen_cases(&signature));
    cases.filter_map(|case| validate(&case.operator, FeatureLevel::HIGHEST).ok()).collect()
}

fn is_accepted(reference: &dyn Reference, signature: &Signature) -> bool {
    let minimal = reference.minimal(signature);
    validate(&minimal, FeatureLevel::HIGHEST).is_ok()
}

fn graph(seed: u32) -> Option<ValidatedGraph> {
    let mut random = Random::new(&format!("graph {seed}"));
    let nodes = 1 + random.below(30);
    let graph: GraphDesc = random_graph(&mut random, nodes);
    validate_graph(&graph, FeatureLevel::HIGHEST).ok()
}
