//! Known crashes and hangs of drivers and layers, which a run lists but does not count.
//!
//! ```toml
//! [[known]]
//! device = "some driver*"     # a glob over the device's or the driver's name; and/or
//! layer = "VK_LAYER_some*"    # one over the layer's name and version, where it is on
//! fails = "host-allocation"   # or "call"
//! in = "vkCreate*"            # a glob over the entry point
//! happens = "crash"           # or "hang"
//! reason = "what is wrong in the driver"
//! ```
//!
//! Only a process that ended inside of a call of a layer or driver, without Rust's message of a panic, is
//! excused: any other end may be the runtime's fault.

use std::fmt;
use std::path::Path;

use anyhow::{Context as _, ensure};
use dml_conformance::pattern::{Pattern, read_toml};
use serde::Deserialize;

use super::protocol::Kind;

/// The rows that are part of the program.
const BUILT_IN: &str = include_str!("../../known-findings.toml");

/// Rows of one or two files.
#[derive(Debug)]
pub(crate) struct KnownFindings(Vec<KnownFinding>);

/// A known finding: a fault, and its effect.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownFinding {
    device: Option<Pattern>,
    layer: Option<Pattern>,
    fails: Kind,
    r#in: Pattern,
    happens: ProcessFailure,
    pub(crate) reason: String,
}

/// The way a process failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ProcessFailure {
    /// The process crashed.
    Crash,
    /// The process hung and had to be killed.
    Hang,
}

impl ProcessFailure {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Hang => "hang",
        }
    }
}

/// The place where a fault is injected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot<'a> {
    /// The device's name and the driver's.
    pub(crate) names: [&'a str; 2],
    /// The layer, if it is on.
    pub(crate) layer: Option<&'a str>,
    pub(crate) kind: Kind,
    /// The entry point.
    pub(crate) call: &'a str,
}

impl KnownFindings {
    /// The rows that are part of the program, and those of `file`.
    pub(crate) fn with(file: Option<&Path>) -> anyhow::Result<Self> {
        let mut all = rows(BUILT_IN).context("known-findings.toml")?;
        if let Some(path) = file {
            let text = std::fs::read_to_string(path).map_err(anyhow::Error::from);
            let more = text.and_then(|text| rows(&text));
            all.extend(more.with_context(|| path.display().to_string())?);
        }
        Ok(Self(all))
    }

    /// The numbers of the rows that match `spot`, whatever their effect.
    pub(crate) fn about(&self, spot: Spot<'_>) -> impl Iterator<Item = usize> {
        (0..self.0.len()).filter(move |row| self.0[*row].is_about(spot))
    }

    /// The row that excuses the effect of a fault.
    pub(crate) fn excuse(&self, spot: Spot<'_>, happens: ProcessFailure) -> Option<usize> {
        self.about(spot).find(|row| self.0[*row].happens == happens)
    }

    pub(crate) fn row(&self, number: usize) -> &KnownFinding {
        &self.0[number]
    }
}

fn rows(text: &str) -> anyhow::Result<Vec<KnownFinding>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[serde(default)]
        known: Vec<KnownFinding>,
    }
    let File { known } = read_toml(text)?;
    for (number, row) in (1..).zip(&known) {
        let names_one = row.device.is_some() || row.layer.is_some();
        ensure!(
            names_one,
            "row {number}: neither device nor layer; accepted: a glob over its name"
        );
        ensure!(
            !row.reason.trim().is_empty(),
            "row {number}: reason: it is empty; accepted: a text"
        );
    }
    Ok(known)
}

impl KnownFinding {
    fn is_about(&self, spot: Spot<'_>) -> bool {
        let is_device = |it: &Pattern| spot.names.iter().any(|name| it.is_match(name));
        let is_layer = |it: &Pattern| spot.layer.is_some_and(|layer| it.is_match(layer));
        self.fails == spot.kind
            && self.r#in.is_match(spot.call)
            && self.device.as_ref().is_none_or(is_device)
            && self.layer.as_ref().is_none_or(is_layer)
    }
}

impl fmt::Display for KnownFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (fails, call) = (self.fails.name(), self.r#in.glob());
        write!(f, "{} where a {fails} fails in {call} ({})", self.happens.name(), self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "[[known]]\ndevice = 'some*'\nfails = 'host-allocation'\n\
        in = 'vkCreate*'\nhappens = 'crash'\nreason = 'because'\n";

    #[test]
    fn the_rows_of_the_program_are_rows() {
        KnownFindings::with(None).unwrap();
    }

    #[test]
    fn a_row_excuses_what_it_says_and_nothing_else() {
        let known = KnownFindings(rows(ROW).unwrap());
        let spot = Spot {
            names: ["a device", "some driver 1.2"],
            layer: None,
            kind: Kind::HostAllocation,
            call: "vkCreateBuffer",
        };
        assert_eq!(known.excuse(spot, ProcessFailure::Crash), Some(0));
        assert_eq!(known.excuse(spot, ProcessFailure::Hang), None);
        let others = [
            Spot { names: ["a device", "another"], ..spot },
            Spot { kind: Kind::Call, ..spot },
            Spot { call: "vkMapMemory", ..spot },
        ];
        for other in others {
            assert_eq!(known.about(other).next(), None, "{other:?}");
        }
        let layer = ROW.replace("device = 'some*'", "layer = 'VK_LAYER_* 1.4.*'");
        let known = KnownFindings(rows(&layer).unwrap());
        assert_eq!(known.about(spot).next(), None);
        let spot = Spot { layer: Some("VK_LAYER_KHRONOS_validation 1.4.364"), ..spot };
        assert_eq!(known.about(spot).next(), Some(0));
    }

    #[test]
    fn rows_that_excuse_too_much_are_refused() {
        for (from, to, problem) in [
            ("device = 'some*'\n", "", "row 1: neither device nor layer"),
            ("'because'", "' '", "row 1: reason: it is empty"),
            ("'crash'", "'panic'", "expected `crash` or `hang`"),
            ("'host-allocation'", "'all'", "expected `call` or `host-allocation`"),
            ("'vkCreate*'", "'['", "unclosed character class"),
            ("reason", "because", "unknown field `because`"),
        ] {
            let error = rows(&ROW.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
