//! Lowers TOP_K and TOP_K1: keys and coordinates that are sorted together.
//!
//! TOP_K1 of the 2 greatest of 4 elements in each row of FLOAT32 [2, 4]:
//!
//! ```text
//! TOP_K1
//!   input 0 = InputTensor FLOAT32 [2, 4]
//!   output 0 = OutputValueTensor FLOAT32 [2, 2]
//!   output 1 = OutputIndexTensor UINT32 [2, 2]
//!   %0 = 8 elements of 64 bits
//!   %0 by [8, 2] and r1 at +1 over [2, 4] = map sort_key bit_not same (input 0, numbers by [0, 1])
//!     152 bytes, 24 operations, 8 invocations
//!   %1 = 4 elements of 64 bits
//!   %1 = sort the least 2 of [2, 4] (%0)
//!     96 bytes, 24 operations, 8 invocations
//!   output 0 over [2, 2] = map nearest_u32 same (%1 by [4, 2], input 0 by [4, 0] displaced by r0)
//!     172 bytes, 8 operations, 4 invocations
//!   output 1 over [2, 2] = map same (%1 by [4, 2])
//!     44 bytes, 4 operations, 4 invocations
//! ```
//!
//! Elements become keys of 32 bits whose order as integers is the wanted order. A key is sorted together with the
//! coordinate of its element, in one value of 64 bits, so that of equal elements the first one comes first. Elements
//! of 64 bits are sorted by their low words and then by their high words.

use dml_core::{AxisDirection, DataType, Error, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions as f;

use super::AXIS_DIRECTION;
use crate::Target;
use crate::ir::space::{Displacement, Operand, leading};
use crate::ir::{self, Recorder};
use crate::lowering::conversion::widened;
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::operands::required;

/// The greatest or least elements along a dimension, and their coordinates in it.
pub(super) fn top_k(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut recorder = Recorder::new(operator, target);
    let [data] = required(operator, recorder.inputs()?)?;
    let [values, indices] = required(operator, recorder.outputs()?)?;
    let search = Search::new(operator, data)?;
    let order = search.order(&mut recorder)?;
    let mut found = MapBuilder::default();
    let coordinate = found.input(order.clone());
    let element = search.element(&mut found, coordinate, &search.data);
    found.apply(&f::SAME, &[element], &[]);
    found.record(&mut recorder, search.wanted(), values)?;
    let mut numbers = MapBuilder::default();
    let coordinate = numbers.input(order);
    let is_wide = indices.width == ElementWidth::B64;
    numbers.apply(if is_wide { &f::U32_TO_U64 } else { &f::SAME }, &[coordinate], &[]);
    numbers.record(&mut recorder, search.wanted(), indices)?;
    Ok(recorder.finish())
}

/// The sign bit of a word.
const SIGN: u64 = 0x8000_0000;

/// The low words of elements of 64 bits, or the high ones.
#[derive(Clone, Copy)]
enum Words {
    Low,
    High,
}

impl Words {
    fn of(self, wide: &Operand) -> Operand {
        let which = i64::from(matches!(self, Self::High));
        Operand {
            width: ElementWidth::B32,
            base: 2 * wide.base + which,
            strides: wide.strides.map(|stride| 2 * stride),
            ..wide.clone()
        }
    }
}

/// The elements that are sorted, and their order.
struct Search<'a> {
    operator: &'a Validated,
    data: Operand,
    data_type: DataType,
    sizes: [u32; DIMENSIONS],
    /// The dimension of rows.
    axis: usize,
    /// The number of elements that are wanted of each row.
    count: u32,
    descends: bool,
}

impl<'a> Search<'a> {
    fn new(operator: &'a Validated, data: Operand) -> Result<Self, Error> {
        let tensor = operator.required_tensor("InputTensor")?;
        let has_direction = operator.schema().has_field(AXIS_DIRECTION);
        let increasing = AxisDirection::Increasing.dml_value();
        let descends = !has_direction || operator.uint(AXIS_DIRECTION)? != increasing;
        Ok(Self {
            operator,
            data,
            data_type: tensor.data_type(),
            sizes: leading(tensor.sizes(), 1),
            axis: DIMENSIONS - tensor.sizes().len() + operator.uint("Axis")? as usize,
            count: operator.uint("K")?,
            descends,
        })
    }

    /// The sizes of the outputs.
    fn wanted(&self) -> [u32; DIMENSIONS] {
        let mut sizes = self.sizes;
        sizes[self.axis] = self.count;
        sizes
    }

    /// The coordinates of the wanted elements, in order.
    fn order(&self, recorder: &mut Recorder<'_>) -> Result<Operand, Error> {
        let wanted = self.count.next_power_of_two().trailing_zeros();
        if self.data.width != ElementWidth::B64 {
            return self
                .sorted(recorder, wanted, self.data_type, |map| map.input(self.data.clone()));
        }
        let [low, high] = [Words::Low, Words::High].map(|it| it.of(&self.data));
        let all = self.sizes[self.axis].next_power_of_two().trailing_zeros();
        let by_low = self.sorted(recorder, all, DataType::Uint32, |map| map.input(low))?;
        let is_signed = self.data_type == DataType::Int64;
        let of_high = if is_signed { DataType::Int32 } else { DataType::Uint32 };
        let places = self.sorted(recorder, wanted, of_high, |map| {
            let coordinate = map.input(by_low.clone());
            self.element(map, coordinate, &high)
        })?;
        let order = recorder.packed_temporary(ElementWidth::B32, &self.wanted());
        let mut map = MapBuilder::default();
        let place = map.input(places);
        let coordinate = self.element(&mut map, place, &by_low);
        map.apply(&f::SAME, &[coordinate], &[]);
        map.record(recorder, self.wanted(), order.clone())?;
        Ok(order)
    }

