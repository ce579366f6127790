//! The provider of a session: which nodes it claims, and how they are compiled.

use std::collections::HashMap;
use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use dml_import::claims::{Claim, claims, may_join};
use dml_import::{Model, Session};

use crate::abi::{
    API_VERSION, INFO, OrtEp, OrtEpGraphSupportInfo, OrtGraph, OrtKernelRegistry, OrtNode,
    OrtNodeComputeInfo, OrtNodeFusionOptions, Status, WARNING,
};
use crate::api::{Api, Logger, slice};
use crate::boundary::{Result, call, guarded, release};
use crate::copies::Registry;
use crate::device::OpenDevice;
use crate::kernel::Kernel;
use crate::options;
use crate::partition::groups;
use crate::view::{Constants, GraphView, Reader};

/// The most bytes of a constant whose values may determine whether a node runs; larger constants are weights.
const SMALL: usize = 1 << 16;
/// The most logged reasons for the nodes of a graph that are not claimed.
const REASONS: usize = 20;

/// The operators with graphs, which ONNX Runtime runs itself.
const CONTROL: [&str; 3] = ["If", "Loop", "Scan"];
const CONTROLS: &str = "ONNX Runtime runs it, and the nodes of its graphs are judged by themselves";

/// The provider, which ONNX Runtime uses as an OrtEp: the table is the first member.
#[repr(C)]
pub(crate) struct Provider {
    table: OrtEp,
    api: Api,
    logger: Logger,
    device: Arc<OpenDevice>,
    /// The most bytes of device memory that the programs of a graph have for themselves, if the session says it.
    program_bytes: Option<u64>,
    copies: Registry,
}

impl Provider {
    pub(crate) fn new(
        api: Api,
        logger: Logger,
        device: Arc<OpenDevice>,
        program_bytes: Option<u64>,
    ) -> Result<Self> {
        let table = OrtEp {
            ort_version_supported: API_VERSION,
            GetName: get_name,
            GetCapability: get_capability,
            Compile: compile,
            ReleaseNodeComputeInfos: release_node_compute_infos,
            optional: [ptr::null(); _],
            GetKernelRegistry: get_kernel_registry,
            rest: [ptr::null(); _],
        };
        let copies = Registry::new(api)?;
        Ok(Self { table, api, logger, device, program_bytes, copies })
    }

    /// The table for ONNX Runtime, to be passed to [`Provider::release`].
    pub(crate) fn into_raw(self) -> *mut OrtEp {
        Box::into_raw(Box::new(self)).cast()
    }

    /// # Safety
    ///
    /// `raw` is null or from [`Provider::into_raw`], and used no more.
    pub(crate) unsafe fn release(raw: *mut OrtEp) {
        if !raw.is_null() {
            // SAFETY: the caller's promise.
            drop(unsafe { Box::from_raw(raw.cast::<Self>()) });
        }
    }

    /// # Safety
    ///
    /// The objects are those of the call.
    unsafe fn capability(
        &self,
        graph: *const OrtGraph,
        info: *mut OrtEpGraphSupportInfo,
    ) -> Result<()> {
        // SAFETY: the graph is alive during the call.
        let reader = unsafe { Reader::new(self.api) };
        let view = reader.graph(graph, Constants::UpTo(SMALL))?;
        let level = self.device.device.feature_level();
        let claims = claims(&view.source, level)?;
        self.report(&view, &claims);
        let runs = |(claim, is_taken): (&Claim, &bool)| !is_taken && !is_refused(claim);
        let claimed: Vec<bool> = claims.iter().zip(&view.is_taken).map(runs).collect();
        let groups = match may_join(level) {
            true => groups(&producers(&view), &claimed),
            false => {
                (0..claimed.len()).filter(|node| claimed[*node]).map(|node| vec![node]).collect()
            }
        };
        let fusion = OrtNodeFusionOptions {
            ort_version_supported: API_VERSION,
            drop_constant_initializers: true,
        };
        for group in groups {
            // A group that only the host would compute stays with ONNX Runtime.
            if !group.iter().any(|node| claims[*node] == Claim::Device) {
                self.report_left(&view, &group);
                continue;
            }
            let nodes: Vec<*const OrtNode> = group.iter().map(|node| view.nodes[*node]).collect();
            let add = self.api.ep.EpGraphSupportInfo_AddNodesToFuse();
            // SAFETY: the nodes are those of the graph; the options outlive the call.
            self.api.check(unsafe { add(info, nodes.as_ptr(), nodes.len(), &raw const fusion) })?;
        }
        Ok(())
    }

