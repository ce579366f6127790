//! What is measured, what it is compared with, and how fast it has to be.

use dml::DataType;

use crate::add::Add;
use crate::band::Band;
use crate::chain::Chain;
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
    /// The highest time of the operator in times of the baseline; `None` where the ratio is only told.
    pub(crate) target: Option<f64>,
    /// The same for GPUs, where it differs.
    pub(crate) gpu_target: Option<f64>,
    /// Other libraries that do the same; a name is the library's and the way it is asked, such as
    /// `numpy:eye`.
    pub(crate) peers: Vec<Other>,
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
    /// A submission of an empty command buffer.
    EmptySubmit,
}

impl Case {
    /// Whether it is measured where time is short: the narrowest elements and the usual ones, and of
    /// what is alike one.
    pub(crate) fn is_quick(&self) -> bool {
        let widths = [DataType::Uint8, DataType::Int8, DataType::Float32];
        let alike = ["/8x8", "/32x32", "trilu_lower"];
        self.work.bytes() <= 65 << 20
            && widths.contains(&self.work.data_type())
            && !alike.iter().any(|name| self.id.ends_with(name))
    }
}

impl Baseline {
    /// As Vulkan calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fill => "vkCmdFillBuffer",
            Self::Copy => "vkCmdCopyBuffer",
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
}

impl Other {
    const fn told(name: &'static str) -> Self {
        Self { name, target: None, only_on: None }
    }

    const fn at_most(target: f64, name: &'static str) -> Self {
        Self { name, target: Some(target), only_on: None }
    }

    /// The target on this device, if there is one.
    pub(crate) fn target_on(&self, device: &str) -> Option<f64> {
        let is_meant = self.only_on.is_none_or(|name| device.contains(name));
        self.target.filter(|_| is_meant)
    }
}

const MIB: u64 = 1 << 20;

/// In the names of its devices.
const LAVAPIPE: &str = "llvmpipe";

const TYPES: [(DataType, &str); 4] = [
    (DataType::Uint8, "u8"),
    (DataType::Float16, "f16"),
    (DataType::Float32, "f32"),
    (DataType::Float64, "f64"),
];

/// Every case, in the order of the report. Those of one group take turns with each other.
pub(crate) fn all() -> Vec<Vec<Case>> {
    let alone = [growth(), packed(), batches(), strided(), with_input(), latency()].concat();
    alone.into_iter().map(|case| vec![case]).chain([additions(), chains()]).collect()
}

fn case(
    id: impl Into<String>,
    work: impl Into<Work>,
    baseline: Baseline,
    target: Option<f64>,
) -> Case {
    Case {
        id: id.into(),
        work: work.into(),
        baseline,
        target,
        gpu_target: None,
        peers: vec![],
        beside: vec![],
    }
}

/// Small matrices up to where `packed` begins: the line of the plot.
fn growth() -> Vec<Case> {
    [("4KiB", 32), ("16KiB", 64), ("64KiB", 128), ("256KiB", 256), ("1MiB", 512), ("4MiB", 1024)]
        .map(|(name, width)| {
            let work = Band::eye(DataType::Float32, &[width, width]);
            case(format!("growth/f32/{name}"), work, Baseline::Fill, None)
        })
        .to_vec()
}

fn packed() -> Vec<Case> {
    let mut cases = Vec::new();
    for (data_type, name) in TYPES {
        for mib in [16, 64, 256, 1024] {
            let target = match (mib, data_type) {
                (16, DataType::Uint8) => 1.4,
                (16, _) => 1.25,
                _ => 1.10,
            };
            let work = Band::eye(data_type, &near_square(data_type, mib * MIB));
            let id = format!("packed/{name}/{mib}MiB");
            let peers = match (data_type, mib) {
                (DataType::Float32, 64) => eye_peers(true),
                (DataType::Uint8, 16) => eye_peers(false),
                _ => vec![],
            };
            let gpu_target = (mib >= 256).then_some(1.0 / 0.95);
            let one = case(id, work, Baseline::Fill, Some(target));
            cases.push(Case { gpu_target, peers, ..one });
        }
    }
    let narrow = Band::eye(DataType::Float32, &[32_768, 512]);
    cases.push(case("packed/f32/64MiB/width512", narrow, Baseline::Fill, Some(1.10)));
    cases
}

