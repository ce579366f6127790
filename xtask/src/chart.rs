//! `cargo xtask chart`: the README's picture of latencies, drawn from a page of measured models.
//!
//! A dot is a latency on a logarithmic scale. Every model is drawn that at least one other library runs on the same
//! device, so nothing is chosen by its result. One file serves light and dark pages: it has a background of its own,
//! and the colours of the reader's scheme.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use xshell::Shell;

use crate::workspace;

/// Draw the README's picture of latencies beside other libraries
#[derive(clap::Args)]
pub(crate) struct Args {}

const PAGE: &str = "docs/benchmarks/epyc-2-threads-models-mesa-25.md";
const PICTURE: &str = "docs/benchmarks/models.svg";

/// Draws the picture.
pub(crate) fn run(sh: &Shell) -> Result<()> {
    let root = workspace::root();
    let drawn = picture(&sh.read_file(root.join(PAGE))?)?;
    Ok(sh.write_file(root.join(PICTURE), drawn)?)
}

/// A library: its column of the page begins with `heading`.
struct Library {
    heading: &'static str,
    name: &'static str,
    class: &'static str,
}

/// Libraries that run on the Vulkan device come first, and this runtime before all others.
const LIBRARIES: [Library; 5] = [
    Library { heading: "latency", name: "dml", class: "dml" },
    Library { heading: "ncnn", name: "ncnn", class: "ncnn" },
    Library { heading: "IREE", name: "IREE", class: "iree" },
    Library { heading: "ONNX Runtime WebGPU", name: "ONNX Runtime WebGPU", class: "webgpu" },
    Library { heading: "ONNX Runtime", name: "ONNX Runtime on the CPU, no Vulkan", class: "cpu" },
];

/// A model, and the milliseconds that each library takes for it.
struct ModelLatencies {
    model: String,
    latencies: [Option<f64>; LIBRARIES.len()],
}

type Table<'a> = Vec<Vec<&'a str>>;

/// The tables of `page`, each with its headings first.
fn tables(page: &str) -> Vec<Table<'_>> {
    let mut tables = vec![];
    let mut is_inside = false;
    for line in page.lines() {
        let row = line.strip_prefix('|').and_then(|it| it.trim_end().strip_suffix('|'));
        if let Some(row) = row {
            if !is_inside {
                tables.push(vec![]);
            }
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let is_rule = cells.iter().all(|cell| cell.chars().all(|it| "-:".contains(it)));
            if let Some(table) = tables.last_mut().filter(|_| !is_rule) {
                table.push(cells);
            }
        }
        is_inside = row.is_some();
    }
    tables
}

/// The rows of `table` with a cell of the column whose heading begins with `heading`.
fn column<'a>(table: &Table<'a>, heading: &str) -> Result<Vec<(&'a str, &'a str)>> {
    let (headings, rows) = table.split_first().context("an empty table")?;
    let at = headings.iter().position(|it| it.starts_with(heading));
    let at = at.with_context(|| format!("{PAGE} has no column '{heading}'"))?;
    Ok(rows.iter().filter_map(|row| Some((*row.first()?, *row.get(at)?))).collect())
}

/// `none` and `wrong` are no latencies.
fn milliseconds(cell: &str) -> Option<f64> {
    cell.strip_suffix(" ms")?.parse().ok()
}

/// The models that another library runs on the same device, the quickest first.
fn rows(page: &str) -> Result<Vec<ModelLatencies>> {
    let tables = tables(page);
    let [alone, beside] = &tables[..] else {
        anyhow::bail!("{PAGE} has {} tables, not 2", tables.len());
    };
    let columns = LIBRARIES.iter().map(|library| {
        let table = if library.class == "cpu" { alone } else { beside };
        column(table, library.heading)
    });
    let columns: Vec<_> = columns.collect::<Result<_>>()?;
    let models = columns[0].iter().map(|(model, _)| {
        let of = |column: &Vec<(&str, &str)>| {
            column.iter().find(|(name, _)| name == model).and_then(|(_, cell)| milliseconds(cell))
        };
        ModelLatencies {
            model: model.trim_start_matches("light_").replace('_', " "),
            latencies: std::array::from_fn(|at| of(&columns[at])),
        }
    });
    let mut rows: Vec<ModelLatencies> =
        models.filter(|row| row.latencies[1..4].iter().any(Option::is_some)).collect();
    ensure!(!rows.is_empty(), "{PAGE} has no model that another library runs");
    rows.sort_by(|a, b| {
        a.latencies[0].partial_cmp(&b.latencies[0]).expect("latencies are numbers")
    });
    Ok(rows)
}

const WIDTH: f64 = 820.0;
const LEFT: f64 = 156.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 92.0;
const ROW: f64 = 24.0;
const BOTTOM: f64 = 40.0;

/// The labelled powers of ten of a millisecond.
const DECADES: std::ops::RangeInclusive<i32> = -2..=3;

/// The ends of the scale, as powers of ten of a millisecond.
const ENDS: [f64; 2] = [-2.0, 3.3];

fn x(milliseconds: f64) -> f64 {
    let [first, last] = ENDS;
    LEFT + (milliseconds.log10() - first) / (last - first) * (WIDTH - LEFT - RIGHT)
}

