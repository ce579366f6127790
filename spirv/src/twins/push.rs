//! Push constants on the host: structures with the members of a shader's block, and their bytes.

use dml_core::kernel::PushField;

/// The push constants of a kernel. Every kernel has an index for each unit that it writes.
pub trait PushBlock: Sized {
    /// The number of indices.
    fn count(&self) -> u32;

    /// The push constants of a dispatch that begins with this group.
    #[must_use]
    fn with_first_group(&self, first_group: u32) -> Self;

    /// The bytes to push.
    fn to_bytes(&self) -> Vec<u8>;
}

/// A member of a block, as 32-bit words in the order of their addresses.
pub(crate) trait Words {
    /// The members of a structure; empty for a single member.
    const FIELDS: &'static [PushField] = &[];

    fn append(&self, words: &mut Vec<u32>);

    /// Reads the words of a member. Missing words are 0.
    fn take(words: &mut impl Iterator<Item = u32>) -> Self;
}

impl Words for u32 {
    fn append(&self, words: &mut Vec<u32>) {
        words.push(*self);
    }

    fn take(words: &mut impl Iterator<Item = u32>) -> Self {
        words.next().unwrap_or_default()
    }
}

impl<const N: usize> Words for [u32; N] {
    fn append(&self, words: &mut Vec<u32>) {
        words.extend(self);
    }

    fn take(words: &mut impl Iterator<Item = u32>) -> Self {
        std::array::from_fn(|_| u32::take(words))
    }
}

/// Declares the mirror of a structure of a shader: the same members in the same order.
macro_rules! push_structure {
    (
        $(#[$documentation:meta])*
        $name:ident { $($(#[$of_field:meta])* $field:ident: $type:ty,)* }
    ) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[repr(C)]
        pub struct $name {
            $($(#[$of_field])* pub $field: $type,)*
        }

        impl $crate::twins::push::Words for $name {
            #[expect(clippy::cast_possible_truncation, reason = "a block has at most 128 bytes")]
            const FIELDS: &'static [dml_core::kernel::PushField] = &[$(
                dml_core::kernel::PushField {
                    name: stringify!($field),
                    offset: std::mem::offset_of!($name, $field) as u32,
                    size: size_of::<$type>() as u32,
                    members: <$type as $crate::twins::push::Words>::FIELDS,
                },
            )*];

            fn append(&self, words: &mut Vec<u32>) {
                $($crate::twins::push::Words::append(&self.$field, words);)*
            }

            fn take(words: &mut impl Iterator<Item = u32>) -> Self {
                Self { $($field: $crate::twins::push::Words::take(words)),* }
            }
        }
    };
}

/// The mirror of a kernel's push constants. The base words are patched when buffers are bound; they
/// are named first, each with a constant for its place.
macro_rules! push_constants {
    (
        @patched $($patched:ident at $at:ident),*;
        $($(#[$documentation:meta])* $field:ident: $type:ty,)*
    ) => {
        $crate::twins::push::push_structure! {
            /// The push constants, in the order of the GLSL block.
            PushConstants { $($(#[$documentation])* $field: $type,)* }
        }

        impl PushConstants {
            /// The members; the table of kernels compares them with those of the shader.
            pub const FIELDS: &'static [dml_core::kernel::PushField] =
                <Self as $crate::twins::push::Words>::FIELDS;
            $(
                #[doc = concat!("Byte offset of `", stringify!($patched), "`, which is patched.")]
                #[expect(clippy::cast_possible_truncation, reason = "at most 128 bytes")]
                pub const $at: u32 = std::mem::offset_of!(Self, $patched) as u32;
            )*

            pub(crate) fn of(dispatch: &dml_core::host::HostDispatch<'_>) -> Self {
                let mut words = (0..size_of::<Self>() / 4).map(|index| dispatch.push_word(index));
                $crate::twins::push::Words::take(&mut words)
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
                let mut words = Vec::with_capacity(size_of::<Self>() / 4);
                $crate::twins::push::Words::append(self, &mut words);
                words.into_iter().flat_map(u32::to_le_bytes).collect()
            }
        }
    };
}

pub(crate) use {push_constants, push_structure};
