//! The buffers that are bound to an operator, and the checks that every binding must pass.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Range;

use dml_core::plan::{Aliases, BindingRequirement, BoundAt, InPlace, Plan, Slot};

use crate::bind::compiled::CompiledOperator;
use crate::bind::compiled_plan::Phase;
use crate::error::{Error, Result};
use crate::memory::buffer::{Buffer, BufferUsage};
use crate::memory::{BINDING_ALIGNMENT, RESOURCE_ALIGNMENT};

/// A range of a buffer that a tensor or resource is bound to.
#[derive(Clone, Copy, Debug)]
pub struct BufferBinding<'a> {
    /// The buffer.
    pub buffer: &'a Buffer,
    /// Where the range starts, in bytes.
    pub offset: u64,
    /// The range's length in bytes.
    pub size: u64,
}

impl<'a> BufferBinding<'a> {
    /// The whole of `buffer`.
    pub fn whole(buffer: &'a Buffer) -> Self {
        Self { buffer, offset: 0, size: buffer.size() }
    }
}

/// All buffers that are bound to an operator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bindings<'a> {
    /// One entry for each input: `None` for an absent optional input, and for inputs that are bound in the
    /// other phase. Inputs that are OWNED_BY_DML are bound at initialization only, all others at execution
    /// only. May be empty at initialization if no input is bound then.
    pub inputs: &'a [Option<BufferBinding<'a>>],
    /// One entry for each output: `None` for an absent optional output. Outputs are bound at execution only;
    /// may be empty at initialization.
    pub outputs: &'a [Option<BufferBinding<'a>>],
    /// The temporary resource: one range for all of it, or the ranges of
    /// [`CompiledOperator::temporary_buffers`]. Ignored if the operator needs none.
    pub temporary: &'a [BufferBinding<'a>],
    /// The persistent resource: one range for all of it, or the ranges of
    /// [`CompiledOperator::persistent_buffers`]. Ignored if the operator needs none.
    pub persistent: &'a [BufferBinding<'a>],
}

/// One checked binding with its role.
#[derive(Clone, Debug)]
pub(crate) struct CheckedBinding {
    pub(crate) slot: Slot,
    /// The byte of the slot that the range begins with: 0, except for later pieces of a resource.
    pub(crate) start: u64,
    pub(crate) field: String,
    pub(crate) buffer: Buffer,
    pub(crate) offset: u64,
    size: u64,
}

impl CheckedBinding {
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.size
    }

    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.buffer.raw() == other.buffer.raw()
            && self.offset < other.end()
            && other.offset < self.end()
    }

    /// Whether `other`, which overlaps it, is the same range.
    fn is_same_range(&self, other: &Self) -> bool {
        self.offset == other.offset && self.size == other.size
    }
}

/// Checks everything except transfer usages, which depend on the plan that is used. Also returns the inputs that
/// are bound to the bytes of an output.
pub(crate) fn check_bindings(
    compiled: &CompiledOperator,
    plan: &Plan,
    bindings: &Bindings<'_>,
    phase: Phase,
) -> Result<(Vec<CheckedBinding>, Aliases)> {
    let checker = Checker { compiled, phase };
    let mut bound = Vec::new();
    checker.tensors("inputs", Slot::Input, compiled.inputs(), bindings.inputs, &mut bound)?;
    checker.tensors("outputs", Slot::Output, compiled.outputs(), bindings.outputs, &mut bound)?;
    let resources = [
        (Slot::Temporary, plan.temporary_pieces(), bindings.temporary),
        (Slot::Persistent, plan.persistent_pieces(), bindings.persistent),
    ];
    for (slot, pieces, given) in resources {
        checker.resource(slot, &pieces, given, &mut bound)?;
    }
    let aliases = checker.overlaps(&bound)?;
    Ok((bound, aliases))
}

struct Checker<'a> {
    compiled: &'a CompiledOperator,
    phase: Phase,
}

