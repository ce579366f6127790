//! A list of the operators of ai.onnx: the DirectML operators that each runs as, or the reason why it does not run.
//! Pages show the list; the importer does not read it.

use std::collections::BTreeMap;

use super::{ALL, REFUSED, UNKNOWN};

/// The list of ONNX's operators; its first lines describe it.
const SCHEMAS: &str = include_str!("schemas.txt");

/// The DirectML operators that each operator runs as; the first lines describe the list.
const RUNS_AS: &str = include_str!("runs_as.txt");

/// An operator of ai.onnx.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorSupport {
    /// Its name.
    pub name: &'static str,
    /// Whether it runs, and how.
    pub support: Support,
}

/// Whether an operator runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// The operator runs.
    RunsAs {
        /// The first version of ai.onnx in which it runs.
        since: i64,
        /// The operators of DirectML that it becomes, or `alias` or `host`, in words.
        what: &'static str,
    },
    /// The importer refuses the operator.
    Refused {
        /// The reason, as errors state it.
        reason: &'static str,
    },
}

/// The operators of ai.onnx by name.
pub fn support() -> Vec<OperatorSupport> {
    let runs_as = runs_as();
    let all: BTreeMap<&str, i64> = schemas().collect();
    let support = |(name, first): (&'static str, i64)| {
        let own = ALL.into_iter().flatten().filter(|row| row.domain.is_empty() && row.name == name);
        let support = match runs_as.get(name) {
            Some(what) => {
                Support::RunsAs { since: own.map(|row| row.since).min().unwrap_or(first), what }
            }
            None => {
                let refused = REFUSED.iter().find(|(refused, _)| *refused == name);
                Support::Refused { reason: refused.map_or(UNKNOWN, |(_, reason)| reason) }
            }
        };
        OperatorSupport { name, support }
    };
    all.into_iter().map(support).collect()
}

/// The lines of a list.
fn lines(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Each operator in the list, and the first version of ai.onnx that has it. The list has later ones first, so
/// that a map keeps the first.
fn schemas() -> impl Iterator<Item = (&'static str, i64)> {
    let all: Vec<(&str, i64)> = lines(SCHEMAS)
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, words.next()?.parse().ok()?))
        })
        .collect();
    all.into_iter().rev()
}

fn runs_as() -> BTreeMap<&'static str, &'static str> {
    lines(RUNS_AS).filter_map(|line| line.split_once(": ")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use dml_core::operators;

    use super::super::Build;
    use super::*;
    use crate::onnx::contrib;

    /// Operators that the reader expands.
    const CONTROL_FLOW: [&str; 4] = ["If", "Loop", "Scan", "SequenceMap"];

    #[test]
    fn every_operator_that_runs_says_as_what() {
        let rows = ALL.into_iter().flatten().filter(|row| row.domain.is_empty());
        let mut run: BTreeSet<&str> = rows.map(|row| row.name).chain(CONTROL_FLOW).collect();
        run.extend(
            contrib::definitions()
                .filter(|definition| definition.domain.is_empty())
                .map(|definition| definition.name),
        );
        let said: BTreeSet<&str> = runs_as().into_keys().collect();
        let missing: Vec<_> = run.difference(&said).collect();
        assert!(missing.is_empty(), "runs_as.txt has no line for {missing:?}");
        let beyond: Vec<_> = said.difference(&run).collect();
        assert!(beyond.is_empty(), "runs_as.txt has lines for {beyond:?}, which do not run");
    }

    #[test]
    fn every_operator_that_does_not_run_has_a_reason() {
        let refused: Vec<&str> = support()
            .iter()
            .filter(|it| matches!(it.support, Support::Refused { .. }))
            .map(|it| it.name)
            .collect();
        let named: Vec<&str> = REFUSED.iter().map(|(name, _)| *name).collect();
        let gone = named.iter().filter(|name| !refused.contains(name)).collect::<Vec<_>>();
        assert!(gone.is_empty(), "they run: {gone:?}");
        let without = refused.iter().filter(|name| !named.contains(name)).collect::<Vec<_>>();
        assert!(without.is_empty(), "REFUSED has no reason for {without:?}");
    }

    #[test]
    fn operators_of_directml_are_called_by_their_names() {
        for (name, what) in runs_as() {
            let words = what.split(|it: char| !(it.is_ascii_alphanumeric() || it == '_'));
            let is_name = |word: &&str| word.len() > 2 && !word.contains(char::is_lowercase);
            for word in words.filter(is_name) {
                assert!(operators::find(word).is_some(), "{name}: {word}");
            }
        }
    }

    /// Rows of element-wise operators and reductions have the operator of DirectML as data.
    #[test]
    fn element_wise_operators_are_those_of_their_rows() {
        let runs_as = runs_as();
        let mut checked = 0;
        for row in ALL.into_iter().flatten().filter(|row| row.domain.is_empty()) {
            let operator = match &row.build {
                Build::ElementWise(function)
                | Build::Legacy(function)
                | Build::Parameterized(function, _) => function.schema().name,
                Build::Reduce(_) => "REDUCE",
                Build::From(_) => continue,
            };
            assert!(runs_as[row.name].starts_with(operator), "{}: {operator}", row.name);
            checked += 1;
        }
        assert!(checked > 60, "{checked}");
    }

    #[test]
    fn the_first_version_is_that_of_the_first_row() {
        let since = |name: &str| support().into_iter().find(|it| it.name == name).unwrap().support;
        assert!(matches!(since("Add"), Support::RunsAs { since: 1, .. }));
        assert!(matches!(since("Trilu"), Support::RunsAs { since: 14, .. }));
        assert!(matches!(since("If"), Support::RunsAs { since: 1, .. }));
        let reason = "strings are not run";
        assert_eq!(since("StringSplit"), Support::Refused { reason });
    }
}
