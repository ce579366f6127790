//! DIAGONAL_MATRIX as its documentation has it, and its corner cases.

use dml_core::operators::{DIAGONAL_MATRIX, DiagonalMatrixDesc};
use dml_core::{AbstractOperator, DataType, Error, TensorDesc, Validated};
use half::f16;

use crate::reference::{Case, Random, Reference};

pub(in super::super) struct DiagonalMatrixReference;

impl Reference for DiagonalMatrixReference {
    fn outputs(
        &self,
        operator: &Validated,
        _inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let output = operator.required_tensor("OutputTensor")?;
        let offset = i128::from(operator.int("Offset")?);
        let value = convert(operator.float("Value")?, output.data_type());
        let [.., height, width] = *output.sizes() else {
            let problem = "a matrix has two dimensions".to_owned();
            return Err(Error::Internal { operator: DIAGONAL_MATRIX.name, problem });
        };
        let batches: u32 = output.sizes()[..output.sizes().len() - 2].iter().product();
        let mut elements = Vec::new();
        for _ in 0..batches {
            for y in 0..i128::from(height) {
                for x in 0..i128::from(width) {
                    elements.push(if y + offset == x { value } else { 0 });
                }
            }
        }
        Ok(vec![elements])
    }

    fn minimal(&self, data_type: DataType, rank: usize) -> AbstractOperator {
        desc(TensorDesc::packed(data_type, &vec![1; rank]), 0, 1.0).into()
    }

    fn cases(&self, data_type: DataType, rank: usize) -> Vec<Case> {
        let make = Maker { data_type, rank };
        let mut cases = make.offsets();
        cases.extend(make.shapes());
        cases.extend(make.values());
        cases.extend(make.layouts());
        if data_type == DataType::Float32 && rank == 4 {
            cases.extend(documented());
        }
        cases
    }

    fn random(&self, random: &mut Random, data_type: DataType, rank: usize) -> Case {
        let sizes = random.sizes(rank);
        let operator =
            desc(random.tensor(data_type, &sizes), random.diagonal(&sizes), random.float());
        Case::new("random", operator).with_random_buffers(random)
    }
}

/// Rust's `as` truncates toward zero, saturates, and turns NaN into 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the meaning of `as` is the rule that the deviations document states"
)]
fn convert(value: f32, data_type: DataType) -> u64 {
    match data_type {
        DataType::Float32 => value.to_bits().into(),
        DataType::Float16 | DataType::Float64 if value.is_nan() => {
            convert_nan(value.to_bits(), data_type)
        }
        DataType::Float16 => f16::from_f32(value).to_bits().into(),
        DataType::Float64 => f64::from(value).to_bits(),
        DataType::Uint64 => value as u64,
        DataType::Int64 => (value as i64).cast_unsigned(),
        DataType::Uint32 => (value as u32).into(),
        DataType::Int32 => (value as i32).cast_unsigned().into(),
        DataType::Uint16 => (value as u16).into(),
        DataType::Int16 => (value as i16).cast_unsigned().into(),
        DataType::Uint8 => (value as u8).into(),
        DataType::Int8 => (value as i8).cast_unsigned().into(),
        DataType::Uint4 | DataType::Int4 => unreachable!("no feature level accepts 4-bit types"),
    }
}

/// A NaN keeps its sign and the upper bits of its payload, quiet or not, and stays a NaN.
fn convert_nan(bits: u32, data_type: DataType) -> u64 {
    let (is_negative, payload) = (bits >> 31 == 1, bits & 0x7f_ffff);
    match data_type {
        DataType::Float16 => {
            u64::from(if is_negative { 0xfc00 } else { 0x7c00 } | (payload / 0x2000).max(1))
        }
        _ => {
            let infinity = if is_negative { f64::NEG_INFINITY } else { f64::INFINITY };
            infinity.to_bits() + u64::from(payload) * 0x2000_0000
        }
    }
}

fn desc(output_tensor: TensorDesc, offset: i32, value: f32) -> DiagonalMatrixDesc {
    DiagonalMatrixDesc { output_tensor, offset, value }
}

struct Maker {
    data_type: DataType,
    rank: usize,
}

impl Maker {
    /// The last `rank` of four sizes.
    fn packed(&self, sizes: [u32; 4]) -> TensorDesc {
        TensorDesc::packed(self.data_type, &sizes[4 - self.rank..])
    }

    fn strided(&self, sizes: [u32; 4], strides: [u32; 4]) -> TensorDesc {
        self.packed(sizes).with_strides(&strides[4 - self.rank..])
    }

