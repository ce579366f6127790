use super::*;
use crate::operators::DiagonalMatrixDesc;
use crate::types::DataType;

fn diagonal(desc: TensorDesc) -> AbstractOperator {
    DiagonalMatrixDesc { output_tensor: desc, offset: 0, value: 1.0 }.into()
}

fn at(level: FeatureLevel, data_type: DataType, rank: usize) -> Result<Validated, Error> {
    validate(&diagonal(TensorDesc::packed(data_type, &vec![1; rank])), level)
}

#[track_caller]
fn refused(result: Result<Validated, Error>, message: &str) {
    assert_eq!(result.unwrap_err().to_string(), message);
}

#[test]
fn at_1_0_the_operator_itself_is_refused() {
    refused(
        at(FeatureLevel::V1_0, DataType::Float32, 4),
        "DIAGONAL_MATRIX: needs feature level 2_0; this device was created at 1_0",
    );
}

#[test]
fn at_2_0_int32_and_rank_3_are_refused() {
    assert!(at(FeatureLevel::V2_0, DataType::Float16, 4).is_ok());
    refused(
        at(FeatureLevel::V2_0, DataType::Int32, 4),
        "DIAGONAL_MATRIX: OutputTensor.DataType: INT32 needs feature level 2_1; \
         this device was created at 2_0 (allowed: FLOAT32, FLOAT16)",
    );
    refused(
        at(FeatureLevel::V2_0, DataType::Float32, 3),
        "DIAGONAL_MATRIX: OutputTensor.DimensionCount: 3 needs feature level 4_0; \
         this device was created at 2_0 (allowed: 4)",
    );
}

#[test]
fn at_2_1_int32_works_and_rank_3_is_refused() {
    assert!(at(FeatureLevel::V2_1, DataType::Int32, 4).is_ok());
    assert!(at(FeatureLevel::V3_1, DataType::Int32, 4).is_ok());
    assert!(at(FeatureLevel::V3_1, DataType::Int32, 3).is_err());
}

#[test]
fn at_4_0_rank_2_works_and_int64_is_refused() {
    assert!(at(FeatureLevel::V4_0, DataType::Uint8, 2).is_ok());
    refused(
        at(FeatureLevel::V4_0, DataType::Int64, 2),
        "DIAGONAL_MATRIX: OutputTensor.DataType: INT64 needs feature level 5_1; this device was \
         created at 4_0 (allowed: FLOAT32, FLOAT16, UINT32, UINT16, UINT8, INT32, INT16, INT8)",
    );
}

#[test]
fn from_5_1_all_11_types_work() {
    for level in FeatureLevel::ALL.into_iter().filter(|level| *level >= FeatureLevel::V5_1) {
        for data_type in DataType::ALL.into_iter().filter(|t| t.bits() >= 8) {
            for rank in 2..=4 {
                assert!(at(level, data_type, rank).is_ok(), "{level} {data_type} {rank}");
            }
        }
    }
}

#[test]
fn what_no_level_accepts_says_so() {
    refused(
        at(FeatureLevel::V6_4, DataType::Float32, 5),
        "DIAGONAL_MATRIX: OutputTensor.DimensionCount: 5 is not supported at any feature level; \
         this device was created at 6_4 (allowed: 2 to 4)",
    );
    let error = at(FeatureLevel::V6_4, DataType::Uint4, 4).unwrap_err().to_string();
    assert!(error.contains("OutputTensor.DataType: UINT4 is not supported at any feature level"));
}

#[test]
fn the_level_that_is_named_accepts_the_whole_tensor() {
    let message = |level, data_type, rank| at(level, data_type, rank).unwrap_err().to_string();
    use FeatureLevel as Level;
    let int64 = message(Level::V2_0, DataType::Int64, 2);
    assert!(int64.contains("DataType: INT64 needs feature level 5_1"), "{int64}");
    let both = message(Level::V2_0, DataType::Int32, 3);
    assert!(both.contains("DataType: INT32 with 3 dimensions needs feature level 4_0"), "{both}");
    let never = message(Level::V4_0, DataType::Int64, 5);
    assert!(never.contains("DimensionCount: 5 is not supported at any feature level"), "{never}");
    for level in Level::ALL {
        for (data_type, rank) in
            DataType::ALL.into_iter().flat_map(|t| (1..=8).map(move |r| (t, r)))
        {
            let Err(Error::FeatureLevel(refusal)) = at(level, data_type, rank) else { continue };
            let lowest = Level::ALL.into_iter().find(|level| at(*level, data_type, rank).is_ok());
            assert_eq!(refusal.needs, lowest, "{level} {data_type} {rank}: {refusal}");
        }
    }
}

