//! A program that owns its Vulkan objects. Its own calls bypass the injector, because they are not the runtime's.

pub(crate) mod commands;
mod run;

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use dml_vk::ash::{self, ext, vk};
use dml_vk::{
    Buffer, BufferUsage, Device, DeviceDesc, DeviceSelector, Enablement, EntryPoints, Error,
    Instance, InstanceDesc, LiveObjects, QueueLock, RawBufferDesc, RawDeviceDesc,
    RawPhysicalDevice, RawQueue, Result, Validation, ValidationLog,
};

use crate::bare::{compute_family, loader};
use crate::books;
use crate::error::{Call as _, invalid, lacking};
use commands::Commands;

/// An instance, a device with one queue, and buffers that the runtime did not create.
///
/// Dropping it while the runtime still uses the device leaks everything, which is logged.
pub struct Caller {
    /// The device, with everything in `enablement` enabled.
    pub device: ash::Device,
    /// The extensions and features that the runtime would have enabled.
    pub enablement: Enablement,
    /// The device's one queue.
    pub queue: vk::Queue,
    /// The family of the queue.
    pub family: u32,
    /// The physical device.
    pub physical: vk::PhysicalDevice,
    lock: Arc<Lock>,
    pool: vk::CommandPool,
    buffers: Mutex<Vec<Memory>>,
    users: Mutex<Vec<LiveObjects>>,
    instance: Instance,
    instance_extensions: &'static [&'static std::ffi::CStr],
    entry: ash::Entry,
    /// A caller is used by one thread. `Cell` is not `Sync`.
    _one_thread: PhantomData<Cell<()>>,
}

/// The lock that every user of the queue holds.
#[derive(Default)]
struct Lock {
    held: Mutex<bool>,
    released: Condvar,
}

// SAFETY: `lock` returns when it has set the flag, which only `unlock` resets.
unsafe impl QueueLock for Lock {
    fn lock(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.released.wait_while(held, |held| *held);
        *free.unwrap_or_else(PoisonError::into_inner) = true;
    }

    fn unlock(&self) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.released.notify_one();
    }
}

/// A buffer of the caller's in mapped memory, which starts as zeros. It is destroyed with the caller.
pub struct CallerBuffer<'a> {
    /// The buffer, with all usages that the runtime knows.
    pub handle: vk::Buffer,
    /// Its length in bytes.
    pub size: u64,
    caller: &'a Caller,
}

impl CallerBuffer<'_> {
    /// The bytes in `range`, once the queue is idle.
    ///
    /// # Errors
    ///
    /// As [`Caller::bytes`].
    pub fn bytes(&self, range: Range<u64>) -> Result<Vec<u8>> {
        self.caller.bytes(self.handle, range)
    }
}

#[derive(Clone, Copy)]
struct Memory {
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    /// The address of the first byte; the memory is coherent.
    mapped: usize,
    size: u64,
}

impl Caller {
    /// A device on the physical device that `selector` names, with its own instance.
    ///
    /// # Errors
    ///
    /// As [`Instance::new`] and [`Instance::select`], and errors of Vulkan.
    pub fn new(selector: &DeviceSelector, validation: Validation) -> Result<Self> {
        let entry = loader()?;
        // SAFETY: every original is returned unchanged.
        let entry_points = unsafe { EntryPoints::replacing(|_, original| original) };
        let max_api_version = Some(vk::API_VERSION_1_2);
        let instance = Instance::new(&InstanceDesc { validation, entry_points, max_api_version })?;
        let selected = instance.select(selector)?;
        let mut enablement = selected.enablement(&DeviceDesc::default());
        let physical = selected.raw();
        let family = compute_family(instance.raw(), physical)?;
        let device = create_device(instance.raw(), physical, family, &mut enablement)?;
        // SAFETY: the device was created with one queue of this family.
        let queue = unsafe { device.get_device_queue(family, 0) };
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
        // SAFETY: as above.
        let pool = unsafe { device.create_command_pool(&info, None) };
        let pool = pool.call("vkCreateCommandPool").inspect_err(|_| {
            // SAFETY: nothing was made from the device.
            unsafe { device.destroy_device(None) };
        })?;
        Ok(Self {
            device,
            enablement,
            queue,
            family,
            physical,
            lock: Arc::default(),
            pool,
            buffers: Mutex::default(),
            users: Mutex::default(),
            instance,
            // The validation layer provides this extension.
            instance_extensions: match validation {
                Validation::Required => &[ext::debug_utils::NAME],
                Validation::Off => &[],
            },
            entry,
            _one_thread: PhantomData,
        })
    }

