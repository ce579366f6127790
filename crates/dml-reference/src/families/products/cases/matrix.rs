//! The corner cases of matrix products.

use dml_core::{FieldValue, TensorDesc, Validated};

use super::{CaseGenerator, Parts};
use crate::families::products::fields::transposed;
use crate::{BrokenRule, Case, Random, Sizes};

/// The sizes of a matrix product.
#[derive(Clone, Copy)]
pub(super) struct Matrix {
    /// The sizes of the batch dimensions.
    pub(super) batches: [u32; 2],
    pub(super) rows: u32,
    pub(super) depth: u32,
    pub(super) columns: u32,
    pub(super) transposed: [bool; 2],
}

impl Matrix {
    pub(super) const ONE: Self = Self::of(1, 1, 1);

    const fn of(rows: u32, depth: u32, columns: u32) -> Self {
        Self { batches: [1, 1], rows, depth, columns, transposed: [false, false] }
    }

    fn sizes(&self, [rows, columns]: [u32; 2]) -> Sizes {
        [1, 1, 1, 1, self.batches[0], self.batches[1], rows, columns]
    }

    fn swapped(&self, side: usize, [one, other]: [u32; 2]) -> Sizes {
        self.sizes(if self.transposed[side] { [other, one] } else { [one, other] })
    }
}

/// The number of products in a sum, for B of these sizes.
pub(super) fn depth(operator: &Validated, sizes: &[u32]) -> usize {
    let is_transposed = transposed(operator).is_ok_and(|it| it[1]);
    let at = sizes.len().saturating_sub(if is_transposed { 1 } else { 2 });
    sizes.get(at).map_or(1, |size| *size as usize)
}

/// Sizes that fill tiles or end within them, with roles of rows and columns exchanged as well.
const SIZES: [(u32, u32, u32); 14] = [
    (1, 1, 1),
    (6, 6, 6),
    (3, 5, 7),
    (8, 16, 8),
    (9, 4, 17),
    (1, 33, 40),
    (40, 33, 1),
    (2, 3, 67),
    (67, 3, 2),
    (20, 12, 20),
    (17, 9, 10),
    // More than one tile of work groups, and depths that do not fill a tile.
    (70, 19, 133),
    // Depths that are split into parts, and depths whose parts are added by more than one dispatch.
    (5, 8200, 3),
    (3, 60_000, 2),
];

