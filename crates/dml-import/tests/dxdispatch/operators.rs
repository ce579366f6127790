//! Operators, and what stands beside them.

use super::*;

#[test]
fn commands_that_dispatch_large_operators_without_end_are_limited() {
    let many = vec![tensor(&[1]); 5000];
    let desc = json!({ "InputCount": 5000, "InputTensors": many, "OutputTensor": tensor(&[5000]),
                       "Axis": 0 });
    let commands = vec![dispatch("join", json!({})); 1000];
    let dispatchables = json!({ "join": { "type": "JOIN", "desc": desc } });
    let error = refusal(&model(json!({}), dispatchables, &commands));
    assert!(error.contains("is one tensor too many in all commands"), "{error}");
}

/// `out = a + weights`, where the weights are bound to the operator itself.
fn initialized(more: &[Value]) -> Model {
    let mut sum = sum(tensor(&[2]), owned(&[2]), tensor(&[2]));
    sum["bindings"] = json!({ "BTensor": "weights" });
    sum["executionFlags"] =
        json!(["DML_EXECUTION_FLAG_DISABLE_META_COMMANDS", "descriptors_volatile"]);
    sum["dmlCompileType"] = json!("DmlCompileGraph");
    let copy = json!({ "type": "ELEMENT_WISE_IDENTITY", "desc": {
        "InputTensor": tensor(&[2]), "OutputTensor": tensor(&[2]) } });
    let run = dispatch("sum", json!({ "ATensor": "a", "OutputTensor": "out" }));
    let commands = [more, &[run, print("out")]].concat();
    model(
        json!({ "a": floats(&[1.0, 2.0]), "weights": floats(&[10.0, 20.0]), "out": zeros(2) }),
        json!({ "sum": sum, "copy": copy }),
        &commands,
    )
}

#[test]
fn what_is_bound_to_an_operator_is_kept_before_the_first_command() {
    check(&initialized(&[]), &[&[11.0, 22.0]]);
    // A command that writes the weights comes too late.
    let overwrite = dispatch("copy", json!({ "InputTensor": "a", "OutputTensor": "weights" }));
    let model = initialized(&[overwrite, print("weights")]);
    check(&model, &[&[1.0, 2.0], &[11.0, 22.0]]);
    assert!(matches!(bind(&model).steps()[0], Step::Initialize(_)));
}

#[test]
fn bindings_of_operators_are_for_what_they_keep() {
    let refused = |bindings: Value, command: Value| {
        let mut sum = sum(tensor(&[2]), owned(&[2]), tensor(&[2]));
        sum["bindings"] = bindings;
        let deferred = json!({ "initialValues": "deferred" });
        let resources = json!({ "a": zeros(2), "d": deferred });
        refusal(&model(resources, json!({ "sum": sum }), &[dispatch("sum", command)]))
    };
    let all = || json!({ "ATensor": "a", "OutputTensor": "d" });
    for (bindings, message) in [
        (json!({}), "dispatchables.sum.bindings.BTensor: null is missing"),
        (json!({ "BTensor": "b" }), "bindings.BTensor: \"b\" is no resource"),
        (json!({ "CTensor": "a" }), "bindings.CTensor: \"a\" is bound to no tensor"),
        (
            json!({ "BTensor": "a", "ATensor": "a" }),
            "is bound to a tensor that is not OWNED_BY_DML",
        ),
        (
            json!({ "BTensor": "d" }),
            "is deferred, so that nothing is in it before the first command",
        ),
        (json!(["a"]), "dispatchables.sum.bindings: an array of 1 is no object"),
    ] {
        let error = refused(bindings, all());
        assert!(error.contains(message), "{message}: {error}");
    }
    let twice = json!({ "ATensor": "a", "BTensor": "a", "OutputTensor": "a" });
    let error = refused(json!({ "BTensor": "a" }), twice);
    assert!(
        error.contains("BTensor: \"a\" is bound again to a tensor that is OWNED_BY_DML"),
        "{error}"
    );
}

#[test]
fn an_activation_is_fused_in_both_forms() {
    for activation in [
        json!({ "Type": "ACTIVATION_RELU" }),
        json!({ "Type": "DML_OPERATOR_ACTIVATION_RELU", "Desc": {} }),
    ] {
        let desc = json!({ "ATensor": tensor(&[2]), "BTensor": tensor(&[2]),
                           "OutputTensor": tensor(&[2]), "FusedActivation": activation });
        let sum = json!({ "type": "ELEMENT_WISE_ADD1", "desc": desc });
        let bindings = json!({ "ATensor": "a", "BTensor": "a", "OutputTensor": "out" });
        let model = model(
            json!({ "a": floats(&[1.5, -2.0]), "out": zeros(2) }),
            json!({ "sum": sum }),
            &[dispatch("sum", bindings), print("out")],
        );
        check(&model, &[&[3.0, 0.0]]);
    }
}

