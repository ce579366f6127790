//! A headless browser, unpacked like the drivers: nothing is installed on the system.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::environment::Environment;
use crate::packages::Packages;
use crate::workspace;

/// The browser, and a font: a minimal system has none. The browser looks for its data beside itself
/// only, so they must lie there too, even where the system has them installed.
const PACKAGES: [&str; 3] = ["chromium-headless-shell", "chromium-common", "fonts-dejavu-core"];

/// Time that a page's scripts see, and, in real time, the end of waiting for a page.
const MILLISECONDS: u32 = 30_000;

/// Only the unpacked fonts, so that every machine draws the same.
const FONTS: &str = r#"<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir prefix="relative">usr/share/fonts</dir></fontconfig>
"#;

/// Chromium without a window.
pub(crate) struct Browser {
    program: PathBuf,
    environment: Environment,
}

/// What a page came to.
pub(crate) struct Page {
    /// The document after its scripts, as HTML.
    pub(crate) document: String,
    /// What the console says: a line for each message.
    pub(crate) console: Vec<String>,
}

/// How a picture of a page is taken.
pub(crate) struct View {
    /// The picture's name.
    pub(crate) name: &'static str,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) is_dark: bool,
    /// Follows the page's address.
    pub(crate) fragment: &'static str,
}

impl Browser {
    /// Makes sure of the browser.
    pub(crate) fn ensure(sh: &Shell) -> Result<Self> {
        let finish = |sh: &Shell, root: &Path| Ok(sh.write_file(root.join("fonts.conf"), FONTS)?);
        let tree = Packages { finish, ..Packages::new("browser", &PACKAGES) }.ensure(sh)?;
        let mut libraries = tree.libraries(sh)?;
        // libpulse looks for a part of itself in a folder below.
        libraries.extend(libraries.clone().iter().map(|it| it.join("pulseaudio")));
        let environment = Environment::of_folders(libraries, Vec::new())?;
        let environment = environment.with("FONTCONFIG_FILE", tree.root.join("fonts.conf"));
        Ok(Self {
            program: tree.root.join("usr/lib/chromium/chromium-headless-shell"),
            environment,
        })
    }

    /// Opens `file`, with `fragment` (`#...`, or nothing) after its address, and lets its scripts
    /// end.
    pub(crate) fn open(&self, sh: &Shell, file: &Path, fragment: &str) -> Result<Page> {
        self.run(sh, file, fragment, &["--dump-dom".to_owned()])
    }

    /// Writes a picture of `file` to `picture`.
    pub(crate) fn draw(&self, sh: &Shell, file: &Path, view: &View, picture: &Path) -> Result<()> {
        sh.remove_path(picture)?;
        let options = [
            format!("--screenshot={}", picture.display()),
            format!("--window-size={},{}", view.width, view.height),
            // In Chromium's list of colour schemes.
            format!("--blink-settings=preferredColorScheme={}", if view.is_dark { 0 } else { 1 }),
        ];
        self.run(sh, file, view.fragment, &options)?;
        ensure!(picture.is_file(), "the browser drew no picture");
        Ok(())
    }

    /// The sandbox needs privileges that containers lack, and the pages are our own.
    fn run(&self, sh: &Shell, file: &Path, fragment: &str, options: &[String]) -> Result<Page> {
        let (program, state) = (&self.program, workspace::setup_dir().join("browser-state"));
        let command = cmd!(sh, "{program} --headless --no-sandbox --disable-gpu")
            .args(["--disable-dev-shm-usage", "--hide-scrollbars", "--enable-logging=stderr"])
            .arg(format!("--user-data-dir={}", state.display()))
            .arg(format!("--virtual-time-budget={MILLISECONDS}"))
            .arg(format!("--timeout={MILLISECONDS}"))
            .args(options)
            .arg(format!("file://{}{fragment}", file.display()));
        let command = self.environment.apply(command).quiet().ignore_status();
        let output = command.output().context("starting the browser")?;
        let log = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "the browser ended with {}:\n{log}", output.status);
        let document = String::from_utf8(output.stdout).context("the document is not UTF-8")?;
        Ok(Page { document, console: console(&log) })
    }
}

/// The messages of the console in the browser's log. Uncaught exceptions and refusals of the
/// content security policy are among them.
fn console(log: &str) -> Vec<String> {
    log.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_of_the_console_count() {
        let log = "[1121/140751.002624:ERROR:dbus/bus.cc:405] Failed to connect to the bus\n\
            [1121/140751.1:INFO:CONSOLE:3] \"Uncaught Error: x\", source: file:///a.html (3)\n\
            12 bytes written to file a.png\n";
        assert_eq!(console(log).len(), 1);
        assert!(console(log)[0].contains("Uncaught Error: x"));
    }
}
