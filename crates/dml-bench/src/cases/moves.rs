//! Operators that move rows: of 16 KiB and of 1 KiB, 64 MiB in all.

use dml::core::operators::{
    ElementWiseIdentityDesc, GatherDesc, JoinDesc, PaddingDesc, SliceDesc, TileDesc,
};
use dml::{AbstractOperator, DataType, PaddingMode, TensorDesc};

use crate::case::{Baseline, Case, Other};
use crate::meaning::matrix;
use crate::operation::{Operation, mixed};

/// Each by itself, but for what is gathered.
pub(super) fn groups() -> Vec<Vec<Case>> {
    // Elements of a row, and times of a copy that it may take.
    let rows = [("16KiB_rows", 4096, 1.8), ("1KiB_rows", 256, 3.5)];
    let all = rows.into_iter().flat_map(|(name, width, target)| {
        let all = [
            ("slice", slice(width)),
            ("padding", padding(width)),
            ("join", join(width)),
            ("tile", tile(width)),
        ];
        all.map(|(operator, work)| {
            let id = format!("{operator}/f32/64MiB/{name}");
            vec![Case::new(id, work, Baseline::Copy, Some(target))]
        })
    });
    all.chain([gathered()]).collect()
}

/// Elements of 64 MiB.
const ELEMENTS: u32 = 1 << 24;

fn tensor(height: u32, width: u32) -> TensorDesc {
    TensorDesc::packed(DataType::Float32, &[1, 1, height, width])
}

/// Rows of an input that has more of them, and longer ones.
fn slice(width: u32) -> Operation {
    let (height, wide) = (ELEMENTS / width, width + 16);
    let desc = SliceDesc {
        input_tensor: tensor(height + 2, wide),
        output_tensor: tensor(height, width),
        offsets: vec![0, 0, 1, 5],
        sizes: vec![1, 1, height, width],
        strides: vec![1; 4],
    };
    let [height, width, wide] = [height, width, wide].map(|it| it as usize);
    Operation::new(desc, move |inputs| {
        matrix([height, width], |y, x| inputs[0][(y + 1) * wide + x + 5])
    })
}

/// Ones at both ends of each row, and in the first and the last row.
fn padding(width: u32) -> Operation {
    let (height, narrow) = (ELEMENTS / width - 2, width - 8);
    let desc = PaddingDesc {
        input_tensor: tensor(height, narrow),
        output_tensor: tensor(height + 2, width),
        padding_mode: PaddingMode::Constant,
        padding_value: 1.0,
        start_padding: vec![0, 0, 1, 3],
        end_padding: vec![0, 0, 1, 5],
    };
    let [height, width, narrow] = [height, width, narrow].map(|it| it as usize);
    Operation::new(desc, move |inputs| {
        matrix([height + 2, width], |y, x| match (y.checked_sub(1), x.checked_sub(3)) {
            (Some(y), Some(x)) if y < height && x < narrow => inputs[0][y * narrow + x],
            _ => 1.0,
        })
    })
}

/// Rows of one tensor, each before a row of another.
fn join(width: u32) -> Operation {
    let height = ELEMENTS / width / 2;
    let desc = JoinDesc {
        input_tensors: vec![tensor(height, width), tensor(height, width)],
        output_tensor: tensor(height, 2 * width),
        axis: 3,
    };
    let [height, width] = [height, width].map(|it| it as usize);
    Operation::new(desc, move |inputs| {
        matrix([height, 2 * width], |y, x| inputs[x / width][y * width + x % width])
    })
}

/// Two times two of a tensor.
fn tile(width: u32) -> Operation {
    let height = ELEMENTS / width / 4;
    let desc = TileDesc {
        input_tensor: tensor(height, width),
        output_tensor: tensor(2 * height, 2 * width),
        repeats: vec![1, 1, 2, 2],
    };
    let [height, width] = [height, width].map(|it| it as usize);
    Operation::new(desc, move |inputs| {
        matrix([2 * height, 2 * width], |y, x| inputs[0][y % height * width + x % width])
    })
}

/// Rows where indices say, beside a kernel that copies as many elements as they are.
fn gathered() -> Vec<Case> {
    const KERNEL: &str = "gather/f32/64MiB/plain_copy_kernel";
    let [gather, copy] = [gather(256), copy()];
    let gather = Case::new("gather/f32/64MiB/1KiB_rows", gather, Baseline::Copy, None);
    vec![
        Case { beside: vec![Other::at_most(1.7, KERNEL)], ..gather },
        Case::new(KERNEL, copy, Baseline::Copy, None),
    ]
}

fn gather(width: u32) -> Operation {
    let height = ELEMENTS / width;
    let desc = GatherDesc {
        input_tensor: tensor(height, width),
        indices_tensor: TensorDesc::packed(DataType::Uint32, &[1, 1, 1, height]),
        output_tensor: tensor(height, width),
        axis: 2,
        index_dimensions: 1,
    };
    let [rows, width] = [height, width].map(|it| it as usize);
    // As many rows as a float counts.
    let index = move |at| u16::try_from(mixed(at, 1) % u64::from(height)).map_or(0.0, f32::from);
    let operation = Operation::new(desc, move |inputs| {
        let row = |y: usize| usize::try_from(mixed(y as u64, 1)).unwrap_or(0) % rows;
        matrix([rows, width], |y, x| inputs[0][row(y) * width + x])
    });
    operation.with_input(1, index)
}

/// A whole tensor, by a kernel: IDENTITY.
fn copy() -> Operation {
    let (input_tensor, output_tensor) = (tensor(4096, 4096), tensor(4096, 4096));
    let desc = ElementWiseIdentityDesc { input_tensor, output_tensor, scale_bias: None };
    Operation::new(AbstractOperator::from(desc), |inputs| inputs[0].clone())
}