#[test]
fn before_the_operator_exists_its_tensors_are_looked_at_too() {
    refused(
        at(FeatureLevel::V1_0, DataType::Uint4, 4),
        "DIAGONAL_MATRIX: needs feature level 2_0; OutputTensor.DataType: UINT4 is not supported at any \
         feature level; this device was created at 1_0",
    );
    refused(
        at(FeatureLevel::V1_0, DataType::Float32, 2),
        "DIAGONAL_MATRIX: needs feature level 2_0; OutputTensor.DimensionCount: 2 needs feature \
         level 4_0; this device was created at 1_0",
    );
    refused(
        at(FeatureLevel::V1_0, DataType::Int8, 4),
        "DIAGONAL_MATRIX: needs feature level 2_0; OutputTensor.DataType: INT8 needs feature \
         level 2_1; this device was created at 1_0",
    );
    refused(
        at(FeatureLevel::V1_0, DataType::Int8, 2),
        "DIAGONAL_MATRIX: needs feature level 2_0; OutputTensor.DataType: INT8 with 2 dimensions \
         needs feature level 4_0; this device was created at 1_0",
    );
}

#[test]
fn rules_of_tensors_name_operator_and_field() {
    refused(
        validate(
            &diagonal(TensorDesc::packed(DataType::Float32, &[1, 1, 3, 0])),
            FeatureLevel::HIGHEST,
        ),
        "DIAGONAL_MATRIX: OutputTensor.Sizes[3]: 0 is not a size (tensors cannot be empty); \
         accepted: 1 to 4294967295",
    );
    refused(
        at(FeatureLevel::HIGHEST, DataType::Float32, 9),
        "DIAGONAL_MATRIX: OutputTensor.DimensionCount: 9 is out of range; accepted: 1 to 8",
    );
}

#[test]
fn outputs_may_not_overlap_themselves_nor_be_owned() {
    let desc = TensorDesc::packed(DataType::Float32, &[3, 3]);
    let overlapping = desc.clone().with_strides(&[2, 1]);
    let error = validate(&diagonal(overlapping), FeatureLevel::HIGHEST).unwrap_err().to_string();
    assert!(error.contains("OutputTensor.Strides: [2, 1] with Sizes [3, 3] let"), "{error}");
    let owned = TensorDesc { flags: TensorFlags::OWNED_BY_DML, ..desc };
    refused(
        validate(&diagonal(owned), FeatureLevel::HIGHEST),
        "DIAGONAL_MATRIX: OutputTensor.Flags: OWNED_BY_DML is set on an output; \
         accepted: NONE; only inputs can be owned",
    );
}

#[test]
fn a_missing_tensor_is_named() {
    let fields = vec![FieldValue::Tensor(None), FieldValue::Int(0), FieldValue::Float(1.0)];
    let operator = AbstractOperator::new(&crate::operators::DIAGONAL_MATRIX, fields).unwrap();
    refused(
        validate(&operator, FeatureLevel::HIGHEST),
        "DIAGONAL_MATRIX: OutputTensor: null is missing; accepted: a tensor",
    );
}

#[test]
fn fields_are_reached_by_name() {
    let validated = at(FeatureLevel::HIGHEST, DataType::Float32, 2).unwrap();
    assert_eq!(validated.int("Offset"), Ok(0));
    assert_eq!(validated.float("Value"), Ok(1.0));
    assert_eq!(validated.required_tensor("OutputTensor").unwrap().sizes(), [1, 1]);
    assert!(matches!(validated.int("Value"), Err(Error::Internal { .. })));
    assert_eq!(validated.tensors(FieldKind::Input).count(), 0);
    assert_eq!(validated.tensors(FieldKind::Output).count(), 1);
}

#[test]
fn each_kind_of_refusal_has_its_hresult() {
    use crate::error::HResult;
    let level = at(FeatureLevel::V1_0, DataType::Float32, 4).unwrap_err();
    assert_eq!(level.hresult(), HResult::E_INVALIDARG);
    let invalid = at(FeatureLevel::HIGHEST, DataType::Float32, 9).unwrap_err();
    assert_eq!(invalid.hresult(), HResult::E_INVALIDARG);
    assert_eq!(HResult::E_INVALIDARG.to_string(), "0x80070057");
}
