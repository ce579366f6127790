//! CheckFeatureSupport, and support queries for single operators.

use std::ffi::c_void;

use dml::support::Support;
use dml::{DataType, Device, FeatureLevel};

use crate::boundary::{Failure, Result, call};
use crate::decode;
use crate::handle::get;
use crate::memory::{read, read_array, write};
use crate::types::{
    DML_FEATURE, DML_FEATURE_DATA_FEATURE_LEVELS, DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT,
    DML_FEATURE_QUERY_FEATURE_LEVELS, DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT,
    DML_OPERATOR_DESC, DmlVkDevice, HRESULT,
};

/// DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT.
const TENSOR_DATA_TYPE_SUPPORT: DML_FEATURE = 0;
/// DML_FEATURE_FEATURE_LEVELS.
const FEATURE_LEVELS: DML_FEATURE = 1;
/// The most levels of a query; DirectML has 15.
const MAX_LEVELS: usize = 1024;

/// A device's support for an operator: DMLVK_SUPPORT_*.
pub type DmlVkSupport = u32;
/// The operator is refused because of its feature level or types, or is not implemented. The message of
/// dmlvk_compile_operator tells why.
pub const DMLVK_SUPPORT_NONE: DmlVkSupport = 0;
/// The operator runs, and kernels emulate the type of at least one of its tensors with 32-bit words.
pub const DMLVK_SUPPORT_EMULATED: DmlVkSupport = 1;
/// The operator runs, with kernels that use the hardware's type for every tensor.
pub const DMLVK_SUPPORT_NATIVE: DmlVkSupport = 2;

/// Tells whether the device supports an operator, and whether native or emulated. Both give the same results.
///
/// Fails with E_INVALIDARG if the descriptor cannot be read.
///
/// # Safety
///
/// `desc` is null, or it and all pointers in it, directly or indirectly, are null or as DirectML's documentation
/// says; `support` is null or points to memory for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_get_operator_support(
    device: DmlVkDevice,
    desc: *const DML_OPERATOR_DESC,
    support: *mut DmlVkSupport,
) -> HRESULT {
    call("dmlvk_get_operator_support", || {
        let device = &*get::<Device, _>(device)?;
        // SAFETY: the caller's promise.
        let desc = unsafe { decode::operator(desc) }?;
        let answer = match device.operator_support(&desc) {
            Support::Native => DMLVK_SUPPORT_NATIVE,
            Support::Emulated(_) => DMLVK_SUPPORT_EMULATED,
            _ => DMLVK_SUPPORT_NONE,
        };
        // SAFETY: the caller's promise.
        unsafe { write(support, answer, "support") }
    })
}

/// IDMLDevice::CheckFeatureSupport, with DirectML's structs.
///
/// Fails with DXGI_ERROR_UNSUPPORTED for an unknown feature, and if the device supports none of the requested
/// levels; with E_INVALIDARG if a size is not that of the feature's struct.
///
/// # Safety
///
/// `query_data` and `support_data` are null or point to as many bytes as stated; a query of levels points to
/// as many levels as it states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_check_feature_support(
    device: DmlVkDevice,
    feature: DML_FEATURE,
    query_data_size: u32,
    query_data: *const c_void,
    support_data_size: u32,
    support_data: *mut c_void,
) -> HRESULT {
    call("dmlvk_check_feature_support", || {
        let device = &*get::<Device, _>(device)?;
        let sizes = (query_data_size, support_data_size);
        match feature {
            TENSOR_DATA_TYPE_SUPPORT => {
                check_sizes::<
                    DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT,
                    DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT,
                >(sizes)?;
                // SAFETY: the caller's promise, for these sizes.
                unsafe { data_type(device, query_data.cast(), support_data.cast()) }
            }
            FEATURE_LEVELS => {
                check_sizes::<DML_FEATURE_QUERY_FEATURE_LEVELS, DML_FEATURE_DATA_FEATURE_LEVELS>(
                    sizes,
                )?;
                // SAFETY: the caller's promise, for these sizes.
                unsafe { levels(device, query_data.cast(), support_data.cast()) }
            }
            other => {
                let problem = format_args!("{other} (accepted: 0, 1)");
                Err(Failure::unsupported("feature", problem))
            }
        }
    })
}

fn check_sizes<Query, Data>((query, data): (u32, u32)) -> Result<()> {
    let wanted = [
        ("query_data_size", query, size_of::<Query>()),
        ("support_data_size", data, size_of::<Data>()),
    ];
    for (name, given, size) in wanted {
        if usize::try_from(given).ok() != Some(size) {
            return Err(Failure::invalid(name, format_args!("{given} (accepted: {size})")));
        }
    }
    Ok(())
}

/// # Safety
///
/// Both pointers are null or point to their structs.
unsafe fn data_type(
    device: &Device,
    query: *const DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT,
    data: *mut DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let query = unsafe { read(query, "query_data") }?;
    let data_type = DataType::from_dml_value(query.DataType).ok_or_else(|| {
        let problem = format_args!("{} (accepted: 1 to 13)", query.DataType);
        Failure::invalid("query_data.DataType", problem)
    })?;
    let answer = DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT {
        IsSupported: device.check_tensor_data_type(data_type).into(),
    };
    // SAFETY: the caller's promise.
    unsafe { write(data, answer, "support_data") }
}

/// # Safety
///
/// Both pointers are null or point to their structs.
unsafe fn levels(
    device: &Device,
    query: *const DML_FEATURE_QUERY_FEATURE_LEVELS,
    data: *mut DML_FEATURE_DATA_FEATURE_LEVELS,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let query = unsafe { read(query, "query_data") }?;
    let (list, count) = (query.RequestedFeatureLevels, query.RequestedFeatureLevelCount);
    let name = "query_data.RequestedFeatureLevels";
    // SAFETY: the caller's promise.
    let requested = unsafe { read_array(list, count, MAX_LEVELS, name) }?;
    // Levels of a later DirectML are not supported.
    let known: Vec<FeatureLevel> =
        requested.into_iter().filter_map(FeatureLevel::from_dml_value).collect();
    let highest = device.check_feature_levels(&known).ok_or_else(|| {
        let problem = format_args!("none is supported by a device at {}", device.feature_level());
        Failure::unsupported(name, problem)
    })?;
    let answer = DML_FEATURE_DATA_FEATURE_LEVELS { MaxSupportedFeatureLevel: highest.dml_value() };
    // SAFETY: the caller's promise.
    unsafe { write(data, answer, "support_data") }
}
