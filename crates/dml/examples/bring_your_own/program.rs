//! The program's own Vulkan code, such as an engine has. It does not use the runtime.

use std::error::Error;
use std::ffi::CStr;

use dml::ash::{self, vk};

pub(crate) struct VulkanObjects {
    pub(crate) entry: ash::Entry,
    pub(crate) instance: ash::Instance,
    pub(crate) physical_device: vk::PhysicalDevice,
    pub(crate) device: ash::Device,
    pub(crate) queue_family: u32,
    queue: vk::Queue,
    pool: vk::CommandPool,
}

/// A buffer in host-visible memory.
pub(crate) struct ProgramBuffer<'a> {
    pub(crate) handle: vk::Buffer,
    pub(crate) size: u64,
    memory: vk::DeviceMemory,
    device: &'a ash::Device,
}

/// The Vulkan objects that a device is created from.
pub(crate) struct Machine {
    pub(crate) entry: ash::Entry,
    pub(crate) instance: ash::Instance,
    pub(crate) physical_device: vk::PhysicalDevice,
}

impl Machine {
    /// An instance, and its `index`-th device.
    pub(crate) fn new(index: usize) -> Result<Self, Box<dyn Error>> {
        // SAFETY: the system's Vulkan loader has no precondition.
        let entry = unsafe { ash::Entry::load() }?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_1);
        let info = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: `info` outlives the call.
        let instance = unsafe { entry.create_instance(&info, None) }?;
        // SAFETY: the instance is alive.
        let devices = unsafe { instance.enumerate_physical_devices() }?;
        let physical_device = *devices.get(index).ok_or("there is no such device")?;
        Ok(Self { entry, instance, physical_device })
    }
}

