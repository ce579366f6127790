//! The compiled programs that a session keeps.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Executable;
use super::arena::Arenas;
use super::recording::Recording;
use super::weights::Evict;

/// Compiled programs, bounded by their number and by the bytes of device memory that only they use.
///
/// Programs that ran once are evicted first, then those whose last use is longest ago. No program is dropped while a
/// lock is held that runs need.
#[derive(Debug)]
pub(crate) struct ProgramCache {
    arenas: Arc<Arenas<Recording>>,
    kept: Mutex<CachedPrograms>,
}

/// The bounds of a cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The most programs.
    pub(crate) capacity: NonZeroUsize,
    /// The most bytes of all programs' own device memory, arenas included.
    pub(crate) most_bytes: u64,
}

#[derive(Debug)]
struct CachedPrograms {
    bounds: Bounds,
    /// In the order of their last use, the most recent one last.
    programs: Vec<CachedProgram>,
    /// How many programs have been added.
    added: u64,
    /// The bytes of the programs' own device memory; `None` after a program came or went, which may share buffers
    /// with others.
    bytes: Option<u64>,
}

#[derive(Debug)]
struct CachedProgram {
    executable: Arc<Executable>,
    uses: u64,
    /// [`CachedPrograms::added`] at the last use.
    last_use: u64,
}

/// Which programs may be evicted.
#[derive(Clone, Copy, PartialEq)]
enum Victims {
    All,
    /// Programs that no run uses.
    Unused,
}

impl ProgramCache {
    /// A cache of programs that use `arenas`.
    pub(crate) fn new(bounds: Bounds, arenas: &Arc<Arenas<Recording>>) -> Self {
        let kept = Mutex::new(CachedPrograms { bounds, programs: vec![], added: 0, bytes: None });
        Self { arenas: Arc::clone(arenas), kept }
    }

    /// The bounds.
    pub(crate) fn bounds(&self) -> Bounds {
        self.lock().bounds
    }

    /// Changes the bounds, for the programs that are added from now on.
    pub(crate) fn set_bounds(&self, bounds: Bounds) {
        self.lock().bounds = bounds;
    }

    /// The programs, the one last that was used most recently.
    pub(crate) fn programs(&self) -> Vec<Arc<Executable>> {
        self.lock().programs.iter().map(|program| Arc::clone(&program.executable)).collect()
    }

    /// The number of programs.
    pub(crate) fn count(&self) -> usize {
        self.lock().programs.len()
    }

    /// Records that a run uses the program.
    pub(crate) fn note_use(&self, executable: &Arc<Executable>) {
        let mut kept = self.lock();
        let added = kept.added;
        let all = &mut kept.programs;
        if let Some(index) = all.iter().rposition(|it| Arc::ptr_eq(&it.executable, executable)) {
            all[index].uses += 1;
            all[index].last_use = added;
            all[index..].rotate_left(1);
        }
    }

    /// Adds a program that its first run uses now, and evicts programs that are too many.
    pub(crate) fn add(&self, executable: &Arc<Executable>) {
        let mut evicted = Vec::new();
        let mut kept = self.lock();
        while kept.programs.len() >= kept.bounds.capacity.get() {
            evicted.extend(kept.take(Victims::All));
        }
        kept.added += 1;
        let (executable, last_use) = (Arc::clone(executable), kept.added);
        kept.bytes = None;
        kept.programs.push(CachedProgram { executable, uses: 1, last_use });
        drop(kept);
        drop(evicted);
    }

    /// Evicts programs that no run uses until the programs' own memory is within the bound.
    pub(crate) fn enforce(&self) {
        let Bounds { most_bytes, .. } = self.bounds();
        while self.bytes().saturating_add(self.arenas.bytes()) > most_bytes {
            let evicted = self.lock().take(Victims::Unused);
            if evicted.is_none() {
                break;
            }
            drop(evicted);
            self.arenas.shrink();
        }
    }

    /// The bytes of device memory that only one program uses, of all programs. They are counted again only after
    /// a program came or went.
    pub(crate) fn bytes(&self) -> u64 {
        self.lock().bytes()
    }

    fn lock(&self) -> MutexGuard<'_, CachedPrograms> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Evict for ProgramCache {
    fn evict(&self, wanted: u64) -> bool {
        let mut freed = None;
        while freed.is_none_or(|freed| freed < wanted) {
            let Some(evicted) = self.lock().take(Victims::Unused) else { break };
            freed = Some(freed.unwrap_or(0u64).saturating_add(evicted.own_bytes()));
        }
        if freed.is_some() {
            self.arenas.shrink();
        }
        freed.is_some()
    }
}

impl CachedPrograms {
    fn bytes(&mut self) -> u64 {
        let own = || self.programs.iter().map(|program| program.executable.own_bytes());
        let bytes = self.bytes.unwrap_or_else(|| own().fold(0, u64::saturating_add));
        self.bytes = Some(bytes);
        bytes
    }

    /// Takes the program that is evicted first.
    fn take(&mut self, victims: Victims) -> Option<Arc<Executable>> {
        let is_candidate =
            |it: &&CachedProgram| victims == Victims::All || Arc::strong_count(&it.executable) == 1;
        // Programs that were used often are not kept for ever: as many others as two fill the cache end that.
        let oldest = self.added.saturating_sub(2 * self.programs.len() as u64);
        let ran_once = |it: &CachedProgram| it.uses <= 1 || it.last_use < oldest;
        let candidates = || self.programs.iter().enumerate().filter(|(_, it)| is_candidate(it));
        let once = candidates().find(|(_, it)| ran_once(it));
        let (index, _) = once.or_else(|| candidates().next())?;
        self.bytes = None;
        Some(self.programs.remove(index).executable)
    }
}
