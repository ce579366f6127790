//! Command buffers that a caller owns.

use dml_vk::Result;
use dml_vk::ash::vk;

use crate::caller::Caller;
use crate::error::Call as _;

/// A command buffer of the caller's that is being recorded. Dropping it discards its commands.
pub struct Commands<'a> {
    handle: vk::CommandBuffer,
    caller: &'a Caller,
}

impl<'a> Commands<'a> {
    pub(crate) fn new(caller: &'a Caller) -> Result<Self> {
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(caller.pool)
            .command_buffer_count(1);
        // SAFETY: the pool is the caller's own, and used by one thread.
        let commands = unsafe { caller.device.allocate_command_buffers(&info) }
            .call("vkAllocateCommandBuffers")?;
        let commands = Commands { handle: commands[0], caller };
        let info = vk::CommandBufferBeginInfo::default();
        // SAFETY: the command buffer is new.
        unsafe { caller.device.begin_command_buffer(commands.handle, &info) }
            .call("vkBeginCommandBuffer")?;
        Ok(commands)
    }

    /// The command buffer.
    pub fn raw(&self) -> vk::CommandBuffer {
        self.handle
    }

    /// Records a barrier.
    pub fn barrier(
        &self,
        from: (vk::PipelineStageFlags, vk::AccessFlags),
        to: (vk::PipelineStageFlags, vk::AccessFlags),
    ) {
        let barrier = [vk::MemoryBarrier::default().src_access_mask(from.1).dst_access_mask(to.1)];
        let (none, device) = (vk::DependencyFlags::empty(), &self.caller.device);
        // SAFETY: the command buffer is recording.
        unsafe {
            device.cmd_pipeline_barrier(self.handle, from.0, to.0, none, &barrier, &[], &[]);
        }
    }

    /// Ends recording, submits, and waits. The resources of recorded commands are alive, as the recording
    /// code promised.
    ///
    /// # Errors
    ///
    /// Errors of Vulkan.
    pub fn finish(self) -> Result<()> {
        self.submit(vk::SubmitInfo::default())?;
        self.caller.wait_idle()
    }

    /// Ends recording, and submits the commands so that they start when the gate is opened.
    ///
    /// # Errors
    ///
    /// Errors of Vulkan.
    pub fn finish_at_a_gate(self) -> Result<Gate<'a>> {
        let mut kind =
            vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: timeline semaphores are enabled.
        let semaphore = unsafe { self.caller.device.create_semaphore(&info, None) }
            .call("vkCreateSemaphore")?;
        // The gate opens at value 1, and the commands signal 2.
        let gates = [semaphore];
        let mut timeline = vk::TimelineSemaphoreSubmitInfo::default()
            .wait_semaphore_values(&[1])
            .signal_semaphore_values(&[2]);
        let submit = vk::SubmitInfo::default()
            .wait_semaphores(&gates)
            .wait_dst_stage_mask(&[vk::PipelineStageFlags::ALL_COMMANDS])
            .signal_semaphores(&gates)
            .push_next(&mut timeline);
        self.submit(submit)?;
        Ok(Gate { semaphore, commands: self })
    }

    fn submit(&self, submit: vk::SubmitInfo<'_>) -> Result<()> {
        let Caller { device, queue, .. } = self.caller;
        // SAFETY: the command buffer is recording.
        unsafe { device.end_command_buffer(self.handle) }.call("vkEndCommandBuffer")?;
        let commands = [self.handle];
        let _exclusive = self.caller.exclusive();
        let submit = [submit.command_buffers(&commands)];
        // SAFETY: nobody else uses the queue; everything recorded is kept until it has completed.
        unsafe { device.queue_submit(*queue, &submit, vk::Fence::null()) }.call("vkQueueSubmit")
    }
}

impl Drop for Commands<'_> {
    fn drop(&mut self) {
        // SAFETY: the commands have completed, or were never submitted.
        unsafe { self.caller.device.free_command_buffers(self.caller.pool, &[self.handle]) };
    }
}

/// A semaphore that submitted commands wait for. Nobody may wait for the queue until it is opened.
pub struct Gate<'a> {
    semaphore: vk::Semaphore,
    commands: Commands<'a>,
}

impl Gate<'_> {
    /// Opens the gate, and waits for the commands. Several gates must be opened in the order of their submissions.
    ///
    /// # Errors
    ///
    /// Errors of Vulkan.
    pub fn open(self) -> Result<()> {
        let caller = self.commands.caller;
        let info = vk::SemaphoreSignalInfo::default().semaphore(self.semaphore).value(1);
        // SAFETY: the value is above that of a closed gate.
        unsafe { caller.device.signal_semaphore(&info) }.call("vkSignalSemaphore")?;
        let (semaphores, values) = ([self.semaphore], [2]);
        let wait = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        // SAFETY: the semaphore is a timeline semaphore, which the commands signal.
        unsafe { caller.device.wait_semaphores(&wait, u64::MAX) }.call("vkWaitSemaphores")?;
        // SAFETY: nothing uses the semaphore any more.
        unsafe { caller.device.destroy_semaphore(self.semaphore, None) };
        Ok(())
    }
}
