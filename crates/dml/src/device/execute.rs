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
        let temporary =
            self.create_scratch("temporary", &operator.vulkan.temporary_buffers(usage))?;
        let persistent = operator.persistent.get().map_or(&[][..], Vec::as_slice);
        let [temporary, persistent] = [&temporary[..], persistent].map(whole);
        let bindings = Bindings { inputs, outputs, temporary: &temporary, persistent: &persistent };
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
        let mut temporary_sizes = Vec::new();
        let mut persistent = Vec::with_capacity(all.len());
        for Initialization { operator, inputs } in all {
            self.check_own(operator)?;
            if !seen.insert(Arc::as_ptr(&operator.persistent)) {
                let argument = operator.vulkan.operator().to_owned();
                let problem = "it is among the operators to be initialized twice".to_owned();
                return Err(dml_vk::Error::InvalidArgument { argument, problem }.into());
            }
            let sizes = operator.vulkan.temporary_buffers(usage(inputs));
            temporary_sizes = larger(temporary_sizes, &sizes);
            // Not at compilation, because callers that record bring their own persistent resource.
            persistent.push(match operator.persistent.get().cloned() {
                Some(buffers) => buffers,
                None => self.create_scratch("persistent", &operator.vulkan.persistent_buffers())?,
            });
        }
        let temporary = self.create_scratch("temporary", &temporary_sizes)?;
        let temporary = whole(&temporary);
        let bound_persistent: Vec<_> = persistent.iter().map(|it| whole(it)).collect();
        let bound = all.iter().zip(&bound_persistent).map(|(one, persistent)| {
            let inputs = one.inputs;
            let bindings = Bindings { inputs, outputs: &[], temporary: &temporary, persistent };
            (&one.operator.vulkan, bindings)
        });
        let bound: Vec<_> = bound.collect();
        let mut recorder = Recorder::new(&self.vulkan)?;
        recorder.initialize(&BindingTable::for_initializations(&self.vulkan, &bound)?)?;
        self.vulkan.submit(recorder.finish()?)?.wait()?;
        drop(bound_persistent);
        for (one, buffers) in all.iter().zip(persistent) {
            // Buffers are kept only after initialization has filled them. If another thread was faster, its
            // buffers are kept.
            if !buffers.is_empty() {
                let _ = one.operator.persistent.set(buffers);
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

    fn create_scratch(&self, name: &str, sizes: &[u64]) -> Result<Vec<Buffer>> {
        let (usage, location) = (BufferUsage::all(), MemoryLocation::Device);
        let buffer = |size: &u64| {
            self.vulkan.create_buffer(&BufferDesc { size: *size, usage, location, name })
        };
        Ok(sizes.iter().map(buffer).collect::<dml_vk::Result<_>>()?)
    }
}

fn whole(buffers: &[Buffer]) -> Vec<BufferBinding<'_>> {
    buffers.iter().map(BufferBinding::whole).collect()
}

/// The larger size of each buffer.
fn larger(mut sizes: Vec<u64>, others: &[u64]) -> Vec<u64> {
    sizes.resize(sizes.len().max(others.len()), 0);
    sizes.iter_mut().zip(others).for_each(|(size, other)| *size = *other.max(size));
    sizes
}

/// The usage that all of these buffers have.
fn usage(bound: &[Option<BufferBinding<'_>>]) -> BufferUsage {
    let usages = bound.iter().flatten().map(|binding| binding.buffer.usage());
    usages.fold(BufferUsage::all(), BufferUsage::intersection)
}
