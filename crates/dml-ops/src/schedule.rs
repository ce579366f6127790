//! Turns a program into a plan: the only place that knows kinds of devices.
//!
//! A [`Schedule`] goes through a program's buffers and nodes in order. Each node becomes steps: a space is
//! coalesced, and divided into boxes that descriptors can show ([`boxes`]); rows and products are divided
//! into parts where that gives work to more invocations. Local buffers get places in the temporary and the
//! persistent resource and in the constants; inputs that are OWNED_BY_DML are kept by initialization
//! ([`owned`]).

mod attention;
mod band;
pub(crate) mod boxes;
pub(crate) mod constants;
mod contract;
pub(crate) mod cost;
pub(crate) mod dispatches;
mod fill;
pub(crate) mod grid;
mod map;
mod memory;
mod moves;
pub(crate) mod owned;
pub(crate) mod patterns;
mod piece;
mod places;
mod reduce;
pub(crate) mod relocate;
pub(crate) mod resource;
mod rows;
mod scan;
pub(crate) mod seed;
mod sharing;
mod sort;
mod transpose;

use std::borrow::Cow;
use std::ops::Range;

use dml_core::kernel::{KernelModule, Shared, can_run};
use dml_core::plan::{Divisions, InPlace, Plan, Slot, Step};
use dml_core::{Error, Strategy};
use rustc_hash::FxHashMap;

use crate::Target;
use crate::ir::space::Operand;
use crate::ir::{AttentionGroup, Binding, Buffer, Node, Origin, Program, Recorded, Sources};
use crate::target::{MAX_STEPS, beyond_steps};
use constants::Constants;
use dispatches::Dispatches;
use owned::OwnedCopies;
use resource::Resource;

pub(crate) use sharing::TemporaryBytes;

/// The plan that executes `program` on `target`.
///
/// # Errors
/// [`Error::DeviceLimit`] if the program exceeds a limit of the target.
pub(crate) fn plan(program: &Program, target: &Target<'_>) -> Result<Plan, Error> {
    let scheduled = Scheduled::of(program, target).map_err(|it| it.error)?;
    Ok(scheduled.into_plan())
}

/// A node that exceeds a limit of the target, and the error.
pub(crate) struct Refusal {
    /// The node's number.
    pub(crate) node: usize,
    pub(crate) error: Error,
}

/// A program with the steps of its nodes. The parts of the temporary resource are separate until
/// [`Scheduled::place_temporaries`].
pub(crate) struct Scheduled<'a> {
    program: &'a Program,
    target: &'a Target<'a>,
    nodes: Vec<ScheduledNode<'a>>,
    /// The resource and the first byte of each local buffer; `None` where no node uses it.
    locals: Vec<Option<(Slot, u64)>>,
    temporaries: Vec<Temporary>,
    constants: Vec<u8>,
    kept: OwnedCopies,
    strategy: Strategy,
    in_place: Vec<InPlace>,
    temporary: Resource,
}

/// The steps of a node, or of some members of a group.
struct ScheduledNode<'a> {
    /// The number of the program's node.
    number: usize,
    recorded: Cow<'a, Recorded>,
    steps: Vec<Step>,
    /// The steps to execute if output and input share bytes; `None` if these are `steps`.
    in_place: Option<Vec<Step>>,
}

/// A part of the temporary resource: a local buffer, or memory that a node's steps need.
struct Temporary {
    /// The bytes in the resource.
    range: Range<u64>,
    /// The scheduled node that the part belongs to; `None` for a local buffer.
    node: Option<usize>,
}

/// The state of scheduling a program.
struct Schedule<'a> {
    program: &'a Program,
    target: &'a Target<'a>,
    /// The origin of the node being scheduled.
    origin: &'a Origin,
    constants: Constants,
    kept: OwnedCopies,
    /// The steps of the node being scheduled.
    exec: Vec<Step>,
    /// The number of steps of earlier nodes of the same operator.
    steps_before: usize,
    nodes: Vec<ScheduledNode<'a>>,
    temporaries: Vec<Temporary>,
    temporary: Resource,
    locals: Vec<Option<(Slot, u64)>>,
    /// The words for the parts of sums, and their number; later sums that need no more reuse them.
    parts: Option<(Operand<Slot>, u64)>,
    strategy: Strategy,
    in_place: Vec<InPlace>,
}