impl CaseGenerator<'_> {
    /// Packed tensors; quantization parameters are per row or per column.
    pub(super) fn matrices(&self, it: Matrix) -> Parts {
        let of_rows = [1, 1, 1, 1, 1, 1, it.rows, 1];
        let of_columns = [1, 1, 1, 1, 1, 1, 1, it.columns];
        let output = it.sizes([it.rows, it.columns]);
        let parts = self.tensors([
            ("ATensor", it.swapped(0, [it.rows, it.depth])),
            ("AScaleTensor", of_rows),
            ("AZeroPointTensor", of_rows),
            ("BTensor", it.swapped(1, [it.depth, it.columns])),
            ("BScaleTensor", of_columns),
            ("BZeroPointTensor", of_columns),
            ("CTensor", output),
            ("BiasTensor", output),
            ("OutputScaleTensor", of_rows),
            ("OutputZeroPointTensor", of_rows),
            ("OutputTensor", output),
        ]);
        let [a, b] = it.transposed.map(|transposed| FieldValue::Uint(transposed.into()));
        parts.valued("TransA", a).valued("TransB", b)
    }

    /// Without optional tensors, and with quantization parameters per tensor.
    fn bare(&self, it: Matrix) -> Parts {
        let mut parts = self.matrices(it);
        let rank = self.signature.rank;
        for field in self.schema.fields.iter().filter(|field| field.optional) {
            parts.tensors.remove(field.name);
        }
        for (name, tensor) in &mut parts.tensors {
            if name.contains("Scale") {
                *tensor = TensorDesc::packed(tensor.data_type, &vec![1; rank]);
            }
        }
        parts
    }

    pub(super) fn of_matrices(&self) -> Vec<Case> {
        let mut cases = vec![];
        for (rows, depth, columns) in SIZES {
            let name = format!("sizes_{rows}_{depth}_{columns}");
            cases.push(self.case(&name, &self.bare(Matrix::of(rows, depth, columns))));
        }
        for (rows, depth, columns) in [(3, 5, 7), (20, 12, 24)] {
            let name = format!("with_all_{rows}_{depth}_{columns}");
            cases.push(self.case(&name, &self.matrices(Matrix::of(rows, depth, columns))));
        }
        let batches = match self.signature.rank {
            2 => [1, 1],
            3 => [1, 3],
            _ => [2, 3],
        };
        let usual = self.matrices(Matrix { batches, ..Matrix::of(5, 6, 9) });
        cases.push(self.case("batches", &usual));
        cases.extend(self.layouts(&usual));
        cases.extend(self.activations(&usual));
        if self.signature.data_type().integer_range().is_none() {
            cases.push(self.of_all_digits(&self.bare(Matrix::of(12, 40, 9))));
            cases.push(self.of_ones(&self.bare(Matrix::of(2, 4096, 3))));
        }
        cases.extend(self.transposed_matrices(batches));
        cases.extend(self.scaled_matrices(batches));
        cases
    }

    fn transposed_matrices(&self, batches: [u32; 2]) -> Vec<Case> {
        let mut cases = vec![];
        if !self.has("TransA") {
            return cases;
        }
        for (name, transposed) in
            [("a", [true, false]), ("b", [false, true]), ("both", [true, true])]
        {
            for (rows, depth, columns) in [(3, 5, 7), (20, 12, 24), (1, 33, 40)] {
                let it = Matrix { batches, transposed, ..Matrix::of(rows, depth, columns) };
                let name = format!("transposed_{name}_{rows}_{depth}_{columns}");
                cases.push(self.case(&name, &self.matrices(it)));
            }
        }
        cases
    }

    /// Values of Alpha and Beta, and all ways to broadcast C.
    fn scaled_matrices(&self, batches: [u32; 2]) -> Vec<Case> {
        let mut cases = vec![];
        if !self.has("Alpha") {
            return cases;
        }
        let usual = self.matrices(Matrix { batches, ..Matrix::of(4, 3, 6) });
        for (name, alpha, beta) in [
            ("halved", 0.5, 2.0),
            ("alone", 0.0, 1.0),
            ("left_out", 1.0, 0.0),
            ("both", -1.5, 0.25),
        ] {
            let [alpha, beta] = [alpha, beta].map(FieldValue::Float);
            let parts = usual.clone().valued("Alpha", alpha).valued("Beta", beta);
            cases.push(self.case(format!("alpha_beta_{name}"), &parts));
        }
        let rank = self.signature.rank;
        for (name, [row, column]) in [("element", [0, 0]), ("row", [0, 1]), ("column", [1, 0])] {
            let mut strides = vec![0; rank];
            (strides[rank - 2], strides[rank - 1]) = (row, column);
            let c = self
                .make("CTensor")
                .packed(Matrix { batches, ..Matrix::of(4, 3, 6) }.sizes([4, 6]));
            let parts = usual.clone().with("CTensor", c.with_strides(&strides));
            cases.push(self.case(format!("repeated_c_{name}"), &parts));
        }
        cases
    }

    pub(super) fn random_matrices(&self, random: &mut Random) -> Parts {
        let mut size = || random.pick(&[1, 2, 3, 4, 5, 8, 12, 17, 24]);
        let it = Matrix::of(size(), size(), size());
        let has_transforms = self.has("TransA");
        let mut batch = |least| if self.signature.rank >= least { 1 + random.below(3) } else { 1 };
        let batches = [batch(4), batch(3)];
        let transposed = [0; 2].map(|_| has_transforms && random.one_in(2));
        let [alpha, beta] = [0; 2].map(|_| FieldValue::Float(random.pick(&[1.0, 0.5, -2.0, 0.0])));
        let parts = self.matrices(Matrix { batches, transposed, ..it });
        parts.valued("Alpha", alpha).valued("Beta", beta)
    }

    pub(super) fn broken_matrices(&self) -> Vec<BrokenRule> {
        let usual = || self.matrices(Matrix::of(3, 4, 5));
        let [first, last] = [self.signature.rank - 2, self.signature.rank - 1];
        let sized = |name: &'static str, at: usize, size: u32| {
            usual().changed(name, |it| it.sizes[at] = size)
        };
        let mut rules = vec![self.rule(
            "rule_depths_differ",
            &sized("BTensor", first, 3),
            format!("BTensor.Sizes[{first}]"),
        )];
        if !self.has("CTensor") {
            rules.push(self.rule(
                "rule_output_has_other_rows",
                &sized("OutputTensor", first, 4),
                format!("OutputTensor.Sizes[{first}]"),
            ));
            rules.push(self.rule(
                "rule_zero_points_of_no_rows",
                &sized("AZeroPointTensor", first, 2),
                format!("AZeroPointTensor.Sizes[{first}]"),
            ));
            rules.push(self.rule(
                "rule_zero_points_of_no_columns",
                &sized("BZeroPointTensor", last, 2),
                format!("BZeroPointTensor.Sizes[{last}]"),
            ));
        }
        if first > 0 {
            rules.push(self.rule(
                "rule_batches_differ",
                &sized("ATensor", 0, 2),
                "ATensor.Sizes[0]",
            ));
        }
        rules
    }
}
