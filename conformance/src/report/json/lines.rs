//! The line breaks of the JSON form.

use std::io::{Result, Write};

use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

/// Deeper values stay on one line: a case, a level's counts, an answer. So `grep` finds whole cases, and a
/// difference between two files names them.
const BROKEN_DEPTH: usize = 4;

/// Formats values indented down to [`BROKEN_DEPTH`], and on one line below.
#[derive(Default)]
pub(super) struct Lines {
    outer: PrettyFormatter<'static>,
    inner: CompactFormatter,
    depth: usize,
}

/// Methods that the formatter of the current depth implements; some begin or end a deeper value.
macro_rules! by_depth {
    ($($begin:literal $end:literal $method:ident($($argument:ident)?))*) => {$(
        fn $method<W: Write + ?Sized>(
            &mut self,
            writer: &mut W
            $(, $argument: bool)?
        ) -> Result<()> {
            self.depth += $begin;
            let is_broken = self.depth <= BROKEN_DEPTH;
            self.depth -= $end;
            if is_broken {
                self.outer.$method(writer $(, $argument)?)
            } else {
                self.inner.$method(writer $(, $argument)?)
            }
        }
    )*};
}

impl Formatter for Lines {
    by_depth! {
        1 0 begin_array()
        1 0 begin_object()
        0 1 end_array()
        0 1 end_object()
        0 0 begin_array_value(first)
        0 0 end_array_value()
        0 0 begin_object_key(first)
        0 0 end_object_key()
        0 0 begin_object_value()
        0 0 end_object_value()
    }
}
