//! Tells whoever asks whether the process is inside of a layer or driver, so that one that ends there
//! can be told from one that ends elsewhere.

use std::sync::{Mutex, PoisonError};

/// Is given the call that begins, and `None` when it has returned.
pub type Watcher = fn(Option<&'static str>);

static WATCHER: Mutex<Option<Watcher>> = Mutex::new(None);

/// The process is inside of a call as long as this lives.
pub(crate) struct Inside(());

impl Inside {
    pub(crate) fn new(name: &'static str) -> Self {
        tell(Some(name));
        Self(())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        tell(None);
    }
}

pub(crate) fn begin(watcher: Option<Watcher>) {
    *WATCHER.lock().unwrap_or_else(PoisonError::into_inner) = watcher;
}

fn tell(call: Option<&'static str>) {
    let watcher = *WATCHER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(watcher) = watcher {
        watcher(call);
    }
}
