//! LOCAL_RESPONSE_NORMALIZATION.

use dml_core::operators::LocalResponseNormalizationDesc;

use crate::error::Result;
use crate::graph::ops::packed::{Use, count, write};
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::Value;
use crate::tensor::text;

/// Local response normalization across channels.
#[derive(Debug)]
pub(crate) struct LocalResponse {
    pub(crate) size: i64,
    /// Alpha, beta and bias.
    pub(crate) factors: [f32; 3],
}

impl Op for LocalResponse {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "X")?;
        let kind = data.kind()?;
        let [batches, channels, ref rest @ ..] = kind.shape[..] else {
            let (given, problem) = (text(&kind.shape), "is the wrong shape");
            return Err(operands.node.invalid("X", given, problem, "2 and more dimensions"));
        };
        let local_size =
            u32::try_from(self.size).ok().filter(|size| *size > 0).ok_or_else(|| {
                let accepted = format!("1 to {}", u32::MAX);
                operands.node.invalid("attribute size", self.size, "is not a size", accepted)
            })?;
        let seen = [batches, channels, 1, count(rest)];
        let [alpha, beta, bias] = self.factors;
        let inputs = [(data, &seen[..])];
        let output =
            write(operands, Use::Computed, &inputs, kind, &seen, |mut it, output_tensor| {
                LocalResponseNormalizationDesc {
                    input_tensor: it.remove(0),
                    output_tensor,
                    cross_channel: true,
                    local_size,
                    alpha,
                    beta,
                    bias,
                }
                .into()
            })?;
        Ok(vec![output])
    }
}
