//! Each kernel on the host: one module for each file of `kernels/`, of the same name and structure,
//! with the kernel's push constants and a function for each family.
//!
//! The twins are what [`dml_core::host::interpret`] runs in place of a shader. Their arithmetic wraps
//! as GLSL's does.

mod band;
mod dispatch;
mod element;

/// The push constants of a kernel, in the order of its GLSL block, and their bytes.
macro_rules! push_constants {
    ($($(#[$documentation:meta])* $field:ident,)*) => {
        /// The push constants, in the order of the GLSL block.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[repr(C)]
        pub struct PushConstants {
            $($(#[$documentation])* pub $field: u32,)*
        }

        impl PushConstants {
            /// How many 32-bit words there are.
            pub const WORDS: usize = [$(stringify!($field)),*].len();
            /// Byte offset of `base_word`, which is patched when the command is recorded.
            #[expect(clippy::cast_possible_truncation, reason = "at most 64 bytes")]
            pub const BASE_WORD_AT: u32 = std::mem::offset_of!(Self, base_word) as u32;

            /// The words in their order.
            pub fn words(&self) -> [u32; Self::WORDS] {
                [$(self.$field),*]
            }

            /// The bytes to push.
            pub fn to_bytes(&self) -> Vec<u8> {
                self.words().into_iter().flat_map(u32::to_le_bytes).collect()
            }

            fn of(dispatch: &dml_core::host::HostDispatch<'_>) -> Self {
                let [$($field),*] = std::array::from_fn(|index| dispatch.push_word(index));
                Self { $($field),* }
            }
        }
    };
}

/// The entries of the kernel table: the twin for each family.
macro_rules! families {
    ($run:ident: $($name:ident = $family:ident),*) => {
        $(
            /// The twin for elements of this width.
            ///
            /// # Errors
            /// Where the dispatch leads outside its descriptors.
            pub fn $name(
                dispatch: &mut dml_core::host::HostDispatch<'_>,
            ) -> Result<(), dml_core::host::HostError> {
                $run(dispatch, $crate::Family::$family)
            }
        )*
    };
}

pub mod diagonal_band;
pub mod diagonal_merge;
pub mod diagonal_scatter;
pub mod diagonal_write;
pub mod fill_write;
