//! Commands that a caller keeps, and that an arena takes back with the buffers which they use.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::resources::Resources;

/// Commands of an arena in the hands of an [`IoBinding`](super::IoBinding): `None` once the arena has taken them back.
/// An idle binding then holds no buffer of the arena, and none of its program.
#[derive(Debug)]
pub(super) struct Lent<C>(Arc<Slot<C>>);

/// The place of lent commands; `None` once they are taken back.
type Slot<C> = Mutex<Option<C>>;

impl<C> Lent<C> {
    pub(super) fn lock(&self) -> MutexGuard<'_, Option<C>> {
        lock(&self.0)
    }
}

/// The commands that an arena has lent, each with its program.
#[derive(Debug)]
pub(super) struct AllLent<C>(Vec<(Weak<Resources>, Weak<Slot<C>>)>);

impl<C> Default for AllLent<C> {
    fn default() -> Self {
        Self(vec![])
    }
}

impl<C> AllLent<C> {
    pub(super) fn lend(&mut self, of: &Arc<Resources>, commands: C) -> Lent<C> {
        self.0.retain(|(_, lent)| lent.strong_count() > 0);
        let lent = Arc::new(Mutex::new(Some(commands)));
        self.0.push((Arc::downgrade(of), Arc::downgrade(&lent)));
        Lent(lent)
    }

    /// Takes back the commands of programs for which `is_over` holds. No run uses them: the caller has the arena.
    pub(super) fn take_back(&mut self, is_over: impl Fn(&Weak<Resources>) -> bool) -> Vec<C> {
        let over = self.0.extract_if(.., |(of, _)| is_over(of));
        let commands = |(_, lent): (_, Weak<Slot<C>>)| {
            let lent = lent.upgrade()?;
            lock(&lent).take()
        };
        over.filter_map(commands).collect()
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
