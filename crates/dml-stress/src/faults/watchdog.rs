//! Ends the process where a run does not end: a thread that hangs in a driver cannot be stopped.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Far above what any run takes, also under the validation layer.
const LIMIT: Duration = Duration::from_secs(120);

type Current = Arc<Mutex<Option<(String, Instant)>>>;

/// Watches the run that is going on.
pub(crate) struct Watchdog(Current);

impl Watchdog {
    pub(crate) fn start() -> Self {
        let current = Current::default();
        let seen = Arc::downgrade(&current);
        std::thread::spawn(move || {
            while let Some(current) = seen.upgrade() {
                let current = current.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((what, _)) =
                    current.as_ref().filter(|(_, since)| since.elapsed() > LIMIT)
                {
                    give_up(what);
                }
                drop(current);
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        Self(current)
    }

    /// `what` begins.
    pub(crate) fn begin(&self, what: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((what, Instant::now()));
    }
}

#[allow(clippy::print_stderr, reason = "the process ends here, and says why")]
fn give_up(what: &str) -> ! {
    eprintln!("FINDING: {what}: it does not end within {} s", LIMIT.as_secs());
    std::process::exit(1)
}
