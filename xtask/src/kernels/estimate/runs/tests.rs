use super::*;

const MEASURED: &str = "# A card\ncopy\t268435456\t632.52\nwork\tsum\t4096\t7.5\n\
    sum\treduce_1 copy, sum_f32, copy (b32 whole) b32 ragged [64]\t64\t1024\t4100\t4.25\n";

#[test]
fn measured_works_are_read_with_their_times() {
    let runs: Runs = MEASURED.parse().unwrap();
    assert_eq!(runs.device, "A card");
    let [run] = &runs.runs[..] else { panic!("{runs:?}") };
    assert_eq!((run.work.as_str(), run.least_bytes, run.microseconds), ("sum", 4096, Some(7.5)));
    let dispatch = Dispatch {
        kernel: "reduce_1 copy, sum_f32, copy (b32 whole) b32 ragged [64]".to_owned(),
        invocations: 64,
        operations: 1024,
        bytes: 4100,
        microseconds: Some(4.25),
    };
    assert_eq!(run.stages, [vec![dispatch]]);
}

#[test]
fn barriers_divide_planned_dispatches() {
    let text =
        "work\ta\t8\na\tone []\t1\t1\t4\na\ttwo []\t1\t1\t4\na\tbarrier\na\tthree []\t1\t1\t4\n";
    let runs: Runs = text.parse().unwrap();
    let names = |stage: &Vec<Dispatch>| stage.iter().map(|it| it.kernel.clone()).collect();
    let names: Vec<Vec<String>> = runs.runs[0].stages.iter().map(names).collect();
    assert_eq!(names, [vec!["one []", "two []"], vec!["three []"]]);
    assert_eq!(runs.runs[0].microseconds, None);
}

#[test]
fn lines_that_are_wrong_are_named() {
    let of = |text: &str| format!("{:#}", text.parse::<Runs>().unwrap_err());
    assert_eq!(
        of("work\ta\t8\nb\tone []\t1\t1\t4\n"),
        "line 2: no line of the work b comes before"
    );
    assert_eq!(of("hello\n"), "line 1: neither a work nor a dispatch: \"hello\"");
    assert!(of("work\ta\tmany\n").starts_with("line 1: \"many\""));
}
