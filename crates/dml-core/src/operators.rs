//! DirectML's operators: for each a row of the schema, and the descriptor that a caller fills.
//!
//! Rows and descriptors are generated from `schema/*.toml`, which states the contents of DirectML's pages;
//! `schema/README.md` tells how to add an operator. [`attention`] and [`recurrent`] are written by hand:
//! they read descriptors for lowering and references.

pub mod attention;
/// The typed descriptors of the operators.
pub mod descs;
pub(crate) mod fusion;
pub mod recurrent;
pub(crate) mod rules;
mod tables;

pub use descs::*;
pub use rules::MOST_ROI_SAMPLES;
pub use tables::*;

use crate::schema::OperatorSchema;

/// DirectML's second names for an operator.
const ALIASES: [(&str, &str); 1] = [("SCATTER", "SCATTER_ELEMENTS")];

/// The row of the operator called `name` (DirectML's name in any case, with or without the prefix
/// `DML_OPERATOR_`).
pub fn find(name: &str) -> Option<&'static OperatorSchema> {
    let upper = name.to_ascii_uppercase();
    let name = upper.strip_prefix("DML_OPERATOR_").unwrap_or(&upper);
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    let name = alias.map_or(name, |(_, name)| name);
    OPERATORS.iter().copied().find(|schema| schema.name == name)
}

/// A question for a message about an operator's name that [`find`] does not know, to append to the
/// name: ` (did you mean GEMM?)`. Empty if no operator's name is similar.
pub fn suggestion(given: &str) -> String {
    let upper = given.to_ascii_uppercase();
    let given = upper.strip_prefix("DML_OPERATOR_").unwrap_or(&upper);
    crate::similar::suggestion(given, OPERATORS.iter().map(|schema| schema.name))
}

/// The number of operators that this runtime executes, for messages, because their names would be too long.
pub fn implemented_summary() -> String {
    let implemented = OPERATORS.iter().filter(|schema| schema.implemented).count();
    format!("{implemented} of {}, listed by `dml support --implemented`", OPERATORS.len())
}

/// The operators that this runtime executes nested in `outer`, as its fused activation or as a function
/// of a recurrent network.
pub fn implemented_in(outer: &OperatorSchema) -> impl Iterator<Item = &'static OperatorSchema> {
    fusion::fusions_in(outer).map(|it| it.operator).filter(|it| it.implemented)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::operator::AbstractOperator;
    use crate::tensor::TensorDesc;
    use crate::types::DataType;

    #[test]
    fn an_operator_is_found_by_name() {
        assert_eq!(find("diagonal_matrix"), Some(&DIAGONAL_MATRIX));
        assert_eq!(find("DML_OPERATOR_DIAGONAL_MATRIX"), Some(&DIAGONAL_MATRIX));
        let gradient = find("local_response_normalization_grad");
        assert_eq!(gradient, Some(&LOCAL_RESPONSE_NORMALIZATION_GRAD));
        assert_eq!(find("DML_OPERATOR_SCATTER"), find("SCATTER_ELEMENTS"));
        assert_eq!(find("DIAGONAL_MATRIX2"), None);
    }

    #[test]
    fn a_suggestion_does_not_depend_on_case_or_prefix() {
        let expected = " (did you mean DIAGONAL_MATRIX or DIAGONAL_MATRIX1?)";
        for given in ["DIAGONAL", "diagonal", "DML_OPERATOR_DIAGONAL"] {
            assert_eq!(suggestion(given), expected, "{given}");
        }
        assert_eq!(suggestion("NO_SUCH_OPERATOR"), "");
    }

    #[track_caller]
    fn has_the_fields_of(row: &'static OperatorSchema, operator: AbstractOperator) {
        let fields = operator.fields().to_vec();
        assert_eq!(AbstractOperator::new(row, fields), Ok(operator));
    }

    #[test]
    fn a_typed_descriptor_has_the_fields_of_its_row() {
        let output_tensor = TensorDesc::packed(DataType::Float32, &[3, 3]);
        let desc =
            DiagonalMatrixDesc { output_tensor: output_tensor.clone(), offset: 0, value: 1.0 };
        has_the_fields_of(&DIAGONAL_MATRIX, desc.into());
        let value_data_type = DataType::Float32;
        let value = 1f32.into();
        let desc =
            FillValueConstantDesc { output_tensor: output_tensor.clone(), value_data_type, value };
        has_the_fields_of(&FILL_VALUE_CONSTANT, desc.into());
        let desc = DiagonalMatrix1Desc {
            input_tensor: None,
            output_tensor,
            value_data_type,
            value,
            diagonal_fill_begin: 0,
            diagonal_fill_end: 1,
        };
        has_the_fields_of(&DIAGONAL_MATRIX1, desc.into());
        let tensor = || TensorDesc::packed(DataType::Float32, &[3, 3]);
        let desc = ElementWiseIdentityDesc {
            input_tensor: tensor(),
            output_tensor: tensor(),
            scale_bias: Some([2.0, 1.0]),
        };
        has_the_fields_of(&ELEMENT_WISE_IDENTITY, desc.into());
        let desc =
            ElementWiseAddDesc { a_tensor: tensor(), b_tensor: tensor(), output_tensor: tensor() };
        has_the_fields_of(&ELEMENT_WISE_ADD, desc.into());
        let desc = ElementWiseDivideDesc {
            a_tensor: tensor(),
            b_tensor: tensor(),
            output_tensor: tensor(),
        };
        has_the_fields_of(&ELEMENT_WISE_DIVIDE, desc.into());
        let desc = CastDesc { input_tensor: tensor(), output_tensor: tensor() };
        has_the_fields_of(&CAST, desc.into());
    }
}
