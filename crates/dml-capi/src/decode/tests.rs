use std::mem::{offset_of, size_of};
use std::ptr;

use dml::MatrixTransform;
use dml::core::operators::DIAGONAL_MATRIX;

use super::*;
use borrowing::Borrowing;
use descs::*;

#[path = "../../tests/common/borrowing.rs"]
mod borrowing;
#[path = "../../tests/common/descs.rs"]
pub(super) mod descs;
#[cfg(unix)]
mod layout;

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    format!("{:?}", result.unwrap_err())
}

fn decode(desc: &DML_OPERATOR_DESC) -> Result<AbstractOperator> {
    // SAFETY: the tests point to structs that live long enough, or to nothing.
    unsafe { operator(desc) }
}

fn buffer_desc(sizes: &'static [u32]) -> DML_BUFFER_TENSOR_DESC {
    DML_BUFFER_TENSOR_DESC {
        DataType: 1,
        Flags: 0,
        DimensionCount: sizes.len().try_into().unwrap_or(u32::MAX),
        Sizes: sizes.as_ptr(),
        Strides: ptr::null(),
        TotalTensorSizeInBytes: 64,
        GuaranteedBaseOffsetAlignment: 0,
    }
}

fn tensor_desc(buffer: &DML_BUFFER_TENSOR_DESC) -> Borrowing<'_, DML_TENSOR_DESC> {
    let tensor = DML_TENSOR_DESC { Type: BUFFER, Desc: ptr::from_ref(buffer).cast() };
    Borrowing::new(tensor, buffer)
}

