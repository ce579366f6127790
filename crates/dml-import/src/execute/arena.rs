//! Buffers that the programs of a session use in turn: temporary memory, inputs, outputs, and staging memory.
//!
//! A run has an arena for itself. Runs that do not overlap use the same arena, which is as large as the largest of
//! their programs, until only smaller ones have run for a while. A run that begins meanwhile, of the same program or
//! another one, gets a second arena, so that the host copies for one run while the device computes another. Further runs
//! wait for one of the two.

mod buffers;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use dml::Device;

use crate::error::Result;

use self::buffers::with_slack;
pub(super) use self::buffers::{ArenaBuffers, Demand};
use super::lent::{AllLent, Lent};
use super::memory::is_out_of_memory;
use super::resources::Resources;

/// The most arenas of a session: the device executes one submission at a time.
const MOST_ARENAS: usize = 2;

/// After so many runs in a row that need at most half of an arena, its buffers are freed, and made again as large as
/// later runs need. Models that alternate between a few shapes keep them.
const SHORT_RUNS: u32 = 8;
/// Fewer bytes are not worth it.
const WORTH_FREEING: u64 = 1 << 20;

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
    /// The number of runs in a row that needed at most half of the buffers.
    short_runs: u32,
    state: Arc<State>,
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
                result => {
                    drop(arena.outgrown(program));
                    return result;
                }
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
            let (recordings, demands) = (vec![], vec![]);
            return Arena { buffers, recordings, lent, demands, short_runs: 0, state };
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

    /// Frees all buffers that no run uses. Later runs make them again, and try again to overlap.
    pub(crate) fn clear(&self) {
        self.take(|_| true);
        self.lock().most = MOST_ARENAS;
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

    /// Notes that a run of `program` is over. Takes the buffers if runs have needed far less for a while, such as the
    /// tokens after a long prompt.
    fn outgrown(&mut self, program: &Arc<Resources>) -> Option<Surplus<C>> {
        let demand = self.demands.iter().find(|(it, _)| is(it, program));
        let (needed, has) = (demand.map_or(0, |(_, it)| it.bytes()), self.buffers.bytes());
        let is_short = needed <= has / 2 && has - needed >= WORTH_FREEING;
        self.short_runs = if is_short { self.short_runs + 1 } else { 0 };
        (self.short_runs >= SHORT_RUNS).then(|| self.take())
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
        self.short_runs = 0;
        self.state.generation.fetch_add(1, Ordering::Relaxed);
        self.state.bytes.store(0, Ordering::Relaxed);
        Surplus {
            _buffers: std::mem::take(&mut self.buffers),
            _recordings: std::mem::take(&mut self.recordings),
            _lent: self.lent.take_back(|_| true),
        }
    }
}

fn is(known: &Weak<Resources>, program: &Arc<Resources>) -> bool {
    known.as_ptr() == Arc::as_ptr(program)
}
