//! Resources, and the parts of them that are bound.

use super::*;

#[test]
fn a_deferred_resource_has_the_size_and_type_of_what_is_written_first() {
    let deferred = json!({ "initialValues": "deferred" });
    let s = sum(tensor(&[2]), tensor(&[2]), tensor(&[2]));
    let part = json!({ "name": "parts", "elementOffset": 4 });
    let commands = [
        dispatch("sum", json!({ "ATensor": "a", "BTensor": "a", "OutputTensor": "twice" })),
        dispatch("sum", json!({ "ATensor": "twice", "BTensor": "a", "OutputTensor": "out" })),
        dispatch("sum", json!({ "ATensor": "a", "BTensor": "a", "OutputTensor": part })),
        print("twice"),
        print("out"),
    ];
    let resources = json!({ "a": floats(&[1.5, 2.0]), "out": zeros(2), "twice": deferred,
                            "parts": deferred, "unused": deferred });
    let model = model(resources, json!({ "sum": s }), &commands);
    check(&model, &[&[3.0, 4.0], &[4.5, 6.0]]);
    let sizes: Vec<u64> = bind(&model).buffers().iter().map(|buffer| buffer.size).collect();
    // In the order of names: a, out, parts, twice, unused.
    assert_eq!(sizes, [8, 8, 24, 8, 4]);
}

#[test]
fn a_deferred_resource_is_written_before_it_is_used() {
    let deferred = json!({ "initialValues": "deferred" });
    let resources = || json!({ "d": deferred, "a": zeros(2) });
    let s = sum(tensor(&[2]), tensor(&[2]), tensor(&[2]));
    let refused = |command| refusal(&model(resources(), json!({ "sum": s }), &[command]));
    let read = json!({ "ATensor": "d", "BTensor": "a", "OutputTensor": "a" });
    for command in [
        print("d"),
        dispatch("sum", read),
        json!({ "type": "writeFile", "resource": "d", "targetPath": "d.npy" }),
    ] {
        let error = refused(command);
        assert!(
            error.contains("\"d\" is deferred, and no command before has written it"),
            "{error}"
        );
    }
    let json = json!({ "resources": { "a": { "initialValues": "later" } }, "dispatchables": {},
                       "commands": [] });
    let error = Model::from_bytes(json.to_string()).unwrap_err().to_string();
    assert!(error.contains("initialValues: \"later\" are not values"), "{error}");
}

#[test]
fn arrays_of_tensors_are_bound_to_parts_of_resources() {
    let join = json!({ "type": "DML_OPERATOR_JOIN", "desc": {
        "Axis": 0, "InputCount": 3, "InputTensors": [tensor(&[3]), tensor(&[2]), tensor(&[4])],
        "OutputTensor": tensor(&[9]) } });
    let split = json!({ "type": "DML_OPERATOR_SPLIT", "desc": {
        "Axis": 0, "InputTensor": tensor(&[8]), "OutputCount": 2,
        "OutputTensors": [tensor(&[4]), tensor(&[4])] } });
    // Without an element size, elements have the resource's type.
    let part = |name: &str, first, count| json!({ "name": name, "elementOffset": first, "elementCount": count });
    let bytes =
        json!({ "name": "b", "elementOffset": 16, "elementSizeInBytes": 1, "elementCount": 8 });
    let commands = [
        dispatch(
            "join",
            json!({
            "InputTensors": [part("a", 0, 3), bytes, part("a", 4, 4)], "OutputTensor": "out" }),
        ),
        dispatch(
            "split",
            json!({ "InputTensor": part("out", 0, 8),
            "OutputTensors": [part("halves", 64, 4), part("halves", 0, 4)] }),
        ),
        print("out"),
        print("halves"),
    ];
    let a = json!({ "initialValuesDataType": "FLOAT32",
                    "initialValues": { "valueCount": 8, "valueStart": 1, "valueDelta": 1 } });
    let model = model(
        json!({ "a": a, "b": floats(&[0.0, 0.0, 0.0, 0.0, 70.0, 80.0]), "out": zeros(9),
                "halves": zeros(68) }),
        json!({ "join": join, "split": split }),
        &commands,
    );
    let joined = [1.0, 2.0, 3.0, 70.0, 80.0, 5.0, 6.0, 7.0, 8.0];
    // The outputs are too far apart for one descriptor to cover both.
    let mut halves = [0.0; 68];
    halves[..4].copy_from_slice(&[80.0, 5.0, 6.0, 7.0]);
    halves[64..].copy_from_slice(&[1.0, 2.0, 3.0, 70.0]);
    check(&model, &[&joined, &halves]);
}

#[test]
fn a_part_of_a_resource_without_a_type_says_how_large_its_elements_are() {
    let mixed = json!({ "initialValuesDataType": "UNKNOWN", "initialValues": [
        { "name": "n", "type": "UINT32", "value": 6 }, { "type": "FLOAT32", "value": 2.5 }] });
    let s = sum(tensor(&[1]), tensor(&[1]), tensor(&[1]));
    let part = |part| {
        dispatch("sum", json!({ "ATensor": part, "BTensor": "mixed", "OutputTensor": "out" }))
    };
    let model = |command| {
        model(json!({ "mixed": mixed, "out": zeros(1) }), json!({ "sum": s }), &[command])
    };
    let error = refusal(&model(part(json!({ "name": "mixed", "elementCount": 1 }))));
    assert!(error.contains("ATensor.elementSizeInBytes: null is left out"), "{error}");
    assert!(bind(&model(part(json!({ "name": "mixed" })))).needs_device());
    let beyond = json!({ "name": "mixed", "elementOffset": u64::MAX, "elementSizeInBytes": 4 });
    let error = refusal(&model(part(beyond)));
    assert!(error.contains("is beyond the resource; accepted: up to 8 bytes"), "{error}");
}

#[test]
fn initial_values_may_begin_later() {
    let at = |offset, values: Value| {
        json!({
            "initialValuesDataType": "FLOAT32", "initialValues": values,
            "initialValuesOffsetInBytes": offset, "sizeInBytes": 12
        })
    };
    let sequence = json!({ "valueCount": 2, "valueStart": 3, "valueDelta": 0.5 });
    let model = model(
        json!({ "a": at(8, json!([1.5])), "b": at(4, sequence) }),
        json!({}),
        &[print("a"), print("b")],
    );
    check(&model, &[&[0.0, 0.0, 1.5], &[0.0, 3.0, 3.5]]);
    for (offset, problem) in [(9, "sizeInBytes: 12 is not a size"), (1u64 << 40, "is too large")] {
        let model = json!({ "resources": { "a": at(offset, json!([1.5])) }, "dispatchables": {},
                            "commands": [] });
        let error = Model::from_bytes(model.to_string()).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}
