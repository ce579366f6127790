//! The device: opened at a feature level, it compiles and executes operators.

mod compile;

use std::sync::atomic::Ordering;

use dml_core::{Capabilities, CapabilityCap, FeatureLevel, TensorDesc, TensorLayout, Tuning};
use dml_vk::{
    BindingTable, Bindings, Buffer, BufferBinding, BufferDesc, BufferUsage, DeviceDesc,
    DeviceSelector, Instance, InstanceDesc, MemoryLocation, Phase, PhysicalDevice, Recorder,
    Submission,
};

use crate::compiled::CompiledOperator;
use crate::element::{Element, elements, pack};
use crate::error::{Error, Result};
use crate::pipeline_cache::PipelineCache;

/// How to open a [`Device`].
#[derive(Clone, Debug, Default)]
pub struct DeviceOptions {
    /// The level that the device is created at: an upper bound on what it accepts. The default is
    /// the highest.
    pub feature_level: FeatureLevel,
    /// DirectML's minimum: where the device cannot meet it, opening fails. It cannot where the level
    /// that it is created at is lower. The default is no minimum.
    pub minimum_feature_level: Option<FeatureLevel>,
    /// Makes the device behave as one that has less. The default, `None`, is what the environment
    /// variable `DML_PROFILE` names, and no cap where it is not set.
    pub cap: Option<CapabilityCap>,
    /// Where compiled pipelines are kept between processes. The default is what the environment
    /// variable `DML_PIPELINE_CACHE` says, and the user's cache folder where it is not set.
    pub pipeline_cache: PipelineCache,
    /// Whether kernels with a defect are kept inside of what is bound (robustBufferAccess), which costs
    /// some GPUs time. The default, `None`, is what the environment variable `DML_ROBUST_ACCESS` says,
    /// `on` or `off`, and on where it is not set.
    pub robust_access: Option<bool>,
    /// Which physical device. The default is the best one.
    pub selector: DeviceSelector,
    /// The connection to Vulkan.
    pub instance: InstanceDesc,
}

/// A Vulkan device that accepts what its feature level promises.
///
/// A cheap handle: clones share the device.
#[derive(Clone, Debug)]
pub struct Device {
    vulkan: dml_vk::Device,
    feature_level: FeatureLevel,
    tuning: Tuning,
}

impl Device {
    /// Opens the best device of this machine at `feature_level`.
    ///
    /// # Errors
    /// [`Error::Vulkan`]: there is no loader or no usable device, which says what to install; or
    /// the driver failed.
    pub fn open(feature_level: FeatureLevel) -> Result<Self> {
        Self::open_with(&DeviceOptions { feature_level, ..DeviceOptions::default() })
    }

    /// Opens a device as `options` say.
    ///
    /// # Errors
    /// As [`Device::open`], and where the selector names no device or several, and those of
    /// [`Device::on_with`].
    pub fn open_with(options: &DeviceOptions) -> Result<Self> {
        let options = options.resolved()?;
        let instance = Instance::new(&options.instance)?;
        Self::on_with(&instance.select(&options.selector)?, &options)
    }

    /// Opens `physical_device` at `feature_level`.
    ///
    /// # Errors
    /// [`Error::Vulkan`]: the device lacks what the runtime needs, or its driver failed.
    pub fn on(physical_device: &PhysicalDevice, feature_level: FeatureLevel) -> Result<Self> {
        Self::on_with(physical_device, &DeviceOptions { feature_level, ..DeviceOptions::default() })
    }

    /// Opens `physical_device` as `options` say; their selector and instance are not used. A cap on
    /// the version of Vulkan needs an instance made for it, see [`DeviceOptions::resolved`].
    ///
    /// # Errors
    /// As [`Device::on`]; [`Error::MinimumFeatureLevel`]: the minimum cannot be met;
    /// [`Error::Profile`]: the profile in the environment is wrong.
    pub fn on_with(physical_device: &PhysicalDevice, options: &DeviceOptions) -> Result<Self> {
        check_minimum(options)?;
        let resolved = options.resolved()?;
        let desc = DeviceDesc {
            cap: resolved.cap.unwrap_or_default(),
            pipeline_cache: resolved.pipeline_cache.folder(),
            without_robust_access: resolved.robust_access == Some(false),
            ..DeviceDesc::default()
        };
        Self::from_vulkan(dml_vk::Device::with_desc(physical_device, &desc)?, options)
    }

