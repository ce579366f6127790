//! Each kernel on the host: one module for each file of `kernels/`, of the same name and structure,
//! with the kernel's push constants and a function for each element width.
//!
//! The twins are what [`dml_core::host::interpret`] runs in place of a shader. Their arithmetic wraps
//! as GLSL's does.

mod band;
pub(crate) mod dispatch;
mod element;
mod matrices;
mod words;

pub use matrices::Matrices;

/// The push constants of any kernel: each has an index for everything that it writes.
pub trait PushBlock: Sized {
    /// How many indices there are.
    fn count(&self) -> u32;

    /// The same for a dispatch that begins with this group.
    #[must_use]
    fn with_first_group(&self, first_group: u32) -> Self;

    /// The bytes to push.
    fn to_bytes(&self) -> Vec<u8>;
}

/// The push constants of a kernel, in the order of its GLSL block, and their bytes. The base word of
/// the first window is patched when buffers are bound, and so are the words that are named first.
macro_rules! push_constants {
    (
        $(@patched $($patched:ident at $at:ident),*;)?
        $($(#[$documentation:meta])* $field:ident: $type:ty,)*
    ) => {
        /// The push constants, in the order of the GLSL block.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[repr(C)]
        pub struct PushConstants {
            $($(#[$documentation])* pub $field: $type,)*
        }

        impl PushConstants {
            /// How many 32-bit words there are.
            pub const WORDS: usize = size_of::<Self>() / 4;
            /// Byte offset of `base_word`, which is patched when buffers are bound.
            #[expect(clippy::cast_possible_truncation, reason = "at most 64 bytes")]
            pub const BASE_WORD_AT: u32 = std::mem::offset_of!(Self, base_word) as u32;
            $($(
                #[doc = concat!("Byte offset of `", stringify!($patched), "`, patched likewise.")]
                #[expect(clippy::cast_possible_truncation, reason = "at most 64 bytes")]
                pub const $at: u32 = std::mem::offset_of!(Self, $patched) as u32;
            )*)?

            fn of(dispatch: &dml_core::host::HostDispatch<'_>) -> Self {
                let mut words = (0..Self::WORDS).map(|index| dispatch.push_word(index));
                Self { $($field: $crate::twins::words::Words::take(&mut words)),* }
            }
        }

        impl $crate::twins::PushBlock for PushConstants {
            fn count(&self) -> u32 {
                self.count
            }

            fn with_first_group(&self, first_group: u32) -> Self {
                Self { first_group, ..*self }
            }

            fn to_bytes(&self) -> Vec<u8> {
                let mut words = Vec::with_capacity(Self::WORDS);
                $($crate::twins::words::Words::append(&self.$field, &mut words);)*
                words.into_iter().flat_map(u32::to_le_bytes).collect()
            }
        }
    };
}

/// The entries of the kernel table: the twin for each element width.
macro_rules! element_widths {
    ($run:ident: $($name:ident = $element_width:ident),*) => {
        $(
            /// The twin for elements of this width.
            ///
            /// # Errors
            /// Where the dispatch leads outside its descriptors.
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
