//! Changes of the memory layout of a tensor.

use dml_core::TensorDesc;

/// A field name in snake case: `AZeroPointTensor` as `a_zero_point`.
pub(crate) fn snake(name: &str) -> String {
    let name = name.strip_suffix("Tensor").unwrap_or(name);
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// Adds gaps of two elements between neighbours, and larger ones between rows.
pub(crate) fn padded(tensor: &mut TensorDesc) {
    let mut next = 3;
    let sizes = tensor.sizes.clone();
    let strides = sizes.iter().rev().map(|size| {
        let stride = next;
        next = next * size + 5;
        stride
    });
    let mut strides: Vec<u32> = strides.collect();
    strides.reverse();
    *tensor = TensorDesc::packed(tensor.data_type, &sizes).with_strides(&strides);
}

/// Makes the first dimension innermost.
pub(crate) fn reversed(tensor: &mut TensorDesc) {
    let sizes = tensor.sizes.clone();
    let mut next = 1;
    let strides = sizes.iter().map(|size| {
        let stride = next;
        next *= size;
        stride
    });
    let strides: Vec<u32> = strides.collect();
    *tensor = TensorDesc::packed(tensor.data_type, &sizes).with_strides(&strides);
}

/// Broadcasts a row along all other dimensions.
pub(crate) fn repeated(tensor: &mut TensorDesc) {
    let sizes = tensor.sizes.clone();
    let mut strides = vec![0; sizes.len()];
    strides[sizes.len() - 1] = 1;
    *tensor = TensorDesc::packed(tensor.data_type, &sizes).with_strides(&strides);
}
