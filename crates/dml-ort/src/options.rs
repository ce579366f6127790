//! What a session's options say about its provider.

use std::ffi::CStr;

use dml::{DeviceOptions, DeviceSelector, FeatureLevel, PipelineCache, profiles};

use crate::boundary::{Failure, Result};

/// The name of the provider. ONNX Runtime wants this ending.
pub(crate) const NAME: &CStr = c"DmlVulkanExecutionProvider";

/// What ONNX Runtime puts before the name of an option.
fn prefix() -> String {
    format!("ep.{}.", NAME.to_string_lossy().to_lowercase())
}

type Take = fn(&mut DeviceOptions, &str) -> Result<()>;

/// The options, with what each takes.
const OPTIONS: [(&str, Take); 4] = [
    ("device", |options, value| {
        options.selector = value.parse().map_err(dml::Error::from)?;
        Ok(())
    }),
    ("feature_level", |options, value| {
        options.feature_level = value
            .parse()
            .map_err(|error| Failure::invalid(format!("feature_level `{value}`: {error}")))?;
        Ok(())
    }),
    ("profile", |options, value| {
        options.cap = Some(profiles::find(value).map_err(dml::Error::from)?.cap);
        Ok(())
    }),
    ("cache", |options, value| {
        options.pipeline_cache = match value {
            "" => PipelineCache::Environment,
            "off" => PipelineCache::Off,
            folder => PipelineCache::Folder(folder.into()),
        };
        Ok(())
    }),
];

/// The device that a session asks for, among all entries of its options; `selected` is the one that the
/// application chose from ONNX Runtime's list.
///
/// # Errors
/// An option that there is not, or a value that is wrong.
pub(crate) fn parse(
    entries: &[(String, String)],
    selected: DeviceSelector,
) -> Result<DeviceOptions> {
    let feature_level = FeatureLevel::default();
    let mut options = DeviceOptions { selector: selected, feature_level, ..Default::default() };
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
    use super::*;

    fn parsed(entries: &[(&str, &str)]) -> Result<DeviceOptions> {
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
        assert_eq!(options.selector, DeviceSelector::Index(3));
    }

    #[test]
    fn options_are_taken() {
        let options = parsed(&[
            ("ep.dmlvulkanexecutionprovider.device", "llvmpipe"),
            ("ep.dmlvulkanexecutionprovider.feature_level", "5_0"),
            ("ep.dmlvulkanexecutionprovider.cache", "off"),
        ])
        .unwrap();
        assert_eq!(options.selector, DeviceSelector::Name("llvmpipe".to_owned()));
        assert_eq!(options.feature_level, "5_0".parse().unwrap());
        assert_eq!(options.pipeline_cache, PipelineCache::Off);
    }

    #[test]
    fn what_is_wrong_says_what_is_accepted() {
        let unknown = message("devise", "0");
        assert!(
            unknown.contains("unknown option 'devise'")
                && unknown.contains("device, feature_level"),
            "{unknown}"
        );
        let level = message("feature_level", "9_9");
        assert!(level.contains("9_9") && level.contains("6_4"), "{level}");
        assert!(message("profile", "no such profile").contains("no such profile"));
    }
}
