//! Matrix products: GEMM, and integer products.

use dml_core::operators::{
    GEMM, GemmDesc, MATRIX_MULTIPLY_INTEGER, QUANTIZED_LINEAR_MATRIX_MULTIPLY,
};
use dml_core::schema::OperatorSchema;
use dml_core::{AbstractOperator, FieldValue, MatrixTransform, TensorDesc};
use smallvec::{SmallVec, smallvec};

use crate::element::ElementType;
use crate::error::{Error, Result};
use crate::graph::ops::arithmetic::ADD;
use crate::graph::ops::cast::cast;
use crate::graph::ops::double::DOUBLE;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::integer_product::{integer_product, scaled};
use crate::graph::ops::packed::by_strides;
use crate::graph::ops::packed::count;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::strides::Sizes;
use crate::graph::value::{Kind, Value};
use crate::tensor::text;

/// The role of a matrix product's input, in DirectML's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The first factor: a matrix, or batches of matrices.
    First,
    Second,
    /// A parameter with one element for all, or one for each row of the output.
    OfRows,
    OfColumns,
}

/// A matrix product by NumPy's rules: DirectML's operator, and the node's input and role for each of its
/// inputs.
#[derive(Debug)]
pub(crate) struct MatrixProduct {
    schema: &'static OperatorSchema,
    inputs: &'static [(usize, Role)],
    /// The node's input with the output's type; `None` if the output is INT32.
    typed_by: Option<usize>,
    /// The dimension order of the factors.
    turned: [Turned; 2],
    /// The scale of real products.
    alpha: f32,
}

/// A permutation of a factor's dimensions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turned {
    /// Whether the last two dimensions are exchanged.
    pub(crate) matrix: bool,
    /// Whether, before that, the first dimension is moved to the second-last position.
    pub(crate) batch: bool,
}

impl Turned {
    const NOT: Self = Self { matrix: false, batch: false };

    fn seen(self, value: &Value) -> Result<Value> {
        let rank = value.shape()?.len();
        if rank < 2 {
            return Ok(value.clone());
        }
        let mut order: SmallVec<[usize; 4]> = (0..rank).collect();
        if self.batch {
            order[..rank - 1].rotate_left(1);
        }
        if self.matrix {
            order.swap(rank - 2, rank - 1);
        }
        Ok(value.transposed(&order))
    }
}

impl MatrixProduct {
    /// MatMul.
    pub(crate) const REAL: Self = Self::of(&GEMM, &[(0, Role::First), (1, Role::Second)], Some(0));
    /// MatMulInteger.
    pub(crate) const INTEGER: Self = Self::of(
        &MATRIX_MULTIPLY_INTEGER,
        &[(0, Role::First), (2, Role::OfRows), (1, Role::Second), (3, Role::OfColumns)],
        None,
    );
    /// QLinearMatMul.
    pub(crate) const QUANTIZED: Self = Self::of(
        &QUANTIZED_LINEAR_MATRIX_MULTIPLY,
        &[
            (0, Role::First),
            (1, Role::OfRows),
            (2, Role::OfRows),
            (3, Role::Second),
            (4, Role::OfColumns),
            (5, Role::OfColumns),
            (6, Role::OfRows),
            (7, Role::OfRows),
        ],
        Some(7),
    );

    const fn of(
        schema: &'static OperatorSchema,
        inputs: &'static [(usize, Role)],
        typed_by: Option<usize>,
    ) -> Self {
        Self { schema, inputs, typed_by, turned: [Turned::NOT; 2], alpha: 1.0 }
    }

    /// A real product of permuted factors, scaled by `alpha`.
    pub(crate) fn fused(turned: [Turned; 2], alpha: f32) -> Self {
        Self { turned, alpha, ..Self::REAL }
    }
}

/// The product of two matrices, or of batches of matrices.
pub(super) fn multiplied(operands: &NodeInputs<'_>, a: &Value, b: &Value) -> Result<Value> {
    let factors = NodeInputs { values: vec![Some(a), Some(b)], ..*operands };
    Ok(MatrixProduct::REAL.evaluate(&factors)?.remove(0))
}

