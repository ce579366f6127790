//! The factors of products, as words: FLOAT32 tensors in their own layout, other types after a conversion.

use dml_core::schema::FieldKind;
use dml_core::{DataType, Error, TensorLayout, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, QUAD};
use dml_spirv::functions as f;

use crate::Target;
use crate::ir::space::{IterationSpace, Operand, leading};
use crate::ir::{Buffer, BufferPosition, Computation, Numbers, Recorder};
use crate::lowering::conversion::{conversion, widened};
use crate::lowering::map_builder::MapBuilder;

/// Records the program of an operator that computes sums of products.
pub(crate) struct ProductRecorder<'a> {
    pub(crate) operator: &'a Validated,
    pub(crate) recorder: Recorder<'a>,
    /// Whether the sums are integers.
    pub(crate) are_integers: bool,
}

/// A tensor of words: its first word, and the strides of its dimensions.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    pub(crate) place: BufferPosition,
    pub(crate) strides: Vec<i64>,
}

impl Words {
    /// The words of an operand of `rank` dimensions.
    pub(crate) fn of(operand: &Operand, rank: usize) -> Self {
        Self {
            place: BufferPosition::of(operand),
            strides: operand.strides[DIMENSIONS - rank..].to_vec(),
        }
    }
}

/// The memory layout of a tensor that is copied.
pub(crate) struct Storage<'a> {
    /// The dimension whose elements become adjacent, in whole quads.
    pub(crate) innermost: usize,
    /// The number of zeros before and after the elements of each dimension.
    pub(crate) margins: &'a [[u32; 2]],
    /// The tensor's dimension that the zero point's second dimension goes along.
    pub(crate) channels: usize,
    /// Whether the tensor is copied even if it could be read in place: factors that are used many times are
    /// rearranged once.
    pub(crate) is_copied: bool,
}

/// Whether the matrices of A and B are transposed.
pub(crate) fn transposed(operator: &Validated) -> Result<[bool; 2], Error> {
    let of = |name: &str| match operator.schema().has_field(name) {
        true => operator.uint(name).map(|it| it == 1),
        false => Ok(false),
    };
    Ok([of("TransA")?, of("TransB")?])
}

/// The input `name` of an operator, if it is present, with its type. Dimensions of size 1 are broadcast.
pub(crate) fn input(
    operator: &Validated,
    name: &str,
) -> Result<Option<(Operand, DataType)>, Error> {
    let mut inputs = (0..).zip(operator.tensors(FieldKind::Input));
    let found = inputs.find(|(_, (path, _))| path.field.name == name);
    let Some((index, (_, Some(tensor)))) = found else { return Ok(None) };
    let mut operand = Operand::of(operator.schema().name, Buffer::Input(index), tensor)?;
    for (stride, size) in operand.strides.iter_mut().zip(leading(tensor.sizes(), 1)) {
        *stride = if size == 1 { 0 } else { *stride };
    }
    Ok(Some((operand, tensor.data_type())))
}

impl<'a> ProductRecorder<'a> {
    pub(crate) fn new(operator: &'a Validated, target: &'a Target<'a>, are_integers: bool) -> Self {
        Self { operator, recorder: Recorder::new(operator, target), are_integers }
    }

    /// The numbers that the factors `names` are as words.
    pub(crate) fn numbers(&self, names: [&str; 2]) -> Result<Numbers, Error> {
        let is_half = |name: &str| {
            let data_type = self.operator.required_tensor(name)?.data_type();
            Ok::<_, Error>(data_type == DataType::Float16)
        };
        Ok(match (self.are_integers, is_half(names[0])? && is_half(names[1])?) {
            (true, _) => Numbers::Integers,
            (false, true) => Numbers::Halves,
            (false, false) => Numbers::Floats,
        })
    }

    /// As [`input`].
    pub(crate) fn input(&self, name: &str) -> Result<Option<(Operand, DataType)>, Error> {
        input(self.operator, name)
    }

    pub(crate) fn required(&self, name: &'static str) -> Result<(Operand, DataType), Error> {
        let missing = || Error::internal(self.operator.schema().name, format!("{name} is missing"));
        self.input(name)?.ok_or_else(missing)
    }

