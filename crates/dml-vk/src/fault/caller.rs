//! A program that owns its Vulkan objects, so that the sweep can bring its own. Its calls do not pass
//! the injector: they are not the runtime's.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use ash::vk::{self, Handle as _};
use dml_core::capabilities::Features;

use super::layer::{Watched, loader};
use super::{Injector, books};
use crate::bare::compute_family;
use crate::bind::record::record_plan;
use crate::bind::table::BindingTable;
use crate::device::buffers::RawBufferDesc;
use crate::device::queue::QueueLock;
use crate::device::wrap::{RawDeviceDesc, RawQueue};
use crate::device::{Device, DeviceDesc, LiveObjects};
use crate::error::{Error, Result, VkContext as _};
use crate::instance::debug::ValidationLog;
use crate::instance::entry::EntryPoints;
use crate::memory::buffer::{Buffer, BufferUsage};
use crate::record::access::access;

/// An instance, a device with one queue, and buffers that the runtime did not create.
///
/// Dropping it while the runtime still uses the device leaks everything, which is logged.
pub struct Caller {
    device: ash::Device,
    queue: vk::Queue,
    lock: Arc<Lock>,
    family: u32,
    physical: vk::PhysicalDevice,
    pool: vk::CommandPool,
    buffers: Mutex<Vec<CallerBuffer>>,
    users: Mutex<Vec<LiveObjects>>,
    owned: Arc<Watched>,
    entry: ash::Entry,
    /// One thread records. `Cell` is not `Sync`.
    _one_thread: PhantomData<Cell<()>>,
}

/// Held by whoever uses the queue.
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

struct CallerBuffer {
    handle: vk::Buffer,
    memory: vk::DeviceMemory,
    /// The address of the first byte; the memory is coherent.
    mapped: usize,
    size: u64,
}

impl Caller {
    /// A device on the physical device whose name contains `name`.
    ///
    /// # Errors
    ///
    /// [`Error::NoLoader`], [`Error::NoDevice`] where there is none of that name, and what Vulkan
    /// reports.
    pub fn new(name: &str) -> Result<Self> {
        let entry = loader()?;
        let owned = Watched::new(&entry, vk::API_VERSION_1_2)?;
        let Parts { device, queue, family, physical, pool } = parts(&owned.instance, name)?;
        Ok(Self {
            device,
            queue,
            lock: Arc::default(),
            family,
            physical,
            pool,
            buffers: Mutex::default(),
            users: Mutex::default(),
            owned: Arc::new(owned),
            entry,
            _one_thread: PhantomData,
        })
    }

    /// What the validation layer says, where it is on.
    pub fn validation_log(&self) -> ValidationLog {
        ValidationLog::clone(&self.owned.log)
    }

    /// Wraps the device, with its queue where the runtime is to submit by itself.
    ///
    /// # Errors
    ///
    /// As [`Device::from_raw`].
    pub fn wrap(&self, injector: &Injector, with_queue: bool, desc: &DeviceDesc) -> Result<Device> {
        books::note_queue(self.queue, self.device.handle());
        let queue = with_queue
            .then(|| RawQueue { handle: self.queue, lock: Some(Arc::clone(&self.lock) as _) });
        let raw = RawDeviceDesc {
            get_instance_proc_addr: self.entry.static_fn().get_instance_proc_addr,
            entry_points: EntryPoints::injecting(injector),
            instance: self.owned.instance.handle(),
            api_version: vk::API_VERSION_1_2,
            instance_extensions: &[],
            physical_device: self.physical,
            device: self.device.handle(),
            device_extensions: &[],
            features: Features::NONE,
            timeline_semaphore: true,
            queue_family: self.family,
            queue,
        };
        // SAFETY: everything stated is so. The handles outlive the device, as dropping `self` destroys
        // nothing before the device's objects are gone; `self` uses the queue under the lock as well.
        let device = unsafe { Device::from_raw(&raw, desc) }?;
        self.users.lock().unwrap_or_else(PoisonError::into_inner).push(device.live_objects());
        Ok(device)
    }

