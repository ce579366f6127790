//! Buffers that the programs of a session use in turn: temporary memory, inputs, outputs, and staging memory.
//!
//! A run has an arena for itself. Runs that do not overlap use the same arena, which is as large as the largest of
//! their programs. A run that begins meanwhile, of the same program or another one, gets a second arena, so that the
//! host copies for one run while the device computes another. Further runs wait for one of the two.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use dml::{Buffer, BufferUsage, Device, MemoryLocation};

use crate::error::Result;

use super::lent::{AllLent, Lent};
use super::memory::{create, create_for_transfers, is_out_of_memory};
use super::resources::Resources;

/// The most arenas of a session: the device executes one submission at a time.
const MOST_ARENAS: usize = 2;

/// The arenas of a session, or of one program, with commands of type `C` that were recorded for them.
#[derive(Debug)]
pub(crate) struct Arenas<C> {
    all: Mutex<All<C>>,
    /// Notified when a run has ended.
    freed: Condvar,
}

#[derive(Debug)]
struct All<C> {
    /// Arenas that no run has.
    unused: Vec<Arena<C>>,
    /// The states of all arenas.
    states: Vec<Arc<State>>,
    /// How many arenas there may be.
    most: usize,
}

impl<C> Default for Arenas<C> {
    fn default() -> Self {
        let all = All { unused: vec![], states: vec![], most: MOST_ARENAS };
        Self { all: Mutex::new(all), freed: Condvar::new() }
    }
}

/// The arena of a run, which gives it back at its end.
struct InUse<'a, C> {
    of: &'a Arenas<C>,
    arena: Option<Arena<C>>,
}

impl<C> Drop for InUse<'_, C> {
    fn drop(&mut self) {
        self.of.lock().unused.extend(self.arena.take());
        self.of.freed.notify_one();
    }
}

/// The state of an arena that others may look at while a run has it.
#[derive(Debug, Default)]
struct State {
    /// Rises when a buffer is replaced or freed.
    generation: AtomicU64,
    /// The bytes of all buffers.
    bytes: AtomicU64,
}

/// The buffers of one run at a time, and the commands that were recorded with them.
#[derive(Debug)]
pub(super) struct Arena<C> {
    buffers: ArenaBuffers,
    /// Commands of programs whose inputs and outputs are on the host.
    recordings: Vec<(Weak<Resources>, C)>,
    /// Commands of programs with device tensors of a caller.
    lent: AllLent<C>,
    /// The needs of all programs that have used the arena and still exist.
    demands: Vec<(Weak<Resources>, Demand)>,
    state: Arc<State>,
}

/// Buffers by role; `None` where no program has needed one.
#[derive(Clone, Debug, Default)]
pub(super) struct ArenaBuffers {
    /// Device memory: the first buffer is the largest one of each program, and so on.
    pub(super) device: Vec<Option<Buffer>>,
    pub(super) upload: Option<Buffer>,
    pub(super) readback: Option<Buffer>,
}

/// The buffer sizes in bytes that a program needs.
#[derive(Clone, Debug, Default)]
pub(super) struct Demand {
    /// Device memory, in falling order.
    pub(super) device: Vec<u64>,
    pub(super) upload: u64,
    pub(super) readback: u64,
}

/// The buffers of an arena at the time when commands were recorded with them.
#[derive(Clone, Debug)]
pub(super) struct Stamp {
    state: Arc<State>,
    generation: u64,
}

impl Stamp {
    /// Whether the arena still has these buffers.
    pub(super) fn is_current(&self) -> bool {
        self.state.generation.load(Ordering::Relaxed) == self.generation
    }

    /// Whether the buffers are those that `arena` has now.
    pub(super) fn is_of<C>(&self, arena: &Arena<C>) -> bool {
        Arc::ptr_eq(&self.state, &arena.state) && self.is_current()
    }
}

/// Buffers and commands to drop once locks are released.
struct Surplus<C> {
    _buffers: ArenaBuffers,
    _recordings: Vec<(Weak<Resources>, C)>,
    _lent: Vec<C>,
}

impl<C> Arenas<C> {
    /// Runs `run` with an arena that no other run uses, preferably one that `program` has used before. If there is no
    /// memory for two arenas, the session has one from then on, and `run` is tried again with that.
    pub(super) fn with<T>(
        &self,
        program: &Arc<Resources>,
        mut run: impl FnMut(&mut Arena<C>) -> Result<T>,
    ) -> Result<T> {
        loop {
            let mut in_use = InUse { of: self, arena: Some(self.wait_for_one(program)) };
            let Some(arena) = &mut in_use.arena else { continue };
            drop(arena.take_dropped());
            match run(arena) {
                Err(error) if is_out_of_memory(&error) && self.forget_second(&arena.state) => {
                    drop(in_use.arena.take().map(|mut it| it.take()));
                }
                result => return result,
            }
        }
    }

