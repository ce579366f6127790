//! The registry of references.

use std::sync::LazyLock;

use crate::Reference;
use crate::families::{
    attention, convolution, data_movement, diagonal, element_wise, fill, gather_scatter, matmul,
    nonzero, normalization, pooling, quantization, random, recurrent, reduce, resample, roi,
    softmax, sort, training,
};

/// The references of all implemented operators, in ascending order of operator numbers.
pub static REFERENCES: LazyLock<Vec<&'static dyn Reference>> = LazyLock::new(|| {
    let families = [
        attention::REFERENCES,
        convolution::REFERENCES,
        data_movement::REFERENCES,
        diagonal::REFERENCES,
        element_wise::REFERENCES,
        fill::REFERENCES,
        gather_scatter::REFERENCES,
        matmul::REFERENCES,
        nonzero::REFERENCES,
        normalization::REFERENCES,
        pooling::REFERENCES,
        quantization::REFERENCES,
        random::REFERENCES,
        recurrent::REFERENCES,
        reduce::REFERENCES,
        resample::REFERENCES,
        roi::REFERENCES,
        softmax::REFERENCES,
        sort::REFERENCES,
        training::REFERENCES,
    ];
    let mut all = families.concat();
    all.sort_by_key(|reference| reference.schema().operator_type);
    all
});

/// The reference of the operator with DirectML's number `operator_type`.
pub fn find(operator_type: u32) -> Option<&'static dyn Reference> {
    let mut references = REFERENCES.iter().copied();
    references.find(|reference| reference.schema().operator_type == operator_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_implemented_operator_has_exactly_one_reference() {
        let schemas = dml_core::operators::OPERATORS.iter();
        let implemented = schemas.filter(|schema| schema.implemented);
        let names: Vec<&str> = implemented.map(|schema| schema.name).collect();
        let found: Vec<&str> = REFERENCES.iter().map(|it| it.schema().name).collect();
        assert_eq!(found, names);
        assert!(REFERENCES.iter().all(|it| {
            find(it.schema().operator_type).is_some_and(|found| found.schema() == it.schema())
        }));
    }
}