impl<'a> Scheduled<'a> {
    /// Schedules every node of `program`.
    ///
    /// # Errors
    /// [`Refusal`] with [`Error::DeviceLimit`] if a node exceeds a limit of the target.
    pub(crate) fn of(program: &'a Program, target: &'a Target<'a>) -> Result<Self, Refusal> {
        static NONE: Origin = Origin { operator: "", field: "", sources: Sources::new_const() };
        let mut schedule = Schedule::new(program, target, &NONE);
        for (number, recorded) in program.nodes.iter().enumerate() {
            schedule.add(number, recorded).map_err(|error| Refusal { node: number, error })?;
        }
        Ok(schedule.finish())
    }

    /// The steps of the program's nodes with these numbers.
    pub(crate) fn steps_of(&self, nodes: Range<usize>) -> impl Iterator<Item = &Step> {
        let at = |number: usize| self.nodes.partition_point(|it| it.number < number);
        self.nodes[at(nodes.start)..at(nodes.end)].iter().flat_map(|it| &it.steps)
    }

    /// The indices in the plan of the steps of a node.
    pub(crate) fn indices_of(&self, node: usize) -> Range<usize> {
        let first = self.steps_of(0..node).count();
        first..first + self.steps_of(node..node + 1).count()
    }

    /// The plan.
    pub(crate) fn into_plan(self) -> Plan {
        let requirements = |all: &[Option<Binding>]| {
            all.iter().map(|it| it.as_ref().map(|it| it.requirement.clone())).collect()
        };
        let mut exec = Vec::with_capacity(self.nodes.iter().map(|node| node.steps.len()).sum());
        exec.extend(self.nodes.into_iter().flat_map(|node| node.steps));
        Plan {
            operator: self.program.operator,
            strategy: self.strategy,
            inputs: requirements(&self.program.inputs),
            outputs: requirements(&self.program.outputs),
            init: self.kept.init,
            exec,
            in_place: self.in_place,
            temporary_size: self.temporary.size,
            persistent_size: self.kept.resource.size,
            divisions: Divisions {
                temporary: self.temporary.divisions,
                persistent: self.kept.resource.divisions,
            },
            constants: self.constants,
        }
    }
}

impl<'a> Schedule<'a> {
    fn new(program: &'a Program, target: &'a Target<'a>, origin: &'a Origin) -> Self {
        let in_place = program.in_place.iter();
        let mut schedule = Self {
            program,
            target,
            origin,
            constants: Constants::default(),
            kept: OwnedCopies::default(),
            exec: Vec::new(),
            steps_before: 0,
            nodes: Vec::with_capacity(program.nodes.len()),
            temporaries: Vec::new(),
            temporary: Resource::default(),
            locals: vec![None; program.locals.len()],
            parts: None,
            strategy: Strategy::Kernel,
            in_place: in_place
                .map(|(input, output)| InPlace::by_same_steps(*input, *output))
                .collect(),
        };
        schedule.place_locals(program.nodes.iter().flat_map(|node| node.node.outside()));
        schedule
    }

    /// Schedules a node of the program. Of a group as many members as possible become one kernel; the others
    /// are scheduled separately.
    fn add(&mut self, number: usize, recorded: &'a Recorded) -> Result<(), Error> {
        if let Node::Attention(group) = &recorded.node {
            return self.add_attention(number, group, recorded);
        }
        let Node::Rows(group) = &recorded.node else { return self.add_node(number, recorded) };
        let mut first = 0;
        while let Some(member) = group.members.get(first) {
            self.begin(&recorded.origin);
            match self.row_kernel(group, first)? {
                Some(members) => {
                    first += members.members.len();
                    let recorded =
                        Recorded { node: Node::Rows(members), origin: recorded.origin.clone() };
                    self.end(number, Cow::Owned(recorded), None);
                }
                None => {
                    first += 1;
                    self.place_locals(member.node.writes());
                    self.add_node(number, member)?;
                }
            }
        }
        Ok(())
    }

    /// Schedules an attention as one kernel, or, where no kernel can compute it, its members.
    fn add_attention(
        &mut self,
        number: usize,
        group: &'a AttentionGroup,
        recorded: &'a Recorded,
    ) -> Result<(), Error> {
        self.begin(&recorded.origin);
        if self.attention(&group.kernel)? {
            self.end(number, Cow::Borrowed(recorded), None);
            return Ok(());
        }
        for member in &group.members {
            self.place_locals(member.node.outside());
            self.add(number, member)?;
        }
        Ok(())
    }

    /// Schedules a node, or a member of a group.
    fn add_node(&mut self, number: usize, recorded: &'a Recorded) -> Result<(), Error> {
        self.begin(&recorded.origin);
        let in_place = self.node(&recorded.node)?;
        self.end(number, Cow::Borrowed(recorded), in_place);
        Ok(())
    }

