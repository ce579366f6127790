//! From a program to a plan: the one place that knows kinds of devices.
//!
//! A [`Schedule`] goes through a program's buffers and nodes in their order. Each node becomes steps: a space is
//! coalesced, and divided into boxes that descriptors show ([`boxes`]); rows and products are divided into parts
//! where that gives work to more invocations. Local buffers get their places in the temporary and the persistent
//! resource and in the constants; inputs that are OWNED_BY_DML are kept by initialization ([`owned`]).

mod band;
pub(crate) mod boxes;
pub(crate) mod constants;
mod contract;
pub(crate) mod cost;
pub(crate) mod dispatches;
mod fill;
pub(crate) mod grid;
mod map;
mod moves;
pub(crate) mod owned;
pub(crate) mod patterns;
mod piece;
mod reduce;
pub(crate) mod relocate;
pub(crate) mod seed;

use std::collections::HashMap;

use dml_core::plan::{InPlace, Plan, Slot, Step};
use dml_core::{Error, Strategy};
use dml_spirv::ElementWidth;

use crate::Target;
use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Binding, Buffer, Content, Local, Node, Place, Program, Stage};
use crate::target::{MAX_STEPS, beyond_steps};
use constants::Constants;
use dispatches::Dispatches;
use owned::{Kept, PART_ALIGNMENT};

/// The plan that executes `program` on `target`.
///
/// # Errors
/// [`Error::DeviceLimit`]: the target cannot carry it.
pub(crate) fn plan(program: &Program, target: &Target<'_>) -> Result<Plan, Error> {
    let mut schedule = Schedule::new(program, target);
    let mut locals = program.locals.iter().peekable();
    for (number, node) in program.nodes.iter().enumerate() {
        while let Some(local) = locals.next_if(|it| it.declared_after <= number) {
            schedule.declare(local);
        }
        schedule.node(node)?;
    }
    locals.for_each(|local| schedule.declare(local));
    Ok(schedule.into_plan())
}

/// A plan under construction.
struct Schedule<'a> {
    program: &'a Program,
    target: &'a Target<'a>,
    constants: Constants,
    kept: Kept,
    exec: Vec<Step>,
    temporary_size: u64,
    /// Where the local buffers begin that were declared so far, in bytes.
    locals: Vec<(Slot, u64)>,
    /// Words for the parts of sums, and how many: used again by the next ones that need no more.
    parts: Option<(Operand<Slot>, u64)>,
    strategy: Strategy,
    in_place: Vec<InPlace>,
}

impl<'a> Schedule<'a> {
    fn new(program: &'a Program, target: &'a Target<'a>) -> Self {
        let in_place = program.in_place.iter();
        Self {
            program,
            target,
            constants: Constants::default(),
            kept: Kept::default(),
            exec: Vec::new(),
            temporary_size: 0,
            locals: Vec::new(),
            parts: None,
            strategy: Strategy::Kernel,
            in_place: in_place.map(|input| InPlace::by_same_steps(*input, 0)).collect(),
        }
    }

    /// Gives a local buffer its place.
    fn declare(&mut self, local: &Local) {
        let place = match &local.content {
            Content::Constant { bytes, alignment } => {
                (Slot::Constants, self.constants.add_aligned(bytes, *alignment).start)
            }
            Content::Output { number, .. } => (Slot::Output(*number), 0),
            Content::Computed { width, count, stage } => self.reserve(*width, *count, *stage),
        };
        self.locals.push(place);
    }

    /// Adds the steps of a node.
    fn node(&mut self, node: &Node) -> Result<(), Error> {
        match node {
            Node::Map(map) => self.map(self.placed(&map.space), &map.computation),
            Node::Reduce(reduce) => {
                let space = self.placed(&reduce.space);
                match reduce.grids {
                    None => self.reduce(space, &reduce.reduction),
                    Some(grids) => self.reduce_grids(&space, grids, &reduce.reduction),
                }
            }
            Node::Contract(all) => {
                let all = all.iter().map(|it| it.placed(|place| self.placed_words(place)));
                self.contract(all.collect())
            }
            Node::ContractWhole(matrices) => self.contract_whole(matrices),
            Node::Move(space) => self.move_elements(self.placed(space)),
            Node::Fill(fill) => self.fill(fill),
            Node::Band(band) => self.band(band),
        }
    }

    /// Where a buffer is, and how many bytes into that.
    fn place(&self, buffer: Buffer) -> (Slot, u64) {
        match buffer {
            Buffer::Input(at) => (Slot::Input(at), 0),
            Buffer::Output(at) => (Slot::Output(at), 0),
            Buffer::Local(at) => self.locals[at],
        }
    }

    fn placed_operand(&self, operand: &Operand) -> Operand<Slot> {
        let width = u64::from(operand.width.bytes());
        match operand.buffer.map(|it| self.place(it)) {
            Some((slot, start)) => operand.moved(Some(slot), (start / width).cast_signed()),
            None => operand.moved(None, 0),
        }
    }

