//! ELEMENT_WISE_DIVIDE of FLOAT32 on every device against the host's division, which rounds once: random
//! operands, results at both ends of the range, and quotients half-way between two subnormal numbers.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]

mod common;

use common::{each_device, part};
use dml::core::operators::ElementWiseDivideDesc;
use dml::{DataType, Device, DeviceOptions, TensorDesc};
use dml_reference::{Random, edges};

const RANDOM: usize = 1 << 20;

/// Any bits with this exponent, or those of the least numbers.
fn with_exponent(random: &mut Random, exponent: u32) -> u32 {
    random.word() & 0x807f_ffff | exponent.min(254) << 23
}

fn pair(random: &mut Random) -> [u32; 2] {
    let exponent = random.below(255);
    match random.below(4) {
        0 => [random.word(), random.word()],
        // Results around 1, and around the least and the greatest normal numbers.
        1 => [exponent, exponent].map(|it| with_exponent(random, it)),
        2 => {
            let result = random.pick(&[0_u32, 1, 2, 24, 253, 254, 255]) + random.below(3);
            let dividend = (exponent + result).saturating_sub(127);
            [dividend, exponent].map(|it| with_exponent(random, it))
        }
        // An odd number of halves of the least number: divided by a power of two.
        _ => {
            let power = random.below(24);
            let odd = (2 * (random.word() >> (8 + power)) + 1) as f32;
            let dividend = odd * 2_f32.powi(-100);
            [dividend.to_bits(), 2_f32.powi(50).to_bits()]
        }
    }
}

fn pairs() -> Vec<[u32; 2]> {
    let mut random = Random::new("division");
    let edges: Vec<u32> =
        edges(DataType::Float32).into_iter().map(|it| u32::try_from(it).unwrap()).collect();
    let both = edges.iter().flat_map(|a| edges.iter().map(move |b| [*a, *b]));
    both.chain((0..RANDOM).map(|_| pair(&mut random))).collect()
}

fn quotient([a, b]: [u32; 2]) -> u32 {
    let quotient = f32::from_bits(a) / f32::from_bits(b);
    if quotient.is_nan() { 0x7fc0_0000 } else { quotient.to_bits() }
}

#[test]
fn quotients_are_rounded_once() {
    let pairs = pairs();
    let expected: Vec<u32> = pairs.iter().copied().map(quotient).collect();
    let subnormal = expected.iter().filter(|it| (1..0x80_0000).contains(&(*it & 0x7fff_ffff)));
    assert!(subnormal.count() > RANDOM / 20);
    let count = u32::try_from(pairs.len()).unwrap();
    let tensor = || TensorDesc::packed(DataType::Float32, &[count]);
    each_device(|vulkan| {
        let device = Device::from_vulkan(vulkan.clone(), &DeviceOptions::default()).unwrap();
        let (a_tensor, b_tensor, output_tensor) = (tensor(), tensor(), tensor());
        let desc = ElementWiseDivideDesc { a_tensor, b_tensor, output_tensor };
        let compiled = device.compile(desc).unwrap();
        let operand = |at: usize| {
            let bytes: Vec<u8> = pairs.iter().flat_map(|pair| pair[at].to_le_bytes()).collect();
            common::buffer(vulkan, &bytes)
        };
        let (a, b, output) = (operand(0), operand(1), operand(0));
        device.execute(&compiled, &[part(&a), part(&b)], &[part(&output)]).unwrap();
        let found = vulkan.read_buffer(&output, common::OFFSET..output.size()).unwrap();
        let (found, _) = found.as_chunks::<4>();
        for ((pair, expected), found) in pairs.iter().zip(&expected).zip(found) {
            let found = u32::from_le_bytes(*found);
            assert_eq!(found, *expected, "{pair:08x?}: {found:08x}, not {expected:08x}");
        }
    });
}
