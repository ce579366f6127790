//! Operators that are nested in others.

use super::*;
use crate::error::HResult;
use crate::operators::fusion::FUSIONS;
use crate::operators::{
    ACTIVATION_CELU, ACTIVATION_ELU, ACTIVATION_GELU, ACTIVATION_RELU, ACTIVATION_SOFTMAX,
    ELEMENT_WISE_ADD1, ELEMENT_WISE_CLIP, GEMM, RNN,
};
use crate::schema::operator::FieldType;
use crate::schema::{OperatorSchema, Rule, TENSOR_DATA_TYPE};
use crate::types::DataType;

const FUSED: FieldSchema =
    FieldSchema::new("FusedActivation", FieldKind::Attribute, FieldType::OperatorDesc).optional();

/// The fields of an operator that only nests another one.
const NESTING: &[FieldSchema] = &[FUSED];

const TENSORS: &[FieldSchema] = &[
    FieldSchema::new("InputTensor", FieldKind::Input, FieldType::Tensor),
    FieldSchema::new("OutputTensor", FieldKind::Output, FieldType::Tensor),
];

/// The row with other fields, marked as implemented.
fn implemented(row: &OperatorSchema, fields: &'static [FieldSchema]) -> &'static OperatorSchema {
    leaked(OperatorSchema { implemented: true, fields, rule: None, varied: None, ..*row })
}

fn leaked(row: OperatorSchema) -> &'static OperatorSchema {
    Box::leak(Box::new(row))
}

fn add(nested: Option<AbstractOperator>) -> AbstractOperator {
    nesting(implemented(&ELEMENT_WISE_ADD1, NESTING), nested)
}

fn nesting(schema: &'static OperatorSchema, nested: Option<AbstractOperator>) -> AbstractOperator {
    AbstractOperator::new(schema, vec![FieldValue::OperatorDesc(nested.map(Box::new))]).unwrap()
}

/// An operator without tensors, with 0 in its attributes.
fn activation(schema: &'static OperatorSchema) -> AbstractOperator {
    let value = |field: &FieldSchema| match field.field_type {
        FieldType::Tensor => FieldValue::Tensor(None),
        FieldType::Uint => FieldValue::Uint(0),
        FieldType::Float => FieldValue::Float(0.0),
        FieldType::UintArray => FieldValue::UintArray(Vec::new()),
        FieldType::ScaleBias => FieldValue::ScaleBias(None),
        other => panic!("{other:?}"),
    };
    AbstractOperator::new(schema, schema.fields.iter().map(value).collect()).unwrap()
}

fn relu() -> AbstractOperator {
    activation(implemented(&ACTIVATION_RELU, TENSORS))
}

fn message(operator: &AbstractOperator, level: FeatureLevel) -> String {
    validate(operator, level).unwrap_err().to_string()
}

#[test]
fn an_activation_is_carried_without_tensors() {
    let validated = validate(&add(Some(relu())), FeatureLevel::V2_0).unwrap();
    let [nested] = validated.nested("FusedActivation").unwrap() else { panic!("one is nested") };
    assert_eq!(nested.schema().name, "ACTIVATION_RELU");
    assert_eq!(nested.level(), FeatureLevel::V2_0);
    assert_eq!(nested.tensor("OutputTensor"), Ok(None));
    assert_eq!(validated.tensors(FieldKind::Input).count(), 0, "it adds none to the outer one");
    assert!(validated.nested("ATensor").is_err());
    let without = validate(&add(None), FeatureLevel::V2_0).unwrap();
    assert_eq!(without.nested("FusedActivation"), Ok(&[][..]));
}

#[test]
fn an_activation_may_have_no_tensors_of_its_own() {
    let tensor = || FieldValue::Tensor(Some(TensorDesc::packed(DataType::Float32, &[1; 4])));
    for (fields, member) in [
        (vec![tensor(), FieldValue::Tensor(None)], "InputTensor"),
        (vec![FieldValue::Tensor(None), tensor()], "OutputTensor"),
    ] {
        let nested = AbstractOperator::new(relu().schema(), fields).unwrap();
        assert_eq!(
            message(&add(Some(nested)), FeatureLevel::HIGHEST),
            format!(
                "ELEMENT_WISE_ADD1: FusedActivation.{member}: a tensor is given in a nested \
                 operator, which has none of its own; accepted: null"
            )
        );
    }
}

