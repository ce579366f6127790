//! The nodes that ONNX Runtime adds where a value goes from a node of the provider to one of the CPU, or back.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use crate::abi::{
    API_VERSION, OrtKernelContext, OrtKernelDef, OrtKernelDefBuilder, OrtKernelImpl, OrtKernelInfo,
    OrtKernelRegistry, Status,
};
use crate::api::Api;
use crate::boundary::{Failure, Result, call, release};
use crate::memory;
use crate::options;
use crate::view::Reader;

/// ONNX's numbers of the element types of tensors, but for that of texts.
const TYPES: std::ops::RangeInclusive<c_int> = 1..=23;
const TEXTS: c_int = 8;

/// OrtMemTypeCPUInput and OrtMemTypeCPUOutput.
const CPU_INPUT: c_int = -2;
const CPU_OUTPUT: c_int = -1;

/// ONNX Runtime's registry of the copying nodes.
pub(crate) struct Registry {
    api: Box<Api>,
    pub(crate) raw: *mut OrtKernelRegistry,
}

impl Registry {
    /// The registry of a provider.
    ///
    /// # Errors
    /// ONNX Runtime refuses it.
    pub(crate) fn new(api: Api) -> Result<Self> {
        let raw = api.get(ptr::null_mut(), |out| {
            // SAFETY: a place for a pointer.
            unsafe { api.ep.CreateKernelRegistry()(out) }
        })?;
        let registry = Self { api: Box::new(api), raw };
        registry.add(c"MemcpyFromHost", |builder| {
            // SAFETY: the builder is alive.
            unsafe { api.ep.KernelDefBuilder_SetInputMemType()(builder, 0, CPU_INPUT) }
        })?;
        registry.add(c"MemcpyToHost", |builder| {
            // SAFETY: as above.
            unsafe { api.ep.KernelDefBuilder_SetOutputMemType()(builder, 0, CPU_OUTPUT) }
        })?;
        Ok(registry)
    }

    /// Adds a node; `place` states which of its sides is on the host.
    fn add(
        &self,
        operator: &CStr,
        place: impl FnOnce(*mut OrtKernelDefBuilder) -> Status,
    ) -> Result<()> {
        let api = *self.api;
        let builder = Builder::new(api)?;
        builder.describe(operator)?;
        api.check(place(builder.raw))?;
        let definition = api.get(ptr::null_mut(), |out: *mut *mut OrtKernelDef| {
            // SAFETY: the builder is alive.
            unsafe { api.ep.KernelDefBuilder_Build()(builder.raw, out) }
        })?;
        let state = ptr::from_ref(&*self.api).cast_mut().cast::<c_void>();
        // SAFETY: both are alive, and the state is alive as long as the registry.
        let added =
            unsafe { api.ep.KernelRegistry_AddKernel()(self.raw, definition, create, state) };
        // SAFETY: it was just made, and the registry has a copy.
        unsafe { api.ep.ReleaseKernelDef()(definition) };
        api.check(added)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // SAFETY: it was made by this object, whose provider is gone.
        unsafe { self.api.ep.ReleaseKernelRegistry()(self.raw) };
    }
}

/// Builds the definition of a node.
struct Builder {
    api: Api,
    raw: *mut OrtKernelDefBuilder,
}

impl Builder {
    fn new(api: Api) -> Result<Self> {
        let raw = api.get(ptr::null_mut(), |out| {
            // SAFETY: a place for a pointer.
            unsafe { api.ep.CreateKernelDefBuilder()(out) }
        })?;
        Ok(Self { api, raw })
    }