/// Whether products are computed element by element and summed, for want of a DirectML operator.
fn is_summed(element: ElementType) -> bool {
    element.is_integer() || element == DOUBLE
}

/// The sizes of a product and its batches.
struct Shape {
    batches: Sizes,
    rows: u64,
    depth: u64,
    columns: u64,
}

impl Op for MatrixProduct {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let of = |role| self.inputs.iter().find(|input| input.1 == role).map_or(0, |it| it.0);
        let [a, b] = [Role::First, Role::Second].map(of);
        let a = self.turned[0].seen(operands.value(a, "A")?)?;
        let b = self.turned[1].seen(operands.value(b, "B")?)?;
        let (shape, output) = shapes(operands, a.shape()?, b.shape()?)?;
        let element = match self.typed_by {
            Some(index) => operands.value(index, "zero point")?.element()?,
            None => crate::element::ElementType::INT32,
        };
        let kind = Kind { element, shape: output };
        if shape.depth == 0 {
            return Ok(vec![self.of_no_products(operands, &shape, kind)?]);
        }
        if self.is_real() && is_summed(element) {
            let product = integer_product(operands, &a, &b, &kind.shape)?;
            return Ok(vec![scaled(operands, &product, "attribute alpha", self.alpha)?]);
        }
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for (index, role) in self.inputs {
            let value = match role {
                Role::First => Some(&a),
                Role::Second => Some(&b),
                Role::OfRows | Role::OfColumns => operands.optional(*index),
            };
            inputs.push(value.map(|value| shape.seen(operands, value, *role)).transpose()?);
        }
        let [outer, inner] = shape.flat_batches();
        let seen = [outer, inner, shape.rows, shape.columns];
        let value = by_strides(operands, &inputs, kind, &seen, |tensors, output| {
            Ok(operator(self.schema, tensors, output, self.alpha))
        })?;
        Ok(vec![value])
    }
}

impl MatrixProduct {
    fn is_real(&self) -> bool {
        std::ptr::eq(self.schema, &GEMM)
    }

    /// The output for empty sums: zeros, or zero points if the output is quantized.
    fn of_no_products(
        &self,
        operands: &NodeInputs<'_>,
        shape: &Shape,
        kind: Kind,
    ) -> Result<Value> {
        let zero_point = self.typed_by.filter(|_| !self.is_real());
        let Some(zero_point) = zero_point.filter(|_| !kind.is_empty()) else {
            return Ok(Value::fill(kind, 0));
        };
        let zero_point = operands.value(zero_point, "y_zero_point")?;
        let zero_point = shape.parameter(operands, zero_point, Role::OfRows)?;
        let all = [&shape.flat_batches()[..], &[shape.rows, shape.columns]].concat();
        operands.reshaped(&zero_point.broadcast(&all), &kind.shape)
    }
}

/// An operator with default attributes, except for `alpha`.
fn operator(
    schema: &'static OperatorSchema,
    inputs: Vec<Option<TensorDesc>>,
    output: TensorDesc,
    alpha: f32,
) -> AbstractOperator {
    let mut tensors = inputs.into_iter();
    let fields = schema.fields.iter().map(|field| match (field.kind, field.name) {
        (dml_core::schema::FieldKind::Input, _) => FieldValue::Tensor(tensors.next().flatten()),
        (dml_core::schema::FieldKind::Output, _) => FieldValue::Tensor(Some(output.clone())),
        (_, "Alpha") => FieldValue::Float(alpha),
        (_, "Beta") => FieldValue::Float(1.0),
        _ => field.field_type.empty_value(),
    });
    AbstractOperator::new(schema, fields.collect()).expect("the schema's fields")
}

