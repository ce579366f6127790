//! The report on a run: as a table for people, as JSON and JUnit XML for programs, or as an HTML page.

pub mod diff;
mod errors;
mod html;
mod json;
mod junit;
pub mod show;
mod table;
pub(crate) mod text;

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

/// The form of a report, and its additional content.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ReportOptions {
    /// The form of the report
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Put the largest errors after the table, as a table in Markdown: of results that may be some units
    /// in the last place (ULP) off
    #[arg(long)]
    pub errors: bool,
}

impl ReportOptions {
    /// Writes `run` in this form. Only the table takes the option of the largest errors; other forms always
    /// or never have them.
    ///
    /// # Errors
    /// `output` cannot be written.
    pub fn write(self, run: &Run, output: &mut dyn io::Write) -> io::Result<()> {
        write(self.format, run, output)?;
        if self.errors && self.format == Format::Table {
            writeln!(output)?;
            errors::write(run, output)?;
        }
        Ok(())
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