    /// Logs which nodes are not claimed, and why.
    fn report(&self, view: &GraphView, claims: &[Claim]) {
        let all = claims.len();
        let refused =
            view.source.nodes.iter().zip(claims).filter_map(|(node, claim)| match claim {
                Claim::Refused(reason) => Some((node, reason)),
                Claim::Device | Claim::Host => None,
            });
        let count = refused.clone().count();
        self.logger.log(INFO, &format!("{} of {all} nodes can be run", all - count));
        for (node, reason) in refused.take(REASONS) {
            let is_control = CONTROL.contains(&node.operator.as_str());
            let reason = if is_control { CONTROLS } else { reason };
            self.logger.log(INFO, &format!("{} '{}': {reason}", node.operator, node.name));
        }
        if count > REASONS {
            self.logger.log(INFO, &format!("and {} more", count - REASONS));
        }
    }

    /// Logs which nodes are left although they can be run.
    fn report_left(&self, view: &GraphView, group: &[usize]) {
        for node in group.iter().map(|node| &view.source.nodes[*node]).take(REASONS) {
            let reason = "it computes shapes or views, and no node beside it computes elements";
            self.logger.log(INFO, &format!("{} '{}': {reason}", node.operator, node.name));
        }
    }

    /// # Safety
    ///
    /// The objects are those of the call.
    unsafe fn kernel(&self, graph: *const OrtGraph, fused: *const OrtNode) -> Result<Kernel> {
        // SAFETY: both are alive during the call.
        let reader = unsafe { Reader::new(self.api) };
        let GraphView { mut source, .. } = reader.graph(graph, Constants::All)?;
        let [given, outputs] = reader.ports(fused)?;
        let is_needed = |name: &String| source.inputs.iter().any(|input| input.name == *name);
        let inputs: Vec<(usize, String)> =
            given.into_iter().enumerate().filter(|(_, name)| is_needed(name)).collect();
        let known: Option<Vec<(String, Vec<u64>)>> = source.inputs.iter_mut().map(fixed).collect();
        source.outputs.clone_from(&outputs);
        // Nodes without read outputs are fused too, but a model needs an output.
        let of = |name: &String| Model::from_onnx(format!("the nodes for '{name}'"), &source);
        let model = outputs.first().map(of).transpose()?;
        let session = model.map(|model| {
            let session = Session::new(&self.device.device, model);
            match self.program_bytes {
                Some(bytes) => session.with_program_bytes(bytes),
                None => session,
            }
        });
        let kernel = Kernel::new(self.api, self.device.device.clone(), session, (inputs, outputs));
        match known {
            Some(shapes) => {
                kernel.compile(&shapes)?;
                if let Some(memory) = kernel.memory() {
                    self.logger.log(INFO, &memory.to_string());
                }
            }
            None => self.logger.log(INFO, "shapes are open: programs are compiled by runs"),
        }
        Ok(kernel)
    }
}

/// Takes the declared shape of an input, if it is known. The inputs of a run may have other shapes.
fn fixed(input: &mut dml_import::onnx::SourceValue) -> Option<(String, Vec<u64>)> {
    let shape = input.shape.take()?.into_iter().collect::<Option<Vec<u64>>>()?;
    Some((input.name.clone(), shape))
}

