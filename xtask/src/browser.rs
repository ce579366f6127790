//! A headless browser, unpacked like the drivers: nothing is installed on the system.

use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Context, Result, bail, ensure};
use xshell::{Cmd, Shell, cmd};

use crate::apt;
use crate::bundle::{Bundle, Tree};
use crate::environment::{Announced, Environment};
use crate::setup;
use crate::workspace;

/// Time that a page's scripts see, and, in real time, the end of waiting for a page.
const MILLISECONDS: u32 = 30_000;

/// Chromium without a window.
pub(crate) struct Browser {
    program: PathBuf,
    environment: Environment,
    /// Its profile; nothing in it matters.
    state: PathBuf,
}

/// What a page came to.
pub(crate) struct Page {
    /// The document after its scripts, as HTML.
    pub(crate) document: String,
    /// What the console says: a line for each message.
    pub(crate) console: Vec<String>,
}

/// How a page is looked at.
#[derive(Clone, Copy)]
pub(crate) struct View {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) is_dark: bool,
}

impl Browser {
    /// Makes sure of the browser.
    pub(crate) fn ensure(sh: &Shell) -> Result<Self> {
        ensure!(
            apt::present(),
            "the headless browser comes as a package of Debian, and this system has no apt"
        );
        let folder = workspace::setup_dir();
        let _lock = setup::lock(sh, &folder)?;
        let tree = bundle().ensure(sh, &folder).context("getting a headless browser")?;
        let Some(program) = tree.file("usr/lib/chromium/chromium-headless-shell") else {
            bail!("{PACKAGE} has no program chromium-headless-shell");
        };
        let fonts = folder.join("fonts.conf");
        sh.write_file(&fonts, font_configuration(&tree.root, &folder))?;
        let announced = Announced { libraries: libraries(sh, &tree)?, ..Announced::default() };
        let environment = Environment::only(announced)?.with("FONTCONFIG_FILE", fonts);
        Ok(Self { program, environment, state: folder.join("browser-state") })
    }

    /// Opens `file`, with `fragment` (`#...`, or nothing) behind its address, and lets its scripts
    /// end.
    pub(crate) fn open(&self, sh: &Shell, file: &Path, fragment: &str) -> Result<Page> {
        let output = finish(self.command(sh, "--dump-dom".to_owned()), file, fragment)?;
        let document = String::from_utf8(output.stdout).context("the document is not UTF-8")?;
        Ok(Page { document, console: console(&String::from_utf8_lossy(&output.stderr)) })
    }

    /// Writes a picture of `file` to `picture`.
    pub(crate) fn draw(
        &self,
        sh: &Shell,
        file: &Path,
        fragment: &str,
        view: View,
        picture: &Path,
    ) -> Result<()> {
        sh.remove_path(picture)?;
        let View { width, height, is_dark } = view;
        let option = format!("--screenshot={}", picture.display());
        // 0 is dark and 1 is light, in Chromium's list of colour schemes.
        let scheme = u32::from(!is_dark);
        let command = self
            .command(sh, option)
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("--blink-settings=preferredColorScheme={scheme}"));
        finish(command, file, fragment)?;
        ensure!(picture.is_file(), "the browser drew no picture");
        Ok(())
    }

    /// The sandbox needs privileges that containers lack, and the pages are our own.
    fn command<'a>(&self, sh: &'a Shell, option: String) -> Cmd<'a> {
        let Self { program, environment, state } = self;
        let command = cmd!(sh, "{program} --headless --no-sandbox --disable-gpu")
            .args(["--disable-dev-shm-usage", "--hide-scrollbars", "--enable-logging=stderr"])
            .arg(format!("--user-data-dir={}", state.display()))
            .arg(format!("--virtual-time-budget={MILLISECONDS}"))
            .arg(format!("--timeout={MILLISECONDS}"))
            .arg(option);
        environment.apply(command)
    }
}

fn finish(command: Cmd<'_>, file: &Path, fragment: &str) -> Result<Output> {
    let command = command.arg(format!("file://{}{fragment}", file.display()));
    let output = command.quiet().ignore_status().output().context("starting the browser")?;
    let log = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the browser ended with {}:\n{log}", output.status);
    Ok(output)
}

const PACKAGE: &str = "chromium-headless-shell";

/// The browser, and a font: a minimal system has none.
fn bundle() -> Bundle {
    Bundle {
        folder: "browser",
        packages: [PACKAGE, "fonts-dejavu-core"].map(str::to_owned).to_vec(),
        bare: Vec::new(),
        companions: data_files,
    }
}

/// The browser looks for its data beside itself only, so they must lie there too, even where the
/// system has them installed.
fn data_files(package: &str) -> Vec<String> {
    let needs = package == PACKAGE;
    needs.then(|| "chromium-common".to_owned()).into_iter().collect()
}

/// The folders of shared libraries. libpulse looks for a part of itself in a folder below.
fn libraries(sh: &Shell, tree: &Tree) -> Result<Vec<PathBuf>> {
    let folders = tree.library_folders(sh)?;
    let parts: Vec<PathBuf> = folders.iter().map(|it| it.join("pulseaudio")).collect();
    Ok(folders.into_iter().chain(parts).filter(|it| it.is_dir()).collect())
}

/// Only the unpacked fonts, so that every machine draws the same.
fn font_configuration(root: &Path, folder: &Path) -> String {
    let fonts = root.join("usr/share/fonts");
    let cache = folder.join("font-cache");
    format!(
        "<?xml version=\"1.0\"?>\n<!DOCTYPE fontconfig SYSTEM \"fonts.dtd\">\n<fontconfig>\n\
         <dir>{}</dir>\n<cachedir>{}</cachedir>\n</fontconfig>\n",
        fonts.display(),
        cache.display()
    )
}

/// The messages of the console in the browser's log. Uncaught exceptions and refusals of the
/// content security policy are among them.
fn console(log: &str) -> Vec<String> {
    let lines = log.lines().filter(|line| line.contains(":CONSOLE"));
    lines.map(str::to_owned).collect()
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

    #[test]
    fn the_browsers_data_lie_beside_it() {
        assert_eq!(data_files(PACKAGE), ["chromium-common"]);
        assert!(data_files("fonts-dejavu-core").is_empty());
    }
}
