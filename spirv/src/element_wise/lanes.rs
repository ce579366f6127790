//! The calls for the elements of all lanes of a row, sixteen neighbours: what they have in common is loaded and computed
//! once.

use super::calls::{Calls, Registers};
use super::program::{AccessPattern, ElementFormula, KernelOperand};
use super::steps::Value;
use crate::ElementWidth;
use crate::link::{Argument, Callee};

/// Lanes of a block of a row: so many neighbours are joined to a state each.
pub const LANES: u32 = 16;
/// Quads that are read at a time.
const QUADS: usize = (LANES / super::QUAD) as usize;

/// A value of the elements of all lanes, quad after quad.
pub(crate) type Lanes = [Registers; QUADS];

/// Whether an input can be read so; the first element of a `Whole` one is a multiple of [`LANES`].
pub(crate) fn can_read(input: &KernelOperand) -> bool {
    let is_narrow = input.width != ElementWidth::B64;
    is_narrow
        && match input.access {
            AccessPattern::Whole | AccessPattern::Single => true,
            AccessPattern::Repeated(shift) => 1 << shift >= LANES,
            _ => false,
        }
}

/// The inputs that a value of a program is computed from, a bit for each.
pub(crate) fn inputs_of(program: &ElementFormula, value: Value) -> u8 {
    let mut of_steps = Vec::with_capacity(program.steps.len());
    let of = |value: &Value, of_steps: &[u8]| match value {
        Value::Input(input) => 1 << input,
        Value::Result(step) => of_steps[*step],
        Value::Parameter(_) => 0,
    };
    for step in &program.steps {
        let of_step = step.arguments.iter().fold(0, |all, it| all | of(it, &of_steps));
        of_steps.push(of_step);
    }
    of(&value, &of_steps)
}

impl Calls<'_> {
    /// A value of a program of the kernel's inputs, for the elements of all lanes.
    pub(crate) fn lanes(&mut self, program: &ElementFormula, value: Value) -> Lanes {
        let mut known = Vec::new();
        self.known_lanes(program, value, &mut known)
    }

    /// As [`Self::lanes`], with what is known already.
    fn known_lanes(
        &mut self,
        program: &ElementFormula,
        value: Value,
        known: &mut Vec<(Value, Lanes)>,
    ) -> Lanes {
        if let Some((_, lanes)) = known.iter().find(|(it, _)| *it == value) {
            return lanes.clone();
        }
        let lanes = match value {
            Value::Input(input) => self.load_lanes(input),
            Value::Parameter(_) => {
                let parameter = self.value(value);
                std::array::from_fn(|_| parameter.clone())
            }
            Value::Result(step) => {
                let step = &program.steps[step];
                let arguments = step.arguments.iter();
                let arguments: Vec<Lanes> =
                    arguments.map(|it| self.known_lanes(program, *it, known)).collect();
                let mut of_quad = |quad: usize| {
                    let of_quad: Vec<_> = arguments.iter().map(|it| it[quad].clone()).collect();
                    let (elements, parameters) = of_quad.split_at(step.function.arity);
                    self.apply(step.function, elements, &parameters.concat())
                };
                if arguments.iter().all(is_alike) {
                    let result = of_quad(0);
                    std::array::from_fn(|_| result.clone())
                } else {
                    std::array::from_fn(of_quad)
                }
            }
        };
        known.push((value, lanes.clone()));
        lanes
    }

    fn load_lanes(&mut self, input: usize) -> Lanes {
        let KernelOperand { width, access } = self.inputs()[input];
        if access != AccessPattern::Whole {
            let element = self.load(input);
            return std::array::from_fn(|_| element.clone());
        }
        // The quads that are read together.
        let together = match width {
            ElementWidth::B4 | ElementWidth::B8 => QUADS,
            ElementWidth::B16 => 2,
            ElementWidth::B32 | ElementWidth::B64 => 1,
        };
        let mut words = vec![];
        std::array::from_fn(|quad| {
            if quad % together == 0 {
                words = self.load_further(input, quad, together > 1);
            }
            if together == 1 {
                return words.clone();
            }
            let callee = self.memory_function(input, "unpacked");
            let within = u32::try_from(quad % together).expect("fewer than four");
            vec![self.call(callee, vec![words[0], Argument::Literal(within)])]
        })
    }

    /// Loads so many quads further on: a quad, or the words of several.
    fn load_further(&mut self, input: usize, quads: usize, is_packed: bool) -> Registers {
        let by = super::QUAD * u32::try_from(quads).expect("fewer than four");
        let x = match by {
            0 => Argument::Parameter(2),
            _ => {
                let arguments = vec![Argument::Parameter(2), Argument::Literal(by)];
                self.call(Callee::Exported("further"), arguments)
            }
        };
        let place = self.place_at(input, AccessPattern::Whole, x);
        if is_packed {
            let callee = self.memory_function(input, "load_packed");
            return vec![self.call(callee, vec![place[0]])];
        }
        let callee = self.memory_function(input, "load_whole");
        vec![self.call(callee, [place.as_slice(), &[Argument::Literal(0)]].concat())]
    }
}

/// Whether all quads have the same registers.
fn is_alike(lanes: &Lanes) -> bool {
    lanes.iter().all(|quad| *quad == lanes[0])
}
