//! Initialization and execution of compiled operators.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dml_vk::{
    BindingTable, Bindings, Buffer, BufferBinding, BufferDesc, BufferUsage, MemoryLocation,
    Recorder, Submission,
};

use crate::compiled::CompiledOperator;
use crate::device::Device;
use crate::error::{Error, Result};

/// An operator to initialize, with its bindings.
#[derive(Clone, Copy, Debug)]
pub struct Initialization<'a> {
    /// The operator.
    pub operator: &'a CompiledOperator,
    /// The inputs that are OWNED_BY_DML, `None` for all others; may be empty if there are none.
    pub inputs: &'a [Option<BufferBinding<'a>>],
}

impl Device {
    /// Executes an operator and waits for it.
    ///
    /// An input and an output may be bound to exactly the same range if
    /// [`dml_vk::CompiledOperator::in_place`] allows it. Inputs that are OWNED_BY_DML are `None` here:
    /// they are bound by [`Device::initialize`], which comes first.
    ///
    /// # Errors
    /// [`Error::OtherDevice`]; [`Error::NotInitialized`]; [`Error::Vulkan`]: a binding is invalid,
    /// memory ran out, or the device was lost.
    pub fn execute(
        &self,
        operator: &CompiledOperator,
        inputs: &[Option<BufferBinding<'_>>],
        outputs: &[Option<BufferBinding<'_>>],
    ) -> Result<()> {
        Ok(self.submit(operator, inputs, outputs)?.wait()?)
    }

    /// Submits an operator without waiting for it. The ticket tells when it is done, and keeps everything alive
    /// that the device still uses.
    ///
    /// # Errors
    /// As [`Device::execute`].
    pub fn submit(
        &self,
        operator: &CompiledOperator,
        inputs: &[Option<BufferBinding<'_>>],
        outputs: &[Option<BufferBinding<'_>>],
    ) -> Result<Submission> {
        self.check_own(operator)?;
        if !operator.is_initialized() {
            return Err(Error::NotInitialized { operator: operator.vulkan.operator() });
        }
        let usage = usage(inputs) & usage(outputs);
        let size = operator.vulkan.binding_properties_for(usage).temporary_resource_size;
        let temporary = self.create_scratch("temporary", size)?;
        let bindings = Bindings {
            inputs,
            outputs,
            temporary: temporary.as_ref().map(BufferBinding::whole),
            persistent: operator.persistent.get().map(BufferBinding::whole),
        };
        let mut recorder = Recorder::new(&self.vulkan)?;
        recorder.dispatch(&BindingTable::new(&operator.vulkan, &bindings)?)?;
        Ok(self.vulkan.submit(recorder.finish()?)?)
    }

    /// Initializes an operator and waits for it: copies the inputs that are OWNED_BY_DML into the persistent
    /// resource. All other `inputs` are `None`. If no input is owned, `inputs` may be empty, and there is
    /// nothing to do.
    ///
    /// Initializing again replaces the contents of the persistent resource for later submissions. A call that
    /// is refused changes nothing.
    ///
    /// # Errors
    /// [`Error::OtherDevice`]; [`Error::Vulkan`]: a binding is invalid, memory ran out, or the device
    /// was lost.
    pub fn initialize(
        &self,
        operator: &CompiledOperator,
        inputs: &[Option<BufferBinding<'_>>],
    ) -> Result<()> {
        self.initialize_all(&[Initialization { operator, inputs }])
    }

    /// Initializes several operators in one submission, and waits for it.
    ///
    /// # Errors
    /// As [`Device::initialize`], and if an operator is listed twice. Then no operator is initialized.
    pub fn initialize_all(&self, all: &[Initialization<'_>]) -> Result<()> {
        let mut seen = HashSet::new();
        let mut temporary_size = 0;
        let mut persistent = Vec::with_capacity(all.len());
        for Initialization { operator, inputs } in all {
            self.check_own(operator)?;
            if !seen.insert(Arc::as_ptr(&operator.persistent)) {
                let argument = operator.vulkan.operator().to_owned();
                let problem = "it is among the operators to be initialized twice".to_owned();
                return Err(dml_vk::Error::InvalidArgument { argument, problem }.into());
            }
            let properties = operator.vulkan.binding_properties_for(usage(inputs));
            temporary_size = properties.temporary_resource_size.max(temporary_size);
            // Not at compilation, because callers that record bring their own persistent resource.
            persistent.push(match operator.persistent.get().cloned() {
                Some(buffer) => Some(buffer),
                None => self.create_scratch("persistent", properties.persistent_resource_size)?,
            });
        }
        let temporary = self.create_scratch("temporary", temporary_size)?;
        let bound = all.iter().zip(&persistent).map(|(one, persistent)| {
            let bindings = Bindings {
                inputs: one.inputs,
                outputs: &[],
                temporary: temporary.as_ref().map(BufferBinding::whole),
                persistent: persistent.as_ref().map(BufferBinding::whole),
            };
            (&one.operator.vulkan, bindings)
        });
        let bound: Vec<_> = bound.collect();
        let mut recorder = Recorder::new(&self.vulkan)?;
        recorder.initialize(&BindingTable::for_initializations(&self.vulkan, &bound)?)?;
        self.vulkan.submit(recorder.finish()?)?.wait()?;
        for (one, buffer) in all.iter().zip(persistent) {
            // A buffer is kept only after initialization has filled it. If another thread was faster, its
            // buffer is kept.
            if let Some(buffer) = buffer {
                let _ = one.operator.persistent.set(buffer);
            }
            one.operator.initialized.store(true, Ordering::Release);
        }
        Ok(())
    }

    fn check_own(&self, operator: &CompiledOperator) -> Result<()> {
        if operator.vulkan.device().is_same(&self.vulkan) {
            return Ok(());
        }
        Err(Error::OtherDevice { operator: operator.vulkan.operator() })
    }

    fn create_scratch(&self, name: &str, size: u64) -> Result<Option<Buffer>> {
        if size == 0 {
            return Ok(None);
        }
        let usage = BufferUsage::all();
        let location = MemoryLocation::Device;
        Ok(Some(self.vulkan.create_buffer(&BufferDesc { size, usage, location, name })?))
    }
}

/// The usage that all of these buffers have.
fn usage(bound: &[Option<BufferBinding<'_>>]) -> BufferUsage {
    let usages = bound.iter().flatten().map(|binding| binding.buffer.usage());
    usages.fold(BufferUsage::all(), BufferUsage::intersection)
}