impl VulkanObjects {
    /// Creates a device with one compute queue and the given features and extensions.
    pub(crate) fn new(
        Machine { entry, instance, physical_device }: Machine,
        extensions: &[&CStr],
        features: &mut vk::PhysicalDeviceFeatures2<'_>,
    ) -> Result<Self, Box<dyn Error>> {
        // SAFETY: the physical device was just enumerated.
        let families =
            unsafe { instance.get_physical_device_queue_family_properties(physical_device) };
        let family =
            families.iter().position(|family| family.queue_flags.contains(vk::QueueFlags::COMPUTE));
        let queue_family = u32::try_from(family.ok_or("the device does not compute")?)?;
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(queue_family)
            .queue_priorities(&[1.0])];
        let extensions: Vec<_> = extensions.iter().map(|extension| extension.as_ptr()).collect();
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions)
            .push_next(features);
        // SAFETY: the family is one of the device's; `info` outlives the call.
        let device = unsafe { instance.create_device(physical_device, &info, None) }?;
        // SAFETY: the device was created with one queue of this family.
        let queue = unsafe { device.get_device_queue(queue_family, 0) };
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(queue_family);
        // SAFETY: as above.
        let pool = unsafe { device.create_command_pool(&info, None) }?;
        Ok(Self { entry, instance, physical_device, device, queue_family, queue, pool })
    }

    pub(crate) fn buffer(&self, size: u64) -> Result<ProgramBuffer<'_>, Box<dyn Error>> {
        let info = vk::BufferCreateInfo::default().size(size).usage(
            vk::BufferUsageFlags::STORAGE_BUFFER
                | vk::BufferUsageFlags::TRANSFER_SRC
                | vk::BufferUsageFlags::TRANSFER_DST,
        );
        // SAFETY: size and usage are not empty.
        let handle = unsafe { self.device.create_buffer(&info, None) }?;
        // SAFETY: the buffer was just created.
        let needed = unsafe { self.device.get_buffer_memory_requirements(handle) };
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(needed.size)
            .memory_type_index(self.host_memory(needed.memory_type_bits)?);
        // SAFETY: the type is one of the device's.
        let memory = unsafe { self.device.allocate_memory(&info, None) }?;
        // SAFETY: both are new, and the memory is what the buffer needs.
        unsafe { self.device.bind_buffer_memory(handle, memory, 0) }?;
        Ok(ProgramBuffer { handle, size, memory, device: &self.device })
    }

    fn host_memory(&self, bits: u32) -> Result<u32, Box<dyn Error>> {
        // SAFETY: the physical device belongs to the instance.
        let types =
            unsafe { self.instance.get_physical_device_memory_properties(self.physical_device) };
        let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let fits = |(index, kind): (u32, &vk::MemoryType)| {
            let found = bits & (1 << index) != 0 && kind.property_flags.contains(wanted);
            found.then_some(index)
        };
        let found = (0..).zip(types.memory_types_as_slice()).find_map(fits);
        found.ok_or_else(|| "no memory that the host sees".into())
    }

    /// A command buffer in the recording state.
    pub(crate) fn begin(&self) -> Result<vk::CommandBuffer, vk::Result> {
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(self.pool)
            .command_buffer_count(1);
        // SAFETY: one thread uses the pool.
        let commands = unsafe { self.device.allocate_command_buffers(&info) }?[0];
        // SAFETY: the command buffer is new.
        unsafe {
            self.device.begin_command_buffer(commands, &vk::CommandBufferBeginInfo::default())
        }?;
        Ok(commands)
    }

    /// Fills the first `size` bytes.
    pub(crate) fn fill(
        &self,
        commands: vk::CommandBuffer,
        buffer: vk::Buffer,
        size: u64,
        value: f32,
    ) {
        // SAFETY: the command buffer is recording, and the range is inside the buffer.
        unsafe { self.device.cmd_fill_buffer(commands, buffer, 0, size, value.to_bits()) };
    }

    /// Copies `size` bytes to the start of `to`.
    pub(crate) fn copy(
        &self,
        commands: vk::CommandBuffer,
        (from, offset): (vk::Buffer, u64),
        to: vk::Buffer,
        size: u64,
    ) {
        let region = [vk::BufferCopy::default().src_offset(offset).size(size)];
        // SAFETY: the command buffer is recording, and the region is inside both buffers.
        unsafe { self.device.cmd_copy_buffer(commands, from, to, &region) };
    }

    pub(crate) fn barrier(
        &self,
        commands: vk::CommandBuffer,
        from: (vk::PipelineStageFlags, vk::AccessFlags),
        to: (vk::PipelineStageFlags, vk::AccessFlags),
    ) {
        let barrier = [vk::MemoryBarrier::default().src_access_mask(from.1).dst_access_mask(to.1)];
        let flags = vk::DependencyFlags::empty();
        // SAFETY: the command buffer is recording.
        unsafe {
            self.device.cmd_pipeline_barrier(commands, from.0, to.0, flags, &barrier, &[], &[]);
        }
    }

    pub(crate) fn submit_and_wait(&self, commands: vk::CommandBuffer) -> Result<(), vk::Result> {
        // SAFETY: the command buffer is recording.
        unsafe { self.device.end_command_buffer(commands) }?;
        let commands = [commands];
        let submit = [vk::SubmitInfo::default().command_buffers(&commands)];
        // SAFETY: what was recorded is kept until this function returns; nobody else uses the queue.
        unsafe { self.device.queue_submit(self.queue, &submit, vk::Fence::null()) }?;
        // SAFETY: as above.
        unsafe { self.device.queue_wait_idle(self.queue) }
    }

    /// The whole buffer as numbers.
    pub(crate) fn floats(&self, buffer: &ProgramBuffer<'_>) -> Vec<f32> {
        let flags = vk::MemoryMapFlags::empty();
        // SAFETY: the memory is visible to the host and not mapped.
        let mapped = unsafe { self.device.map_memory(buffer.memory, 0, vk::WHOLE_SIZE, flags) };
        let Ok(mapped) = mapped else { return Vec::new() };
        let count = usize::try_from(buffer.size / 4).unwrap_or(0);
        // SAFETY: the memory is mapped as a whole, aligned as Vulkan promises, and nobody writes it.
        let floats = unsafe { std::slice::from_raw_parts(mapped.cast::<f32>(), count) }.to_vec();
        // SAFETY: the memory was mapped above.
        unsafe { self.device.unmap_memory(buffer.memory) };
        floats
    }
}

impl Drop for ProgramBuffer<'_> {
    fn drop(&mut self) {
        // SAFETY: the program has waited for what used the buffer.
        unsafe { self.device.destroy_buffer(self.handle, None) };
        // SAFETY: as above.
        unsafe { self.device.free_memory(self.memory, None) };
    }
}

impl Drop for VulkanObjects {
    fn drop(&mut self) {
        // SAFETY: the program has waited for what it submitted.
        unsafe { self.device.destroy_command_pool(self.pool, None) };
        // SAFETY: everything made from the device is gone, the runtime's objects included.
        unsafe { self.device.destroy_device(None) };
        // SAFETY: everything made from the instance is gone.
        unsafe { self.instance.destroy_instance(None) };
    }
}
