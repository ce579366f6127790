//! ONNX Runtime's description of the device memory, and its allocator.

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::abi::{API_VERSION, OrtAllocator, OrtMemoryDevice, OrtMemoryInfo};
use crate::api::Api;
use crate::boundary::{Result, guarded};

/// OrtMemoryInfoDeviceType_GPU: memory that the host cannot read.
const GPU: c_int = 1;
/// OrtDeviceMemoryType_DEFAULT.
const DEFAULT: c_int = 0;
/// OrtDeviceAllocator.
const DEVICE_ALLOCATOR: c_int = 0;
/// No vendor, as Python's functions have it that take a device's number alone.
const VENDOR: u32 = 0;
/// The number of the memory. Other providers count their devices from 0.
const NUMBER: c_int = 64;

/// The description of the device memory, which the factory releases at its end.
#[derive(Clone, Copy)]
pub(crate) struct MemoryInfo {
    api: Api,
    pub(crate) raw: *const OrtMemoryInfo,
}

impl MemoryInfo {
    /// A new description.
    ///
    /// # Errors
    /// ONNX Runtime refuses it.
    pub(crate) fn new(api: Api) -> Result<Self> {
        let raw = api.get(ptr::null_mut(), |out| {
            let create = api.ort.CreateMemoryInfo_V2();
            let name = c"DmlVulkan".as_ptr();
            // SAFETY: the name is copied.
            unsafe { create(name, GPU, VENDOR, NUMBER, DEFAULT, 0, DEVICE_ALLOCATOR, out) }
        })?;
        Ok(Self { api, raw })
    }

    /// Releases the description.
    ///
    /// # Safety
    ///
    /// Nothing uses it any more.
    pub(crate) unsafe fn release(self) {
        // SAFETY: the caller's promise; it was made by `new`.
        unsafe { self.api.ort.ReleaseMemoryInfo()(self.raw.cast_mut()) };
    }

    /// Whether `device` is this memory.
    ///
    /// # Safety
    ///
    /// `device` is null or alive.
    pub(crate) unsafe fn is_of(self, device: *const OrtMemoryDevice) -> bool {
        if device.is_null() {
            return false;
        }
        // SAFETY: the description is alive as long as the factory.
        let own = unsafe { self.api.ep.MemoryInfo_GetMemoryDevice()(self.raw) };
        // SAFETY: both are alive.
        unsafe { self.api.ep.MemoryDevice_AreEqual()(own, device) }
    }
}

/// An allocator, which ONNX Runtime uses as an OrtAllocator: the table is the first member.
#[repr(C)]
pub(crate) struct Allocator {
    table: OrtAllocator,
    info: MemoryInfo,
}

impl Allocator {
    /// The table of an allocator for ONNX Runtime, to be passed to [`Allocator::release`].
    pub(crate) fn new_raw(info: MemoryInfo) -> *mut OrtAllocator {
        let table = OrtAllocator {
            version: API_VERSION,
            Alloc: alloc,
            Free: free,
            Info: described,
            rest: [ptr::null(); _],
        };
        Box::into_raw(Box::new(Self { table, info })).cast()
    }

    /// # Safety
    ///
    /// `raw` is null or from [`Allocator::new_raw`], and used no more.
    pub(crate) unsafe fn release(raw: *mut OrtAllocator) {
        if !raw.is_null() {
            // SAFETY: the caller's promise.
            drop(unsafe { Box::from_raw(raw.cast::<Self>()) });
        }
    }
}

unsafe extern "C" fn alloc(_allocator: *mut OrtAllocator, size: usize) -> *mut c_void {
    let address = guarded("Alloc", || Ok(super::allocate(size)));
    ptr::without_provenance_mut(address.ok().flatten().unwrap_or(0))
}

unsafe extern "C" fn free(_allocator: *mut OrtAllocator, address: *mut c_void) {
    let _ = guarded("Free", || {
        super::free(address.addr());
        Ok(())
    });
}

unsafe extern "C" fn described(allocator: *const OrtAllocator) -> *const OrtMemoryInfo {
    // SAFETY: the table is the first field of an allocator that is not released yet.
    unsafe { &*allocator.cast::<Allocator>() }.info.raw
}
