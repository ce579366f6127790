//! Binds declared shapes to the ones that a caller gives.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::graph::{Dimension, GraphInput};
use crate::tensor::text;

/// The sizes of named dimensions, each with the input that bound it first.
#[derive(Default)]
pub(super) struct Symbols(HashMap<String, (u64, String)>);

impl Symbols {
    /// Checks the shape given for an input, and binds its named dimensions.
    pub(super) fn bind(&mut self, input: &GraphInput, name: &str, given: &[u64]) -> Result<()> {
        let refused =
            |problem: &str, accepted: String| Error::input(name, text(given), problem, accepted);
        let Some(declared) = &input.shape else { return Ok(()) };
        if declared.len() != given.len() {
            return Err(refused("is not the declared rank", declared_text(declared)));
        }
        for (dimension, size) in declared.iter().zip(given) {
            let fits = match dimension {
                Dimension::Known(known) => known == size,
                Dimension::Range(first, last) => (first..=last).contains(&size),
                Dimension::Named(symbol) => {
                    let entry = self.0.entry(symbol.clone());
                    let (bound, by) = entry.or_insert((*size, name.to_owned()));
                    if bound != size {
                        let accepted = format!("{symbol} = {bound}, as input '{by}' has it");
                        return Err(refused("binds a dimension differently", accepted));
                    }
                    true
                }
            };
            if !fits {
                return Err(refused("is not the declared shape", declared_text(declared)));
            }
        }
        Ok(())
    }
}

/// The declared shape, if all its sizes are known.
pub(crate) fn fixed(declared: &[Dimension]) -> Option<Vec<u64>> {
    let size = |dimension: &Dimension| match dimension {
        Dimension::Known(size) => Some(*size),
        _ => None,
    };
    declared.iter().map(size).collect()
}

/// A declared shape in messages: `[3, N, ?, 1..5]`.
fn declared_text(declared: &[Dimension]) -> String {
    let sizes: Vec<String> = declared.iter().map(dimension_text).collect();
    crate::error::shortened(&format!("[{}]", sizes.join(", ")))
}

/// A declared size in messages: `3`, `N`, `?` or `1..5`.
pub(crate) fn dimension_text(dimension: &Dimension) -> String {
    match dimension {
        Dimension::Known(size) => size.to_string(),
        Dimension::Named(name) => crate::error::shortened(name),
        Dimension::Range(0, u64::MAX) => "?".to_owned(),
        Dimension::Range(first, u64::MAX) => format!("{first}.."),
        Dimension::Range(first, last) => format!("{first}..{last}"),
    }
}
