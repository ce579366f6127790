//! Ways to execute an operator. All except [`Strategy::CooperativeMatrices`] give the same bytes.

use super::named_enum::named_enum;

named_enum! {
    /// How a plan computes its output.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    Strategy called "strategy", as str::to_owned,
    /// Its name on command lines and in reports.
    name;
    /// The output's bytes are made on the host and are part of the commands.
    Inline, "inline";
    /// The whole output is filled with one pattern.
    Fill, "fill";
    /// The output is filled with zeros, and then a kernel writes the values.
    FillAndScatter, "fill-and-scatter";
    /// The whole input is copied, and then a kernel writes the values.
    CopyAndBand, "copy-and-band";
    /// A block that repeats is made on the host and copied over the whole output.
    SeedAndCopy, "seed-and-copy";
    /// Rows and parts of rows are copied from the input, and from runs that are made on the host.
    RowCopies, "row-copies";
    /// Kernels write all elements.
    Kernel, "kernel";
    /// Matrix products in tiles of eight rows and columns, one for each invocation.
    RegisterTiles, "register-tiles";
    /// Matrix products in tiles of 16 rows and eight columns, one for each invocation, which reads words in
    /// pairs.
    TallTiles, "tall-tiles";
    /// Matrix products in tiles of 32 rows and columns, one for each work group, which keeps its operands in
    /// shared memory.
    SharedTiles32, "shared-tiles-32";
    /// Matrix products in tiles of 64 rows and columns, with operands in shared memory.
    SharedTiles64, "shared-tiles-64";
    /// Matrix products in tiles of 128 rows and columns, with operands in shared memory.
    SharedTiles128, "shared-tiles-128";
    /// Matrix products of at most 16 rows, in tiles of 64 columns, one for each work group, which keeps its operands
    /// in shared memory.
    FewRows, "few-rows";
    /// Each work group reduces, scans or sorts the elements of rows.
    RowGroups, "row-groups";
    /// A transposition in tiles of 32 or 64 rows and columns, one for each work group, through shared memory:
    /// elements adjacent along one dimension of the input are adjacent along another of the output.
    TransposeTiles, "transpose-tiles";
    /// FLOAT16 matrix products by the device's cooperative matrices, summed in single precision in an order that
    /// depends on the device, so that bytes may differ between devices. Used only if requested.
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
