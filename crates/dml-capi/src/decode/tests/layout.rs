//! The offsets at which the reader finds the fields of descriptors, compared with a C compiler's layout of the
//! header for all operators, and with the structs of the `windows` crate.

use std::fmt::Write as _;
use std::mem::offset_of;
use std::process::Command;

use dml::core::operators;
use windows::Win32::AI::MachineLearning::DirectML as win;

use super::super::*;

const HEADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include/dmlvk");

/// C code that compiles only if every field is `shift` bytes after the reader's offset.
fn assertions(shift: usize) -> String {
    let mut text = "#include <stddef.h>\n#include \"directml_types.h\"\n".to_owned();
    for schema in OPERATORS {
        let desc = format!("DML_{}_OPERATOR_DESC", schema.name);
        for (field, offset) in schema.fields.iter().zip(offsets(schema)) {
            let (name, offset) = (field.name, offset + shift);
            let (size, _) = c_size(field.field_type);
            let place = format!("offsetof({desc}, {name}) == {offset}");
            let length = format!("sizeof((({desc} *)0)->{name}) == {size}");
            writeln!(text, "_Static_assert({place} && {length}, \"{desc}.{name}\");").unwrap();
        }
    }
    text
}

/// The C compiler's messages about `text`; empty if it accepts it.
fn compile(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("layout.c");
    std::fs::write(&source, text).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-fsyntax-only", "-I", HEADERS]).arg(source);
    let output = compiler.output().expect("the C compiler `cc`, by which Rust links, runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.success(), said.is_empty(), "{said}");
    said
}

#[test]
fn every_field_is_read_where_the_header_has_it() {
    let said = compile(&assertions(0));
    assert!(said.is_empty(), "{said}");
    // A positive control: the compiler looks at the assertions.
    let said = compile(&assertions(1));
    assert!(said.contains("DML_GEMM_OPERATOR_DESC.TransB"), "{said}");
}

/// Asserts that an operator's fields are those of the struct of the `windows` crate, at the same offsets.
macro_rules! same {
    ($($schema:ident: $name:ident { $($field:ident),* })*) => {$(
        let names: Vec<&str> = operators::$schema.fields.iter().map(|field| field.name).collect();
        assert_eq!(names, [$(stringify!($field)),*], stringify!($name));
        let expected = [$(offset_of!(win::$name, $field)),*];
        assert_eq!(offsets(&operators::$schema), expected, stringify!($name));
    )*};
}

#[test]
fn fields_are_read_where_the_windows_crate_has_them() {
    same! {
        DIAGONAL_MATRIX: DML_DIAGONAL_MATRIX_OPERATOR_DESC { OutputTensor, Offset, Value }
        FILL_VALUE_CONSTANT: DML_FILL_VALUE_CONSTANT_OPERATOR_DESC {
            OutputTensor, ValueDataType, Value
        }
        CONVOLUTION: DML_CONVOLUTION_OPERATOR_DESC {
            InputTensor, FilterTensor, BiasTensor, OutputTensor, Mode, Direction, DimensionCount,
            Strides, Dilations, StartPadding, EndPadding, OutputPadding, GroupCount, FusedActivation
        }
        ELEMENT_WISE_CLIP: DML_ELEMENT_WISE_CLIP_OPERATOR_DESC {
            InputTensor, OutputTensor, ScaleBias, Min, Max
        }
        LSTM: DML_LSTM_OPERATOR_DESC {
            InputTensor, WeightTensor, RecurrenceTensor, BiasTensor, HiddenInitTensor,
            CellMemInitTensor, SequenceLengthsTensor, PeepholeTensor, OutputSequenceTensor,
            OutputSingleTensor, OutputCellSingleTensor, ActivationDescCount, ActivationDescs,
            Direction, ClipThreshold, UseClipThreshold, CoupleInputForget
        }
        JOIN: DML_JOIN_OPERATOR_DESC { InputCount, InputTensors, OutputTensor, Axis }
        RESAMPLE1: DML_RESAMPLE1_OPERATOR_DESC {
            InputTensor, OutputTensor, InterpolationMode, DimensionCount, Scales,
            InputPixelOffsets, OutputPixelOffsets
        }
        UPSAMPLE_2D: DML_UPSAMPLE_2D_OPERATOR_DESC {
            InputTensor, OutputTensor, ScaleSize, InterpolationMode
        }
        SLICE1: DML_SLICE1_OPERATOR_DESC {
            InputTensor, OutputTensor, DimensionCount, InputWindowOffsets, InputWindowSizes,
            InputWindowStrides
        }
        ADAM_OPTIMIZER: DML_ADAM_OPTIMIZER_OPERATOR_DESC {
            InputParametersTensor, InputFirstMomentTensor, InputSecondMomentTensor, GradientTensor,
            TrainingStepTensor, OutputParametersTensor, OutputFirstMomentTensor,
            OutputSecondMomentTensor, LearningRate, Beta1, Beta2, Epsilon
        }
    }
}

/// The operator came after the `windows` crate; the numbers are those of DirectML.h with 8-byte pointers.
#[cfg(target_pointer_width = "64")]
#[test]
fn diagonal_matrix1_is_read_as_directml_h_has_it() {
    assert_eq!(offsets(&operators::DIAGONAL_MATRIX1), [0, 8, 16, 24, 32, 36]);
}
