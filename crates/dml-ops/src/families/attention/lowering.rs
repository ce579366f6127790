//! Lowers multi-head attention: all queries at once where a kernel computes them without storing scores, else a block of
//! queries at a time, so that the stored scores stay few.
//!
//! MULTIHEAD_ATTENTION of FLOAT32 with 2 heads of 2 elements, 2 queries and 3 keys:
//!
//! ```text
//! MULTIHEAD_ATTENTION
//!   input 0 = QueryTensor FLOAT32 [1, 2, 4]
//!   input 1 = KeyTensor FLOAT32 [1, 3, 4]
//!   input 2 = ValueTensor FLOAT32 [1, 3, 4]
//!   output 0 = OutputTensor FLOAT32 [1, 2, 4]
//!   %0 = 27 elements of 32 bits
//!   %0 = contract input 1 by input 0: batches [1, 2], rows 3, columns [1, 2], depths [2]
//!     160 bytes, 48 operations, 12 invocations
//!   %1 = 27 elements of 32 bits
//!   %2 = 11 elements of 32 bits
//!   %3 = 11 elements of 32 bits
//!   rows
//!     %2 by [4, 0, 1] over [2, 3, 2] = reduce maximum of scale_bias (%0 by [12, 4, 1])
//!     %1 by [12, 4, 1] over [2, 3, 2] = map scale_bias exp_below (%0 by [12, 4, 1], %2 by [4, 0, 1])
//!     %3 by [4, 0, 1] over [2, 3, 2] = reduce sum_high sum_rest of_both of same (%1 by [12, 4, 1])
//!     184 bytes, 60 operations, 12 invocations
//!   %4 = 11 elements of 32 bits
//!   %4 = contract input 2 by %1: batches [1, 2], rows 2, columns [1, 2], depths [3]
//!     160 bytes, 48 operations, 8 invocations
//!   output 0 by [2, 4, 1] over [2, 2, 2] = map divide (%4, %3 by [4, 1, 0])
//!     88 bytes, 8 operations, 8 invocations
//! ```
//!
//! For each block of queries: the products of keys and queries, the maximum score of each query, the exponentials and
//! their sum, and the products of values and exponentials, which are divided by the sum at the end. Scores and
//! exponentials have the queries next to each other, which is the order that the second product reads. Batches and
//! groups are separate products; the columns of a product are the heads of a group and the queries.

