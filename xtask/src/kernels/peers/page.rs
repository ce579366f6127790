//! The page that has a row for each node and library.

use std::fmt::Write as _;

use anyhow::Result;

use super::Run;
use crate::kernels::assembly::Loop;
use crate::kernels::compiled::Compiled;

/// One node by one library, or why there is no run.
pub(super) struct PeerResult {
    work: String,
    library: String,
    cells: std::result::Result<[String; 6], String>,
}

impl PeerResult {
    pub(super) fn new(work: &str, library: &str, run: Result<Run>) -> Self {
        let cells = run.map(|run| cells(&run)).map_err(|error| format!("{error:#}"));
        Self { work: work.to_owned(), library: library.to_owned(), cells }
    }
}

/// Dispatches, barriers, work groups, the loop with the most arithmetic, and the registers and waves of its
/// kernel.
fn cells(run: &Run) -> [String; 6] {
    let used =
        run.commands.dispatches.iter().filter_map(|dispatch| run.kernels.get(dispatch.pipeline));
    let loops = used.filter_map(|kernel| Some((kernel, busiest(kernel)?)));
    let main = loops.max_by_key(|(_, busiest)| busiest.float);
    let of_main =
        |of: fn(&Compiled) -> u64| main.map_or_else(String::new, |(it, _)| of(it).to_string());
    [
        run.commands.dispatches.len().to_string(),
        run.commands.barriers.to_string(),
        groups(run),
        main.map_or_else(|| "none with arithmetic".to_owned(), |(_, busiest)| in_words(busiest)),
        of_main(|it| it.vgprs),
        of_main(|it| it.waves),
    ]
}

/// The innermost loop with the most arithmetic on floats; `None` where that is in no innermost loop.
fn busiest(kernel: &Compiled) -> Option<&Loop> {
    kernel.loops.iter().filter(|it| it.float > 0).max_by_key(|it| it.float)
}

/// The loop in words, such as `64 of 75, 4*lds-load.b128: 16.0 for a load`.
fn in_words(it: &Loop) -> String {
    let is_load = |kind: &str| kind.contains("load") && !kind.starts_with("scalar");
    let loads = it.memory.iter().filter(|(kind, _)| is_load(kind));
    let (mut named, mut count) = (Vec::new(), 0);
    for (kind, number) in loads {
        named.push(format!("{number}*{kind}"));
        count += number;
    }
    let mut text = format!("{} of {}", it.float, it.instructions);
    if count > 0 {
        let each = f64::from(it.float) / f64::from(count);
        let _ = write!(text, ", {}: {each:.1} for a load", named.join(" "));
    }
    text
}

/// The work groups of each dispatch; equal neighbours once.
fn groups(run: &Run) -> String {
    const MOST: usize = 8;
    let mut told: Vec<(String, usize)> = Vec::new();
    for dispatch in &run.commands.dispatches {
        let groups = dispatch.groups.map_or_else(|| "?".to_owned(), |groups| groups.to_string());
        match told.last_mut() {
            Some((last, count)) if *last == groups => *count += 1,
            _ => told.push((groups, 1)),
        }
    }
    let rest = if told.len() > MOST { ", .." } else { "" };
    let in_words = |(groups, count): &(String, usize)| match count {
        1 => groups.clone(),
        _ => format!("{count} x {groups}"),
    };
    let told: Vec<String> = told.iter().take(MOST).map(in_words).collect();
    told.join(", ") + rest
}

/// The page.
pub(super) fn text(family: &str, compiler: &str, rows: &[PeerResult]) -> String {
    let mut text = format!(
        "# Compiled, not timed: single nodes on {family}\n\n\
         <!-- Written by `cargo xtask kernels --peers --families {family}`. -->\n\n\
         The kernels that this runtime and other libraries give to the compiler of one GPU family, Mesa {compiler}, \
         on a device that executes nothing ([gpu-without-a-gpu.md](../gpu-without-a-gpu.md)).\n\
         **Nothing here is a time.** Libraries compute with other roundings and types: ggml keeps weights as halves, \
         and all but this runtime fuse products with sums.\n\n\
         One run of one ONNX node: dispatches, barriers (those around copies of inputs and outputs included), and \
         the work groups of each dispatch.\n\
         The innermost loop with the most arithmetic: instructions on floats of all, its loads, and how many \
         instructions on floats there are for a load. Arithmetic that is unrolled, or in a loop around others, is \
         in none.\n\
         VGPRs are registers of an invocation, waves those that a SIMD can hold, as the driver counts them.\n\n\
         | Node | Library | Dispatches | Barriers | Work groups | Busiest loop | VGPRs | Waves |\n\
         |---|---|---|---|---|---|---|---|\n"
    );
    for PeerResult { work, library, cells } in rows {
        let cells = match cells {
            Ok(cells) => cells.join(" | "),
            Err(reason) => format!("not run: {} | | | | |", reason.replace('|', "/")),
        };
        let _ = writeln!(text, "| {work} | {library} | {cells} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::commands::{Commands, Dispatch};
    use super::*;

    fn kernel(loops: Vec<Loop>) -> Compiled {
        let kernel = "tiles []".to_owned();
        Compiled { kernel, vgprs: 36, spills: 0, scratch: 0, lds: 0, waves: 16, loops }
    }

    fn run() -> Run {
        let memory =
            BTreeMap::from([("lds-load.b128".to_owned(), 4), ("scalar-load.b32".to_owned(), 9)]);
        let busy = Loop { instructions: 75, float: 64, memory, ..Loop::default() };
        let idle = Loop { instructions: 600, ..Loop::default() };
        let dispatch = |pipeline, groups| Dispatch { pipeline, groups: Some(groups) };
        let dispatches = vec![dispatch(1, 8), dispatch(0, 64), dispatch(0, 64)];
        let commands = Commands { dispatches, barriers: 3 };
        Run { commands, kernels: vec![kernel(vec![idle, busy]), kernel(Vec::new())] }
    }

    #[test]
    fn the_busiest_loop_of_the_kernels_that_ran_is_told() {
        let row = PeerResult::new("gemm", "dml", Ok(run()));
        let refused = PeerResult::new("gemm", "other", Err(anyhow::anyhow!("a | b")));
        let page = text("navi31", "25.0", &[row, refused]);
        let line = "| gemm | dml | 3 | 3 | 8, 2 x 64 | 64 of 75, 4*lds-load.b128: 16.0 for a load | 36 | 16 |\n\
                    | gemm | other | not run: a / b | | | | | |\n";
        assert!(page.ends_with(line), "{page}");
    }

    #[test]
    fn kernels_without_loops_are_told_too() {
        let mut run = run();
        run.commands.dispatches.truncate(1);
        assert_eq!(cells(&run), ["1", "3", "8", "none with arithmetic", "", ""]);
    }
}