/// Any value of the field's type.
fn any(field: &FieldSchema, data_type: &str) -> Value {
    let activation = json!({ "Type": "ACTIVATION_ELU", "Alpha": 0.5 });
    let tensor = json!({ "DataType": data_type, "Sizes": [1, 1, 2, 2] });
    match field.field_type {
        FieldType::Tensor => tensor,
        FieldType::TensorArray => json!([tensor]),
        FieldType::OperatorDesc => activation,
        FieldType::OperatorDescArray => json!([activation]),
        FieldType::Uint => match field.enumeration {
            Some(enumeration) => json!(enumeration.values[0].0),
            None => json!(1),
        },
        FieldType::Uint64 | FieldType::Int | FieldType::ScalarUnion => json!(1),
        FieldType::Float => json!(0.5),
        FieldType::UintArray | FieldType::IntArray => json!([1]),
        FieldType::FloatArray => json!([0.5]),
        FieldType::ScaleBias => json!({ "Scale": 2, "Bias": 1.5 }),
        FieldType::Size2d => json!({ "Width": 1, "Height": 1 }),
        FieldType::Bool => json!(true),
    }
}

/// A model that dispatches one operator, with all of its fields and everything bound.
fn of_operator(schema: &OperatorSchema, data_type: &str) -> Model {
    let fields = schema.fields.iter().map(|it| (it.name.to_owned(), any(it, data_type)));
    let desc = Value::Object(fields.collect());
    let operator = json!({ "type": format!("DML_OPERATOR_{}", schema.name), "desc": desc });
    let bound = |field: &FieldSchema| match field.field_type {
        FieldType::TensorArray => json!(["a"]),
        _ => json!("a"),
    };
    let tensors = schema.fields.iter().filter(|it| it.kind != FieldKind::Attribute);
    let bindings = tensors.map(|it| (it.name.to_owned(), bound(it))).collect();
    let run = dispatch("op", Value::Object(bindings));
    model(json!({ "a": zeros(64) }), json!({ "op": operator }), &[run])
}

/// Where the operator has the type and the rank, it is refused for want of the operator, else for these.
#[test]
fn any_operator_is_read_and_refused_when_it_is_compiled_where_there_is_none() {
    let mut programs = Vec::new();
    for schema in OPERATORS.iter().filter(|it| !it.implemented) {
        for data_type in ["FLOAT32", "UINT8", "UINT32", "INT8"] {
            let model = of_operator(schema, data_type);
            let report = model.inspect(&Inputs::new()).unwrap();
            let NodeSupport::Unsupported(reason) = &report.nodes[0].support else {
                panic!("{}: {report:?}", schema.name)
            };
            programs.push((schema.name, reason.clone(), bind(&model)));
        }
    }
    on_every_device(|device| {
        for (name, reason, program) in &programs {
            let error = program.compile(device).unwrap_err();
            let is_device = matches!(error.kind(), Error::Device { .. });
            let error = error.to_string();
            assert!(is_device && error == format!("{name} 'op': {reason}"), "{error}");
            let missing = format!("{name}: not implemented by this runtime");
            let others = ["is not supported at any feature level", "states no data types"];
            let is_clear = error.contains(&missing) || others.iter().any(|it| error.contains(it));
            assert!(is_clear, "{error}");
        }
    });
}

#[test]
fn arrays_of_activations_are_read() {
    let desc = json!({
        "InputTensor": tensor(&[1, 1, 8, 4]), "WeightTensor": tensor(&[1, 2, 5, 4]),
        "RecurrenceTensor": tensor(&[1, 2, 5, 5]), "OutputSingleTensor": tensor(&[1, 2, 8, 5]),
        "ActivationDescCount": 2,
        "ActivationDescs": [
            { "Type": "ACTIVATION_ELU", "Alpha": 0.5 },
            { "Type": "DML_OPERATOR_ACTIVATION_TANH", "Desc": {} }
        ],
        "Direction": "DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL"
    });
    let bindings = json!({ "InputTensor": "a", "WeightTensor": "a", "RecurrenceTensor": "a",
                           "OutputSingleTensor": "out" });
    let model = model(
        json!({ "a": zeros(64), "out": { "initialValues": "deferred" } }),
        json!({ "rnn": { "type": "DML_OPERATOR_RNN", "desc": desc } }),
        &[dispatch("rnn", bindings), print("out")],
    );
    let program = bind(&model);
    let operators = program.operators()[0].operators();
    let activations = operators[0].fields().iter().find_map(|it| match it {
        FieldValue::OperatorDescArray(all) => Some(all),
        _ => None,
    });
    let names = activations.unwrap().iter().map(|it| it.schema().name).collect::<Vec<_>>();
    assert_eq!(names, ["ACTIVATION_ELU", "ACTIVATION_TANH"]);
    assert_eq!(program.buffers()[1].size, 2 * 8 * 5 * 4);
    on_every_device(|device| {
        program.compile(device).unwrap();
    });
}
