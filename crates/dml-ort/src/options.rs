//! The options of a session for its provider.

use std::ffi::CStr;
use std::path::PathBuf;

use dml::{DeviceOptions, DeviceSelector, FeatureLevel, PipelineCache, profiles};

use crate::boundary::{Failure, Result};

/// The name of the provider. ONNX Runtime requires the ending ExecutionProvider.
pub(crate) const NAME: &CStr = c"DmlVulkanExecutionProvider";

/// The prefix that ONNX Runtime puts before the name of an option.
fn prefix() -> String {
    format!("ep.{}.", NAME.to_string_lossy().to_lowercase())
}

/// The options of a session.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) device: DeviceOptions,
    /// The most bytes of device memory that the programs of a graph have for themselves; `None` for the default.
    pub(crate) program_bytes: Option<u64>,
}

type Take = fn(&mut Options, &str) -> Result<()>;

/// The options, each with the function that parses its value.
const OPTIONS: [(&str, Take); 6] = [
    ("device", |options, value| {
        options.device.selector = value.parse().map_err(dml::Error::from)?;
        Ok(())
    }),
    ("feature_level", |options, value| {
        options.device.feature_level = value
            .parse()
            .map_err(|error| Failure::invalid(format!("feature_level `{value}`: {error}")))?;
        Ok(())
    }),
    ("numerics", |options, value| {
        options.device.numerics =
            value.parse().map_err(|error| Failure::invalid(format!("option numerics: {error}")))?;
        Ok(())
    }),
    ("profile", |options, value| {
        options.device.cap = Some(profiles::find(value).map_err(dml::Error::from)?.cap);
        Ok(())
    }),
    ("cache", |options, value| {
        options.device.pipeline_cache = match value {
            "" => PipelineCache::Environment,
            "off" => PipelineCache::Off,
            folder => PipelineCache::Folder(usable_folder(folder)?),
        };
        Ok(())
    }),
    ("program_bytes", |options, value| {
        options.program_bytes = Some(value.parse().map_err(|_| {
            Failure::invalid(format!("program_bytes `{value}`: accepted: a number of bytes"))
        })?);
        Ok(())
    }),
];

/// Checks that files can be written to the folder `name`, which is created if it is missing.
fn usable_folder(name: &str) -> Result<PathBuf> {
    let folder = PathBuf::from(name);
    let probe = folder.join(format!(".dmlvk-{}", std::process::id()));
    let written =
        std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&probe, "")).map(|()| {
            // Another session may have removed it.
            let _ = std::fs::remove_file(&probe);
        });
    written.map(|()| folder).map_err(|error| {
        let accepted = "`off`, or a folder that can be written";
        Failure::invalid(format!("cache `{name}`: {error} (accepted: {accepted})"))
    })
}

/// The options in the entries of a session's options; `selected` is the device that the application
/// chose from ONNX Runtime's list.
///
/// # Errors
/// An option is unknown, or its value is invalid.
pub(crate) fn parse(entries: &[(String, String)], selected: DeviceSelector) -> Result<Options> {
    let feature_level = FeatureLevel::default();
    let device = DeviceOptions { selector: selected, feature_level, ..Default::default() };
    let mut options = Options { device, program_bytes: None };
    let prefix = prefix();
    for (key, value) in entries {
        let Some(name) = key.strip_prefix(&prefix) else { continue };
        let Some((_, take)) = OPTIONS.iter().find(|(it, _)| *it == name) else {
            let names = OPTIONS.map(|(name, _)| name).join(", ");
            return Err(Failure::invalid(format!(
                "unknown option '{name}'; the options are: {names}"
            )));
        };
        take(&mut options, value)?;
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use dml::Numerics;

    use super::*;

    fn parsed(entries: &[(&str, &str)]) -> Result<Options> {
        let entry = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let entries: Vec<_> = entries.iter().map(entry).collect();
        parse(&entries, DeviceSelector::Index(3))
    }

    fn message(name: &str, value: &str) -> String {
        let key = format!("ep.dmlvulkanexecutionprovider.{name}");
        parsed(&[(&key, value)]).unwrap_err().message().to_owned()
    }

    #[test]
    fn options_of_others_are_theirs() {
        let options = parsed(&[("session.x", "1"), ("ep.cudaexecutionprovider.y", "2")]).unwrap();
        assert_eq!(options.device.selector, DeviceSelector::Index(3));
    }

    #[test]
    fn options_are_taken() {
        let options = parsed(&[
            ("ep.dmlvulkanexecutionprovider.device", "llvmpipe"),
            ("ep.dmlvulkanexecutionprovider.feature_level", "5_0"),
            ("ep.dmlvulkanexecutionprovider.cache", "off"),
            ("ep.dmlvulkanexecutionprovider.numerics", "fast"),
            ("ep.dmlvulkanexecutionprovider.program_bytes", "1048576"),
        ])
        .unwrap();
        assert_eq!(options.program_bytes, Some(1 << 20));
        assert_eq!(options.device.selector, DeviceSelector::Name("llvmpipe".to_owned()));
        assert_eq!(options.device.feature_level, "5_0".parse().unwrap());
        assert_eq!(options.device.pipeline_cache, PipelineCache::Off);
        assert_eq!(options.device.numerics, Numerics::Fast);
        assert_eq!(parsed(&[]).unwrap().device.numerics, Numerics::Exact);
    }

    #[test]
    fn a_cache_is_a_folder_that_can_be_written() {
        let folder = std::env::temp_dir().join(format!("dmlvk-cache-{}", std::process::id()));
        let (file, inside) = (folder.join("file"), folder.join("file/inside"));
        let missing = folder.join("missing/two");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&file, "kept").unwrap();
        for wrong in [&file, &inside] {
            let said = message("cache", wrong.to_str().unwrap());
            assert!(said.starts_with(&format!("cache `{}`: ", wrong.display())), "{said}");
            assert!(said.ends_with("(accepted: `off`, or a folder that can be written)"), "{said}");
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
        let key = "ep.dmlvulkanexecutionprovider.cache";
        let options = parsed(&[(key, missing.to_str().unwrap())]).unwrap();
        assert_eq!(options.device.pipeline_cache, PipelineCache::Folder(missing.clone()));
        assert_eq!(std::fs::read_dir(&missing).unwrap().count(), 0);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_wrong_says_what_is_accepted() {
        let unknown = message("devise", "0");
        assert!(
            unknown.contains("unknown option 'devise'")
                && unknown.contains("device, feature_level"),
            "{unknown}"
        );
        let bytes = message("program_bytes", "1 GB");
        assert_eq!(bytes, "program_bytes `1 GB`: accepted: a number of bytes");
        let level = message("feature_level", "9_9");
        assert!(level.contains("9_9") && level.contains("6_4"), "{level}");
        let numerics = message("numerics", "quick");
        let expected = "option numerics: unknown numerics 'quick'; accepted: exact, fast";
        assert_eq!(numerics, expected);
        assert!(message("profile", "no such profile").contains("no such profile"));
    }
}
