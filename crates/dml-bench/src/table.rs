//! The report as text and as Markdown: equal rows, ratios first.

use comfy_table::presets::{ASCII_MARKDOWN, UTF8_FULL_CONDENSED};
use comfy_table::{ContentArrangement, Table};

use crate::report::{
    CaseResult, ColdStart, DeviceReport, HostCost, Limit, OtherResult, Outcome, PeerTimes,
    Presence, Report, Verdict,
};
use crate::stats::Ratio;
use crate::text::{bytes_text, time_text};

/// The style of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// For a terminal.
    Terminal,
    /// For a page of Markdown.
    Markdown,
}

/// The machine, and the status of the peers.
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
            Presence::There(version) => format!("peer: {} {version}\n", peer.name),
            Presence::Missing(reason) => {
                format!("peer: {} could not be had: {reason}\n", peer.name)
            }
        };
    }
    text
}

/// All tables of one device, for a terminal.
pub(crate) fn device(device: &DeviceReport) -> String {
    let DeviceReport { name, driver, numerics, .. } = device;
    let mut text = format!("\n{name} ({driver}), numerics {numerics}\n");
    for (title, table) in sections(device, Style::Terminal) {
        text += &format!("\n{title}\n{table}\n");
    }
    text + &format!("\n{name}: {}\n", device.score())
}

/// The tables of one device with their titles; empty tables are left out.
pub(crate) fn sections(device: &DeviceReport, style: Style) -> Vec<(&'static str, String)> {
    let all = [
        ("Against the device itself", cases(&device.cases, style)),
        ("Against each other", others(&device.cases, style)),
        ("More than one command, against one fill of 64 MiB", limits(device, style)),
        ("Against other libraries", peers(&device.cases, style)),
        ("What the host does", host(device, style)),
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
            // A table cell in Markdown must not have line breaks or bars.
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

fn others(cases: &[CaseResult], style: Style) -> Option<String> {
    let header = ["case", "other case", "ratio", "target", "", "p10..p90"];
    let rows = cases.iter().filter_map(|case| Some((case, case.measured()?)));
    let rows = rows.flat_map(|(case, it)| {
        it.others.iter().map(|other| {
            let rest = match &other.outcome {
                Presence::There(ratio) => ratio_cells(ratio, other.target, other.verdict()).into(),
                Presence::Missing(reason) => missing_cells(reason, other.target, 4),
            };
            [vec![case.id.clone(), other.name.clone()], rest].concat()
        })
    });
    table(&header, rows.collect(), style)
}

fn peers(cases: &[CaseResult], style: Style) -> Option<String> {
    let header = [
        "case",
        "peer",
        "ratio",
        "target",
        "",
        "p10..p90",
        "baseline / peer",
        "median of peer",
        "turns",
    ];
    let rows = cases.iter().filter_map(|case| Some((case, case.measured()?)));
    let rows = rows.flat_map(|(case, it)| it.peers.iter().map(|peer| peer_row(case, peer)));
    table(&header, rows.collect(), style)
}

fn peer_row(case: &CaseResult, peer: &OtherResult<PeerTimes>) -> Vec<String> {
    let start = vec![case.id.clone(), peer.name.clone()];
    let rest = match &peer.outcome {
        Presence::There(times) => {
            let more = [
                middle(&times.baseline_ratio),
                time_text(times.times.median),
                times.times.count.to_string(),
            ];
            [&ratio_cells(&times.ratio, peer.target, peer.verdict())[..], &more].concat()
        }
        Presence::Missing(reason) => missing_cells(reason, peer.target, 7),
    };
    [start, rest].concat()
}

/// The ratio, its target, the verdict and the spread.
fn ratio_cells(ratio: &Ratio, target: Option<f64>, verdict: Verdict) -> [String; 4] {
    let target = target.map(ratio_text).unwrap_or_default();
    [middle(ratio), target, remark(verdict, ratio), spread(ratio)]
}

/// The cells of a missing ratio, with empty cells up to `count`.
fn missing_cells(reason: &str, target: Option<f64>, count: usize) -> Vec<String> {
    let target = target.map(ratio_text).unwrap_or_default();
    let mut cells =
        vec!["-".to_owned(), target, "not measured".to_owned(), reason.replace(['\n', '|'], " ")];
    cells.resize(count, String::new());
    cells
}

/// A verdict, with a remark if the ratio is noisy.
fn remark(verdict: Verdict, ratio: &Ratio) -> String {
    let doubt = if ratio.is_noisy() { "noisy" } else { "" };
    format!("{} {doubt}", verdict.text()).trim().to_owned()
}

fn limits(device: &DeviceReport, style: Style) -> Option<String> {
    let row = |it: &Limit| {
        let ratio = &it.ratio;
        let remark = remark(Verdict::NoTarget, ratio);
        vec![it.name.clone(), middle(ratio), remark, spread(ratio), time_text(it.time.median)]
    };
    let rows = device.limits.iter().map(row).collect();
    table(&["commands", "ratio", "", "p10..p90", "median"], rows, style)
}

fn host(device: &DeviceReport, style: Style) -> Option<String> {
    let row = |it: &HostCost| {
        let verdict = it.verdict().text().to_owned();
        let times = [it.time.median, it.target].map(time_text);
        let [median, target] = times;
        vec![it.name.to_owned(), median, target, verdict, time_text(it.time.p99)]
    };
    let rows = device.host.iter().map(row).collect();
    table(&["work", "median", "target", "", "p99"], rows, style)
}

fn cold_start(device: &DeviceReport, style: Style) -> Option<String> {
    let first = device.cold_start.first()?.time.median;
    let row = |it: &ColdStart| {
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

/// A ratio with two digits after the point, three below a tenth.
fn ratio_text(ratio: f64) -> String {
    if ratio < 0.1 { format!("{ratio:.3}") } else { format!("{ratio:.2}") }
}