    /// Uses a Vulkan device that is there already: one that was wrapped with
    /// [`dml_vk::Device::from_raw`], or created with a [`dml_vk::DeviceDesc`]. Of `options` only the
    /// feature levels are used; a cap is part of the device.
    ///
    /// Without a queue of its own, a wrapped device compiles operators and records them with
    /// [`dml_vk::record_plan`]; what submits is refused.
    ///
    /// # Errors
    /// [`Error::MinimumFeatureLevel`]: the minimum cannot be met.
    pub fn from_vulkan(vulkan: dml_vk::Device, options: &DeviceOptions) -> Result<Self> {
        check_minimum(options)?;
        Ok(Self { vulkan, feature_level: options.feature_level, tuning: Tuning::default() })
    }

    /// The same device, accepting what `feature_level` promises.
    pub fn at_feature_level(&self, feature_level: FeatureLevel) -> Self {
        Self { feature_level, ..self.clone() }
    }

    /// The same device with other preferences; results do not depend on them.
    pub fn with_tuning(&self, tuning: Tuning) -> Self {
        Self { tuning, ..self.clone() }
    }

    /// Its preferences.
    pub fn tuning(&self) -> Tuning {
        self.tuning
    }

    /// The level that the device was created at.
    pub fn feature_level(&self) -> FeatureLevel {
        self.feature_level
    }

    /// What kernels may rely on: the limits under the device's cap, and the features that are enabled.
    /// What it offers beyond them tells [`Device::offered`].
    pub fn capabilities(&self) -> &Capabilities {
        self.vulkan.capabilities()
    }

    /// The Vulkan device, for recording with [`crate::vk`].
    pub fn vulkan(&self) -> &dml_vk::Device {
        &self.vulkan
    }

    /// Creates a buffer of `size` bytes in device memory that can be bound to any operator and read
    /// back.
    ///
    /// # Errors
    /// [`Error::Vulkan`]: the size is 0 or beyond a limit of the device, or memory ran out.
    pub fn create_buffer(&self, size: u64) -> Result<Buffer> {
        Ok(self.vulkan.create_buffer(&BufferDesc {
            size,
            usage: BufferUsage::all(),
            location: MemoryLocation::Device,
            name: "buffer",
        })?)
    }

