//! A simple caller of Vulkan that loads the wrapping driver without a loader.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use dml_fault::dml_vk::ash::{self, vk};

/// A driver of Vulkan 1.1 requires a caller with the loader's interface version 5.
type Negotiate = unsafe extern "system" fn(*mut u32) -> vk::Result;

/// A buffer with its own memory.
pub(crate) struct Buffer {
    handle: vk::Buffer,
    memory: vk::DeviceMemory,
    size: u64,
}

/// A device of the driver.
pub(crate) struct Card {
    instance: ash::Instance,
    physical: vk::PhysicalDevice,
    device: ash::Device,
    queue: vk::Queue,
    commands: vk::CommandPool,
}

/// Calls `check` on the card made from each driver that VK_DRIVER_FILES names, one test at a time.
pub(crate) fn each_card(check: impl Fn(&Card)) {
    static ENTRIES: Mutex<Option<Vec<ash::Entry>>> = Mutex::new(None);
    let mut entries = ENTRIES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for entry in entries.get_or_insert_with(open_all) {
        let card = Card::new(entry);
        check(&card);
        card.close();
    }
}

fn open_all() -> Vec<ash::Entry> {
    let variables = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];
    let manifests = variables.iter().find_map(std::env::var_os);
    let manifests = manifests.expect("VK_DRIVER_FILES names no drivers: see `cargo xtask env`");
    std::env::split_paths(&manifests).map(|manifest| open(&library_of(&manifest))).collect()
}

/// The library that a driver's manifest names.
fn library_of(manifest: &Path) -> PathBuf {
    let text = std::fs::read_to_string(manifest).unwrap();
    let (_, rest) = text.split_once("\"library_path\"").unwrap();
    let path = rest.split('"').nth(1).unwrap();
    manifest.parent().unwrap().join(path)
}

/// Loads the wrapping driver around a driver. A library wraps only one, so each gets its own copy.
fn open(driver: &Path) -> ash::Entry {
    let name =
        format!("{}wrapping_driver{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let built = std::env::current_exe().unwrap();
    let built = built.ancestors().nth(2).unwrap().join("examples").join(&name);
    let copy = driver.file_name().unwrap().to_string_lossy().into_owned();
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("wrapping_{copy}"));
    std::fs::copy(&built, &copy).expect("`cargo test` builds examples, `--test` alone does not");
    for (name, value) in [("DML_DRIVER_LIBRARY", driver), ("DML_DRIVER_MODE", "discrete".as_ref())]
    {
        // SAFETY: every test waits for the lock that is held here before it calls anything that reads the
        // environment, and no driver runs yet that was not closed again.
        unsafe { std::env::set_var(name, value) };
    }
    // SAFETY: the library is this project's own.
    let library = unsafe { libloading::Library::new(&copy) }.unwrap();
    // SAFETY: the function with this name has this type.
    let negotiate =
        unsafe { library.get::<Negotiate>(b"vk_icdNegotiateLoaderICDInterfaceVersion") }.unwrap();
    let mut version = 5;
    // SAFETY: the function writes what it has agreed to.
    let agreed = unsafe { negotiate(&raw mut version) };
    assert_eq!(agreed, vk::Result::SUCCESS);
    // SAFETY: as above.
    let get = unsafe { library.get::<vk::PFN_vkGetInstanceProcAddr>(b"vk_icdGetInstanceProcAddr") };
    let get_instance_proc_addr = *get.unwrap();
    // The library stays open until the process ends.
    std::mem::forget(library);
    // SAFETY: the function is Vulkan's, of a driver.
    unsafe { ash::Entry::from_static_fn(ash::StaticFn { get_instance_proc_addr }) }
}

impl Card {
    fn new(entry: &ash::Entry) -> Self {
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_1);
        let info = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: `info` and what it points to outlive the call.
        let instance = unsafe { entry.create_instance(&info, None) }.unwrap();
        // SAFETY: the instance is alive.
        let physical = unsafe { instance.enumerate_physical_devices() }.unwrap()[0];
        let queues =
            [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
        // SAFETY: CPU drivers have one queue family; `info` outlives the call.
        let device = unsafe { instance.create_device(physical, &info, None) }.unwrap();
        // SAFETY: the device was created with this queue.
        let queue = unsafe { device.get_device_queue(0, 0) };
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(0);
        // SAFETY: as above.
        let commands = unsafe { device.create_command_pool(&info, None) }.unwrap();
        Self { instance, physical, device, queue, commands }
    }

    fn close(self) {
        // SAFETY: every copy was waited for, and buffers are gone, here and below.
        unsafe { self.device.destroy_command_pool(self.commands, None) };
        // SAFETY: as above.
        unsafe { self.device.destroy_device(None) };
        // SAFETY: as above.
        unsafe { self.instance.destroy_instance(None) };
    }

