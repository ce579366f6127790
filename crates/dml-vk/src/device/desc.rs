//! The options for creating a device.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use dml_core::capabilities::CapabilityCap;
use dml_core::plan::WorkBound;

use crate::error::{Error, Result};
use crate::instance::queues::QueueChoice;

/// The options for creating a [`Device`](crate::Device).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceDesc {
    /// Behave as if the host could not map memory of [`crate::MemoryLocation::Device`], so that every
    /// transfer uses a staging buffer, as on most discrete GPUs. The default is off.
    #[cfg(feature = "testing")]
    pub always_stage: bool,
    /// Limits and features that the device is treated as not exceeding. The default changes nothing.
    pub cap: CapabilityCap,
    /// The folder for compiled pipelines, which outlive the process: one file for each device and driver
    /// version, written while operators are compiled and when the device is destroyed, so that most pipelines
    /// survive a killed process. Damaged or foreign files are ignored and replaced, several processes may use
    /// the folder at once, and failures are only logged. No other user should be able to write there, as
    /// drivers trust such data. The default, `None`, saves nothing.
    pub pipeline_cache: Option<PathBuf>,
    /// Create the device without robustBufferAccess. With it, a defective kernel only reaches the buffers
    /// that are bound; without it, such a defect has undefined behaviour, but some GPUs compute addresses
    /// faster. For a caller's own device it decides what [its enablement](crate::PhysicalDevice::enablement) returns.
    pub without_robust_access: bool,
    /// The number of threads that make the pipelines of one operator or graph. The default, `None`, is one
    /// for each core of the host.
    pub compile_threads: Option<NonZeroUsize>,
    /// The most work that the device is given at one time. The default, `None`, is that of its
    /// [type](crate::DeviceType::work_bound).
    pub work_bound: Option<WorkBound>,
    /// Which family of queues to use. A caller's own device has its family already.
    pub queue: QueueChoice,
}

impl DeviceDesc {
    /// Whether no transfer may use memory of [`crate::MemoryLocation::Device`] directly.
    pub(crate) fn always_stages(&self) -> bool {
        #[cfg(feature = "testing")]
        let always_stages = self.always_stage;
        #[cfg(not(feature = "testing"))]
        let always_stages = false;
        always_stages
    }
}

/// Checks the options that do not depend on the device.
pub(crate) fn check_desc(desc: &DeviceDesc) -> Result<()> {
    if desc.always_stages() && desc.cap.no_transfer_usage() {
        return Err(Error::invalid("always_stage", "true, but no buffer has transfer usage"));
    }
    Ok(())
}

/// How many threads make pipelines.
pub(crate) fn compile_threads(desc: &DeviceDesc) -> usize {
    let all = || std::thread::available_parallelism().ok();
    desc.compile_threads.or_else(all).map_or(1, NonZeroUsize::get)
}
