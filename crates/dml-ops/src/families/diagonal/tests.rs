//! Which plans come out of lowering; what they compute is checked for every operator at once.

mod diagonal_matrix;
mod diagonal_matrix1;
