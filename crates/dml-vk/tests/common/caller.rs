//! The caller's side of bring your own: an instance, a device, a queue, buffers and a command buffer
//! that this crate did not create.

use std::ffi::{CStr, c_void};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use dml_vk::ash::{self, ext, vk};
use dml_vk::{EntryPoints, RawDeviceDesc, RawQueue};

use super::validation;
use dml_vk::Validation;

/// Everything that a caller owns. Dropped in Vulkan's order, and by nobody else.
pub struct Caller {
    pub device: ash::Device,
    pub queue: vk::Queue,
    pub family: u32,
    pub physical: vk::PhysicalDevice,
    pool: vk::CommandPool,
    pub instance: ash::Instance,
    messenger: Option<vk::DebugUtilsMessengerEXT>,
    entry: ash::Entry,
    messages: Box<Mutex<Vec<String>>>,
}

/// Calls `test` once for each device, with an instance and a device of its own, and fails on any
/// validation message.
pub fn each_caller(test: impl Fn(&Caller)) {
    let count = Caller::new(0).expect("a device; run these tests with `cargo xtask test`").1;
    for index in 0..count {
        let (caller, _) = Caller::new(index).unwrap();
        test(&caller);
    }
}

impl Caller {
    /// The `index`-th device, and how many there are.
    fn new(index: usize) -> Option<(Self, usize)> {
        // SAFETY: loading the system's loader has no precondition.
        let entry = unsafe { ash::Entry::load() }.unwrap();
        let messages = Box::default();
        let (instance, messenger) = instance(&entry, &messages);
        // SAFETY: the instance is alive.
        let devices = unsafe { instance.enumerate_physical_devices() }.unwrap();
        let physical = *devices.get(index)?;
        // SAFETY: the physical device was just enumerated.
        let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
        let computes =
            |it: &vk::QueueFamilyProperties| it.queue_flags.contains(vk::QueueFlags::COMPUTE);
        let family = u32::try_from(families.iter().position(computes)?).unwrap();
        let device = device(&instance, physical, family);
        // SAFETY: the device was created with one queue of this family.
        let queue = unsafe { device.get_device_queue(family, 0) };
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
        // SAFETY: as above.
        let pool = unsafe { device.create_command_pool(&info, None) }.unwrap();
        let caller =
            Self { device, queue, family, physical, pool, instance, messenger, entry, messages };
        Some((caller, devices.len()))
    }

