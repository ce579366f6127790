//! Products of FLOAT16 matrices by cooperative matrices: both factors are copied to buffers that are padded
//! to whole cooperative matrices, and the sums are padded likewise.

use dml_core::{DataType, Error, TensorLayout, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::DIMENSIONS;
use dml_spirv::product::MATRICES_OF_A_GROUP;

use crate::Target;
use crate::families::products::{ProductRecorder, transposed};
use crate::ir::space::{IterationSpace, Operand, leading};
use crate::ir::{Computation, Matrices, WholeMatrices};

/// The sizes of padded sums of products of A and B.
pub(super) struct Shape {
    /// Rows and columns of a cooperative matrix.
    matrix: [u32; 2],
    /// Rows, columns and depths, padded to whole cooperative matrices.
    sizes: [u32; 3],
    batches: [u32; 2],
    /// The dimensions of A's rows and depths, and of B's depths and columns.
    of_a: [usize; 2],
    of_b: [usize; 2],
}

impl Shape {
    /// The shape of an operator whose factors are FLOAT16, where the target prefers cooperative matrices,
    /// offers them, and can bind all of each operand at once; else `None`.
    pub(super) fn of(operator: &Validated, target: &Target<'_>) -> Result<Option<Self>, Error> {
        let Some([m, n, k]) = target.cooperative_matrix() else { return Ok(None) };
        let [a, b] = ["ATensor", "BTensor"].map(|name| operator.required_tensor(name));
        let (a, b) = (a?, b?);
        if [a.data_type(), b.data_type()] != [DataType::Float16; 2] {
            return Ok(None);
        }
        let output = operator.required_tensor("OutputTensor")?.sizes();
        let [first, last] = [output.len() - 2, output.len() - 1];
        let ordered = |is_transposed| if is_transposed { [last, first] } else { [first, last] };
        let [of_a, of_b] = transposed(operator)?.map(ordered);
        let side = |size: u32, of_matrix: u32| {
            size.checked_next_multiple_of(of_matrix * MATRICES_OF_A_GROUP)
        };
        let depths = a.sizes()[of_a[1]].checked_next_multiple_of(k);
        let (Some(rows), Some(columns), Some(depths)) =
            (side(output[first], m), side(output[last], n), depths)
        else {
            return Ok(None);
        };
        let batch = |from_end: usize| first.checked_sub(from_end).map_or(1, |at| output[at]);
        let batches = [batch(2), batch(1)];
        let sizes = [rows, columns, depths];
        let of_output = batches.iter().chain(&sizes[..2]).map(|batch| u64::from(*batch)).product();
        let all = |it: &TensorLayout, [one, other]: [u32; 2]| {
            let batches = it.sizes()[..first].iter().copied().chain([one, other]);
            batches.map(u64::from).product()
        };
        let are_small = target.shows(of_output, ElementWidth::B32)
            && target.shows(all(a, [rows, depths]), ElementWidth::B16)
            && target.shows(all(b, [depths, columns]), ElementWidth::B16);
        Ok(are_small.then_some(Self { matrix: [m, n], sizes, batches, of_a, of_b }))
    }
}

impl ProductRecorder<'_> {
    /// Adds the steps that write the sums of `shape`, and returns their operand.
    pub(super) fn cooperative_sums(&mut self, shape: &Shape) -> Result<Operand, Error> {
        let Shape { matrix, sizes, batches, of_a, of_b } = *shape;
        let [rows, columns, depths] = sizes;
        let a = self.whole_matrices("ATensor", of_a, [rows, depths])?;
        let b = self.whole_matrices("BTensor", of_b, [depths, columns])?;
        let of_one = u64::from(rows) * u64::from(columns);
        let count = of_one * batches.map(u64::from).iter().product::<u64>();
        let mut place = self.recorder.temporary(ElementWidth::B32, count);
        let of_batches = [of_one * u64::from(batches[1]), of_one];
        place.strides[DIMENSIONS - 4..].copy_from_slice(&[
            of_batches[0].cast_signed(),
            of_batches[1].cast_signed(),
            columns.into(),
            1,
        ]);
        let sums = Matrices { place: place.clone(), count, batches: of_batches };
        self.recorder.contract_whole(WholeMatrices {
            matrix,
            sizes,
            batches,
            operands: [a, b, sums],
        })?;
        Ok(place)
    }

    /// A copy of a tensor's matrices, padded with zeros to the sizes `whole`; `of` are the dimensions of its
    /// rows and columns.
    fn whole_matrices(
        &mut self,
        name: &'static str,
        of: [usize; 2],
        whole: [u32; 2],
    ) -> Result<Matrices, Error> {
        let tensor = self.operator.required_tensor(name)?;
        let (operand, _) = self.required(name)?;
        let sizes = tensor.sizes();
        let (rank, first) = (sizes.len(), DIMENSIONS - sizes.len());
        let mut strides = [0; DIMENSIONS];
        let mut next = 1_u64;
        let mut batches = [0; 2];
        let dimensions = [of[1], of[0]].into_iter().zip([whole[1], whole[0]]);
        let others = (0..rank - 2).rev().map(|at| (at, sizes[at]));
        for (number, (at, size)) in dimensions.chain(others).enumerate() {
            if number < 2 || size > 1 {
                strides[first + at] = next.cast_signed();
            }
            // Batches are assigned from the inside; the kernel has two dimensions of batches.
            if let (2 | 3, true) = (number, size > 1) {
                batches[3 - number] = next;
            }
            next *= u64::from(size);
        }
        let place = self.recorder.derived(&[&operand], ElementWidth::B16, next);
        if [sizes[of[0]], sizes[of[1]]] != whole {
            let words = Operand { width: ElementWidth::B32, base: place.base / 2, ..place.clone() };
            // The sides of cooperative matrices are even.
            let count = u32::try_from(next / 2).expect("a window shows all of them");
            self.zeros(leading(&[count], 1), Operand { strides: leading_stride(), ..words })?;
        }
        let output = Operand { strides, ..place };
        let matrices = Matrices { place: output.clone(), count: next, batches };
        let space = IterationSpace { sizes: leading(sizes, 1), inputs: vec![operand], output };
        self.recorder.map(space, Computation::copy())?;
        Ok(matrices)
    }
}

/// The strides of contiguous elements in one row.
fn leading_stride() -> [i64; DIMENSIONS] {
    let mut strides = [0; DIMENSIONS];
    strides[DIMENSIONS - 1] = 1;
    strides
}
