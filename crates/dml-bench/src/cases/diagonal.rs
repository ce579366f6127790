//! Matrices with a value in a band of diagonals.

use dml::DataType;

use crate::band::Band;
use crate::case::{Baseline, Case, Other};

const MIB: u64 = 1 << 20;

const TYPES: [(DataType, &str); 4] = [
    (DataType::Uint8, "u8"),
    (DataType::Float16, "f16"),
    (DataType::Float32, "f32"),
    (DataType::Float64, "f64"),
];

/// Each by itself.
pub(super) fn groups() -> Vec<Vec<Case>> {
    let all = [growth(), packed(), batches(), strided(), with_input(), latency()].concat();
    all.into_iter().map(|case| vec![case]).collect()
}

/// Small matrices up to where `packed` begins: the line of the plot.
fn growth() -> Vec<Case> {
    [("4KiB", 32), ("16KiB", 64), ("64KiB", 128), ("256KiB", 256), ("1MiB", 512), ("4MiB", 1024)]
        .map(|(name, width)| {
            let work = Band::eye(DataType::Float32, &[width, width]);
            Case::new(format!("growth/f32/{name}"), work, Baseline::Fill, None)
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
            let one = Case::new(id, work, Baseline::Fill, Some(target));
            cases.push(Case { gpu_target, peers, ..one });
        }
    }
    let narrow = Band::eye(DataType::Float32, &[32_768, 512]);
    cases.push(Case::new("packed/f32/64MiB/width512", narrow, Baseline::Fill, Some(1.10)));
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
            cases.push(Case::new(id, work, Baseline::Fill, Some(1.35)));
        }
    }
    for (data_type, name) in TYPES {
        let matrix = data_type.bits() / 8 * 512 * 512;
        let work = Band::eye(data_type, &[(64 << 20) / matrix, 512, 512]);
        cases.push(Case::new(
            format!("batch/{name}/64MiB/512x512"),
            work,
            Baseline::Fill,
            Some(1.10),
        ));
    }
    let large = Band::eye(DataType::Float32, &[16, 1024, 1024]);
    let one = Case::new("batch/f32/16x1024x1024", large, Baseline::Fill, Some(1.10));
    cases.push(Case { peers: batch_peers(), ..one });
    for (data_type, name, target) in
        [(DataType::Float32, "f32", Some(1.35)), (DataType::Int8, "i8", None)]
    {
        let work = Band::eye(data_type, &[1_000_000, 3, 3]);
        let one = Case::new(format!("batch/{name}/1000000x3x3"), work, Baseline::Fill, target);
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
            Case::new(format!("strided/{name}/64MiB"), work, Baseline::Fill, Some(1.3))
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
            cases.push(Case::new(
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
            Case::new(format!("latency/{name}/3x3"), work, Baseline::EmptySubmit, Some(1.25))
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

/// There only where an NVIDIA GPU is.
fn gpu_peers() -> Vec<Other> {
    vec![
        Other::at_most(1.0, "torch:eye"),
        Other::told("cupy:eye"),
        Other::at_most(1.0 / 0.95, "cupy:cudaMemset"),
    ]
}
