//! The names that the schema may use. A test compares them with `dml-core`, on which this must not
//! depend: the generator has to work while what it generates does not compile.

/// The data types, by ascending number: DirectML's name and the variant of `DataType`.
pub(crate) const DATA_TYPES: [(&str, &str); 13] = [
    ("FLOAT32", "Float32"),
    ("FLOAT16", "Float16"),
    ("UINT32", "Uint32"),
    ("UINT16", "Uint16"),
    ("UINT8", "Uint8"),
    ("INT32", "Int32"),
    ("INT16", "Int16"),
    ("INT8", "Int8"),
    ("FLOAT64", "Float64"),
    ("UINT64", "Uint64"),
    ("INT64", "Int64"),
    ("UINT4", "Uint4"),
    ("INT4", "Int4"),
];

/// The feature levels, ascending.
pub(crate) const LEVELS: [&str; 15] = [
    "1_0", "2_0", "2_1", "3_0", "3_1", "4_0", "4_1", "5_0", "5_1", "5_2", "6_0", "6_1", "6_2",
    "6_3", "6_4",
];

/// The level called `name`.
pub(crate) fn level(name: &str) -> Result<&'static str, String> {
    LEVELS
        .into_iter()
        .find(|level| *level == name)
        .ok_or_else(|| format!("{name} is not a feature level; accepted: {}", LEVELS.join(", ")))
}

/// DML_TENSOR_DIMENSION_COUNT_MAX1.
pub(crate) const MAX_RANK: usize = 8;