/// Sizes of two dimensions, powers of two, that make `bytes`.
fn near_square(data_type: DataType, bytes: u64) -> [u32; 2] {
    let elements = bytes * 8 / u64::from(data_type.bits());
    let height = 1 << (elements.ilog2() / 2);
    let width = elements / height;
    [height, width].map(|size| u32::try_from(size).expect("at most 2^16"))
}

fn batches() -> Vec<Case> {
    let mut cases = Vec::new();
    for (data_type, name) in TYPES {
        let element = data_type.bits() / 8;
        for size in [3, 8, 32, 128] {
            let bytes: u32 = if size == 3 { 32 << 20 } else { 64 << 20 };
            // The other widths of element differ from these in the smallest matrices alone.
            if size != 3 && data_type != DataType::Float32 {
                continue;
            }
            let count = bytes.div_ceil(size * size * element);
            let work = Band::eye(data_type, &[count, size, size]);
            let id = format!("batch/{name}/{}MiB/{size}x{size}", bytes >> 20);
            cases.push(case(id, work, Baseline::Fill, Some(1.35)));
        }
    }
    for (data_type, name) in TYPES {
        let matrix = data_type.bits() / 8 * 512 * 512;
        let work = Band::eye(data_type, &[(64 << 20) / matrix, 512, 512]);
        cases.push(case(format!("batch/{name}/64MiB/512x512"), work, Baseline::Fill, Some(1.10)));
    }
    let large = Band::eye(DataType::Float32, &[16, 1024, 1024]);
    let one = case("batch/f32/16x1024x1024", large, Baseline::Fill, Some(1.10));
    cases.push(Case { peers: batch_peers(), ..one });
    for (data_type, name, target) in
        [(DataType::Float32, "f32", Some(1.35)), (DataType::Int8, "i8", None)]
    {
        let work = Band::eye(data_type, &[1_000_000, 3, 3]);
        let one = case(format!("batch/{name}/1000000x3x3"), work, Baseline::Fill, target);
        let numpy = Other::at_most(1.0, "numpy:broadcast_copy");
        cases.push(Case { peers: [vec![numpy], gpu_peers()].concat(), ..one });
    }
    cases
}

fn strided() -> Vec<Case> {
    let row = |data_type, [height, width]: [u32; 2]| {
        Band::eye(data_type, &[height, width]).with_row_pitch(width + 3)
    };
    TYPES
        .map(|(data_type, name)| {
            let work = row(data_type, near_square(data_type, 64 * MIB));
            case(format!("strided/{name}/64MiB"), work, Baseline::Fill, Some(1.3))
        })
        .to_vec()
}

fn with_input() -> Vec<Case> {
    let mut cases = Vec::new();
    for (data_type, name) in [(DataType::Float32, "f32"), (DataType::Uint8, "u8")] {
        let eye = Band::eye(data_type, &near_square(data_type, 64 * MIB));
        for (kind, work, target) in [
            ("diagonal", eye.clone().with_input(), 1.2),
            ("trilu_upper", eye.clone().trilu_upper(), 1.15),
            ("trilu_lower", eye.trilu_lower(), 1.15),
        ] {
            cases.push(case(
                format!("input/{name}/64MiB/{kind}"),
                work,
                Baseline::Copy,
                Some(target),
            ));
        }
    }
    cases
}

fn latency() -> Vec<Case> {
    TYPES
        .map(|(data_type, name)| {
            let work = Band::eye(data_type, &[3, 3]);
            case(format!("latency/{name}/3x3"), work, Baseline::EmptySubmit, Some(1.25))
        })
        .to_vec()
}

fn eye_peers(onnx: bool) -> Vec<Other> {
    let third = |name| if onnx { Other::at_most(1.0 / 3.0, name) } else { Other::told(name) };
    let mut peers = ["numpy:eye", "numpy:preallocated"].map(Other::told).to_vec();
    if onnx {
        peers.push(Other::told("onnxruntime:EyeLike"));
    }
    peers.extend([third("openvino:Eye"), Other::told("openvino:Eye_no_copy"), third("jax:eye")]);
    [peers, gpu_peers()].concat()
}

