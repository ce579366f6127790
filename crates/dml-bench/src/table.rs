//! The report as text and as Markdown: the same rows, ratios first.

use comfy_table::presets::{ASCII_MARKDOWN, UTF8_FULL_CONDENSED};
use comfy_table::{ContentArrangement, Table};

use crate::report::{CaseResult, DeviceReport, Outcome, PeerResult, Report, Verdict};
use crate::stats::Ratio;

/// How tables are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// For a terminal.
    Terminal,
    /// For a page of Markdown.
    Markdown,
}

/// The machine, and who was asked.
pub(crate) fn header(report: &Report) -> String {
    let machine = &report.machine;
    let size = |bytes: Option<u64>| bytes.map_or("unknown".to_owned(), bytes_text);
    let mut text = format!(
        "machine: {}, {} threads, memory {}, last-level cache {}, {}\n",
        machine.cpu,
        machine.threads,
        size(machine.memory),
        size(machine.cache),
        machine.system
    );
    for peer in &report.peers {
        text += &match &peer.status {
            Ok(version) => format!("peer: {} {version}\n", peer.name),
            Err(reason) => format!("peer: {} could not be had: {reason}\n", peer.name),
        };
    }
    text
}

/// Everything of one device, for a terminal.
pub(crate) fn device(device: &DeviceReport) -> String {
    let mut text = format!("\n{} ({})\n", device.name, device.driver);
    for (title, table) in sections(device, Style::Terminal) {
        text += &format!("\n{title}\n{table}\n");
    }
    text + &format!("\n{}: {}\n", device.name, device.score())
}

/// The tables of one device with their titles; those without a row are left out.
pub(crate) fn sections(device: &DeviceReport, style: Style) -> Vec<(&'static str, String)> {
    let all = [
        ("Against the device itself", cases(&device.cases, style)),
        ("More than one command, against one fill of 64 MiB", limits(device, style)),
        ("Against other libraries", peers(&device.cases, style)),
        ("Recording one operator", recording(device, style)),
        ("Process start to first result", cold_start(device, style)),
    ];
    all.into_iter().filter_map(|(title, table)| Some((title, table?))).collect()
}

fn table(header: &[&str], rows: Vec<Vec<String>>, style: Style) -> Option<String> {
    if rows.is_empty() {
        return None;
    }
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.load_style(match style {
        Style::Terminal => UTF8_FULL_CONDENSED,
        Style::Markdown => ASCII_MARKDOWN,
    });
    table.set_header(header);
    table.add_rows(rows);
    Some(table.to_string())
}

fn cases(cases: &[CaseResult], style: Style) -> Option<String> {
    let header = [
        "case",
        "ratio",
        "target",
        "",
        "p10..p90",
        "on the device",
        "against",
        "/ memset",
        "median",
        "p99",
        "baseline",
        "turns",
    ];
    table(&header, cases.iter().map(case_row).collect(), style)
}

fn case_row(case: &CaseResult) -> Vec<String> {
    let target = case.target.map(ratio_text).unwrap_or_default();
    let verdict = case.verdict().text().to_owned();
    let measured = match &case.outcome {
        Outcome::Measured(measured) => measured,
        Outcome::Refused(reason) | Outcome::Failed(reason) => {
            let is_refused = matches!(case.outcome, Outcome::Refused(_));
            let what = if is_refused { "refused" } else { "FAILED" };
            let mut row = vec![case.id.clone(), what.to_owned(), target, verdict];
            // A cell of a table in Markdown has one line and no bar.
            row.push(reason.replace(['\n', '|'], " "));
            row.resize(12, String::new());
            return row;
        }
    };
    let optional = |ratio: &Option<Ratio>| ratio.as_ref().map(middle).unwrap_or_default();
    vec![
        case.id.clone(),
        middle(&measured.ratio),
        target,
        remark(case.verdict(), &measured.ratio),
        spread(&measured.ratio),
        optional(&measured.device_ratio),
        case.baseline.to_owned(),
        optional(&measured.memset_ratio),
        time_text(measured.operator.median),
        time_text(measured.operator.p99),
        time_text(measured.baseline.median),
        measured.operator.count.to_string(),
    ]
}

