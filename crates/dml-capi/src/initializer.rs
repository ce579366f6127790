//! Operators that are initialized together: IDMLOperatorInitializer.

use std::sync::Arc;

use dml::vk::BindingTable;
use dml::{Device, Initialization};

use crate::boundary::{Result, call};
use crate::handle::{create, get};
use crate::memory::{read_array, read_sized, reserved};
use crate::operator::OperatorObject;
use crate::table::{DmlVkBindings, DmlVkBufferBinding, GivenBindings, bindings, counts, look_up};
use crate::types::{DmlVkBindingTable, DmlVkDevice, DmlVkOperator, HRESULT};

/// The most operators that are initialized at once.
const MOST_OPERATORS: usize = 1 << 16;

/// The bindings of one operator's inputs: DML_BUFFER_ARRAY_BINDING.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DmlVkBufferArray {
    /// The number of inputs, or 0 if no input is OWNED_BY_DML.
    pub binding_count: u32,
    /// 0.
    pub reserved: u32,
    /// The bindings of the inputs; all zeros for inputs that are not OWNED_BY_DML.
    pub bindings: *const DmlVkBufferBinding,
}

/// Initializes operators in one submission, and waits: like dmlvk_initialize_operator for each. No operator may
/// be listed twice.
///
/// # Safety
///
/// `compiled` and `inputs` are null or point to `operator_count` elements; each element of `inputs` points to as
/// many bindings as it states. The caller's work that uses the buffers has completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_initialize_operators(
    device: DmlVkDevice,
    operator_count: u32,
    compiled: *const DmlVkOperator,
    inputs: *const DmlVkBufferArray,
) -> HRESULT {
    call("dmlvk_initialize_operators", || {
        let device = Device::clone(&*get(device)?);
        // SAFETY: the caller's promise.
        let operators = unsafe { operators(compiled, operator_count) }?;
        // SAFETY: the caller's promise.
        let arrays = unsafe { read_array(inputs, operator_count, MOST_OPERATORS, "inputs") }?;
        let ranges = operators.iter().zip(&arrays).enumerate().map(|(at, (object, array))| {
            let (most, _) = counts(&object.operator);
            reserved(array.reserved, &format!("inputs[{at}].reserved"))?;
            let name = format!("inputs[{at}].bindings");
            // SAFETY: the caller's promise.
            unsafe { look_up(array.bindings, array.binding_count, most, &name) }
        });
        let ranges = ranges.collect::<Result<Vec<_>>>()?;
        let lists: Vec<_> = ranges.iter().map(|range| bindings(range)).collect();
        let all = operators.iter().zip(&lists);
        let all = all.map(|(it, inputs)| Initialization { operator: &it.operator, inputs });
        let all: Vec<_> = all.collect();
        Ok(device.initialize_all(&all)?)
    })
}

/// IDMLDevice::CreateOperatorInitializer with the bindings of the initializer: one table that initializes
/// several operators when it is recorded. `bindings` has an element for each operator, as for
/// dmlvk_create_binding_table with DMLVK_PHASE_INITIALIZE.
///
/// The operators may share a temporary resource of the largest size that any of them needs. No other range that
/// one operator writes may be bound to another. The table remains usable after an operator is destroyed.
///
/// # Safety
///
/// `compiled` and `bindings` are null or point to `operator_count` elements; the arrays of `bindings` have the
/// stated lengths; `table` is null or points to memory for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_create_initializer_table(
    device: DmlVkDevice,
    operator_count: u32,
    compiled: *const DmlVkOperator,
    bindings: *const DmlVkBindings,
    table: *mut DmlVkBindingTable,
) -> HRESULT {
    let make = || {
        let device = Device::clone(&*get(device)?);
        // SAFETY: the caller's promise.
        let operators = unsafe { operators(compiled, operator_count) }?;
        let given = operators.iter().enumerate().map(|(at, object)| {
            let name = format!("bindings[{at}]");
            let place = if bindings.is_null() { bindings } else { bindings.wrapping_add(at) };
            // SAFETY: the caller's promise; null is refused.
            let read = unsafe { read_sized(place, &name) }?;
            // SAFETY: the caller's promise.
            unsafe { GivenBindings::look_up(&read, &object.operator, &name) }
        });
        let given = given.collect::<Result<Vec<_>>>()?;
        let lists: Vec<_> = given.iter().map(GivenBindings::lists).collect();
        let bound: Vec<_> = operators
            .iter()
            .zip(&lists)
            .map(|(object, lists)| (object.operator.vulkan(), lists.bindings()))
            .collect();
        Ok(BindingTable::for_initializations(device.vulkan(), &bound)?)
    };
    // SAFETY: the caller's promise.
    unsafe { create("dmlvk_create_initializer_table", (table, "table"), Some(device), make) }
}

/// # Safety
///
/// `compiled` is null or points to `count` handles.
unsafe fn operators(
    compiled: *const DmlVkOperator,
    count: u32,
) -> Result<Vec<Arc<OperatorObject>>> {
    // SAFETY: the caller's promise.
    let handles = unsafe { read_array(compiled, count, MOST_OPERATORS, "compiled") }?;
    handles.into_iter().map(get).collect()
}
