//! The counts and findings of a soak run.

use std::collections::BTreeMap;
use std::fmt;

/// Counts of one thread, or of all.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// The number of times that each operation was done, by its name.
    pub(super) operations: BTreeMap<&'static str, u64>,
    /// The number of executions whose bytes were compared.
    pub(super) verified: u64,
    /// The number of bytes that were compared with the reference.
    pub(super) bytes: u64,
    /// The number of cases that the device refused because of its limits.
    pub(super) unsupported: u64,
    /// The number of requests that were refused as they must be.
    pub(super) refused: u64,
    /// Defects that were found.
    pub(super) findings: Vec<String>,
}

impl Tally {
    /// The tally of a thread that ended with a panic.
    pub(super) fn panicked(who: &str) -> Self {
        Self { findings: vec![format!("{who} panicked")], ..Self::default() }
    }

    /// The sum of both tallies.
    pub(super) fn and(mut self, other: Self) -> Self {
        for (name, count) in other.operations {
            *self.operations.entry(name).or_default() += count;
        }
        self.verified += other.verified;
        self.bytes += other.bytes;
        self.unsupported += other.unsupported;
        self.refused += other.refused;
        self.findings.extend(other.findings);
        self
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, count) in &self.operations {
            writeln!(f, "  {name}: {count}")?;
        }
        writeln!(f, "  executions verified: {}, {} bytes", self.verified, self.bytes)?;
        writeln!(f, "  refused as they must be: {}", self.refused)?;
        writeln!(f, "  beyond the device's limits, and refused so: {}", self.unsupported)?;
        writeln!(f, "  findings: {}", self.findings.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_add_up() {
        let one = Tally { bytes: 3, operations: [("a", 1)].into(), ..Tally::default() };
        let other =
            Tally { operations: [("a", 2), ("b", 1)].into(), ..Tally::panicked("thread 1") };
        let sum = one.and(other);
        assert_eq!((sum.operations["a"], sum.operations["b"], sum.bytes), (3, 1, 3));
        assert_eq!(sum.findings, ["thread 1 panicked"]);
        assert!(sum.to_string().contains("  a: 3\n  b: 1\n"), "{sum}");
    }
}
