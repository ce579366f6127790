//! Each kernel on the host: one module for each file of `kernels/`, of the same name and structure,
//! with the kernel's push constants and a function for each element width.
//!
//! [`dml_core::host::interpret`] runs the twins in place of shaders. Their arithmetic wraps as GLSL's does.

mod band;
pub(crate) mod dispatch;
mod element;
mod matrices;
pub(crate) mod push;

pub use matrices::Matrices;
pub use push::PushBlock;

/// The entries of the kernel table: the twin for each element width.
macro_rules! element_widths {
    ($run:ident: $($name:ident = $element_width:ident),*) => {
        $(
            /// The twin for elements of this width.
            ///
            /// # Errors
            /// The dispatch accesses memory outside its descriptors.
            pub fn $name(
                dispatch: &mut dml_core::host::HostDispatch<'_>,
            ) -> Result<(), dml_core::host::HostError> {
                $run(dispatch, $crate::ElementWidth::$element_width)
            }
        )*
    };
}

pub mod diagonal_band;
pub mod diagonal_merge;
pub mod diagonal_scatter;
pub mod diagonal_write;
pub mod fill_words;
pub mod fill_write;
