//! Lowers RMS_NORMALIZATION: `scale * (x / sqrt(mean(x * x) + epsilon))`.

use dml_core::{DataType, Error, Validated};
use dml_spirv::element_wise::{ElementFormula, Value};
use dml_spirv::functions as f;

use crate::Target;
use crate::ir;
use crate::lowering::conversion::conversion;
use crate::lowering::rows::Rows;

pub(super) fn root_mean_square(
    operator: &Validated,
    target: &Target<'_>,
) -> Result<ir::Program, Error> {
    let mut rows = Rows::new(operator, target)?;

    // A Reduce: one element for each row, the mean of the squares.
    let (mut square, element) = rows.of_element();
    square.apply(&f::MULTIPLY_F32, [element, element]);
    let mean = rows.mean(vec![], square)?;

    // A Map over the rows: the divisor of each.
    let epsilon = rows.single(operator.float("Epsilon")?);
    let mut root = ElementFormula::of(&f::ADD_F32);
    root.apply(&f::SQUARE_ROOT_F32, [root.last()]);
    let divisor = rows.of_rows(vec![mean, epsilon], root)?;

    // A Map over the elements: input 0 is the tensor, input 1 the divisor of its row, input 2 the scale.
    let mut inputs = vec![rows.input.clone(), divisor];
    let (mut program, element) = rows.of_element();
    let mut value = program.apply(&f::DIVIDE_F32, [element, Value::Input(1)]);
    if let Some(scale) = rows.others[0].clone() {
        inputs.push(scale);
        let scale = program.apply_all(rows.widening(), Value::Input(2));
        value = program.apply(&f::MULTIPLY_F32, [value, scale]);
    }
    program.apply_all(conversion(DataType::Float32, rows.data_type), value);
    rows.write(rows.sizes, inputs, program)?;
    Ok(rows.finish())
}
