//! DirectML's enums, whose numbers `UINT` fields hold.

mod tables;

pub use tables::*;

use crate::types::DataType;

/// An enum of DirectML.
#[derive(Debug, PartialEq, Eq)]
pub struct EnumSchema {
    /// DirectML's name without the prefix `DML_`.
    pub name: &'static str,
    /// The names, without the enum's name as prefix, and the numbers.
    pub values: &'static [(&'static str, u32)],
}

impl EnumSchema {
    /// The number of the value called `name` (DirectML's name in any case, with or without the enum's name
    /// as prefix).
    pub fn value(&self, name: &str) -> Option<u32> {
        let upper = name.to_ascii_uppercase();
        let short = upper
            .strip_prefix("DML_")
            .and_then(|rest| rest.strip_prefix(self.name))
            .and_then(|rest| rest.strip_prefix('_'))
            .unwrap_or(&upper);
        self.values.iter().find(|(name, _)| *name == short).map(|(_, value)| *value)
    }

    /// The name of the value with the number `value`, without the enum's name as prefix.
    pub fn name_of(&self, value: u32) -> Option<&'static str> {
        self.values.iter().find(|(_, number)| *number == value).map(|(name, _)| *name)
    }

    /// Whether one of the values has the number `value`.
    pub fn contains(&self, value: u32) -> bool {
        self.values.iter().any(|(_, number)| *number == value)
    }

    /// All names, for messages.
    #[cfg(feature = "json")]
    pub(crate) fn names(&self) -> String {
        self.values.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }

    /// All names and numbers, for messages.
    pub(crate) fn names_and_numbers(&self) -> String {
        let texts: Vec<String> = self.values.iter().map(|(n, v)| format!("{v} ({n})")).collect();
        texts.join(", ")
    }
}

/// DML_TENSOR_DATA_TYPE, without its UNKNOWN value, which is never valid.
pub static TENSOR_DATA_TYPE: EnumSchema =
    EnumSchema { name: "TENSOR_DATA_TYPE", values: &DATA_TYPES };

const DATA_TYPES: [(&str, u32); DataType::ALL.len()] = {
    let mut values = [("", 0); DataType::ALL.len()];
    let mut index = 0;
    while index < values.len() {
        let data_type = DataType::ALL[index];
        values[index] = (data_type.name(), data_type.dml_value());
        index += 1;
    }
    values
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::enums::{PaddingMode, RandomGeneratorType, ReduceFunction};

    #[test]
    fn names_are_read_in_any_case_with_or_without_prefix() {
        assert_eq!(TENSOR_DATA_TYPE.value("DML_TENSOR_DATA_TYPE_INT64"), Some(11));
        assert_eq!(TENSOR_DATA_TYPE.value("int64"), Some(11));
        assert_eq!(TENSOR_DATA_TYPE.value("UNKNOWN"), None);
        assert_eq!(TENSOR_DATA_TYPE.value("DML_TENSOR_DATA_TYPEINT64"), None);
    }

    #[test]
    fn unknown_is_no_value() {
        assert!(TENSOR_DATA_TYPE.contains(13));
        assert!(!TENSOR_DATA_TYPE.contains(0) && !TENSOR_DATA_TYPE.contains(14));
        assert_eq!([4, 99].map(|it| PADDING_MODE.name_of(it)), [Some("WRAP"), None]);
    }

    #[test]
    fn types_and_tables_have_directml_s_numbers() {
        assert_eq!(
            PADDING_MODE.value("DML_PADDING_MODE_WRAP"),
            Some(PaddingMode::Wrap.dml_value())
        );
        assert_eq!(PaddingMode::Wrap.dml_value(), 4);
        assert_eq!(PaddingMode::from_dml_value(4), Some(PaddingMode::Wrap));
        assert_eq!(PaddingMode::from_dml_value(5), None);
        assert_eq!(ReduceFunction::LogSumExp.to_string(), "LOG_SUM_EXP");
        let pairs = ReduceFunction::ALL.map(|it| (it.name(), it.dml_value()));
        assert_eq!(REDUCE_FUNCTION.values, pairs);
        let masks = MULTIHEAD_ATTENTION_MASK_TYPE.values;
        assert_eq!(masks.last(), Some(&("BOOLEAN", 4)));
        let philox = RandomGeneratorType::Philox4x3210;
        assert_eq!((philox.name(), philox.dml_value()), ("PHILOX_4X32_10", 0));
    }
}
