//! The operators that may be nested in another one, as its fused activation or as an activation of a
//! recurrent network.
//!
//! DirectML's page "Using fused operators to improve performance" lists them; its feature level
//! history adds ELEMENT_WISE_CLIP, and for GEMM the softmax functions.

use super::tables::{
    ACTIVATION_CELU, ACTIVATION_ELU, ACTIVATION_HARD_SIGMOID, ACTIVATION_IDENTITY,
    ACTIVATION_LEAKY_RELU, ACTIVATION_LINEAR, ACTIVATION_PARAMETRIC_SOFTPLUS, ACTIVATION_RELU,
    ACTIVATION_SCALED_ELU, ACTIVATION_SCALED_TANH, ACTIVATION_SHRINK, ACTIVATION_SIGMOID,
    ACTIVATION_SOFTMAX, ACTIVATION_SOFTMAX1, ACTIVATION_SOFTPLUS, ACTIVATION_SOFTSIGN,
    ACTIVATION_TANH, ACTIVATION_THRESHOLDED_RELU, ELEMENT_WISE_CLIP, GEMM,
};
use crate::schema::OperatorSchema;
use crate::types::FeatureLevel;

/// An operator that may be nested.
#[derive(Debug)]
pub(crate) struct Fusion {
    /// The operator.
    pub(crate) operator: &'static OperatorSchema,
    /// The level from which on it may be nested, if that is not the level that introduced it.
    since: Option<FeatureLevel>,
    /// The only operator that it may be nested in; `None` if any operator accepts it.
    only_in: Option<&'static OperatorSchema>,
}

/// Every operator that may be nested, in the order of the page.
pub(crate) static FUSIONS: &[Fusion] = &[
    Fusion::anywhere(&ACTIVATION_ELU),
    Fusion::anywhere(&ACTIVATION_HARD_SIGMOID),
    Fusion::anywhere(&ACTIVATION_IDENTITY),
    Fusion::anywhere(&ACTIVATION_LEAKY_RELU),
    Fusion::anywhere(&ACTIVATION_LINEAR),
    Fusion::anywhere(&ACTIVATION_PARAMETRIC_SOFTPLUS),
    Fusion::anywhere(&ACTIVATION_RELU),
    Fusion::anywhere(&ACTIVATION_SCALED_ELU),
    Fusion::anywhere(&ACTIVATION_SCALED_TANH),
    Fusion::anywhere(&ACTIVATION_SIGMOID),
    Fusion::anywhere(&ACTIVATION_SOFTPLUS),
    Fusion::anywhere(&ACTIVATION_SOFTSIGN),
    Fusion::anywhere(&ACTIVATION_TANH),
    Fusion::anywhere(&ACTIVATION_THRESHOLDED_RELU),
    Fusion::anywhere(&ACTIVATION_SHRINK),
    Fusion::anywhere(&ACTIVATION_CELU),
    Fusion { since: Some(FeatureLevel::V6_0), ..Fusion::anywhere(&ELEMENT_WISE_CLIP) },
    Fusion {
        since: Some(FeatureLevel::V6_1),
        only_in: Some(&GEMM),
        ..Fusion::anywhere(&ACTIVATION_SOFTMAX)
    },
    Fusion {
        since: Some(FeatureLevel::V6_1),
        only_in: Some(&GEMM),
        ..Fusion::anywhere(&ACTIVATION_SOFTMAX1)
    },
];

impl Fusion {
    const fn anywhere(operator: &'static OperatorSchema) -> Self {
        Self { operator, since: None, only_in: None }
    }

    /// The lowest level at which it may be nested.
    pub(crate) fn level(&self) -> FeatureLevel {
        let introduced = self.operator.introduced();
        self.since.map_or(introduced, |since| since.max(introduced))
    }
}

/// The operators that may be nested in `outer` at some level.
pub(crate) fn fusions_in(outer: &OperatorSchema) -> impl Iterator<Item = &'static Fusion> {
    let outer = outer.operator_type;
    FUSIONS.iter().filter(move |it| it.only_in.is_none_or(|only| only.operator_type == outer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{FieldKind, FieldType};

    #[test]
    fn what_is_nested_has_one_input_one_output_and_nests_nothing() {
        for fusion in FUSIONS {
            let fields = fusion.operator.fields;
            let of = |kind| fields.iter().filter(move |it| it.kind == kind);
            for kind in [FieldKind::Input, FieldKind::Output] {
                let types: Vec<FieldType> = of(kind).map(|it| it.field_type).collect();
                assert_eq!(types, [FieldType::Tensor], "{}", fusion.operator.name);
            }
            let is_nested = |it: FieldType| {
                matches!(it, FieldType::OperatorDesc | FieldType::OperatorDescArray)
            };
            assert!(
                !fields.iter().any(|field| is_nested(field.field_type)),
                "{}",
                fusion.operator.name
            );
        }
    }

    #[test]
    fn softmax_is_fused_into_products_alone() {
        use crate::operators::{ELEMENT_WISE_ADD1, GRU};
        let names = |outer| fusions_in(outer).map(|it| it.operator.name).collect::<Vec<_>>();
        assert!(names(&GEMM).contains(&"ACTIVATION_SOFTMAX1"));
        for outer in [&ELEMENT_WISE_ADD1, &GRU] {
            assert!(names(outer).contains(&"ACTIVATION_TANH"));
            assert!(!names(outer).iter().any(|name| name.contains("SOFTMAX")));
        }
    }
}