/// The sizes of a product, and the shape of its output; a factor of one dimension is a row or a column.
fn shapes(operands: &NodeInputs<'_>, a: &[u64], b: &[u64]) -> Result<(Shape, Sizes)> {
    let wrong = |name: &str, shape: &[u64], accepted: &str| {
        operands.node.invalid(name, text(shape), "is the wrong shape", accepted.to_owned())
    };
    if a.is_empty() || b.is_empty() {
        return Err(wrong("A", &[], "one dimension or more"));
    }
    let (row, column) = (a.len() == 1, b.len() == 1);
    let (a_batches, of_a) = a.split_at(a.len().saturating_sub(2));
    let (b_batches, of_b) = b.split_at(b.len().saturating_sub(2));
    let [rows, depth] = if row { [1, of_a[0]] } else { [of_a[0], of_a[1]] };
    let [depth_of_b, columns] = if column { [of_b[0], 1] } else { [of_b[0], of_b[1]] };
    if depth != depth_of_b {
        return Err(wrong("B", b, &format!("{depth} rows")));
    }
    let batches = broadcast(operands, a_batches, b_batches)?;
    let mut output = batches.clone();
    output.extend((!row).then_some(rows));
    output.extend((!column).then_some(columns));
    Ok((Shape { batches, rows, depth, columns }, output))
}

fn broadcast(operands: &NodeInputs<'_>, one: &[u64], other: &[u64]) -> Result<Sizes> {
    let rank = one.len().max(other.len());
    let size = |shape: &[u64], at: usize| {
        (at + shape.len()).checked_sub(rank).map_or(1, |place| shape[place])
    };
    let both = (0..rank).map(|at| match (size(one, at), size(other, at)) {
        (a, b) if a == b || b == 1 => Ok(a),
        (1, b) => Ok(b),
        (a, b) => Err(operands.node.invalid("B", b, "is another size of a batch", a.to_string())),
    });
    both.collect()
}

impl Shape {
    /// The batches merged into two dimensions.
    fn flat_batches(&self) -> [u64; 2] {
        match *self.batches.as_slice() {
            [] => [1, 1],
            [one] => [1, one],
            [one, other] => [one, other],
            ref all => [1, count(all)],
        }
    }

    /// An input in the four dimensions of DirectML's operator.
    fn seen(&self, operands: &NodeInputs<'_>, value: &Value, role: Role) -> Result<Value> {
        let shape = value.shape()?;
        let [rows, columns] = match role {
            Role::First => [self.rows, self.depth],
            Role::Second => [self.depth, self.columns],
            Role::OfRows | Role::OfColumns => return self.parameter(operands, value, role),
        };
        let own = &shape[..shape.len().saturating_sub(2)];
        let with_matrix =
            |batches: &[u64]| Sizes::from_iter(batches.iter().copied().chain([rows, columns]));
        let value = operands.reshaped(value, &with_matrix(own))?;
        let value = value.broadcast(&with_matrix(&self.batches));
        if self.batches.len() <= 2 {
            let mut sizes: Sizes = smallvec![1; 2 - self.batches.len()];
            sizes.extend_from_slice(value.shape()?);
            return operands.reshaped(&value, &sizes);
        }
        operands.reshaped(&value, &with_matrix(&self.flat_batches()))
    }

    /// A scale or a zero point; if it has one dimension, it is per row or per column.
    fn parameter(&self, operands: &NodeInputs<'_>, value: &Value, role: Role) -> Result<Value> {
        // DirectML's operators take no FLOAT16 scales; the conversion to FLOAT32 is exact.
        let value = &match value.element()? {
            ElementType::FLOAT16 => cast(operands, value, ElementType::FLOAT32)?,
            _ => value.clone(),
        };
        let shape = value.shape()?;
        let of_all = match (shape.len(), role) {
            (0, _) => vec![1, 1],
            (1, Role::OfRows) => vec![shape[0], 1],
            (1, _) => vec![1, shape[0]],
            _ => shape.to_vec(),
        };
        let value = operands.reshaped(value, &of_all)?;
        let (own, matrix) = of_all.split_at(of_all.len() - 2);
        if own.iter().all(|size| *size == 1) {
            return operands.reshaped(&value, &[&[1, 1], matrix].concat());
        }
        let value = value.broadcast(&[&self.batches, matrix].concat());
        operands.reshaped(&value, &[&self.flat_batches()[..], matrix].concat())
    }
}

