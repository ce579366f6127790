//! Operator dispatchables, and the fields beside them.

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
    // A command that writes the weights comes after initialization.
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
        (json!({ "BTensor": "b" }), "bindings.BTensor: \"b\" is not a resource"),
        (json!({ "CTensor": "a" }), "bindings.CTensor: \"a\" is bound to no tensor"),
        (
            json!({ "BTensor": "a", "ATensor": "a" }),
            "is bound to a tensor that is not OWNED_BY_DML",
        ),
        (
            json!({ "BTensor": "d" }),
            "is deferred, so that nothing is in it before the first command",
        ),
        (json!(["a"]), "dispatchables.sum.bindings: an array of 1 is not an object"),
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
    let activations = operators[0].fields().iter().find_map(|field| match field {
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
