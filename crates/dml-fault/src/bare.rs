//! A device's life in plain calls of Vulkan, with nothing of the runtime around them: what a driver
//! leaves behind by itself, to compare the runtime with.

use std::ffi::CString;

use dml_core::kernel::KernelModule;
use dml_vk::ash::{self, vk};
use dml_vk::{Error, Result};

use crate::error::{Call as _, internal, lacking};

/// The size of the one allocation: as large as the runtime's first one.
const MEMORY: u64 = 8 << 20;
/// The size of the one buffer, for one work group.
const BUFFER: u64 = 64 << 10;

/// Loads the loader, creates an instance and a device on the physical device number `index`, runs
/// `kernel` once, and destroys everything. The kernel's push constants are zeros: it has nothing to
/// do.
///
/// Where a call fails everything made before it is left behind: whoever measures stops there.
///
/// # Errors
///
/// [`Error::NoLoader`], [`Error::NoDevice`] where there is no such device, and what Vulkan reports.
pub fn device_cycle(index: usize, kernel: &KernelModule) -> Result<()> {
    let entry = loader()?;
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
    let info = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: `info` and what it points to outlive the call.
    let instance = unsafe { entry.create_instance(&info, None) }.call("vkCreateInstance")?;
    // SAFETY: the instance is alive.
    let physical =
        unsafe { instance.enumerate_physical_devices() }.call("vkEnumeratePhysicalDevices")?;
    let physical = *physical
        .get(index)
        .ok_or_else(|| Error::NoDevice { reason: format!("there is no device {index}") })?;
    let family = compute_family(&instance, physical)?;
    let queues =
        [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
    let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
    // SAFETY: the physical device has the family; `info` and what it points to outlive the call.
    let device = unsafe { instance.create_device(physical, &info, None) }.call("vkCreateDevice")?;
    let memory = allocate(&instance, physical, &device)?;
    let compiled = Compiled::new(&device, kernel)?;
    run(&device, family, memory, &compiled)?;
    compiled.destroy(&device);
    // SAFETY: nothing is bound to the memory any more.
    unsafe { device.free_memory(memory, None) };
    // SAFETY: everything made from the device is destroyed.
    unsafe { device.destroy_device(None) };
    // SAFETY: the device was the only thing made from the instance.
    unsafe { instance.destroy_instance(None) };
    Ok(())
}

pub(crate) fn loader() -> Result<ash::Entry> {
    // SAFETY: loading runs the initialisers of the system's loader, which has no precondition.
    unsafe { ash::Entry::load() }.map_err(|error| Error::NoLoader { reason: error.to_string() })
}

/// The first queue family of a physical device of the instance that computes.
pub(crate) fn compute_family(
    instance: &ash::Instance,
    physical: vk::PhysicalDevice,
) -> Result<u32> {
    // SAFETY: the physical device is the instance's.
    let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
    let computes =
        |it: &vk::QueueFamilyProperties| it.queue_flags.contains(vk::QueueFlags::COMPUTE);
    let family = families.iter().position(computes).and_then(|it| u32::try_from(it).ok());
    family.ok_or_else(|| Error::NoDevice { reason: "no queue computes".to_owned() })
}

/// A kernel with its layouts.
struct Compiled {
    bindings: Vec<vk::DescriptorSetLayoutBinding<'static>>,
    set_layout: vk::DescriptorSetLayout,
    layout: vk::PipelineLayout,
    pipeline: vk::Pipeline,
    cache: vk::PipelineCache,
    /// Bytes of push constants.
    push: u32,
}

impl Compiled {
    fn new(device: &ash::Device, kernel: &KernelModule) -> Result<Self> {
        let bindings: Vec<_> =
            kernel.bindings.iter().map(|binding| storage(binding.binding)).collect();
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: the bindings outlive the call.
        let set_layout = unsafe { device.create_descriptor_set_layout(&info, None) }
            .call("vkCreateDescriptorSetLayout")?;
        let set_layouts = [set_layout];
        let push = kernel.push_constant_size();
        let ranges = [vk::PushConstantRange::default()
            .stage_flags(vk::ShaderStageFlags::COMPUTE)
            .size(push)];
        let info = vk::PipelineLayoutCreateInfo::default()
            .set_layouts(&set_layouts)
            .push_constant_ranges(&ranges);
        // SAFETY: the layout of the set is alive; every device has 128 bytes of push constants.
        let layout =
            unsafe { device.create_pipeline_layout(&info, None) }.call("vkCreatePipelineLayout")?;
        let (pipeline, cache) = pipeline(device, layout, kernel)?;
        Ok(Self { bindings, set_layout, layout, pipeline, cache, push })
    }

    fn destroy(self, device: &ash::Device) {
        // SAFETY: the device is idle, and each object is its own and used no more, here and below.
        unsafe { device.destroy_pipeline(self.pipeline, None) };
        // SAFETY: as above.
        unsafe { device.destroy_pipeline_cache(self.cache, None) };
        // SAFETY: as above.
        unsafe { device.destroy_pipeline_layout(self.layout, None) };
        // SAFETY: as above.
        unsafe { device.destroy_descriptor_set_layout(self.set_layout, None) };
    }
}

/// Runs the kernel on a buffer and destroys what that needed.
fn run(
    device: &ash::Device,
    family: u32,
    memory: vk::DeviceMemory,
    compiled: &Compiled,
) -> Result<()> {
    let buffer = create_buffer(device)?;
    // SAFETY: the memory was allocated for such buffers, and none is bound to it.
    unsafe { device.bind_buffer_memory(buffer, memory, 0) }.call("vkBindBufferMemory")?;
    let (pool, set) = descriptors(device, compiled, buffer)?;
    submit(device, family, compiled, set)?;
    // SAFETY: the device is idle, and the pool is used no more.
    unsafe { device.destroy_descriptor_pool(pool, None) };
    // SAFETY: as above, for the buffer.
    unsafe { device.destroy_buffer(buffer, None) };
    Ok(())
}

fn storage(binding: u32) -> vk::DescriptorSetLayoutBinding<'static> {
    vk::DescriptorSetLayoutBinding::default()
        .binding(binding)
        .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
        .descriptor_count(1)
        .stage_flags(vk::ShaderStageFlags::COMPUTE)
}

