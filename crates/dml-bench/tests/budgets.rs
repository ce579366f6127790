//! The checked-in table of budgets agrees with the plans. No test here needs a Vulkan device.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]

use dml_bench::budgets::{Change, Column, TableFile, measured, profiles, work, works};

#[test]
fn every_work_is_what_the_table_says() {
    let now = measured(&works().unwrap()).unwrap();
    if let Err(complaint) = TableFile::WORKS.check(&now) {
        panic!("{complaint:#}");
    }
    let text = std::fs::read_to_string(TableFile::WORKS.path()).unwrap().replace("\r\n", "\n");
    let is_as_written = text.ends_with(&now.to_string());
    assert!(is_as_written, "other spaces or order: `cargo xtask budgets` writes it");
}

/// Softmax plans with another dispatch, more reads, or fewer invocations than the table are found.
#[test]
fn a_planted_regression_is_found_and_named() {
    let works: Vec<_> =
        works().unwrap().into_iter().filter(|it| it.name == "softmax-f32").collect();
    let now = measured(&works).unwrap();
    let mut table = now.clone();
    let counts = &mut table.rows[0].counts;
    counts.dispatches -= 1;
    counts.bytes_over_least -= 1;
    counts.invocations = counts.invocations.map(|invocation| invocation * 2);
    let changes = table.changes(&now);
    let found: Vec<Column> = changes
        .iter()
        .map(|change| match change {
            Change::Number { row, column, .. } if change.is_worse() => {
                assert_eq!(row, "softmax-f32 on rx-7800-xt");
                *column
            }
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(found, [Column::Dispatches, Column::BytesOverLeast, Column::Invocations]);
}

/// The counts of some plans, computed from their operators, apart from the counting code.
#[test]
fn counts_are_those_of_what_the_plans_do() {
    let table = TableFile::WORKS.read().unwrap();
    let of = |work: &str| table.rows.iter().find(|row| row.work == work).unwrap().counts;
    let add = of("add-f32");
    // Two matrices are read and one is written, with four elements for each invocation.
    assert_eq!((add.dispatches, add.barriers, add.bytes_over_least), (1, 0, 100));
    assert_eq!(add.invocations, Some(4096 * 4096 / 4));
    // Four invocations for each block of 128 elements of each row.
    assert_eq!(of("sum-of-rows").invocations, Some(4096 * 4096 / 128 * 4));
    // Weights that are not gathered are not read.
    let [rows, all, row] = [4096_u64, 8192, 768 * 4];
    let moved = 2 * rows * row + rows * 8;
    let least = all * row + rows * 8 + rows * row;
    assert_eq!(of("gather-rows").bytes_over_least, (moved * 100 + least / 2) / least);
    assert_eq!(table.rows.len(), 2 * 48);
}

/// `cargo xtask kernels` reads these lines.
#[test]
fn stages_have_the_dispatches_of_the_table_and_a_line_for_each() {
    for work in works().unwrap() {
        for profile in profiles().unwrap() {
            let counts = work.counts(&profile).unwrap();
            let stages = work.plans(&profile).unwrap().stages(&profile).unwrap();
            let dispatches: usize = stages.iter().map(Vec::len).sum();
            assert_eq!(dispatches as u64, counts.dispatches, "{}", work.name);
            assert!(stages.len() as u64 <= counts.barriers + 1, "{}", work.name);
        }
    }
    let profile = &profiles().unwrap()[0];
    let add = work("add-f32").unwrap().unwrap().plans(profile).unwrap();
    let stages = add.stages(profile).unwrap();
    let line = "element_wise_0 f32.add (b32 whole, b32 whole) b32 whole [64]\t4194304\t16777216\t201326592";
    assert_eq!(stages[0][0].to_string(), line);
}
