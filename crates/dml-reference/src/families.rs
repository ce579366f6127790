//! One folder for each family: the references of its operators, and their test cases.

/// The methods of a [`Reference`](crate::Reference) that give cases, by the `CaseGenerator` of the family's cases.
macro_rules! cases_by {
    ($self:ident, $signature:ident: $maker:expr) => {
        fn minimal(&$self, $signature: &$crate::Signature) -> dml_core::AbstractOperator {
            $maker.minimal()
        }

        fn cases(&$self, $signature: &$crate::Signature) -> Vec<$crate::Case> {
            $maker.cases()
        }

        fn random(
            &$self,
            random: &mut $crate::Random,
            $signature: &$crate::Signature,
        ) -> $crate::Case {
            $maker.random(random)
        }

        fn broken_rules(&$self, $signature: &$crate::Signature) -> Vec<$crate::BrokenRule> {
            $maker.broken_rules()
        }
    };
}

pub(crate) mod attention;
pub(crate) mod convolution;
pub(crate) mod data_movement;
pub(crate) mod diagonal;
pub(crate) mod element_wise;
pub(crate) mod fill;
pub(crate) mod gather_scatter;
pub(crate) mod matmul;
pub(crate) mod nonzero;
pub(crate) mod normalization;
pub(crate) mod pooling;
pub(crate) mod products;
pub(crate) mod quantization;
pub(crate) mod random;
pub(crate) mod recurrent;
pub(crate) mod reduce;
pub(crate) mod resample;
pub(crate) mod roi;
pub(crate) mod rows;
pub(crate) mod softmax;
pub(crate) mod sort;
pub(crate) mod training;