fn peers(cases: &[CaseResult], style: Style) -> Option<String> {
    let header =
        ["case", "peer", "ratio", "target", "", "p10..p90", "fill / peer", "median of peer"];
    let rows = cases.iter().filter_map(|case| Some((case, case.measured()?)));
    let rows = rows.flat_map(|(case, it)| it.peers.iter().map(|peer| peer_row(case, peer)));
    table(&header, rows.collect(), style)
}

fn peer_row(case: &CaseResult, peer: &PeerResult) -> Vec<String> {
    let start = vec![case.id.clone(), peer.name.clone()];
    let target = peer.target.map(ratio_text).unwrap_or_default();
    let rest = match &peer.outcome {
        Ok(times) => vec![
            middle(&times.ratio),
            target,
            remark(peer.verdict(), &times.ratio),
            spread(&times.ratio),
            middle(&times.baseline_ratio),
            time_text(times.times.median),
        ],
        Err(reason) => {
            let reason = reason.replace(['\n', '|'], " ");
            vec!["-".to_owned(), target, "not measured".to_owned(), reason, "".into(), "".into()]
        }
    };
    [start, rest].concat()
}

/// A verdict, and whether the ratio says little.
fn remark(verdict: Verdict, ratio: &Ratio) -> String {
    let doubt = if ratio.is_noisy() { "noisy" } else { "" };
    format!("{} {doubt}", verdict.text()).trim().to_owned()
}

fn limits(device: &DeviceReport, style: Style) -> Option<String> {
    let row = |it: &crate::limits::Limit| {
        let ratio = &it.ratio;
        let remark = remark(Verdict::NoTarget, ratio);
        vec![it.name.clone(), middle(ratio), remark, spread(ratio), time_text(it.time.median)]
    };
    let rows = device.limits.iter().map(row).collect();
    table(&["commands", "ratio", "", "p10..p90", "median"], rows, style)
}

fn recording(device: &DeviceReport, style: Style) -> Option<String> {
    let row = |it: &crate::recording::Recording| {
        let verdict = it.verdict().text().to_owned();
        let times = [it.time.median, it.target].map(time_text);
        let [median, target] = times;
        vec![it.name.to_owned(), median, target, verdict, time_text(it.time.p99)]
    };
    let rows = device.recording.iter().map(row).collect();
    table(&["operator", "median", "target", "", "p99"], rows, style)
}

fn cold_start(device: &DeviceReport, style: Style) -> Option<String> {
    let first = device.cold_start.first()?.time.median;
    let row = |it: &crate::cold_start::ColdStart| {
        let ratio = ratio_text(it.time.median / first);
        vec![it.name.to_owned(), ratio, time_text(it.time.median), time_text(it.time.p99)]
    };
    let rows = device.cold_start.iter().map(row).collect();
    table(&["caches", "ratio", "median", "p99"], rows, style)
}

fn middle(ratio: &Ratio) -> String {
    ratio_text(ratio.of_medians)
}

fn spread(ratio: &Ratio) -> String {
    format!("{}..{}", ratio_text(ratio.p10), ratio_text(ratio.p90))
}

/// Two digits after the point, three below a tenth.
fn ratio_text(ratio: f64) -> String {
    if ratio < 0.1 { format!("{ratio:.3}") } else { format!("{ratio:.2}") }
}

/// Three significant digits with a unit.
pub(crate) fn time_text(seconds: f64) -> String {
    let (value, unit) = match seconds {
        it if it < 1e-6 => (it * 1e9, "ns"),
        it if it < 1e-3 => (it * 1e6, "us"),
        it if it < 1.0 => (it * 1e3, "ms"),
        it => (it, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

/// With a unit of 1024.
pub(crate) fn bytes_text(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|(shift, _)| bytes >> shift > 0) {
        Some((shift, unit)) => format!("{} {unit}", bytes >> shift),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        assert_eq!(time_text(0.000_000_123_4), "123 ns");
        assert_eq!(time_text(0.000_012_34), "12.3 us");
        assert_eq!(time_text(0.001_234), "1.23 ms");
        assert_eq!(time_text(2.0), "2.00 s");
        assert_eq!(bytes_text(64 << 20), "64 MiB");
    }
}