    fn describe(&self, operator: &CStr) -> Result<()> {
        let (api, ep, raw) = (self.api, self.api.ep, self.raw);
        // SAFETY: the builder is alive, and the texts are copied; so for those below.
        api.check(unsafe { ep.KernelDefBuilder_SetOperatorType()(raw, operator.as_ptr()) })?;
        // SAFETY: as above.
        api.check(unsafe { ep.KernelDefBuilder_SetDomain()(raw, c"".as_ptr()) })?;
        // SAFETY: as above.
        api.check(unsafe { ep.KernelDefBuilder_SetSinceVersion()(raw, 1, 1) })?;
        let provider = options::NAME.as_ptr();
        // SAFETY: as above.
        api.check(unsafe { ep.KernelDefBuilder_SetExecutionProvider()(raw, provider) })?;
        let mut types = Vec::new();
        for number in TYPES.filter(|it| *it != TEXTS) {
            // A version has no more than those that it knows.
            let known = api.get(ptr::null(), |out| {
                // SAFETY: a place for a pointer.
                unsafe { ep.GetTensorDataType()(number, out) }
            });
            types.extend(known.ok().filter(|known| !known.is_null()));
        }
        let constrain = ep.KernelDefBuilder_AddTypeConstraint();
        // SAFETY: as above; the list has so many entries.
        api.check(unsafe { constrain(raw, c"T".as_ptr(), types.as_ptr(), types.len()) })
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        // SAFETY: it was made by this object, and nobody else has it.
        unsafe { self.api.ep.ReleaseKernelDefBuilder()(self.raw) };
    }
}

/// A copying node, which ONNX Runtime uses as an OrtKernelImpl: the table is the first member.
#[repr(C)]
struct Copying {
    table: OrtKernelImpl,
    api: Api,
}

impl Copying {
    /// # Safety
    ///
    /// `context` is that of a run of this node.
    unsafe fn run(&self, context: *mut OrtKernelContext) -> Result<()> {
        let (api, ort) = (self.api, self.api.ort);
        let from = api.get(ptr::null(), |out| {
            // SAFETY: the caller's promise.
            unsafe { ort.KernelContext_GetInput()(context, 0, out) }
        })?;
        if from.is_null() {
            return Err(Failure::invalid("the value to be copied is not given"));
        }
        // SAFETY: the input of a run is alive.
        let shape = unsafe { Reader::new(api) }.kind(from)?.1;
        let shape: Vec<i64> = shape.into_iter().map(u64::cast_signed).collect();
        let to = api.get(ptr::null_mut(), |out| {
            let get = ort.KernelContext_GetOutput();
            // SAFETY: the caller's promise; the shape has so many sizes.
            unsafe { get(context, 0, shape.as_ptr(), shape.len(), out) }
        })?;
        // SAFETY: both are alive, and the output is new.
        unsafe { memory::copy(api, from, to) }
    }
}

unsafe extern "C" fn create(
    state: *mut c_void,
    _info: *const OrtKernelInfo,
    kernel: *mut *mut OrtKernelImpl,
) -> Status {
    // SAFETY: the state of the registry, which is alive.
    let api = unsafe { *state.cast::<Api>() };
    let table = OrtKernelImpl {
        ort_version_supported: API_VERSION,
        flags: 0,
        Compute: compute,
        Release: release_kernel,
        rest: [ptr::null(); _],
    };
    let made = Box::into_raw(Box::new(Copying { table, api }));
    // SAFETY: a place for a pointer.
    unsafe { kernel.write(made.cast()) };
    ptr::null_mut()
}

unsafe extern "C" fn compute(kernel: *mut OrtKernelImpl, context: *mut OrtKernelContext) -> Status {
    // SAFETY: the table is the first field of a node that is not released yet, and is only read.
    let kernel = unsafe { &*kernel.cast::<Copying>() };
    // SAFETY: the context is that of this run.
    call(kernel.api.ort, "Compute", || unsafe { kernel.run(context) })
}

unsafe extern "C" fn release_kernel(kernel: *mut OrtKernelImpl) {
    // SAFETY: it is from `create`, and used no more.
    release("Release", || drop(unsafe { Box::from_raw(kernel.cast::<Copying>()) }));
}
