//! The requests to a device: operators of every strategy, a graph, transfers, waiting. Every result is
//! compared with the expected one.

use std::time::Duration;

use dml::core::{Strategy, Tuning};
use dml::vk::{BindingTable, Bindings, Recorder, Timestamps};
use dml::{
    AbstractOperator, Buffer, BufferBinding, CompiledOperator, DataType, Device,
    DiagonalMatrix1Desc, DiagonalMatrixDesc, ScalarUnion, TensorDesc, TensorFlags,
};
use dml_fault::Caller;

use super::answer::{Answer, Trouble};

/// The numbers of batches, rows and columns.
type Sizes = [u32; 3];

/// A band of ones, in zeros or in an input of threes.
#[derive(Clone, Copy)]
struct Band {
    sizes: Sizes,
    /// The first diagonal of the band, and the first one above it.
    band: (i32, i32),
    strategy: Strategy,
    input: Input,
}

#[derive(Clone, Copy, PartialEq)]
enum Input {
    None,
    Bound,
    OwnedByDml,
}

const BANDS: [Band; 7] = [
    Band { sizes: [1, 3, 3], band: (0, 1), strategy: Strategy::Inline, input: Input::None },
    Band {
        sizes: [2, 9, 11],
        band: (1, 2),
        strategy: Strategy::FillAndScatter,
        input: Input::None,
    },
    Band { sizes: [3, 5, 7], band: (-1, 0), strategy: Strategy::Kernel, input: Input::None },
    Band { sizes: [40, 8, 8], band: (0, 1), strategy: Strategy::SeedAndCopy, input: Input::None },
    Band { sizes: [1, 6, 300], band: (-2, 3), strategy: Strategy::RowCopies, input: Input::None },
    Band { sizes: [1, 6, 10], band: (-2, 3), strategy: Strategy::CopyAndBand, input: Input::Bound },
    Band { sizes: [1, 7, 9], band: (0, 4), strategy: Strategy::Kernel, input: Input::OwnedByDml },
];

impl Band {
    fn tensor(&self) -> TensorDesc {
        TensorDesc::packed(DataType::Float32, &self.sizes)
    }

    fn bytes(&self) -> u64 {
        4 * self.sizes.iter().copied().map(u64::from).product::<u64>()
    }

    fn desc(&self) -> AbstractOperator {
        let input_tensor = match self.input {
            Input::None if self.band.1 == self.band.0 + 1 => {
                let (output_tensor, offset) = (self.tensor(), self.band.0);
                return DiagonalMatrixDesc { output_tensor, offset, value: 1.0 }.into();
            }
            Input::None => None,
            Input::Bound => Some(self.tensor()),
            Input::OwnedByDml => {
                Some(TensorDesc { flags: TensorFlags::OWNED_BY_DML, ..self.tensor() })
            }
        };
        DiagonalMatrix1Desc {
            input_tensor,
            output_tensor: self.tensor(),
            value_data_type: DataType::Float32,
            value: ScalarUnion::from_bits(u64::from(1f32.to_bits())),
            diagonal_fill_begin: self.band.0,
            diagonal_fill_end: self.band.1,
        }
        .into()
    }

    fn compile(&self, device: &Device) -> dml::Result<CompiledOperator> {
        device.with_tuning(Tuning::new().with_strategy(self.strategy)).compile(self.desc())
    }

    fn expected(&self) -> Vec<f32> {
        let [batches, rows, columns] = self.sizes.map(i64::from);
        let elsewhere = if self.input == Input::None { 0.0 } else { 3.0 };
        let band = i64::from(self.band.0)..i64::from(self.band.1);
        let cells = (0..batches * rows * columns).map(|at| (at / columns % rows, at % columns));
        cells
            .map(|(row, column)| if band.contains(&(column - row)) { 1.0 } else { elsewhere })
            .collect()
    }

