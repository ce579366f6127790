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

/// Which steps of an operator a binding table is for.
pub type DmlVkPhase = u32;
/// Those that run once, before the first execution: IDMLOperatorInitializer.
pub const DMLVK_PHASE_INITIALIZE: DmlVkPhase = 0;
/// Those of every execution: IDMLCompiledOperator.
pub const DMLVK_PHASE_EXECUTE: DmlVkPhase = 1;

/// A range of a buffer: DML_BUFFER_BINDING. All zeros: nothing is bound.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DmlVkBufferBinding {
    /// The buffer; null where nothing is bound.
    pub buffer: DmlVkBuffer,
    /// Where the range starts, in bytes: a multiple of 16, of resources of 256.
    pub offset: u64,
    /// Its length in bytes.
    pub size: u64,
}

/// Everything that is bound to an operator.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DmlVkBindings {
    /// sizeof(DmlVkBindings).
    pub struct_size: u32,
    /// The number of inputs: that of the operator's descriptor. Those that are left out count, and so
    /// do those that are bound in the other phase; both are all zeros.
    pub input_count: u32,
    /// The inputs.
    pub inputs: *const DmlVkBufferBinding,
    /// The outputs.
    pub outputs: *const DmlVkBufferBinding,
    /// The number of outputs. May be 0 for the initialization.
    pub output_count: u32,
    /// 0.
    pub reserved: u32,
    /// As DML_BINDING_PROPERTIES says; all zeros where none is needed.
    pub temporary: DmlVkBufferBinding,
    /// As DML_BINDING_PROPERTIES says; all zeros where none is needed.
    pub persistent: DmlVkBufferBinding,
}

impl Object for BindingTable {
    const KIND: &'static str = "binding table";
}

/// What a binding of the caller's stands for. It keeps the buffer, for as long as it is bound.
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

/// What is bound, for a call.
pub(crate) fn bindings(ranges: &[BufferRange]) -> Vec<Option<BufferBinding<'_>>> {
    ranges.iter().map(BufferRange::binding).collect()
}

/// Everything that is bound to an operator, for a call.
pub(crate) struct GivenBindings {
    inputs: Vec<BufferRange>,
    outputs: Vec<BufferRange>,
    temporary: BufferRange,
    persistent: BufferRange,
}

/// Inputs and outputs.
type Lists<'a> = [Vec<Option<BufferBinding<'a>>>; 2];

impl GivenBindings {
    /// Looks up what is bound to `operator`; `name` is what messages call it.
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
        [bindings(&self.inputs), bindings(&self.outputs)]
    }

    pub(crate) fn bindings<'a>(&'a self, [inputs, outputs]: &'a Lists<'a>) -> Bindings<'a> {
        let (temporary, persistent) = (self.temporary.binding(), self.persistent.binding());
        Bindings { inputs, outputs, temporary, persistent }
    }
}

/// How many tensors the operator's descriptor has.
pub(crate) fn counts(operator: &CompiledOperator) -> (usize, usize) {
    (operator.vulkan().inputs().len(), operator.vulkan().outputs().len())
}

/// IDMLDevice::CreateBindingTable and all of its Bind functions in one. The table cannot change
/// afterwards; several of one operator may be in flight at once. It owns its descriptor sets.
///
/// Fails with E_INVALIDARG where a binding is missing, unexpected, misaligned, outside its buffer, too
/// small, or overlaps something that is written.
///
/// # Safety
///
/// `bindings` is null or points to a DmlVkBindings whose arrays have the stated lengths; `table` is null
/// or a place for a handle.
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
        let bindings = given.bindings(&lists);
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

/// IDMLCommandRecorder::RecordDispatch: records the operator into a command buffer of the caller's.
/// Nothing is allocated, submitted or waited for.
///
/// Barriers are placed between the operator's own steps, none before the first or after the last: those
/// are the caller's, with the masks of dmlvk_get_access. Recording disturbs the bound compute pipeline,
/// descriptor set 0 and the push constants.
///
/// # Safety
///
/// The command buffer is in the recording state, outside a render pass, of the table's VkDevice and of the
/// queue family that the device was wrapped with, and used by no other thread meanwhile. The table and its
/// buffers are kept until the command buffer has completed for the last time. From each submission of it
/// until it has completed, nothing that is not ordered by a barrier or semaphore touches the same bytes,
/// calls of this library included: they wait for what the library submitted, not for submissions of the
/// caller's.
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
