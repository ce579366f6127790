//! DynamicQuantizeLinear: quantization with a scale and a zero point computed from the elements.

use dml_core::DataType;
use dml_core::operators::DynamicQuantizeLinearDesc;
use smallvec::smallvec;

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::dml::packed_tensor;
use crate::graph::ops::packed::count;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::{Kind, Value};

/// Outputs are the integers, the scale, and the zero point.
#[derive(Debug)]
pub(crate) struct DynamicQuantize;

impl Op for DynamicQuantize {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let input = operands.value(0, "x")?;
        let Kind { element, shape } = input.kind()?;
        operands.type_is(element, &[ElementType::FLOAT32], "x")?;
        let integer = ElementType::Dml(DataType::Uint8);
        if count(&shape) == 0 {
            // An empty input is treated like one of zeros.
            let scale = Value::scalar(ElementType::FLOAT32, ElementType::FLOAT32.one());
            let integers = Value::fill(Kind { element: integer, shape }, 0);
            return Ok(vec![integers, scale, Value::scalar(integer, 0)]);
        }
        if operands.is_host_only() {
            return Err(operands.node.not_supported("only a device computes it"));
        }
        let packed = operands.materialized(input)?;
        packed.check()?;
        let storage = packed.view().map(|view| view.storage.clone());
        let sizes = [count(&shape)];
        let one = |element| Kind { element, shape: smallvec![] };
        let outputs =
            vec![Kind { element: integer, shape }, one(ElementType::FLOAT32), one(integer)];
        let tensor = |element, shape: &[u64]| packed_tensor(operands.node, element, shape);
        Ok(operands.device.add(operands.owner, vec![storage], outputs, || {
            Ok(DynamicQuantizeLinearDesc {
                input_tensor: tensor(ElementType::FLOAT32, &sizes)?,
                output_tensor: tensor(integer, &sizes)?,
                output_scale_tensor: tensor(ElementType::FLOAT32, &[])?,
                output_zero_point_tensor: tensor(integer, &[])?,
            }
            .into())
        }))
    }
}
