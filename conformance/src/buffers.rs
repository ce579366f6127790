//! The buffers of one case: what is in them, how they are bound, and what must be left alone.

use dml::core::schema::FieldKind;
use dml::{
    Buffer, BufferBinding, BufferDesc, BufferUsage, CompiledOperator, Device, MemoryLocation,
    TensorFlags,
};
use dml_ops::reference::{Case as CornerCase, elements_in, input_bytes};

use crate::compare::{GUARD, SENTINEL};

/// Everything that is bound for one case.
pub(crate) struct Buffers {
    inputs: Vec<Option<Input>>,
    pub(crate) outputs: Vec<Bound>,
}

/// A tensor in a buffer of its own, or of another tensor where both are the same in place.
#[derive(Clone)]
pub(crate) struct Bound {
    buffer: Buffer,
    /// Where the tensor starts, behind a guard.
    pub(crate) offset: u64,
    size: u64,
    /// Every byte of the buffer before execution.
    pub(crate) before: Vec<u8>,
}

struct Input {
    bound: Bound,
    /// The tensor's bytes, without guards.
    bytes: Vec<u8>,
    /// OWNED_BY_DML: bound at initialization only.
    is_owned: bool,
    /// The buffer is an output's.
    is_output: bool,
}

impl Bound {
    fn new(
        device: &Device,
        corner: &CornerCase,
        offset: u64,
        tensor: &[u8],
    ) -> Result<Self, String> {
        let offset = GUARD + offset;
        let size = tensor.len() as u64;
        let guard = |bytes: u64| vec![SENTINEL; usize::try_from(bytes).unwrap_or(usize::MAX)];
        let before = [&guard(offset), tensor, &guard(GUARD)].concat();
        let (usage, location) = if corner.storage_only {
            // Without transfer usage only mapped memory can be written and read back.
            (BufferUsage::STORAGE, MemoryLocation::Readback)
        } else {
            (BufferUsage::all(), MemoryLocation::Device)
        };
        let name = "conformance tensor";
        let desc = BufferDesc { size: before.len() as u64, usage, location, name };
        let buffer = device.vulkan().create_buffer(&desc).map_err(text)?;
        device.vulkan().write_buffer(&buffer, 0, &before).map_err(text)?;
        Ok(Self { buffer, offset, size, before })
    }

    fn binding(&self) -> BufferBinding<'_> {
        BufferBinding { buffer: &self.buffer, offset: self.offset, size: self.size }
    }

    /// Every byte of the buffer.
    pub(crate) fn read(&self, device: &Device) -> Result<Vec<u8>, String> {
        device.vulkan().read_buffer(&self.buffer, 0..self.buffer.size()).map_err(text)
    }
}

impl Buffers {
    /// Inputs hold what the case says, outputs sentinels; in place the first output is the first
    /// input.
    pub(crate) fn new(
        compiled: &CompiledOperator,
        corner: &CornerCase,
        device: &Device,
    ) -> Result<Self, String> {
        let mut inputs = Vec::new();
        for (index, (_, layout)) in compiled.operator().tensors(FieldKind::Input).enumerate() {
            let input = layout.map(|layout| {
                let bytes = input_bytes(corner, index, layout);
                let is_output = corner.in_place && index == 0;
                let offset = if is_output { corner.output_offset } else { corner.input_offset };
                let bound = Bound::new(device, corner, offset, &bytes)?;
                let is_owned = layout.flags().contains(TensorFlags::OWNED_BY_DML);
                Ok::<_, String>(Input { bound, bytes, is_owned, is_output })
            });
            inputs.push(input.transpose()?);
        }
        let mut outputs = Vec::new();
        for index in 0..compiled.operator().tensors(FieldKind::Output).count() {
            outputs.push(match inputs.get(index) {
                Some(Some(input)) if input.is_output => input.bound.clone(),
                _ => {
                    let size = usize::try_from(compiled.output_size(index)).map_err(text)?;
                    Bound::new(device, corner, corner.output_offset, &vec![SENTINEL; size])?
                }
            });
        }
        Ok(Self { inputs, outputs })
    }

    /// The inputs as the reference takes them.
    pub(crate) fn input_elements(&self, compiled: &CompiledOperator) -> Vec<Option<Vec<u64>>> {
        let inputs = self.inputs.iter().enumerate().map(|(index, input)| {
            let (input, layout) = (input.as_ref()?, compiled.input_layout(index)?);
            Some(elements_in(layout, &input.bytes))
        });
        inputs.collect()
    }

    /// Initializes the operator where an input is owned, and executes it.
    pub(crate) fn execute(
        &self,
        compiled: &CompiledOperator,
        device: &Device,
    ) -> Result<(), String> {
        if compiled.needs_initialization() {
            device.initialize(compiled, &self.bindings(true)).map_err(text)?;
            // Whoever still reads an owned input gets something else.
            for bound in self.owned() {
                let other: Vec<u8> = bound.before.iter().map(|byte| !byte).collect();
                device.vulkan().write_buffer(&bound.buffer, 0, &other).map_err(text)?;
            }
        }
        let outputs: Vec<_> = self.outputs.iter().map(|bound| Some(bound.binding())).collect();
        device.execute(compiled, &self.bindings(false), &outputs).map_err(text)
    }

    /// Checks that no input was written to.
    pub(crate) fn check_inputs(&self, device: &Device) -> Result<(), String> {
        for (index, input) in self.inputs.iter().enumerate() {
            let Some(input) = input.as_ref().filter(|it| !it.is_output && !it.is_owned) else {
                continue;
            };
            if input.bound.read(device)? != input.bound.before {
                return Err(format!("input {index} was written to"));
            }
        }
        Ok(())
    }

    fn bindings(&self, owned: bool) -> Vec<Option<BufferBinding<'_>>> {
        let now = self.inputs.iter().map(|input| input.as_ref().filter(|it| it.is_owned == owned));
        now.map(|input| input.map(|it| it.bound.binding())).collect()
    }

    fn owned(&self) -> impl Iterator<Item = &Bound> {
        self.inputs.iter().flatten().filter(|input| input.is_owned).map(|input| &input.bound)
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
