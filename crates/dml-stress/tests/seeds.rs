//! Every fuzz target keeps its promise for its seeds, without a fuzzer.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};

use dml_stress::fuzz::TARGETS;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(name)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_target_keeps_its_promise_for_its_seeds() {
    for target in TARGETS {
        let seeds = folder("seeds").join(target.name);
        let mut accepted = 0;
        for name in names(&seeds) {
            let bytes = std::fs::read(seeds.join(&name)).unwrap();
            assert!(bytes.len() <= 8 << 10, "{}/{name} is large", target.name);
            accepted += usize::from((target.run)(&bytes));
        }
        assert!(accepted > 0, "{} has no seed", target.name);
    }
}

/// A target without a program, or seeds without a target, would never be run.
#[test]
fn programs_and_seeds_are_those_of_the_targets() {
    let mut targets = TARGETS.map(|target| target.name.to_owned());
    targets.sort();
    assert_eq!(names(&folder("seeds")), targets);
    let programs = names(&folder("fuzz_targets"));
    let programs: Vec<&str> =
        programs.iter().map(|program| program.trim_end_matches(".rs")).collect();
    assert_eq!(programs, targets);
    for target in targets {
        let text = std::fs::read_to_string(folder(&format!("fuzz_targets/{target}.rs"))).unwrap();
        assert!(text.contains(&format!("\"{target}\"")), "{target} runs another one");
    }
}
