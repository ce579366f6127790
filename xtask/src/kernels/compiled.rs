//! Reads the files that the wrapping driver has written of pipelines.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::assembly::{self, Loop};

/// A kernel as a pipeline was made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Compiled {
    /// Its name, and the values of its specialization constants.
    pub(super) kernel: String,
    pub(super) vgprs: u64,
    /// Registers that lie in memory.
    pub(super) spills: u64,
    /// Bytes of memory that each wave needs for itself.
    pub(super) scratch: u64,
    /// Bytes of shared memory of a work group.
    pub(super) lds: u64,
    /// Waves that a SIMD can hold, as the driver counts them.
    pub(super) waves: u64,
    /// The innermost ones.
    pub(super) loops: Vec<Loop>,
}

/// All pipelines of a folder that the driver wrote to, in the order of their creation in each process.
pub(super) fn read(folder: &Path) -> Result<Vec<Compiled>> {
    Ok(read_with_assembly(folder)?.into_iter().map(|(compiled, _)| compiled).collect())
}

/// As [`read`], each with its assembly.
pub(super) fn read_with_assembly(folder: &Path) -> Result<Vec<(Compiled, String)>> {
    let mut all = Vec::new();
    for process in sorted(folder)?.into_iter().filter(|it| it.is_dir()) {
        let files = sorted(&process)?;
        for file in files
            .iter()
            .filter(|it| it.extension().is_some_and(|extension| extension == "statistics"))
        {
            let assembly = fs::read_to_string(file.with_extension("assembly"))?;
            let one = parse(&fs::read_to_string(file)?, &assembly);
            all.push((one.with_context(|| file.display().to_string())?, assembly));
        }
    }
    Ok(all)
}

/// The entries of a folder whose names are numbers, in their order.
fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut entries = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let number = |path: &PathBuf| path.file_stem()?.to_str()?.parse::<u64>().ok();
    entries.retain(|entry| number(entry).is_some());
    entries.sort_by_key(number);
    Ok(entries)
}

fn parse(text: &str, assembly: &str) -> Result<Compiled> {
    let (mut name, mut constants) = ("", Vec::new());
    let mut statistics = BTreeMap::new();
    for line in text.lines() {
        let (key, rest) = line.split_once(' ').context("a line without a value")?;
        match (key, rest.split_once(' ')) {
            ("name", _) => name = rest,
            ("constant", Some((_, value))) => constants.push(value),
            ("statistic", Some((value, name))) => {
                statistics.insert(name, value.parse::<u64>()?);
            }
            _ => {}
        }
    }
    let statistic =
        |name: &str| statistics.get(name).copied().with_context(|| format!("no statistic {name}"));
    Ok(Compiled {
        kernel: format!("{name} [{}]", constants.join(",")),
        vgprs: statistic("VGPRs")?,
        // Scalar registers are spilled to lanes of vector registers; where these do not suffice there is scratch.
        spills: statistic("Spilled VGPRs")?,
        scratch: statistic("Scratch size")?,
        lds: statistic("LDS size")?,
        waves: statistic("Subgroups per SIMD")?,
        loops: assembly::innermost_loops(assembly),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATISTICS: &str = "name reduce_1 copy, sum_f32\nconstant 0 64\nconstant 2 4\nsubgroup 64\n\
        statistic 36 VGPRs\nstatistic 1 Spilled SGPRs\nstatistic 2 Spilled VGPRs\n\
        statistic 512 LDS size\nstatistic 0 Scratch size\nstatistic 32 Subgroups per SIMD\n";

    #[test]
    fn statistics_are_read_by_their_names() {
        let read = parse(STATISTICS, "BB0:\n\ts_endpgm\n").unwrap();
        let expected = Compiled {
            kernel: "reduce_1 copy, sum_f32 [64,4]".to_owned(),
            vgprs: 36,
            spills: 2,
            scratch: 0,
            lds: 512,
            waves: 32,
            loops: Vec::new(),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn a_statistic_that_is_missing_is_named() {
        let text = STATISTICS.replace("Scratch size", "Scratch");
        assert_eq!(parse(&text, "").unwrap_err().to_string(), "no statistic Scratch size");
    }

    #[test]
    fn folders_of_processes_are_read_in_the_order_of_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        for (process, number) in [("10", "0"), ("2", "1"), ("2", "0")] {
            let inside = folder.path().join(process);
            fs::create_dir_all(&inside).unwrap();
            let text = STATISTICS.replace("reduce_1", &format!("of_{process}_{number}"));
            fs::write(inside.join(format!("{number}.statistics")), text).unwrap();
            fs::write(inside.join(format!("{number}.assembly")), "").unwrap();
            fs::write(inside.join("commands"), "submit\n").unwrap();
        }
        let names = read(folder.path()).unwrap();
        let names: Vec<_> =
            names.iter().map(|name| name.kernel.split(' ').next().unwrap()).collect();
        assert_eq!(names, ["of_2_0", "of_2_1", "of_10_0"]);
    }
}
