//! Work on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The number of cores that this process may use.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// What `work` makes of each item, in their order, with a thread for each core.
pub fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut made = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return made };
            made.push((index, work(item)));
        }
    };
    let mut made = thread::scope(|scope| {
        let others: Vec<_> = (1..cores().min(items.len())).map(|_| scope.spawn(take)).collect();
        let mut made = take();
        for thread in others {
            match thread.join() {
                Ok(more) => made.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        made
    });
    made.sort_by_key(|(index, _)| *index);
    made.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        let slow_first = |item: &usize| {
            thread::sleep(std::time::Duration::from_micros(100 - *item as u64));
            item * 2
        };
        assert_eq!(map(&items, slow_first), items.iter().map(|it| it * 2).collect::<Vec<_>>());
        assert!(map(&[], slow_first).is_empty());
    }
}
