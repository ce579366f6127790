//! Compiled operators, and the descriptors and resources that binding them needs.

use std::ffi::CString;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use dml_core::plan::{BindingRequirement, InPlace, Plan, Step};

use crate::bind::compiled_plan::{CompiledPlan, needs_initialization};
use crate::bind::lazy::{LazyPlan, LowerPlan};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::buffer::BufferUsage;
use crate::pipeline::plan_check::check_plan;

/// The plans that an operator is compiled from.
#[derive(Debug)]
pub struct CompileInput {
    /// The preferred plan.
    pub plan: Plan,
    /// Makes a plan of the same operator from dispatches only, for buffers without transfer usage. It has the
    /// same bindings as the preferred plan, and both plans have the same contents of the persistent resource.
    /// `None` if the preferred plan consists of dispatches only. The plan is made when such buffers are first
    /// bound, or when [`CompiledOperator::binding_properties`] is called.
    pub storage_only: Option<LowerPlan>,
}

/// Descriptors and resources that binding an operator needs, apart from its tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BindingProperties {
    /// The largest number of storage buffer descriptors in a binding table of the operator.
    pub required_descriptor_count: u32,
    /// Bytes of the temporary resource; 0 if none is needed.
    pub temporary_resource_size: u64,
    /// Bytes of the persistent resource; 0 if none is needed.
    pub persistent_resource_size: u64,
}

/// An operator that is ready to be bound and recorded on one device.
///
/// A cheap handle: clones share the operator. Binding tables keep it alive.
#[derive(Clone, Debug)]
pub struct CompiledOperator {
    pub(crate) shared: Arc<CompiledShared>,
}

/// The state that clones of a compiled operator share.
pub(crate) struct CompiledShared {
    pub(crate) device: Device,
    pub(crate) label: CString,
    pub(crate) preferred: CompiledPlan,
    /// The plan without transfers, with the same bindings as `preferred`.
    pub(crate) storage_only: Option<LazyPlan>,
}

impl Device {
    /// Compiles an operator: makes the pipelines that are not in the device's cache yet, derives the
    /// barriers, and uploads the constants.
    ///
    /// Plans are checked as far as they are data: slots, ranges, sizes, counts and limits. The code of
    /// kernels is not checked.
    ///
    /// # Errors
    ///
    /// [`Error::MissingFeatures`] or [`Error::LimitExceeded`] if the device cannot run one of the kernels,
    /// [`Error::Internal`] if a plan is malformed, [`Error::OutOfMemory`], [`Error::DeviceLost`].
    ///
    /// # Safety
    ///
    /// Of every kernel that the plans name:
    ///
    /// - Its SPIR-V is valid for Vulkan 1.1 and needs no capability, extension or feature but those of
    ///   [`required_features`](dml_core::kernel::KernelDescription::required_features). Its entry point is
    ///   a compute shader, and bindings, push constants and specialization constants are declared as
    ///   the variant says.
    ///
    /// Of every dispatch, for each place where its buffers may be bound, and whatever they hold:
    ///
    /// - With its specialization, its groups, and its push constants with the base words patched in,
    ///   the kernel reads and writes through its bindings alone, inside the windows that the dispatch
    ///   declares, and as their [`Access`](dml_core::plan::Access) says.
    /// - It ends, and does nothing else that Vulkan leaves undefined.
    ///
    /// All of this holds for the plan that [`CompileInput::storage_only`] makes, too.
    ///
    /// On a device that this crate has created with robustBufferAccess, a kernel that leaves its windows can
    /// only reach the buffers that are bound: their contents are wrong then, but the behaviour is defined.
    pub unsafe fn compile(&self, input: CompileInput) -> Result<CompiledOperator> {
        self.shared.raw.ensure_alive()?;
        let CompileInput { plan, storage_only } = input;
        let operator = plan.operator;
        check_plan(&plan, &self.shared.capabilities)?;
        let preferred = self.compile_plan(&Arc::new(plan))?;
        self.shared.pipelines.keep();
        let storage_only = storage_only.map(LazyPlan::new);
        let label = CString::new(operator)
            .map_err(|_| Error::internal("an operator's name contains NUL"))?;
        let device = self.clone();
        let shared = CompiledShared { device, label, preferred, storage_only };
        Ok(CompiledOperator { shared: Arc::new(shared) })
    }
}

