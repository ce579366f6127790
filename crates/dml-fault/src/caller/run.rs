//! Binding tables in command buffers of the caller's.

use dml_vk::ash::vk;
use dml_vk::{BindingTable, Result, access, record_plan};

use crate::caller::Caller;
use crate::caller::commands::{Commands, Gate};
use crate::error::invalid;

impl Caller {
    /// Records the tables into a command buffer of the caller's, one after the other with the barriers
    /// that [`access()`] asks for, submits it on the caller's queue, and waits.
    ///
    /// # Errors
    ///
    /// [`dml_vk::Error::InvalidArgument`] where a table is of another device, and what Vulkan reports.
    pub fn run(&self, tables: &[&BindingTable]) -> Result<()> {
        self.check_own(tables)?;
        let commands = self.begin()?;
        let stages = access().stages;
        let to = vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE;
        for table in tables {
            // SAFETY: the command buffer is recording and of the table's device; the table is kept
            // until this function returns, when the commands have completed.
            unsafe { record_plan(commands.raw(), table) };
            let after = stages | vk::PipelineStageFlags::HOST;
            commands.barrier((stages, vk::AccessFlags::MEMORY_WRITE), (after, to));
        }
        commands.finish()
    }

    /// Records each list of tables into a command buffer of its own, without barriers between them, submits
    /// all before any of them begins, and waits. What they have in common has unspecified contents.
    ///
    /// # Errors
    ///
    /// As [`Caller::run`].
    pub fn run_at_once(&self, lists: &[&[&BindingTable]]) -> Result<()> {
        let record = |tables: &&[&BindingTable]| {
            self.check_own(tables)?;
            let commands = self.begin()?;
            for table in *tables {
                // SAFETY: the command buffer is recording and of the table's device; the table is kept
                // until this function returns, when the commands have completed.
                unsafe { record_plan(commands.raw(), table) };
            }
            let host = (vk::PipelineStageFlags::HOST, vk::AccessFlags::HOST_READ);
            commands.barrier((access().stages, access().outputs), host);
            Ok(commands)
        };
        let recorded = lists.iter().map(record).collect::<Result<Vec<_>>>()?;
        let gates: Vec<_> = recorded.into_iter().map(Commands::finish_at_a_gate).collect();
        // Whatever failed, the others are waited for.
        let opened = gates.into_iter().map(|gate| gate.and_then(Gate::open));
        opened.collect::<Vec<_>>().into_iter().collect()
    }

    fn check_own(&self, tables: &[&BindingTable]) -> Result<()> {
        let device = |it: &BindingTable| it.device().raw().handle();
        if tables.iter().any(|table| device(table) != self.device.handle()) {
            return Err(invalid("tables", "one is of another device"));
        }
        Ok(())
    }
}
