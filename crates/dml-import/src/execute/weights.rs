//! The weights of models on a device, which all sessions of the device share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use dml::{Buffer, Device};

use crate::constant::{Constant, Fingerprint};
use crate::error::Result;
use crate::program::{BufferPlan, Initial, Program, Weight};

use super::memory::{self, create};
use super::packing::Packings;
use super::preparation::{Preparations, retain_used};
use super::{at, its_buffers};

/// How many bytes of a sequence are generated in host memory at a time.
const CHUNK_BYTES: usize = 4 << 20;

/// The weights of all devices that sessions or programs use.
static OF_DEVICES: Mutex<Vec<Weak<Weights>>> = Mutex::new(Vec::new());

/// Programs that can be evicted where device memory runs out.
pub(crate) trait Evict: Send + Sync + std::fmt::Debug {
    /// Evicts programs that no run uses, and that have at least `wanted` bytes for themselves if there are as many.
    /// Returns false if there was no such program.
    fn evict(&self, wanted: u64) -> bool;
}

/// The weights of models on one device: as they are, prepared, and packed. They stay there as long as a program uses
/// them.
#[derive(Debug)]
pub(crate) struct Weights {
    device: Device,
    contents: Mutex<Contents>,
    uploaded: Mutex<HashMap<Weight, Arc<UploadedWeight>>>,
    pub(super) prepared: Preparations,
    pub(super) packed: Packings,
    /// The programs of all sessions of the device.
    sessions: Mutex<Vec<Weak<dyn Evict>>>,
}

/// The buffer of a weight, as long as a program uses it. Whoever uploads it holds the lock.
type UploadedWeight = Mutex<Weak<Buffer>>;

/// Finds weights of equal content, such as those of a file that was read twice.
#[derive(Debug, Default)]
struct Contents {
    by_fingerprint: HashMap<Fingerprint, Vec<Weak<Constant>>>,
    /// The representatives of weights, by the address of the weight, which the first handle keeps from being reused.
    representatives: HashMap<usize, (Weak<Constant>, Weak<Constant>)>,
}

impl Weights {
    /// The weights on `device` at its feature level and tuning, which results of operators may depend on.
    pub(crate) fn of(device: &Device) -> Arc<Self> {
        let mut all = lock(&OF_DEVICES);
        let mut others = Vec::new();
        let is_of = |it: &Arc<Self>| {
            it.device.vulkan().is_same(device.vulkan())
                && it.device.feature_level() == device.feature_level()
                && it.device.tuning() == device.tuning()
        };
        let mut found = None;
        for known in all.iter().filter_map(Weak::upgrade) {
            if found.is_none() && is_of(&known) {
                found = Some(known);
            } else {
                others.push(known);
            }
        }
        let found = found.unwrap_or_else(|| {
            let new = Arc::new(Self {
                device: device.clone(),
                contents: Mutex::default(),
                uploaded: Mutex::default(),
                prepared: Preparations::default(),
                packed: Packings::default(),
                sessions: Mutex::default(),
            });
            all.retain(|it| it.strong_count() > 0);
            all.push(Arc::downgrade(&new));
            new
        });
        // A handle may be the last one by now, and closing a device takes time.
        drop(all);
        drop(others);
        found
    }

    /// Adds the programs of a session of the device.
    pub(crate) fn add_session(&self, programs: &Arc<impl Evict + 'static>) {
        let mut sessions = lock(&self.sessions);
        sessions.retain(|session| session.strong_count() > 0);
        let programs: Weak<dyn Evict> = Arc::downgrade(programs) as _;
        sessions.push(programs);
    }

    /// Evicts programs of the first session of the device that has any which no run uses. Returns false if there is
    /// none.
    pub(crate) fn evict(&self, wanted: u64) -> bool {
        let sessions: Vec<_> = lock(&self.sessions).iter().filter_map(Weak::upgrade).collect();
        sessions.iter().any(|session| session.evict(wanted))
    }

    /// Replaces each weight of `program` by one of equal content that other programs of the device use, if there is
    /// one.
    pub(super) fn unify(&self, program: &mut Program) {
        let mut contents = lock(&self.contents);
        for plan in &mut program.buffers {
            if let Initial::Weight(weight) = &mut plan.initial {
                *weight = Weight(contents.representative(&weight.0));
            }
        }
    }