/// ONNX's Gemm: the scaled product of optionally transposed matrices, plus a scaled matrix that is broadcast.
#[derive(Debug)]
pub(crate) struct Gemm {
    pub(crate) transposed: [bool; 2],
    pub(crate) alpha: f32,
    pub(crate) beta: f32,
}

impl Op for Gemm {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (a, b) = (operands.value(0, "A")?, operands.value(1, "B")?);
        let matrix = |value: &Value, name: &str, is_transposed: bool| match *value.shape()? {
            [rows, columns] if is_transposed => Ok([columns, rows]),
            [rows, columns] => Ok([rows, columns]),
            ref other => Err(wrong_rank(operands, name, other)),
        };
        let [rows, depth] = matrix(a, "A", self.transposed[0])?;
        let [depth_of_b, columns] = matrix(b, "B", self.transposed[1])?;
        if depth != depth_of_b {
            let accepted = depth.to_string();
            return Err(operands.node.invalid("B", depth_of_b, "rows do not fit A", accepted));
        }
        let kind = Kind { element: a.element()?, shape: smallvec![rows, columns] };
        let c = operands.optional(2);
        if let Some(c) = c {
            let shape = c.shape()?;
            let fits = |(size, of): (&u64, &u64)| *size == 1 || size == of;
            let mut places = shape.iter().rev().zip(kind.shape.iter().rev());
            if shape.len() > 2 || !places.all(fits) {
                let accepted = format!("what is repeated to {}", text(&kind.shape));
                return Err(operands.node.invalid("C", text(shape), "does not fit", accepted));
            }
        }
        if depth == 0 || is_summed(kind.element) {
            return Ok(vec![self.composed(operands, a, b, kind)?]);
        }
        let c = c.map(|it| it.broadcast(&kind.shape));
        let seen = kind.shape.clone();
        let inputs = [Some(a.clone()), Some(b.clone()), c];
        let value = by_strides(operands, &inputs, kind, &seen, |mut tensors, output_tensor| {
            let c_tensor = tensors.pop().flatten();
            let mut rest = tensors.into_iter().flatten();
            let missing = || operands.node.not_supported("a tensor is missing");
            let transform = |is_transposed| match is_transposed {
                true => MatrixTransform::Transpose,
                false => MatrixTransform::None,
            };
            let [trans_a, trans_b] = self.transposed.map(transform);
            let desc = GemmDesc {
                a_tensor: rest.next().ok_or_else(missing)?,
                b_tensor: rest.next().ok_or_else(missing)?,
                c_tensor,
                output_tensor,
                trans_a,
                trans_b,
                alpha: self.alpha,
                beta: self.beta,
                fused_activation: None,
            };
            Ok(desc.into())
        })?;
        Ok(vec![value])
    }
}

impl Gemm {
    /// The product of integers, or a product with empty sums; scaled, plus the third matrix.
    fn composed(
        &self,
        operands: &NodeInputs<'_>,
        a: &Value,
        b: &Value,
        kind: Kind,
    ) -> Result<Value> {
        let of = |value: &Value, is_transposed: bool| match is_transposed {
            true => value.transposed(&[1, 0]),
            false => value.clone(),
        };
        let c = operands.optional(2).map(|c| scaled(operands, c, "attribute beta", self.beta));
        let c = c.transpose()?.map(|c| c.broadcast(&kind.shape));
        if a.is_empty() || b.is_empty() {
            return Ok(c.unwrap_or_else(|| Value::fill(kind, 0)));
        }
        let (a, b) = (of(a, self.transposed[0]), of(b, self.transposed[1]));
        let product = integer_product(operands, &a, &b, &kind.shape)?;
        let product = scaled(operands, &product, "attribute alpha", self.alpha)?;
        match c {
            Some(c) => apply(operands, ADD, &[product, c]),
            None => Ok(product),
        }
    }
}

fn wrong_rank(operands: &NodeInputs<'_>, name: &str, shape: &[u64]) -> Error {
    operands.node.invalid(name, text(shape), "is the wrong shape", "two dimensions")
}