    /// A buffer of the caller's in memory that the host sees, wrapped for `device`. It starts as zeros.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] where `device` does not wrap this one, and what Vulkan reports.
    pub fn buffer(&self, device: &Device, size: u64) -> Result<Buffer> {
        if device.raw().handle() != self.device.handle() {
            return Err(Error::invalid("device", "it is not this caller's"));
        }
        let handle = self.make_buffer(size)?;
        let desc = RawBufferDesc { handle, size, usage: BufferUsage::all(), name: "caller's" };
        // SAFETY: the buffer was created for this device with this size and usage, is bound to memory,
        // and is destroyed after everything of the device.
        unsafe { device.wrap_buffer(&desc) }
    }

    /// The bytes in `range` of a buffer made by [`Caller::buffer`], when the queue has nothing to do.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] where the buffer is another one, or the range is not inside of it, and
    /// what Vulkan reports.
    pub fn bytes(&self, buffer: &Buffer, range: Range<u64>) -> Result<Vec<u8>> {
        let buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let found = buffers.iter().find(|it| it.handle == buffer.raw());
        let found = found.filter(|it| range.start <= range.end && range.end <= it.size);
        let found = found.ok_or_else(|| Error::invalid("buffer", "no such bytes"))?;
        let (Ok(start), Ok(length)) =
            (usize::try_from(range.start), usize::try_from(range.end - range.start))
        else {
            return Err(Error::invalid("range", "beyond the host's addresses"));
        };
        let _exclusive = self.exclusive();
        // SAFETY: nobody else uses the queue.
        unsafe { self.device.queue_wait_idle(self.queue) }.call("vkQueueWaitIdle")?;
        let first = std::ptr::with_exposed_provenance::<u8>(found.mapped + start);
        // SAFETY: the memory is mapped as a whole and the range lies inside of the buffer; what writes
        // it was just waited for, and nothing can be submitted meanwhile.
        Ok(unsafe { std::slice::from_raw_parts(first, length) }.to_vec())
    }

    /// Records the tables into a command buffer of the caller's, one after the other with the barriers
    /// that [`access()`] asks for, submits it on the caller's queue, and waits.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] where a table is of another device, and what Vulkan reports.
    pub fn run(&self, tables: &[&BindingTable]) -> Result<()> {
        if tables.iter().any(|it| it.device().raw().handle() != self.device.handle()) {
            return Err(Error::invalid("tables", "one is of another device"));
        }
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(self.pool)
            .command_buffer_count(1);
        // SAFETY: the pool is the caller's own, and used by one thread.
        let commands = unsafe { self.device.allocate_command_buffers(&info) }
            .call("vkAllocateCommandBuffers")?;
        let result = self.record_and_wait(commands[0], tables);
        // SAFETY: the commands have completed, or were never submitted.
        unsafe { self.device.free_command_buffers(self.pool, &commands) };
        result
    }

    fn record_and_wait(&self, commands: vk::CommandBuffer, tables: &[&BindingTable]) -> Result<()> {
        let info = vk::CommandBufferBeginInfo::default();
        // SAFETY: the command buffer is new.
        unsafe { self.device.begin_command_buffer(commands, &info) }
            .call("vkBeginCommandBuffer")?;
        let contract = access();
        let barrier = [vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
            .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)];
        for table in tables {
            // SAFETY: the command buffer is recording and of the table's device; the table is kept
            // until this function returns, when the commands have completed.
            unsafe { record_plan(commands, table) };
            let after = contract.stages | vk::PipelineStageFlags::HOST;
            let none = vk::DependencyFlags::empty();
            // SAFETY: the command buffer is recording.
            unsafe {
                self.device.cmd_pipeline_barrier(
                    commands,
                    contract.stages,
                    after,
                    none,
                    &barrier,
                    &[],
                    &[],
                );
            }
        }
        // SAFETY: as above.
        unsafe { self.device.end_command_buffer(commands) }.call("vkEndCommandBuffer")?;
        let commands = [commands];
        let _exclusive = self.exclusive();
        let submit = [vk::SubmitInfo::default().command_buffers(&commands)];
        // SAFETY: nobody else uses the queue; everything recorded is kept until it has completed.
        unsafe { self.device.queue_submit(self.queue, &submit, vk::Fence::null()) }
            .call("vkQueueSubmit")?;
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

