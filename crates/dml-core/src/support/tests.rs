//! Which answer comes first, and that the answers are those of the tables.

use super::*;
use crate::schema::operator::{AbstractOperator, FieldValue};
use crate::schema::{FieldKind, FieldSchema, FieldType, RankSet};
use crate::types::DataTypeSet;

const FIELDS: &[FieldSchema] = &[
    FieldSchema::new("A", FieldKind::Input, FieldType::Tensor),
    FieldSchema::new("B", FieldKind::Output, FieldType::Tensor),
];

const SMALL: DataTypeSet = DataTypeSet::of(&[DataType::Float32, DataType::Int8]);

/// A: FLOAT32 and INT8 from 3_0, INT64 too from 5_0. B: types not stated.
const TABLES: &[SupportTable] = &[
    SupportTable {
        level: FeatureLevel::V3_0,
        tensors: &[
            TensorSupport::new("A", RankSet::range(2, 4), SMALL),
            TensorSupport::new("B", RankSet::range(1, 4), DataTypeSet::NONE),
        ],
    },
    SupportTable {
        level: FeatureLevel::V5_0,
        tensors: &[
            TensorSupport::new("A", RankSet::range(2, 5), SMALL.with(&[DataType::Int64])),
            TensorSupport::new("B", RankSet::range(1, 5), DataTypeSet::NONE),
        ],
    },
];

/// `MADE_UP` with the types of its tensors, of 4 dimensions.
fn of_types(schema: &'static OperatorSchema, types: [DataType; 2]) -> AbstractOperator {
    let tensor = |it| FieldValue::Tensor(Some(TensorDesc::packed(it, &[1; 4])));
    AbstractOperator::new(schema, types.map(tensor).to_vec()).unwrap()
}

const fn made_up(implemented: bool) -> OperatorSchema {
    let row = OperatorSchema::made_up("MADE_UP");
    OperatorSchema { implemented, fields: FIELDS, tables: TABLES, ..row }
}

static MADE_UP: OperatorSchema = made_up(true);

fn ask(schema: &OperatorSchema, data_type: DataType, rank: usize, level: FeatureLevel) -> Support {
    query(schema, data_type, rank, level, Features::NONE)
}

#[test]
fn the_first_answer_that_holds_is_given() {
    let not_implemented = made_up(false);
    for schema in [&MADE_UP, &not_implemented] {
        let level = FeatureLevel::V1_0;
        assert_eq!(ask(schema, DataType::Float32, 6, level), Support::Never);
        assert_eq!(ask(schema, DataType::Float64, 2, level), Support::Undocumented);
        let needs = |level| Support::NeedsLevel(level);
        assert_eq!(ask(schema, DataType::Float32, 2, level), needs(FeatureLevel::V3_0));
        assert_eq!(ask(schema, DataType::Float32, 5, level), needs(FeatureLevel::V5_0));
        assert_eq!(ask(schema, DataType::Int64, 2, FeatureLevel::V4_1), needs(FeatureLevel::V5_0));
    }
    let level = FeatureLevel::V5_0;
    assert_eq!(ask(&not_implemented, DataType::Int64, 2, level), Support::NotImplemented);
    let words = Support::Emulated(Emulation::TwoWords);
    assert_eq!(ask(&MADE_UP, DataType::Int64, 2, level), words);
    assert_eq!(words.to_string(), "emulated (two 32-bit words)");
    assert_eq!(ask(&MADE_UP, DataType::Float32, 2, level), Support::Native);
    let used = Features::NONE.with(Feature::ShaderInt64, true);
    assert_eq!(query(&MADE_UP, DataType::Int64, 2, level, used), Support::Native);
}

#[test]
fn the_tensors_of_an_operator_are_told_apart() {
    let ask = |field, rank| {
        let level = FeatureLevel::HIGHEST;
        query_tensor(&MADE_UP, field, DataType::Float32, rank, level, Features::NONE)
    };
    assert_eq!(ask("A", 2), Some(Support::Native));
    assert_eq!(ask("A", 1), Some(Support::Never));
    assert_eq!(ask("B", 2), Some(Support::Undocumented));
    assert_eq!(ask("C", 2), None);
}

