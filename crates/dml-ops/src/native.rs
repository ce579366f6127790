//! Which optional features kernels use for an operator's tensors.

use std::collections::HashMap;

use dml_core::capabilities::Features;
use dml_core::{Capabilities, DataType, FeatureLevel, validate};

use crate::reference::Signature;
use crate::{Operator, used_features};

/// For each tensor of an operator, by the name of its field, and each of its data types: the optional features of
/// the kernels that are selected for a smallest operator with such a tensor.
#[derive(Clone, Debug, Default)]
pub struct NativeFeatures(HashMap<(&'static str, DataType), Features>);

impl NativeFeatures {
    /// Lowers one operator for every combination of types that `level` accepts, for a device with `capabilities`.
    pub fn of(operator: &Operator, level: FeatureLevel, capabilities: &Capabilities) -> Self {
        let mut found = Self::default();
        let mut last_types = Vec::new();
        for signature in Signature::all(operator.schema()) {
            // Ranks change first; which kernels are selected does not depend on them.
            if signature.types == last_types {
                continue;
            }
            let smallest = operator.reference().minimal(&signature);
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
    pub fn of_tensor(&self, field: &str, data_type: DataType) -> Features {
        self.any(|(name, it)| *name == field && *it == data_type)
    }

    /// The features for all tensors with elements of `data_type`.
    pub fn of_type(&self, data_type: DataType) -> Features {
        self.any(|(_, it)| *it == data_type)
    }

    fn any(&self, is_asked: impl Fn(&(&'static str, DataType)) -> bool) -> Features {
        let found = self.0.iter().filter(|(tensor, _)| is_asked(tensor));
        found.fold(Features::NONE, |all, (_, features)| all.or(*features))
    }
}
