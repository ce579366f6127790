//! Bring your own: the program owns the VkInstance, the VkDevice, the queue, the memory and the
//! command buffer. The runtime records one operator between the program's own commands; the program
//! places the barriers and submits.
//!
//! ```console
//! $ cargo run -p dml --example bring_your_own
//! ```
#![allow(unsafe_code, reason = "the program's own Vulkan calls, and its promises to the runtime")]
#![allow(clippy::print_stdout, reason = "an example prints")]

#[path = "bring_your_own/program.rs"]
pub(crate) mod program;

use std::error::Error;

use dml::ash::{self, vk};
use dml::vk::{
    BindingTable, Bindings, DeviceDesc, Enablement, RawBufferDesc, RawDeviceDesc,
    RawPhysicalDevice, access, record_plan,
};
use dml::{
    BufferBinding, BufferUsage, DataType, Device, DeviceOptions, DiagonalMatrix1Desc, EntryPoints,
    PhysicalDevice, TensorDesc,
};
use program::{Machine, VulkanObjects};

const SIDE: u32 = 4;
const BYTES: u64 = 4 * (SIDE * SIDE) as u64;
/// Both tensors are in one buffer, the output at an offset that suits every device.
const OUTPUT_AT: u64 = 256;

fn main() -> Result<(), Box<dyn Error>> {
    for row in run(0)?.chunks(SIDE as usize) {
        println!("{row:?}");
    }
    Ok(())
}

/// Fills the input with 2.0, writes ones over its upper triangle with DIAGONAL_MATRIX1, and copies
/// the result to a buffer that the host reads; on the `index`-th device.
pub(crate) fn run(index: usize) -> Result<Vec<f32>, Box<dyn Error>> {
    let machine = Machine::new(index)?;
    // The features that the runtime can use. None is required, because the program submits by itself.
    let mut enablement = physical_device(&machine)?.enablement(&DeviceDesc::default());
    let extensions = enablement.extensions.clone();
    let program = VulkanObjects::new(machine, &extensions, &mut enablement.chain())?;
    let tensors = program.buffer(OUTPUT_AT + BYTES)?;
    let result = program.buffer(BYTES)?;
    {
        let device = wrap(&program, &enablement)?;
        let operator = device.compile(upper_triangle())?;
        // SAFETY: the buffer was created with this size and these usages, is bound to memory, and
        // outlives everything in this block.
        let buffer = unsafe {
            device.vulkan().wrap_buffer(&RawBufferDesc {
                handle: tensors.handle,
                size: tensors.size,
                usage: BufferUsage::all(),
                name: "tensors",
            })
        }?;
        let at = |offset| Some(BufferBinding { buffer: &buffer, offset, size: BYTES });
        let (inputs, outputs) = ([at(0)], [at(OUTPUT_AT)]);
        let bindings = Bindings { inputs: &inputs, outputs: &outputs, ..Bindings::default() };
        let table = BindingTable::new(operator.vulkan(), &bindings)?;

        let commands = program.begin()?;
        record(&program, commands, &table, (tensors.handle, result.handle));
        // The table must be kept until this returns.
        program.submit_and_wait(commands)?;
    }
    // The runtime has destroyed its objects; the program destroys its own.
    Ok(program.floats(&result))
}

fn raw_physical_device(
    entry: &ash::Entry,
    instance: &ash::Instance,
    physical_device: vk::PhysicalDevice,
) -> RawPhysicalDevice<'static> {
    RawPhysicalDevice {
        get_instance_proc_addr: entry.static_fn().get_instance_proc_addr,
        entry_points: EntryPoints::default(),
        instance: instance.handle(),
        api_version: vk::API_VERSION_1_1,
        instance_extensions: &[],
        physical_device,
    }
}

fn physical_device(machine: &Machine) -> Result<PhysicalDevice, Box<dyn Error>> {
    let raw = raw_physical_device(&machine.entry, &machine.instance, machine.physical_device);
    // SAFETY: the handles belong together, and outlive what is asked of the device.
    Ok(unsafe { PhysicalDevice::from_raw(&raw) }?)
}

fn wrap(program: &VulkanObjects, enablement: &Enablement) -> Result<Device, Box<dyn Error>> {
    let raw = RawDeviceDesc {
        physical: raw_physical_device(&program.entry, &program.instance, program.physical_device),
        device: program.device.handle(),
        // The features and extensions that the program enabled at vkCreateDevice.
        device_extensions: &enablement.extensions,
        features: enablement.features,
        queue_family: program.queue_family,
        // The runtime does not submit.
        queue: None,
    };
    // SAFETY: the handles belong together and outlive the device, as `program` does; what is stated
    // is what the program created them with.
    let vulkan = unsafe { dml::vk::Device::from_raw(&raw, &DeviceDesc::default()) }?;
    Ok(Device::from_vulkan(vulkan, &DeviceOptions::default())?)
}

fn upper_triangle() -> DiagonalMatrix1Desc {
    let tensor = TensorDesc::packed(DataType::Float32, &[SIDE, SIDE]);
    DiagonalMatrix1Desc {
        input_tensor: Some(tensor.clone()),
        output_tensor: tensor,
        value_data_type: DataType::Float32,
        value: 1.0f32.into(),
        diagonal_fill_begin: 0,
        diagonal_fill_end: i32::MAX,
    }
}

fn record(
    program: &VulkanObjects,
    commands: vk::CommandBuffer,
    table: &BindingTable,
    (tensors, result): (vk::Buffer, vk::Buffer),
) {
    let transfer = vk::PipelineStageFlags::TRANSFER;
    let wrote = vk::AccessFlags::TRANSFER_WRITE;
    // The stages and accesses of any operator to its inputs and outputs.
    let contract = access();

    program.fill(commands, tensors, BYTES, 2.0);
    program.barrier(commands, (transfer, wrote), (contract.stages, contract.inputs));
    // SAFETY: the command buffer is recording, of the wrapped device and its queue family; the
    // caller keeps the table until the work has completed.
    unsafe { record_plan(commands, table) };
    let reads = (transfer, vk::AccessFlags::TRANSFER_READ);
    program.barrier(commands, (contract.stages, contract.outputs), reads);
    program.copy(commands, (tensors, OUTPUT_AT), result, BYTES);
    let host = (vk::PipelineStageFlags::HOST, vk::AccessFlags::HOST_READ);
    program.barrier(commands, (transfer, wrote), host);
}
