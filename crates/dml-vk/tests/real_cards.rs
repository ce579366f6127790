//! Rules that CPU drivers forgive and cards do not, on drivers made up by replacing functions.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "replacements for Vulkan's functions")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use common::{buffer, buffer_with, each_device_with, one_at_a_time, pattern};
use dml_core::capabilities::{Feature, Features, required_features};
use dml_core::plan::Slot;
use dml_vk::ash::vk;
use dml_vk::{
    BufferUsage, Device, DeviceDesc, DeviceType, EntryPoints, InstanceDesc, MemoryLocation,
    Recorder,
};

/// Longer than any test takes: a lock that is never released fails the test instead of hanging it.
const LONG: Duration = Duration::from_secs(60);

/// Whether host-visible memory is coherent.
static IS_COHERENT: AtomicBool = AtomicBool::new(true);
/// The largest size of an allocation that succeeds.
static LARGEST_ALLOCATION: AtomicU64 = AtomicU64::new(u64::MAX);
/// The destination accesses of the last barrier that was recorded.
static LAST_ACCESS: Mutex<vk::AccessFlags> = Mutex::new(vk::AccessFlags::empty());
/// The features that each shader module needs.
static MODULES: Mutex<Vec<Features>> = Mutex::new(Vec::new());
/// Receives a message when a host copy begins, which then waits for an answer.
static HOST_COPY: Mutex<Option<(Sender<()>, Receiver<()>)>> = Mutex::new(None);

fn take<T>(value: &Mutex<Option<T>>) -> Option<T> {
    value.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Functions that change or record the arguments or results of the driver's functions.
fn made_up() -> EntryPoints {
    dml_fault::replacing! {
        vkGetPhysicalDeviceMemoryProperties = PFN_vkGetPhysicalDeviceMemoryProperties(
            device: vk::PhysicalDevice,
            found: *mut vk::PhysicalDeviceMemoryProperties,
        ), |original| {
            // SAFETY: the caller keeps the function's own contract.
            unsafe { original(device, found) };
            // SAFETY: the driver has filled it.
            let found = unsafe { &mut *found };
            for memory in &mut found.memory_types {
                if !IS_COHERENT.load(Ordering::Relaxed) {
                    memory.property_flags &= !vk::MemoryPropertyFlags::HOST_COHERENT;
                }
            }
        }
        vkAllocateMemory = PFN_vkAllocateMemory(
            device: vk::Device,
            info: *const vk::MemoryAllocateInfo<'_>,
            callbacks: *const vk::AllocationCallbacks<'_>,
            memory: *mut vk::DeviceMemory,
        ) -> vk::Result, |original| {
            // SAFETY: the caller keeps the function's own contract.
            let size = unsafe { (*info).allocation_size };
            if size > LARGEST_ALLOCATION.load(Ordering::Relaxed) {
                return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
            }
            // SAFETY: as above.
            unsafe { original(device, info, callbacks, memory) }
        }
        vkInvalidateMappedMemoryRanges = PFN_vkInvalidateMappedMemoryRanges(
            device: vk::Device,
            count: u32,
            ranges: *const vk::MappedMemoryRange<'_>,
        ) -> vk::Result, |original| {
            if let Some((begun, may_go_on)) = take(&HOST_COPY) {
                begun.send(()).unwrap();
                may_go_on.recv_timeout(LONG).unwrap();
            }
            // SAFETY: the caller keeps the function's own contract.
            unsafe { original(device, count, ranges) }
        }
        vkCreateShaderModule = PFN_vkCreateShaderModule(
            device: vk::Device,
            info: *const vk::ShaderModuleCreateInfo<'_>,
            callbacks: *const vk::AllocationCallbacks<'_>,
            made: *mut vk::ShaderModule,
        ) -> vk::Result, |original| {
            // SAFETY: the caller keeps the function's own contract.
            let module = unsafe { *info };
            let (code, bytes) = (module.p_code, module.code_size);
            // SAFETY: as above.
            let words = unsafe { std::slice::from_raw_parts(code, bytes / 4) };
            MODULES.lock().unwrap().push(required_features(words).unwrap());
            // SAFETY: as above.
            unsafe { original(device, info, callbacks, made) }
        }
        vkCmdPipelineBarrier = PFN_vkCmdPipelineBarrier(
            commands: vk::CommandBuffer,
            from: vk::PipelineStageFlags,
            to: vk::PipelineStageFlags,
            flags: vk::DependencyFlags,
            count: u32,
            barriers: *const vk::MemoryBarrier<'_>,
            buffer_count: u32,
            buffers: *const vk::BufferMemoryBarrier<'_>,
            image_count: u32,
            images: *const vk::ImageMemoryBarrier<'_>,
        ), |original| {
            assert_eq!(count, 1);
            // SAFETY: there is one, by the caller's contract.
            *LAST_ACCESS.lock().unwrap() = unsafe { (*barriers).dst_access_mask };
            // SAFETY: the caller keeps the function's own contract.
            unsafe {
                original(
                    commands, from, to, flags, count, barriers, buffer_count, buffers, image_count,
                    images,
                );
            }
        }
    }
}

/// Whether the devices' host-visible memory is coherent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HostMemory {
    Coherent,
    NotCoherent,
}

