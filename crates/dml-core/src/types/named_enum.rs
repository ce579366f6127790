//! Enums whose values have names.

/// Defines an enum, with all values in `ALL`, and with a name of each value, which `Display` writes. With
/// `called KIND, as PLAIN` it also has `FromStr`, where `PLAIN` converts a text to the form of the names.
macro_rules! named_enum {
    (
        $(#[$about:meta])* $type:ident
        $($(#[$about_reading:meta])* called $kind:literal, as $plain:expr)?,
        $(#[$about_name:meta])* name;
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

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        $(impl std::str::FromStr for $type {
            type Err = $crate::types::UnknownName;

            $(#[$about_reading])*
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let plain: fn(&str) -> String = $plain;
                let name = plain(text);
                let found = Self::ALL.into_iter().find(|it| it.name() == name);
                found.ok_or_else(|| Self::Err::among($kind, text, &Self::ALL.map(Self::name)))
            }
        })?
    };
}

pub(crate) use named_enum;