    /// An arena that no run has, once there is one.
    fn wait_for_one(&self, program: &Arc<Resources>) -> Arena<C> {
        let mut all = self.lock();
        while all.unused.is_empty() && all.states.len() >= all.most {
            all = self.freed.wait(all).unwrap_or_else(PoisonError::into_inner);
        }
        if all.unused.is_empty() {
            let state = Arc::<State>::default();
            all.states.push(Arc::clone(&state));
            let buffers = ArenaBuffers::default();
            let lent = AllLent::default();
            return Arena { buffers, recordings: vec![], lent, demands: vec![], state };
        }
        let used_before = all.unused.iter().position(|arena| arena.has_served(program));
        all.unused.swap_remove(used_before.unwrap_or(0))
    }

    /// Forgets the arena with this state, and allows one arena from now on. Returns false if it is the only one.
    fn forget_second(&self, state: &Arc<State>) -> bool {
        let mut all = self.lock();
        if all.states.len() < MOST_ARENAS {
            return false;
        }
        all.most = 1;
        all.states.retain(|it| !Arc::ptr_eq(it, state));
        true
    }

    /// Frees what unused arenas have for programs that exist no more: their commands, and all buffers if one is larger
    /// than the other programs need.
    pub(crate) fn shrink(&self) {
        self.take(Arena::is_too_large);
    }

    /// Frees all buffers that no run uses. Later runs make them again.
    pub(crate) fn clear(&self) {
        self.take(|_| true);
    }

    /// The bytes of all buffers.
    pub(crate) fn bytes(&self) -> u64 {
        self.lock().states.iter().map(|state| state.bytes.load(Ordering::Relaxed)).sum()
    }

    /// Takes the buffers of unused arenas for which `is_surplus` holds, and drops them after the lock is released:
    /// runs need it.
    fn take(&self, is_surplus: impl Fn(&Arena<C>) -> bool) {
        let mut taken: Vec<Surplus<C>> = Vec::new();
        let mut all = self.lock();
        for arena in &mut all.unused {
            taken.push(match is_surplus(arena) {
                true => arena.take(),
                false => arena.take_dropped(),
            });
        }
        drop(all);
        drop(taken);
    }

    fn lock(&self) -> MutexGuard<'_, All<C>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> Arena<C> {
    /// The commands of a program whose inputs and outputs are on the host; `record` makes them, after calling
    /// [`reserve`](Self::reserve).
    pub(super) fn recording(
        &mut self,
        of: &Arc<Resources>,
        record: impl FnOnce(&mut Self) -> Result<C>,
    ) -> Result<&mut C> {
        let at = match self.recordings.iter().position(|(it, _)| is(it, of)) {
            Some(at) => at,
            None => {
                let recording = record(self)?;
                self.recordings.push((Arc::downgrade(of), recording));
                self.recordings.len() - 1
            }
        };
        Ok(&mut self.recordings[at].1)
    }

    /// Buffers that are at least as large as `demand`, and the stamp of commands that use them. If one is replaced by
    /// a larger one, the commands of all programs are dropped. `content` describes a buffer of device memory by its
    /// index in the demand.
    pub(super) fn reserve(
        &mut self,
        device: &Device,
        (program, demand): (&Arc<Resources>, Demand),
        content: impl Fn(usize) -> String,
    ) -> Result<(ArenaBuffers, Stamp)> {
        if self.buffers.have_one_smaller_than(&demand) {
            self.recordings.clear();
            drop(self.lent.take_back(|_| true));
            self.state.generation.fetch_add(1, Ordering::Relaxed);
        }
        let grown = self.buffers.grow(device, &demand, content);
        self.state.bytes.store(self.buffers.bytes(), Ordering::Relaxed);
        grown?;
        match self.demands.iter_mut().find(|(it, _)| is(it, program)) {
            Some((_, known)) => *known = std::mem::take(known).larger(&demand),
            None => self.demands.push((Arc::downgrade(program), demand)),
        }
        let generation = self.state.generation.load(Ordering::Relaxed);
        Ok((self.buffers.clone(), Stamp { state: Arc::clone(&self.state), generation }))
    }

    fn has_served(&self, program: &Arc<Resources>) -> bool {
        self.demands.iter().any(|(it, _)| is(it, program))
    }

    /// Lends commands that use the arena's buffers, until it frees one of these or the program exists no more.
    pub(super) fn lend(&mut self, of: &Arc<Resources>, commands: C) -> Lent<C> {
        self.lent.lend(of, commands)
    }

    /// Takes the commands of programs that exist no more.
    fn take_dropped(&mut self) -> Surplus<C> {
        let is_over = |of: &Weak<Resources>| of.strong_count() == 0;
        self.demands.retain(|(it, _)| !is_over(it));
        Surplus {
            _buffers: ArenaBuffers::default(),
            _recordings: self.recordings.extract_if(.., |(it, _)| is_over(it)).collect(),
            _lent: self.lent.take_back(is_over),
        }
    }

