//! The checked-in header is what the sources say.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

#[test]
fn the_checked_in_header_is_what_the_sources_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let found = std::fs::read_to_string(dml_c_header::path(&root)).unwrap();
    let expected = dml_c_header::generate(&root).unwrap();
    let wrong = found.lines().zip(expected.lines()).position(|(one, other)| one != other);
    assert!(
        found == expected,
        "it differs from line {}; run `cargo xtask generate-header`, and raise DMLVK_ABI_VERSION where \
         compiled programs expect something else",
        wrong.map_or_else(|| found.lines().count().min(expected.lines().count()), |it| it + 1)
    );
}
