//! Which plans come out for which tensors.

use dml_core::operators::{JoinDesc, SplitDesc};
use dml_core::plan::{Slot, Step};
use dml_core::{DataType, TensorDesc, Tuning};

use crate::TransferUse;
use crate::tests::lower_with;

fn tensor(sizes: &[u32]) -> TensorDesc {
    TensorDesc::packed(DataType::Float32, sizes)
}

#[test]
fn a_part_is_a_dispatch_with_its_input_and_the_output() {
    let desc = JoinDesc {
        input_tensors: vec![tensor(&[2, 3]), tensor(&[2, 5]), tensor(&[2, 1])],
        output_tensor: tensor(&[2, 9]),
        axis: 1,
    };
    let plan = lower_with(desc, Tuning::new(), TransferUse::Allowed);
    let fields: Vec<_> = plan.inputs.iter().flatten().map(|it| it.field.to_string()).collect();
    assert_eq!(fields, ["InputTensors[0]", "InputTensors[1]", "InputTensors[2]"]);
    assert_eq!((plan.exec.len(), plan.outputs.len()), (3, 1));
    for (step, index) in plan.exec.iter().zip(0..) {
        let Step::Dispatch(dispatch) = step else { panic!("{step:?}") };
        let slots: Vec<Slot> = dispatch.windows.iter().map(|it| it.slot).collect();
        assert!(
            slots.contains(&Slot::Input(index)) && slots.contains(&Slot::Output(0)),
            "{slots:?}"
        );
    }
}

#[test]
fn an_output_for_each_part() {
    let desc = SplitDesc {
        input_tensor: tensor(&[4, 3]),
        output_tensors: vec![tensor(&[1, 3]), tensor(&[3, 3])],
        axis: 0,
    };
    let plan = lower_with(desc, Tuning::new(), TransferUse::StorageOnly);
    let fields: Vec<_> = plan.outputs.iter().flatten().map(|it| it.field.to_string()).collect();
    assert_eq!(fields, ["OutputTensors[0]", "OutputTensors[1]"]);
    assert!(plan.is_dispatch_only());
}