    /// Executes an operator and waits for it.
    ///
    /// Inputs and an output may be bound to exactly the same range where
    /// [`dml_vk::CompiledOperator::in_place`] says so. Inputs that are OWNED_BY_DML are `None` here:
    /// they are bound by [`Device::initialize`], which comes first.
    ///
    /// # Errors
    /// [`Error::OtherDevice`]; [`Error::NotInitialized`]; [`Error::Vulkan`]: a binding is wrong,
    /// memory ran out, or the device was lost.
    pub fn execute(
        &self,
        operator: &CompiledOperator,
        inputs: &[Option<BufferBinding<'_>>],
        outputs: &[Option<BufferBinding<'_>>],
    ) -> Result<()> {
        Ok(self.submit(operator, inputs, outputs)?.wait()?)
    }

    /// Starts an operator and returns at once. The ticket tells when it is done and keeps
    /// everything alive that the device still uses.
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
        let persistent = operator.persistent.get();
        self.record_and_submit(operator, inputs, outputs, persistent, Phase::Execute)
    }

    /// Runs the part of an operator that runs once, and waits for it: copies the inputs that are
    /// OWNED_BY_DML to where executions read them. All other `inputs` are `None`; where none is
    /// owned, `inputs` may be empty, and there is nothing to do.
    ///
    /// Initializing again replaces what was kept, for submissions that come later. A call that is
    /// refused changes nothing.
    ///
    /// # Errors
    /// [`Error::OtherDevice`]; [`Error::Vulkan`]: a binding is wrong, memory ran out, or the device
    /// was lost.
    pub fn initialize(
        &self,
        operator: &CompiledOperator,
        inputs: &[Option<BufferBinding<'_>>],
    ) -> Result<()> {
        self.check_own(operator)?;
        let kept = operator.persistent.get().cloned();
        // Not while compiling: a caller who records brings a persistent resource.
        let persistent = match kept {
            Some(buffer) => Some(buffer),
            None => {
                let size = operator.binding_properties().persistent_resource_size;
                self.create_scratch("persistent", size)?
            }
        };
        let resource = persistent.as_ref();
        self.record_and_submit(operator, inputs, &[], resource, Phase::Initialize)?.wait()?;
        // Only what initialization has filled is kept. Where another thread was faster, its buffer
        // is, or was already.
        if let Some(buffer) = persistent {
            let _ = operator.persistent.set(buffer);
        }
        operator.initialized.store(true, Ordering::Release);
        Ok(())
    }

    /// Reads a tensor back: its elements in row-major logical order, whatever its strides.
    ///
    /// `offset` is where the tensor starts in the buffer, in bytes.
    ///
    /// # Errors
    /// [`Error::ElementType`]: `T` is not the tensor's type; [`Error::Tensor`]: the description
    /// breaks a rule; [`Error::Vulkan`]: the buffer is too small, or the device was lost.
    pub fn read<T: Element>(
        &self,
        buffer: &Buffer,
        offset: u64,
        tensor: &TensorDesc,
    ) -> Result<Vec<T>> {
        if tensor.data_type != T::DATA_TYPE {
            return Err(Error::ElementType {
                tensor: tensor.data_type,
                element: std::any::type_name::<T>(),
                accepted: T::DATA_TYPE,
            });
        }
        let layout = TensorLayout::new(tensor)?;
        let bytes = self.read_span(buffer, offset, &layout)?;
        elements(&layout, &bytes).ok_or(Error::HostMemory { what: "the elements of a tensor" })
    }

    /// Reads a tensor of any type back: its elements as packed little-endian bytes, in row-major
    /// logical order.
    ///
    /// # Errors
    /// As [`Device::read`]; 4-bit tensors are refused.
    pub fn read_packed(
        &self,
        buffer: &Buffer,
        offset: u64,
        tensor: &TensorDesc,
    ) -> Result<Vec<u8>> {
        let layout = TensorLayout::new(tensor)?;
        let bytes = self.read_span(buffer, offset, &layout)?;
        pack(&layout, bytes).ok_or(Error::HostMemory { what: "the elements of a tensor" })
    }

    /// The bytes from the first element to the last one.
    fn read_span(&self, buffer: &Buffer, offset: u64, layout: &TensorLayout) -> Result<Vec<u8>> {
        let bits = layout.data_type().bits();
        if bits < 8 {
            return Err(Error::ElementType {
                tensor: layout.data_type(),
                element: "whole bytes",
                accepted: dml_core::DataType::Uint8,
            });
        }
        let end = offset.saturating_add(layout.span() * u64::from(bits / 8));
        Ok(self.vulkan.read_buffer(buffer, offset..end)?)
    }

    fn check_own(&self, operator: &CompiledOperator) -> Result<()> {
        if operator.vulkan.device().is_same(&self.vulkan) {
            return Ok(());
        }
        Err(Error::OtherDevice { operator: operator.vulkan.operator() })
    }

    fn record_and_submit(
        &self,
        operator: &CompiledOperator,
        inputs: &[Option<BufferBinding<'_>>],
        outputs: &[Option<BufferBinding<'_>>],
        persistent: Option<&Buffer>,
        phase: Phase,
    ) -> Result<Submission> {
        let temporary_size = operator.binding_properties().temporary_resource_size;
        let temporary = self.create_scratch("temporary", temporary_size)?;
        let bindings = Bindings {
            inputs,
            outputs,
            temporary: temporary.as_ref().map(BufferBinding::whole),
            persistent: persistent.map(BufferBinding::whole),
        };
        let mut recorder = Recorder::new(&self.vulkan)?;
        match phase {
            Phase::Initialize => recorder
                .initialize(&BindingTable::for_initialization(&operator.vulkan, &bindings)?)?,
            Phase::Execute => {
                recorder.dispatch(&BindingTable::new(&operator.vulkan, &bindings)?)?;
            }
        }
        Ok(self.vulkan.submit(recorder.finish()?)?)
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

fn check_minimum(options: &DeviceOptions) -> Result<()> {
    let created_at = options.feature_level;
    match options.minimum_feature_level.filter(|it| *it > created_at) {
        Some(minimum) => Err(Error::MinimumFeatureLevel { minimum, created_at }),
        None => Ok(()),
    }
}
