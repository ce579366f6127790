//! One folder for each family: the references of its operators, and their cases.

pub(crate) mod attention;
pub(crate) mod data_movement;
pub(crate) mod diagonal;
pub(crate) mod element_wise;
pub(crate) mod fill;
pub(crate) mod gather_scatter;
pub(crate) mod nonzero;
pub(crate) mod pooling;
pub(crate) mod products;
pub(crate) mod quantization;
pub(crate) mod random;
pub(crate) mod recurrent;
pub(crate) mod resample;
pub(crate) mod roi;
pub(crate) mod rows;
pub(crate) mod sort;