    /// The elements of the tensor `name` minus those of its zero point `zero`, as words of FLOAT32 or of INT32.
    pub(crate) fn factor(
        &mut self,
        [name, zero]: [&'static str; 2],
        storage: &Storage<'_>,
    ) -> Result<Words, Error> {
        let tensor = self.operator.required_tensor(name)?;
        let rank = tensor.sizes().len();
        let (operand, data_type) = self.required(name)?;
        let zero = self.zero_point(zero, rank, storage.channels)?;
        let has_margins = storage.margins.iter().any(|margin| *margin != [0, 0]);
        let is_copied = has_margins || storage.is_copied;
        if data_type == DataType::Float32 && !is_copied {
            return Ok(Words::of(&operand, rank));
        }
        let from: Vec<&Operand> =
            [&operand].into_iter().chain(zero.iter().map(|it| &it.0)).collect();
        let output = self.stored(tensor, storage, &from);
        let words = Words::of(&output, rank);
        let place = BufferPosition { has_slack: true, ..words.place };
        let margin = |at: usize| storage.margins.get(at).map_or(0, |it| it.iter().sum());
        let sizes: Vec<u32> = (0..rank).map(|at| tensor.sizes()[at] + margin(at)).collect();
        if has_margins {
            self.zeros(leading(&sizes, 1), output.clone())?;
        }
        let map = self.converted((operand, data_type), zero);
        let mut output = output;
        for (stride, [before, _]) in words.strides.iter().zip(storage.margins) {
            output.base += i64::from(*before) * stride;
        }
        map.record(&mut self.recorder, leading(tensor.sizes(), 1), output)?;
        Ok(Words { place, ..words })
    }

    /// The zero point `name` of a tensor of `rank` dimensions, whose second dimension goes along that tensor's
    /// dimension `channels`.
    pub(super) fn zero_point(
        &self,
        name: &'static str,
        rank: usize,
        channels: usize,
    ) -> Result<Option<(Operand, DataType)>, Error> {
        let first = DIMENSIONS - rank;
        let found = self.input(name)?;
        Ok(found.map(|(mut operand, data_type)| {
            operand.strides.swap(first + 1, first + channels);
            (operand, data_type)
        }))
    }

    /// Memory for the elements of a tensor with its margins, which are zeros, when they are converted from `from`.
    fn stored(
        &mut self,
        tensor: &TensorLayout,
        storage: &Storage<'_>,
        from: &[&Operand],
    ) -> Operand {
        let sizes = tensor.sizes();
        let margin = |at: usize| storage.margins.get(at).copied().unwrap_or_default();
        let size = |at: usize| sizes[at] + margin(at).iter().sum::<u32>();
        let others = (0..sizes.len()).filter(|at| *at != storage.innermost);
        let order: Vec<usize> = others.chain([storage.innermost]).collect();
        let mut strides = vec![0; sizes.len()];
        let mut next = 1_i64;
        for at in order.into_iter().rev() {
            strides[at] = next;
            let is_innermost = at == storage.innermost;
            let length = if is_innermost { size(at).next_multiple_of(QUAD) } else { size(at) };
            next *= i64::from(length);
        }
        let mut all = [0; DIMENSIONS];
        all[DIMENSIONS - sizes.len()..].copy_from_slice(&strides);
        // A quad may begin at any element.
        let count = next.cast_unsigned() + u64::from(QUAD - 1);
        Operand { strides: all, ..self.recorder.derived(from, ElementWidth::B32, count) }
    }

    /// The Map that converts elements to words.
    fn converted(
        &mut self,
        (element, data_type): (Operand, DataType),
        zero: Option<(Operand, DataType)>,
    ) -> MapBuilder {
        let mut map = MapBuilder::default();
        let element = map.input(element);
        let is_float = data_type.integer_range().is_none();
        let chain =
            if is_float { conversion(data_type, DataType::Float32) } else { widened(data_type) };
        let value = map.apply_all(chain, element);
        let zero = zero.map(|(operand, data_type)| {
            let zero = map.input(operand);
            map.apply_all(widened(data_type), zero)
        });
        if is_float {
            return map;
        }
        if self.are_integers {
            if let Some(zero) = zero {
                map.apply(&f::SUBTRACT_I32, &[value, zero], &[]);
            }
            return map;
        }
        let one = map.input(self.recorder.constant(ElementWidth::B32, f32::to_bits(1.0).into()));
        let zero = zero.unwrap_or_else(|| map.computation.zero(value));
        let is_signed = data_type.integer_range().is_some_and(|(least, _)| least < 0);
        let difference = match data_type.bits() {
            ..=16 => &f::DEQUANTIZE_SMALL,
            _ if is_signed => &f::DEQUANTIZE_I32,
            _ => &f::DEQUANTIZE_U32,
        };
        map.apply(difference, &[value, one, zero], &[]);
        map
    }

    /// Writes zeros to all words of a space.
    pub(crate) fn zeros(&mut self, sizes: [u32; DIMENSIONS], output: Operand) -> Result<(), Error> {
        let inputs = vec![self.recorder.constant(ElementWidth::B32, 0)];
        self.recorder.map(IterationSpace { sizes, inputs, output }, Computation::copy())
    }
}
