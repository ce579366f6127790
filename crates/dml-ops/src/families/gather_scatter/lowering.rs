//! Lowers gather and scatter operators.
//!
//! GATHER of two rows of FLOAT32 [4, 3]:
//!
//! ```text
//! GATHER
//!   input 0 = InputTensor FLOAT32 [4, 3]
//!   input 1 = IndicesTensor UINT32 [1, 2]
//!   output 0 = OutputTensor FLOAT32 [2, 3]
//!   output 0 over [2, 3] = map nearest_u32 same (input 1 by [1, 0], input 0 by [0, 1] displaced by r0)
//!     224 bytes, 12 operations, 6 invocations
//! ```
//!
//! A Map computes an element offset from the indices, and the offset displaces the operand that is gathered from or
//! scattered to.

use dml_core::{DataType, Error, TensorLayout, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, MAX_INPUTS, QUAD, Value};
use dml_spirv::functions::{self as f, Function};

use super::lookup::{self, Lookup};
use super::parts::DataRange;
use crate::Target;
use crate::ir::space::{Displacement, IterationSpace, Operand, leading};
use crate::ir::{self, Computation, Recorder};
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::operands::required;

/// Makes the lookup of an operator from the data's layout.
type LookupOf = fn(&Validated, &TensorLayout) -> Result<Lookup, Error>;

/// The treatment of an index outside of its dimension.
#[derive(Clone, Copy)]
pub(super) enum Outside {
    /// The index means the nearest element inside.
    Nearest,
    /// The index means no element.
    Nowhere,
}

impl Outside {
    /// The function that computes an offset from an index.
    pub(super) fn function(self, data_type: DataType) -> &'static Function {
        match (self, data_type) {
            (Self::Nearest, DataType::Int32) => &f::NEAREST_I32,
            (Self::Nearest, DataType::Int64) => &f::NEAREST_I64,
            (Self::Nearest, DataType::Uint64) => &f::NEAREST_U64,
            (Self::Nearest, _) => &f::NEAREST_U32,
            (Self::Nowhere, DataType::Int32) => &f::CHECKED_I32,
            (Self::Nowhere, DataType::Int64) => &f::CHECKED_I64,
            (Self::Nowhere, DataType::Uint64) => &f::CHECKED_U64,
            (Self::Nowhere, _) => &f::CHECKED_U32,
        }
    }
}

/// Gathers: elements of the input at the indices' positions.
pub(super) fn gather(
    operator: &Validated,
    target: &Target<'_>,
    lookup: LookupOf,
) -> Result<ir::Program, Error> {
    let mut recorder = Recorder::new(operator, target);
    let [data, indices] = required(operator, recorder.inputs()?)?;
    let [output] = required(operator, recorder.outputs()?)?;
    let mut lookup = lookup(operator, operator.required_tensor("InputTensor")?)?;
    let tensor = operator.required_tensor("OutputTensor")?;
    let (rank, mut sizes) = (tensor.sizes().len(), leading(tensor.sizes(), 1));
    let mut moved = [lookup.data(&data, rank), output];
    let unit = lookup.unit(&sizes, &moved, &indices, rank);
    lookup.in_units(unit, &mut sizes, &mut moved);
    let [data, output] = moved;
    let chooser = Chooser {
        sizes,
        ..Chooser::new(operator, &lookup, &indices, "OutputTensor", Outside::Nearest)?
    };
    for part in DataRange::all(data.width, chooser.lookup.reach(), recorder.most_shown()) {
        let mut map = MapBuilder::default();
        let displacement = chooser.displacement(&mut recorder, &mut map)?;
        let kept = part.kept(&mut map, displacement.by);
        let displacement = Some(part.displaced(&mut map, displacement));
        let data = map.input(Operand { displacement, ..part.data(data.clone()) });
        map.apply(&f::SAME, &[data], &[]);
        let output = Operand { displacement: kept, ..output.clone() };
        map.record(&mut recorder, chooser.sizes, output)?;
    }
    Ok(recorder.finish())
}

/// Scatters: the input, with the updates at the indices' positions.
pub(super) fn scatter(
    operator: &Validated,
    target: &Target<'_>,
    lookup: LookupOf,
) -> Result<ir::Program, Error> {
    let mut recorder = Recorder::new(operator, target);
    let [input, indices, updates] = required(operator, recorder.inputs()?)?;
    let [output] = required(operator, recorder.outputs()?)?;
    let layout = operator.required_tensor("OutputTensor")?;
    copy(&mut recorder, layout, input, output.clone())?;
    let lookup = lookup(operator, layout)?;
    let chooser = Chooser::new(operator, &lookup, &indices, "UpdatesTensor", Outside::Nowhere)?;
    chooser.write(&mut recorder, updates, &output)?;
    Ok(recorder.finish())
}