    /// 5 rows and 7 columns, in batches of 2 and 3.
    fn offsets(&self) -> Vec<Case> {
        let case = |name, offset| Case::new(name, desc(self.packed([2, 3, 5, 7]), offset, 1.0));
        vec![
            case("offset_zero", 0),
            case("offset_right", 2),
            case("offset_left", -2),
            case("offset_last_column", 6),
            case("offset_past_right", 7),
            case("offset_last_row", -4),
            case("offset_past_bottom", -5),
            case("offset_int32_min", i32::MIN),
            case("offset_int32_max", i32::MAX),
        ]
    }

    fn shapes(&self) -> Vec<Case> {
        let case = |name, sizes, offset| Case::new(name, desc(self.packed(sizes), offset, 1.0));
        vec![
            case("shape_single_element", [1, 1, 1, 1], 0),
            case("shape_row", [3, 2, 1, 13], 12),
            case("shape_column", [2, 2, 11, 1], -10),
            case("shape_tall", [1, 2, 131, 17], -100),
            case("shape_wide", [2, 1, 17, 131], 100),
            case("shape_many_groups", [2, 3, 127, 113], 1),
            case("shape_many_batches", [37, 41, 3, 3], 0),
        ]
    }

    fn values(&self) -> Vec<Case> {
        let case = |name, value| Case::new(name, desc(self.packed([1, 2, 3, 3]), 0, value));
        vec![
            case("value_zero", 0.0),
            case("value_negative_zero", -0.0),
            case("value_fraction", 10.6),
            case("value_negative_fraction", -10.6),
            case("value_beyond_8_bits", 300.0),
            case("value_beyond_16_bits", -70_000.0),
            case("value_beyond_32_bits", 1e10),
            case("value_beyond_64_bits", -1e30),
            case("value_infinity", f32::INFINITY),
            case("value_negative_infinity", f32::NEG_INFINITY),
            case("value_nan", f32::NAN),
            case("value_nan_signalling", f32::from_bits(0xffa5_5555)),
            case("value_nan_lowest_bit", f32::from_bits(0x7f80_0001)),
            case("value_subnormal", 1e-40),
        ]
    }

    fn layouts(&self) -> Vec<Case> {
        let sizes = [2, 3, 5, 7];
        let packed = || desc(self.packed(sizes), 1, 1.0);
        let padded = || desc(self.strided(sizes, [163, 53, 9, 1]), 1, 1.0);
        let packed_bytes =
            dml_core::TensorLayout::new(&packed().output_tensor).map_or(0, |l| l.total_size());
        let larger = packed().output_tensor.with_total_size(packed_bytes + 13);
        vec![
            Case::new("strides_padded_rows", padded()),
            Case::new("strides_transposed", desc(self.strided(sizes, [105, 35, 1, 5]), 1, 1.0)),
            Case::new(
                "strides_interleaved",
                desc(self.strided([1, 1, 2, 3], [9, 8, 3, 2]), 0, 1.0),
            ),
            Case::new(
                "strides_of_size_one",
                desc(self.strided([1, 1, 1, 5], [0, u32::MAX, 0, 2]), 0, 1.0),
            ),
            Case::new("total_size_larger", desc(larger, 1, 1.0)),
            Case::new("base_offset_16", packed()).at_output_offset(16),
            Case::new("base_offset_272", packed()).at_output_offset(272),
            Case::new("base_offset_48_padded", padded()).at_output_offset(48),
            Case::new("storage_only", packed()).storage_only(),
            Case::new("storage_only_padded", padded()).storage_only().at_output_offset(80),
        ]
    }
}

/// The four examples of the DML_DIAGONAL_MATRIX_OPERATOR_DESC page.
fn documented() -> Vec<Case> {
    let case = |name, sizes: [u32; 4], offset, elements: &[f32]| {
        let tensor = TensorDesc::packed(DataType::Float32, &sizes);
        let bits = elements.iter().map(|element| element.to_bits().into()).collect();
        Case::new(name, desc(tensor, offset, 1.0)).documented(vec![bits])
    };
    vec![
        case("doc_default_identity", [1, 1, 3, 3], 0, &[1., 0., 0., 0., 1., 0., 0., 0., 1.]),
        case("doc_shift_right_up", [1, 1, 3, 3], 1, &[0., 1., 0., 0., 0., 1., 0., 0., 0.]),
        case("doc_shift_left_down", [1, 1, 3, 2], -1, &[0., 0., 1., 0., 0., 1.]),
        case("doc_shift_all_zeros", [1, 1, 3, 2], -3, &[0.; 6]),
    ]
}
