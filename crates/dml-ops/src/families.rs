//! One folder for each family: its operators, their lowering and their reference.

pub(crate) mod attention;
pub(crate) mod blocks;
pub(crate) mod copy;
pub(crate) mod diagonal;
pub(crate) mod element_wise;
pub(crate) mod fill;
pub(crate) mod index;
pub(crate) mod nonzero;
pub(crate) mod products;
pub(crate) mod random;
pub(crate) mod recurrent;
pub(crate) mod regions;
pub(crate) mod resample;
pub(crate) mod rows;
pub(crate) mod sorting;
pub(crate) mod windows;