impl CompiledOperator {
    /// The operator's name.
    pub fn operator(&self) -> &'static str {
        self.preferred().operator
    }

    /// The device it was compiled for.
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// Descriptors and resources that binding needs, whatever the buffers' usages are. The first call makes
    /// the plan for buffers of storage usage alone, if the operator has one.
    pub fn binding_properties(&self) -> BindingProperties {
        self.binding_properties_for(BufferUsage::STORAGE)
    }

    /// Descriptors and resources that binding needs if every buffer has at least this usage. For all of
    /// [`BufferUsage`] they are those of the preferred plan, and no other plan is made.
    pub fn binding_properties_for(&self, usage: BufferUsage) -> BindingProperties {
        let preferred = properties(self.preferred());
        self.storage_only_for(usage).map_or(preferred, |plan| larger(preferred, properties(plan)))
    }

    /// The sizes in bytes of the buffers for the temporary resource, if every buffer has at least this usage: one,
    /// unless a single buffer would exceed maxMemoryAllocationSize or maxBufferSize; none if there is no resource.
    pub fn temporary_buffers(&self, usage: BufferUsage) -> Vec<u64> {
        let sizes = |plan: &Plan| plan.temporary_pieces().iter().map(length).collect();
        let mut largest: Vec<u64> = sizes(self.preferred());
        let other = self.storage_only_for(usage).map(|plan| sizes(plan)).unwrap_or_default();
        largest.resize(largest.len().max(other.len()), 0);
        for (size, other) in largest.iter_mut().zip(other) {
            *size = other.max(*size);
        }
        largest
    }

    /// The sizes in bytes of the buffers for the persistent resource, as [`temporary_buffers`](Self::temporary_buffers)
    /// gives them for the temporary one.
    pub fn persistent_buffers(&self) -> Vec<u64> {
        self.preferred().persistent_pieces().iter().map(length).collect()
    }

    /// The plan for buffers of storage usage alone, if buffers of `usage` may need it and it can be made.
    fn storage_only_for(&self, usage: BufferUsage) -> Option<&Arc<Plan>> {
        if usage.contains(BufferUsage::all()) {
            return None;
        }
        // A plan that cannot be made is reported when such buffers are bound.
        let storage_only = self.shared.storage_only.as_ref()?;
        storage_only.plan(self.device(), self.preferred()).ok()
    }

    /// The size and alignment that each input binding needs; `None` for an absent optional input.
    pub fn inputs(&self) -> &[Option<BindingRequirement>] {
        &self.preferred().inputs
    }

    /// The size and alignment that each output binding needs; `None` for an absent optional output.
    pub fn outputs(&self) -> &[Option<BindingRequirement>] {
        &self.preferred().outputs
    }

    /// Whether the operator must be initialized before its first execution: initialization has steps, or an
    /// input is bound then. Initializing other operators is allowed and does nothing.
    pub fn needs_initialization(&self) -> bool {
        needs_initialization(self.preferred())
    }

    /// The pairs of an input and an output that may be bound to exactly the same range; empty if no output
    /// may share bytes with an input. Several pairs may be bound so at once if [`InPlace::is_by_same_steps`]
    /// holds for all of them.
    pub fn in_place(&self) -> &[InPlace] {
        &self.preferred().in_place
    }

    /// The plan that is executed if the buffers' usages suffice, see [`crate::BindingTable::new`].
    pub fn plan(&self) -> &Plan {
        self.preferred()
    }

    fn preferred(&self) -> &Plan {
        &self.shared.preferred.plan
    }
}

impl fmt::Debug for CompiledShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledShared")
            .field("operator", &self.label)
            .field("properties", &properties(&self.preferred.plan))
            .finish_non_exhaustive()
    }
}

fn length(range: &Range<u64>) -> u64 {
    range.end - range.start
}

fn properties(plan: &Plan) -> BindingProperties {
    let windows = |step: &Step| match step {
        Step::Dispatch(dispatch) => dispatch.windows.len(),
        _ => 0,
    };
    let phases = [&plan.init[..], &plan.exec].into_iter();
    let phases = phases.chain(plan.in_place.iter().map(InPlace::own_steps));
    let descriptors = phases.map(|steps| steps.iter().map(windows).sum::<usize>());
    let most = descriptors.fold(0, usize::max);
    BindingProperties {
        required_descriptor_count: u32::try_from(most).unwrap_or(u32::MAX),
        temporary_resource_size: plan.temporary_size,
        persistent_resource_size: plan.persistent_size,
    }
}

/// The larger value of each property.
fn larger(one: BindingProperties, other: BindingProperties) -> BindingProperties {
    BindingProperties {
        required_descriptor_count: one
            .required_descriptor_count
            .max(other.required_descriptor_count),
        temporary_resource_size: one.temporary_resource_size.max(other.temporary_resource_size),
        persistent_resource_size: one.persistent_resource_size.max(other.persistent_resource_size),
    }
}