    fn begin(&mut self, origin: &'a Origin) {
        if !origin.is_of_same(self.origin) {
            (self.steps_before, self.parts) = (0, None);
        }
        self.origin = origin;
    }

    fn end(&mut self, number: usize, recorded: Cow<'a, Recorded>, in_place: Option<Vec<Step>>) {
        let steps = std::mem::take(&mut self.exec);
        self.steps_before += steps.len();
        self.nodes.push(ScheduledNode { number, recorded, steps, in_place });
    }

    fn finish(self) -> Scheduled<'a> {
        Scheduled {
            program: self.program,
            target: self.target,
            nodes: self.nodes,
            locals: self.locals,
            temporaries: self.temporaries,
            constants: self.constants.bytes,
            kept: self.kept,
            strategy: self.strategy,
            in_place: self.in_place,
            temporary: self.temporary,
        }
    }

    /// Adds the steps of a node, and returns the steps for execution in place, if these are different.
    fn node(&mut self, node: &Node) -> Result<Option<Vec<Step>>, Error> {
        match node {
            Node::Map(map) => self.map(self.placed(&map.space), &map.computation)?,
            Node::Reduce(reduce) => {
                let space = self.placed(&reduce.space);
                match reduce.grids {
                    None => self.reduce(space, reduce.order, &reduce.reduction)?,
                    Some(grids) => self.reduce_grids(&space, grids, &reduce.reduction)?,
                }
            }
            Node::Scan(scan) => self.scan(scan)?,
            Node::Sort(sort) => self.sort(sort)?,
            Node::Rows(_) | Node::Attention(_) => {
                return Err(self.internal("a group is a member of a group"));
            }
            Node::Contract(all) => {
                let all = all.iter().map(|it| {
                    it.placed(|place| self.placed_words(place), |zeros| self.placed_zeros(zeros))
                });
                self.contract(all.collect())?;
            }
            Node::ContractWhole(matrices) => self.contract_whole(matrices)?,
            Node::Move(space) => self.move_elements(self.placed(space))?,
            Node::Fill(fill) => self.fill(fill)?,
            Node::Band(band) => return self.band(band),
        }
        Ok(None)
    }

    fn internal(&self, problem: &str) -> Error {
        Error::internal(self.origin.operator, problem)
    }

    /// Whether work groups share the rows that they scan or sort: the device prefers that, and can run the kernel.
    fn shares_rows(&self, kernel: impl FnOnce() -> Shared<KernelModule>) -> bool {
        let tuning = self.target.tuning;
        let is_preferred =
            tuning.strategy.map_or(tuning.shared_tiles, |strategy| strategy == Strategy::RowGroups);
        is_preferred && can_run(&kernel(), self.target.capabilities)
    }

    fn extend(&mut self, field: &'static str, steps: Vec<Step>) -> Result<(), Error> {
        self.exec.reserve(steps.len());
        for step in steps {
            let step = self.of_execution(step)?;
            self.exec.push(step);
        }
        match self.steps_before + self.exec.len() {
            count if count > MAX_STEPS as usize => {
                Err(beyond_steps(self.origin.operator, field, count as u64))
            }
            _ => Ok(()),
        }
    }

    /// The step, with inputs that are OWNED_BY_DML replaced by the copies that initialization made.
    fn of_execution(&mut self, step: Step) -> Result<Step, Error> {
        let mut places = FxHashMap::default();
        for slot in relocate::read(&step) {
            let Slot::Input(index) = slot else { continue };
            let binding = self.program.input(Buffer::Input(index)).filter(|it| it.is_owned());
            if let Some(Binding { tensor, field, .. }) = binding {
                let (names, constants) = ((self.origin.operator, *field), &mut self.constants);
                let place = self.kept.source(names, index, tensor, self.target, constants)?;
                places.insert(slot, place);
            }
        }
        if places.is_empty() {
            return Ok(step);
        }
        Ok(relocate::relocated(step, &|slot, offset| match places.get(&slot) {
            Some((kept, start)) => (*kept, start + offset),
            None => (slot, offset),
        }))
    }

    /// An empty list of dispatches, for [`Self::add_dispatches`].
    fn dispatches(&self) -> Dispatches<'a> {
        Dispatches::new(self.origin.operator, self.origin.field, self.target)
    }

    /// Adds dispatches.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`] if there are too many steps with them.
    fn add_dispatches(&mut self, dispatches: Dispatches<'_>) -> Result<(), Error> {
        self.extend(self.origin.field, dispatches.into_steps())
    }
}

/// Kernels add elements and strides modulo 2^32, which is correct for negative numbers as well.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "modulo 2^32")]
fn modulo_2_32(element: i64) -> u32 {
    element as u32
}