const STYLE: &str = "\
text{font:13px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;fill:#1f2328}\
.title{font-size:15px;font-weight:600}.small{font-size:12px;fill:#59636e}.end{text-anchor:end}.middle{text-anchor:middle}\
.back{fill:#fff}.grid{stroke:#d1d9e0;stroke-width:1}.span{stroke:#d1d9e0;stroke-width:2}\
.dml{fill:#0969da;stroke:#fff}.ncnn{fill:#bc4c00}.iree{fill:#1a7f37}.webgpu{fill:#8250df}.cpu{fill:none;stroke:#59636e;stroke-width:2}\
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.small{fill:#9198a1}.back{fill:#0d1117}\
.grid,.span{stroke:#3d444d}.dml{fill:#4493f8;stroke:#0d1117}.ncnn{fill:#f0883e}.iree{fill:#3fb950}.webgpu{fill:#ab7df8}.cpu{stroke:#9198a1}}";

/// The mark of a library: its shape tells as much as its colour.
fn mark(class: &str, x: f64, y: f64) -> String {
    let at = |dx: f64, dy: f64| format!("{:.1} {:.1}", x + dx, y + dy);
    let polygon = |points: &[(f64, f64)]| {
        let points: Vec<String> = points.iter().map(|&(dx, dy)| at(dx, dy)).collect();
        format!("<path class=\"{class}\" d=\"M{}Z\"/>\n", points.join("L"))
    };
    match class {
        // A ring of the background tells it from a mark below it.
        "dml" => format!("<circle class=\"dml\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5.5\"/>\n"),
        "ncnn" => polygon(&[(-5.5, -5.5), (5.5, -5.5), (5.5, 5.5), (-5.5, 5.5)]),
        "iree" => polygon(&[(0.0, -6.0), (6.0, 5.0), (-6.0, 5.0)]),
        "webgpu" => polygon(&[(0.0, -6.5), (6.5, 0.0), (0.0, 6.5), (-6.5, 0.0)]),
        _ => format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>\n"),
    }
}

/// The picture as SVG.
fn picture(page: &str) -> Result<String> {
    let rows = rows(page)?;
    #[expect(clippy::cast_precision_loss, reason = "a page has few models")]
    let bottom = TOP + ROW * rows.len() as f64;
    let height = bottom + BOTTOM;
    let mut svg = format!(
        "<!-- Generated by `cargo xtask chart` from {PAGE}: do not edit. -->\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n\
         <title>Latency of models on lavapipe by library</title>\n<style>{STYLE}</style>\n\
         <rect class=\"back\" width=\"{WIDTH}\" height=\"{height}\" rx=\"8\"/>\n\
         <text class=\"title\" x=\"16\" y=\"28\">Latency of whole models on a CPU driver: smaller is better</text>\n\
         <text class=\"small\" x=\"16\" y=\"48\">lavapipe (Mesa 25) on two threads of an AMD EPYC; logarithmic scale; every model that another library runs there</text>\n"
    );
    let mut left = 22.0;
    for library in &LIBRARIES {
        svg += &mark(library.class, left, 70.0);
        writeln!(svg, "<text x=\"{:.1}\" y=\"74.5\">{}</text>", left + 12.0, library.name)?;
        #[expect(clippy::cast_precision_loss, reason = "a name is short")]
        let width = 42.0 + 7.6 * library.name.len() as f64;
        left += width;
    }
    for decade in DECADES {
        let (value, label) = (10f64.powi(decade), bottom + 18.0);
        let at = x(value);
        writeln!(
            svg,
            "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom}\"/>"
        )?;
        writeln!(
            svg,
            "<text class=\"small middle\" x=\"{at:.1}\" y=\"{label}\">{value} ms</text>"
        )?;
    }
    let mut y = TOP + ROW / 2.0;
    for row in &rows {
        writeln!(
            svg,
            "<text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LEFT - 12.0,
            y + 4.5,
            row.model
        )?;
        let ends = row
            .latencies
            .iter()
            .flatten()
            .fold([f64::MAX, 0.0], |[least, most], &it| [it.min(least), it.max(most)]);
        let [from, to] = ends.map(x);
        writeln!(
            svg,
            "<line class=\"span\" x1=\"{from:.1}\" y1=\"{y}\" x2=\"{to:.1}\" y2=\"{y}\"/>"
        )?;
        // This runtime last, so that nothing hides it.
        for (library, latency) in LIBRARIES.iter().zip(row.latencies).rev() {
            svg += &latency.map(|latency| mark(library.class, x(latency), y)).unwrap_or_default();
        }
        y += ROW;
    }
    Ok(svg + "</svg>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../docs/benchmarks/epyc-2-threads-models-mesa-25.md");

    #[test]
    fn the_picture_is_what_the_page_states() {
        let drawn = picture(TEXT).unwrap();
        let kept = include_str!("../../docs/benchmarks/models.svg");
        assert!(drawn == kept, "run: cargo xtask chart");
    }

    #[test]
    fn models_that_no_other_library_runs_are_left_out() {
        let rows = rows(TEXT).unwrap();
        let row = |name: &str| rows.iter().find(|row| row.model == name);
        let resnet = row("resnet50").unwrap();
        assert_eq!(resnet.latencies, [Some(449.29), Some(773.48), None, None, Some(43.06)]);
        assert!(row("vgg19").is_none() && row("silero vad").is_none());
    }
}