    /// What the caller tells this crate, without a queue.
    pub fn describe(&self, entry_points: EntryPoints) -> RawDeviceDesc<'static> {
        RawDeviceDesc {
            get_instance_proc_addr: self.entry.static_fn().get_instance_proc_addr,
            entry_points,
            instance: self.instance.handle(),
            api_version: vk::API_VERSION_1_2,
            instance_extensions: if self.messenger.is_some() {
                &[ext::debug_utils::NAME]
            } else {
                &[]
            },
            physical_device: self.physical,
            device: self.device.handle(),
            device_extensions: &[],
            features: dml_core::capabilities::Features::NONE,
            timeline_semaphore: true,
            queue_family: self.family,
            queue: None,
        }
    }

    /// The same with the queue, which nobody else uses.
    pub fn describe_with_queue(&self) -> RawDeviceDesc<'static> {
        let queue = Some(RawQueue { handle: self.queue, lock: None });
        RawDeviceDesc { queue, ..self.describe(EntryPoints::default()) }
    }

    /// A buffer in memory that the host sees.
    pub fn buffer(&self, size: u64) -> CallerBuffer<'_> {
        let info = vk::BufferCreateInfo::default().size(size).usage(
            vk::BufferUsageFlags::STORAGE_BUFFER
                | vk::BufferUsageFlags::TRANSFER_SRC
                | vk::BufferUsageFlags::TRANSFER_DST,
        );
        // SAFETY: the size is not 0 and the usage not empty.
        let handle = unsafe { self.device.create_buffer(&info, None) }.unwrap();
        // SAFETY: the buffer was just created.
        let needed = unsafe { self.device.get_buffer_memory_requirements(handle) };
        // SAFETY: the physical device belongs to the instance.
        let types = unsafe { self.instance.get_physical_device_memory_properties(self.physical) };
        let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let index = (0..types.memory_type_count).find(|index| {
            needed.memory_type_bits & (1 << index) != 0
                && types.memory_types[*index as usize].property_flags.contains(wanted)
        });
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(needed.size)
            .memory_type_index(index.unwrap());
        // SAFETY: the type is one of the device's.
        let memory = unsafe { self.device.allocate_memory(&info, None) }.unwrap();
        // SAFETY: both are new.
        unsafe { self.device.bind_buffer_memory(handle, memory, 0) }.unwrap();
        // SAFETY: the memory is visible to the host and not mapped.
        let mapped = unsafe {
            self.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())
        };
        CallerBuffer { handle, memory, mapped: mapped.unwrap().cast(), size, caller: self }
    }

    /// A command buffer in the recording state.
    pub fn begin(&self) -> vk::CommandBuffer {
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(self.pool)
            .command_buffer_count(1);
        // SAFETY: the pool is the caller's own and used by one thread.
        let commands = unsafe { self.device.allocate_command_buffers(&info) }.unwrap()[0];
        let info = vk::CommandBufferBeginInfo::default();
        // SAFETY: the command buffer is new.
        unsafe { self.device.begin_command_buffer(commands, &info) }.unwrap();
        commands
    }

    /// A barrier of the caller's.
    pub fn barrier(
        &self,
        commands: vk::CommandBuffer,
        from: (vk::PipelineStageFlags, vk::AccessFlags),
        to: (vk::PipelineStageFlags, vk::AccessFlags),
    ) {
        let barrier = [vk::MemoryBarrier::default().src_access_mask(from.1).dst_access_mask(to.1)];
        let none = vk::DependencyFlags::empty();
        // SAFETY: the command buffer is recording.
        unsafe {
            self.device.cmd_pipeline_barrier(commands, from.0, to.0, none, &barrier, &[], &[]);
        }
    }

    /// Ends the command buffer, submits it, and waits.
    pub fn finish(&self, commands: vk::CommandBuffer) {
        // SAFETY: the command buffer is recording.
        unsafe { self.device.end_command_buffer(commands) }.unwrap();
        let commands = [commands];
        let submit = vk::SubmitInfo::default().command_buffers(&commands);
        // SAFETY: the tests keep everything until this function returns.
        unsafe { self.device.queue_submit(self.queue, &[submit], vk::Fence::null()) }.unwrap();
        // SAFETY: nobody else uses the queue.
        unsafe { self.device.queue_wait_idle(self.queue) }.unwrap();
    }

    /// Ends the command buffer, and submits it to begin when the gate is opened.
    pub fn submit_behind_a_gate(&self, commands: vk::CommandBuffer) -> vk::Semaphore {
        let mut kind =
            vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: timeline semaphores are enabled.
        let gate = unsafe { self.device.create_semaphore(&info, None) }.unwrap();
        // SAFETY: the command buffer is recording.
        unsafe { self.device.end_command_buffer(commands) }.unwrap();
        let (commands, gates, values) = ([commands], [gate], [1]);
        let mut timeline =
            vk::TimelineSemaphoreSubmitInfo::default().wait_semaphore_values(&values);
        let submit = vk::SubmitInfo::default()
            .command_buffers(&commands)
            .wait_semaphores(&gates)
            .wait_dst_stage_mask(&[vk::PipelineStageFlags::ALL_COMMANDS])
            .push_next(&mut timeline);
        // SAFETY: the tests keep everything until the gate is opened.
        unsafe { self.device.queue_submit(self.queue, &[submit], vk::Fence::null()) }.unwrap();
        gate
    }

    /// Opens a gate, and waits for what is behind it.
    pub fn open(&self, gate: vk::Semaphore) {
        let info = vk::SemaphoreSignalInfo::default().semaphore(gate).value(1);
        // SAFETY: the value is above that of a closed gate.
        unsafe { self.device.signal_semaphore(&info) }.unwrap();
        // SAFETY: nobody else uses the queue.
        unsafe { self.device.queue_wait_idle(self.queue) }.unwrap();
        // SAFETY: nothing uses the semaphore any more.
        unsafe { self.device.destroy_semaphore(gate, None) };
    }

    pub fn messages(&self) -> Vec<String> {
        std::mem::take(&mut *self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        // SAFETY: the tests have waited for what they submitted, and nothing else uses the device.
        unsafe { self.device.destroy_command_pool(self.pool, None) };
        // SAFETY: as above.
        unsafe { self.device.destroy_device(None) };
        if let Some(messenger) = self.messenger {
            let functions = ext::debug_utils::Instance::new(&self.entry, &self.instance);
            // SAFETY: the messenger is used no more.
            unsafe { functions.destroy_debug_utils_messenger(messenger, None) };
        }
        // SAFETY: everything made from the instance was destroyed.
        unsafe { self.instance.destroy_instance(None) };
        let messages = self.messages();
        if !std::thread::panicking() {
            assert!(messages.is_empty(), "validation messages: {messages:#?}");
        }
    }
}

