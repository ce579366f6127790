//! Operators that several graphs have in common.

use std::sync::Arc;

use dml_core::{GraphDesc, KnownOperators, validate_known_graph};
use dml_ops::graph::{GraphOptions, KnownPrograms};

use crate::compiled::CompiledOperator;
use crate::device::Device;
use crate::error::Result;

/// Compiles graphs for a device, and validates and records each operator once that they have in common.
///
/// A graph of a model for other shapes differs in few of its operators. Those that were used last are kept.
#[derive(Clone, Debug)]
pub struct GraphCompiler {
    device: Device,
    operators: Arc<KnownOperators>,
    programs: Arc<KnownPrograms>,
}

impl GraphCompiler {
    /// One that knows no operator but those of `operators`, which others may share.
    pub fn new(device: &Device, operators: Arc<KnownOperators>) -> Self {
        Self { device: device.clone(), operators, programs: Arc::default() }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// As [`Device::compile_graph`].
    ///
    /// # Errors
    /// As [`Device::compile_graph`].
    pub fn compile(&self, graph: &GraphDesc) -> Result<CompiledOperator> {
        let graph = validate_known_graph(graph, self.device.feature_level(), &self.operators)?;
        self.device.compile_validated(graph, GraphOptions::default(), Arc::clone(&self.programs))
    }
}
