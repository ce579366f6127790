//! Whether a request was answered as it should be.

/// Why a request was not answered as it should be.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// With an error.
    Error(dml::Error),
    /// With other bytes.
    Wrong(String),
}

impl<E: Into<dml::Error>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

pub(crate) type Answer = Result<(), Trouble>;
