//! A defect that AddressSanitizer must find: the positive control of the run under it.
#![allow(unsafe_code, reason = "a C program's calls, one of them wrong on purpose")]

use std::ptr;

use dmlvk::dmlvk_create_device;

#[test]
#[ignore = "undefined on purpose: only a run under AddressSanitizer starts it, and has to end it"]
fn a_struct_that_is_gone_is_read() {
    let mut device = ptr::null_mut();
    let desc = {
        let struct_size = 7u32;
        &raw const struct_size
    };
    // SAFETY: none. The variable is gone; of the struct no more than its size is read, which is wrong.
    let code = unsafe { dmlvk_create_device(desc.cast(), &raw mut device) };
    assert_ne!(code, 0);
}
