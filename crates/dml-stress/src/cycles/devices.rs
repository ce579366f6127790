//! Cycles of a device, compared with equal cycles in plain Vulkan calls.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use dml::core::kernel::{KernelModule, Shared};
use dml::core::plan::Step;
use dml::core::{Strategy, Tuning, validate};
use dml::ops::{Target, TransferUse, lower};
use dml::{BufferBinding, DataType, Device, DiagonalMatrixDesc, FeatureLevel, TensorDesc};

use super::{Rows, or_unknown, progress};
use crate::load::{LoadDevice, Stretches, heap};

/// The growth that the runtime may have beyond that of plain calls. Drivers allocate and free a few MiB at a
/// time; 1,000 devices that each leaked 5 KiB would be seen.
const BEYOND_THE_DRIVER: i64 = 4 << 20;

/// Cycles of both kinds before anything is measured.
const WARM_UP: u32 = 20;

const SIZES: [u32; 2] = [33, 47];

pub(super) fn run(place: &LoadDevice, count: u32, rows: &mut Rows) -> Result<()> {
    let kernel = kernel(place)?;
    let bare = || Ok(dml_fault::device_cycle(place.index, &kernel)?);
    let runtime = || place.with_own_instance(|device| execute_once(&device));
    // Both before either is measured, because both load the same driver.
    for _ in 0..WARM_UP {
        bare()?;
        runtime()?;
    }
    let bare = measure(count, "devices in plain Vulkan calls", bare)?;
    let runtime = measure(count, "devices of the runtime", runtime)?;
    rows.note("cycles of a device", format!("{count} in {:.1} s", runtime.seconds));
    rows.note("the same in plain Vulkan calls: physical memory", or_unknown(bare.resident));
    rows.growth("cycles of a device: heap of the runtime", Some(runtime.heap), 0);
    // The growth that the driver alone causes, and nothing of the runtime's.
    let allowed = bare.resident.unwrap_or(0).max(0) + BEYOND_THE_DRIVER;
    rows.growth("cycles of a device: physical memory", runtime.resident, allowed);
    Ok(())
}

/// The growth over a number of cycles.
struct Growth {
    heap: i64,
    resident: Option<i64>,
    seconds: f64,
}

fn measure(count: u32, what: &'static str, cycle: impl Fn() -> Result<()>) -> Result<Growth> {
    let count = usize::try_from(count)?;
    let bar = progress(count, what);
    let mut stretches = Stretches::start(count);
    let heap_before = heap();
    let start = Instant::now();
    for done in 1..=count {
        cycle()?;
        stretches.done(done);
        bar.inc(1);
    }
    let seconds = start.elapsed().as_secs_f64();
    let heap = heap() - heap_before;
    bar.finish_and_clear();
    Ok(Growth { heap, resident: stretches.growth(), seconds })
}

fn desc() -> DiagonalMatrixDesc {
    let output_tensor = TensorDesc::packed(DataType::Float32, &SIZES);
    DiagonalMatrixDesc { output_tensor, offset: 1, value: 7.0 }
}

/// The operator is executed by a kernel, so that the driver compiles one.
fn tuning() -> Tuning {
    Tuning::new().with_strategy(Strategy::Kernel)
}

/// The kernel that the operator is executed with.
fn kernel(place: &LoadDevice) -> Result<Shared<KernelModule>> {
    let device = place.open()?;
    let operator = validate(&desc().into(), FeatureLevel::V6_4)?;
    let (capabilities, transfer) = (device.capabilities(), TransferUse::Allowed);
    let plan = lower(&operator, &Target { capabilities, tuning: tuning(), transfer })?;
    let kernel = plan.exec.iter().find_map(|step| match step {
        Step::Dispatch(dispatch) => Some(dispatch.kernel.variant.clone()),
        _ => None,
    });
    kernel.context("the plan has no dispatch")
}

/// Executes the operator and reads its output back.
fn execute_once(device: &Device) -> Result<()> {
    let device = device.with_tuning(tuning());
    let operator = device.compile(desc())?;
    let buffer = device.create_buffer(operator.output_size(0))?;
    device.execute(&operator, &[], &[Some(BufferBinding::whole(&buffer))])?;
    let found: Vec<f32> = device.read(&buffer, 0, &desc().output_tensor)?;
    let width = SIZES[1] as usize;
    let is_right =
        |(at, found): (usize, &f32)| *found == if at / width + 1 == at % width { 7.0 } else { 0.0 };
    ensure!(found.iter().enumerate().all(is_right), "the output is wrong");
    Ok(())
}