fn each_made_up_device(memory: HostMemory, test: impl Fn(&Device)) {
    let _guard = one_at_a_time();
    IS_COHERENT.store(memory == HostMemory::Coherent, Ordering::Relaxed);
    let desc = InstanceDesc { entry_points: made_up(), ..InstanceDesc::default() };
    each_device_with(desc, &DeviceDesc::default(), test);
}

/// Submits a fill of the whole buffer, and waits for it.
fn fill(device: &Device, buffer: &dml_vk::Buffer, word: u32) {
    common::run(device, |recorder| recorder.fill_buffer(buffer, 0..buffer.size(), word));
}

#[test]
fn a_host_copy_stops_no_submission_that_uses_other_buffers() {
    each_made_up_device(HostMemory::NotCoherent, |device| {
        if device.info().device_type != DeviceType::Cpu {
            return println!("the host does not see the device's memory");
        }
        let (copied, other) = (buffer(device, 1 << 20), buffer(device, 4096));
        let expected = pattern(1 << 20);
        device.write_buffer(&copied, 0, &expected).unwrap();
        let (begun, has_begun) = channel();
        let (go_on, may_go_on) = channel();
        *HOST_COPY.lock().unwrap() = Some((begun, may_go_on));
        std::thread::scope(|scope| {
            let read = scope.spawn(|| device.read_buffer(&copied, 0..1 << 20).unwrap());
            has_begun.recv_timeout(LONG).unwrap();
            // The copy waits for us: if we waited for it, both would for ever.
            let (done, is_done) = channel();
            let other = &other;
            scope.spawn(move || {
                fill(device, other, 7);
                done.send(()).unwrap();
            });
            is_done.recv_timeout(LONG).expect("a submission waits for a host copy");
            let overwrite = scope.spawn(|| fill(device, &copied, 0));
            // Long enough for a fill that does not wait to be seen by the copy.
            std::thread::sleep(Duration::from_millis(50));
            go_on.send(()).unwrap();
            assert!(read.join().unwrap() == expected, "a submission overtook a host copy");
            overwrite.join().unwrap();
        });
        assert_eq!(device.read_buffer(&copied, 0..4).unwrap(), [0; 4]);
    });
}

#[test]
fn cached_memory_that_is_not_coherent_serves_for_reading_back() {
    each_made_up_device(HostMemory::NotCoherent, |device| {
        let usage = BufferUsage::all();
        for location in [MemoryLocation::Upload, MemoryLocation::Readback] {
            let buffer = buffer_with(device, 4096, usage, location);
            device.write_buffer(&buffer, 0, &pattern(4096)).unwrap();
            assert_eq!(device.read_buffer(&buffer, 0..4096).unwrap(), pattern(4096));
        }
    });
}

#[test]
fn a_small_buffer_fits_where_no_block_does() {
    each_made_up_device(HostMemory::Coherent, |device| {
        LARGEST_ALLOCATION.store(1 << 20, Ordering::Relaxed);
        let small = buffer(device, 1 << 16);
        let large = device.create_buffer(&dml_vk::BufferDesc {
            size: 1 << 21,
            usage: BufferUsage::all(),
            location: MemoryLocation::Device,
            name: "large",
        });
        LARGEST_ALLOCATION.store(u64::MAX, Ordering::Relaxed);
        device.write_buffer(&small, 0, &pattern(1 << 16)).unwrap();
        assert_eq!(device.read_buffer(&small, 0..1 << 16).unwrap(), pattern(1 << 16));
        assert!(large.unwrap_err().is_out_of_memory());
    });
}

/// Constants of plans are written by transfers and read as uniform blocks.
#[test]
fn the_closing_barrier_makes_writes_visible_to_uniform_reads() {
    each_made_up_device(HostMemory::Coherent, |device| {
        Recorder::new(device).unwrap().finish().unwrap();
        let seen = *LAST_ACCESS.lock().unwrap();
        assert!(seen.contains(vk::AccessFlags::UNIFORM_READ), "{seen:?}");
    });
}

#[test]
fn kernels_declare_the_float_modes_that_the_device_offers() {
    each_made_up_device(HostMemory::Coherent, |device| {
        let modes =
            [Feature::ShaderSignedZeroInfNanPreserveFloat32, Feature::ShaderRoundingModeRteFloat32];
        let enabled = device.capabilities().features;
        let expected = modes.map(|mode| enabled.has(mode));
        MODULES.lock().unwrap().clear();
        let step = common::kernels::ramp(Slot::Output(0), 0..4096, 1);
        common::compile(device, common::kernels::plan(4096, vec![step]));
        let modules = std::mem::take(&mut *MODULES.lock().unwrap());
        assert!(!modules.is_empty());
        for needs in modules {
            assert_eq!(modes.map(|mode| needs.has(mode)), expected, "{}", device.info().name);
        }
    });
}
