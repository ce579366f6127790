//! The step `html-report` of `nightly`: the conformance runner's HTML report in a headless browser,
//! which is unpacked like the drivers.

use std::path::Path;

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::environment::Environment;
use crate::packages::Packages;
use crate::process::succeed;

/// The browser, and a font: a minimal system has none. The browser looks for its data beside itself
/// only, so they must lie there too, even where the system has them installed.
const PACKAGES: [&str; 3] = ["chromium-headless-shell", "chromium-common", "fonts-dejavu-core"];

/// Only the unpacked fonts, so that every machine draws the same.
const FONTS: &str = r#"<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir prefix="relative">usr/share/fonts</dir></fontconfig>
"#;

/// Runs the test of the page, which leaves the page and its pictures in `target/html-report`.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let finish = |sh: &Shell, root: &Path| Ok(sh.write_file(root.join("fonts.conf"), FONTS)?);
    let tree = Packages { finish, ..Packages::new("browser", &PACKAGES) }.ensure(sh)?;
    let mut libraries = tree.libraries(sh)?;
    // libpulse looks for a part of itself in a folder below.
    libraries.extend(libraries.clone().iter().map(|it| it.join("pulseaudio")));
    let program = tree.root.join("usr/lib/chromium/chromium-headless-shell");
    let environment = Environment::of_folders(libraries, Vec::new())?
        .with("FONTCONFIG_FILE", tree.root.join("fonts.conf"))
        .with("DML_TEST_BROWSER", program);
    // With the features of all tests, so that nothing is built anew.
    let test = cmd!(sh, "cargo test --locked --workspace --features dml-core/json").args([
        "--test",
        "html_page",
        "--",
        "--include-ignored",
    ]);
    succeed(environment.apply(test))
}
