//! What each feature level accepts, from DirectML's reference and not from the runtime's schema: a
//! wrong row there must fail cases, not change what they expect.
//!
//! The tables are those of the reference's pages as data; `support_tables.rs` beside the file states
//! its form.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use dml::{DataType, FeatureLevel};
use serde_json::Value;

const TABLES: &str = include_str!("../../crates/dml-core/tests/data/directml_support_tables.json");

static PAGES: LazyLock<BTreeMap<String, Page>> = LazyLock::new(|| {
    let rows: Vec<Value> = serde_json::from_str(TABLES).expect("a test reads the embedded tables");
    rows.iter().map(|row| page(row).expect("a test reads the embedded tables")).collect()
});

/// An operator's page: a table for each level that changed something, the lowest level first.
struct Page(Vec<(FeatureLevel, Vec<Tensor>)>);

/// A row of a table: what one tensor may be.
struct Tensor {
    ranks: std::ops::RangeInclusive<usize>,
    data_types: Vec<DataType>,
}

/// Whether a level takes tensors of a type and a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It does.
    Accepted,
    /// The level does not have the operator.
    NoOperator,
    /// It does not take the type.
    NoDataType,
    /// It takes the type, but not this number of dimensions.
    NoRank,
}

/// Whether `level` takes tensors of `data_type` and `rank` for `operator`, all of them alike; no
/// level has an operator without a page.
pub(crate) fn ask(operator: &str, level: FeatureLevel, data_type: DataType, rank: usize) -> Answer {
    let page = PAGES.get(operator);
    let tables = page.iter().flat_map(|page| &page.0);
    // The highest table at or below the level applies.
    let Some((_, tensors)) = tables.rev().find(|(from, _)| *from <= level) else {
        return Answer::NoOperator;
    };
    if !tensors.iter().all(|tensor| tensor.data_types.contains(&data_type)) {
        Answer::NoDataType
    } else if !tensors.iter().all(|tensor| tensor.ranks.contains(&rank)) {
        Answer::NoRank
    } else {
        Answer::Accepted
    }
}

/// The lowest level that takes tensors of `data_type` and `rank` for `operator`.
pub(crate) fn lowest_level(
    operator: &str,
    data_type: DataType,
    rank: usize,
) -> Option<FeatureLevel> {
    let accepts = |level: &FeatureLevel| ask(operator, *level, data_type, rank) == Answer::Accepted;
    FeatureLevel::ALL.into_iter().find(accepts)
}

fn page(row: &Value) -> Option<(String, Page)> {
    let tables = row.get(4)?.as_array()?.iter();
    let mut tables: Vec<_> = tables.map(table).collect::<Option<_>>()?;
    tables.sort_by_key(|(level, _)| *level);
    Some((row.get(0)?.as_str()?.to_owned(), Page(tables)))
}

fn table(table: &Value) -> Option<(FeatureLevel, Vec<Tensor>)> {
    let level = table.get(0)?.as_str()?.parse().ok()?;
    let tensors = table.get(2)?.as_array()?.iter();
    Some((level, tensors.map(|cell| tensor(cell.as_str()?)).collect::<Option<_>>()?))
}

/// Reads `InputTensor input? 2-4 FLOAT32 FLOAT16`; types that the page does not state are none.
fn tensor(cell: &str) -> Option<Tensor> {
    let mut words = cell.split_whitespace().skip(2);
    let ranks = words.next()?;
    let (first, last) = ranks.split_once('-').unwrap_or((ranks, ranks));
    let data_types = words.filter(|word| *word != "?").map(|word| word.parse().ok());
    Some(Tensor {
        ranks: first.parse().ok()?..=last.parse().ok()?,
        data_types: data_types.collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_read_completely() {
        assert_eq!(PAGES.len(), 177);
        assert_eq!(PAGES.values().map(|page| page.0.len()).sum::<usize>(), 438);
        for operator in dml_ops::OPERATORS {
            assert!(PAGES.contains_key(operator.schema().name), "{}", operator.schema().name);
        }
    }

    /// Rows copied from the pages by hand.
    #[test]
    fn a_page_s_rows_decide() {
        use Answer::{Accepted, NoDataType, NoOperator, NoRank};
        use DataType::{Float32, Int32, Int64, Uint4};
        use FeatureLevel as Level;
        let name = "DIAGONAL_MATRIX";
        assert_eq!(ask(name, Level::V1_0, Float32, 4), NoOperator);
        assert_eq!(ask(name, Level::V2_0, Float32, 4), Accepted);
        assert_eq!(ask(name, Level::V2_0, Int32, 4), NoDataType);
        assert_eq!(ask(name, Level::V3_1, Float32, 2), NoRank);
        assert_eq!(ask(name, Level::V5_0, Int64, 2), NoDataType);
        assert_eq!(ask(name, Level::V5_1, Int64, 2), Accepted);
        assert_eq!(ask(name, Level::V6_4, Uint4, 2), NoDataType);
        assert_eq!(ask("NO_SUCH_OPERATOR", Level::V6_4, Float32, 4), NoOperator);
        assert_eq!(lowest_level(name, Int32, 4), Some(Level::V2_1));
        assert_eq!(lowest_level(name, Int32, 2), Some(Level::V4_0));
        assert_eq!(lowest_level(name, Int32, 5), None);
        assert_eq!(lowest_level("DIAGONAL_MATRIX1", Float32, 4), Some(Level::V5_1));
    }
}