    /// Whether a buffer is larger than the programs need that still exist.
    fn is_too_large(&self) -> bool {
        let demands = self.demands.iter().filter(|(it, _)| it.strong_count() > 0);
        let needed = demands.fold(Demand::default(), |all, (_, it)| all.larger(it));
        let has = self.buffers.sizes();
        let device = has.device.iter().enumerate();
        let most = |size: Option<&u64>| with_slack(size.copied().unwrap_or(0));
        device
            .map(|(index, size)| (size, most(needed.device.get(index))))
            .any(|(it, most)| *it > most)
            || has.upload > with_slack(needed.upload)
            || has.readback > with_slack(needed.readback)
    }

    /// Takes all buffers and the commands that use them.
    fn take(&mut self) -> Surplus<C> {
        self.demands.clear();
        self.state.generation.fetch_add(1, Ordering::Relaxed);
        self.state.bytes.store(0, Ordering::Relaxed);
        Surplus {
            _buffers: std::mem::take(&mut self.buffers),
            _recordings: std::mem::take(&mut self.recordings),
            _lent: self.lent.take_back(|_| true),
        }
    }
}

impl ArenaBuffers {
    fn sizes(&self) -> Demand {
        let size = |buffer: &Option<Buffer>| buffer.as_ref().map_or(0, Buffer::size);
        Demand {
            device: self.device.iter().map(size).collect(),
            upload: size(&self.upload),
            readback: size(&self.readback),
        }
    }

    fn bytes(&self) -> u64 {
        let Demand { device, upload, readback } = self.sizes();
        device.into_iter().chain([upload, readback]).fold(0, u64::saturating_add)
    }

    /// Whether a buffer exists that is smaller than the demand.
    fn have_one_smaller_than(&self, demand: &Demand) -> bool {
        let has = self.sizes();
        let mut device = has.device.iter().zip(&demand.device);
        let is_small = |has: u64, wanted: u64| (1..wanted).contains(&has);
        device.any(|(has, wanted)| is_small(*has, *wanted))
            || is_small(has.upload, demand.upload)
            || is_small(has.readback, demand.readback)
    }

    fn grow(
        &mut self,
        device: &Device,
        demand: &Demand,
        content: impl Fn(usize) -> String,
    ) -> Result<()> {
        let slots = self.device.len().max(demand.device.len());
        self.device.resize(slots, None);
        for (index, (slot, size)) in self.device.iter_mut().zip(&demand.device).enumerate() {
            renew(slot, *size, |size| create(device, size, || content(index)))?;
        }
        let staging = |slot: &mut Option<Buffer>, size, role| {
            renew(slot, size, |size| create_for_transfers(device, size, role))
        };
        let upload = (MemoryLocation::Upload, BufferUsage::TRANSFER_SRC, "inputs");
        staging(&mut self.upload, demand.upload, upload)?;
        let readback = (MemoryLocation::Readback, BufferUsage::TRANSFER_DST, "outputs");
        staging(&mut self.readback, demand.readback, readback)
    }
}

impl Demand {
    /// The larger size of each buffer.
    fn larger(self, other: &Self) -> Self {
        let count = self.device.len().max(other.device.len());
        let size = |of: &Self, index: usize| of.device.get(index).copied().unwrap_or(0);
        Self {
            device: (0..count).map(|index| size(&self, index).max(size(other, index))).collect(),
            upload: self.upload.max(other.upload),
            readback: self.readback.max(other.readback),
        }
    }
}

/// Replaces a buffer that is smaller than `wanted`. The old one is freed first, so that its memory can be used again.
fn renew(
    slot: &mut Option<Buffer>,
    wanted: u64,
    make: impl Fn(u64) -> Result<Buffer>,
) -> Result<()> {
    let has = slot.as_ref().map_or(0, Buffer::size);
    if has >= wanted {
        return Ok(());
    }
    *slot = None;
    let exactly = |_| make(wanted);
    // Programs whose sizes grow from run to run would replace an exact buffer each time.
    *slot = Some(if has > 0 { make(with_slack(wanted)).or_else(exactly) } else { make(wanted) }?);
    Ok(())
}

/// At most an eighth more than `size`, so that sizes which differ little become equal.
fn with_slack(size: u64) -> u64 {
    let unit = size.checked_next_power_of_two().map_or(1, |power| (power / 16).max(256));
    size.checked_next_multiple_of(unit).unwrap_or(size)
}

fn is(known: &Weak<Resources>, program: &Arc<Resources>) -> bool {
    known.as_ptr() == Arc::as_ptr(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slack_is_at_most_an_eighth_of_large_sizes() {
        for size in [4096, 4100, 8191, 8193, 1 << 30, (1 << 30) + 4] {
            let larger = with_slack(size);
            assert!(larger >= size && larger - size <= size / 8, "{size}: {larger}");
        }
        assert_eq!(with_slack(u64::MAX), u64::MAX);
        assert_eq!(with_slack(0), 0);
    }

    #[test]
    fn demands_are_compared_buffer_by_buffer() {
        let one = Demand { device: vec![8, 4], upload: 1, readback: 7 };
        let other = Demand { device: vec![6], upload: 3, readback: 5 };
        let Demand { device, upload, readback } = one.larger(&other);
        assert_eq!((device, upload, readback), (vec![8, 4], 3, 7));
    }
}
