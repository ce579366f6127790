//! What a run found: as a table for people, as JSON for programs.

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use dml::PhysicalDevice;
use serde::Serialize;

use crate::cases::Case;
use crate::execute::Outcome;

/// Failures, and unsupported cases, beyond this many are counted, not printed.
const PRINTED_CASES: usize = 20;

/// A whole run.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// One entry for each device.
    pub devices: Vec<DeviceReport>,
}

/// What one device did.
#[derive(Debug, Serialize)]
pub struct DeviceReport {
    /// The device's name.
    pub name: String,
    /// Its driver and the driver's version.
    pub driver: String,
    /// The Vulkan version that it implements.
    pub api_version: String,
    /// Counts for each feature level.
    pub levels: BTreeMap<String, Counts>,
    /// Counts over all levels.
    pub total: Counts,
    /// Every case.
    pub cases: Vec<CaseReport>,
}

/// How many cases ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// As expected.
    pub pass: u64,
    /// Not as expected.
    pub fail: u64,
    /// The device cannot carry the case.
    pub unsupported: u64,
}

/// How one case ended.
#[derive(Debug, Serialize)]
pub struct CaseReport {
    /// The case's stable name.
    pub id: String,
    /// `pass`, `fail` or `unsupported`.
    pub result: &'static str,
    /// Why, unless it passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl DeviceReport {
    /// An empty report for a device.
    pub fn new(device: &PhysicalDevice) -> Self {
        let info = device.info();
        Self {
            name: info.name.clone(),
            driver: format!("{} {}", info.driver_name, info.driver_info),
            api_version: info.api_version_text(),
            levels: BTreeMap::new(),
            total: Counts::default(),
            cases: Vec::new(),
        }
    }

    /// Adds a case.
    pub fn add(&mut self, case: &Case, outcome: Outcome) {
        let level = self.levels.entry(case.level.to_string()).or_default();
        let (result, detail) = match outcome {
            Outcome::Pass => ("pass", None),
            Outcome::Fail(detail) => ("fail", Some(detail)),
            Outcome::Unsupported(detail) => ("unsupported", Some(detail)),
        };
        for counts in [level, &mut self.total] {
            match result {
                "pass" => counts.pass += 1,
                "fail" => counts.fail += 1,
                _ => counts.unsupported += 1,
            }
        }
        self.cases.push(CaseReport { id: case.id.to_string(), result, detail });
    }
}

impl Report {
    /// Whether any case failed.
    pub fn failed(&self) -> bool {
        self.devices.iter().any(|device| device.total.fail > 0)
    }

    /// Writes the report as JSON.
    ///
    /// # Errors
    /// `output` cannot be written.
    pub fn write_json(&self, mut output: impl io::Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut output, self)?;
        writeln!(output)
    }
}

impl fmt::Display for DeviceReport {
    /// The table of feature levels, then what failed and what was unsupported.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({}, Vulkan {})", self.name, self.driver.trim(), self.api_version)?;
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header(["feature level", "cases", "pass", "fail", "unsupported"]);
        for (level, counts) in &self.levels {
            table.add_row(counts.row(level));
        }
        table.add_row(self.total.row("all"));
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        writeln!(f, "{table}")?;
        for result in ["fail", "unsupported"] {
            let cases: Vec<_> = self.cases.iter().filter(|case| case.result == result).collect();
            for case in cases.iter().take(PRINTED_CASES) {
                writeln!(f, "{result}: {}: {}", case.id, case.detail.as_deref().unwrap_or(""))?;
            }
            if cases.len() > PRINTED_CASES {
                writeln!(f, "{result}: and {} more", cases.len() - PRINTED_CASES)?;
            }
        }
        Ok(())
    }
}

impl Counts {
    fn row(&self, level: &str) -> [String; 5] {
        let all = self.pass + self.fail + self.unsupported;
        let counts = [all, self.pass, self.fail, self.unsupported];
        let [all, pass, fail, unsupported] = counts.map(|count| count.to_string());
        [level.to_owned(), all, pass, fail, unsupported]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dml::FeatureLevel;

    fn report() -> DeviceReport {
        let mut report = DeviceReport {
            name: "Test device".to_owned(),
            driver: "driver 1".to_owned(),
            api_version: "1.1.0".to_owned(),
            levels: BTreeMap::new(),
            total: Counts::default(),
            cases: Vec::new(),
        };
        let cases = crate::cases::generate(FeatureLevel::V1_0);
        report.add(&cases[0], Outcome::Pass);
        report.add(&cases[1], Outcome::Fail("wrong bytes".to_owned()));
        report.add(&cases[2], Outcome::Unsupported("too large".to_owned()));
        report
    }

    #[test]
    fn the_table_counts_and_names_what_did_not_pass() {
        let text = report().to_string();
        assert!(text.starts_with("Test device (driver 1, Vulkan 1.1.0)\n"), "{text}");
        assert!(
            text.contains("fail: 1_0/diagonal_matrix/float32/rank2/refused_operator: wrong bytes")
        );
        assert!(text.contains("unsupported: 1_0/diagonal_matrix/float32/rank3/"), "{text}");
    }

    #[test]
    fn json_has_counts_and_details() {
        let report = Report { devices: vec![report()] };
        assert!(report.failed());
        let mut text = Vec::new();
        report.write_json(&mut text).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(json["devices"][0]["total"]["fail"], 1);
        assert_eq!(json["devices"][0]["levels"]["1_0"]["pass"], 1);
        assert_eq!(json["devices"][0]["cases"][1]["detail"], "wrong bytes");
    }
}
