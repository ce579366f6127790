//! Programs that are applied to the elements at each coordinate of a space.

use dml_spirv::element_wise::{ElementFormula, Value};

/// The functions that are applied to the elements.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Computation {
    /// The program on the elements of each input.
    pub(crate) program: ElementFormula,
    /// The program on words that have several elements each, if all operands have the same width; `None` if
    /// the functions cannot work on such words.
    pub(crate) packed: Option<ElementFormula>,
    /// The program's parameters.
    pub(crate) parameters: Vec<u32>,
}

impl Computation {
    /// Copies elements.
    pub(crate) fn copy() -> Self {
        Self { packed: Some(ElementFormula::default()), ..Self::default() }
    }
}

/// The program with its parameters numbered from `first` on.
pub(crate) fn with_parameters_from(program: &ElementFormula, first: u32) -> ElementFormula {
    let mut moved = program.clone();
    let mut arguments = program.steps.iter().flat_map(|step| &step.arguments);
    // What does not change stays shared.
    if first == 0 || !arguments.any(|it| matches!(it, Value::Parameter(_))) {
        return moved;
    }
    for argument in moved.steps.own().iter_mut().flat_map(|step| &mut step.arguments) {
        if let Value::Parameter(index) = argument {
            *index += first;
        }
    }
    moved
}

/// The low and the high 32 bits of an element.
pub(crate) fn low_and_high(bits: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = bits.to_le_bytes();
    [u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])]
}