#[test]
fn an_activation_that_the_level_lacks_is_refused_with_its_level() {
    let celu = activation(implemented(&ACTIVATION_CELU, TENSORS));
    let error = message(&add(Some(celu.clone())), FeatureLevel::V2_1);
    let start = "ELEMENT_WISE_ADD1: FusedActivation: ACTIVATION_CELU needs feature level 3_0; this \
                 device was created at 2_1 (allowed: ACTIVATION_ELU, ";
    assert!(error.starts_with(start), "{error}");
    assert!(!error[start.len()..].contains("CELU"), "{error}");
    assert!(validate(&add(Some(celu)), FeatureLevel::V3_0).is_ok());
    let clip = add(Some(activation(implemented(&ELEMENT_WISE_CLIP, TENSORS))));
    let needs = "FusedActivation: ELEMENT_WISE_CLIP needs feature level 6_0";
    assert!(message(&clip, FeatureLevel::V5_2).contains(needs));
    assert!(validate(&clip, FeatureLevel::V6_0).is_ok());
}

#[test]
fn before_the_outer_operator_exists_the_nested_one_is_looked_at_too() {
    let celu = add(Some(activation(implemented(&ACTIVATION_CELU, TENSORS))));
    assert_eq!(
        message(&celu, FeatureLevel::V1_0),
        "ELEMENT_WISE_ADD1: needs feature level 2_0; FusedActivation: ACTIVATION_CELU needs feature \
         level 3_0; this device was created at 1_0"
    );
}

#[test]
fn what_is_no_activation_is_accepted_at_no_level() {
    for schema in [&ACTIVATION_GELU, &ACTIVATION_SOFTMAX, &ELEMENT_WISE_ADD1] {
        let nested = activation(implemented(schema, TENSORS));
        let error = message(&add(Some(nested)), FeatureLevel::HIGHEST);
        let start = format!(
            "ELEMENT_WISE_ADD1: FusedActivation: {} is not supported at any feature level; ",
            schema.name
        );
        assert!(error.starts_with(&start), "{error}");
    }
}

#[test]
fn a_product_takes_softmax_from_6_1_on() {
    let softmax = activation(implemented(&ACTIVATION_SOFTMAX, TENSORS));
    let product = nesting(implemented(&GEMM, NESTING), Some(softmax));
    let needs = "GEMM: FusedActivation: ACTIVATION_SOFTMAX needs feature level 6_1";
    assert!(message(&product, FeatureLevel::V6_0).starts_with(needs));
    assert!(validate(&product, FeatureLevel::V6_1).is_ok());
}

#[test]
fn an_activation_that_this_runtime_lacks_is_named_after_its_level() {
    let celu = OperatorSchema { fields: TENSORS, varied: None, ..ACTIVATION_CELU };
    let celu = leaked(OperatorSchema { implemented: false, ..celu });
    let operator = add(Some(activation(celu)));
    assert!(message(&operator, FeatureLevel::V2_1).contains("needs feature level 3_0"));
    let error = validate(&operator, FeatureLevel::V3_0).unwrap_err();
    let start = "ELEMENT_WISE_ADD1: FusedActivation: ACTIVATION_CELU is not implemented by this \
                 runtime (implemented here: ";
    assert!(error.to_string().starts_with(start), "{error}");
    assert_eq!(error.hresult(), HResult::E_NOTIMPL);
}

