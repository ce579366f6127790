//! The conversions of kernels' twins on the host, against the numbers that elements stand for.

use dml_core::DataType;
use dml_reference::Random;
use dml_reference::number::{Number, around_powers};
use dml_spirv::functions;

#[test]
fn twins_of_conversions_give_the_nearest_element() {
    use DataType::{Float16, Float32, Float64, Int32, Int64, Uint32, Uint64};
    let rows = [
        (&functions::F16_TO_F32, Float16, Float32),
        (&functions::F32_TO_F16, Float32, Float16),
        (&functions::U32_TO_F32, Uint32, Float32),
        (&functions::I32_TO_F32, Int32, Float32),
        (&functions::F32_TO_U32, Float32, Uint32),
        (&functions::F32_TO_I32, Float32, Int32),
        (&functions::U64_TO_F32, Uint64, Float32),
        (&functions::I64_TO_F32, Int64, Float32),
        (&functions::F32_TO_U64, Float32, Uint64),
        (&functions::F32_TO_I64, Float32, Int64),
        (&functions::F64_TO_F32, Float64, Float32),
        (&functions::F64_TO_F16, Float64, Float16),
        (&functions::F32_TO_F64, Float32, Float64),
        (&functions::U32_TO_F64, Uint32, Float64),
        (&functions::I32_TO_F64, Int32, Float64),
        (&functions::U64_TO_F64, Uint64, Float64),
        (&functions::I64_TO_F64, Int64, Float64),
        (&functions::F64_TO_U64, Float64, Uint64),
        (&functions::F64_TO_I64, Float64, Int64),
        (&functions::F64_TO_U32, Float64, Uint32),
        (&functions::F64_TO_I32, Float64, Int32),
    ];
    for (function, from, to) in rows {
        let mut random = Random::new(function.name);
        let mask = u64::MAX >> (64 - from.bits());
        let drawn = std::iter::repeat_with(|| {
            let bits = u64::from(random.word()) << 32 | u64::from(random.word());
            // Large and small integers and exponents alike.
            bits >> (random.word() % 64) & mask
        });
        for bits in around_powers(from.bits()).chain(drawn.take(50_000)) {
            let (found, number) = ((function.twin)(&[bits]), Number::decode(from, bits));
            let is_right = match number {
                Number::Nan => Number::decode(to, found) == Number::decode(to, number.encode(to)),
                _ => found == number.encode(to),
            };
            assert!(is_right, "{function:?} of {bits:#x} is {found:#x}, not {number:?}");
        }
    }
}