    /// An element of `data` at a coordinate along the axis.
    fn element(&self, map: &mut MapBuilder, coordinate: Value, data: &Operand) -> Value {
        let stride = data.strides[self.axis];
        // A stride that no kernel can address is refused where the operand is placed.
        let step = u32::try_from(stride).unwrap_or(u32::MAX);
        let size = self.sizes[self.axis];
        let by = map.apply(&f::NEAREST_U32, &[coordinate], &[size, step]);
        let most = u64::from(size - 1) * stride.unsigned_abs();
        let mut strides = data.strides;
        strides[self.axis] = 0;
        let displacement = Some(Displacement::new(by, most));
        map.input(Operand { strides, displacement, ..data.clone() })
    }

    /// The coordinates in the order of the elements that `input` adds, which have `data_type` of up to 32 bits.
    fn sorted(
        &self,
        recorder: &mut Recorder<'_>,
        wanted: u32,
        data_type: DataType,
        input: impl FnOnce(&mut MapBuilder) -> Value,
    ) -> Result<Operand, Error> {
        let (rows, length) = self.rows()?;
        let count = u64::from(rows) << length;
        let place = self.in_rows(recorder.temporary(ElementWidth::B64, count), length);
        self.fill(recorder, rows, &place)?;
        let mut keys = MapBuilder::default();
        let element = input(&mut keys);
        self.key(recorder, &mut keys, element, data_type);
        keys.record(recorder, self.sizes, Words::High.of(&place))?;
        let mut strides = [0; DIMENSIONS];
        strides[self.axis] = 1;
        let mut coordinates = MapBuilder::default();
        let coordinate = coordinates.input(Operand::numbers(0, strides));
        coordinates.apply(&f::SAME, &[coordinate], &[]);
        coordinates.record(recorder, self.sizes, Words::Low.of(&place))?;
        let result = recorder.sort(rows, [length, wanted], place)?;
        Ok(Words::Low.of(&self.in_rows(result, wanted)))
    }

    /// The number of rows, and the exponent n of the 2^n numbers that each row is padded to.
    fn rows(&self) -> Result<(u32, u32), Error> {
        let size = self.sizes[self.axis];
        let count: u64 = self.sizes.into_iter().map(u64::from).product();
        let rows = u32::try_from(count / u64::from(size)).unwrap_or(u32::MAX);
        let length = u64::from(size).next_power_of_two().trailing_zeros();
        let count = u64::from(rows) << length;
        if count > u64::from(u32::MAX) {
            return Err(Error::DeviceLimit {
                operator: self.operator.schema().name,
                field: "InputTensor",
                needed: count,
                unit: "elements",
                limit: "what can be sorted, each row as long as a power of two",
                available: u32::MAX.into(),
            });
        }
        Ok((rows, length))
    }

    /// Writes the greatest number after the elements of each row.
    fn fill(&self, recorder: &mut Recorder<'_>, rows: u32, place: &Operand) -> Result<(), Error> {
        let size = self.sizes[self.axis];
        let length = size.next_power_of_two();
        if size == length {
            return Ok(());
        }
        let (mut sizes, mut strides) = ([1; DIMENSIONS], [0; DIMENSIONS]);
        sizes[DIMENSIONS - 2..].copy_from_slice(&[rows, length - size]);
        strides[DIMENSIONS - 2..].copy_from_slice(&[length.into(), 1]);
        let mut map = MapBuilder::default();
        let greatest = map.input(recorder.constant(ElementWidth::B64, u64::MAX));
        map.apply(&f::MINIMUM_U64, &[greatest, greatest], &[]);
        let base = place.base + i64::from(size);
        map.record(recorder, sizes, Operand { base, strides, ..place.clone() })
    }

    /// An unsigned number that is less for elements that come first.
    fn key(
        &self,
        recorder: &mut Recorder<'_>,
        map: &mut MapBuilder,
        element: Value,
        data_type: DataType,
    ) {
        let mut key = map.apply_all(widened(data_type), element);
        match data_type {
            DataType::Float16 | DataType::Float32 => {
                key = map.apply(&f::SORT_KEY_F32, &[key], &[]);
            }
            DataType::Int8 | DataType::Int16 | DataType::Int32 => {
                let sign = map.input(recorder.constant(ElementWidth::B32, SIGN));
                key = map.apply(&f::BIT_XOR_WORD, &[key, sign], &[]);
            }
            _ => {}
        }
        map.apply(if self.descends { &f::BIT_NOT_WORD } else { &f::SAME }, &[key], &[]);
    }

    /// Rows of 2^length numbers, with the coordinates of the tensor's elements.
    fn in_rows(&self, numbers: Operand, length: u32) -> Operand {
        let mut strides = [0; DIMENSIONS];
        let mut next = 1_i64 << length;
        for at in (0..DIMENSIONS).rev().filter(|at| *at != self.axis) {
            strides[at] = if self.sizes[at] > 1 { next } else { 0 };
            next *= i64::from(self.sizes[at]);
        }
        strides[self.axis] = 1;
        Operand { strides, ..numbers }
    }
}