use dml_core::schema::FieldKind;
use dml_core::{DataType, Error, TensorLayout, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::QUAD;
use dml_spirv::functions as f;
use dml_spirv::reduce::{GREATEST_F32, SUM_F32};

use super::factors::{ELEMENTS, STEPS, Source, Words, of_strides};
use super::scores::Scores;
use super::sizes::{Role, Sizes};
use crate::Target;
use crate::families::products::ProductRecorder;
use crate::ir::space::{IterationSpace, Operand, leading};
use crate::ir::{self, BufferPosition, Dimension, Numbers, Reduction, Sums};
use crate::lowering::conversion::conversion;
use crate::lowering::map_builder::MapBuilder;
use crate::target::ROWS_WORTH_A_COPY;

/// Scores that are there at once, but for those of eight queries: what caches hold, and more than a device has
/// cores.
const SCORES_AT_ONCE: u64 = 1 << 22;
const FEWEST_QUERIES: u32 = 8;

/// The program of an attention.
pub(super) fn lower(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let sizes = Sizes::of(operator)?;
    let rows = rows_at_once(operator, &sizes)?;
    match is_one_kernel(&sizes, rows, target) {
        true => in_parts(operator, target, sizes.queries),
        false => in_parts(operator, target, rows),
    }
}

/// Whether one kernel computes all queries, so that no scores are stored: a descriptor shows each tensor, and products are
/// added in order, as they are in blocks of `rows` queries. The optimizer makes the kernel of the nodes.
fn is_one_kernel(sizes: &Sizes, rows: u32, target: &Target<'_>) -> bool {
    let last = sizes.queries % rows;
    let blocks = [sizes.queries, rows, if last == 0 { rows } else { last }];
    let heads = u64::from(sizes.batches) * u64::from(sizes.heads);
    let [queries, keys] = [sizes.queries, sizes.keys()].map(u64::from);
    let elements = u64::from(sizes.elements.max(sizes.of_value));
    let is_shown = target.shows(heads * queries.max(keys) * elements, ElementWidth::B32)
        && target.shows(heads * queries * keys, ElementWidth::B32);
    target.shares_attention()
        && is_shown
        && blocks.into_iter().all(|queries| are_in_order(sizes, queries))
        && target.suits_attention(heads, [sizes.queries, sizes.keys(), sizes.of_value])
}

/// Whether the products of so many queries at once are added in the order of their depths.
fn are_in_order(sizes: &Sizes, queries: u32) -> bool {
    let dimension = |size| Dimension { size, ..Dimension::ONE };
    let place = BufferPosition { buffer: (), base: 0, has_slack: false };
    let sums = |row, depth| Sums {
        batches: vec![dimension(sizes.batches), dimension(sizes.groups)],
        row: dimension(row),
        columns: vec![dimension(sizes.heads / sizes.groups), dimension(queries)],
        depths: vec![dimension(depth)],
        places: [place; 3],
        numbers: Numbers::Floats,
        goes_on: false,
        slice_of: None,
    };
    let products = [sums(sizes.keys(), sizes.elements), sums(sizes.of_value, sizes.keys())];
    sizes.keys() > 1 && products.iter().all(Sums::are_in_order)
}

/// The program that answers so many queries at once.
pub(super) fn in_parts(
    operator: &Validated,
    target: &Target<'_>,
    rows: u32,
) -> Result<ir::Program, Error> {
    let sizes = Sizes::of(operator)?;
    let mut products = ProductRecorder::new(operator, target, false);
    let [query, key, value] =
        [Role::Query, Role::Key, Role::Value].map(|role| Source::of(&products, sizes, role));
    let [query, key, value] = [query?, key?, value?];
    let mut outputs = products.recorder.outputs()?.into_iter();
    let mut tensors = operator.tensors(FieldKind::Output).map(|(_, tensor)| tensor);
    let mut next = || outputs.next().flatten().zip(tensors.next().flatten());
    let missing = || Error::internal(operator.schema().name, "the output is missing");
    let (output, tensor) = next().ok_or_else(missing)?;
    for source in [&key, &value] {
        if let Some((output, tensor)) = next() {
            source.write_all(&mut products, output, tensor)?;
        }
    }
    // Columns of two dimensions are put in order once, and what several dispatches take.
    let is_grouped = sizes.heads != sizes.groups
        && sizes.keys() >= ROWS_WORTH_A_COPY
        && !(rows == sizes.queries && target.shares_attention());
    let factors = Factors {
        query: query.words(&mut products, STEPS, is_grouped)?,
        key: key.words(&mut products, STEPS, rows < sizes.queries)?,
        value: value.words(&mut products, ELEMENTS, false)?,
    };
    let scores = Scores::of(&products, &sizes)?;
    let mut attention = Attention::new(&mut products, sizes, rows, factors, scores);
    for first in (0..sizes.queries).step_by(rows as usize) {
        let count = rows.min(sizes.queries - first);
        attention.attend([first, count], output.clone(), tensor)?;
    }
    Ok(products.recorder.finish())
}

/// How many queries are answered at once.
fn rows_at_once(operator: &Validated, sizes: &Sizes) -> Result<u32, Error> {
    let of_query = [sizes.batches, sizes.heads, sizes.keys()];
    let of_query = of_query.iter().try_fold(1_u32, |all, size| all.checked_mul(*size));
    let too_many = || Error::DeviceLimit {
        operator: operator.schema().name,
        field: "OutputTensor",
        needed: (u64::from(sizes.batches) * u64::from(sizes.heads))
            .saturating_mul(sizes.keys().into()),
        unit: "scores of one query",
        limit: "what kernels count",
        available: u32::MAX.into(),
    };
    let of_query =
        of_query.filter(|of_query| *of_query <= u32::MAX / FEWEST_QUERIES).ok_or_else(too_many)?;
    let most = u32::try_from(SCORES_AT_ONCE / u64::from(of_query)).unwrap_or(u32::MAX);
    let most = most.max(FEWEST_QUERIES) / FEWEST_QUERIES * FEWEST_QUERIES;
    // Blocks are about equally long: a last one of few queries would take as long as the others.
    let blocks = sizes.queries.div_ceil(most);
    let even = sizes.queries.div_ceil(blocks).next_multiple_of(FEWEST_QUERIES);
    Ok(even.min(sizes.queries))
}

/// The factors of the products.
#[derive(Clone, Copy)]
struct Factors {
    query: Words,
    key: Words,
    value: Words,
}

/// An attention, and where it keeps what it computes of some queries.
struct Attention<'b, 'a> {
    products: &'b mut ProductRecorder<'a>,
    sizes: Sizes,
    factors: Factors,
    of_products: Scores,
    /// How many queries there is place for.
    rows: u32,
    /// By batches, heads, keys and queries; those of all keys stand still.
    scores: Operand,
    powers: Operand,
    greatest: Operand,
    sums: Operand,
    /// By batches, heads, queries and elements.
    found: Operand,
}

impl<'b, 'a> Attention<'b, 'a> {
    fn new(
        products: &'b mut ProductRecorder<'a>,
        sizes: Sizes,
        rows: u32,
        factors: Factors,
        of_products: Scores,
    ) -> Self {
        let Sizes { batches, heads, of_value, .. } = sizes;
        let row = rows.next_multiple_of(QUAD);
        let mut place = |steps: u32, innermost: u32| {
            let sizes = [batches, heads, steps, innermost];
            let count = sizes.iter().map(|size| u64::from(*size)).product::<u64>();
            // A quad may begin at any element.
            let place = products.recorder.temporary(ElementWidth::B32, count + u64::from(QUAD - 1));
            let step = i64::from(innermost);
            let head = step * i64::from(steps);
            Operand { strides: of_strides([head * i64::from(heads), head, step, 1]), ..place }
        };
        let [scores, powers] = [place(sizes.keys(), row), place(sizes.keys(), row)];
        let [greatest, sums] = [place(1, row), place(1, row)].map(|mut it| {
            it.strides[STEPS] = 0;
            it
        });
        let found = place(rows, of_value);
        Self {
            products,
            sizes,
            factors,
            of_products,
            rows: row,
            scores,
            powers,
            greatest,
            sums,
            found,
        }
    }

    /// Writes what `count` queries find, from the one with the number `first` on.
    fn attend(
        &mut self,
        queries: [u32; 2],
        output: Operand,
        tensor: &TensorLayout,
    ) -> Result<(), Error> {
        self.of_products.write_seen(self.products, &self.sizes, queries, self.rows)?;
        self.multiply_keys(queries)?;
        self.weigh(queries)?;
        self.multiply_values(queries)?;
        self.write(queries, output, tensor)
    }

    /// Scores: the rows of these products are keys.
    fn multiply_keys(&mut self, [first, count]: [u32; 2]) -> Result<(), Error> {
        let Factors { key, mut query, .. } = self.factors;
        query.place.base += i64::from(first) * query.strides[2];
        let sums = Words::of(&self.scores, false);
        let along = [
            (self.sizes.keys(), [key.strides[2], 0, sums.strides[2]]),
            (count, [0, query.strides[2], sums.strides[3]]),
            (self.sizes.elements, [key.strides[3], query.strides[3], 0]),
        ];
        self.multiply([key, query, sums], along)
    }

    /// The weighted values before they are divided: the rows of these products are the elements of values.
    fn multiply_values(&mut self, [_, count]: [u32; 2]) -> Result<(), Error> {
        let value = self.factors.value;
        let [power, sums] = [Words::of(&self.powers, true), Words::of(&self.found, false)];
        let along = [
            (self.sizes.of_value, [value.strides[3], 0, sums.strides[3]]),
            (count, [0, power.strides[3], sums.strides[2]]),
            (self.sizes.keys(), [value.strides[2], power.strides[2], 0]),
        ];
        self.multiply([value, power, sums], along)
    }

    /// Adds up products for each batch and group, with the groups' heads before the columns; sizes and strides are
    /// those of the row, of the columns and of the depth.
    fn multiply(
        &mut self,
        words: [Words; 3],
        [row, column, depth]: [(u32, [i64; 3]); 3],
    ) -> Result<(), Error> {
        let Sizes { batches, heads, groups, .. } = self.sizes;
        let per_group = heads / groups;
        let [_, of_columns, of_sums] = words.map(|word| word.strides[1]);
        let of_groups = [
            words[0].strides[1],
            i64::from(per_group) * of_columns,
            i64::from(per_group) * of_sums,
        ];
        let dimension = |(size, strides)| Dimension { size, strides };
        let sums = Sums {
            batches: vec![
                dimension((batches, words.map(|word| word.strides[0]))),
                dimension((groups, of_groups)),
            ],
            row: dimension(row),
            columns: vec![dimension((per_group, [0, of_columns, of_sums])), dimension(column)],
            depths: vec![dimension(depth)],
            places: words.map(|word| word.place),
            numbers: Numbers::Floats,
            goes_on: false,
            slice_of: None,
        };
        self.products.recorder.multiply(sums)
    }

    /// Writes the powers of scores below the greatest of their query, and their sum.
    fn weigh(&mut self, [first, count]: [u32; 2]) -> Result<(), Error> {
        let sizes = [self.sizes.batches, self.sizes.heads, self.sizes.keys(), count];
        let sizes = leading(&sizes, 1);
        let mut map = MapBuilder::default();
        let product = map.input(self.scores.clone());
        let score = self.of_products.score(&mut map, product, first);
        let reduction = Reduction {
            program: map.computation.program.clone(),
            parameters: map.computation.parameters.clone(),
            ..Reduction::of(&GREATEST_F32)
        };
        let (inputs, output) = (map.inputs.clone(), self.greatest.clone());
        self.products.recorder.reduce(IterationSpace { sizes, inputs, output }, reduction)?;
        let greatest = map.input(self.greatest.clone());
        map.apply(&f::EXP_BELOW_F32, &[score, greatest], &[]);
        map.record(&mut self.products.recorder, sizes, self.powers.clone())?;
        let (inputs, output) = (vec![self.powers.clone()], self.sums.clone());
        let sum = Reduction::of(&SUM_F32);
        self.products.recorder.reduce(IterationSpace { sizes, inputs, output }, sum)
    }

    /// Writes sums of values over sums of powers.
    fn write(
        &mut self,
        [first, count]: [u32; 2],
        output: Operand,
        tensor: &TensorLayout,
    ) -> Result<(), Error> {
        let mut map = MapBuilder::default();
        let found = map.input(self.found.clone());
        let [.., batches, heads, _, queries] = self.sums.strides;
        let sums =
            Operand { strides: of_strides([batches, heads, queries, 0]), ..self.sums.clone() };
        let sum = map.input(sums);
        let quotient = map.apply(&f::DIVIDE_F32, &[found, sum], &[]);
        map.apply_all(conversion(DataType::Float32, tensor.data_type()), quotient);
        let Sizes { batches, heads, of_value, .. } = self.sizes;
        let [.., of_batches, of_queries, of_elements] = output.strides;
        let strides = [of_batches, i64::from(of_value) * of_elements, of_queries, of_elements];
        let base = output.base + i64::from(first) * of_queries;
        let output = Operand { base, strides: of_strides(strides), ..output };
        map.record(
            &mut self.products.recorder,
            leading(&[batches, heads, count, of_value], 1),
            output,
        )
    }
}
