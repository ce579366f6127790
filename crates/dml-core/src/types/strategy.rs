//! Ways to execute an operator. All give the same bytes.

use super::named_enum::named_enum;

named_enum! {
    /// How the executions of a plan work.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    Strategy called "strategy", as str::to_owned,
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