impl Checker<'_> {
    fn tensors(
        &self,
        list: &str,
        slot: fn(u32) -> Slot,
        required: &[Option<BindingRequirement>],
        given: &[Option<BufferBinding<'_>>],
        bound: &mut Vec<CheckedBinding>,
    ) -> Result<()> {
        let is_bound_now = |one: &BindingRequirement| match self.phase {
            Phase::Initialize => one.bound_at == BoundAt::Initialization,
            Phase::Execute => one.bound_at == BoundAt::Execution,
        };
        let none_is_bound = !required.iter().flatten().any(is_bound_now);
        if self.phase == Phase::Initialize && none_is_bound && given.is_empty() {
            return Ok(());
        }
        if given.len() != required.len() {
            let problem = format!("{} bindings given", given.len());
            return Err(self.error(list, problem, format!("{} bindings", required.len())));
        }
        for ((requirement, binding), index) in required.iter().zip(given).zip(0..) {
            match (requirement, binding) {
                (Some(needed), binding) if !is_bound_now(needed) => {
                    if binding.is_some() {
                        return Err(self.out_of_phase(needed));
                    }
                }
                (Some(needed), binding) => {
                    let alignment = BINDING_ALIGNMENT.max(u64::from(needed.alignment));
                    let rule = (needed.size, alignment);
                    bound.push(self.one(slot(index), &needed.field, rule, binding.as_ref())?);
                }
                (None, Some(_)) => {
                    let field = format!("{list}[{index}]");
                    let problem = "a buffer is bound, but the operator has no such tensor";
                    return Err(self.error(&field, problem.to_owned(), "no binding".to_owned()));
                }
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// Checks the ranges of a resource: one for all pieces, or one for each.
    fn resource(
        &self,
        slot: Slot,
        pieces: &[Range<u64>],
        given: &[BufferBinding<'_>],
        bound: &mut Vec<CheckedBinding>,
    ) -> Result<()> {
        let field =
            if slot == Slot::Temporary { "TemporaryResource" } else { "PersistentResource" };
        let whole = pieces.last().map(|last| 0..last.end);
        let pieces = if given.len() == 1 { whole.as_slice() } else { pieces };
        for (index, piece) in pieces.iter().enumerate() {
            let field = match pieces.len() {
                1 => field.to_owned(),
                _ => format!("{field}[{index}]"),
            };
            let rule = (piece.end - piece.start, RESOURCE_ALIGNMENT);
            let checked = self.one(slot, &field, rule, given.get(index))?;
            bound.push(CheckedBinding { start: piece.start, ..checked });
        }
        Ok(())
    }

    /// Checks one binding against its size in bytes and the alignment of its offset.
    fn one(
        &self,
        slot: Slot,
        field: &str,
        (size, alignment): (u64, u64),
        binding: Option<&BufferBinding<'_>>,
    ) -> Result<CheckedBinding> {
        let Some(binding) = binding else {
            let accepted = format!("a buffer range of at least {size} bytes");
            return Err(self.error(field, "nothing is bound".to_owned(), accepted));
        };
        if !self.compiled.device().owns(binding.buffer) {
            let problem = format!("buffer `{}` belongs to another device", binding.buffer.name());
            let accepted = "a buffer of the device that the operator was compiled for".to_owned();
            return Err(self.error(field, problem, accepted));
        }
        let BufferBinding { buffer, offset, size: given } = *binding;
        if !offset.is_multiple_of(alignment) {
            let accepted = format!("a multiple of {alignment} bytes");
            return Err(self.error(field, format!("offset {offset}"), accepted));
        }
        if offset.checked_add(given).is_none_or(|end| end > buffer.size()) {
            let problem = format!("{given} bytes at offset {offset}");
            let accepted = format!("a range inside the buffer's {} bytes", buffer.size());
            return Err(self.error(field, problem, accepted));
        }
        if given < size {
            let problem = format!("a range of {given} bytes");
            return Err(self.error(field, problem, format!("at least {size} bytes")));
        }
        if !buffer.usage().contains(BufferUsage::STORAGE) {
            let problem = format!("the buffer's usage is {}", buffer.usage());
            return Err(self.error(field, problem, "a usage with STORAGE".to_owned()));
        }
        let (field, buffer) = (field.to_owned(), buffer.clone());
        Ok(CheckedBinding { slot, start: 0, field, buffer, offset, size: given })
    }

    fn out_of_phase(&self, needed: &BindingRequirement) -> Error {
        let (problem, accepted) = match self.phase {
            Phase::Initialize => (
                "a buffer is bound, but the tensor is not OWNED_BY_DML",
                "no binding at initialization; it is bound at execution",
            ),
            Phase::Execute => (
                "a buffer is bound, but the tensor is OWNED_BY_DML",
                "no binding at execution; it is bound at initialization",
            ),
        };
        self.error(&needed.field, problem.to_owned(), accepted.to_owned())
    }

    /// Inputs may share bytes with each other. Written buffers may not, unless the operator allows execution
    /// in place. Returns the inputs that are bound to outputs.
    fn overlaps(&self, bound: &[CheckedBinding]) -> Result<Aliases> {
        let mut aliases = Aliases::NONE;
        let shared = sharing(&bound.iter().collect::<Vec<_>>());
        for (index, one) in shared.iter().map(|at| &bound[*at]).enumerate() {
            for other in shared[index + 1..].iter().map(|at| &bound[*at]) {
                let both_read = matches!((one.slot, other.slot), (Slot::Input(_), Slot::Input(_)));
                if both_read || !one.overlaps(other) {
                    continue;
                }
                // Inputs come before outputs.
                let pair = match (one.slot, other.slot) {
                    (Slot::Input(input), Slot::Output(output)) => Some((input, output)),
                    _ => None,
                };
                let with = pair.filter(|_| one.is_same_range(other));
                let with = with.map(|with| Aliases::new(aliases.pairs().chain([with])));
                let allowed = with.filter(|with| self.compiled.plan().allowed(with).is_some());
                aliases = allowed.ok_or_else(|| self.overlap(one, other, bound))?;
            }
        }
        Ok(aliases)
    }

    fn overlap(
        &self,
        one: &CheckedBinding,
        other: &CheckedBinding,
        bound: &[CheckedBinding],
    ) -> Error {
        let problem = format!(
            "bytes {}..{} overlap {} (bytes {}..{}) in the same buffer",
            other.offset,
            other.end(),
            one.field,
            one.offset,
            one.end()
        );
        let mut accepted = "a range that shares no byte with another binding".to_owned();
        let in_place = self.compiled.in_place();
        let pairs = in_place.iter().filter(|it| other.slot == Slot::Output(it.output));
        let field = |it: &InPlace| bound.iter().find(|one| one.slot == Slot::Input(it.input));
        let fields: Vec<&str> = pairs.filter_map(field).map(|it| it.field.as_str()).collect();
        let alone = in_place.len() > 1 && !in_place.iter().all(InPlace::is_by_same_steps);
        if !fields.is_empty() {
            let alone = if alone { " alone" } else { "" };
            accepted += &format!(", or exactly that of {}{alone}", fields.join(" or "));
        }
        self.error(&other.field, problem, accepted)
    }

    fn error(&self, field: &str, problem: String, accepted: String) -> Error {
        Error::InvalidBinding {
            operator: self.compiled.operator(),
            field: field.to_owned(),
            problem,
            accepted,
        }
    }
}

/// Indices, ascending, of bindings that share bytes with another where at least one of the two is written.
/// `bound` can have very many entries.
pub(crate) fn sharing(bound: &[&CheckedBinding]) -> Vec<usize> {
    let is_written = |at: usize| !matches!(bound[at].slot, Slot::Input(_));
    let mut by_place: Vec<usize> = (0..bound.len()).collect();
    by_place.sort_by_key(|at| (bound[*at].buffer.raw(), bound[*at].offset));
    let mut found = BTreeSet::new();
    // The read and the written ranges that begin before the current one and end after its beginning.
    let mut open: [BinaryHeap<Reverse<(u64, usize)>>; 2] = Default::default();
    let mut buffer = None;
    for at in by_place {
        let one = bound[at];
        if buffer.replace(one.buffer.raw()) != Some(one.buffer.raw()) {
            open.iter_mut().for_each(BinaryHeap::clear);
        }
        for heap in &mut open {
            while heap.peek().is_some_and(|Reverse((end, _))| *end <= one.offset) {
                heap.pop();
            }
        }
        let others = if is_written(at) { &open[..] } else { &open[1..] };
        for Reverse((_, other)) in others.iter().flatten() {
            found.extend([*other, at]);
        }
        open[usize::from(is_written(at))].push(Reverse((one.end(), at)));
    }
    found.into_iter().collect()
}
