//! Versions of operators: the first ones, and those of the highest opset.

use std::cell::RefCell;

use dml_import::{ElementType, Inputs, Model, SmallFloat, Tensor};

use crate::common::device::on_one_device;
use crate::common::onnx::{Graph, Message, float, ints, model, node, text, value};
use crate::common::openvino::{self, EyeInput};
use crate::common::single::{check_near_of, check_of, refusal_of};
use crate::common::{element, f32s, int64, run_on_both, tensors};

/// A node with attributes of any kind.
fn with(node: Message, attributes: &[Message]) -> Message {
    attributes.iter().fold(node, |it, attribute| it.message(5, attribute.clone()))
}

/// An operator whose input `x` may be overwritten.
fn consuming(op: &str) -> Message {
    with(node(op, &["x"], &["y"], &[]), &[ints("consumed_inputs", &[0])])
}

/// Integers of a type, wrapped around.
fn integers(name: &str, shape: &[u64], values: &[i64]) -> Tensor {
    let element = element(name);
    let width = usize::try_from(element.size().unwrap()).unwrap();
    let bytes: Vec<u8> =
        values.iter().flat_map(|value| value.to_le_bytes()[..width].to_vec()).collect();
    Tensor::new(element, shape, bytes).unwrap()
}

#[test]
fn first_versions_of_element_wise_operators_may_consume_their_input() {
    for (op, given, expected) in [
        ("Abs", [-2.5, 4.0], [2.5, 4.0]),
        ("Ceil", [-2.5, 4.25], [-2.0, 5.0]),
        ("Exp", [0.0, -0.0], [1.0, 1.0]),
        ("Floor", [-2.5, 4.25], [-3.0, 4.0]),
        ("Log", [1.0, 1.0], [0.0, 0.0]),
        ("Neg", [-2.5, 4.0], [2.5, -4.0]),
        ("Reciprocal", [-2.0, 4.0], [-0.5, 0.25]),
        ("Relu", [-2.5, 4.0], [0.0, 4.0]),
        ("Sigmoid", [0.0, -0.0], [0.5, 0.5]),
        ("Sqrt", [4.0, 2.25], [2.0, 1.5]),
        ("Tanh", [0.0, 0.0], [0.0, 0.0]),
        ("Sum", [1.0, 2.0], [1.0, 2.0]),
        ("Mean", [1.0, 2.0], [1.0, 2.0]),
        ("Max", [1.0, 2.0], [1.0, 2.0]),
        ("Min", [1.0, 2.0], [1.0, 2.0]),
    ] {
        let x = f32s(&[2], &given);
        for opset in [1, 5] {
            check_of(opset, &consuming(op), &[("x", &x)], &f32s(&[2], &expected));
        }
        assert!(refusal_of(13, &consuming(op), &[("x", &x)]).contains("consumed_inputs"), "{op}");
    }
    let (a, b) = (f32s(&[2], &[1.0, 6.0]), f32s(&[2], &[3.0, 2.0]));
    for (op, expected) in [
        ("Add", [4.0, 8.0]),
        ("Sub", [-2.0, 4.0]),
        ("Mul", [3.0, 12.0]),
        ("Div", [0.333_333_34, 3.0]),
        ("Sum", [4.0, 8.0]),
        ("Mean", [2.0, 4.0]),
        ("Max", [3.0, 6.0]),
        ("Min", [1.0, 2.0]),
    ] {
        let node = with(node(op, &["a", "b"], &["y"], &[]), &[ints("consumed_inputs", &[0, 0])]);
        check_near_of(1, &node, &[("a", &a), ("b", &b)], &[2], &expected);
    }
}

#[test]
fn first_versions_of_activations_have_their_attributes() {
    let x = f32s(&[2], &[-2.0, 3.0]);
    for (op, attributes, expected) in [
        ("Elu", vec![], [-0.864_664_7, 3.0]),
        ("HardSigmoid", vec![float("alpha", 0.125), float("beta", 0.5)], [0.25, 0.875]),
        ("LeakyRelu", vec![float("alpha", 0.5)], [-1.0, 3.0]),
        ("Selu", vec![float("alpha", 1.0), float("gamma", 2.0)], [-1.729_329_4, 6.0]),
        ("Clip", vec![float("min", -1.0), float("max", 2.0)], [-1.0, 2.0]),
    ] {
        check_near_of(1, &with(consuming(op), &attributes), &[("x", &x)], &[2], &expected);
    }
    // 0 and 1, plus a mean of 2 and a deviation of 1.
    let x = f32s(&[1, 1, 2], &[1.0, 3.0]);
    let (scale, bias) = (f32s(&[1], &[2.0]), f32s(&[1], &[0.5]));
    let inputs = [("x", &x), ("s", &scale), ("b", &bias)];
    let attributes = [float("epsilon", 0.0), ints("consumed_inputs", &[0, 0, 0])];
    let node = with(node("InstanceNormalization", &["x", "s", "b"], &["y"], &[]), &attributes);
    check_near_of(1, &node, &inputs, &[1, 1, 2], &[-1.5, 2.5]);
}

