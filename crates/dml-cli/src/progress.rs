//! A command's progress, shown on a terminal.

use std::time::Duration;

use dml_import::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// A line on the terminal, which is removed when it is dropped. It is not shown if standard error is not a terminal.
pub(crate) struct Line(ProgressBar);

impl Line {
    /// A line with the text `what`.
    pub(crate) fn new(what: &'static str) -> Self {
        let line = Self(ProgressBar::new_spinner());
        line.0.enable_steady_tick(Duration::from_millis(100));
        line.say(what);
        line
    }

    /// A line that is never shown.
    pub(crate) fn hidden() -> Self {
        Self(ProgressBar::hidden())
    }

    /// Changes the text, for work of unknown length.
    pub(crate) fn say(&self, what: &'static str) {
        self.0.set_style(ProgressStyle::default_spinner());
        self.0.set_message(what);
    }

    /// Shows the progress of preparing a program on a device.
    pub(crate) fn tell(&self, progress: Progress) {
        match progress {
            Progress::Uploading { done, total } if total > 0 => {
                let bar = "{spinner} uploading [{bar:30}] {bytes} of {total_bytes}";
                if let Ok(style) = ProgressStyle::with_template(bar) {
                    self.0.set_style(style);
                }
                self.0.set_length(total);
                self.0.set_position(done);
            }
            Progress::Compiling => self.say("compiling"),
            _ => {}
        }
    }

    /// Shows that `done` of `total` runs have ended.
    pub(crate) fn ran(&self, done: u64, total: u64) {
        if done == 0 {
            if let Ok(style) =
                ProgressStyle::with_template("{spinner} running [{bar:30}] {pos} of {len}")
            {
                self.0.set_style(style);
            }
            self.0.set_length(total);
        }
        self.0.set_position(done);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