    fn make_buffer(&self, size: u64) -> Result<vk::Buffer> {
        let info = vk::BufferCreateInfo::default().size(size).usage(BufferUsage::all().to_vk());
        // SAFETY: the usage is not empty.
        let handle = unsafe { self.device.create_buffer(&info, None) }.call("vkCreateBuffer")?;
        let (memory, mapped) = self.bind_memory(handle).inspect_err(|_| {
            // SAFETY: nothing uses the buffer.
            unsafe { self.device.destroy_buffer(handle, None) };
        })?;
        let buffer = CallerBuffer { handle, memory, mapped, size };
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
        Ok(handle)
    }

    fn bind_memory(&self, buffer: vk::Buffer) -> Result<(vk::DeviceMemory, usize)> {
        // SAFETY: the buffer is alive.
        let needed = unsafe { self.device.get_buffer_memory_requirements(buffer) };
        // SAFETY: the physical device belongs to the instance.
        let types =
            unsafe { self.owned.instance.get_physical_device_memory_properties(self.physical) };
        let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let fits = |(index, kind): &(u32, &vk::MemoryType)| {
            needed.memory_type_bits & (1 << index) != 0 && kind.property_flags.contains(wanted)
        };
        let (index, _) = (0..).zip(types.memory_types_as_slice()).find(fits).ok_or_else(|| {
            Error::unsupported("a caller's buffer", "no memory type that the host sees")
        })?;
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
        if users.iter().any(|it| it.count() > 0) {
            log::error!("a caller's device is leaked, as the runtime still uses it");
            std::mem::forget(Arc::clone(&self.owned));
            return;
        }
        books::forget_device(self.device.handle());
        for buffer in self.buffers.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // SAFETY: nothing of the runtime is left, and the caller's own work was waited for.
            unsafe { self.device.destroy_buffer(buffer.handle, None) };
            // SAFETY: as above.
            unsafe { self.device.free_memory(buffer.memory, None) };
        }
        // SAFETY: as above.
        unsafe { self.device.destroy_command_pool(self.pool, None) };
        // SAFETY: as above.
        unsafe { self.device.destroy_device(None) };
    }
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller")
            .field("device", &self.device.handle().as_raw())
            .finish_non_exhaustive()
    }
}

struct Parts {
    device: ash::Device,
    queue: vk::Queue,
    family: u32,
    physical: vk::PhysicalDevice,
    pool: vk::CommandPool,
}

fn parts(instance: &ash::Instance, name: &str) -> Result<Parts> {
    let none = || Error::NoDevice { reason: format!("none is called {name}") };
    // SAFETY: the instance is alive.
    let devices =
        unsafe { instance.enumerate_physical_devices() }.call("vkEnumeratePhysicalDevices")?;
    let is_named = |it: &vk::PhysicalDevice| {
        // SAFETY: the physical device belongs to the instance.
        let properties = unsafe { instance.get_physical_device_properties(*it) };
        let found = properties.device_name_as_c_str().unwrap_or_default().to_string_lossy();
        found.to_lowercase().contains(&name.to_lowercase())
    };
    let physical = devices.into_iter().find(is_named).ok_or_else(none)?;
    let family = compute_family(instance, physical)?;
    let priorities = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default()
        .queue_family_index(family)
        .queue_priorities(&priorities)];
    let mut timeline =
        vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
    let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut timeline);
    // SAFETY: the physical device belongs to the instance; what `info` points to outlives the call.
    let device = unsafe { instance.create_device(physical, &info, None) }.call("vkCreateDevice")?;
    // SAFETY: the device was created with one queue of this family.
    let queue = unsafe { device.get_device_queue(family, 0) };
    let info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
    // SAFETY: as above.
    let pool = unsafe { device.create_command_pool(&info, None) };
    let pool = pool.call("vkCreateCommandPool").inspect_err(|_| {
        // SAFETY: nothing was made from the device.
        unsafe { device.destroy_device(None) };
    })?;
    Ok(Parts { device, queue, family, physical, pool })
}
