//! Floats of 4 and 8 bits, and integers of 2 bits.

use super::common::device::on_every_device;
use super::common::onnx::{Graph, Message, model, node, number, value};
use super::common::single::{check_of, refusal_of};
use super::common::{f32s, run_on_both, tensors};
use dml_import::{ElementType, Inputs, Model, SmallFloat, Tensor};

/// A format with its exponent and fraction bits, its bias, and its greatest number.
struct Format {
    element: ElementType,
    bits: [u32; 2],
    bias: i32,
    greatest: f32,
}

const FORMATS: [Format; 5] = [
    format(SmallFloat::E4m3fn, [4, 3], 7, 448.0),
    format(SmallFloat::E4m3fnuz, [4, 3], 8, 240.0),
    format(SmallFloat::E5m2, [5, 2], 15, 57344.0),
    format(SmallFloat::E5m2fnuz, [5, 2], 16, 57344.0),
    format(SmallFloat::E2m1, [2, 1], 1, 6.0),
];

const fn format(format: SmallFloat, bits: [u32; 2], bias: i32, greatest: f32) -> Format {
    Format { element: ElementType::Small(format), bits, bias, greatest }
}

impl Format {
    /// The patterns of finite numbers with their values, from the definition.
    fn finite(&self) -> Vec<(u8, f32)> {
        let [exponent_bits, fraction_bits] = self.bits;
        let sign = 1_u32 << (exponent_bits + fraction_bits);
        let value = |pattern: u32| {
            let exponent = (pattern % sign) >> fraction_bits;
            let fraction = (pattern % (1 << fraction_bits)) as f32 / (1 << fraction_bits) as f32;
            let magnitude = match exponent {
                0 => fraction * 2f32.powi(1 - self.bias),
                _ => (1.0 + fraction) * 2f32.powi(exponent.cast_signed() - self.bias),
            };
            if pattern < sign { magnitude } else { -magnitude }
        };
        let all = (0..2 * sign).map(|it| (it as u8, value(it)));
        let has_zero = |it: &(u8, f32)| {
            let is_only_nan = self.element.to_string().ends_with("fnuz");
            !(is_only_nan && it.1 == 0.0 && it.0 != 0)
        };
        all.filter(|(_, value)| value.abs() <= self.greatest).filter(has_zero).collect()
    }

    /// The value that a number is rounded to: the nearest one, and the even pattern between two.
    fn rounded(&self, number: f32) -> f32 {
        let distance = |value: f32| (f64::from(value) - f64::from(number)).abs();
        let all = self.finite();
        let near = all.iter().map(|it| distance(it.1)).fold(f64::INFINITY, f64::min);
        let mut nearest = all.iter().filter(|it| distance(it.1) == near);
        let first = nearest.clone().next().unwrap();
        nearest.find(|it| it.0 % 2 == 0).unwrap_or(first).1
    }
}

fn cast(to: ElementType, more: &[(&str, i64)]) -> Message {
    node("Cast", &["x"], &["y"], &[&[("to", number(to))], more].concat())
}

#[test]
fn every_pattern_has_its_value() {
    for format in FORMATS {
        let (patterns, values): (Vec<u8>, Vec<f32>) = format.finite().into_iter().unzip();
        let shape = [patterns.len() as u64];
        let given = Tensor::new(format.element, shape, patterns).unwrap();
        check_of(24, &cast(ElementType::FLOAT32, &[]), &[("x", &given)], &f32s(&shape, &values));
    }
    let patterns =
        Tensor::new(ElementType::Small(SmallFloat::E8m0), [3], vec![0, 127, 254]).unwrap();
    let values = f32s(&[3], &[2f32.powi(-127), 1.0, 2f32.powi(127)]);
    check_of(24, &cast(ElementType::FLOAT32, &[]), &[("x", &patterns)], &values);
}

