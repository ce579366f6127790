//! Dequantization of matrices of 4-bit integers, packed two to a byte, with a scale for each block of a row.

use dml_core::operators::DequantizeDesc;
use dml_core::{DataType, QuantizationType, TensorDesc};
use smallvec::smallvec;

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::dml::packed_tensor;
use crate::graph::ops::cast::cast;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::Tensor;

/// Two default zero points in a byte: 8, the middle of 0 to 15.
const MIDDLE: u8 = 0x88;
const UINT8: ElementType = ElementType::Dml(DataType::Uint8);

/// Dequantizes a matrix of 4-bit integers as it is stored.
///
/// Inputs are the bytes `[rows, blocks, block / 2]`, with the first integer in the low half; a scale for each
/// block of each row; and optionally zero points `[rows, (blocks + 1) / 2]`, packed two to a byte as well. The
/// output is `[rows, blocks * block]`. Rows and the length of a block that are not stated follow from the bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DequantizeHalves {
    pub(crate) rows: Option<i64>,
    pub(crate) block: Option<i64>,
}

impl Op for DequantizeHalves {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (bytes, scales) = (operands.value(0, "B")?, operands.value(1, "scales")?);
        operands.type_is(bytes.element()?, &[UINT8], "B")?;
        let given = bytes.shape()?;
        let size = |at: usize| given.get(at).copied().unwrap_or_default();
        let (blocks, halves) = (size(1), size(2));
        let rows = self.rows.map_or(Ok(size(0)), |rows| operands.size(rows, "N"))?;
        let of_bytes = halves.saturating_mul(2);
        let block = self.block.map_or(Ok(of_bytes), |it| operands.size(it, "block_size"))?;
        let columns = blocks.checked_mul(block).filter(|_| block > 0 && block % 2 == 0);
        let Some(columns) = columns else {
            let accepted = "an even number of elements, at least 2, in rows of up to 2^64";
            return Err(operands.node.invalid("block_size", block, "is not a length", accepted));
        };
        operands.has_shape(bytes, &[rows, blocks, block / 2], "B")?;
        let scales = operands.reshaped_to(scales, &[rows, blocks], "scales")?;
        let given = scales.element()?;
        let real = match given {
            ElementType::FLOAT16 => given,
            _ => ElementType::FLOAT32,
        };
        let mut read = vec![bytes.clone(), cast(operands, &scales, real)?];
        let of_rows = |columns: u64| [1, 1, rows, columns];
        let zeros_of_row = blocks.next_multiple_of(2);
        match operands.optional(2) {
            Some(it) => {
                operands.type_is(it.element()?, &[UINT8], "zero_points")?;
                read.push(operands.reshaped_to(it, &[rows, zeros_of_row / 2], "zero_points")?);
            }
            None => read.push(Value::host(Tensor::new(UINT8, vec![1], vec![MIDDLE])?)),
        }
        let has_zeros = operands.optional(2).is_some();
        let output = Kind { element: real, shape: smallvec![rows, columns] };
        if output.is_empty() {
            return Ok(vec![Value::empty(Kind { element: given, ..output })?]);
        }
        let stored = read.iter().map(|it| {
            let packed = operands.materialized(it)?;
            packed.check()?;
            Ok(packed.view().map(|view| view.storage.clone()))
        });
        let stored = stored.collect::<Result<Vec<_>>>()?;
        let numbers = operands.write(stored, output, || {
            let real = |columns| packed_tensor(operands.node, real, &of_rows(columns));
            let halves = |columns| -> Result<TensorDesc> {
                let bytes = packed_tensor(operands.node, UINT8, &of_rows(columns))?;
                Ok(TensorDesc::packed(DataType::Uint4, &bytes.sizes))
            };
            let zeros = halves(blocks)?;
            let zeros = match u32::try_from(zeros_of_row) {
                Ok(stride) if has_zeros => zeros.with_strides(&[0, 0, stride, 1]),
                _ => zeros.with_strides(&[0; 4]),
            };
            Ok(DequantizeDesc {
                input_tensor: halves(columns)?,
                quantization_type: QuantizationType::ScaleZeroPoint,
                quantization_tensors: vec![real(blocks)?, zeros],
                output_tensor: real(columns)?,
            }
            .into())
        });
        cast(operands, &numbers, given).map(|it| vec![it])
    }
}
