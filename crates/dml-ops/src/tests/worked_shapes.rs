//! Programs and code that documentation shows are the real ones.

use std::path::Path;

use dml_core::{Capabilities, FeatureLevel, Tuning, Validated, json, validate};
use serde_json::{Value, json};

use super::root_mean_square::root_mean_square;
use crate::{Program, Target, TransferUse, implementation};

fn tensor(data_type: &str, sizes: &[u32]) -> Value {
    json!({ "DataType": data_type, "Sizes": sizes })
}

fn float32(sizes: &[u32]) -> Value {
    tensor("FLOAT32", sizes)
}

/// For each family the file in `families/` that begins with the program, an operator, and its fields.
fn shapes() -> Vec<(&'static str, &'static str, Value)> {
    let repeated_row = json!({ "DataType": "FLOAT32", "Sizes": [2, 3], "Strides": [0, 1] });
    let relu = json!({ "Type": "ACTIVATION_RELU" });
    vec![
        (
            "attention/lowering.rs",
            "MULTIHEAD_ATTENTION",
            json!({
                "QueryTensor": float32(&[1, 2, 4]),
                "KeyTensor": float32(&[1, 3, 4]),
                "ValueTensor": float32(&[1, 3, 4]),
                "OutputTensor": float32(&[1, 2, 4]),
                "Scale": 0.5,
                "MaskFilterValue": -10000.0,
                "HeadCount": 2,
                "MaskType": "NONE",
            }),
        ),
        (
            "convolution/lowering.rs",
            "CONVOLUTION",
            json!({
                "InputTensor": float32(&[1, 2, 3, 3]),
                "FilterTensor": float32(&[4, 2, 2, 2]),
                "BiasTensor": float32(&[1, 4, 1, 1]),
                "OutputTensor": float32(&[1, 4, 2, 2]),
                "Mode": "CROSS_CORRELATION",
                "Direction": "FORWARD",
                "DimensionCount": 2,
                "Strides": [1, 1],
                "Dilations": [1, 1],
                "StartPadding": [0, 0],
                "EndPadding": [0, 0],
                "OutputPadding": [0, 0],
                "GroupCount": 1,
                "FusedActivation": relu,
            }),
        ),
        (
            "data_movement/lowering.rs",
            "JOIN",
            json!({
                "InputCount": 2,
                "InputTensors": [float32(&[2, 3]), float32(&[2, 1])],
                "OutputTensor": float32(&[2, 4]),
                "Axis": 1,
            }),
        ),
        (
            "diagonal.rs",
            "DIAGONAL_MATRIX",
            json!({ "OutputTensor": float32(&[2, 3]), "Offset": 1, "Value": 2.0 }),
        ),
        (
            "element_wise/lowering.rs",
            "ELEMENT_WISE_ADD1",
            json!({
                "ATensor": float32(&[2, 3]),
                "BTensor": repeated_row,
                "OutputTensor": float32(&[2, 3]),
                "FusedActivation": relu,
            }),
        ),
        (
            "fill/lowering.rs",
            "FILL_VALUE_CONSTANT",
            json!({
                "OutputTensor": float32(&[2, 3]),
                "ValueDataType": "FLOAT32",
                "Value": 1.0,
            }),
        ),
        (
            "gather_scatter/lowering.rs",
            "GATHER",
            json!({
                "InputTensor": float32(&[4, 3]),
                "IndicesTensor": tensor("UINT32", &[1, 2]),
                "OutputTensor": float32(&[2, 3]),
                "Axis": 0,
                "IndexDimensions": 1,
            }),
        ),
        (
            "matmul/lowering.rs",
            "GEMM",
            json!({
                "ATensor": float32(&[2, 3]),
                "BTensor": float32(&[3, 4]),
                "CTensor": float32(&[2, 4]),
                "OutputTensor": float32(&[2, 4]),
                "TransA": "NONE",
                "TransB": "NONE",
                "Alpha": 1.0,
                "Beta": 1.0,
            }),
        ),
        (
            "nonzero.rs",
            "NONZERO_COORDINATES",
            json!({
                "InputTensor": float32(&[2, 3]),
                "OutputCountTensor": tensor("UINT32", &[1]),
                "OutputCoordinatesTensor": tensor("UINT32", &[6, 2]),
            }),
        ),
        (
            "normalization/lowering.rs",
            "MEAN_VARIANCE_NORMALIZATION2",
            json!({
                "InputTensor": float32(&[2, 3]),
                "ScaleTensor": repeated_row,
                "OutputTensor": float32(&[2, 3]),
                "AxisCount": 1,
                "Axes": [1],
                "UseMean": true,
                "UseVariance": true,
                "Epsilon": 0.00001,
            }),
        ),
        (
            "pooling/lowering.rs",
            "AVERAGE_POOLING",
            json!({
                "InputTensor": float32(&[1, 1, 4, 4]),
                "OutputTensor": float32(&[1, 1, 2, 2]),
                "DimensionCount": 2,
                "Strides": [2, 2],
                "WindowSize": [2, 2],
                "StartPadding": [0, 0],
                "EndPadding": [0, 0],
                "IncludePadding": false,
            }),
        ),
        (
            "quantization/lowering.rs",
            "DEQUANTIZE",
            json!({
                "InputTensor": tensor("INT8", &[2, 4]),
                "QuantizationType": "SCALE_ZERO_POINT",
                "QuantizationTensorCount": 2,
                "QuantizationTensors": [float32(&[2, 1]), tensor("INT8", &[2, 1])],
                "OutputTensor": float32(&[2, 4]),
            }),
        ),
        (
            "random.rs",
            "RANDOM_GENERATOR",
            json!({
                "InputStateTensor": tensor("UINT32", &[1, 1, 1, 6]),
                "OutputTensor": tensor("UINT32", &[1, 1, 2, 3]),
                "OutputStateTensor": tensor("UINT32", &[1, 1, 1, 6]),
                "Type": "PHILOX_4X32_10",
            }),
        ),
        (
            "recurrent/layer.rs",
            "RNN",
            json!({
                "InputTensor": float32(&[1, 2, 1, 3]),
                "WeightTensor": float32(&[1, 1, 2, 3]),
                "RecurrenceTensor": float32(&[1, 1, 2, 2]),
                "OutputSingleTensor": float32(&[1, 1, 1, 2]),
                "ActivationDescCount": 1,
                "ActivationDescs": [{ "Type": "ACTIVATION_TANH" }],
                "Direction": "FORWARD",
            }),
        ),
        (
            "reduce/lowering.rs",
            "REDUCE",
            json!({
                "Function": "AVERAGE",
                "InputTensor": float32(&[2, 3]),
                "OutputTensor": float32(&[2, 1]),
                "AxisCount": 1,
                "Axes": [1],
            }),
        ),
        (
            "resample/lowering.rs",
            "RESAMPLE",
            json!({
                "InputTensor": float32(&[1, 1, 1, 4]),
                "OutputTensor": float32(&[1, 1, 1, 8]),
                "InterpolationMode": "LINEAR",
                "ScaleCount": 4,
                "Scales": [1.0, 1.0, 1.0, 2.0],
            }),
        ),
        (
            "roi/gradient.rs",
            "ROI_ALIGN_GRAD",
            json!({
                "InputGradientTensor": float32(&[1, 1, 2, 2]),
                "ROITensor": float32(&[1, 4]),
                "BatchIndicesTensor": tensor("UINT32", &[1]),
                "OutputGradientTensor": float32(&[1, 1, 4, 4]),
                "ReductionFunction": "AVERAGE",
                "InterpolationMode": "NEAREST_NEIGHBOR",
                "SpatialScaleX": 1.0,
                "SpatialScaleY": 1.0,
                "InputPixelOffset": 0.5,
                "OutputPixelOffset": -0.5,
                "MinimumSamplesPerOutput": 2,
                "MaximumSamplesPerOutput": 2,
                "AlignRegionsToCorners": false,
            }),
        ),
        (
            "roi/pooling.rs",
            "ROI_POOLING",
            json!({
                "InputTensor": float32(&[1, 1, 4, 4]),
                "ROITensor": float32(&[1, 1, 1, 5]),
                "OutputTensor": float32(&[1, 1, 2, 2]),
                "SpatialScale": 1.0,
                "PooledSize": { "Width": 2, "Height": 2 },
            }),
        ),
        (
            "softmax/lowering.rs",
            "ACTIVATION_SOFTMAX1",
            json!({
                "InputTensor": float32(&[2, 3]),
                "OutputTensor": float32(&[2, 3]),
                "AxisCount": 1,
                "Axes": [1],
            }),
        ),
        (
            "sort/top_k.rs",
            "TOP_K1",
            json!({
                "InputTensor": float32(&[2, 4]),
                "OutputValueTensor": float32(&[2, 2]),
                "OutputIndexTensor": tensor("UINT32", &[2, 2]),
                "Axis": 1,
                "K": 2,
                "AxisDirection": "DECREASING",
            }),
        ),
        (
            "pooling/gradient.rs",
            "AVERAGE_POOLING_GRAD",
            json!({
                "InputGradientTensor": float32(&[1, 1, 2, 2]),
                "OutputGradientTensor": float32(&[1, 1, 3, 3]),
                "DimensionCount": 2,
                "Strides": [1, 1],
                "WindowSize": [2, 2],
                "StartPadding": [0, 0],
                "EndPadding": [0, 0],
                "IncludePadding": false,
            }),
        ),
        (
            "resample/gradient.rs",
            "RESAMPLE_GRAD",
            json!({
                "InputGradientTensor": float32(&[1, 1, 1, 8]),
                "OutputGradientTensor": float32(&[1, 1, 1, 4]),
                "InterpolationMode": "LINEAR",
                "DimensionCount": 4,
                "Scales": [1.0, 1.0, 1.0, 2.0],
                "InputPixelOffsets": [0.5, 0.5, 0.5, 0.5],
                "OutputPixelOffsets": [-0.5, -0.5, -0.5, -0.5],
            }),
        ),
        (
            "training/batch.rs",
            "BATCH_NORMALIZATION_TRAINING",
            json!({
                "InputTensor": float32(&[2, 3]),
                "ScaleTensor": float32(&[1, 3]),
                "BiasTensor": float32(&[1, 3]),
                "OutputTensor": float32(&[2, 3]),
                "OutputMeanTensor": float32(&[1, 3]),
                "OutputVarianceTensor": float32(&[1, 3]),
                "Epsilon": 0.00001,
            }),
        ),
        (
            "training/adam.rs",
            "ADAM_OPTIMIZER",
            json!({
                "InputParametersTensor": float32(&[2, 3]),
                "InputFirstMomentTensor": float32(&[2, 3]),
                "InputSecondMomentTensor": float32(&[2, 3]),
                "GradientTensor": float32(&[2, 3]),
                "TrainingStepTensor": tensor("UINT32", &[1, 1]),
                "OutputParametersTensor": float32(&[2, 3]),
                "OutputFirstMomentTensor": float32(&[2, 3]),
                "OutputSecondMomentTensor": float32(&[2, 3]),
                "LearningRate": 0.01,
                "Beta1": 0.9,
                "Beta2": 0.999,
                "Epsilon": 1e-8,
            }),
        ),
    ]
}