fn create_buffer(device: &ash::Device) -> Result<vk::Buffer> {
    let info =
        vk::BufferCreateInfo::default().size(BUFFER).usage(vk::BufferUsageFlags::STORAGE_BUFFER);
    // SAFETY: the size is not 0, and the usage not empty.
    unsafe { device.create_buffer(&info, None) }.call("vkCreateBuffer")
}

/// Memory for one buffer.
fn allocate(
    instance: &ash::Instance,
    physical: vk::PhysicalDevice,
    device: &ash::Device,
) -> Result<vk::DeviceMemory> {
    let buffer = create_buffer(device)?;
    // SAFETY: the buffer is the device's.
    let needs = unsafe { device.get_buffer_memory_requirements(buffer) };
    // SAFETY: nothing uses the buffer; others are alike and have the same requirements.
    unsafe { device.destroy_buffer(buffer, None) };
    // SAFETY: the physical device is the instance's.
    let types = unsafe { instance.get_physical_device_memory_properties(physical) };
    let local = |index: &u32| {
        let flags = types.memory_types[*index as usize].property_flags;
        needs.memory_type_bits & 1 << index != 0
            && flags.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL)
    };
    let index = (0..types.memory_type_count)
        .find(local)
        .ok_or_else(|| lacking("a buffer", "no memory type is local"))?;
    let info = vk::MemoryAllocateInfo::default()
        .allocation_size(needs.size.max(MEMORY))
        .memory_type_index(index);
    // SAFETY: the physical device has this memory type.
    unsafe { device.allocate_memory(&info, None) }.call("vkAllocateMemory")
}

fn pipeline(
    device: &ash::Device,
    layout: vk::PipelineLayout,
    kernel: &KernelModule,
) -> Result<(vk::Pipeline, vk::PipelineCache)> {
    let info = vk::PipelineCacheCreateInfo::default();
    // SAFETY: the cache has no initial data.
    let cache =
        unsafe { device.create_pipeline_cache(&info, None) }.call("vkCreatePipelineCache")?;
    let code = ash::util::read_spv(&mut std::io::Cursor::new(&kernel.spirv))
        .map_err(|error| internal(&error.to_string()))?;
    let info = vk::ShaderModuleCreateInfo::default().code(&code);
    // SAFETY: the code is that of a checked-in kernel.
    let module =
        unsafe { device.create_shader_module(&info, None) }.call("vkCreateShaderModule")?;
    let name = CString::new(kernel.entry_point).unwrap_or_default();
    let stage = vk::PipelineShaderStageCreateInfo::default()
        .stage(vk::ShaderStageFlags::COMPUTE)
        .module(module)
        .name(&name);
    let info = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout)];
    // SAFETY: the layout is the kernel's, and everything that `info` points to is alive.
    let pipelines = unsafe { device.create_compute_pipelines(cache, &info, None) };
    // SAFETY: the pipeline has been made, and the module is used no more.
    unsafe { device.destroy_shader_module(module, None) };
    let pipelines = pipelines.map_err(|(_, result)| result).call("vkCreateComputePipelines")?;
    let pipeline = pipelines.first().copied();
    let pipeline = pipeline.ok_or_else(|| internal("no pipeline was made"))?;
    Ok((pipeline, cache))
}

