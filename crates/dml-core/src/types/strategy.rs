//! Ways to execute an operator. All but one give the same bytes.

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
    /// Sums of products are added up in tiles of eight rows and columns, one for each invocation.
    RegisterTiles, "register-tiles";
    /// Sums of products are added up in tiles of 16 rows and eight columns, one for each invocation, which reads
    /// words in pairs.
    TallTiles, "tall-tiles";
    /// Sums of products are added up in tiles of 32 rows and columns, one for each work group, which shares what
    /// it reads.
    SharedTiles32, "shared-tiles-32";
    /// The same in tiles of 64 rows and columns.
    SharedTiles64, "shared-tiles-64";
    /// The same in tiles of 128 rows and columns.
    SharedTiles128, "shared-tiles-128";
    /// Work groups have rows: they join, scan or sort their elements.
    RowGroups, "row-groups";
    /// Elements that are neighbours along one dimension in the input and along another in the output are copied in
    /// tiles of 32 or 64 rows and columns, one for each work group, which shares what it reads.
    TransposeTiles, "transpose-tiles";
    /// Products of FLOAT16 are added up in single precision by the device's cooperative matrices, in an order of
    /// its own: not the same bytes everywhere. Never chosen unless it is asked for.
    CooperativeMatrices, "cooperative-matrices";
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
        let error = "tal-tiles".parse::<Strategy>().unwrap_err().to_string();
        let expected =
            "unknown strategy 'tal-tiles' (did you mean tall-tiles?); accepted: inline, ";
        assert!(error.starts_with(expected), "{error}");
    }
}