#[test]
fn attributes_and_rules_of_an_activation_are_checked_where_it_is_nested() {
    const FIELDS: &[FieldSchema] = &[
        FieldSchema::new("InputTensor", FieldKind::Input, FieldType::Tensor),
        FieldSchema::new("OutputTensor", FieldKind::Output, FieldType::Tensor),
        FieldSchema::new("Type", FieldKind::Attribute, FieldType::Uint)
            .with_enumeration(&TENSOR_DATA_TYPE),
    ];
    fn type_is_float(operator: &Validated) -> Result<(), Error> {
        match operator.uint("Type")? {
            1 => Ok(()),
            other => {
                let field = InvalidField::new("Type", other, "is not a float", "1");
                Err(Error::Invalid { operator: operator.schema().name, field })
            }
        }
    }
    let rule = Some(Rule { name: "type_is_float", check: type_is_float });
    let (implemented, fields) = (true, FIELDS);
    let schema =
        leaked(OperatorSchema { implemented, fields, rule, varied: None, ..ACTIVATION_ELU });
    let of = |number| {
        let fields =
            vec![FieldValue::Tensor(None), FieldValue::Tensor(None), FieldValue::Uint(number)];
        add(Some(AbstractOperator::new(schema, fields).unwrap()))
    };
    assert!(validate(&of(1), FeatureLevel::HIGHEST).is_ok());
    assert_eq!(
        message(&of(2), FeatureLevel::HIGHEST),
        "ELEMENT_WISE_ADD1: FusedActivation.Type: 2 is not a float; accepted: 1"
    );
    let error = message(&of(99), FeatureLevel::HIGHEST);
    let start =
        "ELEMENT_WISE_ADD1: FusedActivation.Type: 99 is not a value of DML_TENSOR_DATA_TYPE";
    assert!(error.starts_with(start), "{error}");
}

#[test]
fn every_operator_of_an_array_is_checked() {
    const FIELDS: &[FieldSchema] = &[
        FieldSchema::new("ActivationDescCount", FieldKind::Attribute, FieldType::Uint),
        FieldSchema::new("ActivationDescs", FieldKind::Attribute, FieldType::OperatorDescArray)
            .with_count("ActivationDescCount"),
    ];
    let schema = implemented(&RNN, FIELDS);
    let of = |count, operators| {
        let fields = vec![FieldValue::Uint(count), FieldValue::OperatorDescArray(operators)];
        AbstractOperator::new(schema, fields).unwrap()
    };
    let validated = validate(&of(2, vec![relu(), relu()]), FeatureLevel::V1_0).unwrap();
    assert_eq!(validated.nested("ActivationDescs").unwrap().len(), 2);
    let celu = activation(implemented(&ACTIVATION_CELU, TENSORS));
    let needs = "RNN: ActivationDescs[1]: ACTIVATION_CELU needs feature level 3_0";
    let operator = of(2, vec![relu(), celu]);
    assert!(message(&operator, FeatureLevel::V1_0).starts_with(needs));
    assert_eq!(
        message(&of(2, vec![relu()]), FeatureLevel::V1_0),
        "RNN: ActivationDescs: 1 elements, not as many as ActivationDescCount says; accepted: 2"
    );
}

/// For an operator that is not implemented, only the levels of nested operators are checked.
#[test]
fn an_operator_that_is_not_implemented_is_refused_for_what_no_level_nests() {
    let row = OperatorSchema { fields: NESTING, varied: None, ..RNN };
    let schema = leaked(OperatorSchema { implemented: false, varied: None, ..row });
    let product = activation(implemented(&GEMM, TENSORS));
    let error = message(&nesting(schema, Some(product)), FeatureLevel::HIGHEST);
    assert!(
        error.starts_with("RNN: FusedActivation: GEMM is not supported at any feature level; "),
        "{error}"
    );
    let error = message(&nesting(schema, Some(relu())), FeatureLevel::HIGHEST);
    assert!(error.starts_with("RNN: not implemented by this runtime"), "{error}");
}

#[test]
fn a_field_that_must_nest_an_operator_is_not_left_out() {
    const FIELDS: &[FieldSchema] =
        &[FieldSchema::new("Activation", FieldKind::Attribute, FieldType::OperatorDesc)];
    assert_eq!(
        message(&nesting(implemented(&ELEMENT_WISE_ADD1, FIELDS), None), FeatureLevel::HIGHEST),
        "ELEMENT_WISE_ADD1: Activation: null is missing; accepted: a value"
    );
}

/// Uses the rules of the rows.
#[test]
fn no_operator_that_may_be_nested_needs_its_tensors() {
    for fusion in FUSIONS {
        let row = OperatorSchema { implemented: true, varied: None, ..*fusion.operator };
        let product = nesting(implemented(&GEMM, NESTING), Some(activation(leaked(row))));
        match validate(&product, FeatureLevel::HIGHEST) {
            Ok(_) | Err(Error::Invalid { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
