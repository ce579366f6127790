//! What the device itself loses where it writes in pieces: the bound of every strategy that is made
//! of fills of rows, or of copies of a block.

use anyhow::Result;
use dml::Device;
use dml::core::Strategy;
use dml::core::plan::{BindingRequirement, BoundAt, Copy, CopyRegion, Plan, Repeat, Slot, Step};
use dml::vk::{BindingTable, Bindings, CompileInput};
use dml::{Buffer, BufferBinding};
use serde::Serialize;

use crate::case::Baseline;
use crate::lane::{Expected, Lane};
use crate::measure::{Effort, in_turns, rotation};
use crate::stats::{Ratio, Summary};

const BYTES: u64 = 64 << 20;
const PIECES: [u64; 4] = [64 << 10, 16 << 10, 4 << 10, 1 << 10];
/// What the block of copies is made of.
const BLOCK_BYTE: u8 = 7;

/// One way to write 64 MiB in pieces, against one fill of as many bytes.
#[derive(Debug, Serialize)]
pub(crate) struct Limit {
    /// The pieces.
    pub(crate) name: String,
    /// Its time in times of the fill's.
    pub(crate) ratio: Ratio,
    /// Submission and wait included.
    pub(crate) time: Summary,
}

/// Fills of pieces, and copies of one block of that size over and over, each in turns with one fill.
///
/// # Errors
/// The device failed, or left wrong bytes.
pub(crate) fn measure(device: &Device, effort: Effort) -> Result<Vec<Limit>> {
    let size = usize::try_from(BYTES)?;
    let blocks = vec![BLOCK_BYTE; size];
    let count = rotation(BYTES, effort.cache);
    let mut limits = Vec::new();
    for piece in PIECES {
        let lanes = (0..count).map(|_| fills(device, piece)).collect::<Result<_>>()?;
        limits.push(one(device, format!("fills of {} KiB", piece >> 10), lanes, effort)?);
    }
    for piece in PIECES {
        let lanes = (0..count).map(|_| copies(device, piece, &blocks)).collect::<Result<_>>()?;
        limits.push(one(device, format!("copies of {} KiB", piece >> 10), lanes, effort)?);
    }
    Ok(limits)
}

fn fills(device: &Device, piece: u64) -> Result<Lane<'static>> {
    let buffer = device.create_buffer(BYTES)?;
    Lane::new(device, Some(buffer), Expected::Zeros, true, |recorder, buffer| {
        let Some(buffer) = buffer else { return Ok(()) };
        (0..BYTES / piece)
            .map(|index| index * piece)
            .try_for_each(|start| recorder.fill_buffer(buffer, start..start + piece, 0))
    })
}

fn copies<'a>(device: &Device, piece: u64, expected: &'a [u8]) -> Result<Lane<'a>> {
    let plan = CompileInput { plan: copy_plan(piece)?, storage_only: None };
    let compiled = device.vulkan().compile(plan)?;
    let buffer: Buffer = device.create_buffer(BYTES)?;
    let outputs = [Some(BufferBinding::whole(&buffer))];
    let bindings = Bindings { outputs: &outputs, ..Bindings::default() };
    let table = BindingTable::new(&compiled, &bindings)?;
    let expected = Expected::Bytes(expected);
    Lane::new(device, Some(buffer), expected, true, |recorder, _| recorder.dispatch(&table))
}

fn copy_plan(piece: u64) -> Result<Plan> {
    let repeat = Repeat {
        count: u32::try_from(BYTES / piece)?,
        destination_stride: piece.cast_signed(),
        ..Repeat::ONCE
    };
    let regions = vec![CopyRegion { repeat, ..CopyRegion::once(0, 0, piece) }];
    let (size, bound_at) = (BYTES, BoundAt::Execution);
    let output = BindingRequirement { field: "OutputTensor", size, alignment: 16, bound_at };
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
        in_place: None,
        temporary_size: 0,
        persistent_size: 0,
        constants: vec![BLOCK_BYTE; usize::try_from(piece)?],
    })
}

fn one(device: &Device, name: String, mut lanes: Vec<Lane<'_>>, effort: Effort) -> Result<Limit> {
    let fill = || Lane::baseline(device, Baseline::Fill, BYTES, None, true);
    let mut whole = lanes.iter().map(|_| fill()).collect::<Result<Vec<_>>>()?;
    for lane in lanes.iter_mut().chain(&mut whole) {
        lane.reset()?;
        lane.run()?;
        lane.verify()?;
    }
    let (mut pieces, mut baseline) = (Vec::new(), Vec::new());
    let start = std::time::Instant::now();
    for turn in 0.. {
        if turn >= effort.least && start.elapsed() > effort.time {
            break;
        }
        let at = turn % lanes.len();
        let (one, other) = in_turns(turn, &mut lanes[at], &mut whole[at])?;
        pieces.push(one.wall);
        baseline.push(other.wall);
    }
    Ok(Limit { name, ratio: Ratio::of(&pieces, &baseline), time: Summary::of(&pieces) })
}
