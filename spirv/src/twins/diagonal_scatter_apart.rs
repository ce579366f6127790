//! `diagonal_scatter.comp` with WORDS_APART: no word has two of the elements that are written.

use dml_core::host::{HostDispatch, HostError};

pub use super::diagonal_scatter::PushConstants;
use super::diagonal_scatter::for_each_element;
use super::element::store_alone_on_zero;
use crate::Family;

families!(run: b8 = B8, b16 = B16, b32 = B32, b64 = B64);

fn run(dispatch: &mut HostDispatch<'_>, family: Family) -> Result<(), HostError> {
    for_each_element(dispatch, |dispatch, base_word, element, pattern| {
        store_alone_on_zero(dispatch, family, base_word, element, pattern)
    })
}