fn descriptors(
    device: &ash::Device,
    compiled: &Compiled,
    buffer: vk::Buffer,
) -> Result<(vk::DescriptorPool, vk::DescriptorSet)> {
    let bindings = &compiled.bindings;
    let count = u32::try_from(bindings.len()).unwrap_or(u32::MAX);
    let sizes = [vk::DescriptorPoolSize::default()
        .ty(vk::DescriptorType::STORAGE_BUFFER)
        .descriptor_count(count)];
    let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
    // SAFETY: the sizes outlive the call.
    let pool =
        unsafe { device.create_descriptor_pool(&info, None) }.call("vkCreateDescriptorPool")?;
    let layouts = [compiled.set_layout];
    let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
    // SAFETY: the pool is new and has room for the one set.
    let sets =
        unsafe { device.allocate_descriptor_sets(&info) }.call("vkAllocateDescriptorSets")?;
    let set = *sets.first().ok_or_else(|| internal("no set was allocated"))?;
    let range = [vk::DescriptorBufferInfo::default().buffer(buffer).range(vk::WHOLE_SIZE)];
    let write = |binding: &vk::DescriptorSetLayoutBinding<'_>| {
        vk::WriteDescriptorSet::default()
            .dst_set(set)
            .dst_binding(binding.binding)
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .buffer_info(&range)
    };
    let writes: Vec<_> = bindings.iter().map(write).collect();
    // SAFETY: the set is new, and buffer and bindings are alive.
    unsafe { device.update_descriptor_sets(&writes, &[]) };
    Ok((pool, set))
}

/// Records, submits and waits.
fn submit(
    device: &ash::Device,
    family: u32,
    compiled: &Compiled,
    set: vk::DescriptorSet,
) -> Result<()> {
    let info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
    // SAFETY: the device was created with this family.
    let pool = unsafe { device.create_command_pool(&info, None) }.call("vkCreateCommandPool")?;
    let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
    // SAFETY: the pool is new and not shared.
    let buffers =
        unsafe { device.allocate_command_buffers(&info) }.call("vkAllocateCommandBuffers")?;
    let buffer = *buffers.first().ok_or_else(|| internal("no command buffer was allocated"))?;
    // SAFETY: the command buffer is new and not shared.
    unsafe { device.begin_command_buffer(buffer, &vk::CommandBufferBeginInfo::default()) }
        .call("vkBeginCommandBuffer")?;
    let point = vk::PipelineBindPoint::COMPUTE;
    // SAFETY: the command buffer is recording, and the pipeline alive.
    unsafe { device.cmd_bind_pipeline(buffer, point, compiled.pipeline) };
    // SAFETY: the set was made for the layout.
    unsafe {
        device.cmd_bind_descriptor_sets(buffer, point, compiled.layout, 0, &[set], &[]);
    };
    let zeros = vec![0; compiled.push as usize];
    // SAFETY: the layout has push constants of this size.
    unsafe {
        let stage = vk::ShaderStageFlags::COMPUTE;
        device.cmd_push_constants(buffer, compiled.layout, stage, 0, &zeros);
    };
    // SAFETY: pipeline, descriptors and push constants are bound.
    unsafe { device.cmd_dispatch(buffer, 1, 1, 1) };
    // SAFETY: the command buffer is recording.
    unsafe { device.end_command_buffer(buffer) }.call("vkEndCommandBuffer")?;
    // SAFETY: the device was created with one queue of the family.
    let queue = unsafe { device.get_device_queue(family, 0) };
    let submits = [vk::SubmitInfo::default().command_buffers(&buffers)];
    // SAFETY: nobody else uses the queue; everything is kept until it is idle.
    unsafe { device.queue_submit(queue, &submits, vk::Fence::null()) }.call("vkQueueSubmit")?;
    // SAFETY: nobody else uses the device.
    unsafe { device.device_wait_idle() }.call("vkDeviceWaitIdle")?;
    // SAFETY: the device is idle; the command buffer goes with its pool.
    unsafe { device.destroy_command_pool(pool, None) };
    Ok(())
}