fn batch_peers() -> Vec<Other> {
    let third = |name| Other::at_most(1.0 / 3.0, name);
    let peers = vec![
        Other::told("numpy:broadcast_copy"),
        third("openvino:Eye"),
        Other::told("openvino:Eye_no_copy"),
        third("jax:eye"),
    ];
    [peers, gpu_peers()].concat()
}

/// Sums of 16 M elements, which move three times the bytes of the output where nothing is broadcast,
/// where a copy moves twice as many. GPUs are to reach 0.9 of a copy's bandwidth.
fn additions() -> Vec<Case> {
    const CONTIGUOUS: &str = "add/f32/64MiB";
    let sum = |id: &str, work: Add, gpu_target: f64, beside: Option<Other>| Case {
        gpu_target: Some(gpu_target / 0.9),
        beside: beside.into_iter().collect(),
        ..case(id, work, Baseline::Copy, None)
    };
    let packed = |data_type| Add::packed(data_type, &[4096, 4096]);
    let first = sum(CONTIGUOUS, packed(DataType::Float32), 1.5, None);
    let half = Other { only_on: Some(LAVAPIPE), ..Other::at_most(1.3, CONTIGUOUS) };
    let channels = Add::per_channel(DataType::Float32, &[1, 64, 512, 512]);
    let broadcast = Other::at_most(1.5, CONTIGUOUS);
    vec![
        Case { peers: addition_peers(), ..first },
        sum("add/f16/32MiB", packed(DataType::Float16), 1.5, Some(half)),
        sum("add/i8/16MiB", packed(DataType::Int8), 1.5, Some(Other::at_most(1.0, CONTIGUOUS))),
        sum("add/f32/64MiB/per_channel", channels, 1.0, Some(broadcast)),
    ]
}

/// clip(relu((a + b) / c)) of 16 M elements, as one kernel and as four, beside the sum alone.
fn chains() -> Vec<Case> {
    const SEPARATE: &str = "chain/f32/64MiB/separate";
    const SUM: &str = "chain/f32/64MiB/add_alone";
    let sizes = [4096, 4096];
    let chain = |fuse| Chain { sizes: sizes.to_vec(), fuse };
    let fused = case("chain/f32/64MiB/fused", chain(true), Baseline::Copy, None);
    let sum = Add::packed(DataType::Float32, &sizes);
    vec![
        Case { beside: vec![Other::at_most(0.6, SEPARATE), Other::told(SUM)], ..fused },
        case(SEPARATE, chain(false), Baseline::Copy, None),
        case(SUM, sum, Baseline::Copy, None),
    ]
}

/// On the same driver. The targets are for lavapipe alone.
fn addition_peers() -> Vec<Other> {
    ["iree:add", "ncnn:add", "ncnn:add_alone"]
        .map(|name| Other { only_on: Some(LAVAPIPE), ..Other::at_most(1.0 / 1.5, name) })
        .to_vec()
}

/// There only where an NVIDIA GPU is.
fn gpu_peers() -> Vec<Other> {
    vec![
        Other::at_most(1.0, "torch:eye"),
        Other::told("cupy:eye"),
        Other::at_most(1.0 / 0.95, "cupy:cudaMemset"),
    ]
}

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
        assert_eq!(on(Other::told("numpy:eye")), [None, None]);
    }

    #[test]
    fn what_a_case_is_compared_with_is_in_its_group() {
        for group in all() {
            for other in group.iter().flat_map(|case| &case.beside) {
                assert!(group.iter().any(|case| case.id == other.name), "{}", other.name);
            }
        }
    }

    #[test]
    fn every_case_has_its_own_name_and_the_bytes_in_it() {
        let cases = all().concat();
        let mut ids: Vec<_> = cases.iter().map(|case| &case.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), cases.len());
        for case in &cases {
            let Some(mib) = case.id.split('/').find_map(|part| part.strip_suffix("MiB")) else {
                continue;
            };
            let mib: u64 = mib.parse().unwrap();
            assert!(case.work.bytes() >= mib * MIB, "{}", case.id);
            assert!(case.work.bytes() < mib * MIB + 64, "{}", case.id);
        }
    }
}
