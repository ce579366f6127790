//! What is done once, at initialization.

use dml_core::operators::GemmDesc;
use dml_core::plan::{Plan, Slot, Step};
use dml_core::{DataType, MatrixTransform, TensorDesc, TensorFlags, Tuning};

use crate::TransferUse;
use crate::tests::lower_with;

/// A product whose second matrix is transposed, and so has to be put in order.
fn product(data_type: DataType, flags: TensorFlags) -> Plan {
    let tensor = |sizes: [u32; 2]| TensorDesc::packed(data_type, &[1, 1, sizes[0], sizes[1]]);
    let desc = GemmDesc {
        a_tensor: tensor([32, 24]),
        b_tensor: TensorDesc { flags, ..tensor([36, 24]) },
        c_tensor: None,
        output_tensor: tensor([32, 36]),
        trans_a: MatrixTransform::None,
        trans_b: MatrixTransform::Transpose,
        alpha: 1.0,
        beta: 0.0,
        fused_activation: None,
    };
    lower_with(desc, Tuning::new(), TransferUse::Allowed)
}

fn touches(steps: &[Step], slot: Slot) -> bool {
    steps.iter().flat_map(Step::uses).any(|used| used.slot == slot)
}

#[test]
fn what_is_owned_is_put_in_order_once() {
    for data_type in [DataType::Float32, DataType::Float16] {
        let bound = product(data_type, TensorFlags::NONE);
        let owned = product(data_type, TensorFlags::OWNED_BY_DML);
        assert!(bound.init.is_empty() && bound.persistent_size == 0);
        assert!(touches(&bound.exec, Slot::Input(1)));
        // It is read where it is bound, and kept in order alone.
        assert!(touches(&owned.init, Slot::Input(1)) && !touches(&owned.exec, Slot::Input(1)));
        assert!(!owned.init.iter().any(|step| matches!(step, Step::Copy(_))), "{data_type}");
        assert!(touches(&owned.exec, Slot::Persistent));
        assert_eq!(owned.exec.len() + owned.init.len(), bound.exec.len(), "{data_type}");
        assert!(owned.temporary_size < bound.temporary_size);
    }
}
