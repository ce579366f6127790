//! Programs of operators that were recorded before.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dml_core::{Error, Recent, Validated};

use crate::ir::{Content, Program};
use crate::{Target, TransferUse};

/// How many programs are kept at least, if there are more.
const CAPACITY: usize = 1024;

/// Bytes of constants of a program that is kept.
const MOST_BYTES: u64 = 1 << 16;

/// An operator by its address, and the transfers that the target has.
type Key = (usize, TransferUse);

/// The operator keeps its address as long as the program is known.
type Known = (Arc<Validated>, Arc<Program>);

/// Records the nodes of each operator once for all graphs of one device that share it.
#[derive(Debug)]
pub struct KnownPrograms(Mutex<Recent<Key, Known>>);

impl Default for KnownPrograms {
    fn default() -> Self {
        Self(Mutex::new(Recent::new(CAPACITY)))
    }
}

impl KnownPrograms {
    /// The nodes of `operator` as its family records them.
    pub(super) fn recorded(
        &self,
        operator: &Arc<Validated>,
        target: &Target<'_>,
    ) -> Result<Arc<Program>, Error> {
        let key = (Arc::as_ptr(operator).addr(), target.transfer);
        if let Some((_, program)) = self.known().get(&key) {
            return Ok(program);
        }
        let program = crate::implementation(operator)?.recorded(operator, target)?;
        let program = Arc::new(program);
        let constants =
            program.locals.iter().filter(|local| matches!(local, Content::Constant { .. }));
        if constants.map(Content::bytes).sum::<u64>() <= MOST_BYTES {
            self.known().insert(key, (Arc::clone(operator), Arc::clone(&program)));
        }
        Ok(program)
    }

    fn known(&self) -> MutexGuard<'_, Recent<Key, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