/// Zeros, with the input at the indices' positions: in the temporary resource if the output has gaps.
pub(super) fn unpool(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut recorder = Recorder::new(operator, target);
    let [input, indices] = required(operator, recorder.inputs()?)?;
    let [output] = required(operator, recorder.outputs()?)?;
    let layout = operator.required_tensor("OutputTensor")?;
    let packed = match layout.is_packed() {
        true => output.clone(),
        false => recorder.packed_temporary(output.width, layout.sizes()),
    };
    zeros(&mut recorder, layout, packed.clone())?;
    let lookup = lookup::of_all(layout, operator.required_tensor("InputTensor")?.sizes().len());
    let chooser = Chooser::new(operator, &lookup, &indices, "InputTensor", Outside::Nowhere)?;
    chooser.write(&mut recorder, input, &packed)?;
    if packed != output {
        copy(&mut recorder, layout, packed, output)?;
    }
    Ok(recorder.finish())
}

fn copy(
    recorder: &mut Recorder<'_>,
    layout: &TensorLayout,
    input: Operand,
    output: Operand,
) -> Result<(), Error> {
    let space = IterationSpace { sizes: leading(layout.sizes(), 1), inputs: vec![input], output };
    recorder.map(space, Computation::copy())
}

fn zeros(recorder: &mut Recorder<'_>, layout: &TensorLayout, output: Operand) -> Result<(), Error> {
    let mut map = MapBuilder::default();
    let zero = map.input(Operand::numbers(0, [0; DIMENSIONS]));
    if output.width == ElementWidth::B64 {
        map.apply(&f::U32_TO_U64, &[zero], &[]);
    }
    map.record(recorder, leading(layout.sizes(), 1), output)
}

/// Computes offsets from indices.
struct Chooser<'a> {
    lookup: &'a Lookup,
    /// The first index of each tuple.
    indices: Operand,
    function: &'static Function,
    /// The rank of every tensor.
    rank: usize,
    /// The sizes of the space of all chosen elements.
    sizes: [u32; DIMENSIONS],
}

impl<'a> Chooser<'a> {
    /// `elements` has one element for each chosen element of the data.
    fn new(
        operator: &Validated,
        lookup: &'a Lookup,
        indices: &Operand,
        elements: &str,
        outside: Outside,
    ) -> Result<Self, Error> {
        let function = outside.function(operator.required_tensor("IndicesTensor")?.data_type());
        let sizes = operator.required_tensor(elements)?.sizes();
        let (rank, sizes) = (sizes.len(), leading(sizes, 1));
        Ok(Self { lookup, indices: lookup.indices(indices, rank), function, rank, sizes })
    }

    /// Adds steps that write `elements` into `data`.
    fn write(
        &self,
        recorder: &mut Recorder<'_>,
        elements: Operand,
        data: &Operand,
    ) -> Result<(), Error> {
        let data = self.lookup.data(data, self.rank);
        for part in DataRange::all(data.width, self.lookup.reach(), recorder.most_shown()) {
            let mut map = MapBuilder::default();
            let element = map.input(elements.clone());
            let displacement = self.displacement(recorder, &mut map)?;
            let displacement = Some(part.displaced(&mut map, displacement));
            map.apply(&f::SAME, &[element], &[]);
            let data = Operand { displacement, ..part.data(data.clone()) };
            map.record(recorder, self.sizes, data)?;
        }
        Ok(())
    }

    /// Adds the computation of an element's offset to `map`, which has or gets one other input. If a tuple
    /// has more indices than a kernel has inputs, the first ones are joined before, in the temporary
    /// resource.
    fn displacement(
        &self,
        recorder: &mut Recorder<'_>,
        map: &mut MapBuilder,
    ) -> Result<Displacement, Error> {
        let all = self.lookup.chosen.len();
        let mut joined = None;
        let early = if all < MAX_INPUTS { 0 } else { MAX_INPUTS.min(all) };
        if early > 0 {
            let mut first = MapBuilder::default();
            self.join(&mut first, 0..early, None);
            let sizes = self.lookup.tuples(self.sizes);
            let offsets = recorder.packed_temporary(ElementWidth::B32, &sizes);
            first.record(recorder, sizes, offsets.clone())?;
            joined = Some(map.input(offsets));
        }
        let by = self.join(map, early..all, joined);
        let by = by.ok_or_else(|| Error::internal("INDEX", "tuples have no indices"))?;
        let mut strides = self.lookup.chosen.iter().map(|[_, stride]| stride);
        let is_of_quads = strides.all(|stride| stride.is_multiple_of(QUAD));
        Ok(Displacement { is_of_quads, ..Displacement::new(by, self.lookup.reach()) })
    }

    /// Joins the offset of some indices of a tuple to the offset of others.
    fn join(
        &self,
        map: &mut MapBuilder,
        indices: std::ops::Range<usize>,
        others: Option<Value>,
    ) -> Option<Value> {
        let all = (0..).zip(&self.lookup.chosen);
        let some = all.skip(indices.start).take(indices.len());
        some.fold(others, |joined, (at, chosen)| {
            let base = self.indices.base + i64::from(self.lookup.tuple_stride) * at;
            let index = map.input(Operand { base, ..self.indices.clone() });
            let offset = map.apply(self.function, &[index], chosen);
            Some(joined.map_or(offset, |joined| map.apply(&f::JOINED, &[joined, offset], &[])))
        })
    }
}
