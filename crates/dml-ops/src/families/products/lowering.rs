//! How operators are executed that add up products: factors become words, these are added up, and then the
//! output is made of the sums, unless they are the output.

use dml_core::plan::{Plan, Slot};
use dml_core::{DataType, Error, Validated};
use dml_spirv::ElementWidth;

pub(super) use super::factor::Build;
use super::factor::Words;
use super::result::{OUTPUT, is_of_rows, is_plain};
use crate::Target;
use crate::families::element_wise::fused;
use crate::families::rows::fused_softmax;
use crate::lowering::iteration::Operand;
use crate::lowering::product::Sums;

/// Which elements meet.
pub(super) trait Geometry {
    /// The sums that make up `output`, each element once.
    fn sums(&self, build: &mut Build<'_>, output: &Words) -> Result<Vec<Sums>, Error>;
}

/// The plan of an operator that adds up products of these tensors.
pub(super) fn lower(
    operator: &Validated,
    target: &Target<'_>,
    factors: [&str; 2],
    geometry: &impl Geometry,
) -> Result<Plan, Error> {
    let tensor = operator.required_tensor(OUTPUT)?;
    let mut build = Build::new(operator, target, are_integers(operator, factors)?)?;
    let output = build.output()?;
    let rank = tensor.sizes().len();
    if is_plain(operator)? {
        let words = Words::of(&output, Slot::Output(0), rank);
        build.add_up(geometry, &words)?;
        return Ok(build.kernels.into_plan());
    }
    let sums = build.kernels.temporary(ElementWidth::B32, tensor.element_count());
    let sums = sums.packed(tensor.sizes());
    build.add_up(geometry, &Words::of(&sums, Slot::Temporary, rank))?;
    build.finish(sums, output)
}

/// Whether products are those of integers: of 8 bits each, whose sums are exact in 32.
pub(super) fn are_integers(operator: &Validated, factors: [&str; 2]) -> Result<bool, Error> {
    let is_small = |name: &str| {
        let data_type = operator.required_tensor(name)?.data_type();
        Ok(matches!(data_type, DataType::Int8 | DataType::Uint8))
    };
    Ok(is_small(factors[0])? && is_small(factors[1])?)
}

impl Build<'_> {
    /// The plan whose last steps make the output of `sums`.
    pub(super) fn finish(mut self, sums: Operand, output: Operand) -> Result<Plan, Error> {
        let operator = self.operator;
        let tensor = operator.required_tensor(OUTPUT)?;
        let Some(activation) = fused(operator)?.filter(|it| is_of_rows(it.schema())) else {
            self.write(sums, output, tensor.data_type())?;
            return Ok(self.kernels.into_plan());
        };
        let before = self.kernels.temporary(ElementWidth::B32, tensor.element_count());
        let before = before.packed(tensor.sizes());
        self.write(sums, before.clone(), DataType::Float32)?;
        fused_softmax(activation, self.kernels, tensor, [before, output])
    }

    /// The output as it is written.
    pub(super) fn output(&self) -> Result<Operand, Error> {
        let missing = || Error::internal(self.operator.schema().name, "the output is missing");
        self.kernels.outputs()?.into_iter().flatten().next().ok_or_else(missing)
    }

    fn add_up(&mut self, geometry: &impl Geometry, output: &Words) -> Result<(), Error> {
        for sums in geometry.sums(self, output)? {
            self.kernels.products(sums)?;
        }
        Ok(())
    }
}
