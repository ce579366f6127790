use std::fmt::Write;

use sha2::{Digest, Sha256};

/// The SHA-256 of `bytes` in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// `text` with line feeds only, so that a checkout with other line ends hashes the same.
pub fn lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}
