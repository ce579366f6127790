//! Values that are made once for each operator.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use dml_core::schema::OperatorSchema;

/// A value for each operator that was asked for, kept until the process ends.
#[derive(Debug)]
pub struct PerOperator<T: 'static>(Mutex<BTreeMap<u32, &'static OnceLock<T>>>);

impl<T> PerOperator<T> {
    /// No values yet.
    pub const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// The value of an operator; `make` makes it where nobody has asked for it. Other threads that ask for this operator
    /// wait meanwhile, those that ask for others do not.
    pub fn get_or_init(&self, operator: &OperatorSchema, make: impl FnOnce() -> T) -> &'static T {
        let of_type = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *all.entry(operator.operator_type).or_insert_with(|| Box::leak(Box::default()))
        };
        of_type.get_or_init(make)
    }
}

impl<T> Default for PerOperator<T> {
    fn default() -> Self {
        Self::new()
    }
}
