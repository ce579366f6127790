//! Copies tensors between the host and the device memory.

use std::ptr;

use bytes::Bytes;

use super::content::Value;
use super::{MemoryInfo, Place, find};
use crate::abi::{
    API_VERSION, OrtDataTransferImpl, OrtMemoryDevice, OrtSyncStream, OrtValue, Status,
};
use crate::api::{Api, slice};
use crate::boundary::{Failure, Result, call, release};

/// OrtMemoryInfoDeviceType_CPU.
const CPU: i32 = 0;

/// Where the elements of a tensor are.
pub(crate) enum Location {
    /// In memory of the host, at this address; null if there are none.
    Host(*mut u8),
    Device(Place),
}

/// Where a tensor is, and the number of its bytes.
///
/// # Errors
/// The address is in no allocation of the device memory, or in memory of another provider.
///
/// # Safety
///
/// The value is alive.
pub(crate) unsafe fn location(api: Api, value: *const OrtValue) -> Result<(Location, usize)> {
    let size = api.get(0, |out| {
        // SAFETY: the caller's promise, here and below.
        unsafe { api.ort.GetTensorSizeInBytes()(value, out) }
    })?;
    // SAFETY: as above.
    let data = api.get(ptr::null(), |out| unsafe { api.ort.GetTensorData()(value, out) })?;
    if let Some(place) = find(data.addr(), size)? {
        return Ok((Location::Device(place), size));
    }
    // SAFETY: as above.
    let device = unsafe { api.ep.Value_GetMemoryDevice()(value) };
    // SAFETY: the device is the value's.
    let is_host = device.is_null() || unsafe { api.ep.MemoryDevice_GetDeviceType()(device) } == CPU;
    if !is_host && size > 0 {
        return Err(Failure::invalid(format!(
            "address {data:?} is not memory of this provider; accepted: memory of its allocator, or of the host"
        )));
    }
    Ok((Location::Host(data.cast_mut().cast()), size))
}

/// Copies the bytes of a tensor to another one. Between places of the device memory nothing is copied: values are never
/// changed, so that both have the same one.
///
/// # Errors
/// A tensor has no memory that this provider knows, the sizes differ, or a device fails.
///
/// # Safety
///
/// The values are alive, and nothing else uses `to` meanwhile.
pub(crate) unsafe fn copy(api: Api, from: *const OrtValue, to: *mut OrtValue) -> Result<()> {
    // SAFETY: the caller's promise, here and below.
    let (source, size) = unsafe { location(api, from) }?;
    // SAFETY: as above.
    let (target, room) = unsafe { location(api, to) }?;
    if size != room {
        return Err(Failure::invalid(format!("{size} bytes are copied to a tensor of {room}")));
    }
    if size == 0 {
        return Ok(());
    }
    match (source, target) {
        (Location::Host(from), Location::Device(to)) => {
            // SAFETY: the tensor has so many bytes, and nothing writes them meanwhile.
            let bytes = Bytes::copy_from_slice(unsafe { std::slice::from_raw_parts(from, size) });
            to.allocation.write(to.offset, size, Value::of_host(bytes))
        }
        (Location::Device(from), Location::Host(to)) => {
            // SAFETY: the tensor has so many bytes, which nothing else uses meanwhile.
            let to = unsafe { std::slice::from_raw_parts_mut(to, size) };
            from.allocation.read(from.offset, to)
        }
        (Location::Device(from), Location::Device(to)) => {
            let value = from.allocation.value(from.offset, size)?;
            to.allocation.write(to.offset, size, value)
        }
        (Location::Host(from), Location::Host(to)) => {
            // SAFETY: both tensors have so many bytes; they may be one.
            unsafe { ptr::copy(from, to, size) };
            Ok(())
        }
    }
}

/// Copies tensors for ONNX Runtime, which uses it as an OrtDataTransferImpl: the table is the first member.
#[repr(C)]
pub(crate) struct DataTransfer {
    table: OrtDataTransferImpl,
    api: Api,
    info: MemoryInfo,
}

impl DataTransfer {
    /// The table for ONNX Runtime, which releases it.
    pub(crate) fn new_raw(api: Api, info: MemoryInfo) -> *mut OrtDataTransferImpl {
        let table = OrtDataTransferImpl {
            ort_version_supported: API_VERSION,
            Release: release_transfer,
            CanCopy: can_copy,
            CopyTensors: copy_tensors,
        };
        Box::into_raw(Box::new(Self { table, api, info })).cast()
    }
}

unsafe extern "C" fn release_transfer(transfer: *mut OrtDataTransferImpl) {
    // SAFETY: it is from `DataTransfer::new_raw`, and used no more.
    release("Release", || drop(unsafe { Box::from_raw(transfer.cast::<DataTransfer>()) }));
}

unsafe extern "C" fn can_copy(
    transfer: *const OrtDataTransferImpl,
    from: *const OrtMemoryDevice,
    to: *const OrtMemoryDevice,
) -> bool {
    // SAFETY: the table is the first field of a transfer that is not released yet.
    let DataTransfer { api, info, .. } = unsafe { &*transfer.cast::<DataTransfer>() };
    // SAFETY: both devices are alive, here and below.
    let is_own = [from, to].map(|it| unsafe { info.is_of(it) });
    // SAFETY: as above.
    let is_host = |it| unsafe { api.ep.MemoryDevice_GetDeviceType()(it) } == CPU;
    match is_own {
        [true, true] => true,
        [true, false] => is_host(to),
        [false, true] => is_host(from),
        [false, false] => false,
    }
}

unsafe extern "C" fn copy_tensors(
    transfer: *mut OrtDataTransferImpl,
    from: *const *const OrtValue,
    to: *const *mut OrtValue,
    _streams: *const *mut OrtSyncStream,
    count: usize,
) -> Status {
    // SAFETY: the table is the first field of a transfer that is not released yet.
    let api = unsafe { &*transfer.cast::<DataTransfer>() }.api;
    call(api.ort, "CopyTensors", || {
        // SAFETY: the list has so many entries.
        let from = unsafe { slice(from, count) };
        // SAFETY: as above.
        let to = unsafe { slice(to, count) };
        // SAFETY: the values are alive, and those written are used by nobody else.
        from.iter().zip(to).try_for_each(|(from, to)| unsafe { copy(api, *from, *to) })
    })
}