fn operator(name: &str, fields: &Value) -> Validated {
    let operator = json::operator(&json!({ "type": name, "desc": fields })).expect(name);
    validate(&operator, FeatureLevel::HIGHEST).expect(name)
}

type Lower = fn(&Validated, &Target<'_>) -> Result<Program, dml_core::Error>;

/// The program that `lower` records, as `dml graph --explain` prints it.
fn recorded(operator: &Validated, lower: Lower) -> String {
    let capabilities = &Capabilities::vulkan_minimum();
    let target = Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::Allowed };
    lower(operator, &target).unwrap().to_string()
}

/// Checks that the first part of a file of this crate between `begin` and `end` is `text`, or writes it there where
/// DML_UPDATE_SHAPES is set.
fn shows(file: &str, [begin, end]: [&str; 2], text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let content = std::fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    let (before, rest) = content.split_once(begin).expect(file);
    let (shown, after) = rest.split_once(end).expect(file);
    if std::env::var_os("DML_UPDATE_SHAPES").is_some() {
        std::fs::write(&path, [before, begin, text, end, after].concat()).unwrap();
    } else {
        assert_eq!(shown, text, "{file}: DML_UPDATE_SHAPES=1 writes it anew");
    }
}

/// `DML_UPDATE_SHAPES=1 cargo test -p dml-ops --lib worked_shapes` writes the programs anew.
#[test]
fn each_lowering_begins_with_the_program_of_a_small_shape() {
    for (file, name, fields) in shapes() {
        let operator = operator(name, &fields);
        let program = recorded(&operator, |operator, target| {
            implementation(operator)?.program(operator, target)
        });
        let lines: String = program.lines().map(|line| format!("//! {line}\n")).collect();
        shows(&format!("src/families/{file}"), ["//! ```text\n", "//! ```\n"], &lines);
    }
}

/// The lowering in docs/adding-an-operator.md compiles, and records what the operator that has this formula records.
#[test]
fn the_lowering_that_is_shown_is_a_normalization() {
    let fields = json!({
        "InputTensor": tensor("FLOAT16", &[2, 3]),
        "ScaleTensor": { "DataType": "FLOAT16", "Sizes": [2, 3], "Strides": [0, 1] },
        "OutputTensor": tensor("FLOAT16", &[2, 3]),
        "AxisCount": 1,
        "Axes": [1],
        "UseMean": false,
        "UseVariance": true,
        "Epsilon": 0.00001,
    });
    let operator = operator("MEAN_VARIANCE_NORMALIZATION2", &fields);
    let by_moments = recorded(&operator, |operator, target| {
        implementation(operator)?.recorded(operator, target)
    });
    assert_eq!(recorded(&operator, root_mean_square), by_moments);
    let page = "../../docs/adding-an-operator.md";
    shows(page, ["```rust\n", "```\n"], include_str!("root_mean_square.rs"));
}
