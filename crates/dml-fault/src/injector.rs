//! A testing tool that makes any Vulkan call fail, and counts objects that are not destroyed.
//!
//! An [`Injector`] stands between the runtime and the loader. It numbers the calls, makes one of them fail
//! with a result that the Vulkan specification documents for it, without calling the driver, and records
//! every object that is created and destroyed. gpu-allocator uses the same table of functions, so that its
//! calls are included.
//!
//! An unknown entry point can be looked up, but calling it ends the process with its name, so that no new
//! call of the runtime escapes the tests. [`EntryPoint::all`] lists the known ones; those with empty
//! [`EntryPoint::failures`] have no result and cannot fail.
//!
//! Not for use in production: there is one injector in a process, it serves one physical device at a time,
//! and it takes a lock for each call.

use dml_vk::ash::vk;
use dml_vk::{EntryPoints, Result};

use crate::entry_point::EntryPoint;
use crate::error::invalid;
use crate::fault::{Fault, Hit};
use crate::watch::Watcher;
use crate::{books, host, table, watch};

/// Makes calls fail, and records calls and objects. See [`Injector::entry_points`].
///
/// A device that was made to report its loss stays lost: every later call of it for which Vulkan documents
/// VK_ERROR_DEVICE_LOST returns that, until the device is destroyed. Before the loss is reported the device
/// finishes all submitted work, because a lost device executes nothing.
#[derive(Debug)]
pub struct Injector {
    _the_only_one: (),
}

impl Injector {
    /// Creates the only injector of the process.
    ///
    /// # Errors
    ///
    /// [`dml_vk::Error::InvalidArgument`] if there is an injector already, or objects of an earlier one are left.
    pub fn new() -> Result<Self> {
        Self::begin(false)
    }

    /// Creates an injector that also passes VkAllocationCallbacks to every call that takes them, counts the
    /// allocations of drivers and the loader, and lets one of them fail. Every object is destroyed with the
    /// callbacks that it was created with. A driver that does not check for missing memory ends the process:
    /// for worker processes only.
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

    /// A table of functions that ask this injector before each call. Once the injector is dropped, they only
    /// call the driver.
    pub fn entry_points(&self) -> EntryPoints {
        // SAFETY: each function of the table has the signature of its namesake, checked by the
        // compiler, and calls the original or returns one of the documented failures; an unknown one
        // never returns. All are functions of this crate, so they stay callable.
        unsafe { EntryPoints::replacing(table::replacement) }
    }

    /// Makes this injector's functions the [`EntryPoints::default`] as long as the injector lives: for code
    /// that has no other way to pass entry points, such as the C library.
    pub fn inject_everywhere(&self) {
        EntryPoints::set_default(Some(self.entry_points()));
    }

    /// Calls `watcher` for the beginning and the end of every call that reaches a layer or driver, as long as
    /// the injector lives.
    pub fn watch(&self, watcher: Watcher) {
        watch::begin(Some(watcher));
    }

    /// Forgets the calls so far, numbers the following ones from 1, and arms `fault`. A lost device stays lost.
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

    /// The number of objects of each kind that were created and not destroyed. Command buffers and descriptor
    /// sets count as destroyed with their pools. Kinds without objects are left out.
    pub fn live_objects(&self) -> Vec<(vk::ObjectType, usize)> {
        books::update(|books| books.live())
    }

    /// Forgets the objects that are left, so that another run starts without any.
    pub fn write_off(&self) {
        books::update(books::Books::write_off);
        host::write_off();
    }

    /// Objects that were destroyed but never created through the injector, such as a caller's own,
    /// since the last call.
    pub fn foreign_destructions(&self) -> Vec<vk::ObjectType> {
        books::update(|books| std::mem::take(&mut books.foreign))
    }

    /// The calls in which allocations were made through the callbacks since [`Injector::arm`], for calls that
    /// can report a failure: one entry for each allocation.
    pub fn host_allocations(&self) -> Vec<&'static str> {
        host::allocations()
    }

    /// The number of blocks that were allocated inside of calls that create objects and are not freed, by the
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
