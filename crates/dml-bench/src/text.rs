//! Times and sizes in words.

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
