//! Time against size, both logarithmic: a straight line where time is all memory.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use crate::report::{CaseTimes, DeviceReport};
use crate::text::{bytes_text, time_text};

const SIZE: (u32, u32) = (900, 560);

/// A line of the plot: its name, its colour, and the time that it shows.
type Line = (&'static str, RGBColor, fn(&CaseTimes) -> Option<f64>);

const LINES: [Line; 3] = [
    ("operator", RGBColor(31, 119, 180), |it| Some(it.operator.median)),
    ("vkCmdFillBuffer", RGBColor(255, 127, 14), |it| Some(it.baseline.median)),
    ("memset", RGBColor(120, 120, 120), |it| it.memset.as_ref().map(|memset| memset.median)),
];

/// The plot of one device as SVG: packed FLOAT32 matrices. `None` where fewer than two of these were
/// measured, which are no line.
///
/// # Errors
/// The figure cannot be drawn.
pub(crate) fn svg(device: &DeviceReport) -> Result<Option<String>> {
    let points = points(device);
    if points.len() < 2 {
        return Ok(None);
    }
    let mut text = String::new();
    draw(&device.name, &points, &mut text).map_err(|error| anyhow!("drawing a plot: {error}"))?;
    Ok(Some(text))
}

/// Bytes and times, by size.
fn points(device: &DeviceReport) -> Vec<(f64, &CaseTimes)> {
    let is_shown = |id: &str| {
        id.starts_with("growth/f32/") || (id.starts_with("packed/f32/") && !id.contains("width"))
    };
    let mut points: Vec<(u64, &CaseTimes)> = device
        .cases
        .iter()
        .filter(|case| is_shown(&case.id))
        .filter_map(|case| Some((case.bytes, case.measured()?)))
        .collect();
    points.sort_by_key(|(bytes, _)| *bytes);
    #[expect(clippy::cast_precision_loss, reason = "a place on paper")]
    let as_place = |bytes: u64| bytes as f64;
    points.into_iter().map(|(bytes, measured)| (as_place(bytes), measured)).collect()
}

fn draw(
    title: &str,
    points: &[(f64, &CaseTimes)],
    text: &mut String,
) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let times = points.iter().flat_map(|(_, it)| LINES.iter().filter_map(|line| line.2(it)));
    let (least, most) = bounds(times);
    let (smallest, largest) = bounds(points.iter().map(|(bytes, _)| *bytes));
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("{title}: packed FLOAT32 matrices"), ("sans-serif", 20))
        .margin(12)
        // Half of the last size's label lies beyond the end of its axis.
        .margin_right(40)
        .x_label_area_size(45)
        .y_label_area_size(75)
        .build_cartesian_2d(
            (smallest..largest).log_scale().base(4.0),
            (least * 0.8..most * 1.25).log_scale(),
        )?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a label")]
    let size_label = |bytes: &f64| bytes_text(bytes.round() as u64);
    chart
        .configure_mesh()
        .x_desc("bytes of the output")
        .y_desc("median time, submission and wait included")
        .x_label_formatter(&size_label)
        .y_label_formatter(&|seconds| time_text(*seconds))
        .light_line_style(RGBColor(235, 235, 235))
        .draw()?;
    for (name, color, time) in LINES {
        let line: Vec<(f64, f64)> =
            points.iter().filter_map(|(bytes, it)| Some((*bytes, time(it)?))).collect();
        chart
            .draw_series(LineSeries::new(line, color.stroke_width(2)).point_size(3))?
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 3), (x + 14, y + 3)], color.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .border_style(RGBColor(180, 180, 180))
        .background_style(WHITE)
        .draw()?;
    area.present()?;
    Ok(())
}

/// The least and the most; something to draw where there is one value.
fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, most) =
        values.fold((f64::MAX, f64::MIN), |(least, most), it| (least.min(it), most.max(it)));
    if least < most { (least, most) } else { (1.0, 2.0) }
}