#[test]
fn a_type_is_native_where_kernels_use_a_feature_that_has_it() {
    use Feature::*;
    let features = |data_type: DataType| -> &[Feature] {
        match data_type {
            DataType::Int8 | DataType::Uint8 => &[ShaderInt8, StorageBuffer8BitAccess],
            DataType::Int16 | DataType::Uint16 => &[ShaderInt16, StorageBuffer16BitAccess],
            DataType::Float16 => &[ShaderFloat16, StorageBuffer16BitAccess],
            DataType::Int64 | DataType::Uint64 => &[ShaderInt64],
            DataType::Float64 => &[ShaderFloat64],
            _ => &[],
        }
    };
    for data_type in DataType::ALL {
        let without = emulation(data_type, Features::NONE);
        let expected = match data_type.bits() {
            64 => Some(Emulation::TwoWords),
            32 => None,
            _ => Some(Emulation::PartsOfWords),
        };
        assert_eq!(without, expected, "{data_type}");
        for feature in Feature::ALL {
            let found = emulation(data_type, Features::NONE.with(feature, true));
            let is_native = features(data_type).contains(&feature);
            assert_eq!(found, if is_native { None } else { expected }, "{data_type} {feature}");
        }
    }
}

#[test]
fn levels_are_answered_up_to_the_one_that_the_device_was_created_at() {
    use FeatureLevel as Level;
    let created_at = Level::V4_0;
    assert_eq!(highest_supported_level(&[Level::V1_0, Level::V2_0], created_at), Some(Level::V2_0));
    assert_eq!(highest_supported_level(&Level::ALL, created_at), Some(created_at));
    assert_eq!(highest_supported_level(&[Level::V5_0], created_at), None);
    assert_eq!(highest_supported_level(&[], created_at), None);
}

#[test]
fn a_data_type_is_supported_where_an_operator_runs_with_it() {
    let supported = |data_type, level| data_type_supported(data_type, level);
    assert!(supported(DataType::Float32, FeatureLevel::V1_0));
    assert!(!supported(DataType::Float64, FeatureLevel::V4_0));
    assert!(supported(DataType::Float64, FeatureLevel::V4_1));
    assert!(!supported(DataType::Int64, FeatureLevel::V2_1));
    assert!(supported(DataType::Int64, FeatureLevel::V3_0));
    assert!(!supported(DataType::Uint4, FeatureLevel::V6_2));
    assert!(supported(DataType::Uint4, FeatureLevel::V6_3));
}

/// A takes INT8 at 3_0 and INT64 at 5_0; the types of B are not stated.
#[test]
fn of_several_tensors_the_worst_answer_counts() {
    use DataType::{Float32, Int4, Int8, Int64};
    static BOTH: OperatorSchema = OperatorSchema {
        tables: &[
            SupportTable {
                level: FeatureLevel::V3_0,
                tensors: &[
                    TensorSupport::new("A", RankSet::range(4, 4), SMALL),
                    TensorSupport::new("B", RankSet::range(4, 4), SMALL),
                ],
            },
            SupportTable {
                level: FeatureLevel::V5_0,
                tensors: &[
                    TensorSupport::new("A", RankSet::range(4, 4), SMALL.with(&[Int64])),
                    TensorSupport::new("B", RankSet::range(4, 4), SMALL),
                ],
            },
            SupportTable {
                level: FeatureLevel::V6_0,
                tensors: &[
                    TensorSupport::new("A", RankSet::range(4, 4), SMALL.with(&[Int64])),
                    TensorSupport::new("B", RankSet::range(4, 4), SMALL.with(&[Int64])),
                ],
            },
        ],
        ..made_up(true)
    };
    let ask = |schema, types, level| query_tensors(&of_types(schema, types), level, Features::NONE);
    let both = |types| ask(&BOTH, types, FeatureLevel::V5_0);
    assert_eq!(both([Float32, Float32]), Support::Native);
    for types in [[Float32, Int8], [Int8, Float32]] {
        assert!(matches!(both(types), Support::Emulated(_)), "{types:?}");
    }
    assert!(both([Int64, Int8]).runs());
    assert_eq!(both([Int64, Int64]), Support::NeedsLevel(FeatureLevel::V6_0));
    let levels = ask(&BOTH, [Int64, Int64], FeatureLevel::V3_0);
    assert_eq!(levels, Support::NeedsLevel(FeatureLevel::V6_0));
    assert_eq!(both([Int64, Int4]), Support::Never);
    assert_eq!(ask(&MADE_UP, [Int8, Float32], FeatureLevel::V1_0), Support::Undocumented);
}
