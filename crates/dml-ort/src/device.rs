//! The devices that sessions share.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use dml::{
    CapabilityCap, Device, DeviceOptions, DeviceSelector, FeatureLevel, Numerics, PipelineCache,
};

use crate::boundary::Result;
use crate::process;

/// A device that stays open as long as a session uses it.
pub(crate) struct OpenDevice {
    pub(crate) device: Device,
    key: Key,
}

/// The options that must be equal for sessions to share a device.
#[derive(Debug, PartialEq)]
struct Key {
    selector: DeviceSelector,
    feature_level: FeatureLevel,
    numerics: Numerics,
    cap: Option<CapabilityCap>,
    pipeline_cache: PipelineCache,
}

impl Key {
    fn of(options: &DeviceOptions) -> Self {
        Self {
            selector: options.selector.clone(),
            feature_level: options.feature_level,
            numerics: options.numerics,
            cap: options.cap,
            pipeline_cache: options.pipeline_cache.clone(),
        }
    }
}

/// The open devices.
#[derive(Default)]
pub(crate) struct OpenDevices(Mutex<Vec<Weak<OpenDevice>>>);

impl OpenDevices {
    /// The device for these options: another session's if there is one and it is not lost, else a new one.
    ///
    /// # Errors
    /// There is no such device, or it cannot be opened, or this process was forked from one with a device.
    pub(crate) fn open(&self, options: &DeviceOptions) -> Result<Arc<OpenDevice>> {
        let key = Key::of(options);
        process::opens_a_device()?;
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|it| it.strong_count() > 0);
        let is_it = |it: &Arc<OpenDevice>| it.key == key && !it.device.vulkan().is_lost();
        if let Some(device) = open.iter().filter_map(Weak::upgrade).find(is_it) {
            return Ok(device);
        }
        let device = Arc::new(OpenDevice { device: Device::open_with(options)?, key });
        open.push(Arc::downgrade(&device));
        Ok(device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_other_numerics_have_another_device() {
        let key = |numerics| Key::of(&DeviceOptions { numerics, ..DeviceOptions::default() });
        assert_eq!(key(Numerics::Fast), key(Numerics::Fast));
        assert_ne!(key(Numerics::Fast), key(Numerics::Exact));
    }
}
