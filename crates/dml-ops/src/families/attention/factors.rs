//! Queries, keys and values as they are multiplied: where they lie, or joined in the temporary resource with
//! their biases, with those next to each other that the kernel takes so.

use dml_core::{DataType, Error, TensorLayout};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, QUAD, Value};
use dml_spirv::functions as f;

use super::sizes::{LENGTHS, Role, Sizes};
use crate::families::products::ProductRecorder;
use crate::ir::BufferPosition;
use crate::ir::space::{Displacement, Operand, leading};
use crate::lowering::conversion::conversion;
use crate::lowering::map_builder::MapBuilder;

/// The last dimensions of all spaces: batches, heads, steps and elements.
const BATCHES: usize = DIMENSIONS - 4;
pub(super) const STEPS: usize = DIMENSIONS - 2;
pub(super) const ELEMENTS: usize = DIMENSIONS - 1;

/// Strides of the last four dimensions.
pub(super) fn of_strides(strides: [i64; 4]) -> [i64; DIMENSIONS] {
    let mut all = [0; DIMENSIONS];
    all[BATCHES..].copy_from_slice(&strides);
    all
}

/// Words, and how far it is from one to the next: batches, heads, steps, elements.
#[derive(Clone, Copy)]
pub(super) struct Words {
    pub(super) place: BufferPosition,
    pub(super) strides: [i64; 4],
}

impl Words {
    pub(super) fn of(operand: &Operand, has_slack: bool) -> Self {
        let place = BufferPosition { has_slack, ..BufferPosition::of(operand) };
        let [.., a, b, c, d] = operand.strides;
        Self { place, strides: [a, b, c, d] }
    }
}

/// Where queries, keys or values come from.
pub(super) struct Source {
    role: Role,
    sizes: Sizes,
    new: (Operand, DataType),
    bias: Option<(Operand, DataType)>,
    past: Option<(Operand, DataType)>,
    /// For each batch, how many of the past count.
    lengths: Option<Operand>,
}

impl Source {
    pub(super) fn of(
        products: &ProductRecorder<'_>,
        sizes: Sizes,
        role: Role,
    ) -> Result<Self, Error> {
        let (name, place, _) = role.tensor(products.operator)?;
        let missing = || Error::internal(products.operator.schema().name, "a tensor is missing");
        let (tensor, data_type) = products.input(name)?.ok_or_else(missing)?;
        let [.., elements] = sizes.of_role(role).map(i64::from);
        let [.., a, b, c, d, e] = tensor.strides;
        let (base, strides) = match place {
            None => (0, [c, elements * e, d, e]),
            Some(place) => (i64::from(place) * d, [a, c, b, e]),
        };
        let new = Operand { base: tensor.base + base, strides: of_strides(strides), ..tensor };
        let bias = products.input("BiasTensor")?.map(|(bias, data_type)| {
            let stride = bias.strides[ELEMENTS];
            let base = bias.base + i64::from(sizes.first_bias(role)) * stride;
            let strides = of_strides([0, elements * stride, 0, stride]);
            (Operand { base, strides, ..bias }, data_type)
        });
        let past = role.past().map(|name| products.input(name)).transpose()?.flatten();
        Ok(Self { role, sizes, new: (new, data_type), bias, past, lengths: lengths(products)? })
    }

    /// Words, in which elements of the dimension `innermost` are next to each other where they are copied.
    pub(super) fn words(
        &self,
        products: &mut ProductRecorder<'_>,
        innermost: usize,
        is_copied: bool,
    ) -> Result<Words, Error> {
        let is_plain =
            self.new.1 == DataType::Float32 && self.bias.is_none() && self.past.is_none();
        if is_plain && !is_copied {
            return Ok(Words::of(&self.new.0, false));
        }
        let [heads, new, past, elements] = self.sizes.of_role(self.role);
        let sizes = [self.sizes.batches, heads, past + new, elements];
        let (mut strides, mut next) = ([0; 4], 1_i64);
        let dimensions = (0..4).filter(|at| BATCHES + at != innermost);
        for at in dimensions.chain([innermost - BATCHES]).rev().collect::<Vec<_>>() {
            strides[at] = next;
            let is_innermost = BATCHES + at == innermost;
            next *=
                i64::from(if is_innermost { sizes[at].next_multiple_of(QUAD) } else { sizes[at] });
        }
        // A quad may begin at any element.
        let count = next.cast_unsigned() + u64::from(QUAD - 1);
        let output = products.recorder.temporary(ElementWidth::B32, count);
        let output = Operand { strides: of_strides(strides), ..output };
        self.write_past(products, &output, DataType::Float32)?;
        self.write_new(products, self.after_past(output.clone()), DataType::Float32)?;
        Ok(Words::of(&output, true))
    }

