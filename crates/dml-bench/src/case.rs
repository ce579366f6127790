//! The cases: an operator, the baseline and peers that it is compared with, and its targets.

use dml::DataType;
use serde_json::Value;

use crate::work::Work;

/// One line of the report.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Group and name, such as `packed/f32/64MiB`.
    pub(crate) id: String,
    /// The operator.
    pub(crate) work: Work,
    /// The baseline that it is measured in turns with.
    pub(crate) baseline: Baseline,
    /// Whether the time is computation, so that memory does not matter: then two buffers suffice.
    pub(crate) is_computing: bool,
    /// The target: the highest ratio of the operator's time to the baseline's; `None` if the ratio is only
    /// reported.
    pub(crate) target: Option<f64>,
    /// The target for GPUs, if it differs.
    pub(crate) gpu_target: Option<f64>,
    /// Other libraries with the same operation; a name is the library's and that of its function, such as
    /// `numpy:eye`.
    pub(crate) peers: Vec<Other>,
    /// The operator's parameters beside its sizes, for peers.
    pub(crate) parameters: Value,
    /// Other cases of the same group, by the case's name.
    pub(crate) beside: Vec<Other>,
}

/// A plain command of the device to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Baseline {
    /// vkCmdFillBuffer of as many bytes as the output has.
    Fill,
    /// vkCmdCopyBuffer of as many bytes.
    Copy,
    /// vkCmdCopyBuffer of the first input, for operators that read more than they write.
    CopyOfInput,
    /// A submission of an empty command buffer.
    EmptySubmit,
}

impl Case {
    /// A case without peers and other cases.
    pub(crate) fn new(
        id: impl Into<String>,
        work: impl Into<Work>,
        baseline: Baseline,
        target: Option<f64>,
    ) -> Self {
        Self {
            id: id.into(),
            work: work.into(),
            baseline,
            is_computing: false,
            target,
            gpu_target: None,
            peers: vec![],
            parameters: Value::Null,
            beside: vec![],
        }
    }

    /// This case, marked as computing for a long time.
    pub(crate) fn computing(self) -> Self {
        Self { is_computing: true, ..self }
    }

    /// Whether it is measured in a quick run: the narrowest elements and the usual ones, and one of several
    /// similar cases.
    pub(crate) fn is_quick(&self) -> bool {
        let widths = [DataType::Uint8, DataType::Int8, DataType::Uint32, DataType::Float32];
        let of_halves = ["gemm/f16/512", "gemm/f16/1024"];
        let alike = ["/8x8", "/32x32", "trilu_lower"];
        self.work.bytes() <= 65 << 20
            && (widths.contains(&self.work.data_type()) || of_halves.contains(&&*self.id))
            && !alike.iter().any(|name| self.id.ends_with(name))
    }
}

impl Baseline {
    /// The name of its Vulkan command.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fill => "vkCmdFillBuffer",
            Self::Copy => "vkCmdCopyBuffer",
            Self::CopyOfInput => "vkCmdCopyBuffer of input",
            Self::EmptySubmit => "empty submit",
        }
    }
}

/// Another case or library that is measured in turns with a case, and the target against it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Other {
    /// Its name.
    pub(crate) name: &'static str,
    /// The target: the highest ratio of the operator's time to the other's; `None` if the ratio is only reported.
    pub(crate) target: Option<f64>,
    /// Limits `target` to devices with this in their name.
    pub(crate) only_on: Option<&'static str>,
    /// The target on all other devices.
    pub(crate) elsewhere: Option<f64>,
}

impl Other {
    pub(crate) const fn told(name: &'static str) -> Self {
        Self { name, target: None, only_on: None, elsewhere: None }
    }

    pub(crate) const fn at_most(target: f64, name: &'static str) -> Self {
        Self { target: Some(target), ..Self::told(name) }
    }

    /// The target on this device, if there is one.
    pub(crate) fn target_on(&self, device: &str) -> Option<f64> {
        let is_meant = self.only_on.is_none_or(|name| device.contains(name));
        if is_meant { self.target } else { self.elsewhere }
    }
}

/// A part of the names of lavapipe's devices.
pub(crate) const LAVAPIPE: &str = "llvmpipe";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_for_the_devices_that_it_names() {
        let everywhere = Other::at_most(1.5, "numpy:eye");
        let one = Other { only_on: Some("llvmpipe"), ..everywhere };
        let on = |other: Other| ["llvmpipe (LLVM 15)", "SwiftShader"].map(|it| other.target_on(it));
        assert_eq!(on(everywhere), [Some(1.5), Some(1.5)]);
        assert_eq!(on(one), [Some(1.5), None]);
        assert_eq!(on(Other { elsewhere: Some(2.0), ..one }), [Some(1.5), Some(2.0)]);
        assert_eq!(on(Other::told("numpy:eye")), [None, None]);
    }
}
