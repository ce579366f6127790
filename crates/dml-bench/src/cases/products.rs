//! Products of matrices, and convolutions of known networks.

use dml::core::operators::ConvolutionDesc;
use dml::{ConvolutionDirection, DataType, MatrixTransform, TensorDesc};
use dml_reference::descriptors;
use serde_json::json;

use crate::case::{Baseline, Case, LAVAPIPE, Other};
use crate::meaning::{Convolution, UpConvolution, product};
use crate::operation::Operation;

/// Each by itself.
pub(super) fn groups() -> Vec<Vec<Case>> {
    let gemms = [gemms(DataType::Float32, "f32"), gemms(DataType::Float16, "f16")];
    let all = [gemms.concat(), convolutions(), up_convolutions()];
    all.concat().into_iter().map(|case| vec![case.computing()]).collect()
}

/// Factors are so small that every sum is exact in single precision, and a number in half precision.
const MOST: u64 = 4;

/// Cubes, and shapes that are not like one: rows, depths and columns.
fn gemms(data_type: DataType, name: &str) -> Vec<Case> {
    let cubes = [64, 128, 256, 512, 1024, 2048].map(|size| (format!("{size}"), [size; 3]));
    let others = [
        ("row_4096x4096".to_owned(), [1, 4096, 4096]),
        ("4096x4096_column".to_owned(), [4096, 4096, 1]),
        ("tall_8192x64x64".to_owned(), [8192, 64, 64]),
        ("deep_64x8192x64".to_owned(), [64, 8192, 64]),
    ];
    let case = |(shape, sizes): (String, [u32; 3])| {
        let one =
            Case::new(format!("gemm/{name}/{shape}"), gemm(data_type, sizes), Baseline::Copy, None);
        Case { peers: gemm_peers(data_type, sizes), ..one }
    };
    cubes.into_iter().chain(others).map(case).collect()
}

/// Targets are for cubes of 512 and 1024 of FLOAT32: on lavapipe for both, on SwiftShader for ncnn.
fn gemm_peers(data_type: DataType, sizes: [u32; 3]) -> Vec<Other> {
    const THIRD: f64 = 1.0 / 3.0;
    let on_lavapipe = match (data_type, sizes) {
        (DataType::Float32, [512, 512, 512]) => Some(THIRD),
        (DataType::Float32, [1024, 1024, 1024]) => Some(1.0 / 2.5),
        _ => None,
    };
    let of = |name, elsewhere| Other {
        target: on_lavapipe,
        only_on: Some(LAVAPIPE),
        elsewhere,
        ..Other::told(name)
    };
    let elsewhere = on_lavapipe.map(|_| THIRD);
    vec![of("iree:gemm", None), of("ncnn:gemm", elsewhere), Other::told("torch:gemm")]
}

fn gemm(data_type: DataType, [rows, depth, columns]: [u32; 3]) -> Operation {
    let tensor = |height, width| TensorDesc::packed(data_type, &[1, 1, height, width]);
    let desc = descriptors::gemm(
        [tensor(rows, depth), tensor(depth, columns), tensor(rows, columns)],
        MatrixTransform::None,
    );
    let sizes = [rows, columns].map(|it| it as usize);
    Operation::new(desc, move |inputs| product(&inputs[0], &inputs[1], sizes)).with_most(MOST)
}