    /// Writes earlier ones and new ones to a tensor; where only some of the earlier ones count, new ones go
    /// right after these.
    pub(super) fn write_all(
        &self,
        products: &mut ProductRecorder<'_>,
        output: Operand,
        tensor: &TensorLayout,
    ) -> Result<(), Error> {
        let (data_type, sizes) = (tensor.data_type(), tensor.sizes());
        self.write_past(products, &output, data_type)?;
        let Some(lengths) = &self.lengths else {
            return self.write_new(products, self.after_past(output), data_type);
        };
        let steps = sizes[sizes.len() - 2];
        let [_, _, past, _] = self.sizes.of_role(self.role);
        if steps > past {
            let mut map = MapBuilder::default();
            map.input(Operand::numbers(0, [0; DIMENSIONS]));
            let rest = self.spread(steps - past);
            map.record(&mut products.recorder, rest, self.after_past(output.clone()))?;
        }
        let mut map = MapBuilder::default();
        let value = self.read_new(&mut map, data_type);
        let number = map.input(numbers_of(STEPS));
        let length = map.input(lengths.clone());
        let step = map.apply(&f::ADD_I32, &[number, length], &[]);
        // Not beyond a tensor, whose elements are counted with 32 bits.
        let stride = u32::try_from(output.strides[STEPS]).unwrap_or(0);
        let by = map.apply(&f::CHECKED_U32, &[step], &[steps, stride]);
        map.apply(&f::SAME, &[value], &[]);
        let most = u64::from(steps - 1) * u64::from(stride);
        let displacement = Some(Displacement::new(by, most));
        let mut strides = output.strides;
        strides[STEPS] = 0;
        let [_, new, ..] = self.sizes.of_role(self.role);
        let output = Operand { strides, displacement, ..output };
        map.record(&mut products.recorder, self.spread(new), output)
    }

    /// The sizes of so many steps.
    fn spread(&self, steps: u32) -> [u32; DIMENSIONS] {
        let [heads, _, _, elements] = self.sizes.of_role(self.role);
        leading(&[self.sizes.batches, heads, steps, elements], 1)
    }

    /// The part of `output` after the steps of the past.
    fn after_past(&self, output: Operand) -> Operand {
        let [_, _, past, _] = self.sizes.of_role(self.role);
        Operand { base: output.base + i64::from(past) * output.strides[STEPS], ..output }
    }

    fn write_past(
        &self,
        products: &mut ProductRecorder<'_>,
        output: &Operand,
        to: DataType,
    ) -> Result<(), Error> {
        let Some((past, data_type)) = &self.past else { return Ok(()) };
        let mut map = MapBuilder::default();
        let value = map.input(past.clone());
        let value = map.apply_all(conversion(*data_type, to), value);
        let is_multiplied = products.recorder.is_temporary(output);
        if let (Some(lengths), Role::Value, true) = (&self.lengths, self.role, is_multiplied) {
            // What does not count may be no number, and is not multiplied.
            let step = map.input(numbers_of(STEPS));
            let length = map.input(lengths.clone());
            let counts = map.apply(&f::LESS_THAN_I32, &[step, length], &[]);
            let zero = map.computation.zero(step);
            map.apply(&f::CHOOSE_WORD, &[counts, value, zero], &[]);
        }
        map.record(&mut products.recorder, self.spread(self.sizes.past), output.clone())
    }

    fn write_new(
        &self,
        products: &mut ProductRecorder<'_>,
        output: Operand,
        to: DataType,
    ) -> Result<(), Error> {
        let [_, new, ..] = self.sizes.of_role(self.role);
        let mut map = MapBuilder::default();
        self.read_new(&mut map, to);
        map.record(&mut products.recorder, self.spread(new), output)
    }

    /// The new steps with their bias.
    fn read_new(&self, map: &mut MapBuilder, to: DataType) -> Value {
        let (new, data_type) = self.new.clone();
        let value = map.input(new);
        let Some((bias, of_bias)) = self.bias.clone() else {
            return map.apply_all(conversion(data_type, to), value);
        };
        let bias = map.input(bias);
        let [value, bias] = [(value, data_type), (bias, of_bias)]
            .map(|(value, from)| map.apply_all(conversion(from, DataType::Float32), value));
        let sum = map.apply(&f::ADD_F32, &[value, bias], &[]);
        map.apply_all(conversion(DataType::Float32, to), sum)
    }
}

/// For each batch, how many earlier keys count, where the operator is told.
pub(super) fn lengths(products: &ProductRecorder<'_>) -> Result<Option<Operand>, Error> {
    let lengths = products.input(LENGTHS)?;
    Ok(lengths.map(|(it, _)| by_batches(it)))
}

/// A list with an element for each batch.
pub(super) fn by_batches(list: Operand) -> Operand {
    Operand { strides: of_strides([list.strides[ELEMENTS], 0, 0, 0]), ..list }
}

/// The numbers of coordinates along a dimension.
pub(super) fn numbers_of(dimension: usize) -> Operand {
    let mut strides = [0; DIMENSIONS];
    strides[dimension] = 1;
    Operand::numbers(0, strides)
}
