//! `cycles`: objects that are made and dropped over and over must not leak.

mod buffers;
mod devices;

use std::process::Command;

use anyhow::{Context, Result, ensure};
use comfy_table::Table;
use comfy_table::presets::ASCII_MARKDOWN;
use dml_file::println;
use indicatif::{ProgressBar, ProgressStyle};

use crate::load::{DeviceArgs, signed_bytes};

/// The growth of this process's physical memory that is promised at most, in bytes.
const ALLOWED: i64 = 1 << 20;

/// Create and drop objects over and over, and watch what grows
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Cycles of an operator and its buffers on one device: compile, create, bind, execute, read back
    /// or drop in flight
    #[arg(long, default_value_t = 100_000, value_name = "COUNT")]
    buffers: u32,
    /// Cycles of a device: open it, execute once, drop it. As many in plain Vulkan calls go before
    #[arg(long, default_value_t = 1_000, value_name = "COUNT")]
    devices: u32,
    /// The seed of the random cases
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,
    #[command(flatten)]
    places: DeviceArgs,
}

/// Runs the command; returns `true` if every promise held.
///
/// # Errors
///
/// An error that kept the command from finding out, or the first wrong output.
pub fn run(args: &Args) -> Result<bool> {
    ensure!(args.buffers > 0 || args.devices > 0, "there is nothing to do: both counts are 0");
    if !args.places.names_one() {
        return each_in_its_own_process(&args.places);
    }
    args.places.each(|place| {
        let mut rows = Rows::default();
        if args.buffers > 0 {
            buffers::run(place, args.buffers, args.seed, &mut rows)?;
        }
        if args.devices > 0 {
            devices::run(place, args.devices, &mut rows)?;
        }
        println!("{}", rows.table());
        for broken in &rows.broken {
            println!("  BROKEN: {broken}");
        }
        Ok(rows.broken.is_empty())
    })
}

/// Runs the same command once for each device. Memory that one driver has left on the heap would change the
/// measurements of the next.
fn each_in_its_own_process(places: &DeviceArgs) -> Result<bool> {
    let mut held = true;
    for index in places.indices()? {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(std::env::args_os().skip(1)).arg("--device").arg(index.to_string());
        held &= command.status().context("starting a process for a device")?.success();
    }
    Ok(held)
}

/// The measurements, and the promises that they break.
#[derive(Default)]
struct Rows {
    rows: Vec<[String; 3]>,
    broken: Vec<String>,
}

impl Rows {
    /// Adds a value that is reported but not judged.
    fn note(&mut self, what: &str, value: String) {
        self.rows.push([what.to_owned(), value, String::new()]);
    }

    /// Adds growth in bytes, of which at most `allowed` is promised. If the system does not report it, the
    /// promise could not be tested and counts as broken.
    fn growth(&mut self, what: &str, found: Option<i64>, allowed: i64) {
        let promise = if allowed == 0 {
            "none".to_owned()
        } else {
            format!("at most {}", signed_bytes(allowed))
        };
        let value = or_unknown(found);
        if found.is_none_or(|it| it > allowed) {
            self.broken.push(format!("{what}: {value}, allowed is {promise}"));
        }
        self.rows.push([what.to_owned(), value, promise]);
    }

    /// Adds a number of objects, which must not be greater than before.
    fn count(&mut self, what: &str, before: usize, after: usize) {
        if after > before {
            self.broken.push(format!("{what}: {after}, there were {before}"));
        }
        self.rows.push([what.to_owned(), format!("{before} before, {after} after"), "none".into()]);
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN);
        table.set_header(["measured", "value", "growth allowed"]);
        for row in &self.rows {
            table.add_row(row);
        }
        table
    }
}

fn or_unknown(bytes: Option<i64>) -> String {
    bytes.map_or_else(|| "not told by this system".to_owned(), signed_bytes)
}

fn progress(count: usize, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(count as u64).with_message(what);
    if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {pos}/{len} {msg}, {eta} left") {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_is_allowed_breaks_the_promise_and_so_does_not_knowing() {
        let mut rows = Rows::default();
        rows.growth("less", Some(-5), 0);
        rows.growth("as much", Some(ALLOWED), ALLOWED);
        assert!(rows.broken.is_empty());
        rows.growth("more", Some(ALLOWED + 1), ALLOWED);
        rows.growth("a byte", Some(1), 0);
        rows.growth("unknown", None, ALLOWED);
        assert_eq!(rows.broken.len(), 3, "{:?}", rows.broken);
    }
}
