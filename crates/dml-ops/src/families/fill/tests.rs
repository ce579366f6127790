//! Which plans come out of lowering; what they compute is checked for every operator at once.

use dml_core::plan::{Plan, Step};
use dml_core::{DataType, TensorDesc, Tuning};
use dml_reference::descriptors::filled;

use crate::TransferUse;
use crate::tests::{kinds, lower_with};

fn lower(tensor: TensorDesc, value: u64, transfer: TransferUse) -> Plan {
    lower_with(filled(tensor, value), Tuning::new(), transfer)
}

#[test]
fn the_strategy_follows_layout_usage_and_value() {
    let allowed = |tensor, value| kinds(&lower(tensor, value, TransferUse::Allowed));
    let int8 = |sizes: &[u32]| TensorDesc::packed(DataType::Int8, sizes);
    let int64 = || TensorDesc::packed(DataType::Int64, &[3]);
    assert_eq!(allowed(int8(&[8]), 7), ["fill"]);
    assert_eq!(allowed(int8(&[9]), 7), ["fill", "update"]);
    assert_eq!(allowed(int8(&[3]), 7), ["update"]);
    assert_eq!(allowed(int8(&[2, 3]).with_strides(&[4, 1]), 7), ["fill_write_b8"]);
    assert_eq!(allowed(int8(&[2, 3]).with_strides(&[1, 2]), 7), ["fill", "update"]);
    assert_eq!(allowed(int64(), 5 << 32 | 5), ["fill"]);
    assert_eq!(allowed(int64(), 5), ["copy"]);
    let storage_only = |tensor, value| kinds(&lower(tensor, value, TransferUse::StorageOnly));
    assert_eq!(storage_only(int8(&[8]), 7), ["fill_words_b32"]);
    assert_eq!(storage_only(int8(&[9]), 7), ["fill_words_b32", "fill_words_b32"]);
    assert_eq!(storage_only(int8(&[2, 3]).with_strides(&[4, 1]), 7), ["fill_write_b8"]);
    assert_eq!(storage_only(int64(), 5), ["fill_write_b64"]);
}

#[test]
fn a_kernel_writes_what_would_take_too_many_copies() {
    let large = TensorDesc::packed(DataType::Int64, &[1 << 17]);
    let of = |most| {
        let tuning = Tuning::new().with_most_regions(most);
        kinds(&lower_with(filled(large.clone(), 5), tuning, TransferUse::Allowed))
    };
    // A MiB in copies of 64 KiB.
    assert_eq!([of(16), of(15), of(0)], [["copy"], ["fill_write_b64"], ["fill_write_b64"]]);
}

#[test]
fn the_bytes_after_the_last_element_become_zero() {
    let plan = lower(TensorDesc::packed(DataType::Uint16, &[3]), 0x0102, TransferUse::Allowed);
    let Step::Update(update) = &plan.exec[1] else { panic!("{plan:?}") };
    assert_eq!((update.offset, update.data.as_slice()), (4, &[2, 1, 0, 0][..]));
}

#[test]
fn the_union_s_unused_bytes_mean_nothing() {
    let tensor = || TensorDesc::packed(DataType::Int16, &[2]);
    let plan = |value| lower(tensor(), value, TransferUse::Allowed);
    assert_eq!(plan(0xffff_0001), plan(1));
}
