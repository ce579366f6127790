//! [`Numerics`] in reports, by their names.

use dml::Numerics;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn serialize<S: Serializer>(it: &Numerics, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(it.name())
}

pub(super) fn deserialize<'a, D: Deserializer<'a>>(reader: D) -> Result<Numerics, D::Error> {
    String::deserialize(reader)?.parse().map_err(D::Error::custom)
}
