//! The plan of an operator that kernels execute, and copies where rows are only moved, while it is being built.

use std::collections::HashMap;

use dml_core::plan::{BindingRequirement, Copy, Plan, Slot, Step};
use dml_core::schema::FieldKind;
use dml_core::{Error, Strategy, TensorFlags, TensorLayout, Validated};
use dml_spirv::ElementWidth;

use crate::Target;
use crate::ir::space::{IterationSpace, Operand};
use crate::schedule::constants::Constants;
use crate::schedule::dispatches::{Dispatches, MAX_STEPS, beyond_steps};
use crate::schedule::map::{self, Computation};
use crate::schedule::owned::{Kept, PART_ALIGNMENT};
use crate::schedule::relocate::{self, relocated};

/// Steps, and the memory beside the tensors that they work on.
pub(crate) struct Kernels<'a> {
    operator: &'a Validated,
    target: &'a Target<'a>,
    pub(super) constants: Constants,
    kept: Kept,
    exec: Vec<Step>,
    temporary_size: u64,
    /// Words for the parts of sums, and how many: used again by the next ones that need no more.
    parts: Option<(Operand, u64)>,
    /// What there is beside copies.
    pub(super) strategy: Strategy,
}

impl<'a> Kernels<'a> {
    /// No steps yet.
    pub(crate) fn new(operator: &'a Validated, target: &'a Target<'a>) -> Self {
        Self {
            operator,
            target,
            constants: Constants::default(),
            kept: Kept::default(),
            exec: Vec::new(),
            temporary_size: 0,
            parts: None,
            strategy: Strategy::Kernel,
        }
    }

    /// The inputs in binding order; `None` where one is left out. Steps may read them wherever they run.
    ///
    /// # Errors
    /// [`Error::Internal`]: no kernel moves such elements.
    pub(crate) fn inputs(&self) -> Result<Vec<Option<Operand>>, Error> {
        self.operands(FieldKind::Input, Slot::Input)
    }

    fn operands(
        &self,
        kind: FieldKind,
        slot: fn(u32) -> Slot,
    ) -> Result<Vec<Option<Operand>>, Error> {
        let name = self.operator.schema().name;
        let of = |(index, tensor): (u32, Option<&TensorLayout>)| {
            tensor.map(|it| Operand::of(name, slot(index), it)).transpose()
        };
        let tensors = self.operator.tensors(kind).map(|(_, tensor)| tensor);
        (0..).zip(tensors).map(of).collect()
    }

