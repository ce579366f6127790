//! The device's own cost of several commands instead of one fill: the bounds for a fill with a dispatch after
//! it, for fills of rows, and for copies of a block.

use std::rc::Rc;

use anyhow::Result;
use dml::core::Strategy;
use dml::core::plan::{
    BindingRequirement, BoundAt, Copy, CopyRegion, Divisions, Plan, Repeat, Slot, Step,
};
use dml::vk::{BindingTable, Bindings, CompileInput};
use dml::{Buffer, BufferBinding, DataType, Device};

use crate::band::Band;
use crate::case::Baseline;
use crate::lane::{Expected, Lane};
use crate::measure::Effort;
use crate::report::Limit;
use crate::stats::{Ratio, Summary};
use crate::text::bytes_text;
use crate::turns::{buffers, first_run, in_turns, rotation};

const BYTES: u64 = 64 << 20;
const PIECES: [u64; 6] = [16 << 20, 1 << 20, 64 << 10, 16 << 10, 4 << 10, 1 << 10];
/// The byte that fills the block of copies.
const BLOCK_BYTE: u8 = 7;

/// Measures a fill and a dispatch, fills of pieces, and repeated copies of one block of the same size, each
/// in turns with one fill.
///
/// # Errors
/// The device failed, or left wrong bytes.
pub(crate) fn measure(device: &Device, effort: Effort) -> Result<Vec<Limit>> {
    let size = usize::try_from(BYTES)?;
    let blocks = vec![BLOCK_BYTE; size];
    let mut limits = Vec::new();
    let buffers = buffers(device, BYTES, rotation(BYTES, effort.cache))?;
    let mut whole: Vec<_> = buffers
        .iter()
        .map(|buffer| Lane::baseline(device, Baseline::Fill, buffer, BYTES, None, true))
        .collect::<Result<_>>()?;
    whole.iter_mut().try_for_each(first_run)?;
    let corner = corner();
    let bytes = corner.expected(BYTES);
    let expected = Expected::Bytes(&bytes);
    let compiled = device
        .with_tuning(device.tuning().with_strategy(Strategy::FillAndScatter))
        .compile(corner.operator())?;
    let lanes =
        buffers.iter().map(|buffer| Lane::operator(device, &compiled, buffer, &[], expected, true));
    let name = "a fill, and a dispatch for one element".to_owned();
    limits.push(one(name, lanes.collect::<Result<_>>()?, &mut whole, effort)?);
    for piece in PIECES {
        let lanes =
            buffers.iter().map(|buffer| fills(device, buffer, piece)).collect::<Result<_>>()?;
        limits.push(one(format!("fills of {}", bytes_text(piece)), lanes, &mut whole, effort)?);
    }
    for piece in PIECES {
        let lanes = buffers.iter().map(|buffer| copies(device, buffer, piece, &blocks));
        let lanes = lanes.collect::<Result<_>>()?;
        limits.push(one(format!("copies of {}", bytes_text(piece)), lanes, &mut whole, effort)?);
    }
    Ok(limits)
}

/// A matrix of 64 MiB with one element on its diagonal.
fn corner() -> Band {
    Band::eye(DataType::Float32, &[4096, 4096]).with_offset(4095)
}

fn fills(device: &Device, buffer: &Rc<Buffer>, piece: u64) -> Result<Lane<'static>> {
    let expected = Expected::Zeros(usize::try_from(BYTES)?);
    Lane::new(device, Some(buffer), expected, true, |recorder| {
        (0..BYTES / piece)
            .map(|index| index * piece)
            .try_for_each(|start| recorder.fill_buffer(buffer, start..start + piece, 0))
    })
}

fn copies<'a>(
    device: &Device,
    buffer: &Rc<Buffer>,
    piece: u64,
    expected: &'a [u8],
) -> Result<Lane<'a>> {
    let plan = CompileInput { plan: copy_plan(piece)?, storage_only: None };
    let compiled = dml_fault::compile(device.vulkan(), plan)?;
    let outputs = [Some(BufferBinding::whole(buffer))];
    let bindings = Bindings { outputs: &outputs, ..Bindings::default() };
    let table = BindingTable::new(&compiled, &bindings)?;
    let expected = Expected::Bytes(expected);
    Lane::new(device, Some(buffer), expected, true, |recorder| recorder.dispatch(&table))
}

fn copy_plan(piece: u64) -> Result<Plan> {
    let repeat = Repeat {
        count: u32::try_from(BYTES / piece)?,
        destination_stride: piece.cast_signed(),
        ..Repeat::ONCE
    };
    let regions = vec![CopyRegion { repeat, ..CopyRegion::once(0, 0, piece) }];
    let (size, bound_at) = (BYTES, BoundAt::Execution);
    let output = BindingRequirement { field: "OutputTensor".into(), size, alignment: 16, bound_at };
    Ok(Plan {
        operator: "COPIES",
        strategy: Strategy::SeedAndCopy,
        inputs: vec![],
        outputs: vec![Some(output)],
        init: vec![],
        exec: vec![Step::Copy(Copy {
            source: Slot::Constants,
            destination: Slot::Output(0),
            regions,
        })],
        in_place: Vec::new(),
        temporary_size: 0,
        persistent_size: 0,
        divisions: Divisions::default(),
        constants: vec![BLOCK_BYTE; usize::try_from(piece)?],
    })
}

fn one(
    name: String,
    mut lanes: Vec<Lane<'_>>,
    whole: &mut [Lane<'_>],
    effort: Effort,
) -> Result<Limit> {
    lanes.iter_mut().try_for_each(first_run)?;
    let (mut pieces, mut baseline) = (Vec::new(), Vec::new());
    let start = std::time::Instant::now();
    for turn in 0.. {
        if turn >= effort.least && start.elapsed() > effort.time {
            break;
        }
        let (one, other) = in_turns(turn, &mut lanes, whole)?;
        pieces.push(one.wall);
        baseline.push(other.wall);
    }
    Ok(Limit { name, ratio: Ratio::of(&pieces, &baseline), time: Summary::of(&pieces) })
}