fn is_refused(claim: &Claim) -> bool {
    matches!(claim, Claim::Refused(_))
}

/// The nodes whose outputs each node reads, directly or in its subgraphs.
fn producers(view: &GraphView) -> Vec<Vec<usize>> {
    let outputs = view.source.nodes.iter().enumerate();
    let writers: HashMap<&str, usize> = outputs
        .flat_map(|(index, node)| node.outputs.iter().map(move |it| (it.name.as_str(), index)))
        .filter(|(name, _)| !name.is_empty())
        .collect();
    let of = |(node, implicit): (&dml_import::onnx::SourceNode, &Vec<String>)| {
        let names = node.inputs.iter().chain(implicit);
        names.filter_map(|name| writers.get(name.as_str()).copied()).collect()
    };
    view.source.nodes.iter().zip(&view.implicit).map(of).collect()
}

unsafe extern "C" fn get_name(_provider: *const OrtEp) -> *const c_char {
    options::NAME.as_ptr()
}

unsafe extern "C" fn get_kernel_registry(
    provider: *mut OrtEp,
    registry: *mut *const OrtKernelRegistry,
) -> Status {
    // SAFETY: the table is the first field of a provider that is not released yet, and is only read.
    let provider = unsafe { &*provider.cast::<Provider>() };
    // SAFETY: a place for a pointer.
    unsafe { registry.write(provider.copies.raw) };
    ptr::null_mut()
}

unsafe extern "C" fn get_capability(
    provider: *mut OrtEp,
    graph: *const OrtGraph,
    info: *mut OrtEpGraphSupportInfo,
) -> Status {
    // SAFETY: the table is the first field of a provider that is not released yet, and is only read.
    let provider = unsafe { &*provider.cast::<Provider>() };
    // SAFETY: the objects are those of the call.
    let found = guarded("GetCapability", || unsafe { provider.capability(graph, info) });
    // ONNX Runtime would log an error and continue without the provider, so this does the same.
    match found {
        Ok(()) => ptr::null_mut(),
        Err(failure) => {
            provider.logger.log(WARNING, &format!("no node is run: {}", failure.message()));
            failure.status(provider.api.ort)
        }
    }
}

unsafe extern "C" fn compile(
    provider: *mut OrtEp,
    graphs: *const *const OrtGraph,
    fused: *const *const OrtNode,
    count: usize,
    kernels: *mut *mut OrtNodeComputeInfo,
    _context_nodes: *mut *mut OrtNode,
) -> Status {
    // SAFETY: the table is the first field of a provider that is not released yet, and is only read.
    let provider = unsafe { &*provider.cast::<Provider>() };
    call(provider.api.ort, "Compile", || {
        // If a kernel fails, those made before it are dropped: ONNX Runtime gets all or none.
        // SAFETY: the list has `count` entries.
        let graphs = unsafe { slice(graphs, count) };
        // SAFETY: as above.
        let fused = unsafe { slice(fused, count) };
        // SAFETY: the objects are those of the call.
        let made = graphs
            .iter()
            .zip(fused)
            .map(|(graph, fused)| unsafe { provider.kernel(*graph, *fused) });
        for (index, kernel) in made.collect::<Result<Vec<Kernel>>>()?.into_iter().enumerate() {
            // SAFETY: there is room for `count` entries.
            let place = unsafe { kernels.add(index) };
            // SAFETY: as above.
            unsafe { place.write(kernel.into_raw()) };
        }
        Ok(())
    })
}

unsafe extern "C" fn release_node_compute_infos(
    _provider: *mut OrtEp,
    kernels: *mut *mut OrtNodeComputeInfo,
    count: usize,
) {
    // SAFETY: the list has `count` entries.
    for kernel in unsafe { slice(kernels, count) } {
        // SAFETY: it is from `compile`, and its last run has ended.
        release("ReleaseNodeComputeInfos", || unsafe { Kernel::release(*kernel) });
    }
}
