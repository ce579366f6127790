//! Lowers operators that sum products: factors are converted to words, a Contract sums their products, and a Map
//! computes the output from the sums, unless the sums are the output.
//!
//! [`crate::families::matmul`] and [`crate::families::convolution`] show worked shapes. The Map is the
//! epilogue; a graph can fuse it with the node that reads the output.

use dml_core::{DataType, Error, Validated};
use dml_spirv::ElementWidth;

pub(crate) use super::factor::ProductRecorder;
use super::factor::Words;
use super::result::{OUTPUT, is_of_rows, is_plain, of_sums};
use crate::Target;
use crate::families::element_wise::fused;
use crate::families::softmax::fused_softmax;
use crate::ir::space::Operand;
use crate::ir::{self, Map};

/// The pairs of elements whose products are summed.
pub(crate) trait Geometry {
    /// The names of the fields of both factors.
    const FACTORS: [&'static str; 2];

    /// Records the sums of products that make up `output`, each element once.
    fn add_up(products: &mut ProductRecorder<'_>, output: &Words) -> Result<(), Error>;
}

/// The program of an operator that sums products.
pub(crate) fn lower<G: Geometry>(
    operator: &Validated,
    target: &Target<'_>,
) -> Result<ir::Program, Error> {
    let tensor = operator.required_tensor(OUTPUT)?;
    let mut products = ProductRecorder::new(operator, target, are_integers(operator, G::FACTORS)?);
    let output = products.output()?;
    if is_plain(operator)? {
        products.add_up::<G>(&output)?;
        return Ok(products.recorder.finish());
    }
    let sums = products.recorder.packed_temporary(ElementWidth::B32, tensor.sizes());
    products.add_up::<G>(&sums)?;
    products.finish(sums, output)
}

/// Whether both factors are 8-bit integers, whose products are summed exactly in 32 bits.
pub(crate) fn are_integers(operator: &Validated, factors: [&str; 2]) -> Result<bool, Error> {
    let is_small = |name: &str| {
        let data_type = operator.required_tensor(name)?.data_type();
        Ok(matches!(data_type, DataType::Int8 | DataType::Uint8))
    };
    Ok(is_small(factors[0])? && is_small(factors[1])?)
}

impl ProductRecorder<'_> {
    /// The program whose last steps compute the output from `sums`.
    pub(crate) fn finish(mut self, sums: Operand, output: Operand) -> Result<ir::Program, Error> {
        let operator = self.operator;
        let tensor = operator.required_tensor(OUTPUT)?;
        let Some(activation) = fused(operator)?.filter(|it| is_of_rows(it.schema())) else {
            self.write(sums, output, tensor.data_type())?;
            return Ok(self.recorder.finish());
        };
        let before = self.recorder.packed_temporary(ElementWidth::B32, tensor.sizes());
        self.write(sums, before.clone(), DataType::Float32)?;
        fused_softmax(activation, self.recorder, tensor, [before, output])
    }

    /// Adds the Map that computes `output` from the sums.
    fn write(&mut self, sums: Operand, output: Operand, data_type: DataType) -> Result<(), Error> {
        let Map { space, computation } =
            of_sums(self.operator, sums, self.are_integers, output, data_type)?;
        self.recorder.map(space, computation)
    }

    /// The operand of the output.
    pub(crate) fn output(&self) -> Result<Operand, Error> {
        let missing = || Error::internal(self.operator.schema().name, "the output is missing");
        self.recorder.outputs()?.into_iter().flatten().next().ok_or_else(missing)
    }

    /// Writes the sums to `output`, which has the sizes of the operator's output.
    fn add_up<G: Geometry>(&mut self, output: &Operand) -> Result<(), Error> {
        let rank = self.operator.required_tensor(OUTPUT)?.sizes().len();
        G::add_up(self, &Words::of(output, rank))
    }
}
