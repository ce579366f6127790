//! Which plans come out of lowering; what they compute is checked for every operator at once.

use dml_core::DataType::{self, Float32, Uint4, Uint8};
use dml_core::operators::{DequantizeDesc, QuantizeDesc};
use dml_core::plan::Plan;
use dml_core::{QuantizationType, TensorDesc, Tuning};

use crate::TransferUse;
use crate::tests::lower_with;

fn tensor(data_type: DataType, sizes: &[u32]) -> TensorDesc {
    TensorDesc::packed(data_type, sizes)
}

fn dequantized(data_type: DataType, sizes: &[u32], blocks: &[u32]) -> Plan {
    let desc = DequantizeDesc {
        input_tensor: tensor(data_type, sizes),
        quantization_type: QuantizationType::Scale,
        quantization_tensors: vec![tensor(Float32, blocks)],
        output_tensor: tensor(Float32, sizes),
    };
    lower_with(desc, Tuning::default(), TransferUse::Allowed)
}

#[test]
fn blocks_take_one_dispatch_as_long_as_they_fit_eight_dimensions() {
    for (sizes, blocks) in [
        (&[4096, 4096][..], &[4096, 128][..]),
        (&[6, 6, 6, 6], &[2, 3, 2, 3]),
        (&[2, 3, 4, 5, 6, 7, 8, 9], &[1; 8]),
    ] {
        assert_eq!(dequantized(Uint8, sizes, blocks).exec.len(), 1, "{sizes:?} {blocks:?}");
    }
    // One for every two coordinates of the two smallest dimensions.
    assert_eq!(dequantized(Uint8, &[4, 9, 9, 9, 9], &[2, 3, 3, 3, 3]).exec.len(), 2);
}

#[test]
fn halves_of_bytes_are_read_by_one_dispatch_and_written_by_one_each() {
    assert_eq!(dequantized(Uint4, &[4096, 4096], &[4096, 128]).exec.len(), 1);
    assert_eq!(dequantized(Uint4, &[1], &[1]).exec.len(), 1);
    let desc = QuantizeDesc {
        input_tensor: tensor(Float32, &[3, 5]),
        quantization_type: QuantizationType::ScaleZeroPoint,
        quantization_tensors: vec![tensor(Float32, &[3, 1]), tensor(Uint4, &[3, 1])],
        output_tensor: tensor(Uint4, &[3, 5]),
    };
    // Rows of an odd length begin in either half.
    assert_eq!(lower_with(desc, Tuning::default(), TransferUse::Allowed).exec.len(), 4);
}
