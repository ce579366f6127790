//! A profile of a device whose largest buffer is small.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use xshell::Shell;

use crate::workspace;

/// The number of bytes that `text` states, such as `65536`, `16M` or `1G`.
pub(super) fn bytes(text: &str) -> Result<u64> {
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => u32::MAX,
    };
    let number: Option<u64> = digits.parse().ok();
    let bytes = number.and_then(|number| number.checked_mul(1u64.checked_shl(shift)?));
    let bytes = bytes.context("accepted: a number of bytes, or with K, M or G after it")?;
    ensure!(bytes > 0, "accepted: 1 byte and more");
    Ok(bytes)
}

/// The file of a profile whose only limit is maxMemoryAllocationSize.
pub(super) fn profile(sh: &Shell, bytes: u64) -> Result<PathBuf> {
    let file = workspace::root().join(format!("target/memory-cap-{bytes}.toml"));
    let text = format!(
        "about = \"No buffer has more than {bytes} bytes.\"\n\n[limits]\nmaxMemoryAllocationSize = {bytes}\n"
    );
    sh.write_file(&file, text)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let known = ["65536", "64K", "16M", "1G"].map(|it| bytes(it).unwrap());
        assert_eq!(known, [1 << 16, 1 << 16, 16 << 20, 1 << 30]);
        for wrong in ["", "M", "0", "16MB", "16m", "-1", "16MM", "99999999999G"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
