//! Ways to execute an operator. All give the same bytes.

use std::fmt;
use std::str::FromStr;

use super::UnknownName;
use super::named_enum::named_enum;

named_enum! {
    /// How the executions of a plan work.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    Strategy,
    /// Its name on command lines and in reports.
    name;
    /// The output's bytes are made on the host and are part of the commands.
    Inline, "inline";
    /// One pattern everywhere.
    Fill, "fill";
    /// Zeros everywhere, then the values by a kernel.
    FillAndScatter, "fill-and-scatter";
    /// The input as a whole, then the values by a kernel.
    CopyAndBand, "copy-and-band";
    /// A block that repeats is made on the host and copied over the whole output.
    SeedAndCopy, "seed-and-copy";
    /// Rows and parts of rows are copied, from the input and from runs that are made on the host.
    RowCopies, "row-copies";
    /// Kernels write every element that is written.
    Kernel, "kernel";
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Strategy {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|strategy| strategy.name() == name);
        let accepted = || Self::ALL.map(Self::name).join(", ");
        found.ok_or_else(|| UnknownName::new("strategy", name, &accepted()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.to_string().parse(), Ok(strategy));
        }
        let error = "write".parse::<Strategy>().unwrap_err().to_string();
        assert!(error.contains("strategy") && error.contains("inline, fill,"), "{error}");
    }
}
