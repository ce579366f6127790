//! What a run found: as a table for people, as JSON and JUnit XML for programs, as a page to look at.

pub mod diff;
mod html;
mod json;
mod junit;
pub mod show;
mod table;
mod text;

use std::fmt;
use std::io;

use clap::ValueEnum;

use crate::results::Run;

pub use json::read;

/// A form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, ValueEnum)]
pub enum Format {
    /// A table of counts for each device, then what did not pass
    #[default]
    Table,
    /// Everything, one case a line; other commands read it
    Json,
    /// JUnit XML: a suite for each device and feature level
    Junit,
    /// One self-contained page
    Html,
}

impl Format {
    /// All forms.
    pub const ALL: [Self; 4] = [Self::Table, Self::Json, Self::Junit, Self::Html];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Json => "json",
            Self::Junit => "junit",
            Self::Html => "html",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Writes `run` in this form.
///
/// # Errors
/// `output` cannot be written.
pub fn write(format: Format, run: &Run, output: &mut dyn io::Write) -> io::Result<()> {
    match format {
        Format::Table => table::write(run, output),
        Format::Json => json::write(run, output),
        Format::Junit => junit::write(run, output),
        Format::Html => html::write(run, output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_and_the_display_agree() {
        for format in Format::ALL {
            let value = format.to_possible_value().unwrap();
            assert_eq!(value.get_name(), format.to_string());
        }
        assert_eq!(Format::value_variants(), Format::ALL);
    }
}