/// A buffer with its memory.
pub struct CallerBuffer<'a> {
    pub handle: vk::Buffer,
    memory: vk::DeviceMemory,
    mapped: *mut u8,
    pub size: u64,
    caller: &'a Caller,
}

impl CallerBuffer<'_> {
    /// The bytes in `range`. Nothing that writes them is in flight.
    pub fn bytes(&self, range: Range<u64>) -> Vec<u8> {
        assert!(range.end <= self.size);
        let (start, end) = (range.start.try_into().unwrap(), usize::try_from(range.end).unwrap());
        // SAFETY: the memory is mapped as a whole, and the range is inside the buffer.
        let first = unsafe { self.mapped.add(start) };
        // SAFETY: as above; nobody writes meanwhile.
        unsafe { std::slice::from_raw_parts(first, end - start) }.to_vec()
    }
}

impl Drop for CallerBuffer<'_> {
    fn drop(&mut self) {
        // SAFETY: the tests have waited for what uses the buffer.
        unsafe { self.caller.device.destroy_buffer(self.handle, None) };
        // SAFETY: the buffer was destroyed.
        unsafe { self.caller.device.free_memory(self.memory, None) };
    }
}

fn instance(
    entry: &ash::Entry,
    messages: &Mutex<Vec<String>>,
) -> (ash::Instance, Option<vk::DebugUtilsMessengerEXT>) {
    let validated = validation() == Validation::Required;
    let layer = [c"VK_LAYER_KHRONOS_validation".as_ptr()];
    let extension = [ext::debug_utils::NAME.as_ptr()];
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
    let mut info = vk::InstanceCreateInfo::default().application_info(&application);
    if validated {
        info = info.enabled_layer_names(&layer).enabled_extension_names(&extension);
    }
    // SAFETY: what `info` points to outlives the call.
    let instance = unsafe { entry.create_instance(&info, None) }.unwrap();
    let messenger = validated.then(|| {
        let info = vk::DebugUtilsMessengerCreateInfoEXT::default()
            .message_severity(
                vk::DebugUtilsMessageSeverityFlagsEXT::WARNING
                    | vk::DebugUtilsMessageSeverityFlagsEXT::ERROR,
            )
            .message_type(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION)
            .pfn_user_callback(Some(on_message))
            .user_data(std::ptr::from_ref(messages).cast_mut().cast());
        let functions = ext::debug_utils::Instance::new(entry, &instance);
        // SAFETY: the extension is enabled; the list of messages outlives the instance.
        unsafe { functions.create_debug_utils_messenger(&info, None) }.unwrap()
    });
    (instance, messenger)
}

fn device(instance: &ash::Instance, physical: vk::PhysicalDevice, family: u32) -> ash::Device {
    let priorities = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default()
        .queue_family_index(family)
        .queue_priorities(&priorities)];
    let mut timeline =
        vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
    let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut timeline);
    // SAFETY: the physical device belongs to the instance; what `info` points to outlives the call.
    unsafe { instance.create_device(physical, &info, None) }.unwrap()
}

unsafe extern "system" fn on_message(
    _: vk::DebugUtilsMessageSeverityFlagsEXT,
    _: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    messages: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the layer passes a structure with a message that lives during the call.
    let text = unsafe { (*data).p_message };
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    // SAFETY: the pointer was made from a list that outlives the instance.
    let messages = unsafe { &*messages.cast::<Mutex<Vec<String>>>() };
    messages.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    vk::FALSE
}