    /// The instance.
    pub fn instance(&self) -> &ash::Instance {
        self.instance.raw()
    }

    /// The messages of the validation layer, if it is on.
    pub fn validation_log(&self) -> ValidationLog {
        self.instance.validation_log()
    }

    /// The description of the device for the runtime, without a queue.
    pub fn describe(&self, entry_points: EntryPoints) -> RawDeviceDesc<'_> {
        RawDeviceDesc {
            physical: RawPhysicalDevice {
                get_instance_proc_addr: self.entry.static_fn().get_instance_proc_addr,
                entry_points,
                instance: self.instance.raw().handle(),
                api_version: self.instance.api_version(),
                instance_extensions: self.instance_extensions,
                physical_device: self.physical,
            },
            device: self.device.handle(),
            device_extensions: &self.enablement.extensions,
            features: self.enablement.features,
            queue_family: self.family,
            queue: None,
        }
    }

    /// Wraps the device, with its queue if the runtime is to submit.
    ///
    /// # Errors
    ///
    /// As [`Device::from_raw`].
    pub fn wrap(
        &self,
        entry_points: EntryPoints,
        with_queue: bool,
        desc: &DeviceDesc,
    ) -> Result<Device> {
        books::note_queue(self.queue, self.device.handle());
        let lock = || Some(Arc::clone(&self.lock) as _);
        let queue = with_queue.then(|| RawQueue { handle: self.queue, lock: lock() });
        let raw = RawDeviceDesc { queue, ..self.describe(entry_points) };
        // SAFETY: everything stated is so. The handles outlive the device, as dropping `self` destroys
        // nothing before the device's objects are gone; `self` uses the queue under the lock as well.
        let device = unsafe { Device::from_raw(&raw, desc) }?;
        self.users.lock().unwrap_or_else(PoisonError::into_inner).push(device.live_objects());
        Ok(device)
    }

    /// Creates a buffer with its own memory.
    ///
    /// # Errors
    ///
    /// Errors of Vulkan.
    pub fn buffer(&self, size: u64) -> Result<CallerBuffer<'_>> {
        let info = vk::BufferCreateInfo::default().size(size).usage(BufferUsage::all().to_vk());
        // SAFETY: the usage is not empty.
        let handle = unsafe { self.device.create_buffer(&info, None) }.call("vkCreateBuffer")?;
        let (memory, mapped) = self.bind_memory(handle).inspect_err(|_| {
            // SAFETY: nothing uses the buffer.
            unsafe { self.device.destroy_buffer(handle, None) };
        })?;
        let made = Memory { buffer: handle, memory, mapped, size };
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(made);
        Ok(CallerBuffer { handle, size, caller: self })
    }

    /// Creates a buffer, and wraps it for `device`, which must be wrapped with [`Caller::wrap`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if `device` does not wrap this caller's device; errors of Vulkan.
    pub fn wrapped_buffer(&self, device: &Device, size: u64) -> Result<Buffer> {
        if device.raw().handle() != self.device.handle() {
            return Err(invalid("device", "it is not this caller's"));
        }
        let handle = self.buffer(size)?.handle;
        let desc = RawBufferDesc { handle, size, usage: BufferUsage::all(), name: "caller's" };
        // SAFETY: the buffer was created for this device with this size and usage, is bound to memory,
        // and is destroyed after everything of the device.
        unsafe { device.wrap_buffer(&desc) }
    }

    /// The bytes in `range` of a buffer of this caller's, once the queue is idle.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the buffer is not this caller's, or the range is not inside of it;
    /// errors of Vulkan.
    pub fn bytes(&self, buffer: vk::Buffer, range: Range<u64>) -> Result<Vec<u8>> {
        let buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let found = buffers.iter().find(|it| it.buffer == buffer);
        let found = found.filter(|it| range.start <= range.end && range.end <= it.size);
        let found = found.ok_or_else(|| invalid("buffer", "no such bytes"))?;
        let (Ok(start), Ok(length)) =
            (usize::try_from(range.start), usize::try_from(range.end - range.start))
        else {
            return Err(invalid("range", "beyond the host's addresses"));
        };
        let _exclusive = self.exclusive();
        // SAFETY: nobody else uses the queue.
        unsafe { self.device.queue_wait_idle(self.queue) }.call("vkQueueWaitIdle")?;
        let first = std::ptr::with_exposed_provenance::<u8>(found.mapped + start);
        // SAFETY: the memory is mapped as a whole and the range lies inside of the buffer; what writes
        // it was just waited for, and nothing can be submitted meanwhile.
        Ok(unsafe { std::slice::from_raw_parts(first, length) }.to_vec())
    }

    /// A command buffer in the recording state.
    ///
    /// # Errors
    ///
    /// Errors of Vulkan.
    pub fn begin(&self) -> Result<Commands<'_>> {
        Commands::new(self)
    }

    fn wait_idle(&self) -> Result<()> {
        let _exclusive = self.exclusive();
        // SAFETY: nobody else uses the queue.
        unsafe { self.device.queue_wait_idle(self.queue) }.call("vkQueueWaitIdle")
    }

    fn exclusive(&self) -> impl Drop {
        struct Exclusive<'a>(&'a Lock);
        impl Drop for Exclusive<'_> {
            fn drop(&mut self) {
                self.0.unlock();
            }
        }
        self.lock.lock();
        Exclusive(&self.lock)
    }

    fn bind_memory(&self, buffer: vk::Buffer) -> Result<(vk::DeviceMemory, usize)> {
        // SAFETY: the buffer is alive.
        let needed = unsafe { self.device.get_buffer_memory_requirements(buffer) };
        // SAFETY: the physical device belongs to the instance.
        let types = unsafe { self.instance().get_physical_device_memory_properties(self.physical) };
        let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let fits = |(index, kind): &(u32, &vk::MemoryType)| {
            needed.memory_type_bits & (1 << index) != 0 && kind.property_flags.contains(wanted)
        };
        let (index, _) = (0..)
            .zip(types.memory_types_as_slice())
            .find(fits)
            .ok_or_else(|| lacking("a caller's buffer", "no memory type that the host sees"))?;
        let info =
            vk::MemoryAllocateInfo::default().allocation_size(needed.size).memory_type_index(index);
        // SAFETY: the type is one of the device's.
        let memory =
            unsafe { self.device.allocate_memory(&info, None) }.call("vkAllocateMemory")?;
        let free = |_: &Error| {
            // SAFETY: nothing is bound to it that is used.
            unsafe { self.device.free_memory(memory, None) };
        };
        let none = vk::MemoryMapFlags::empty();
        // SAFETY: the memory is new and visible to the host.
        let mapped = unsafe { self.device.map_memory(memory, 0, vk::WHOLE_SIZE, none) }
            .call("vkMapMemory")
            .inspect_err(free)?;
        let bytes = usize::try_from(needed.size).unwrap_or(0);
        // SAFETY: the memory is mapped as a whole.
        unsafe { mapped.cast::<u8>().write_bytes(0, bytes) };
        // SAFETY: both are new and belong together.
        unsafe { self.device.bind_buffer_memory(buffer, memory, 0) }
            .call("vkBindBufferMemory")
            .inspect_err(free)?;
        Ok((memory, mapped.expose_provenance()))
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let users = self.users.get_mut().unwrap_or_else(PoisonError::into_inner);
        if users.iter().any(|user| user.count() > 0) {
            log::error!("a caller's device is leaked, as the runtime still uses it");
            std::mem::forget(self.instance.clone());
            return;
        }
        books::forget_device(self.device.handle());
        for made in self.buffers.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // SAFETY: nothing of the runtime is left, and the caller's own work was waited for.
            unsafe { self.device.destroy_buffer(made.buffer, None) };
            // SAFETY: as above.
            unsafe { self.device.free_memory(made.memory, None) };
        }
        // SAFETY: as above.
        unsafe { self.device.destroy_command_pool(self.pool, None) };
        // SAFETY: as above.
        unsafe { self.device.destroy_device(None) };
    }
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").field("device", &self.device.handle()).finish_non_exhaustive()
    }
}

fn create_device(
    instance: &ash::Instance,
    physical: vk::PhysicalDevice,
    family: u32,
    enablement: &mut Enablement,
) -> Result<ash::Device> {
    let queues =
        [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
    let extensions: Vec<_> =
        enablement.extensions.iter().map(|extension| extension.as_ptr()).collect();
    let mut features = enablement.chain();
    let info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&extensions)
        .push_next(&mut features);
    // SAFETY: the physical device belongs to the instance; what `info` points to outlives the call.
    unsafe { instance.create_device(physical, &info, None) }.call("vkCreateDevice")
}
