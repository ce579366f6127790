//! A group of nodes that is computed on the device.

use std::ffi::c_void;
use std::ptr;

use bytes::Bytes;
use dml_import::onnx::element_type;
use dml_import::program::{Destination, Output};
use dml_import::{Inputs, Session, SessionMemory, Tensor};

use crate::abi::{
    API_VERSION, OrtKernelContext, OrtNodeComputeContext, OrtNodeComputeInfo, OrtValue, Status,
};
use crate::api::Api;
use crate::boundary::{Code, Failure, Result, call};
use crate::process;
use crate::view::Reader;

/// A group of nodes with the session that computes it. ONNX Runtime has a pointer to the table, which is the
/// first member.
#[repr(C)]
pub(crate) struct Kernel {
    table: OrtNodeComputeInfo,
    api: Api,
    /// The session that computes the outputs; `None` if no output is read.
    session: Option<Session>,
    /// The inputs of a run: index and name.
    inputs: Vec<(usize, String)>,
    /// The session's output for each output that ONNX Runtime asks for.
    outputs: Vec<String>,
}

impl Kernel {
    pub(crate) fn new(
        api: Api,
        session: Option<Session>,
        inputs: Vec<(usize, String)>,
        outputs: Vec<String>,
    ) -> Self {
        let table = OrtNodeComputeInfo {
            ort_version_supported: API_VERSION,
            CreateState: create_state,
            Compute: compute,
            ReleaseState: release_state,
        };
        Self { table, api, session, inputs, outputs }
    }

    /// Compiles for inputs of these shapes, unless the compilation needs their values.
    ///
    /// # Errors
    /// As a run with such inputs.
    pub(crate) fn compile(&self, shapes: &[(String, Vec<u64>)]) -> Result<()> {
        let shape = |inputs: Inputs, (name, shape): &(String, Vec<u64>)| {
            inputs.with_shape(name, shape.clone())
        };
        let Some(session) = &self.session else { return Ok(()) };
        match session.executable(&shapes.iter().fold(Inputs::new(), shape)) {
            Err(error) if !matches!(error.kind(), dml_import::Error::Missing { .. }) => {
                Err(error.into())
            }
            _ => Ok(()),
        }
    }

    /// The device memory that its programs hold.
    pub(crate) fn memory(&self) -> Option<SessionMemory> {
        self.session.as_ref().map(Session::memory_report)
    }

    /// The table for ONNX Runtime, to be passed to [`Kernel::release`].
    pub(crate) fn into_raw(self) -> *mut OrtNodeComputeInfo {
        Box::into_raw(Box::new(self)).cast()
    }

    /// # Safety
    ///
    /// `raw` is null or from [`Kernel::into_raw`], and used no more.
    pub(crate) unsafe fn release(raw: *mut OrtNodeComputeInfo) {
        if !raw.is_null() {
            // SAFETY: the caller's promise.
            drop(unsafe { Box::from_raw(raw.cast::<Self>()) });
        }
    }

    /// # Safety
    ///
    /// `context` is that of a run of these nodes.
    unsafe fn run(&self, context: *mut OrtKernelContext) -> Result<()> {
        process::check()?;
        let Some(session) = &self.session else { return Ok(()) };
        // SAFETY: what is read below are the inputs of the run.
        let reader = unsafe { Reader::new(self.api) };
        let mut inputs = Inputs::new();
        for (index, name) in &self.inputs {
            let value = self.api.get(ptr::null(), |out| {
                // SAFETY: the caller's promise.
                unsafe { self.api.ort.KernelContext_GetInput()(context, *index, out) }
            })?;
            inputs = inputs.with_tensor(name, tensor(reader, value, name)?);
        }
        let found = session.run(&inputs)?;
        for (index, name) in self.outputs.iter().enumerate() {
            let is_it =
                |it: &&Output| matches!(&it.destination, Destination::Output(own) if own == name);
            let output = found.iter().find(is_it).ok_or_else(|| {
                Failure::new(Code::Fail, format!("output '{name}' was not computed"))
            })?;
            // SAFETY: the caller's promise.
            unsafe { self.write(context, index, &output.tensor) }?;
        }
        Ok(())
    }

    /// # Safety
    ///
    /// `context` is that of a run of these nodes.
    unsafe fn write(
        &self,
        context: *mut OrtKernelContext,
        index: usize,
        tensor: &Tensor,
    ) -> Result<()> {
        let size =
            |size: &u64| i64::try_from(*size).map_err(|_| Failure::invalid("a size is too large"));
        let shape = tensor.shape().iter().map(size).collect::<Result<Vec<i64>>>()?;
        let value = self.api.get(ptr::null_mut(), |out| {
            let get = self.api.ort.KernelContext_GetOutput();
            // SAFETY: the caller's promise; the shape has so many sizes.
            unsafe { get(context, index, shape.as_ptr(), shape.len(), out) }
        })?;
        let bytes = tensor.bytes();
        if value.is_null() || bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the value was just made.
        let room =
            self.api.get(0, |out| unsafe { self.api.ort.GetTensorSizeInBytes()(value, out) })?;
        if room != bytes.len() {
            let given = bytes.len();
            return Err(Failure::new(Code::Fail, format!("{given} bytes for an output of {room}")));
        }
        let data = self.api.get(ptr::null_mut(), |out| {
            // SAFETY: as above.
            unsafe { self.api.ort.GetTensorMutableData()(value, out) }
        })?;
        // SAFETY: the tensor is new, and has room for so many bytes.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast::<u8>(), bytes.len()) };
        Ok(())
    }
}

/// A copy of an input tensor of a run.
fn tensor(reader: Reader, value: *const OrtValue, name: &str) -> Result<Tensor> {
    if value.is_null() {
        return Err(Failure::invalid(format!("input '{name}' is not given")));
    }
    let (number, shape) = reader.kind(value)?;
    let element = element_type(number)
        .ok_or_else(|| Failure::invalid(format!("input '{name}': {number} is no type")))?;
    let bytes: Bytes = reader.bytes(value)?;
    Ok(Tensor::new(element, shape, bytes)?)
}

unsafe extern "C" fn create_state(
    kernel: *mut OrtNodeComputeInfo,
    _context: *mut OrtNodeComputeContext,
    state: *mut *mut c_void,
) -> Status {
    // The kernel is its own state: it serves any number of runs at the same time.
    // SAFETY: a place for a pointer.
    unsafe { state.write(kernel.cast()) };
    ptr::null_mut()
}

unsafe extern "C" fn compute(
    kernel: *mut OrtNodeComputeInfo,
    _state: *mut c_void,
    context: *mut OrtKernelContext,
) -> Status {
    // SAFETY: the table is the first field of a kernel, which is released after its last run. It is only
    // read, so several threads may have it.
    let kernel = unsafe { &*kernel.cast::<Kernel>() };
    // SAFETY: the context is that of this run.
    call(kernel.api.ort, "Compute", || unsafe { kernel.run(context) })
}

unsafe extern "C" fn release_state(_kernel: *mut OrtNodeComputeInfo, _state: *mut c_void) {}
