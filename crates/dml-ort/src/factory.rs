//! The library's two exported functions, and the factory of providers.

use std::ffi::{CStr, CString, c_char};
use std::ptr;

use dml::DeviceSelector;

use crate::abi::{
    API_VERSION, INFO, OrtAllocator, OrtApiBase, OrtDataTransferImpl, OrtEp, OrtEpDevice,
    OrtEpFactory, OrtHardwareDevice, OrtKeyValuePairs, OrtLogger, OrtMemoryInfo, OrtSessionOptions,
    Status, create_status,
};
use crate::api::{Api, Logger, slice};
use crate::boundary::{Code, Failure, Result, call, release};
use crate::device::OpenDevices;
use crate::listing::{Entry, Listing, UUID};
use crate::memory::{self, Allocator, DataTransfer, MemoryInfo};
use crate::options;
use crate::provider::Provider;

const VENDOR: &CStr = c"dmlvk";

/// The factory, which ONNX Runtime uses as an OrtEpFactory: the table is the first member.
#[repr(C)]
struct Factory {
    table: OrtEpFactory,
    api: Api,
    logger: Logger,
    version: CString,
    listing: Listing,
    open: OpenDevices,
    memory: MemoryInfo,
}

/// ONNX Runtime calls this function when the library is registered.
///
/// # Safety
///
/// The pointers are as onnxruntime_ep_c_api.h states.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is ONNX Runtime's")]
pub(crate) unsafe extern "C" fn CreateEpFactories(
    _name: *const c_char,
    base: *const OrtApiBase,
    logger: *const OrtLogger,
    factories: *mut *mut OrtEpFactory,
    room: usize,
    count: *mut usize,
) -> Status {
    // SAFETY: the caller's promise.
    let api = match unsafe { Api::of(base) } {
        Ok(api) => api,
        // SAFETY: the caller's promise.
        Err(message) => return unsafe { refused(base, message) },
    };
    call(api.ort, "CreateEpFactories", || {
        if room == 0 {
            return Err(Failure::invalid("there is no room for a factory"));
        }
        // SAFETY: ONNX Runtime's own logger outlives the library.
        let logger = unsafe { Logger::new(api, logger) };
        let factory = Box::into_raw(Box::new(Factory::new(api, logger)?));
        // SAFETY: there is room for one.
        unsafe { factories.write(factory.cast()) };
        // SAFETY: a place for a number.
        unsafe { count.write(1) };
        Ok(())
    })
}

/// ONNX Runtime calls this function when the library is unregistered.
///
/// # Safety
///
/// `factory` is null or from [`CreateEpFactories`], and used no more.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is ONNX Runtime's")]
pub(crate) unsafe extern "C" fn ReleaseEpFactory(factory: *mut OrtEpFactory) -> Status {
    if !factory.is_null() {
        // SAFETY: the caller's promise.
        let factory = unsafe { Box::from_raw(factory.cast::<Factory>()) };
        release("ReleaseEpFactory", || drop(factory));
    }
    ptr::null_mut()
}

/// The error status for a host that is too old, made with the oldest interface, which every host has.
///
/// # Safety
///
/// `base` is the host's, or null.
unsafe fn refused(base: *const OrtApiBase, message: String) -> Status {
    // SAFETY: the caller's promise.
    let Some(base) = (unsafe { base.as_ref() }) else { return ptr::null_mut() };
    // SAFETY: every host has the first version.
    let ort = unsafe { (base.GetApi)(1) };
    if ort.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: the table is the host's.
    let create = unsafe { create_status(ort) };
    Failure::new(Code::NotImplemented, message).status_by(create)
}

impl Drop for Factory {
    fn drop(&mut self) {
        // SAFETY: the entries of its devices are gone, and so are the allocators that ONNX Runtime has made of them.
        unsafe { self.memory.release() };
    }
}

impl Factory {
    fn new(api: Api, logger: Logger) -> Result<Self> {
        let memory = MemoryInfo::new(api)?;
        let table = OrtEpFactory {
            ort_version_supported: API_VERSION,
            GetName: get_name,
            GetVendor: get_vendor,
            GetSupportedDevices: get_supported_devices,
            CreateEp: create_ep,
            ReleaseEp: release_ep,
            GetVendorId: get_vendor_id,
            GetVersion: get_version,
            ValidateCompiledModelCompatibilityInfo: ptr::null(),
            CreateAllocator: create_allocator,
            ReleaseAllocator: release_allocator,
            CreateDataTransfer: create_data_transfer,
            IsStreamAware: is_stream_aware,
            CreateSyncStreamForDevice: ptr::null(),
            SetEnvironmentOptions: set_environment_options,
            rest: [ptr::null(); _],
        };
        Ok(Self {
            table,
            api,
            logger,
            version: CString::new(env!("CARGO_PKG_VERSION")).unwrap_or_default(),
            listing: Listing::new(api, logger, memory::IS_OFFERED.then_some(memory)),
            open: OpenDevices::default(),
            memory,
        })
    }

    /// The provider of a session.
    fn provider(
        &self,
        selected: &[Vec<(String, String)>],
        entries: &[(String, String)],
        logger: Logger,
    ) -> Result<Provider> {
        let uuid = |pairs: &Vec<(String, String)>| {
            pairs.iter().find(|(key, _)| key == UUID).map(|(_, value)| value.clone())
        };
        let selector = match selected.first().and_then(uuid) {
            Some(uuid) => uuid.parse().map_err(dml::Error::from)?,
            None => DeviceSelector::Best,
        };
        let options = options::parse(entries, selector)?;
        let open = self.open.open(&options.device)?;
        let name = &open.device.vulkan().physical().info().name;
        if selected.len() > 1 {
            let count = selected.len();
            logger.log(INFO, &format!("of {count} devices {name} is used"));
        }
        Provider::new(self.api, logger, open, options.program_bytes)
    }
}

