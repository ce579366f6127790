//! `kernels/product_cooperative.comp`: sums of products of halves, by cooperative matrices.

use std::sync::LazyLock;

use dml_core::host::{HostDispatch, HostError};
use dml_core::kernel::{KernelModule, Shared};
use dml_core::plan::Access as Touch;
use half::f16;

use super::Arithmetic;
use super::record::split;
use crate::element_wise::{AccessPattern, KernelOperand, LinkedKernel, PushConstants};
use crate::twins::dispatch::for_each_group_below;
use crate::{ElementWidth, kernels, link};

/// The number of cooperative matrices of sums along each side of a work group.
pub const MATRICES_OF_A_GROUP: u32 = 2;

/// The matrices that a dispatch multiplies: packed, row after row, batch after batch.
///
/// The kernel's work groups are subgroups. Its specialization constants MATRIX_M, MATRIX_N and MATRIX_K
/// are sizes that the device offers for FLOAT16 with sums of FLOAT32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CooperativeRecord {
    /// The number of rows and of columns, multiples of [`MATRICES_OF_A_GROUP`] cooperative matrices,
    /// and of depths, a multiple of one.
    pub sizes: [u32; 3],
    /// Outer and inner batches.
    pub batches: [u32; 2],
    /// The first word of the rows, the columns and the sums in their windows.
    pub starts: [u32; 3],
    /// Words from an outer batch to the next, for rows, columns and sums.
    pub outer: [u32; 3],
    /// Words from an inner batch to the next, for rows, columns and sums.
    pub inner: [u32; 3],
}

impl CooperativeRecord {
    fn groups(&self, [m, n]: [u32; 2]) -> [u32; 2] {
        let [rows, columns, _] = self.sizes;
        [columns / (MATRICES_OF_A_GROUP * n), rows / (MATRICES_OF_A_GROUP * m)]
    }

    /// The number of work groups, for cooperative matrices with these numbers of rows and columns.
    pub fn count(&self, matrix: [u32; 2]) -> u64 {
        self.groups(matrix).into_iter().chain(self.batches).map(u64::from).product()
    }

    /// The uniform block, for cooperative matrices with these numbers of rows and columns.
    pub fn words(&self, matrix: [u32; 2]) -> Vec<u32> {
        let of_three = |[a, b, c]: [u32; 3]| [a, b, c, 0];
        let mut words = of_three(self.sizes).to_vec();
        words.extend(self.groups(matrix).into_iter().chain([self.batches[1]]).flat_map(split));
        words.extend([self.starts, self.outer, self.inner].into_iter().flat_map(of_three));
        words
    }
}

/// The kernel. Rows are at binding 0, columns at 1, and the sums at the binding of an element-wise kernel's output.
pub fn cooperative() -> Shared<KernelModule> {
    static MODULE: LazyLock<KernelModule> = LazyLock::new(|| {
        let skeleton = &kernels::PRODUCT_COOPERATIVE;
        let (name, spirv) = (skeleton.name.to_owned(), link::link(skeleton, &[]));
        let input = KernelOperand { width: ElementWidth::B32, access: AccessPattern::Ragged };
        let linked = LinkedKernel { name, spirv, skeleton, host: Box::new(run) };
        linked.module(&[input; 2], Touch::Write)
    });
    Shared::Static(&MODULE)
}

const ROWS_AT: usize = 0;
const COLUMNS_AT: usize = 1;
const SUMS_AT: usize = 2;

/// Runs the kernel on the host, adding one product at a time.
fn run(dispatch: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let [m, n] = ["MATRIX_M", "MATRIX_N"].map(|it| dispatch.specialization(it));
    let words: [u32; 28] = std::array::from_fn(|at| dispatch.uniform_word(at));
    let push = PushConstants::of(dispatch);
    let bases = [push.base_words[0], push.base_words[1], push.base_words[7]];
    let [_, columns, depths] = [words[0], words[1], words[2]];
    for_each_group_below(dispatch, push.first_group, push.count, |dispatch, group| {
        let [across, down, inner] = [words[4], words[8], words[12]];
        let (column, rest) = (group % across * MATRICES_OF_A_GROUP * n, group / across);
        let (row, rest) = (rest % down * MATRICES_OF_A_GROUP * m, rest / down);
        let (of_inner, of_outer) = (rest % inner, rest / inner);
        let start = |at: usize| {
            let batch = of_outer * words[20 + at] + of_inner * words[24 + at];
            bases[at] + words[16 + at] + batch
        };
        for row in row..row + MATRICES_OF_A_GROUP * m {
            for column in column..column + MATRICES_OF_A_GROUP * n {
                let mut sum = 0;
                for depth in 0..depths {
                    let one = half_at(dispatch, ROWS_AT, start(0), row * depths + depth)?;
                    let other = half_at(dispatch, COLUMNS_AT, start(1), depth * columns + column)?;
                    let factors = [one, other].map(f32::to_bits);
                    sum = Arithmetic::Halves.with_product(sum, factors, [0; 2]);
                }
                dispatch.store(SUMS_AT, start(2) + row * columns + column, sum)?;
            }
        }
        Ok(())
    })
}

fn half_at(
    dispatch: &mut HostDispatch<'_>,
    binding: usize,
    start: u32,
    element: u32,
) -> Result<f32, HostError> {
    let [a, b, c, d] = dispatch.load(binding, start + element / 2)?.to_le_bytes();
    let bytes = if element.is_multiple_of(2) { [a, b] } else { [c, d] };
    Ok(f16::from_le_bytes(bytes).to_f32())
}