#[test]
fn every_field_of_a_descriptor_arrives() {
    let strides = [4, 1];
    let buffer = DML_BUFFER_TENSOR_DESC {
        Flags: 1,
        Strides: strides.as_ptr(),
        GuaranteedBaseOffsetAlignment: 32,
        ..buffer_desc(&[4, 3])
    };
    let tensor = tensor_desc(&buffer);
    let desc = DML_DIAGONAL_MATRIX1_OPERATOR_DESC {
        InputTensor: tensor.as_ptr(),
        OutputTensor: ptr::null(),
        ValueDataType: 6,
        Value: DML_SCALAR_UNION { Bytes: [1, 2, 3, 4, 5, 6, 7, 8] },
        DiagonalFillBegin: -3,
        DiagonalFillEnd: 9,
    };
    let desc = DML_OPERATOR_DESC { Type: 163, Desc: (&raw const desc).cast() };
    let found = decode(&desc).unwrap_or_else(|failure| panic!("{failure:?}"));
    let expected = TensorDesc {
        data_type: DataType::Float32,
        flags: TensorFlags::OWNED_BY_DML,
        sizes: vec![4, 3],
        strides: Some(vec![4, 1]),
        total_tensor_size_in_bytes: Some(64),
        guaranteed_base_offset_alignment: 32,
    };
    let bytes = ScalarUnion::from_bytes([1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(
        found.fields(),
        [
            FieldValue::Tensor(Some(expected)),
            FieldValue::Tensor(None),
            FieldValue::Uint(6),
            FieldValue::ScalarUnion(bytes),
            FieldValue::Int(-3),
            FieldValue::Int(9),
        ]
    );
}

/// An impossible count is refused before the array is read.
#[test]
fn what_cannot_be_followed_is_refused() {
    let read = |buffer: &DML_BUFFER_TENSOR_DESC| {
        let tensor = tensor_desc(buffer);
        let desc = DML_DIAGONAL_MATRIX_OPERATOR_DESC {
            OutputTensor: tensor.as_ptr(),
            Offset: 0,
            Value: 1.0,
        };
        message(decode(&DML_OPERATOR_DESC { Type: 93, Desc: (&raw const desc).cast() }))
    };
    let good = buffer_desc(&[4, 4]);
    let found = read(&DML_BUFFER_TENSOR_DESC { DimensionCount: u32::MAX, ..good });
    assert!(found.contains("OutputTensor.DimensionCount: 4294967295 is too large"), "{found}");
    let found = read(&DML_BUFFER_TENSOR_DESC { Sizes: ptr::null(), ..good });
    assert!(found.contains("OutputTensor.Sizes: null, with 2 elements"), "{found}");
    let found = read(&DML_BUFFER_TENSOR_DESC { DataType: 99, ..good });
    assert!(found.contains("OutputTensor.DataType: 99 is not a data type"), "{found}");
    let found = message(decode(&DML_OPERATOR_DESC { Type: 93, Desc: ptr::null() }));
    assert!(found.contains("DIAGONAL_MATRIX: DML_OPERATOR_DESC.Desc: null"), "{found}");
    for unknown in [0, 178, u32::MAX] {
        let found = message(decode(&DML_OPERATOR_DESC { Type: unknown, Desc: ptr::null() }));
        assert!(found.contains("accepted: 1 to 177"), "{found}");
    }
    // SAFETY: null is allowed.
    assert!(message(unsafe { operator(ptr::null()) }).contains("null"));
}

#[test]
fn an_operator_that_is_not_implemented_is_read() {
    let buffer = buffer_desc(&[1, 1, 4, 4]);
    let tensor = tensor_desc(&buffer);
    let relu =
        DML_ACTIVATION_RELU_OPERATOR_DESC { InputTensor: ptr::null(), OutputTensor: ptr::null() };
    let relu = DML_OPERATOR_DESC { Type: 44, Desc: (&raw const relu).cast() };
    let gemm = DML_GEMM_OPERATOR_DESC {
        ATensor: tensor.as_ptr(),
        BTensor: tensor.as_ptr(),
        CTensor: ptr::null(),
        OutputTensor: tensor.as_ptr(),
        TransA: MatrixTransform::None.dml_value(),
        TransB: MatrixTransform::Transpose.dml_value(),
        Alpha: 0.5,
        Beta: -1.0,
        FusedActivation: &raw const relu,
    };
    let found = decode(&DML_OPERATOR_DESC { Type: 54, Desc: (&raw const gemm).cast() });
    let found = found.unwrap_or_else(|failure| panic!("{failure:?}"));
    let fields = found.fields();
    assert_eq!(fields[2], FieldValue::Tensor(None));
    assert_eq!(fields[4..6], [FieldValue::Uint(0), FieldValue::Uint(1)]);
    assert_eq!(fields[6..8], [FieldValue::Float(0.5), FieldValue::Float(-1.0)]);
    let FieldValue::OperatorDesc(Some(fused)) = &fields[8] else { panic!("{fields:?}") };
    assert_eq!(fused.schema().name, "ACTIVATION_RELU");
    assert_eq!(fused.fields(), [FieldValue::Tensor(None), FieldValue::Tensor(None)]);
}

/// Field types that no implemented operator has yet, in a struct made for this test.
#[test]
fn arrays_and_nested_operators_are_read_by_their_counts() {
    use dml::core::schema::FieldKind::Attribute;
    #[repr(C)]
    struct Everything {
        count: u32,
        tensors: *const DML_TENSOR_DESC,
        numbers: *const i32,
        none: *const f32,
        scale: *const DML_SCALE_BIAS,
        size: DML_SIZE_2D,
        flag: i32,
        large: u64,
        activation: *const DML_OPERATOR_DESC,
    }
    const fn field(name: &'static str, field_type: FieldType) -> FieldSchema {
        FieldSchema::new(name, Attribute, field_type)
    }
    static FIELDS: [FieldSchema; 9] = [
        field("Count", FieldType::Uint),
        field("Tensors", FieldType::TensorArray).with_count("Count"),
        field("Numbers", FieldType::IntArray).with_count("Count"),
        field("None", FieldType::FloatArray).with_count("Count").optional(),
        field("Scale", FieldType::ScaleBias),
        field("Size", FieldType::Size2d),
        field("Flag", FieldType::Bool),
        field("Large", FieldType::Uint64),
        field("Activation", FieldType::OperatorDesc),
    ];
    static SCHEMA: OperatorSchema =
        OperatorSchema { fields: &FIELDS, varied: None, ..DIAGONAL_MATRIX };
    let offsets_expected = [
        0,
        offset_of!(Everything, tensors),
        offset_of!(Everything, numbers),
        offset_of!(Everything, none),
        offset_of!(Everything, scale),
        offset_of!(Everything, size),
        offset_of!(Everything, flag),
        offset_of!(Everything, large),
        offset_of!(Everything, activation),
    ];
    assert_eq!(offsets(&SCHEMA), offsets_expected);
    let buffers = [buffer_desc(&[1, 2]), buffer_desc(&[3])];
    let tensors = buffers.each_ref().map(tensor_desc);
    let numbers = [-1, 7];
    let scale = DML_SCALE_BIAS { Scale: 0.5, Bias: -2.0 };
    let nothing = DML_OPERATOR_DESC { Type: NO_OPERATOR, Desc: ptr::null() };
    let everything = Everything {
        count: 2,
        tensors: tensors.as_ptr().cast(),
        numbers: numbers.as_ptr(),
        none: ptr::null(),
        scale: &raw const scale,
        size: DML_SIZE_2D { Width: 3, Height: 4 },
        flag: 5,
        large: 1 << 40,
        activation: &raw const nothing,
    };
    let desc = ptr::from_ref(&everything).cast();
    let reader = Reader { schema: &SCHEMA, desc, depth: 0 };
    // SAFETY: the struct has the schema's fields and lives long enough.
    let found = unsafe { reader.fields() }.unwrap_or_else(|failure| panic!("{failure:?}"));
    let sizes = |index: usize| match &found[1] {
        FieldValue::TensorArray(tensors) => tensors[index].sizes.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((sizes(0), sizes(1)), (vec![1, 2], vec![3]));
    assert_eq!(found[2], FieldValue::IntArray(vec![-1, 7]));
    assert_eq!(found[3], FieldValue::FloatArray(vec![]));
    assert_eq!(found[4], FieldValue::ScaleBias(Some([0.5, -2.0])));
    assert_eq!(found[5], FieldValue::Size2d([3, 4]));
    assert_eq!(found[6], FieldValue::Bool(true));
    assert_eq!(found[7], FieldValue::Uint64(1 << 40));
    assert_eq!(found[8], FieldValue::OperatorDesc(None));
    let too_many = Everything { count: u32::MAX, ..everything };
    let reader = Reader { schema: &SCHEMA, desc: ptr::from_ref(&too_many).cast(), depth: 0 };
    // SAFETY: as above; what has too many elements is not read.
    let refused = message(unsafe { reader.fields() });
    assert!(refused.contains("Tensors: 4294967295 elements"), "{refused}");
    assert_eq!(size_of::<DML_SIZE_2D>(), 8);
}
