//! A testing tool: makes any Vulkan call fail, and counts what is left over.
//!
//! An [`Injector`] stands between the runtime and the loader. It numbers the calls, lets one of them
//! fail with a result that the Vulkan specification documents for it, without calling the driver, and
//! keeps the books of every object that is created and destroyed. gpu-allocator calls through the same
//! table, so its calls are among them.
//!
//! An entry point that the tool does not know can be looked up, but a call of it ends the process with
//! the name: a new call of the runtime cannot escape the tests. [`EntryPoint::all`] lists those that it
//! knows; those whose [`EntryPoint::failures`] are empty return nothing and cannot fail.
//!
//! Not for use in production: there is one injector in a process, it serves one physical device at a
//! time, and its books cost a lock for each call.

use dml_vk::ash::vk;
use dml_vk::{EntryPoints, Result};

use crate::entry_point::EntryPoint;
use crate::error::invalid;
use crate::fault::{Fault, Hit};
use crate::watch::Watcher;
use crate::{books, host, table, watch};

/// Makes calls fail, and keeps the books. See [`Injector::entry_points`].
///
/// A device that was made to report its loss stays lost: every later call of that device for which
/// Vulkan documents VK_ERROR_DEVICE_LOST returns it, until the device is destroyed. Before the loss is
/// reported the device finishes what it was given, as a lost device executes nothing.
#[derive(Debug)]
pub struct Injector {
    _the_only_one: (),
}

impl Injector {
    /// The only injector of the process.
    ///
    /// # Errors
    ///
    /// [`dml_vk::Error::InvalidArgument`] where there is one already, or where objects are left of one.
    pub fn new() -> Result<Self> {
        Self::begin(false)
    }

    /// The same, which also gives VkAllocationCallbacks to every call that takes them, counts what
    /// drivers and the loader allocate through them, and lets one such allocation fail. Every object
    /// is destroyed with the callbacks that it was created with. A driver that does not look whether it
    /// got memory ends the process: for worker processes only.
    ///
    /// # Errors
    ///
    /// As [`Injector::new`].
    pub fn with_host_allocations() -> Result<Self> {
        Self::begin(true)
    }

    fn begin(host_allocations: bool) -> Result<Self> {
        books::begin().map_err(|problem| invalid("injector", problem))?;
        host::begin(host_allocations);
        Ok(Self { _the_only_one: () })
    }

    /// A table that asks this injector before each call. Once the injector is gone its functions call
    /// the driver and nothing else.
    pub fn entry_points(&self) -> EntryPoints {
        // SAFETY: each function of the table has the signature of its namesake, checked by the
        // compiler, and calls the original or returns one of the documented failures; an unknown one
        // never returns. All are functions of this crate, so they stay callable.
        unsafe { EntryPoints::replacing(table::replacement) }
    }

    /// Also gives this injector's functions to everybody who asks for [`EntryPoints::default`] as long
    /// as the injector lives: for code that offers no other way, such as the C library.
    pub fn inject_everywhere(&self) {
        EntryPoints::set_default(Some(self.entry_points()));
    }

    /// Has `watcher` told of every call that reaches a layer or driver, and of its end, as long as the
    /// injector lives.
    pub fn watch(&self, watcher: Watcher) {
        watch::begin(Some(watcher));
    }

    /// Forgets the calls so far and numbers those that come from 1; `fault` is what fails. A lost device
    /// stays lost.
    pub fn arm(&self, fault: Option<Fault>) {
        books::update(|books| {
            books.fault = fault;
            books.hit = None;
            books.calls.clear();
        });
        host::arm(match fault {
            Some(Fault::HostAllocation { number }) => Some(number),
            _ => None,
        });
    }

    /// The fault that took place since [`Injector::arm`].
    pub fn hit(&self) -> Option<Hit> {
        let host = host::failed().map(|entry_point| Hit {
            entry_point,
            result: vk::Result::ERROR_OUT_OF_HOST_MEMORY,
            host_allocation: true,
        });
        books::update(|books| books.hit).or(host)
    }

    /// The calls since [`Injector::arm`], in their order.
    pub fn calls(&self) -> Vec<&'static EntryPoint> {
        books::update(|books| books.calls.clone())
    }

    /// How many objects of each kind were created and not destroyed; command buffers and descriptor sets go
    /// with their pools. Kinds without any are left out.
    pub fn live_objects(&self) -> Vec<(vk::ObjectType, usize)> {
        books::update(|books| books.live())
    }

    /// Takes the objects that are left out of the books, so that another run starts with none.
    pub fn write_off(&self) {
        books::update(books::Books::write_off);
        host::write_off();
    }

    /// Objects that were destroyed but never created through the injector, such as a caller's own,
    /// since the last call.
    pub fn foreign_destructions(&self) -> Vec<vk::ObjectType> {
        books::update(|books| std::mem::take(&mut books.foreign))
    }

    /// What was allocated through the callbacks since [`Injector::arm`], inside of calls that can report
    /// a failure: for each allocation the call.
    pub fn host_allocations(&self) -> Vec<&'static str> {
        host::allocations()
    }

    /// How many blocks that were allocated inside of calls that create objects are not freed, by the
    /// call; those allocated before [`Injector::arm`] are included.
    pub fn live_host_blocks(&self) -> Vec<(&'static str, usize)> {
        host::live()
    }
}

impl Drop for Injector {
    fn drop(&mut self) {
        EntryPoints::set_default(None);
        books::end();
        host::end();
        watch::begin(None);
    }
}
