//! The cards that times are estimated for.

/// The speeds and sizes of a card. Clocks are of a wave of 64 invocations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Card {
    pub(in super::super) name: &'static str,
    /// The family of GPUs whose compiled kernels are counted.
    pub(in super::super) family: &'static str,
    /// Units that each issue one instruction of a wave at a time.
    pub(super) simds: f64,
    /// Clocks of a microsecond.
    pub(super) clocks: f64,
    /// Bytes of memory in a microsecond.
    pub(super) bandwidth: f64,
    /// Clocks of a vector instruction on floats.
    pub(super) float_clocks: f64,
    /// Clocks of another vector instruction at full rate.
    pub(super) other_clocks: f64,
    /// Clocks of integer products, functions and doubles.
    pub(super) quarter_clocks: f64,
    /// Clocks of an access to shared memory.
    pub(super) shared_clocks: f64,
    /// Clocks of an access to memory, whatever it waits for.
    pub(super) access_clocks: f64,
    /// Clocks between two instructions of a wave that has its SIMD for itself.
    pub(super) chain_clocks: f64,
    /// Bytes of the cache that all share.
    pub(super) cache_bytes: u64,
    /// Clocks until a read arrives from that cache.
    pub(super) cache_latency: f64,
    /// Clocks until a read arrives from memory.
    pub(super) memory_latency: f64,
    /// Clocks until a read of shared memory arrives.
    pub(super) shared_latency: f64,
    /// Bytes that a read brings along, and that later reads of the same wave find near it.
    pub(super) line_bytes: f64,
    /// Clocks until such a later read arrives.
    pub(super) line_latency: f64,
    /// Waves that a SIMD holds at most.
    pub(super) resident_waves: f64,
    /// How the driver counts these: on RDNA in halves.
    pub(super) counted_waves: f64,
    /// Microseconds of starting a dispatch after a barrier.
    pub(super) after_barrier: f64,
    /// Microseconds of starting a dispatch beside others.
    pub(super) without_barrier: f64,
}

/// Radeon RX Vega 64.
const VEGA10: Card = Card {
    name: "Radeon RX Vega 64",
    family: "vega10",
    simds: 256.0,
    clocks: 1500.0,
    bandwidth: 484e3,
    float_clocks: 4.0,
    other_clocks: 4.0,
    quarter_clocks: 16.0,
    chain_clocks: 4.0,
    cache_bytes: 4 << 20,
    resident_waves: 10.0,
    counted_waves: 10.0,
    ..NAVI31
};

/// Radeon RX 6900 XT.
const NAVI21: Card = Card {
    name: "Radeon RX 6900 XT",
    family: "navi21",
    simds: 160.0,
    clocks: 2250.0,
    bandwidth: 512e3,
    cache_bytes: 4 << 20,
    ..NAVI31
};

/// Radeon RX 7900 XTX. Two operations in one instruction count as two.
const NAVI31: Card = Card {
    name: "Radeon RX 7900 XTX",
    family: "navi31",
    simds: 192.0,
    clocks: 2300.0,
    bandwidth: 960e3,
    float_clocks: 2.0,
    other_clocks: 2.0,
    quarter_clocks: 8.0,
    shared_clocks: 4.0,
    access_clocks: 8.0,
    chain_clocks: 2.0,
    cache_bytes: 6 << 20,
    cache_latency: 300.0,
    memory_latency: 800.0,
    shared_latency: 30.0,
    line_bytes: 128.0,
    // Waves read a line each for every invocation, which is more than the caches near them hold.
    line_latency: 300.0,
    resident_waves: 16.0,
    counted_waves: 32.0,
    after_barrier: 6.0,
    without_barrier: 4.0,
};

/// The card that was measured. A wave is two of its warps. Its compiler is not at hand, so the code is RADV's for
/// navi31; latencies, the clocks between instructions and those of starting were chosen so that estimates are near
/// what was measured (docs/gpu-without-a-gpu.md).
const H100: Card = Card {
    name: "NVIDIA H100 80GB HBM3",
    family: "navi31",
    // 132 multiprocessors of four schedulers.
    simds: 528.0,
    // The clock under load; the highest is 1980.
    clocks: 1755.0,
    // As an addition moves it; a copy by Vulkan's command is slower.
    bandwidth: 3e6,
    float_clocks: 2.0,
    // Integer operations take 4, moves and selections 2.
    other_clocks: 3.0,
    // As of integer products. Functions take 16.
    quarter_clocks: 4.0,
    cache_bytes: 50_000_000,
    cache_latency: 400.0,
    line_bytes: 32.0,
    line_latency: 40.0,
    resident_waves: 8.0,
    after_barrier: 2.6,
    without_barrier: 0.3,
    ..NAVI31
};

impl Card {
    /// The card that stands for a family of GPUs; `None` where there is none.
    pub(in super::super) fn of_family(family: &str) -> Option<&'static Self> {
        [&VEGA10, &NAVI21, &NAVI31].into_iter().find(|card| card.family == family)
    }

    /// The card of this name, if times were measured on it.
    pub(in super::super) fn measured(name: &str) -> Option<&'static Self> {
        [&H100].into_iter().find(|card| card.name == name)
    }
}
