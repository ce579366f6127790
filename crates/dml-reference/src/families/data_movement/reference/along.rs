//! References of JOIN and SPLIT by the documentation.

use dml_core::schema::{FieldKind, OperatorSchema};
use dml_core::{Error, TensorLayout, Validated};

use crate::Reference;
use crate::families::data_movement::cases::AlongAxis as CaseGenerator;

/// The reference of JOIN or SPLIT.
pub(in super::super) struct AlongAxis {
    /// The operator's schema row.
    pub(in super::super) schema: &'static OperatorSchema,
}

/// For each element of the whole tensor, in row-major order, the index of the part that has it. The elements of
/// a part keep their order.
fn owners(parts: &[&TensorLayout], axis: usize) -> Vec<usize> {
    let sizes = parts[0].sizes();
    let count = |sizes: &[u32]| sizes.iter().map(|size| *size as usize).product::<usize>();
    let (outer, inner) = (count(&sizes[..axis]), count(&sizes[axis + 1..]));
    let run =
        |(part, tensor): (usize, &&TensorLayout)| vec![part; tensor.sizes()[axis] as usize * inner];
    parts.iter().enumerate().flat_map(run).collect::<Vec<_>>().repeat(outer)
}

impl Reference for AlongAxis {
    fn schema(&self) -> &'static OperatorSchema {
        self.schema
    }

    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let axis = operator.uint("Axis")? as usize;
        let tensors = |kind| operator.present_tensors(kind).map(|(_, tensor)| tensor).collect();
        let [from, to]: [Vec<&TensorLayout>; 2] =
            [FieldKind::Input, FieldKind::Output].map(tensors);
        let joins = to.len() == 1 && self.schema.fields[1].kind == FieldKind::Input;
        let mut sources: Vec<_> =
            inputs.iter().map(|input| input.iter().flatten().copied()).collect();
        let mut outputs = vec![vec![]; to.len()];
        for part in owners(if joins { &from } else { &to }, axis) {
            let (source, output) = if joins { (part, 0) } else { (0, part) };
            outputs[output].extend(sources[source].next());
        }
        Ok(outputs)
    }

    cases_by!(self, signature: CaseGenerator { schema: self.schema, signature });
}
