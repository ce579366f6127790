//! The injector's record of the process: calls, objects, and the armed fault.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use dml_vk::ash::vk::{self, Handle as _};

use crate::entry_point::EntryPoint;
use crate::fault::{Fault, Hit};

static BOOKS: Mutex<Option<Books>> = Mutex::new(None);

#[derive(Default)]
pub(crate) struct Books {
    /// Whether there is an injector.
    active: bool,
    pub(crate) calls: Vec<&'static EntryPoint>,
    pub(crate) fault: Option<Fault>,
    pub(crate) hit: Option<Hit>,
    pub(crate) foreign: Vec<vk::ObjectType>,
    /// Devices that were made to report their loss.
    lost: Vec<u64>,
    queues: HashMap<u64, u64>,
    /// The device that was called last.
    device: Option<u64>,
    /// The number of live objects with each handle: some drivers give out one handle several times.
    objects: BTreeMap<(vk::ObjectType, u64), usize>,
}

impl Books {
    pub(crate) fn live(&self) -> Vec<(vk::ObjectType, usize)> {
        let mut live = BTreeMap::<_, usize>::new();
        for ((kind, _), count) in &self.objects {
            *live.entry(*kind).or_default() += count;
        }
        live.into_iter().collect()
    }

    pub(crate) fn write_off(&mut self) {
        self.objects.clear();
    }

    /// Whether the call that was just noted fails by the fault that is armed.
    fn injected(&self, entry_point: &EntryPoint) -> Option<vk::Result> {
        let result = match self.fault? {
            Fault::Call { number, result } if number == self.calls.len() => result,
            Fault::Named { name, first, count, result } if name == entry_point.name() => {
                let number = self.calls.iter().filter(|call| call.name() == name).count();
                (number >= first && number - first < count).then_some(result)?
            }
            _ => return None,
        };
        entry_point.failures().contains(&result).then_some(result)
    }
}

/// Calls `work` with the books. It must not make Vulkan calls.
pub(crate) fn update<R>(work: impl FnOnce(&mut Books) -> R) -> R {
    work(BOOKS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

pub(crate) fn begin() -> Result<(), String> {
    update(|books| {
        if books.active {
            return Err("there is one in this process already".to_owned());
        }
        let live = books.live();
        if !live.is_empty() {
            return Err(format!("objects are left of an earlier one: {live:?}"));
        }
        // Enough room for tests that count their own allocations.
        let calls = Vec::with_capacity(1 << 15);
        *books = Books { active: true, calls, ..Books::default() };
        Ok(())
    })
}

/// Ends the injector; objects that are left stay in the books.
pub(crate) fn end() {
    update(|books| {
        let (objects, queues) =
            (std::mem::take(&mut books.objects), std::mem::take(&mut books.queues));
        *books = Books { objects, queues, ..Books::default() };
    });
}

/// Records a call on `device`. If it is to fail, returns the result, and whether a loss is reported first.
pub(crate) fn called(
    entry_point: &'static EntryPoint,
    device: Option<u64>,
) -> Option<(vk::Result, bool)> {
    let lost = vk::Result::ERROR_DEVICE_LOST;
    update(|books| {
        if !books.active {
            return None;
        }
        books.device = device.or(books.device);
        books.calls.push(entry_point);
        let is_lost = device.is_some_and(|device| books.lost.contains(&device));
        if is_lost && entry_point.failures().contains(&lost) {
            return Some((lost, false));
        }
        let result = books.injected(entry_point)?;
        let entry_point = entry_point.name();
        books.hit = Some(Hit { entry_point, result, host_allocation: false });
        let is_new_loss = result == lost && device.is_some();
        if is_new_loss {
            books.lost.extend(device);
        }
        Some((result, is_new_loss))
    })
}

pub(crate) fn created<T: vk::Handle>(object: T) {
    update(|books| *books.objects.entry((T::TYPE, object.as_raw())).or_default() += 1);
}

/// Records a destruction. Null handles are allowed and ignored.
pub(crate) fn destroyed<T: vk::Handle>(object: T) {
    let (kind, handle) = (T::TYPE, object.as_raw());
    if handle == 0 {
        return;
    }
    update(|books| match books.objects.get_mut(&(kind, handle)) {
        Some(1) => {
            books.objects.remove(&(kind, handle));
            if kind == vk::ObjectType::DEVICE {
                books.lost.retain(|device| *device != handle);
                books.queues.retain(|_, device| *device != handle);
            }
        }
        Some(count) => *count -= 1,
        None => books.foreign.push(kind),
    });
}

pub(crate) fn note_queue(queue: vk::Queue, device: vk::Device) {
    update(|books| books.queues.insert(queue.as_raw(), device.as_raw()));
}

pub(crate) fn device_of(queue: vk::Queue) -> Option<u64> {
    // A queue that the caller retrieved without the injector belongs to the caller's device.
    update(|books| books.queues.get(&queue.as_raw()).copied().or(books.device))
}

/// Forgets a caller's device and queue, which were destroyed.
pub(crate) fn forget_device(device: vk::Device) {
    update(|books| {
        books.lost.retain(|it| *it != device.as_raw());
        books.queues.retain(|_, it| *it != device.as_raw());
    });
}
