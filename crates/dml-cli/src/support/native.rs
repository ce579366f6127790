//! The optional features that kernels use for an operator's tensors.

use std::collections::HashMap;

use dml::core::capabilities::Features;
use dml::core::schema::OperatorSchema;
use dml::core::{Capabilities, validate};
use dml::{DataType, FeatureLevel};
use dml_ops::used_features;
use dml_reference::Signature;

/// The optional features of the kernels that are selected for a minimal operator with a tensor, by the name of
/// the tensor's field and its data type.
#[derive(Clone, Debug, Default)]
pub(super) struct NativeFeatures(HashMap<(&'static str, DataType), Features>);

impl NativeFeatures {
    /// Lowers one operator for every combination of types that `level` accepts, for a device with `capabilities`.
    /// Empty if the operator is not implemented.
    pub(super) fn of(
        schema: &OperatorSchema,
        level: FeatureLevel,
        capabilities: &Capabilities,
    ) -> Self {
        let mut found = Self::default();
        let Some(reference) = dml_reference::find(schema.operator_type) else { return found };
        let mut last_types = Vec::new();
        for signature in Signature::all(schema) {
            // Ranks change first; which kernels are selected does not depend on them.
            if signature.types == last_types {
                continue;
            }
            let smallest = reference.minimal(&signature);
            if validate(&smallest, level).is_err() {
                continue;
            }
            let used = used_features(&smallest, level, capabilities);
            for (field, tensor) in smallest.tensors() {
                let features = found.0.entry((field, tensor.data_type)).or_insert(Features::NONE);
                *features = features.or(used);
            }
            last_types = signature.types;
        }
        found
    }

    /// The features for the tensor `field` with elements of `data_type`.
    pub(super) fn of_tensor(&self, field: &str, data_type: DataType) -> Features {
        self.any(|(name, it)| *name == field && *it == data_type)
    }

    /// The features for all tensors with elements of `data_type`.
    pub(super) fn of_type(&self, data_type: DataType) -> Features {
        self.any(|(_, it)| *it == data_type)
    }

    fn any(&self, is_asked: impl Fn(&(&'static str, DataType)) -> bool) -> Features {
        let found = self.0.iter().filter(|(tensor, _)| is_asked(tensor));
        found.fold(Features::NONE, |all, (_, features)| all.or(*features))
    }
}