    fn check(&self, found: &[f32]) -> Answer {
        if found == self.expected() {
            return Ok(());
        }
        Err(Trouble::Wrong(format!("{} {:?}: wrong bytes: {found:?}", self.strategy, self.sizes)))
    }

    fn threes(&self) -> Vec<u8> {
        let count = self.expected().len();
        std::iter::repeat_n(3f32.to_le_bytes(), count).flatten().collect()
    }
}

/// Executes everything on the runtime's own queue.
pub(crate) fn execute(device: &Device) -> Answer {
    for band in &BANDS {
        let operator = band.compile(device)?;
        let output = device.create_buffer(operator.output_size(0))?;
        let input = match band.input {
            Input::None => None,
            _ => Some(device.create_buffer(operator.input_size(0))?),
        };
        if let Some(input) = &input {
            device.vulkan().write_buffer(input, 0, &band.threes())?;
        }
        if band.input == Input::OwnedByDml {
            device.initialize(&operator, &[input.as_ref().map(BufferBinding::whole)])?;
        }
        let bound = input.as_ref().filter(|_| band.input == Input::Bound);
        let inputs = vec![bound.map(BufferBinding::whole); operator.vulkan().inputs().len()];
        device.execute(&operator, &inputs, &[Some(BufferBinding::whole(&output))])?;
        band.check(&device.read::<f32>(&output, 0, &band.tensor())?)?;
    }
    super::graph::execute(device)?;
    wait_in_every_way(device)
}

/// Polls tickets, waits for them with a timeout, gives them back, and drops them.
fn wait_in_every_way(device: &Device) -> Answer {
    let band = BANDS[2];
    let operator = band.compile(device)?;
    let output = device.create_buffer(operator.output_size(0))?;
    let outputs = [Some(BufferBinding::whole(&output))];
    let submission = device.submit(&operator, &[], &outputs)?;
    submission.is_complete()?;
    submission.wait_timeout(Duration::from_secs(60))?;
    submission.wait()?;
    let bindings = Bindings { outputs: &outputs, ..Bindings::default() };
    let table = BindingTable::new(operator.vulkan(), &bindings)?;
    let vulkan = device.vulkan();
    let timestamps = Timestamps::new(vulkan, 2)?;
    let mut recorder = Recorder::repeatable(vulkan)?;
    recorder.write_timestamp(&timestamps, 0)?;
    recorder.fill_buffer(&output, 0..output.size(), 0)?;
    recorder.barrier_all();
    recorder.dispatch(&table)?;
    recorder.write_timestamp(&timestamps, 1)?;
    let list = vulkan.submit(recorder.finish()?)?.into_list()?;
    timestamps.elapsed(0, 1)?;
    band.check(&device.read::<f32>(&output, 0, &band.tensor())?)?;
    stream(device, band, &output)?;
    let in_flight = vulkan.submit(list)?;
    drop((table, output, operator));
    drop(in_flight);
    Ok(vulkan.wait_idle()?)
}

/// Writes bytes of the host, copies them, and reads them back, in one submission.
fn stream(device: &Device, band: Band, output: &Buffer) -> Answer {
    let other = device.create_buffer(output.size())?;
    let mut recorder = Recorder::new(device.vulkan())?;
    recorder.write_buffer(&other, 0, &vec![0; band.threes().len()])?;
    recorder.barrier_all();
    recorder.copy_buffer(output, 0, &other, 0, output.size())?;
    recorder.barrier_all();
    let bytes = recorder.read_buffer(&other, 0..output.size())?;
    let submission = device.vulkan().submit(recorder.finish()?)?;
    let bytes = bytes.read()?;
    submission.wait()?;
    let (words, _) = bytes.as_chunks::<4>();
    band.check(&words.iter().copied().map(f32::from_le_bytes).collect::<Vec<_>>())
}

