//! The tensors of element-wise operators in cases: any number of inputs, and an output.

use dml_core::operators;
use dml_core::schema::{FieldKind, OperatorSchema};
use dml_core::{AbstractOperator, DataType, FieldValue, TensorDesc};

use crate::reference::Signature;

/// An operator whose tensors are alike but for their types.
#[derive(Clone, Copy)]
pub(super) struct Tensors(pub(super) &'static OperatorSchema);

impl Tensors {
    /// How many data types a signature has: the inputs' and, where it may differ, the output's.
    pub(super) fn type_parameters(self) -> usize {
        if self.0.operator_type == operators::CAST.operator_type { 2 } else { 1 }
    }

    /// An operator of these tensors, the output last, whose attributes are left out.
    pub(super) fn operator(self, tensors: &[TensorDesc]) -> AbstractOperator {
        let mut tensors = tensors.iter().cloned();
        let fields = self.0.fields.iter().map(|field| match field.kind {
            FieldKind::Attribute => FieldValue::ScaleBias(None),
            _ => FieldValue::Tensor(tensors.next()),
        });
        AbstractOperator::new(self.0, fields.collect()).expect("the fields of the row")
    }

    /// How many inputs there are.
    pub(super) fn arity(self) -> usize {
        self.0.fields.iter().filter(|field| field.kind == FieldKind::Input).count()
    }

    /// The type of each tensor, that of the output last.
    pub(super) fn types(self, signature: &Signature) -> Vec<DataType> {
        let (first, last) = (signature.data_type(), *signature.types.last().expect("one at least"));
        let mut types = vec![first; self.arity()];
        types.push(last);
        types
    }
}