    /// Words in the plan's constants, and how many bytes into them they are.
    pub(crate) fn constants(&mut self, words: &[u32]) -> (Slot, u64) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        (Slot::Constants, self.constants.add(&bytes).start)
    }

    /// The outputs in binding order; `None` where one is left out.
    ///
    /// # Errors
    /// [`Error::Internal`]: no kernel moves such elements.
    pub(crate) fn outputs(&self) -> Result<Vec<Option<Operand>>, Error> {
        self.operands(FieldKind::Output, Slot::Output)
    }

    /// So many elements of the temporary resource, one after the other.
    pub(crate) fn temporary(&mut self, width: ElementWidth, count: u64) -> Operand {
        reserved(Slot::Temporary, &mut self.temporary_size, width, count)
    }

    /// So many words that hold parts of sums until these are added up.
    pub(super) fn place_of_parts(&mut self, count: u64) -> Operand {
        let (place, length) = match self.parts.take().filter(|(_, length)| *length >= count) {
            Some(known) => known,
            None => (self.temporary(ElementWidth::B32, count), count),
        };
        self.parts = Some((place.clone(), length));
        place
    }

    /// So many elements for what is made of these operands alone. Where all of them are there at initialization,
    /// and one is OWNED_BY_DML, it is made then, and kept.
    pub(crate) fn derived(&mut self, of: &[&Operand], width: ElementWidth, count: u64) -> Operand {
        let is_constant = |it: &&&Operand| matches!(it.slot, None | Some(Slot::Constants));
        let mut others = of.iter().filter(|it| !is_constant(it)).peekable();
        let is_kept = others.peek().is_some() && others.all(|it| self.is_kept(it.slot));
        match is_kept {
            true => reserved(Slot::Persistent, &mut self.kept.size, width, count),
            false => self.temporary(width, count),
        }
    }

    /// Whether a slot is there at initialization, and keeps its values.
    fn is_kept(&self, slot: Option<Slot>) -> bool {
        match slot {
            Some(Slot::Input(index)) => self.owned(index).is_some(),
            slot => slot == Some(Slot::Persistent),
        }
    }

    /// The input with a number, where it is OWNED_BY_DML.
    fn owned(&self, index: u32) -> Option<&'a TensorLayout> {
        let (_, tensor) = self.operator.tensors(FieldKind::Input).nth(index as usize)?;
        tensor.filter(|it| it.flags().contains(TensorFlags::OWNED_BY_DML))
    }

    /// An element that is the same at every coordinate.
    pub(crate) fn constant(&mut self, width: ElementWidth, bits: u64) -> Operand {
        let bytes = width.bytes();
        let element = &bits.to_le_bytes()[..bytes as usize];
        let start = self.constants.add_aligned(element, bytes.into()).start;
        let base = (start / u64::from(bytes)).cast_signed();
        let strides = Default::default();
        Operand { slot: Some(Slot::Constants), width, base, strides, displacement: None }
    }

    /// Adds the steps that compute `space`.
    ///
    /// # Errors
    /// As [`map::steps`]; [`Error::DeviceLimit`] where all together are too many.
    pub(crate) fn compute(
        &mut self,
        space: IterationSpace,
        computation: &Computation,
    ) -> Result<(), Error> {
        let (name, field) = (self.operator.schema().name, self.field_of(&space));
        let constants = &mut self.constants;
        let is_kept = space.output.slot == Some(Slot::Persistent);
        let steps = map::steps(name, field, space, computation, self.target, constants)?;
        if is_kept {
            self.kept.init.extend(steps);
            return Ok(());
        }
        self.extend(field, steps)
    }

    /// Adds a copy.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`]: with it there are too many steps.
    pub(crate) fn copy(&mut self, copy: Copy) -> Result<(), Error> {
        self.extend(self.output_field(), vec![Step::Copy(copy)])
    }

    fn extend(&mut self, field: &'static str, steps: Vec<Step>) -> Result<(), Error> {
        let name = self.operator.schema().name;
        for step in steps {
            let step = self.of_execution(step)?;
            self.exec.push(step);
        }
        match self.exec.len() {
            count if count > MAX_STEPS as usize => Err(beyond_steps(name, field, count as u64)),
            _ => Ok(()),
        }
    }

    /// The step, reading the inputs that are OWNED_BY_DML where initialization has put them.
    fn of_execution(&mut self, step: Step) -> Result<Step, Error> {
        let mut places = HashMap::new();
        for slot in relocate::read(&step) {
            let Slot::Input(index) = slot else { continue };
            if let Some(tensor) = self.owned(index) {
                let (name, constants) = (self.operator.schema().name, &mut self.constants);
                let place = self.kept.source(name, index, tensor, self.target, constants)?;
                places.insert(slot, place);
            }
        }
        if places.is_empty() {
            return Ok(step);
        }
        Ok(relocated(&step, &|slot| places.get(&slot).copied().unwrap_or((slot, 0))))
    }

    /// The most bytes of a tensor that one descriptor shows.
    pub(crate) fn most_shown(&self) -> u64 {
        self.target.max_window()
    }

    /// Dispatches, to be added when they are complete.
    pub(super) fn dispatches(&self) -> Dispatches<'a> {
        Dispatches::new(self.operator.schema().name, self.output_field(), self.target)
    }

    /// Adds dispatches.
    ///
    /// # Errors
    /// As [`Self::copy`].
    pub(super) fn add(&mut self, dispatches: Dispatches<'_>) -> Result<(), Error> {
        self.extend(self.output_field(), dispatches.into_steps())
    }

    /// How many steps runs have so far.
    pub(super) fn step_count(&self) -> usize {
        self.exec.len()
    }

    /// Declares that the last step, a dispatch, may run at the same time as those directly before it.
    pub(super) fn make_last_concurrent(&mut self) {
        if let Some(Step::Dispatch(dispatch)) = self.exec.last_mut() {
            dispatch.is_concurrent = true;
        }
    }

    /// The field that messages name: that of an input which must be shown whole, since it is displaced, or that
    /// of the output.
    fn field_of(&self, space: &IterationSpace) -> &'static str {
        let displaced = space.inputs.iter().find(|it| it.displacement.is_some());
        let input = displaced.and_then(|it| match it.slot {
            Some(Slot::Input(index)) => self.operator.tensors(FieldKind::Input).nth(index as usize),
            _ => None,
        });
        input.map_or_else(|| self.output_field(), |(path, _)| path.field.name)
    }

    fn output_field(&self) -> &'static str {
        let fields = &self.operator.schema().fields;
        fields.iter().find(|it| it.kind == FieldKind::Output).map_or("", |field| field.name)
    }

    /// The plan of all that was added.
    pub(crate) fn into_plan(self) -> Plan {
        let requirements = |kind| {
            let tensors = self.operator.tensors(kind);
            let of = |tensor, path| BindingRequirement::of(path, tensor);
            tensors.map(|(path, it)| it.map(|tensor| of(tensor, path.name()))).collect()
        };
        let has_copies = self.exec.iter().any(|step| matches!(step, Step::Copy(_)));
        Plan {
            operator: self.operator.schema().name,
            strategy: if has_copies { Strategy::RowCopies } else { self.strategy },
            inputs: requirements(FieldKind::Input),
            outputs: requirements(FieldKind::Output),
            init: self.kept.init,
            exec: self.exec,
            in_place: vec![],
            temporary_size: self.temporary_size,
            persistent_size: self.kept.size,
            constants: self.constants.bytes,
        }
    }
}

/// So many elements of a resource, after what it has.
fn reserved(slot: Slot, size: &mut u64, width: ElementWidth, count: u64) -> Operand {
    let start = size.next_multiple_of(PART_ALIGNMENT);
    let bytes = u64::from(width.bytes());
    *size = start + (count * bytes).next_multiple_of(4);
    let base = (start / bytes).cast_signed();
    let strides = Default::default();
    Operand { slot: Some(slot), width, base, strides, displacement: None }
}