    /// The properties that it reports, and its maxMemoryAllocationSize.
    pub(crate) fn properties(&self) -> (vk::PhysicalDeviceProperties, u64) {
        let mut maintenance3 = vk::PhysicalDeviceMaintenance3Properties::default();
        let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut maintenance3);
        // SAFETY: the device has Vulkan 1.1.
        unsafe { self.instance.get_physical_device_properties2(self.physical, &mut all) };
        (all.properties, maintenance3.max_memory_allocation_size)
    }

    pub(crate) fn memory(&self) -> vk::PhysicalDeviceMemoryProperties {
        // SAFETY: the physical device is the instance's.
        unsafe { self.instance.get_physical_device_memory_properties(self.physical) }
    }

    /// A buffer for copies, in the first memory type that has the property.
    pub(crate) fn buffer(&self, size: u64, property: vk::MemoryPropertyFlags) -> Buffer {
        let usage = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
        let info = vk::BufferCreateInfo::default().size(size).usage(usage);
        // SAFETY: the size is not 0, and the usage not empty.
        let handle = unsafe { self.device.create_buffer(&info, None) }.unwrap();
        // SAFETY: the buffer is alive.
        let needs = unsafe { self.device.get_buffer_memory_requirements(handle) };
        let memory = self.memory();
        let types = (0..).zip(memory.memory_types_as_slice());
        let mut serving = types.filter(|(index, kind)| {
            needs.memory_type_bits & (1 << index) != 0 && kind.property_flags.contains(property)
        });
        let (index, _) = serving.next().unwrap();
        let memory = self.try_allocate(needs.size, index).unwrap();
        // SAFETY: both are new and belong together.
        unsafe { self.device.bind_buffer_memory(handle, memory, 0) }.unwrap();
        Buffer { handle, memory, size }
    }

    pub(crate) fn try_allocate(
        &self,
        size: u64,
        kind: u32,
    ) -> Result<vk::DeviceMemory, vk::Result> {
        let info = vk::MemoryAllocateInfo::default().allocation_size(size).memory_type_index(kind);
        // SAFETY: the device has this memory type.
        unsafe { self.device.allocate_memory(&info, None) }
    }

    pub(crate) fn destroy(&self, buffer: Buffer) {
        // SAFETY: every copy was waited for.
        unsafe { self.device.destroy_buffer(buffer.handle, None) };
        // SAFETY: as above.
        unsafe { self.device.free_memory(buffer.memory, None) };
    }

    /// The address of a buffer's bytes.
    pub(crate) fn try_map(&self, buffer: &Buffer) -> Result<*mut u8, vk::Result> {
        let flags = vk::MemoryMapFlags::empty();
        // SAFETY: nobody else has mapped the memory.
        let address = unsafe { self.device.map_memory(buffer.memory, 0, vk::WHOLE_SIZE, flags) }?;
        Ok(address.cast())
    }

    /// Maps and unmaps a buffer, and returns its bytes: the driver's mappings stay valid.
    #[allow(clippy::mut_from_ref, reason = "the memory is the driver's")]
    pub(crate) fn map(&self, buffer: &Buffer) -> &mut [u8] {
        let first = self.try_map(buffer).unwrap();
        // SAFETY: it was just mapped.
        unsafe { self.device.unmap_memory(buffer.memory) };
        // SAFETY: the driver keeps so many bytes there as long as the memory lives, and no test has two such slices
        // of one buffer.
        unsafe { std::slice::from_raw_parts_mut(first, usize::try_from(buffer.size).unwrap()) }
    }

    pub(crate) fn flush(&self, buffer: &Buffer, offset: u64, size: u64) {
        let range =
            vk::MappedMemoryRange::default().memory(buffer.memory).offset(offset).size(size);
        // SAFETY: the range is inside of the memory, which is visible to the host.
        unsafe { self.device.flush_mapped_memory_ranges(&[range]) }.unwrap();
    }

    pub(crate) fn invalidate(&self, buffer: &Buffer, offset: u64, size: u64) {
        let range =
            vk::MappedMemoryRange::default().memory(buffer.memory).offset(offset).size(size);
        // SAFETY: the range is inside of the memory, which is visible to the host.
        unsafe { self.device.invalidate_mapped_memory_ranges(&[range]) }.unwrap();
    }

    /// Copies a whole buffer on the device, and waits.
    pub(crate) fn copy(&self, from: &Buffer, to: &Buffer) {
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(self.commands)
            .command_buffer_count(1);
        // SAFETY: the pool is this thread's, here and below.
        let commands = unsafe { self.device.allocate_command_buffers(&info) }.unwrap();
        let info = vk::CommandBufferBeginInfo::default();
        // SAFETY: as above.
        unsafe { self.device.begin_command_buffer(commands[0], &info) }.unwrap();
        let whole = [vk::BufferCopy { size: from.size, ..Default::default() }];
        // SAFETY: both buffers are alive, made for copies, and as large.
        unsafe { self.device.cmd_copy_buffer(commands[0], from.handle, to.handle, &whole) };
        // SAFETY: as above.
        unsafe { self.device.end_command_buffer(commands[0]) }.unwrap();
        let submits = [vk::SubmitInfo::default().command_buffers(&commands)];
        // SAFETY: the queue is this thread's.
        unsafe { self.device.queue_submit(self.queue, &submits, vk::Fence::null()) }.unwrap();
        // SAFETY: as above.
        unsafe { self.device.queue_wait_idle(self.queue) }.unwrap();
    }
}