/// Convolutions of ResNet-50, MobileNetV2 and a U-Net, a batch of one: channels, height and width, filters,
/// the filter's size, stride, and groups.
fn convolutions() -> Vec<Case> {
    let all = [
        ("resnet50/first_7x7", [3, 224, 64, 7, 2, 1]),
        ("resnet50/64_to_64_3x3", [64, 56, 64, 3, 1, 1]),
        ("resnet50/64_to_256_1x1", [64, 56, 256, 1, 1, 1]),
        ("resnet50/128_to_128_3x3_by_2", [128, 56, 128, 3, 2, 1]),
        ("resnet50/256_to_256_3x3", [256, 14, 256, 3, 1, 1]),
        ("resnet50/1024_to_256_1x1", [1024, 14, 256, 1, 1, 1]),
        ("resnet50/512_to_512_3x3", [512, 7, 512, 3, 1, 1]),
        ("mobilenetv2/first_3x3", [3, 224, 32, 3, 2, 1]),
        ("mobilenetv2/24_to_144_1x1", [24, 56, 144, 1, 1, 1]),
        ("mobilenetv2/144_depthwise", [144, 56, 144, 3, 1, 144]),
        ("mobilenetv2/576_depthwise_by_2", [576, 14, 576, 3, 2, 576]),
        ("unet/first_3x3", [3, 256, 64, 3, 1, 1]),
        ("unet/64_to_64_3x3", [64, 256, 64, 3, 1, 1]),
        ("unet/joined_128_to_64_3x3", [128, 256, 64, 3, 1, 1]),
        ("unet/512_to_512_3x3", [512, 32, 512, 3, 1, 1]),
        ("unet/last_64_to_2_1x1", [64, 256, 2, 1, 1, 1]),
    ];
    let case = |(name, [channels, size, filters, window, stride, groups]): (&str, [u32; 6])| {
        let of = Convolution { channels, size, filters, window, stride, groups };
        let one =
            Case::new(format!("convolution/f32/{name}"), convolution(of), Baseline::Copy, None);
        let parameters = json!({"stride": stride, "margin": of.margin(), "groups": groups});
        let is_wide = window == 3 && groups == 1 && stride == 1;
        // IREE takes half a minute for a layer of the U-Net on a CPU driver.
        let is_asked_of_iree = groups == 1 && !name.starts_with("unet");
        let peers = [
            Some("ncnn:convolution"),
            is_wide.then_some("ncnn:convolution_winograd"),
            is_asked_of_iree.then_some("iree:convolution"),
            Some("torch:convolution"),
        ];
        let peers = peers.into_iter().flatten().map(Other::told).collect();
        Case { peers, parameters, ..one }
    };
    all.map(case).to_vec()
}

fn convolution(of: Convolution) -> Operation {
    let (size, window) = (of.output_size(), of.window);
    let plain = plain([
        [1, of.channels, of.size, of.size],
        [of.filters, of.channels / of.groups, window, window],
        [1, of.filters, size, size],
    ]);
    let desc = ConvolutionDesc {
        strides: vec![of.stride; 2],
        start_padding: vec![of.margin(); 2],
        end_padding: vec![of.margin(); 2],
        group_count: of.groups,
        ..plain
    };
    Operation::new(desc, move |inputs| of.of(&inputs[0], &inputs[1])).with_most(MOST)
}

/// The transposed ones of the U-Net, 2x2 by 2: channels, height and width, and filters.
fn up_convolutions() -> Vec<Case> {
    let all = [("unet/up_1024_to_512", [1024, 16, 512]), ("unet/up_128_to_64", [128, 128, 64])];
    let case = |(name, [channels, size, filters]): (&str, [u32; 3])| {
        let of = UpConvolution { channels, size, filters, window: 2 };
        let id = format!("convolution/f32/{name}_2x2");
        let peers = vec![Other::told("ncnn:up_convolution")];
        let parameters = json!({"stride": of.window, "margin": 0, "groups": 1});
        Case { peers, parameters, ..Case::new(id, up_convolution(of), Baseline::Copy, None) }
    };
    all.map(case).to_vec()
}

fn up_convolution(of: UpConvolution) -> Operation {
    let size = of.output_size();
    let plain = plain([
        [1, of.channels, of.size, of.size],
        [of.channels, of.filters, of.window, of.window],
        [1, of.filters, size, size],
    ]);
    let strides = vec![of.window; 2];
    let desc = ConvolutionDesc { direction: ConvolutionDirection::Backward, strides, ..plain };
    Operation::new(desc, move |inputs| of.of(&inputs[0], &inputs[1])).with_most(MOST)
}

/// A convolution whose input, filter and output have these sizes.
fn plain(sizes: [[u32; 4]; 3]) -> ConvolutionDesc {
    let [input_tensor, filter_tensor, output_tensor] =
        sizes.map(|size| TensorDesc::packed(DataType::Float32, &size));
    descriptors::convolution([input_tensor, filter_tensor, output_tensor])
}