/// Executes everything on the caller's own queue; `device` records.
pub(crate) fn record(caller: &Caller, device: &Device) -> Answer {
    let vulkan = device.vulkan();
    for band in &BANDS {
        let operator = band.compile(device)?;
        let output = caller.wrapped_buffer(vulkan, band.bytes())?;
        let threes = match band.input {
            Input::None => None,
            _ => Some(threes(caller, device, band)?),
        };
        let properties = operator.binding_properties();
        let resource = |size: u64| match size {
            0 => Ok(None),
            size => caller.wrapped_buffer(vulkan, size).map(Some),
        };
        let temporary = resource(properties.temporary_resource_size)?;
        let persistent = resource(properties.persistent_resource_size)?;
        let [temporary, persistent] =
            [&temporary, &persistent].map(|it| it.as_ref().map(BufferBinding::whole));
        let resources = Bindings {
            temporary: temporary.as_slice(),
            persistent: persistent.as_slice(),
            ..Bindings::default()
        };
        let input = threes.as_ref().map(BufferBinding::whole);
        let count = operator.vulkan().inputs().len();
        let mut tables = Vec::new();
        if band.input == Input::OwnedByDml {
            let inputs = vec![input; count];
            let bindings = Bindings { inputs: &inputs, ..resources };
            tables.push(BindingTable::for_initialization(operator.vulkan(), &bindings)?);
        }
        let inputs = vec![input.filter(|_| band.input == Input::Bound); count];
        let outputs = [Some(BufferBinding::whole(&output))];
        let bindings = Bindings { inputs: &inputs, outputs: &outputs, ..resources };
        tables.push(BindingTable::new(operator.vulkan(), &bindings)?);
        caller.run(&tables.iter().collect::<Vec<_>>())?;
        let bytes = caller.bytes(output.raw(), 0..band.bytes())?;
        let (words, _) = bytes.as_chunks::<4>();
        band.check(&words.iter().copied().map(f32::from_le_bytes).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// A caller's buffer filled with threes: a band as wide as the tensor.
fn threes(caller: &Caller, device: &Device, band: &Band) -> Result<Buffer, Trouble> {
    let operator = device.compile(DiagonalMatrix1Desc {
        input_tensor: None,
        output_tensor: band.tensor(),
        value_data_type: DataType::Float32,
        value: ScalarUnion::from_bits(u64::from(3f32.to_bits())),
        diagonal_fill_begin: -1000,
        diagonal_fill_end: 1000,
    })?;
    let buffer = caller.wrapped_buffer(device.vulkan(), band.bytes())?;
    let (inputs, outputs) =
        (vec![None; operator.vulkan().inputs().len()], [Some(BufferBinding::whole(&buffer))]);
    let bindings = Bindings { inputs: &inputs, outputs: &outputs, ..Bindings::default() };
    caller.run(&[&BindingTable::new(operator.vulkan(), &bindings)?])?;
    Ok(buffer)
}

/// Checks that every call on a lost device reports the loss; `Err` names one that does not.
pub(crate) fn check_lost(device: &Device) -> Result<(), String> {
    let vulkan = device.vulkan();
    let asked: [(&str, Option<dml::Error>); 5] = [
        ("compile", BANDS[2].compile(device).err()),
        ("create_buffer", device.create_buffer(64).err()),
        ("Recorder::new", Recorder::new(vulkan).err().map(Into::into)),
        ("Timestamps::new", Timestamps::new(vulkan, 1).err().map(Into::into)),
        // Without a queue there is nothing to wait for.
        (
            "wait_idle",
            match vulkan.timeline_semaphore() {
                Some(_) => vulkan.wait_idle().err().map(Into::into),
                None => return check_flag(device),
            },
        ),
    ];
    for (what, error) in asked {
        match error {
            Some(error) if error.is_device_lost() => {}
            other => return Err(format!("after the loss {what} gave {other:?}")),
        }
    }
    check_flag(device)
}

fn check_flag(device: &Device) -> Result<(), String> {
    if device.vulkan().is_lost() { Ok(()) } else { Err("is_lost() is false after a loss".into()) }
}
