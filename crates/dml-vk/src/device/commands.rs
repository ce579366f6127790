//! Command pools, which recorders reuse.

use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;

use crate::error::{Error, Result};
use crate::instance::raw::RawDevice;

/// The largest number of unused pools that are kept.
const MOST_KEPT: usize = 16;

/// The unused command pools of a device.
pub(crate) struct CommandPools {
    free: Mutex<Vec<Handles>>,
    raw: Arc<RawDevice>,
    family: u32,
}

/// A pool, and the command buffers that were allocated from it: one, unless a list had several batches.
#[derive(Default)]
struct Handles {
    pool: vk::CommandPool,
    command_buffers: Vec<vk::CommandBuffer>,
}

impl CommandPools {
    pub(crate) fn new(raw: &Arc<RawDevice>, family: u32) -> Self {
        Self { free: Mutex::default(), raw: Arc::clone(raw), family }
    }

    /// A pool of which every command buffer can be recorded.
    pub(crate) fn take(self: &Arc<Self>) -> Result<CommandPool> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let home = Arc::clone(self);
        let Some(handles) = free else {
            return Ok(CommandPool { handles: self.create()?, taken: 0, home });
        };
        let pool = CommandPool { handles, taken: 0, home };
        let flags = vk::CommandPoolResetFlags::empty();
        // SAFETY: the pool is used by nobody else, and what was recorded has completed.
        let reset = unsafe { self.raw.core().reset_command_pool(pool.handles.pool, flags) };
        self.raw.check("vkResetCommandPool", reset)?;
        Ok(pool)
    }

    fn create(&self) -> Result<Handles> {
        let core = self.raw.core();
        let info = vk::CommandPoolCreateInfo::default()
            .flags(vk::CommandPoolCreateFlags::TRANSIENT)
            .queue_family_index(self.family);
        // SAFETY: the device was created with a queue of this family.
        let pool = unsafe { core.create_command_pool(&info, None) };
        let pool = self.raw.check("vkCreateCommandPool", pool)?;
        self.raw.set_name(pool, "dml commands");
        let command_buffer = self.allocate(pool).inspect_err(|_| {
            // SAFETY: nothing was allocated from the pool.
            unsafe { core.destroy_command_pool(pool, None) };
        })?;
        Ok(Handles { pool, command_buffers: vec![command_buffer] })
    }

    fn allocate(&self, pool: vk::CommandPool) -> Result<vk::CommandBuffer> {
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(1);
        // SAFETY: the pool is used by nobody else.
        let allocated = unsafe { self.raw.core().allocate_command_buffers(&info) };
        let allocated = self.raw.check("vkAllocateCommandBuffers", allocated)?;
        let command_buffer = allocated.first().copied();
        let command_buffer = command_buffer
            .ok_or_else(|| Error::internal("vkAllocateCommandBuffers allocated nothing"))?;
        self.raw.set_name(command_buffer, "dml commands");
        Ok(command_buffer)
    }
}

impl Drop for CommandPools {
    fn drop(&mut self) {
        if self.raw.is_forked() {
            return;
        }
        let free = self.free.get_mut().unwrap_or_else(PoisonError::into_inner);
        for handles in free.drain(..) {
            // SAFETY: nobody uses the pool; its command buffers are freed with it.
            unsafe { self.raw.core().destroy_command_pool(handles.pool, None) };
        }
    }
}

/// A command pool in use. A list in flight is owned by its submission until it has completed, so no
/// command buffer is pending when this is dropped.
pub(crate) struct CommandPool {
    handles: Handles,
    /// Command buffers that were given out.
    taken: usize,
    home: Arc<CommandPools>,
}

impl CommandPool {
    /// A command buffer that can be recorded, and that was not given out before.
    pub(crate) fn command_buffer(&mut self) -> Result<vk::CommandBuffer> {
        if self.taken == self.handles.command_buffers.len() {
            let more = self.home.allocate(self.handles.pool)?;
            self.handles.command_buffers.push(more);
        }
        self.taken += 1;
        Ok(self.handles.command_buffers[self.taken - 1])
    }
}

impl Drop for CommandPool {
    fn drop(&mut self) {
        if self.home.raw.is_forked() {
            return;
        }
        let handles = std::mem::take(&mut self.handles);
        let mut free = self.home.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < MOST_KEPT {
            free.push(handles);
            return;
        }
        drop(free);
        // SAFETY: no command buffer is pending; they are freed with the pool.
        unsafe { self.home.raw.core().destroy_command_pool(handles.pool, None) };
    }
}
