//! References of data movement by the documentation.

mod along;
mod elements;
mod sums;
mod windows;

use dml_core::schema::{Comparison, OperatorSchema};
use dml_core::{AbstractOperator, Error, TensorLayout, Validated, operators};

use super::cases::{self, Corners};
use crate::{BrokenRule, Case, Random, Reference, Signature, coordinate};
use along::AlongAxis;
use elements::Element;

pub(super) static JOIN: AlongAxis = AlongAxis { schema: &operators::JOIN };
pub(super) static SPLIT: AlongAxis = AlongAxis { schema: &operators::SPLIT };

/// The reference of an operator with one input and one output.
pub(super) struct Movement {
    schema: &'static OperatorSchema,
    corners: &'static Corners,
    /// Computes the output's element at a coordinate.
    element: fn(&Validated, &[u32]) -> Result<Element, Error>,
}

macro_rules! movements {
    ($($name:ident = $element:path;)*) => {$(
        pub(super) static $name: Movement = Movement {
            schema: &operators::$name,
            corners: &cases::$name,
            element: $element,
        };
    )*};
}

movements! {
    SLICE = elements::slice;
    SLICE1 = elements::slice1;
    SLICE_GRAD = elements::slice_grad;
    TILE = elements::tile;
    SPACE_TO_DEPTH = elements::space_to_depth;
    SPACE_TO_DEPTH1 = elements::space_to_depth;
    DEPTH_TO_SPACE = elements::depth_to_space;
    DEPTH_TO_SPACE1 = elements::depth_to_space;
    PADDING = elements::padding;
    PADDING1 = elements::padding;
    UNFOLD = windows::unfold;
    FOLD = windows::fold;
}

/// The index of an element in row-major order.
fn number(sizes: &[u32], coordinate: &[u32]) -> usize {
    let pairs = sizes.iter().zip(coordinate);
    pairs.fold(0, |number, (size, at)| number * *size as usize + *at as usize)
}

impl Reference for Movement {
    fn schema(&self) -> &'static OperatorSchema {
        self.schema
    }

    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let [input, output] = elements::tensors(operator)?;
        let elements = inputs.first().and_then(Option::as_deref).unwrap_or_default();
        let count = usize::try_from(output.element_count()).unwrap_or(usize::MAX);
        let of = |number: usize| {
            let at = coordinate(output.sizes(), number).into_iter();
            let at: Vec<u32> = at.map(|it| u32::try_from(it).unwrap_or(u32::MAX)).collect();
            Ok(match (self.element)(operator, &at)? {
                Element::At(from) => elements[self::number(input.sizes(), &from)],
                Element::Bits(bits) => bits,
                Element::Sum(all) => {
                    let all = all.iter().map(|from| elements[self::number(input.sizes(), from)]);
                    sums::sum(output.data_type(), all)
                }
            })
        };
        Ok(vec![(0..count).map(of).collect::<Result<_, Error>>()?])
    }

    fn input_elements(
        &self,
        random: &mut Random,
        operator: &Validated,
        _index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        let is_summed = matches!(self.comparison(operator, layout.data_type()), Comparison::Ulp(_));
        let element = |_| match is_summed {
            true => sums::summand(random, layout.data_type()),
            false => random.input_element(layout.data_type()),
        };
        (0..layout.element_count()).map(element).collect()
    }

    fn minimal(&self, signature: &Signature) -> AbstractOperator {
        let all = (self.corners.all)(signature.rank);
        all[all.len() - 1].packed(self.schema, signature.data_type())
    }

    fn cases(&self, signature: &Signature) -> Vec<Case> {
        cases::cases(self.schema, self.corners, signature)
    }

    fn random(&self, random: &mut Random, signature: &Signature) -> Case {
        let corner = (self.corners.random)(random, signature.rank);
        let operator = corner.drawn(self.schema, signature.data_type(), random);
        Case::new("random", operator).with_random_buffers(random)
    }

    fn broken_rules(&self, signature: &Signature) -> Vec<BrokenRule> {
        let broken = (self.corners.broken)(signature.rank).into_iter();
        let rule = |(corner, field): (cases::Corner, &'static str)| BrokenRule {
            operator: corner.packed(self.schema, signature.data_type()),
            name: corner.name,
            field: field.into(),
        };
        broken.map(rule).collect()
    }
}
