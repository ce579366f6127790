//! Compiled operators.

use dml::{CompiledOperator, Device, ExecutionFlags, GraphOptions};

use crate::boundary::call;
use crate::decode;
use crate::handle::{Object, create, get, remove};
use crate::memory::write;
use crate::types::{
    BOOL, DML_BINDING_PROPERTIES, DML_EXECUTION_FLAGS, DML_GRAPH_DESC, DML_OPERATOR_DESC,
    DmlVkDevice, DmlVkOperator, HRESULT,
};

pub(crate) struct OperatorObject {
    pub(crate) device: Device,
    pub(crate) operator: CompiledOperator,
}

impl Object for OperatorObject {
    const KIND: &'static str = "operator";
}

/// IDMLDevice::CreateOperator and CompileOperator in one: validates the descriptor, and makes the pipelines.
/// The descriptor is not needed afterwards. Nothing is submitted on a wrapped device.
///
/// Fails with E_INVALIDARG if the descriptor is invalid or needs a higher feature level, E_NOTIMPL if the
/// operator is not implemented, DXGI_ERROR_UNSUPPORTED if it exceeds a limit of the device.
///
/// # Safety
///
/// `desc` is null, or it and all pointers in it, directly or indirectly, are null or as DirectML's documentation
/// says; `compiled` is null or points to memory for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_compile_operator(
    device: DmlVkDevice,
    desc: *const DML_OPERATOR_DESC,
    flags: DML_EXECUTION_FLAGS,
    compiled: *mut DmlVkOperator,
) -> HRESULT {
    let make = || {
        let device = Device::clone(&*get(device)?);
        // SAFETY: the caller's promise.
        let desc = unsafe { decode::operator(desc) }?;
        let operator = device.compile_with(desc, ExecutionFlags::from_bits(flags))?;
        Ok(OperatorObject { device, operator })
    };
    // SAFETY: the caller's promise.
    unsafe { create("dmlvk_compile_operator", (compiled, "compiled"), Some(device), make) }
}

/// IDMLDevice1::CompileGraph: compiles a graph to one operator, which is initialized, bound, recorded and
/// executed like any other; its inputs and outputs are bound by their indices in the graph. A node has a
/// pointer to the operator's descriptor in place of DirectML's operator object. The description is not needed
/// afterwards, including the data of its constants.
///
/// Fails like dmlvk_compile_operator, and with E_INVALIDARG if an edge or a node is invalid.
///
/// # Safety
///
/// `desc` is null, or it and all pointers in it, directly or indirectly, are null or as DirectML's documentation
/// says, with a DML_OPERATOR_DESC as each `Operator`; `compiled` is null or points to memory for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_compile_graph(
    device: DmlVkDevice,
    desc: *const DML_GRAPH_DESC,
    flags: DML_EXECUTION_FLAGS,
    compiled: *mut DmlVkOperator,
) -> HRESULT {
    let make = || {
        let device = Device::clone(&*get(device)?);
        // SAFETY: the caller's promise.
        let graph = unsafe { decode::graph(desc) }?;
        let flags = ExecutionFlags::from_bits(flags);
        let operator = device.compile_graph_with(&graph, flags, GraphOptions::default())?;
        Ok(OperatorObject { device, operator })
    };
    // SAFETY: the caller's promise.
    unsafe { create("dmlvk_compile_graph", (compiled, "compiled"), Some(device), make) }
}

/// IDMLDispatchable::GetBindingProperties: the descriptors and resources that an operator needs.
///
/// # Safety
///
/// `properties` is null or points to memory for them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_get_binding_properties(
    compiled: DmlVkOperator,
    properties: *mut DML_BINDING_PROPERTIES,
) -> HRESULT {
    call("dmlvk_get_binding_properties", || {
        let found = get::<OperatorObject, _>(compiled)?.operator.binding_properties();
        let answer = DML_BINDING_PROPERTIES {
            RequiredDescriptorCount: found.required_descriptor_count,
            TemporaryResourceSize: found.temporary_resource_size,
            PersistentResourceSize: found.persistent_resource_size,
        };
        // SAFETY: the caller's promise.
        unsafe { write(properties, answer, "properties") }
    })
}

/// Tells whether the operator must be initialized before its first execution, because an input is OWNED_BY_DML.
/// Initializing other operators is allowed and does nothing.
///
/// # Safety
///
/// `needed` is null or points to memory for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_needs_initialization(
    compiled: DmlVkOperator,
    needed: *mut BOOL,
) -> HRESULT {
    call("dmlvk_needs_initialization", || {
        let answer = get::<OperatorObject, _>(compiled)?.operator.needs_initialization();
        // SAFETY: the caller's promise.
        unsafe { write(needed, answer.into(), "needed") }
    })
}

/// Destroys a compiled operator and its binding tables; their handles are invalid from then on.
///
/// # Safety
///
/// Command buffers that were recorded from its binding tables have completed, and are not submitted
/// again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_destroy_operator(compiled: DmlVkOperator) -> HRESULT {
    call("dmlvk_destroy_operator", || remove::<OperatorObject, _>(compiled))
}
