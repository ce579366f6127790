//! Measures what threads submit to one device while another one reads back: `cargo run --release -p dml-bench --example
//! threads [MIB]`. Three threads execute an operator of 64 KiB and wait for it, again and again, once by themselves and
//! once while a fourth thread reads back `MIB` MiB (512 by default). Prints executions and bytes in a second for both.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use dml::{Buffer, BufferBinding, CompiledOperator, Device, ElementWiseIdentityDesc, FeatureLevel};
use dml::{DataType, TensorDesc};
use dml_file::println;

/// Threads that execute.
const EXECUTING: usize = 3;
/// Elements of the operator's tensors.
const ELEMENTS: u32 = 16 << 10;
/// How long each part is measured.
const LENGTH: Duration = Duration::from_secs(3);

fn main() -> Result<()> {
    let mib = std::env::args().nth(1).map(|it| it.parse()).transpose();
    let bytes = mib.context("MIB is a number")?.unwrap_or(512) << 20;
    let device = Device::open(FeatureLevel::HIGHEST)?;
    println!("{}, {EXECUTING} threads that execute", device.vulkan().info().name);
    let large = device.create_buffer(bytes)?;
    let (alone, _) = measure(&device, None)?;
    println!("alone: {alone:.0} executions/s");
    let (beside, read) = measure(&device, Some(&large))?;
    let gib = read / f64::from(1 << 30);
    println!("beside a thread that reads back: {beside:.0} executions/s, {gib:.2} GiB/s read");
    Ok(())
}

/// Executions and bytes read back in a second.
fn measure(device: &Device, read: Option<&Buffer>) -> Result<(f64, f64)> {
    let tensor = || TensorDesc::packed(DataType::Float32, &[ELEMENTS]);
    let operator = device.compile(ElementWiseIdentityDesc {
        input_tensor: tensor(),
        output_tensor: tensor(),
        scale_bias: None,
    })?;
    let (ends, executions, bytes) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let start = Instant::now();
    std::thread::scope(|scope| {
        let executing = [(); EXECUTING].map(|()| {
            scope.spawn(|| {
                execute(device, &operator, || {
                    executions.fetch_add(1, Ordering::Relaxed);
                    ends.load(Ordering::Relaxed)
                })
            })
        });
        let mut result = Ok(());
        while start.elapsed() < LENGTH && result.is_ok() {
            match read {
                None => std::thread::sleep(LENGTH),
                Some(buffer) => {
                    result = device.vulkan().read_buffer(buffer, 0..buffer.size()).map(|read| {
                        bytes.fetch_add(read.len() as u64, Ordering::Relaxed);
                    });
                }
            }
        }
        ends.store(true, Ordering::Relaxed);
        result?;
        executing.into_iter().try_for_each(|it| it.join().expect("it does not panic"))
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let in_a_second = |count: AtomicU64| count.into_inner() as f64 / seconds;
    Ok((in_a_second(executions), in_a_second(bytes)))
}

/// Executes the operator until `ends` is true.
fn execute(device: &Device, operator: &CompiledOperator, ends: impl Fn() -> bool) -> Result<()> {
    let size = u64::from(ELEMENTS) * 4;
    let [input, output] = [device.create_buffer(size)?, device.create_buffer(size)?];
    let bound = |buffer| [Some(BufferBinding { buffer, offset: 0, size })];
    while !ends() {
        device.execute(operator, &bound(&input), &bound(&output))?;
    }
    Ok(())
}
