//! The driver that is wrapped.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use dml_vk::ash::vk;

/// Any function.
pub(crate) type Function = unsafe extern "system" fn();

type Negotiate = unsafe extern "system" fn(*mut u32) -> vk::Result;

/// The wrapped driver: its library, opened once and never closed, and its entry points.
pub(crate) struct Wrapped {
    instance_functions: vk::PFN_vkGetInstanceProcAddr,
    physical_device_functions: Option<vk::PFN_vkGetInstanceProcAddr>,
    negotiate: Option<Negotiate>,
    /// Functions that are called without a device, by their names, as they were looked up.
    known: Mutex<HashMap<CString, Function>>,
    _library: libloading::Library,
}

static WRAPPED: OnceLock<Option<Wrapped>> = OnceLock::new();

impl Wrapped {
    /// `None` where there is no such driver, which the first call says.
    pub(crate) fn get() -> Option<&'static Self> {
        WRAPPED.get_or_init(Self::open).as_ref()
    }

    #[allow(clippy::print_stderr, reason = "nobody else hears of it")]
    fn open() -> Option<Self> {
        let path = std::env::var_os("DML_DRIVER_LIBRARY").unwrap_or_default();
        // SAFETY: whoever runs the program says that this is a driver, which has no other precondition.
        let library = unsafe { libloading::Library::new(&path) };
        let library = library.inspect_err(|error| eprintln!("DML_DRIVER_LIBRARY: {error}")).ok()?;
        // SAFETY: the loader's interface gives the function with this name this type.
        let get =
            unsafe { library.get::<vk::PFN_vkGetInstanceProcAddr>(b"vk_icdGetInstanceProcAddr") };
        let get = get.inspect_err(|error| eprintln!("DML_DRIVER_LIBRARY: {error}")).ok();
        // SAFETY: as above.
        let physical = unsafe {
            library.get::<vk::PFN_vkGetInstanceProcAddr>(b"vk_icdGetPhysicalDeviceProcAddr")
        };
        // SAFETY: as above.
        let negotiate =
            unsafe { library.get::<Negotiate>(b"vk_icdNegotiateLoaderICDInterfaceVersion") };
        let physical_device_functions = physical.ok().map(|physical| *physical);
        let negotiate = negotiate.ok().map(|negotiate| *negotiate);
        Some(Self {
            instance_functions: *get?,
            physical_device_functions,
            negotiate,
            known: Mutex::default(),
            _library: library,
        })
    }

    /// # Safety
    ///
    /// `version` is the caller's own.
    pub(crate) unsafe fn negotiate(&self, version: *mut u32) -> vk::Result {
        match self.negotiate {
            // SAFETY: the caller's promise.
            Some(negotiate) => unsafe { negotiate(version) },
            None => vk::Result::SUCCESS,
        }
    }

    /// The function of this name, which is remembered for [`Self::known`].
    pub(crate) fn of_instance(&self, instance: vk::Instance, name: &CStr) -> Option<Function> {
        // SAFETY: the instance is the driver's, as the loader or caller has it from the driver.
        let found = unsafe { (self.instance_functions)(instance, name.as_ptr()) }?;
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), found);
        Some(found)
    }

    pub(crate) fn of_physical_device(
        &self,
        instance: vk::Instance,
        name: &CStr,
    ) -> Option<Function> {
        // SAFETY: as above.
        unsafe { (self.physical_device_functions?)(instance, name.as_ptr()) }
    }

    pub(crate) fn of_device(&self, device: vk::Device, name: &CStr) -> Option<Function> {
        // SAFETY: the function with this name has this type.
        let get = unsafe { known::<vk::PFN_vkGetDeviceProcAddr>(c"vkGetDeviceProcAddr") }?;
        // SAFETY: the device is the driver's, as the loader or caller has it from the driver.
        unsafe { get(device, name.as_ptr()) }
    }
}

/// The wrapped driver's function that is called without a device and was looked up under this name.
///
/// # Safety
///
/// `F` is the type of the function with this name.
pub(crate) unsafe fn known<F: Copy>(name: &CStr) -> Option<F> {
    let known = Wrapped::get()?.known.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the caller's promise.
    known.get(name).map(|function| unsafe { typed(*function) })
}

/// The wrapped driver's function of this device, also where it has it as an extension alone.
///
/// # Safety
///
/// `F` is the type of the function with this name.
pub(crate) unsafe fn of_device<F: Copy>(device: vk::Device, name: &CStr) -> Option<F> {
    let wrapped = Wrapped::get()?;
    let as_extension = || CString::new([name.to_bytes(), b"KHR"].concat()).ok();
    let function =
        wrapped.of_device(device, name).or_else(|| wrapped.of_device(device, &as_extension()?))?;
    // SAFETY: the caller's promise.
    Some(unsafe { typed(function) })
}

/// # Safety
///
/// `F` is the function's type.
unsafe fn typed<F: Copy>(function: Function) -> F {
    const { assert!(size_of::<F>() == size_of::<Function>()) };
    // SAFETY: the caller's promise; both are pointers to functions.
    unsafe { std::mem::transmute_copy(&function) }
}

/// The structure of the type `T` in a chain, where there is one.
///
/// # Safety
///
/// The chain is of Vulkan's structures, which nobody else uses as long as the result is used.
pub(crate) unsafe fn chained<'a, T: vk::TaggedStructure>(next: *mut c_void) -> Option<&'a mut T> {
    let mut next = next.cast::<vk::BaseOutStructure<'_>>();
    while let Some(header) = std::ptr::NonNull::new(next) {
        // SAFETY: each structure begins like this.
        let vk::BaseOutStructure { s_type, p_next, .. } = unsafe { header.read() };
        if s_type == T::STRUCTURE_TYPE {
            // SAFETY: its type says so, and it is the caller's for this long.
            return Some(unsafe { header.cast().as_mut() });
        }
        next = p_next;
    }
    None
}

/// The `count` elements from `first` on.
///
/// # Safety
///
/// They are there, unless `count` is 0, and stay for as long as the result is used.
pub(crate) unsafe fn slice<'a, T>(first: *const T, count: u32) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(first, count as usize) }
}

/// A handle that means nothing but itself.
pub(crate) fn new_handle<T: vk::Handle>() -> T {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    T::from_raw(NEXT.fetch_add(1, Ordering::Relaxed))
}
