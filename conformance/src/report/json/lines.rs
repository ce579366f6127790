//! How the JSON form is broken into lines.

use std::io::{Result, Write};

use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

/// What lies deeper stays on one line: a case, a level's counts, an answer. So `grep` finds whole
/// cases, and a difference between two files names them.
const BROKEN_DEPTH: usize = 4;

/// Indented down to [`BROKEN_DEPTH`], on one line below.
#[derive(Default)]
pub(super) struct Lines {
    outer: PrettyFormatter<'static>,
    inner: CompactFormatter,
    depth: usize,
}

/// Methods that the formatter of the current depth answers.
macro_rules! by_depth {
    ($($method:ident($($argument:ident)?))*) => {$(
        fn $method<W: Write + ?Sized>(
            &mut self,
            writer: &mut W
            $(, $argument: bool)?
        ) -> Result<()> {
            if self.depth <= BROKEN_DEPTH {
                self.outer.$method(writer $(, $argument)?)
            } else {
                self.inner.$method(writer $(, $argument)?)
            }
        }
    )*};
}

/// Methods that begin something deeper.
macro_rules! deeper {
    ($($method:ident)*) => {$(
        fn $method<W: Write + ?Sized>(&mut self, writer: &mut W) -> Result<()> {
            self.depth += 1;
            if self.depth <= BROKEN_DEPTH {
                self.outer.$method(writer)
            } else {
                self.inner.$method(writer)
            }
        }
    )*};
}

/// Methods that end it.
macro_rules! shallower {
    ($($method:ident)*) => {$(
        fn $method<W: Write + ?Sized>(&mut self, writer: &mut W) -> Result<()> {
            let outer = self.depth <= BROKEN_DEPTH;
            self.depth -= 1;
            if outer { self.outer.$method(writer) } else { self.inner.$method(writer) }
        }
    )*};
}

impl Formatter for Lines {
    deeper! { begin_array begin_object }
    shallower! { end_array end_object }
    by_depth! {
        begin_array_value(first) end_array_value()
        begin_object_key(first) end_object_key()
        begin_object_value() end_object_value()
    }
}
