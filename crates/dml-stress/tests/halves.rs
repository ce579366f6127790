//! FLOAT16 to FLOAT32 and back by every kernel that there is for it, on every device: all halves, and singles around
//! every half and between all halves.
//!
//! A device that does not promise to keep subnormal halves runs the kernels for those that do as well, without the
//! promise: that shows what the instruction gives there.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]

mod common;

use common::each_device;
use common::run::{Run, packed, word};
use dml::vk::{Device, DeviceType};
use dml_core::capabilities::{Feature, required_features};
use dml_core::kernel::{KernelDescription, KernelModule, Shared};
use dml_reference::Random;
use dml_spirv::element_wise::{
    AccessPattern, DIMENSIONS, ElementFormula, ElementWise, KernelOperand, MAX_INPUTS, Record,
};
use dml_spirv::functions::{F16_TO_F32, F32_TO_F16, Function};
use dml_spirv::{ElementWidth, Float16, NativeTypes};

/// A function on words.
fn run_of(function: &'static Function, numbers: &[u32]) -> Run {
    let operand = KernelOperand { width: ElementWidth::B32, access: AccessPattern::Whole };
    let mut sizes = [1; DIMENSIONS];
    sizes[DIMENSIONS - 1] = u32::try_from(numbers.len()).unwrap();
    let inputs = [packed(); MAX_INPUTS];
    Run {
        kernel: ElementWise {
            inputs: vec![operand],
            output: operand,
            second: None,
            outer_dimensions: 0,
            program: ElementFormula::of(function),
        },
        record: Record { sizes, inputs, output: packed(), parameters: Vec::new() },
        inputs: vec![numbers.iter().flat_map(|number| number.to_le_bytes()).collect()],
        output: vec![0xa5; 4 * numbers.len()],
    }
}

fn halves() -> Vec<u32> {
    (0..=u32::from(u16::MAX)).collect()
}

/// Every half as a single, what is halfway to the next one, the neighbours of both, and a million others.
fn singles() -> Vec<u32> {
    let finite = halves().into_iter().filter(|half| half & 0x7fff <= 0x7c00);
    let of_half = finite.flat_map(|half| {
        let single = u32::try_from((F16_TO_F32.twin)(&[half.into()])).unwrap();
        // From a half to what is halfway to the next one: half the weight of its last digit, in singles.
        let halfway = match half & 0x7fff {
            0 => 0x3300_0000,
            subnormal if subnormal < 0x400 => 1 << (22 - subnormal.ilog2()),
            _ => 1 << 12,
        };
        [single, single + halfway].into_iter().flat_map(|it| [it.wrapping_sub(1), it, it + 1])
    });
    let mut random = Random::new("halves");
    let others = std::iter::repeat_with(move || {
        let word = random.word();
        match word % 3 {
            0 => word,
            // Where halves are, and a little beyond.
            _ => word & 0x807f_ffff | (96 + random.below(50)) << 23,
        }
    });
    let mut all: Vec<u32> = of_half.chain(others.take(1 << 20)).collect();
    all.truncate(all.len() / 4 * 4);
    all
}

/// A conversion, and the magnitude of an infinity among its results: what is above is NaN.
struct Conversion {
    function: &'static Function,
    magnitude: u32,
    infinity: u32,
}

const TO_SINGLE: Conversion =
    Conversion { function: &F16_TO_F32, magnitude: 0x7fff_ffff, infinity: 0x7f80_0000 };
const TO_HALF: Conversion =
    Conversion { function: &F32_TO_F16, magnitude: 0x7fff, infinity: 0x7c00 };

impl Conversion {
    /// The bits that a number must become.
    fn expected(&self, number: u32) -> u32 {
        u32::try_from((self.function.twin)(&[number.into()])).unwrap()
    }

    fn is_nan(&self, result: u32) -> bool {
        result & self.magnitude > self.infinity && (self.magnitude > 0xffff || result <= 0xffff)
    }

