//! The driver of a test that compares nothing between drivers.

use dml_reference::Random;

/// Whether the driver with the index `at`, of `count`, runs a test of `subject`: one driver does, always the same one; all
/// do with `DML_TEST_EVERY_DRIVER=1`.
pub(crate) fn runs(at: usize, count: usize, subject: &[u8]) -> bool {
    let is_every = std::env::var("DML_TEST_EVERY_DRIVER").is_ok_and(|it| it == "1");
    let chosen =
        || Random::new(&String::from_utf8_lossy(subject)).below(u32::try_from(count).unwrap());
    is_every || u32::try_from(at) == Ok(chosen())
}
