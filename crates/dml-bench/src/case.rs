//! What is measured, what it is compared with, and how fast it has to be.

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
    /// What it is measured against, in turns.
    pub(crate) baseline: Baseline,
    /// Whether computing takes so long that it does not matter where the output is: then two buffers do.
    pub(crate) is_computing: bool,
    /// The highest time of the operator in times of the baseline; `None` where the ratio is only told.
    pub(crate) target: Option<f64>,
    /// The same for GPUs, where it differs.
    pub(crate) gpu_target: Option<f64>,
    /// Other libraries that do the same; a name is the library's and the way it is asked, such as
    /// `numpy:eye`.
    pub(crate) peers: Vec<Other>,
    /// What peers have to know of the operator beside its sizes.
    pub(crate) parameters: Value,
    /// Other cases of the same group; a name is the case's.
    pub(crate) beside: Vec<Other>,
}

/// What the device does on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Baseline {
    /// vkCmdFillBuffer of as many bytes as the output has.
    Fill,
    /// vkCmdCopyBuffer of as many bytes.
    Copy,
    /// vkCmdCopyBuffer of the first input, where the output is less than what is read.
    CopyOfInput,
    /// A submission of an empty command buffer.
    EmptySubmit,
}

impl Case {
    /// Without anything beside its baseline.
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

    /// The same where computing takes long.
    pub(crate) fn computing(self) -> Self {
        Self { is_computing: true, ..self }
    }

    /// Whether it is measured where time is short: the narrowest elements and the usual ones, and of
    /// what is alike one.
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
    /// As Vulkan calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fill => "vkCmdFillBuffer",
            Self::Copy => "vkCmdCopyBuffer",
            Self::CopyOfInput => "vkCmdCopyBuffer of input",
            Self::EmptySubmit => "empty submit",
        }
    }
}

/// Something else that is measured in turns with a case, and how fast the case has to be against it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Other {
    /// Its name.
    pub(crate) name: &'static str,
    /// The highest time of the operator in times of the other; `None` where it is only told.
    pub(crate) target: Option<f64>,
    /// The target is for devices with this in their name alone.
    pub(crate) only_on: Option<&'static str>,
    /// The target of all others.
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

/// In the names of lavapipe's devices.
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