    /// The numbers that a variant of the kernel gives another result for, each with that result. NaN is any NaN.
    fn wrong(
        &self,
        device: &Device,
        numbers: &[u32],
        variant: impl Fn(&ElementWise) -> Shared<KernelModule>,
    ) -> Vec<[u32; 2]> {
        let run = run_of(self.function, numbers);
        let found = run.by(device, variant(&run.kernel));
        let results = numbers.iter().enumerate().map(|(at, number)| [*number, word(&found, at)]);
        let is_wrong = |[number, result]: &[u32; 2]| {
            let expected = self.expected(*number);
            *result != expected && !(self.is_nan(expected) && self.is_nan(*result))
        };
        results.filter(is_wrong).collect()
    }
}

#[test]
fn halves_and_singles_around_them_are_converted_alike_by_every_kernel_of_a_device() {
    const WAYS: [Float16; 3] = [Float16::None, Float16::Normal, Float16::All];
    let (halves, singles) = (halves(), singles());
    each_device(|device| {
        let own = NativeTypes::of(device.capabilities().features);
        // A device that keeps subnormal halves also runs the kernels that do not count on it.
        let best = WAYS.iter().position(|it| *it == own.float16).unwrap();
        for float16 in WAYS.into_iter().take(best + 1) {
            let types = NativeTypes { float16, ..own };
            for (conversion, numbers) in [(TO_SINGLE, &halves), (TO_HALF, &singles)] {
                let wrong = conversion.wrong(device, numbers, |kernel| kernel.variant(types));
                let (name, count) = (&device.info().name, wrong.len());
                let function = conversion.function;
                assert!(
                    count == 0,
                    "{name}, {float16:?}, {function:?}: {count}, first {:x?}",
                    wrong[0]
                );
            }
        }
    });
}

/// The kernel that counts on subnormal halves, without saying so.
fn without_promise(kernel: &ElementWise) -> Shared<KernelModule> {
    const KEEPS_SUBNORMALS: [u32; 2] = [4464, 4459];
    let all = NativeTypes { float16: Float16::All, ..NativeTypes::NONE };
    let words = kernel.spirv(all);
    let (mut spirv, mut at) = (words[..5].to_vec(), 5);
    while let Some(first) = words.get(at) {
        let instruction = &words[at..at + (*first >> 16) as usize];
        let is_promise = match (first & 0xffff, instruction) {
            (17, [_, capability]) => *capability == KEEPS_SUBNORMALS[0],
            (16, [_, _, mode, ..]) => *mode == KEEPS_SUBNORMALS[1],
            _ => false,
        };
        if !is_promise {
            spirv.extend(instruction);
        }
        at += instruction.len();
    }
    assert!(spirv.len() < words.len());
    let features: Vec<Feature> = required_features(&spirv).unwrap().iter().collect();
    let bytes: Vec<u8> = spirv.into_iter().flat_map(u32::to_le_bytes).collect();
    let like = kernel.variant(all).description().clone();
    let (spirv, required_features) = (bytes.into(), features.into());
    KernelModule::new(KernelDescription { spirv, required_features, ..like }).into()
}

#[test]
fn only_subnormal_halves_depend_on_the_promise_to_keep_them() {
    let (halves, singles) = (halves(), singles());
    let is_subnormal = |half: u32| (1..0x400).contains(&(half & 0x7fff));
    each_device(|device| {
        let features = device.capabilities().features;
        if NativeTypes::of(features).float16 == Float16::None {
            // There is no kernel to force without such floats, as on SwiftShader, and none is chosen.
            assert!(!features.has(Feature::ShaderFloat16), "{}", device.info().name);
            return;
        }
        let to_single = TO_SINGLE.wrong(device, &halves, without_promise);
        let to_half = TO_HALF.wrong(device, &singles, without_promise);
        let lost = |[single, _]: &[u32; 2]| is_subnormal(TO_HALF.expected(*single));
        assert!(to_single.iter().all(|[half, _]| is_subnormal(*half)), "{to_single:x?}");
        assert!(to_half.iter().all(lost), "{to_half:x?}");
        // Lavapipe promises nothing, and keeps them all.
        if device.info().device_type == DeviceType::Cpu {
            assert_eq!([to_single.len(), to_half.len()], [0, 0], "{}", device.info().name);
        }
    });
}
