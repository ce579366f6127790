#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn row(work: &str, counts: Counts) -> WorkCount {
    WorkCount { work: work.to_owned(), profile: "card".to_owned(), counts }
}

const SOFTMAX: Counts = Counts {
    dispatches: 4,
    barriers: 3,
    bytes_over_least: 300,
    invocations: Some(4096),
    kernel_bytes: 20_000,
    pipelines: 4,
};

/// The changes where the table says [`SOFTMAX`], and this was counted.
fn changes(now: Counts) -> Vec<String> {
    let table = |counts| Table { rows: vec![row("softmax", counts)] };
    table(SOFTMAX).changes(&table(now)).iter().map(ToString::to_string).collect()
}

#[test]
fn a_table_that_says_what_was_counted_has_no_changes() {
    assert!(changes(SOFTMAX).is_empty());
}

#[test]
fn each_number_that_gets_worse_is_named() {
    let worse = [
        (Counts { dispatches: 5, ..SOFTMAX }, "dispatches: 4 in the table, 5 now"),
        (Counts { barriers: 4, ..SOFTMAX }, "barriers: 3 in the table, 4 now"),
        (Counts { bytes_over_least: 307, ..SOFTMAX }, "bytes/least: 3.00 in the table, 3.07 now"),
        (Counts { invocations: Some(64), ..SOFTMAX }, "invocations: 4096 in the table, 64 now"),
        (Counts { kernel_bytes: 20_004, ..SOFTMAX }, "kernel-bytes: 20000 in the table, 20004 now"),
        (Counts { pipelines: 5, ..SOFTMAX }, "pipelines: 4 in the table, 5 now"),
    ];
    for (now, expected) in worse {
        assert_eq!(changes(now), [format!("worse: softmax on card: {expected}")]);
    }
}

#[test]
fn each_number_that_gets_better_is_named_as_well() {
    let better = [
        (Counts { dispatches: 1, ..SOFTMAX }, "dispatches: 4 in the table, 1 now"),
        (Counts { bytes_over_least: 99, ..SOFTMAX }, "bytes/least: 3.00 in the table, 0.99 now"),
        (Counts { invocations: Some(8192), ..SOFTMAX }, "invocations: 4096 in the table, 8192 now"),
        (Counts { invocations: None, ..SOFTMAX }, "invocations: 4096 in the table, - now"),
    ];
    for (now, expected) in better {
        assert_eq!(changes(now), [format!("better: softmax on card: {expected}")]);
    }
}

#[test]
fn every_number_of_a_row_is_compared() {
    let found = changes(Counts { dispatches: 1, barriers: 0, kernel_bytes: 30_000, ..SOFTMAX });
    assert_eq!(found.len(), 3);
    assert!(found[2].starts_with("worse: softmax on card: kernel-bytes"), "{found:?}");
}

#[test]
fn rows_that_come_and_go_are_named() {
    let [before, now] = ["old", "new"].map(|work| Table { rows: vec![row(work, SOFTMAX)] });
    let changes = before.changes(&now);
    assert_eq!(changes, [Change::Gone("old on card".into()), Change::New("new on card".into())]);
}

#[test]
fn a_table_is_read_as_it_was_written() {
    let copies = Counts { invocations: None, ..Counts::default() };
    let table = Table { rows: vec![row("softmax", SOFTMAX), row("a-copy", copies)] };
    let text = table.to_string();
    assert_eq!(Table::parse(&text).unwrap(), table);
    let widths: Vec<usize> = text.lines().map(str::len).collect();
    assert!(widths.iter().all(|width| *width == widths[0]), "{text}");
}

#[test]
fn what_is_no_row_is_refused_with_its_line() {
    let good = "softmax  card  4  3  3.00  4096  20000  4";
    assert_eq!(Table::parse(good).unwrap().rows, [row("softmax", SOFTMAX)]);
    for bad in [
        "softmax  card  4  3  3.00  4096  20000",
        "softmax  card  4  3  3.00  4096  20000  4  5",
        "softmax  card  -  3  3.00  4096  20000  4",
        "softmax  card  4  3  3.0  4096  20000  4",
        "softmax  card  4  3  3  4096  20000  4",
        "softmax  card  four  3  3.00  4096  20000  4",
        "",
    ] {
        let text = format!("# a title\n{good}\n{bad}");
        let refused = Table::parse(&format!("{text}\n")).unwrap_err().to_string();
        assert_eq!(refused, format!("line 3 is not a row: `{bad}`"));
    }
    assert!(Table::parse(&format!("{good}\n{good}")).is_err());
}
