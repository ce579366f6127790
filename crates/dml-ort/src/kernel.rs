//! A group of nodes that is computed on the device.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dml::Device;
use dml_import::{Inputs, IoBinding, Session, SessionMemory};

use crate::abi::{
    API_VERSION, OrtKernelContext, OrtNodeComputeContext, OrtNodeComputeInfo, Status,
};
use crate::api::Api;
use crate::boundary::{Result, call};
use crate::process;
use crate::run::{Given, GroupOutput, Run};

/// How many recordings of different runs are kept: an output that becomes an input of the next run alternates between
/// up to three tensors, and shapes change.
const RECORDINGS: usize = 8;

/// A group of nodes with the session that computes it. ONNX Runtime has a pointer to the table, which is the
/// first member.
#[repr(C)]
pub(crate) struct Kernel {
    table: OrtNodeComputeInfo,
    api: Api,
    device: Device,
    /// The session that computes the outputs; `None` if no output is read.
    session: Option<Session>,
    /// The inputs of a run: index and name.
    inputs: Vec<(usize, String)>,
    /// The session's output for each output that ONNX Runtime asks for.
    outputs: Vec<GroupOutput>,
    /// The bindings of runs that have ended, with what they have recorded: one for each run at the same time.
    bindings: Mutex<Vec<IoBinding>>,
}

impl Kernel {
    pub(crate) fn new(
        api: Api,
        device: Device,
        session: Option<Session>,
        (inputs, outputs): (Vec<(usize, String)>, Vec<String>),
    ) -> Self {
        let table = OrtNodeComputeInfo {
            ort_version_supported: API_VERSION,
            CreateState: create_state,
            Compute: compute,
            ReleaseState: release_state,
        };
        let outputs = outputs.into_iter().map(GroupOutput::new).collect();
        Self { table, api, device, session, inputs, outputs, bindings: Mutex::default() }
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
        let mut given = Vec::with_capacity(self.inputs.len());
        for (index, name) in &self.inputs {
            let value = self.api.get(ptr::null(), |out| {
                // SAFETY: the caller's promise.
                unsafe { self.api.ort.KernelContext_GetInput()(context, *index, out) }
            })?;
            // SAFETY: as above.
            given.push(unsafe { Given::new(self.api, name, value) }?);
        }
        let run =
            Run { api: self.api, device: &self.device, context, given, outputs: &self.outputs };
        let mut binding = self.bindings().pop().unwrap_or_default();
        // SAFETY: the caller's promise.
        let ran = unsafe { run.run(session, &mut binding) };
        binding.clear_inputs();
        binding.keep_recordings(RECORDINGS);
        self.bindings().push(binding);
        ran
    }

    fn bindings(&self) -> MutexGuard<'_, Vec<IoBinding>> {
        self.bindings.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
