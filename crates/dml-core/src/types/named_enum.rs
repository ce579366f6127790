//! Enums of which every value has a name.

/// The enum itself, with all values in `ALL` and the name of each.
macro_rules! named_enum {
    (
        $(#[$about:meta])* $type:ident, $(#[$about_name:meta])* name;
        $($(#[$doc:meta])* $value:ident $(= $number:literal)?, $name:literal;)*
    ) => {
        $(#[$about])*
        pub enum $type {
            $($(#[$doc])* $value $(= $number)?,)*
        }

        impl $type {
            /// All values, in a fixed order.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$value),*];

            $(#[$about_name])*
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)*
                }
            }
        }
    };
}

pub(crate) use named_enum;
