//! Binding tables, and recording them.

use std::sync::Arc;

use dml::ash::vk;
use dml::vk::{BindingTable, Bindings, record_plan};
use dml::{BufferBinding, CompiledOperator};

use crate::boundary::{Failure, Result, call};
use crate::buffer::BufferObject;
use crate::handle::{Object, create, get, remove};
use crate::memory::{read_array, read_sized, reserved};
use crate::operator::OperatorObject;
use crate::types::{DmlVkBindingTable, DmlVkBuffer, DmlVkOperator, HRESULT, VkCommandBuffer};

/// The phase of an operator that a binding table is for: DMLVK_PHASE_*.
pub type DmlVkPhase = u32;
/// Initialization, which runs once before the first execution: IDMLOperatorInitializer.
pub const DMLVK_PHASE_INITIALIZE: DmlVkPhase = 0;
/// Execution: IDMLCompiledOperator.
pub const DMLVK_PHASE_EXECUTE: DmlVkPhase = 1;

/// A range of a buffer: DML_BUFFER_BINDING. All zeros mean no binding.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DmlVkBufferBinding {
    /// The buffer; null for no binding.
    pub buffer: DmlVkBuffer,
    /// The offset of the range in bytes: a multiple of 16 for tensors, of 256 for resources.
    pub offset: u64,
    /// The length of the range in bytes.
    pub size: u64,
}

/// All bindings of an operator.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DmlVkBindings {
    /// sizeof(DmlVkBindings).
    pub struct_size: u32,
    /// The number of inputs of the operator's descriptor, including those that are left out and those that are
    /// bound in the other phase; their bindings are all zeros.
    pub input_count: u32,
    /// The inputs.
    pub inputs: *const DmlVkBufferBinding,
    /// The outputs.
    pub outputs: *const DmlVkBufferBinding,
    /// The number of outputs. May be 0 for initialization.
    pub output_count: u32,
    /// 0.
    pub reserved: u32,
    /// The temporary resource, of the size in DML_BINDING_PROPERTIES; all zeros if that is 0.
    pub temporary: DmlVkBufferBinding,
    /// The persistent resource, of the size in DML_BINDING_PROPERTIES; all zeros if that is 0.
    pub persistent: DmlVkBufferBinding,
}

impl Object for BindingTable {
    const KIND: &'static str = "binding table";
}

/// The buffer range of a caller's binding. It keeps the buffer alive as long as it is bound.
pub(crate) struct BufferRange {
    object: Option<Arc<BufferObject>>,
    offset: u64,
    size: u64,
}

impl BufferRange {
    fn of(binding: &DmlVkBufferBinding, name: &str) -> Result<Self> {
        let DmlVkBufferBinding { buffer, offset, size } = *binding;
        if !buffer.is_null() {
            return Ok(Self { object: Some(get(buffer)?), offset, size });
        }
        if offset != 0 || size != 0 {
            return Err(Failure::invalid(format_args!("{name}.buffer"), "null, but not the rest"));
        }
        Ok(Self { object: None, offset, size })
    }

    fn binding(&self) -> Option<BufferBinding<'_>> {
        let object = self.object.as_ref()?;
        Some(BufferBinding { buffer: &object.buffer, offset: self.offset, size: self.size })
    }
}

/// Looks up a list of bindings, of which an operator has `most`.
///
/// # Safety
///
/// `list` is null or points to `count` bindings.
pub(crate) unsafe fn look_up(
    list: *const DmlVkBufferBinding,
    count: u32,
    most: usize,
    name: &str,
) -> Result<Vec<BufferRange>> {
    // SAFETY: the caller's promise.
    let list = unsafe { read_array(list, count, most, name) }?;
    list.iter().map(|binding| BufferRange::of(binding, name)).collect()
}

/// The bindings of `ranges`, for a call of the runtime.
pub(crate) fn bindings(ranges: &[BufferRange]) -> Vec<Option<BufferBinding<'_>>> {
    ranges.iter().map(BufferRange::binding).collect()
}

/// All bindings of an operator, with their buffers kept alive.
pub(crate) struct GivenBindings {
    inputs: Vec<BufferRange>,
    outputs: Vec<BufferRange>,
    temporary: BufferRange,
    persistent: BufferRange,
}

/// The bindings that [`Bindings`] borrows.
pub(crate) struct Lists<'a> {
    inputs: Vec<Option<BufferBinding<'a>>>,
    outputs: Vec<Option<BufferBinding<'a>>>,
    temporary: Option<BufferBinding<'a>>,
    persistent: Option<BufferBinding<'a>>,
}

