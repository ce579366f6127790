//! Attention of some queries at a time.

use dml_core::{Capabilities, DataType, FeatureLevel, Tuning, validate};

use super::{OPERATORS, lowering};
use crate::reference::{Memory, Signature, run_on_host};
use crate::{Target, TransferUse};

#[test]
fn queries_that_are_answered_apart_find_the_same() {
    let capabilities = &Capabilities::vulkan_minimum();
    let target = &Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::Allowed };
    let mut compared = 0;
    for operator in OPERATORS {
        let parameters = operator.schema().type_parameters().map(|field| match field.name {
            "OutputTensor" => DataType::Float32,
            _ => DataType::Int32,
        });
        let signature = Signature { types: parameters.collect(), rank: 5 };
        for case in operator.reference().cases(&signature) {
            let validated = validate(&case.operator, FeatureLevel::HIGHEST).unwrap();
            let memory = Memory::new(operator.reference(), &validated, &case).unwrap();
            let whole = lowering::lower(&validated, target).unwrap();
            let plan = lowering::in_parts(&validated, target, 8).unwrap();
            if plan.steps().count() > whole.steps().count() {
                let after = run_on_host(&plan, &case.aliases(), &memory, capabilities).unwrap();
                memory.check(&after).expect(&case.name);
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 10);
}
