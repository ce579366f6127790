//! What a command is busy with, for somebody who waits at a terminal.

use std::time::Duration;

use dml_import::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// A line on the terminal, gone when it is dropped. Where standard error is no terminal it is none.
pub(crate) struct Line(ProgressBar);

impl Line {
    /// A line that says `what`.
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

    /// Says something else, of which nobody knows how much there is.
    pub(crate) fn say(&self, what: &'static str) {
        self.0.set_style(ProgressStyle::default_spinner());
        self.0.set_message(what);
    }

    /// Says how far a program is on its way to a device.
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

    /// So many of `total` runs have ended.
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