    fn placed(&self, space: &IterationSpace) -> IterationSpace<Slot> {
        IterationSpace {
            sizes: space.sizes,
            inputs: space.inputs.iter().map(|it| self.placed_operand(it)).collect(),
            output: self.placed_operand(&space.output),
        }
    }

    fn placed_words(&self, words: Place) -> Place<Slot> {
        let (slot, start) = self.place(words.buffer);
        Place {
            buffer: slot,
            base: words.base + (start / 4).cast_signed(),
            has_slack: words.has_slack,
        }
    }

    /// So many elements of a resource, from how many bytes on.
    fn reserve(&mut self, width: ElementWidth, count: u64, stage: Stage) -> (Slot, u64) {
        let (slot, size) = match stage {
            Stage::Execution => (Slot::Temporary, &mut self.temporary_size),
            Stage::Compilation | Stage::Initialization => (Slot::Persistent, &mut self.kept.size),
        };
        let start = size.next_multiple_of(PART_ALIGNMENT);
        let bytes = count.saturating_mul(width.bytes().into());
        *size = start.saturating_add(bytes.checked_next_multiple_of(4).unwrap_or(bytes));
        (slot, start)
    }

    /// So many elements of the temporary resource, one after the other.
    fn temporary(&mut self, width: ElementWidth, count: u64) -> Operand<Slot> {
        self.made(width, count, Stage::Execution)
    }

    /// So many elements, one after the other, in what is written at a stage.
    fn made(&mut self, width: ElementWidth, count: u64, stage: Stage) -> Operand<Slot> {
        let (slot, start) = self.reserve(width, count, stage);
        Operand::at(slot, width, (start / u64::from(width.bytes())).cast_signed())
    }

    /// So many words that hold parts of sums until these are added up.
    fn place_of_parts(&mut self, count: u64) -> Operand<Slot> {
        let (place, length) = match self.parts.take().filter(|(_, length)| *length >= count) {
            Some(known) => known,
            None => (self.temporary(ElementWidth::B32, count), count),
        };
        self.parts = Some((place.clone(), length));
        place
    }

    /// When what is in a slot is there.
    fn stage(&self, slot: Slot) -> Stage {
        match slot {
            Slot::Input(at) => self.program.stage(Buffer::Input(at)),
            Slot::Persistent => Stage::Initialization,
            Slot::Constants => Stage::Compilation,
            Slot::Output(_) | Slot::Temporary => Stage::Execution,
        }
    }

    fn extend(&mut self, field: &'static str, steps: Vec<Step>) -> Result<(), Error> {
        for step in steps {
            let step = self.of_execution(step)?;
            self.exec.push(step);
        }
        match self.exec.len() {
            count if count > MAX_STEPS as usize => {
                Err(beyond_steps(self.program.operator, field, count as u64))
            }
            _ => Ok(()),
        }
    }

    /// The step, reading the inputs that are OWNED_BY_DML where initialization has put them.
    fn of_execution(&mut self, step: Step) -> Result<Step, Error> {
        let mut places = HashMap::new();
        for slot in relocate::read(&step) {
            let Slot::Input(index) = slot else { continue };
            let binding = self.program.input(Buffer::Input(index)).filter(|it| it.is_owned());
            if let Some(Binding { tensor, field, .. }) = binding {
                let (names, constants) = ((self.program.operator, *field), &mut self.constants);
                let place = self.kept.source(names, index, tensor, self.target, constants)?;
                places.insert(slot, place);
            }
        }
        if places.is_empty() {
            return Ok(step);
        }
        Ok(relocate::relocated(&step, &|slot| places.get(&slot).copied().unwrap_or((slot, 0))))
    }

    /// Dispatches, to be added when they are complete.
    fn dispatches(&self) -> Dispatches<'a> {
        Dispatches::new(self.program.operator, self.program.field, self.target)
    }

    /// Adds dispatches.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`]: with them there are too many steps.
    fn add(&mut self, dispatches: Dispatches<'_>) -> Result<(), Error> {
        self.extend(self.program.field, dispatches.into_steps())
    }

    /// The plan of all that was added.
    fn into_plan(self) -> Plan {
        let requirements = |all: &[Option<Binding>]| {
            all.iter().map(|it| it.as_ref().map(|it| it.requirement.clone())).collect()
        };
        Plan {
            operator: self.program.operator,
            strategy: self.strategy,
            inputs: requirements(&self.program.inputs),
            outputs: requirements(&self.program.outputs),
            init: self.kept.init,
            exec: self.exec,
            in_place: self.in_place,
            temporary_size: self.temporary_size,
            persistent_size: self.kept.size,
            constants: self.constants.bytes,
        }
    }
}

/// Kernels add elements and strides modulo 2^32, which is right for negative ones as well.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "modulo 2^32")]
fn modulo_2_32(element: i64) -> u32 {
    element as u32
}