#[test]
fn numbers_become_the_nearest_value() {
    for format in FORMATS {
        let mut given: Vec<f32> = format.finite().iter().map(|it| it.1).collect();
        given.sort_by(f32::total_cmp);
        // Numbers between two values, and close to the middle on both sides.
        let middles: Vec<f32> = given.windows(2).map(|it| it[0].midpoint(it[1])).collect();
        given.extend(
            middles.iter().flat_map(|middle| [middle.next_down(), *middle, middle.next_up()]),
        );
        let expected: Vec<f32> = given.iter().map(|it| format.rounded(*it)).collect();
        let there_and_back = vec![
            node("Cast", &["x"], &["small"], &[("to", number(format.element))]),
            node("Cast", &["small"], &["y"], &[("to", 1)]),
        ];
        let inputs = vec![value("x", 1, &[None])];
        let outputs = vec![value("y", 1, &[])];
        let graph = Graph { nodes: there_and_back, inputs, outputs, ..Graph::default() };
        let model = Model::from_bytes(model(24, graph)).unwrap();
        let shape = [given.len() as u64];
        let inputs = Inputs::new().with_tensor("x", f32s(&shape, &given));
        on_every_device(|device| {
            for found in run_on_both(device, &model, &inputs).unwrap() {
                for (at, found) in super::numbers(&tensors(&found)[0]).iter().enumerate() {
                    let (given, expected) = (given[at], expected[at]);
                    assert_eq!(*found, expected, "{given} as {}", format.element);
                }
            }
        });
    }
}

#[test]
fn numbers_beyond_the_greatest_saturate_unless_that_is_switched_off() {
    let given = f32s(&[3], &[1e30, f32::NEG_INFINITY, 70000.0]);
    for (format, saturated, infinite) in [
        (SmallFloat::E4m3fn, [0x7e, 0xfe, 0x7e], [0x7f, 0xff, 0x7f]),
        (SmallFloat::E4m3fnuz, [0x7f, 0xff, 0x7f], [0x80; 3]),
        (SmallFloat::E5m2, [0x7b, 0xfb, 0x7b], [0x7c, 0xfc, 0x7c]),
        (SmallFloat::E5m2fnuz, [0x7f, 0xff, 0x7f], [0x80; 3]),
    ] {
        let element = ElementType::Small(format);
        let of = |bytes: [u8; 3]| Tensor::new(element, [3], bytes.to_vec()).unwrap();
        check_of(24, &cast(element, &[]), &[("x", &given)], &of(saturated));
        check_of(24, &cast(element, &[("saturate", 0)]), &[("x", &given)], &of(infinite));
    }
}

#[test]
fn small_floats_are_quantized_and_dequantized() {
    let element = ElementType::Small(SmallFloat::E4m3fn);
    let (x, scale) = (f32s(&[4], &[1.0, -3.0, 1000.0, 0.3]), f32s(&[], &[2.0]));
    let quantize =
        node("QuantizeLinear", &["x", "s"], &["y"], &[("output_dtype", number(element))]);
    // 0.5, -1.5, 448 and 0.15 as 1.25 * 2^-3 = 0.15625.
    let bytes = vec![0x30, 0xbc, 0x7e, 0x22];
    let quantized = Tensor::new(element, [4], bytes).unwrap();
    check_of(23, &quantize, &[("x", &x), ("s", &scale)], &quantized);
    let dequantize = node("DequantizeLinear", &["x", "s"], &["y"], &[]);
    let expected = f32s(&[4], &[1.0, -3.0, 896.0, 0.3125]);
    check_of(23, &dequantize, &[("x", &quantized), ("s", &scale)], &expected);
}

#[test]
fn integers_of_2_bits_wrap_around() {
    let given = f32s(&[6], &[-3.0, -1.0, 0.0, 1.9, 2.0, 5.0]);
    for (element, bytes) in
        [(ElementType::Int2, [1, 0xff, 0, 1, 0xfe, 1]), (ElementType::Uint2, [1, 3, 0, 1, 2, 1])]
    {
        let expected = Tensor::new(element, [6], bytes.to_vec()).unwrap();
        check_of(25, &cast(element, &[]), &[("x", &given)], &expected);
    }
}

#[test]
fn four_integers_of_2_bits_are_in_a_byte_of_a_file() {
    let weight = Message::default().int(1, 5).int(2, number(ElementType::Int2)).text(8, "w");
    let nodes = vec![node("Cast", &["w"], &["y"], &[("to", 3)])];
    let initializers = vec![weight.bytes(9, &[0b11_10_01_00, 0b10])];
    let graph =
        Graph { nodes, initializers, outputs: vec![value("y", 3, &[])], ..Graph::default() };
    let program = Model::from_bytes(model(25, graph)).unwrap().bind(&Inputs::new()).unwrap();
    let found = tensors(&super::common::host::run(&program)).remove(0);
    assert_eq!(found.bytes(), [0, 1, 0xfe, 0xff, 0xfe]);
}

#[test]
fn small_floats_are_not_computed_with() {
    let given = Tensor::new(ElementType::Small(SmallFloat::E5m2), [1], vec![0]).unwrap();
    let error = refusal_of(24, &node("Exp", &["x"], &["y"], &[]), &[("x", &given)]);
    assert!(error.contains("does not support float8e5m2"), "{error}");
}
