//! A new shape of an operator compiles nothing, and links nothing.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeSet;

use common::band::TYPES;
use common::{diagonal, on_every_device};
use dml::core::plan::Step;
use dml::{
    AbstractOperator, CastDesc, DataType, Device, DiagonalMatrix1Desc, ElementWiseAddDesc,
    ElementWiseIdentityDesc, ScalarUnion, TensorDesc,
};

/// Compiles the operators of diagonals for one shape: packed and with padded rows, with one diagonal
/// and a band, with and without an input.
fn compile_all(device: &Device, sizes: &[u32]) {
    let width = *sizes.last().unwrap();
    let mut strides: Vec<u32> = vec![1; sizes.len()];
    for at in (0..sizes.len() - 1).rev() {
        let padding = u32::from(at + 2 == sizes.len()) * 3;
        strides[at] = strides[at + 1] * sizes[at + 1] + padding;
    }
    for data_type in TYPES {
        let packed = TensorDesc::packed(data_type, sizes);
        let padded = packed.clone().with_strides(&strides);
        for output_tensor in [packed.clone(), padded] {
            device.compile(diagonal(&output_tensor, 1, 1.0)).unwrap();
            for input_tensor in [None, Some(packed.clone())] {
                device
                    .compile(DiagonalMatrix1Desc {
                        input_tensor,
                        output_tensor: output_tensor.clone(),
                        value_data_type: data_type,
                        value: ScalarUnion::from_bits(1),
                        diagonal_fill_begin: -1,
                        diagonal_fill_end: i32::try_from(width / 2).unwrap(),
                    })
                    .unwrap();
            }
        }
    }
}

#[test]
fn a_new_shape_compiles_no_pipeline() {
    on_every_device(|device| {
        for sizes in [&[3, 3][..], &[1000, 3, 3], &[64, 64], &[5, 2, 40, 70], &[1030, 1040]] {
            compile_all(device, sizes);
        }
        let made = device.vulkan().pipeline_count();
        assert!(made > 0);
        for sizes in [&[4, 4][..], &[7, 5], &[999, 5, 3], &[63, 65], &[2, 3, 41, 71], &[999, 1055]]
        {
            compile_all(device, sizes);
        }
        assert_eq!(device.vulkan().pipeline_count(), made);
    });
}

/// Element-wise operators of two types on tensors of these sizes: without gaps, with a value for each
/// channel, transposed, and with padded rows.
fn element_wise(from: DataType, to: DataType, sizes: [u32; 3]) -> Vec<AbstractOperator> {
    let [_, height, width] = sizes;
    let whole = |data_type| TensorDesc::packed(data_type, &sizes);
    let by_channel = [0, 1, 0];
    let transposed = [height * width, 1, height];
    let padded = [height * (width + 16), width + 16, 1];
    let of_strides = |strides: &[u32]| {
        let [input, output] = [from, to].map(|it| whole(it).with_strides(strides));
        let add = |a_tensor, output_tensor| ElementWiseAddDesc {
            a_tensor,
            b_tensor: whole(from),
            output_tensor,
        };
        let identity = |scale_bias| ElementWiseIdentityDesc {
            input_tensor: input.clone(),
            output_tensor: whole(from),
            scale_bias,
        };
        let mut all: Vec<AbstractOperator> = vec![
            CastDesc { input_tensor: input.clone(), output_tensor: whole(to) }.into(),
            identity(None).into(),
            identity(Some([2.0, 1.0])).into(),
            add(input.clone(), whole(from)).into(),
        ];
        if strides != by_channel {
            // Elements of an output do not share an address.
            all.push(CastDesc { input_tensor: whole(from), output_tensor: output }.into());
            all.push(add(whole(from), input.clone()).into());
        }
        all
    };
    let packed = [height * width, width, 1];
    [packed, by_channel, transposed, padded].iter().flat_map(|it| of_strides(it)).collect()
}

/// The kernels of the operators' plans, by name and address: a newly linked kernel has another
/// address.
fn kernels(device: &Device, sizes: &[[u32; 3]]) -> BTreeSet<(String, usize)> {
    let types = [
        (DataType::Float32, DataType::Float16),
        (DataType::Float16, DataType::Int8),
        (DataType::Int8, DataType::Float32),
        (DataType::Int64, DataType::Int16),
    ];
    let operators = types
        .iter()
        .flat_map(|(from, to)| sizes.iter().flat_map(|sizes| element_wise(*from, *to, *sizes)));
    let mut kernels = BTreeSet::new();
    for operator in operators {
        let compiled = device.compile(operator).unwrap();
        for step in compiled.vulkan().plan().steps() {
            if let Step::Dispatch(dispatch) = step {
                let kernel = &*dispatch.kernel.variant;
                kernels.insert((kernel.name.to_string(), std::ptr::from_ref(kernel).addr()));
            }
        }
    }
    kernels
}

/// Rows of whole quads, rows that are none, and one row that is long enough to be divided.
#[test]
fn a_new_shape_of_an_element_wise_operator_links_and_compiles_nothing() {
    on_every_device(|device| {
        let linked = kernels(device, &[[3, 48, 64], [2, 5, 7], [1, 71, 73]]);
        let made = device.vulkan().pipeline_count();
        assert!(linked.len() >= 60 && made >= linked.len(), "{} kernels", linked.len());
        let shapes = [[5, 32, 128], [7, 16, 48], [9, 11, 13], [3, 21, 99], [1, 83, 91]];
        let again = kernels(device, &shapes);
        assert_eq!(again.difference(&linked).collect::<Vec<_>>(), Vec::<&(String, usize)>::new());
        assert_eq!(device.vulkan().pipeline_count(), made);
    });
}