impl GivenBindings {
    /// Looks up the bindings `given` of `operator`; `name` is their name in messages.
    ///
    /// # Safety
    ///
    /// The arrays of `given` have the stated lengths.
    pub(crate) unsafe fn look_up(
        given: &DmlVkBindings,
        operator: &CompiledOperator,
        name: &str,
    ) -> Result<Self> {
        let (inputs, outputs) = counts(operator);
        let field = |field: &str| format!("{name}.{field}");
        reserved(given.reserved, &field("reserved"))?;
        // SAFETY: the caller's promise.
        let inputs = unsafe { look_up(given.inputs, given.input_count, inputs, &field("inputs")) }?;
        // SAFETY: the caller's promise.
        let outputs =
            unsafe { look_up(given.outputs, given.output_count, outputs, &field("outputs")) }?;
        let temporary = BufferRange::of(&given.temporary, &field("temporary"))?;
        let persistent = BufferRange::of(&given.persistent, &field("persistent"))?;
        Ok(Self { inputs, outputs, temporary, persistent })
    }

    pub(crate) fn lists(&self) -> Lists<'_> {
        Lists {
            inputs: bindings(&self.inputs),
            outputs: bindings(&self.outputs),
            temporary: self.temporary.binding(),
            persistent: self.persistent.binding(),
        }
    }
}

impl Lists<'_> {
    pub(crate) fn bindings(&self) -> Bindings<'_> {
        Bindings {
            inputs: &self.inputs,
            outputs: &self.outputs,
            temporary: self.temporary.as_slice(),
            persistent: self.persistent.as_slice(),
        }
    }
}

/// The number of inputs and of outputs in the operator's descriptor.
pub(crate) fn counts(operator: &CompiledOperator) -> (usize, usize) {
    (operator.vulkan().inputs().len(), operator.vulkan().outputs().len())
}

/// IDMLDevice::CreateBindingTable and all Bind functions of the table in one. The table cannot change afterwards;
/// several tables of one operator may be in flight at once. It owns its descriptor sets.
///
/// Fails with E_INVALIDARG if a binding is missing, unexpected, misaligned, outside of its buffer or too small,
/// or overlaps a range that is written.
///
/// # Safety
///
/// `bindings` is null or points to a DmlVkBindings whose arrays have the stated lengths; `table` is null or
/// points to memory for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_create_binding_table(
    compiled: DmlVkOperator,
    phase: DmlVkPhase,
    bindings: *const DmlVkBindings,
    table: *mut DmlVkBindingTable,
) -> HRESULT {
    let make = || {
        let operator = &get::<OperatorObject, _>(compiled)?.operator;
        // SAFETY: the caller's promise.
        let given = unsafe { read_sized(bindings, "bindings") }?;
        // SAFETY: the caller's promise.
        let given = unsafe { GivenBindings::look_up(&given, operator, "bindings") }?;
        let lists = given.lists();
        let bindings = lists.bindings();
        match phase {
            DMLVK_PHASE_INITIALIZE => {
                Ok(BindingTable::for_initialization(operator.vulkan(), &bindings)?)
            }
            DMLVK_PHASE_EXECUTE => Ok(BindingTable::new(operator.vulkan(), &bindings)?),
            other => Err(Failure::invalid("phase", format_args!("{other} (accepted: 0, 1)"))),
        }
    };
    // SAFETY: the caller's promise.
    unsafe { create("dmlvk_create_binding_table", (table, "table"), Some(compiled), make) }
}

/// IDMLCommandRecorder::RecordDispatch: records the operator into the caller's command buffer. It does not
/// allocate, submit or wait.
///
/// Barriers are recorded between the operator's own steps, but not before the first or after the last: these are
/// up to the caller, with the masks of dmlvk_get_access. Recording changes the bound compute pipeline,
/// descriptor set 0 and the push constants.
///
/// # Safety
///
/// The command buffer is in the recording state, outside a render pass, of the table's VkDevice and of the
/// queue family that the device was wrapped with, and used by no other thread meanwhile. The table and its
/// buffers are kept until the command buffer has completed for the last time. From each submission of it
/// until it has completed, no work accesses the same bytes unless a barrier or semaphore orders it. This
/// includes calls of this library: they wait for the library's submissions, not for the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_record_dispatch(
    command_buffer: VkCommandBuffer,
    table: DmlVkBindingTable,
) -> HRESULT {
    call("dmlvk_record_dispatch", || {
        let table = get::<BindingTable, _>(table)?;
        if command_buffer == vk::CommandBuffer::null() {
            return Err(Failure::invalid("command_buffer", "null"));
        }
        // SAFETY: the caller's promise.
        unsafe { record_plan(command_buffer, &table) };
        Ok(())
    })
}

/// Destroys a binding table.
///
/// # Safety
///
/// Command buffers that were recorded from it have completed, and are not submitted again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_destroy_binding_table(table: DmlVkBindingTable) -> HRESULT {
    call("dmlvk_destroy_binding_table", || remove::<BindingTable, _>(table))
}