    /// The buffer of a weight. The first caller uploads it, and those that want the same weight wait meanwhile.
    pub(super) fn buffer(
        &self,
        device: &Device,
        plan: &BufferPlan,
        of: &Weight,
    ) -> Result<Arc<Buffer>> {
        let of_weight = self.uploaded_weight(of);
        let mut uploaded = lock(&of_weight);
        if let Some(known) = uploaded.upgrade() {
            return Ok(known);
        }
        let buffer = Arc::new(create(device, plan.size, || memory::weight(of))?);
        fill(device, &buffer, &plan.initial)?;
        *uploaded = Arc::downgrade(&buffer);
        Ok(buffer)
    }

    /// Forgets weights that no program uses any more, and with them their copies on the host.
    pub(super) fn forget_dropped(&self) {
        forget(&mut lock(&self.uploaded));
        self.prepared.forget_dropped();
        self.packed.forget_dropped();
    }

    fn uploaded_weight(&self, of: &Weight) -> Arc<UploadedWeight> {
        let mut all = lock(&self.uploaded);
        if let Some(known) = all.get(of) {
            return Arc::clone(known);
        }
        forget(&mut all);
        let new = Arc::<UploadedWeight>::default();
        // The key keeps the weight alive, so that its address cannot be reused.
        all.insert(of.clone(), Arc::clone(&new));
        new
    }

    /// The bytes of weights as they are in the file.
    pub(crate) fn uploaded_bytes(&self) -> u64 {
        let uploaded = lock(&self.uploaded);
        let buffers = uploaded.values().filter_map(|it| buffer_of(it));
        buffers.map(|buffer| buffer.size()).fold(0, u64::saturating_add)
    }

    /// The bytes of results that depend only on weights.
    pub(crate) fn prepared_bytes(&self) -> u64 {
        self.prepared.bytes()
    }

    /// The bytes of weights that operators repacked.
    pub(crate) fn packed_bytes(&self) -> u64 {
        self.packed.bytes()
    }
}

impl Contents {
    fn representative(&mut self, weight: &Arc<Constant>) -> Arc<Constant> {
        let address = Arc::as_ptr(weight).addr();
        if let Some((own, representative)) = self.representatives.get(&address)
            && own.as_ptr() == Arc::as_ptr(weight)
            && own.strong_count() > 0
            && let Some(representative) = representative.upgrade()
        {
            return representative;
        }
        let fingerprint = weight.fingerprint();
        let alike = self.by_fingerprint.get(&fingerprint).into_iter().flatten();
        let mut alike = alike.filter_map(Weak::upgrade);
        let found = alike.find(|it| it.has_content_of(weight));
        let representative = found.unwrap_or_else(|| {
            self.forget_dropped();
            let alike = self.by_fingerprint.entry(fingerprint).or_default();
            alike.push(Arc::downgrade(weight));
            Arc::clone(weight)
        });
        let handles = (Arc::downgrade(weight), Arc::downgrade(&representative));
        self.representatives.insert(address, handles);
        representative
    }

    /// Forgets weights of models that exist no more, when as many are known as are a power of 2.
    fn forget_dropped(&mut self) {
        if !self.representatives.len().is_power_of_two() {
            return;
        }
        self.representatives.retain(|_, (own, _)| own.strong_count() > 0);
        retain_used(&mut self.by_fingerprint, |weight| weight.strong_count() > 0);
    }
}

/// The buffer of an uploaded weight; `None` while it is uploaded.
fn buffer_of(weight: &UploadedWeight) -> Option<Arc<Buffer>> {
    weight.try_lock().ok()?.upgrade()
}

/// Removes weights that no program uses any more. Another thread may be about to upload what it has a handle of.
fn forget(uploaded: &mut HashMap<Weight, Arc<UploadedWeight>>) {
    uploaded.retain(|_, it| Arc::strong_count(it) > 1 || buffer_of(it).is_some());
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Uploads the initial content of a buffer, which nobody waits for; runs write inputs.
pub(super) fn fill(device: &Device, buffer: &Buffer, initial: &Initial) -> Result<()> {
    let write = |offset, bytes: &[u8]| {
        let written = device.vulkan().upload(buffer, offset, bytes);
        written.map_err(|error| at(&its_buffers(), error.into()))
    };
    match initial {
        Initial::Undefined | Initial::Input(_) => Ok(()),
        Initial::Tensor(tensor) => write(0, tensor.bytes()),
        Initial::Weight(weight) => write(0, weight.load()?.bytes()),
        Initial::Sequence(sequence) => {
            let mut offset = 0;
            for chunk in sequence.chunks(CHUNK_BYTES) {
                write(offset, &chunk)?;
                offset += chunk.len() as u64;
            }
            Ok(())
        }
    }
}
