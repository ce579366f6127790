//! How far a run is, on standard error.

use dml_file::eprintln;
use indicatif::{ProgressBar, ProgressStyle};

/// The progress of one target: a bar where standard error is a terminal, and a line at the end.
pub(super) struct Progress {
    bar: ProgressBar,
    title: String,
    failures: u64,
}

impl Progress {
    pub(super) fn new(title: String, cases: usize) -> Self {
        let bar = ProgressBar::new(cases as u64);
        let template = "{prefix} [{bar:30}] {pos}/{len} cases, {msg}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(title.clone());
        bar.set_message("0 failed");
        Self { bar, title, failures: 0 }
    }

    pub(super) fn case(&mut self, is_failure: bool) {
        if is_failure {
            self.failures += 1;
            self.bar.set_message(format!("{} failed", self.failures));
        }
        self.bar.inc(1);
    }

    /// Ends it. Of `all` cases so many were not run.
    pub(super) fn done(self, seconds: f64, all: usize, not_run: usize) {
        self.bar.finish_and_clear();
        let count = all - not_run;
        let rest = if not_run > 0 { format!(", {not_run} not run") } else { String::new() };
        eprintln!(
            "{}: {count} cases in {seconds:.1} s, {} failed{rest}",
            self.title, self.failures
        );
    }
}
