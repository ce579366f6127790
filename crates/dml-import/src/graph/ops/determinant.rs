//! Det: determinants of small matrices, on the host, since DirectML has no operator for elimination.

use dml_core::DataType;

use crate::convert::float;
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::table::table;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::Value;
use crate::tensor::{host_elements, text};

/// The determinants of the matrices in the last two dimensions.
#[derive(Debug)]
pub(crate) struct Determinant;

/// How many row subtractions count as one element read, since they are as fast.
const STEPS: u64 = 64;

impl Op for Determinant {
    fn need(&self, _input: usize) -> Need {
        Need::Host
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "X")?;
        let (element, shape) = (data.element()?, data.shape()?);
        let double = ElementType::Dml(DataType::Float64);
        operands.type_is(element, &[ElementType::FLOAT32, ElementType::FLOAT16, double], "X")?;
        let Some((batches, &[rows, columns])) =
            shape.split_last_chunk::<2>().filter(|it| it.1[0] == it.1[1])
        else {
            let accepted = "square matrices in the last two dimensions";
            return Err(operands.node.invalid("X", text(shape), "is the wrong shape", accepted));
        };
        // Each element is subtracted from as often as there are rows above it.
        operands.budget.take(&[&[rows.div_ceil(STEPS)], shape].concat())?;
        operands.budget.take(batches)?;
        host_elements(batches)?;
        let numbers: Vec<f64> = operands.read(data)?.bits().map(|it| float(it, element)).collect();
        let size = host_elements(&[columns])?;
        let count = host_elements(batches)?;
        let matrix =
            |index: usize| numbers[index * size * size..(index + 1) * size * size].to_vec();
        let all = (0..count).map(|index| determinant(matrix(index), size));
        table(element, batches.to_vec(), all).map(|it| vec![it])
    }
}

/// Gaussian elimination with partial pivoting.
fn determinant(mut matrix: Vec<f64>, size: usize) -> f64 {
    let mut product = 1.0;
    for column in 0..size {
        let at = |row: usize| row * size + column;
        let greatest =
            (column..size).max_by(|a, b| matrix[at(*a)].abs().total_cmp(&matrix[at(*b)].abs()));
        let Some(pivot) = greatest.filter(|row| matrix[at(*row)] != 0.0) else { return 0.0 };
        if pivot != column {
            (0..size).for_each(|it| matrix.swap(pivot * size + it, column * size + it));
            product = -product;
        }
        let divisor = matrix[at(column)];
        product *= divisor;
        for row in column + 1..size {
            let factor = matrix[at(row)] / divisor;
            for it in column..size {
                matrix[row * size + it] -= factor * matrix[column * size + it];
            }
        }
    }
    product
}
