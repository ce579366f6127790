//! How elements are read and written where indices say: in each invocation the indices of an element are
//! made an offset, which displaces an operand.

use dml_core::plan::Plan;
use dml_core::{DataType, Error, TensorLayout, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, MAX_INPUTS, QUAD, Value};
use dml_spirv::functions::{self as f, Function};

use super::lookup::{self, Lookup};
use super::parts::Part;
use crate::Target;
use crate::ir::space::{Displacement, IterationSpace, Operand, leading};
use crate::lowering::made::{Made, required};
use crate::schedule::kernels::Kernels;
use crate::schedule::map::Computation;

/// What is made of the data's layout.
type LookupOf = fn(&Validated, &TensorLayout) -> Result<Lookup, Error>;

/// What an index outside of its dimension means.
#[derive(Clone, Copy)]
pub(super) enum Outside {
    /// The nearest element inside.
    Nearest,
    /// None.
    Nowhere,
}

impl Outside {
    /// The function that makes an offset of an index.
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

/// Elements of the input where the indices say.
pub(super) fn gather(
    operator: &Validated,
    target: &Target<'_>,
    lookup: LookupOf,
) -> Result<Plan, Error> {
    let mut kernels = Kernels::new(operator, target);
    let [data, indices] = required(operator, kernels.inputs()?)?;
    let [output] = required(operator, kernels.outputs()?)?;
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
    for part in Part::all(data.width, chooser.lookup.reach(), kernels.most_shown()) {
        let mut made = Made::default();
        let displacement = chooser.displacement(&mut kernels, &mut made)?;
        let kept = part.kept(&mut made, displacement.by);
        let displacement = Some(part.displaced(&mut made, displacement));
        let data = made.input(Operand { displacement, ..part.data(data.clone()) });
        made.apply(&f::SAME, &[data], &[]);
        let output = Operand { displacement: kept, ..output.clone() };
        made.compute(&mut kernels, chooser.sizes, output)?;
    }
    Ok(kernels.into_plan())
}

/// The input, with the updates where the indices say.
pub(super) fn scatter(
    operator: &Validated,
    target: &Target<'_>,
    lookup: LookupOf,
) -> Result<Plan, Error> {
    let mut kernels = Kernels::new(operator, target);
    let [input, indices, updates] = required(operator, kernels.inputs()?)?;
    let [output] = required(operator, kernels.outputs()?)?;
    let layout = operator.required_tensor("OutputTensor")?;
    copy(&mut kernels, layout, input, output.clone())?;
    let lookup = lookup(operator, layout)?;
    let chooser = Chooser::new(operator, &lookup, &indices, "UpdatesTensor", Outside::Nowhere)?;
    chooser.write(&mut kernels, updates, &output)?;
    Ok(kernels.into_plan())
}

/// Zeros, with the input where the indices say: in the temporary resource where the output has gaps.
pub(super) fn unpool(operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
    let mut kernels = Kernels::new(operator, target);
    let [input, indices] = required(operator, kernels.inputs()?)?;
    let [output] = required(operator, kernels.outputs()?)?;
    let layout = operator.required_tensor("OutputTensor")?;
    let packed = match layout.is_packed() {
        true => output.clone(),
        false => kernels.temporary(output.width, layout.element_count()).packed(layout.sizes()),
    };
    zeros(&mut kernels, layout, packed.clone())?;
    let lookup = lookup::of_all(layout, operator.required_tensor("InputTensor")?.sizes().len());
    let chooser = Chooser::new(operator, &lookup, &indices, "InputTensor", Outside::Nowhere)?;
    chooser.write(&mut kernels, input, &packed)?;
    if packed != output {
        copy(&mut kernels, layout, packed, output)?;
    }
    Ok(kernels.into_plan())
}

fn copy(
    kernels: &mut Kernels<'_>,
    layout: &TensorLayout,
    input: Operand,
    output: Operand,
) -> Result<(), Error> {
    let space = IterationSpace { sizes: leading(layout.sizes(), 1), inputs: vec![input], output };
    kernels.compute(space, &Computation::copy())
}

fn zeros(kernels: &mut Kernels<'_>, layout: &TensorLayout, output: Operand) -> Result<(), Error> {
    let mut made = Made::default();
    let zero = made.input(Operand::numbers(0, [0; DIMENSIONS]));
    if output.width == ElementWidth::B64 {
        made.apply(&f::U32_TO_U64, &[zero], &[]);
    }
    made.compute(kernels, leading(layout.sizes(), 1), output)
}

/// Makes offsets of indices.
struct Chooser<'a> {
    lookup: &'a Lookup,
    /// The first index of each tuple.
    indices: Operand,
    function: &'static Function,
    /// Dimensions of every tensor.
    rank: usize,
    /// Of the space of all chosen elements.
    sizes: [u32; DIMENSIONS],
}

impl<'a> Chooser<'a> {
    /// `elements` has one for each chosen element.
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
        kernels: &mut Kernels<'_>,
        elements: Operand,
        data: &Operand,
    ) -> Result<(), Error> {
        let data = self.lookup.data(data, self.rank);
        for part in Part::all(data.width, self.lookup.reach(), kernels.most_shown()) {
            let mut made = Made::default();
            let element = made.input(elements.clone());
            let displacement = self.displacement(kernels, &mut made)?;
            let displacement = Some(part.displaced(&mut made, displacement));
            made.apply(&f::SAME, &[element], &[]);
            let data = Operand { displacement, ..part.data(data.clone()) };
            made.compute(kernels, self.sizes, data)?;
        }
        Ok(())
    }

    /// Adds what computes the offset of an element in `made`, which has or gets one other input. Where a tuple is
    /// longer than a kernel's inputs, its first indices are joined before, in the temporary resource.
    fn displacement(
        &self,
        kernels: &mut Kernels<'_>,
        made: &mut Made,
    ) -> Result<Displacement, Error> {
        let all = self.lookup.chosen.len();
        let mut joined = None;
        let early = if all < MAX_INPUTS { 0 } else { MAX_INPUTS.min(all) };
        if early > 0 {
            let mut first = Made::default();
            self.join(&mut first, 0..early, None);
            let sizes = self.lookup.tuples(self.sizes);
            let count = sizes.iter().map(|size| u64::from(*size)).product();
            let offsets = kernels.temporary(ElementWidth::B32, count).packed(&sizes);
            first.compute(kernels, sizes, offsets.clone())?;
            joined = Some(made.input(offsets));
        }
        let by = self.join(made, early..all, joined);
        let by = by.ok_or_else(|| Error::internal("INDEX", "tuples have no indices"))?;
        let mut strides = self.lookup.chosen.iter().map(|[_, stride]| stride);
        let is_of_quads = strides.all(|stride| stride.is_multiple_of(QUAD));
        Ok(Displacement { is_of_quads, ..Displacement::new(by, self.lookup.reach()) })
    }

    /// Joins the offset of some indices of a tuple to one of others.
    fn join(
        &self,
        made: &mut Made,
        indices: std::ops::Range<usize>,
        others: Option<Value>,
    ) -> Option<Value> {
        let all = (0..).zip(&self.lookup.chosen);
        let some = all.skip(indices.start).take(indices.len());
        some.fold(others, |joined, (at, chosen)| {
            let base = self.indices.base + i64::from(self.lookup.tuple_stride) * at;
            let index = made.input(Operand { base, ..self.indices.clone() });
            let offset = made.apply(self.function, &[index], chosen);
            Some(joined.map_or(offset, |joined| made.apply(&f::JOINED, &[joined, offset], &[])))
        })
    }
}
