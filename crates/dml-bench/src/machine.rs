//! The machine that was measured.

use std::fs;

use serde::Serialize;

/// The properties that matter for memory bandwidth, as far as the system reports them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    /// The processor's name.
    pub(crate) cpu: String,
    /// Hardware threads.
    pub(crate) threads: usize,
    /// Bytes of memory.
    pub(crate) memory: Option<u64>,
    /// Bytes of the last-level cache.
    pub(crate) cache: Option<u64>,
    /// The operating system.
    pub(crate) system: String,
}

impl Machine {
    /// This machine.
    pub(crate) fn here() -> Self {
        let cpu = field("/proc/cpuinfo", "model name").or_else(|| field("/proc/cpuinfo", "Model"));
        let memory = field("/proc/meminfo", "MemTotal")
            .and_then(|text| text.strip_suffix(" kB")?.trim().parse::<u64>().ok());
        let system = fs::read_to_string("/etc/os-release").ok();
        let system = system.as_deref().and_then(|text| value(text, "PRETTY_NAME", '='));
        Self {
            cpu: cpu.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            memory: memory.map(|kib| kib * 1024),
            cache: last_level_cache(),
            system: system.unwrap_or_else(|| std::env::consts::OS.to_owned()),
        }
    }
}

fn field(file: &str, name: &str) -> Option<String> {
    value(&fs::read_to_string(file).ok()?, name, ':')
}

fn value(text: &str, name: &str, separator: char) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(separator)?.1.trim().trim_matches('"').to_owned())
}

fn last_level_cache() -> Option<u64> {
    let size = |index: u32| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
        let text = fs::read_to_string(path).ok()?;
        let kib: u64 = text.trim().strip_suffix('K')?.parse().ok()?;
        Some(kib * 1024)
    };
    (0..8).filter_map(size).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name() {
        let text = "processor\t: 0\nmodel name\t: A CPU\n";
        assert_eq!(value(text, "model name", ':').as_deref(), Some("A CPU"));
        assert_eq!(
            value("PRETTY_NAME=\"A system\"", "PRETTY_NAME", '=').as_deref(),
            Some("A system")
        );
        assert_eq!(value(text, "flags", ':'), None);
    }
}