#[test]
fn the_first_cast_names_its_type() {
    let x = f32s(&[3], &[-1.5, 0.0, 3.0]);
    let cast = |to| with(node("Cast", &["x"], &["y"], &[]), &[text("to", to)]);
    for (name, type_name) in
        [("INT8", "int8"), ("UINT16", "uint16"), ("INT32", "int32"), ("INT64", "int64")]
    {
        let expected = if name == "UINT16" { [0, 0, 3] } else { [-1, 0, 3] };
        check_of(1, &cast(name), &[("x", &x)], &integers(type_name, &[3], &expected));
    }
    let truth = Tensor::new(ElementType::Bool, [3], vec![1, 0, 1]).unwrap();
    check_of(5, &cast("BOOL"), &[("x", &x)], &truth);
    let message = refusal_of(1, &cast("WHOLE"), &[("x", &x)]);
    assert!(
        message.contains("WHOLE is not a type; accepted: the names of TensorProto"),
        "{message}"
    );
}

#[test]
fn first_versions_of_movements_have_attributes_in_place_of_inputs() {
    let x = f32s(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let given = [("x", &x)];
    let reshape = |shape: &[i64]| with(consuming("Reshape"), &[ints("shape", shape)]);
    check_of(1, &reshape(&[-1]), &given, &f32s(&[4], &[1.0, 2.0, 3.0, 4.0]));
    check_of(4, &reshape(&[0, 1, -1]), &given, &f32s(&[2, 1, 2], &[1.0, 2.0, 3.0, 4.0]));
    let one = f32s(&[1, 1], &[5.0]);
    check_of(1, &reshape(&[]), &[("x", &one)], &f32s(&[], &[5.0]));
    let pad = [ints("paddings", &[0, 1, 1, 0]), float("value", 9.0)];
    let pad = with(node("Pad", &["x"], &["y"], &[]), &pad);
    let padded = [9.0, 1.0, 2.0, 9.0, 3.0, 4.0, 9.0, 9.0, 9.0];
    check_of(1, &pad, &given, &f32s(&[3, 3], &padded));
    // The default axis is the second one.
    let joined = f32s(&[2, 4], &[1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0]);
    check_of(1, &node("Concat", &["x", "x"], &["y"], &[]), &given, &joined);
    let joined = f32s(&[4, 2], &[1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0]);
    check_of(3, &node("Concat", &["x", "x"], &["y"], &[("axis", 0)]), &given, &joined);
    let split = with(node("Split", &["x"], &["z", "y"], &[("axis", 1)]), &[ints("split", &[1, 1])]);
    check_of(1, &split, &given, &f32s(&[2, 1], &[2.0, 4.0]));
    let equal = node("Split", &["x"], &["z", "y"], &[]);
    check_of(1, &equal, &given, &f32s(&[1, 2], &[3.0, 4.0]));
}

#[test]
fn first_versions_count_with_numbers_of_the_type_of_their_input() {
    let x = f32s(&[3, 1], &[1.0, 2.0, 3.0]);
    let lengths = f32s(&[2], &[1.0, 2.0]);
    let split = node("Split", &["x", "l"], &["z", "y"], &[("axis", 0)]);
    check_of(1, &split, &[("x", &x), ("l", &lengths)], &f32s(&[2, 1], &[2.0, 3.0]));
    let broken = f32s(&[2], &[1.5, 1.5]);
    let message = refusal_of(1, &split, &[("x", &x), ("l", &broken)]);
    assert!(message.contains("split: 1.5 is not a whole number"), "{message}");
    let tile = node("Tile", &["x", "t", "a"], &["y"], &[]);
    let tiled = f32s(&[3, 2], &[1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
    let (times, axis) = (f32s(&[1], &[2.0]), f32s(&[1], &[1.0]));
    check_of(1, &tile, &[("x", &x), ("t", &times), ("a", &axis)], &tiled);
    let (times, axis) = (int64(&[], &[2]), int64(&[], &[-1]));
    check_of(5, &tile, &[("x", &x), ("t", &times), ("a", &axis)], &tiled);
    let message = refusal_of(1, &tile, &[("x", &x), ("t", &times), ("a", &int64(&[], &[2]))]);
    assert!(message.contains("axis: 2 is not a dimension"), "{message}");
}

#[test]
fn the_first_dropouts_keep_everything_unless_they_are_trained() {
    let x = f32s(&[2], &[1.0, 2.0]);
    let tested = node("Dropout", &["x"], &["y", "m"], &[("is_test", 1)]);
    let trained = node("Dropout", &["x"], &["y"], &[]);
    let without_loss = with(trained.clone(), &[float("ratio", 0.0)]);
    for opset in [1, 6] {
        check_of(opset, &tested, &[("x", &x)], &x);
        check_of(opset, &without_loss, &[("x", &x)], &x);
        let message = refusal_of(opset, &trained, &[("x", &x)]);
        assert!(message.contains("training, whose results are random"), "{message}");
    }
}

#[test]
fn first_versions_of_poolings_and_networks_run() {
    let x = f32s(&[1, 1, 4], &[3.0, 4.0, 6.0, 8.0]);
    let attributes = [ints("kernel_shape", &[2]), ints("strides", &[2]), float("p", 2.0)];
    let pool = with(node("LpPool", &["x"], &["y"], &[]), &attributes);
    check_near_of(1, &pool, &[("x", &x)], &[1, 1, 2], &[5.0, 10.0]);
    let pool = |p| with(node("GlobalLpPool", &["x"], &["y"], &[]), &[float("p", p)]);
    check_near_of(1, &pool(1.0), &[("x", &x)], &[1, 1, 1], &[21.0]);
    let message = refusal_of(1, &pool(1.5), &[("x", &x)]);
    assert!(message.contains("attribute p"), "{message}");
    let (x, w) = (f32s(&[2, 1, 1], &[0.5, -1.0]), f32s(&[1, 1, 1], &[1.0]));
    let r = f32s(&[1, 1, 1], &[0.0]);
    let ints = [("hidden_size", 1), ("output_sequence", 1)];
    let inputs = [("x", &x), ("w", &w), ("r", &r)];
    let rnn = node("RNN", &["x", "w", "r"], &["y"], &ints);
    check_near_of(1, &rnn, &inputs, &[2, 1, 1, 1], &[0.462_117_16, -0.761_594_2]);
}

#[test]
fn the_highest_opset_is_28() {
    let of = |opset| {
        let nodes = vec![node("Neg", &["x"], &["y"], &[])];
        let (inputs, outputs) = (vec![value("x", 1, &[])], vec![value("y", 1, &[])]);
        Model::from_bytes(model(opset, Graph { nodes, inputs, outputs, ..Graph::default() }))
    };
    assert!(of(28).is_ok());
    let message = of(29).unwrap_err().to_string();
    assert!(message.contains("ai.onnx 29 is not known; accepted: 1 to 28"), "{message}");
}

#[test]
fn numbers_with_a_sign_keep_it_when_their_bits_move_right() {
    let shift = |direction| {
        with(node("BitShift", &["x", "n"], &["y"], &[]), &[text("direction", direction)])
    };
    for (name, least) in
        [("int8", -128), ("int16", -32768), ("int32", -(1 << 31)), ("int64", i64::MIN)]
    {
        let bits = i64::from(element(name).storage().unwrap().bits());
        let x = integers(name, &[6], &[least, -1, 5, 127, -7, 1]);
        let places = integers(name, &[6], &[bits - 1, bits, -1, 3, 1, bits - 1]);
        let inputs = [("x", &x), ("n", &places)];
        let right = integers(name, &[6], &[-1, -1, 0, 15, -4, 0]);
        check_of(28, &shift("RIGHT"), &inputs, &right);
        let left = integers(name, &[6], &[0, 0, 0, 127 << 3, -14, least]);
        check_of(28, &shift("LEFT"), &inputs, &left);
        let one = integers(name, &[1], &[1]);
        let halves = integers(name, &[6], &[least / 2, -1, 2, 63, -4, 0]);
        check_of(28, &shift("RIGHT"), &[("x", &x), ("n", &one)], &halves);
    }
    let x = integers("uint8", &[2], &[200, 255]);
    let inputs = [("x", &x), ("n", &integers("uint8", &[1], &[1]))];
    check_of(28, &shift("RIGHT"), &inputs, &integers("uint8", &[2], &[100, 127]));
    let message = refusal_of(28, &shift("UP"), &inputs);
    assert!(message.contains("attribute direction: \"UP\" is unknown"), "{message}");
}

#[test]
fn space_to_depth_orders_blocks_by_columns_from_opset_28_on() {
    let values: Vec<f32> = (0..16_u8).map(f32::from).collect();
    let x = f32s(&[1, 2, 2, 4], &values);
    let of = |mode: &str| {
        let node = node("SpaceToDepth", &["x"], &["y"], &[("blocksize", 2)]);
        with(node, &[text("mode", mode)])
    };
    let depth_first =
        [0.0, 2.0, 8.0, 10.0, 1.0, 3.0, 9.0, 11.0, 4.0, 6.0, 12.0, 14.0, 5.0, 7.0, 13.0, 15.0];
    let columns_first =
        [0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0, 8.0, 10.0, 9.0, 11.0, 12.0, 14.0, 13.0, 15.0];
    check_of(28, &of("DCR"), &[("x", &x)], &f32s(&[1, 8, 1, 2], &depth_first));
    check_of(28, &of("CRD"), &[("x", &x)], &f32s(&[1, 8, 1, 2], &columns_first));
    assert!(refusal_of(27, &of("CRD"), &[("x", &x)]).contains("mode is not an attribute"));
}

#[test]
fn swi_glu_multiplies_by_a_swish() {
    let (a, b) = (f32s(&[3], &[-1.0, 0.0, 2.0]), f32s(&[3], &[2.0, 5.0, -3.0]));
    let inputs = [("a", &a), ("b", &b)];
    let of = |alpha: f32| {
        let of = |a: f32, b: f32| a / (1.0 + (-alpha * a).exp()) * b;
        [of(-1.0, 2.0), 0.0, of(2.0, -3.0)]
    };
    let gated = node("SwiGLU", &["a", "b"], &["y"], &[]);
    check_near_of(28, &gated, &inputs, &[3], &of(1.0));
    check_near_of(28, &with(gated.clone(), &[float("alpha", 1.5)]), &inputs, &[3], &of(1.5));
    let message = refusal_of(28, &gated, &[("a", &a), ("b", &f32s(&[1], &[1.0]))]);
    assert!(message.contains("B: [1] is the wrong shape; accepted: [3]"), "{message}");
    assert!(refusal_of(27, &gated, &inputs).contains("28 and later"));
}

#[test]
fn the_modulus_of_floats_has_the_sign_of_the_divisor_unless_fmod_is_set() {
    let inf = f32::INFINITY;
    let a = f32s(&[6], &[-5.5, 5.5, -0.0, 3.0, -3.0, 0.0]);
    let b = f32s(&[6], &[2.0, -2.0, 1.0, inf, inf, -1.0]);
    let modulus = node("Mod", &["a", "b"], &["y"], &[]);
    let expected = f32s(&[6], &[0.5, -0.5, 0.0, 3.0, inf, -0.0]);
    check_of(28, &modulus, &[("a", &a), ("b", &b)], &expected);
}

/// A matrix of 2 rows and 3 columns with ones from the second column on.
fn eye(output_type: &str) -> Result<Tensor, String> {
    let scalar = || EyeInput::parameter("i64", "");
    let (xml, _) = openvino::eye(output_type, &[scalar(), scalar(), scalar()]);
    let number = |value| int64(&[], &[value]);
    let inputs = Inputs::new().with_tensor("rows", number(2)).with_tensor("cols", number(3));
    let inputs = inputs.with_tensor("k", number(1));
    let model = Model::from_bytes(xml.clone()).unwrap();
    let found = RefCell::new(Err("no device".to_owned()));
    on_one_device(xml.as_bytes(), |device| {
        *found.borrow_mut() = run_on_both(device, &model, &inputs)
            .map_err(|error| error.to_string())
            .map(|[host, device]| {
                assert_eq!(tensors(&host), tensors(&device));
                tensors(&host).remove(0)
            });
    });
    found.into_inner()
}

#[test]
fn openvino_s_eye_writes_bit_patterns_of_one_in_every_numeric_type() {
    for (name, element, one) in [
        ("f8e4m3", ElementType::Small(SmallFloat::E4m3fn), 0x38),
        ("f8e5m2", ElementType::Small(SmallFloat::E5m2), 0x3c),
        ("i4", ElementType::Int4, 1),
        ("u4", ElementType::Uint4, 1),
        ("i8", element("int8"), 1),
    ] {
        let expected = Tensor::new(element, [2, 3], vec![0, one, 0, 0, 0, one]).unwrap();
        assert_eq!(eye(name).unwrap(), expected, "{name}");
    }
    for name in ["u1", "nf4", "f8e8m0", "string"] {
        let message = eye(name).unwrap_err();
        let problem = format!("output_type: {name} is a type that this runtime has no tensors of");
        assert!(message.contains(&problem), "{message}");
    }
}

#[test]
fn ranges_of_opset_27_are_of_bfloat16_too() {
    let scalar = |bits: u16| Tensor::new(ElementType::Bfloat16, [], bits.to_le_bytes().to_vec());
    let [start, limit, delta] = [0x3f80, 0x4080, 0x3f80].map(|bits| scalar(bits).unwrap());
    let range = node("Range", &["s", "l", "d"], &["y"], &[("stash_type", 1)]);
    let bytes: Vec<u8> =
        [0x3f80_u16, 0x4000, 0x4040].iter().flat_map(|it| it.to_le_bytes()).collect();
    let expected = Tensor::new(ElementType::Bfloat16, [3], bytes).unwrap();
    check_of(27, &range, &[("s", &start), ("l", &limit), ("d", &delta)], &expected);
}
