//! `fill_words.comp`: writes one word to a range of words.

use dml_core::host::{HostDispatch, HostError};

use super::dispatch::for_each_run;
use super::element::{Pattern, store};
use super::push::push_constants;
use crate::ElementWidth;

push_constants! {
    @patched base_word at BASE_WORD_AT;
    /// Words from the start of the descriptor to the window's first byte.
    base_word: u32,
    /// The first group of this dispatch, if several dispatches share the work.
    first_group: u32,
    /// The number of words, at least 1.
    count: u32,
    /// The value that each word gets.
    pattern: u32,
}

element_widths!(run: b32 = B32);

fn run(dispatch: &mut HostDispatch<'_>, element_width: ElementWidth) -> Result<(), HostError> {
    let push = PushConstants::of(dispatch);
    let pattern = Pattern { low: push.pattern, high: 0 };
    for_each_run(dispatch, push.first_group, push.count, |dispatch, run| {
        for turn in 0..run.count {
            let word = run.first + turn * run.step;
            store(dispatch, element_width, push.base_word, word, pattern)?;
        }
        Ok(())
    })
}