/// # Safety
///
/// `factory` is from [`CreateEpFactories`] and not released.
unsafe fn factory<'a>(factory: *const OrtEpFactory) -> &'a Factory {
    // SAFETY: the caller's promise; the table is the first field, and all of it is only read.
    unsafe { &*factory.cast::<Factory>() }
}

unsafe extern "C" fn get_name(_factory: *const OrtEpFactory) -> *const c_char {
    options::NAME.as_ptr()
}

unsafe extern "C" fn get_vendor(_factory: *const OrtEpFactory) -> *const c_char {
    VENDOR.as_ptr()
}

unsafe extern "C" fn get_vendor_id(_factory: *const OrtEpFactory) -> u32 {
    0
}

unsafe extern "C" fn get_version(this: *const OrtEpFactory) -> *const c_char {
    // SAFETY: ONNX Runtime calls it with its factory.
    unsafe { factory(this) }.version.as_ptr()
}

unsafe extern "C" fn get_supported_devices(
    this: *mut OrtEpFactory,
    hardware: *const *const OrtHardwareDevice,
    hardware_count: usize,
    entries: *mut *mut OrtEpDevice,
    room: usize,
    count: *mut usize,
) -> Status {
    let raw = this;
    // SAFETY: ONNX Runtime calls it with its factory.
    let this = unsafe { factory(raw) };
    call(this.api.ort, "GetSupportedDevices", || {
        // SAFETY: the list has so many entries.
        let hardware = unsafe { slice(hardware, hardware_count) };
        // SAFETY: the hardware is alive, and so is the factory as long as its entries.
        let found = unsafe { this.listing.entries(raw, hardware, room) }?;
        let found: Vec<*mut OrtEpDevice> = found.into_iter().map(Entry::into_raw).collect();
        // SAFETY: there is room for as many as were found, which are others than those.
        unsafe { ptr::copy_nonoverlapping(found.as_ptr(), entries, found.len()) };
        // SAFETY: a place for a number.
        unsafe { count.write(found.len()) };
        Ok(())
    })
}

unsafe extern "C" fn create_ep(
    this: *mut OrtEpFactory,
    _devices: *const *const OrtHardwareDevice,
    metadata: *const *const OrtKeyValuePairs,
    count: usize,
    options: *const OrtSessionOptions,
    logger: *const OrtLogger,
    provider: *mut *mut OrtEp,
) -> Status {
    // SAFETY: ONNX Runtime calls it with its factory.
    let this = unsafe { factory(this) };
    call(this.api.ort, "CreateEp", || {
        // SAFETY: the list has so many entries.
        let metadata = unsafe { slice(metadata, count) };
        // SAFETY: they are alive during the call.
        let selected = metadata.iter().map(|it| unsafe { this.api.entries(*it) });
        let selected: Vec<Vec<(String, String)>> = selected.collect();
        // SAFETY: as above.
        let entries = unsafe { this.api.session_entries(options) }?;
        // SAFETY: the session's logger lives as long as the session.
        let logger = unsafe { Logger::new(this.api, logger) };
        let made = this.provider(&selected, &entries, logger)?;
        // SAFETY: a place for a pointer.
        unsafe { provider.write(made.into_raw()) };
        Ok(())
    })
}

unsafe extern "C" fn create_allocator(
    this: *mut OrtEpFactory,
    _info: *const OrtMemoryInfo,
    _options: *const OrtKeyValuePairs,
    allocator: *mut *mut OrtAllocator,
) -> Status {
    // SAFETY: ONNX Runtime calls it with its factory.
    let this = unsafe { factory(this) };
    // SAFETY: a place for a pointer.
    unsafe { allocator.write(Allocator::new_raw(this.memory)) };
    ptr::null_mut()
}

unsafe extern "C" fn release_allocator(_factory: *mut OrtEpFactory, allocator: *mut OrtAllocator) {
    // SAFETY: it is from `create_allocator`.
    release("ReleaseAllocator", || unsafe { Allocator::release(allocator) });
}

unsafe extern "C" fn create_data_transfer(
    this: *mut OrtEpFactory,
    transfer: *mut *mut OrtDataTransferImpl,
) -> Status {
    // SAFETY: ONNX Runtime calls it with its factory.
    let this = unsafe { factory(this) };
    // SAFETY: a place for a pointer.
    unsafe { transfer.write(DataTransfer::new_raw(this.api, this.memory)) };
    ptr::null_mut()
}

/// No streams: a run has ended when its nodes have, and copies when they return.
unsafe extern "C" fn is_stream_aware(_factory: *const OrtEpFactory) -> bool {
    false
}

unsafe extern "C" fn release_ep(_factory: *mut OrtEpFactory, provider: *mut OrtEp) {
    // SAFETY: it is from `create_ep`, and its session has ended.
    release("ReleaseEp", || unsafe { Provider::release(provider) });
}

unsafe extern "C" fn set_environment_options(
    this: *mut OrtEpFactory,
    options: *const OrtKeyValuePairs,
) -> Status {
    // SAFETY: ONNX Runtime calls it with its factory.
    let this = unsafe { factory(this) };
    call(this.api.ort, "SetEnvironmentOptions", || {
        // SAFETY: the options are alive during the call.
        for (key, value) in unsafe { this.api.entries(options) } {
            if key == "allow_virtual_devices" {
                this.listing.allow_virtual(value == "1");
            }
        }
        Ok(())
    })
}
