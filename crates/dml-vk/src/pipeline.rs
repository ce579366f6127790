//! Compute pipelines, one for each kernel key.

pub(crate) mod file;
pub(crate) mod keeper;
pub(crate) mod kernel;
pub(crate) mod layouts;
pub(crate) mod plan_check;
pub(crate) mod set_layout;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ash::vk;
use dml_core::capabilities::Capabilities;
use dml_core::plan::KernelKey;

use crate::error::Result;
use crate::instance::raw::RawDevice;
use crate::pipeline::file::PipelineFile;
use crate::pipeline::keeper::PipelineKeeper;
use crate::pipeline::kernel::{DumpFolder, Pipeline};
use crate::pipeline::layouts::Layouts;

/// The pipelines that a device has made so far.
pub(crate) struct PipelineCache {
    made: Mutex<HashMap<KernelKey, Arc<PipelineCell>>>,
    count: AtomicUsize,
    layouts: Layouts,
    handle: vk::PipelineCache,
    /// Saves the pipelines to a file.
    keeper: Option<PipelineKeeper>,
    dump: DumpFolder,
    raw: Arc<RawDevice>,
}

/// A pipeline, once it is made. The thread that makes it holds the lock, so that it is made once.
type PipelineCell = Mutex<Option<Arc<Pipeline>>>;

impl PipelineCache {
    /// Starts with the contents of `file`, and writes the file from time to time and when the cache is dropped.
    pub(crate) fn new(raw: &Arc<RawDevice>, file: Option<PipelineFile>) -> Result<Self> {
        let (keeper, initial) = file.map(PipelineKeeper::new).unzip();
        let initial = initial.unwrap_or_default();
        let handle = match create(raw, &initial) {
            Err(error) if !initial.is_empty() => {
                log::warn!("the driver refused the pipelines of an earlier process: {error}");
                create(raw, &[])
            }
            result => result,
        }?;
        raw.set_name(handle, "dml pipelines");
        let (made, count, layouts) = Default::default();
        let dump = DumpFolder::from_environment();
        Ok(Self { made, count, layouts, handle, keeper, dump, raw: Arc::clone(raw) })
    }

    /// The number of pipelines that have been made.
    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// The pipeline for `key`, made at the first call. Other threads can make other pipelines meanwhile.
    ///
    /// Fails with [`Error::MissingFeatures`](crate::Error::MissingFeatures) or
    /// [`Error::LimitExceeded`](crate::Error::LimitExceeded) if the device cannot run the kernel,
    /// [`Error::Internal`](crate::Error::Internal) if key and kernel do not match,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub(crate) fn get(
        &self,
        key: &KernelKey,
        capabilities: &Capabilities,
    ) -> Result<Arc<Pipeline>> {
        let slot = self.slot(key);
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = &*slot {
            return Ok(Arc::clone(pipeline));
        }
        let Self { raw, handle, layouts, dump, .. } = self;
        let pipeline = Pipeline::new(raw, *handle, layouts, key, capabilities, dump)?;
        self.count.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::clone(slot.insert(Arc::new(pipeline))))
    }

    /// Makes the pipelines for `keys` that do not exist yet, on up to `threads` threads.
    ///
    /// Fails as [`PipelineCache::get`], with the error of one of them.
    pub(crate) fn make<'a>(
        &self,
        keys: impl Iterator<Item = &'a KernelKey>,
        capabilities: &Capabilities,
        threads: usize,
    ) -> Result<()> {
        let mut seen = HashSet::new();
        let missing: Vec<_> = keys.filter(|key| seen.insert(*key) && !self.has(key)).collect();
        let (next, failed) = (AtomicUsize::new(0), OnceLock::new());
        let work = || {
            while failed.get().is_none()
                && let Some(key) = missing.get(next.fetch_add(1, Ordering::Relaxed))
            {
                if let Err(error) = self.get(key, capabilities) {
                    // Any of the errors will do.
                    let _ = failed.set(error);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(missing.len()) {
                // If the system refuses a thread, fewer are used.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        failed.into_inner().map_or(Ok(()), Err)
    }

    fn slot(&self, key: &KernelKey) -> Arc<PipelineCell> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        match made.get(key) {
            Some(slot) => Arc::clone(slot),
            None => Arc::clone(made.entry(key.clone()).or_default()),
        }
    }

    /// Whether the pipeline for `key` has been made. A pipeline that is being made does not count.
    fn has(&self, key: &KernelKey) -> bool {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = made.get(key).map(|it| it.try_lock());
        matches!(slot, Some(Ok(slot)) if slot.is_some())
    }

    /// Destroys the pipelines that no operator uses.
    pub(crate) fn trim(&self) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let unused: Vec<_> = made.extract_if(|_, slot| is_unused(slot)).collect();
        drop(made);
        drop(unused);
    }

    /// Writes the file if enough pipelines are new, so that they survive a killed process.
    pub(crate) fn keep(&self) {
        self.save(false);
    }

    fn save(&self, is_last: bool) {
        let Some(keeper) = self.keeper.as_ref().filter(|_| !self.raw.is_lost()) else { return };
        keeper.update(self.len(), is_last, || {
            // SAFETY: the cache belongs to this device and is alive.
            let data = unsafe { self.raw.core().get_pipeline_cache_data(self.handle) };
            self.raw.check("vkGetPipelineCacheData", data)
        });
    }
}

/// Whether nobody makes the pipeline now, and nobody uses it.
fn is_unused(slot: &Arc<PipelineCell>) -> bool {
    let is_held = |pipeline: &Arc<Pipeline>| Arc::strong_count(pipeline) > 1;
    Arc::strong_count(slot) == 1
        && slot.try_lock().is_ok_and(|pipeline| !pipeline.as_ref().is_some_and(is_held))
}

fn create(raw: &RawDevice, initial: &[u8]) -> Result<vk::PipelineCache> {
    let info = vk::PipelineCacheCreateInfo::default().initial_data(initial);
    // SAFETY: `initial` is empty, or was seen to be what this device's driver has written.
    let handle = unsafe { raw.core().create_pipeline_cache(&info, None) };
    raw.check("vkCreatePipelineCache", handle)
}

impl Drop for PipelineCache {
    fn drop(&mut self) {
        if self.raw.is_forked() {
            return;
        }
        self.save(true);
        // SAFETY: only methods use the cache, and they borrow `self`.
        unsafe { self.raw.core().destroy_pipeline_cache(self.handle, None) };
    }
}
