//! The host's work for a new shape: each phase's time and allocations, for the decoder of the tests.
//!
//! ```text
//! cargo run --release -p dml-import --example new_shapes [SHAPES]
//! valgrind --tool=callgrind --collect-atstart=no --toggle-collect='new_shapes::compiled' new_shapes 8
//! ```
//!
//! Each step of the decoder reads a cache that is one token longer. The medians of 64 such shapes are printed, or of so
//! many as are asked for. The second command counts instructions, which do not depend on what else the machine does.
#![allow(clippy::print_stdout, reason = "a command line program prints")]
#![allow(unsafe_code, reason = "a counting allocator")]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../../dml-vk/tests/common/counting.rs"]
mod counting;

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use common::llama::Llama;
use counting::allocations;
use dml::core::{KnownOperators, validate_known_graph};
use dml::ops::graph::{GraphOptions, KnownPrograms, plan_graph};
use dml::ops::{Target, TransferUse};
use dml::{Device, FeatureLevel};
use dml_import::program::Work;
use dml_import::{Executable, Inputs, Model, Session};

/// Shapes before those that are measured: they bring operators and kernels that later shapes share.
const FIRST_SHAPES: u64 = 16;

/// The time and the allocations of a phase.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd)]
struct Cost {
    microseconds: f64,
    allocations: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let shapes = std::env::args().nth(1).map_or(Ok(64), |count| count.parse())?;
    let past = FIRST_SHAPES..FIRST_SHAPES + shapes;
    let decoder = Llama { layers: 6, positions: i64::try_from(past.end)? + 1 };
    let device = Device::open(FeatureLevel::HIGHEST)?;
    let session = Session::new(&device, Model::from_bytes(decoder.model())?);
    for past in 1..past.start {
        session.run(&decoder.step(past))?;
    }
    let planner = Planner::new(&device);
    planner.measure(&session, &decoder.step(past.start - 1))?;
    let mut all: Vec<[Cost; 6]> = Vec::new();
    for past in past {
        let inputs = decoder.step(past);
        let (executable, whole) = measured(|| compiled(&session, &inputs));
        let executable = executable?;
        let phases = planner.measure(&session, &inputs)?;
        let (first, recorded) = measured(|| executable.run(&inputs));
        first?;
        let (again, submitted) = measured(|| executable.run(&inputs));
        again?;
        let [bind, validate, plan] = phases;
        all.push([bind, validate, plan, whole, recorded, submitted]);
    }
    let names = ["bind", "validate the graph", "plan", "executable, in all", "first run", "run"];
    println!("| Phase | ms | allocations |\n|---|---|---|");
    for (at, name) in names.into_iter().enumerate() {
        let Cost { microseconds, allocations } = median(all.iter().map(|costs| costs[at]));
        println!("| {name} | {:.2} | {allocations} |", microseconds / 1000.0);
    }
    Ok(())
}

/// The program for a new shape, compiled. A profiler collects while this runs.
#[inline(never)]
fn compiled(session: &Session, inputs: &Inputs) -> dml_import::Result<Arc<Executable>> {
    black_box(session.executable(black_box(inputs)))
}

/// Plans graphs as a session's compiler does, with operators that it knows from earlier shapes.
struct Planner<'a> {
    device: &'a Device,
    operators: KnownOperators,
    programs: KnownPrograms,
}

impl<'a> Planner<'a> {
    fn new(device: &'a Device) -> Self {
        Self { device, operators: KnownOperators::default(), programs: KnownPrograms::default() }
    }

    /// The costs of binding the model, validating its graphs and planning them.
    fn measure(&self, session: &Session, inputs: &Inputs) -> Result<[Cost; 3], Box<dyn Error>> {
        let (program, bind) = measured(|| session.model().bind(inputs));
        let program = program?;
        let vulkan = self.device.vulkan();
        let target = Target {
            capabilities: vulkan.capabilities(),
            tuning: self.device.tuning(),
            transfer: TransferUse::Allowed,
        };
        let [mut validate, mut plan] = [Cost::default(); 2];
        for operator in program.operators() {
            let Work::Graph { desc, .. } = &operator.work else { continue };
            let level = self.device.feature_level();
            let (graph, cost) = measured(|| validate_known_graph(desc, level, &self.operators));
            let graph = graph?;
            validate = validate + cost;
            let options = GraphOptions::default();
            let (planned, cost) = measured(|| plan_graph(&graph, &target, options, &self.programs));
            planned?;
            plan = plan + cost;
        }
        Ok([bind, validate, plan])
    }
}

impl std::ops::Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            microseconds: self.microseconds + other.microseconds,
            allocations: self.allocations + other.allocations,
        }
    }
}

fn measured<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let (before, begin) = (allocations(), Instant::now());
    let result = work();
    let microseconds = begin.elapsed().as_secs_f64() * 1e6;
    (result, Cost { microseconds, allocations: allocations() - before })
}

/// The median time and the median number of allocations.
fn median(costs: impl Iterator<Item = Cost>) -> Cost {
    let (mut times, mut counts): (Vec<f64>, Vec<usize>) =
        costs.map(|it| (it.microseconds, it.allocations)).unzip();
    times.sort_by(f64::total_cmp);
    counts.sort_unstable();
    let middle = times.len() / 2;
    let at = |it: Option<&f64>| it.copied().unwrap_or_default();
    Cost {
        microseconds: at(times.get(middle)),
        allocations: counts.get(middle).copied().unwrap_or_default(),
    }
}
