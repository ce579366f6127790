//! Random plans give what the host interpreter gives, apart and in place. Under the validation layer this also tries the
//! derived barriers: a missing one is a hazard that fails the test.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::ops::Range;

use common::kernels::{fill, plan, ramp, requirement, sum};
use common::{buffer, compile, each_device, execute};
use dml_core::Capabilities;
use dml_core::host::{HostMemory, interpret};
use dml_core::plan::{Aliases, Copy, CopyRegion, InPlace, Plan, Repeat, Slot, Step, Update};
use dml_vk::{BindingTable, Bindings, BufferBinding};

/// Windows start at multiples of this, the largest alignment there is: with its shader-access
/// heuristic the layer judges whole descriptors, which start at the aligned address below.
const BLOCK: u64 = 256;
const BLOCKS: u64 = 8;
const SIZE: u64 = BLOCK * BLOCKS;

/// Marsaglia's xorshift: the plans are the same at every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn word(&mut self) -> u32 {
        u32::try_from(self.below(1 << 32)).unwrap()
    }

    fn written_slot(&mut self) -> Slot {
        if self.below(2) == 0 { Slot::Output(0) } else { Slot::Temporary }
    }

    fn any_slot(&mut self) -> Slot {
        match self.below(4) {
            0 => Slot::Input(0),
            1 => Slot::Constants,
            _ => self.written_slot(),
        }
    }

    fn blocks(&mut self, count: u64) -> Range<u64> {
        let first = self.below(BLOCKS - count + 1);
        first * BLOCK..(first + count) * BLOCK
    }

    fn step(&mut self) -> Step {
        let count = 1 + self.below(3);
        match self.below(5) {
            0 => fill(self.written_slot(), self.blocks(count), self.word()),
            1 => {
                let (slot, range) = (self.written_slot(), self.blocks(1));
                let data = self.word().to_le_bytes().repeat(3);
                Step::Update(Update { slot, offset: range.start + 12, data })
            }
            2 => ramp(self.written_slot(), self.blocks(count), self.word()),
            kind => {
                let (to, from) = self.apart(count);
                if kind == 3 { sum(to, from) } else { copy(to, from) }
            }
        }
    }

    /// Two ranges of one length that do not overlap, also where the input is the output; the first is
    /// written.
    fn apart(&mut self, count: u64) -> ((Slot, Range<u64>), (Slot, Range<u64>)) {
        loop {
            let to = (self.written_slot(), self.blocks(count));
            let from = (self.any_slot(), self.blocks(count));
            if to.0 != in_place().slot(from.0)
                || to.1.end <= from.1.start
                || from.1.end <= to.1.start
            {
                return (to, from);
            }
        }
    }

    fn plan(&mut self) -> Plan {
        let mut exec = vec![fill(Slot::Temporary, 0..SIZE, 1), fill(Slot::Output(0), 0..SIZE, 2)];
        let steps = 4 + self.below(20);
        exec.extend((0..steps).map(|_| self.step()));
        Plan {
            inputs: vec![requirement("InputTensor", SIZE)],
            in_place: vec![InPlace::by_same_steps(0, 0)],
            temporary_size: SIZE,
            constants: (0..SIZE / 4).flat_map(|_| self.word().to_le_bytes()).collect(),
            ..plan(SIZE, exec)
        }
    }
}

fn copy(to: (Slot, Range<u64>), from: (Slot, Range<u64>)) -> Step {
    // Rows in reverse, with gaps between them.
    let length = from.1.end - from.1.start;
    let repeat = Repeat { count: 3, source_stride: -64, destination_stride: 64, growth: 4 };
    let rows = CopyRegion {
        source_offset: from.1.start + 128,
        destination_offset: to.1.start,
        size: 32,
        repeat,
    };
    let rest = CopyRegion::once(from.1.start + 200, to.1.start + 192, length - 200);
    Step::Copy(Copy { source: from.0, destination: to.0, regions: vec![rows, rest] })
}

/// The input is the output.
fn in_place() -> Aliases {
    Aliases::new([(0, 0)])
}

fn on_host(plan: &Plan, input: &[u8], aliases: Aliases) -> Vec<u8> {
    let mut memory = HostMemory { aliases, ..HostMemory::for_plan(plan) };
    memory.inputs[0].as_mut().unwrap().bytes.copy_from_slice(input);
    let mut capabilities = Capabilities::vulkan_minimum();
    capabilities.limits.min_storage_buffer_offset_alignment = BLOCK;
    interpret(&plan.exec, &mut memory, &capabilities).unwrap();
    memory.outputs[0].take().unwrap().bytes
}

#[test]
fn a_device_gives_what_the_host_gives() {
    each_device(|device| {
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        let [input, output, temporary] = [(); 3].map(|()| buffer(device, SIZE));
        let bytes = common::pattern(usize::try_from(SIZE).unwrap());
        device.write_buffer(&input, 0, &bytes).unwrap();
        for round in 0..60 {
            let plan = random.plan();
            let compiled = compile(device, plan.clone());
            for (input, aliases) in [(&input, Aliases::NONE), (&output, in_place())] {
                let expected = on_host(&plan, &bytes, aliases);
                let bindings = Bindings {
                    inputs: &[Some(BufferBinding::whole(input))],
                    outputs: &[Some(BufferBinding::whole(&output))],
                    temporary: &[BufferBinding::whole(&temporary)],
                    persistent: &[],
                };
                let table = BindingTable::new(&compiled, &bindings).unwrap();
                execute(device, &table);
                let result = device.read_buffer(&output, 0..SIZE).unwrap();
                assert!(result == expected, "round {round}: {table:?}");
            }
        }
    });
}
