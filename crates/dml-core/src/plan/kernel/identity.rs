//! The identity of a module, which can be computed at compile time.

use std::borrow::Cow;

use super::{Access, KernelDescription, PushField};

/// FNV-1a of 128 bits. Modules are the project's own, so collisions are not an attack; among as many as a
/// process can hold, accidental collisions do not occur in practice.
#[derive(Clone, Copy)]
pub(super) struct Identity(u128);

impl Identity {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

    /// The hash of everything that determines a pipeline and its layout. Every list and text is hashed with its
    /// length, so that no two descriptions give the same bytes.
    pub(super) const fn of(it: &KernelDescription) -> u128 {
        let name = match &it.name {
            Cow::Borrowed(name) => name,
            Cow::Owned(name) => name.as_str(),
        };
        let bindings = slice(&it.bindings);
        let mut hash = Self(Self::OFFSET)
            .text(name)
            .bytes(slice(&it.spirv))
            .text(it.entry_point)
            .fields(it.push_fields)
            .number(bindings.len() as u64);
        let mut at = 0;
        while at < bindings.len() {
            let binding = &bindings[at];
            let access = match binding.access {
                Access::Read => 0,
                Access::Write => 1,
                Access::ReadWrite => 2,
            };
            hash = hash.number(binding.binding as u64).number(access);
            at += 1;
        }
        hash = match it.uniform_binding {
            Some(binding) => hash.number(1).number(binding as u64),
            None => hash.number(0),
        };
        hash = hash.number(it.specialization_constants.len() as u64);
        at = 0;
        while at < it.specialization_constants.len() {
            let constant = &it.specialization_constants[at];
            hash = hash.number(constant.id as u64).text(constant.name);
            hash = hash.number(constant.default as u64);
            at += 1;
        }
        let (features, limits) = (slice(&it.required_features), slice(&it.required_limits));
        hash = hash.number(features.len() as u64);
        at = 0;
        while at < features.len() {
            hash = hash.number(features[at] as u64);
            at += 1;
        }
        hash = hash.number(limits.len() as u64);
        at = 0;
        while at < limits.len() {
            let (limit, needed) = limits[at];
            hash = hash.number(limit as u64).number(needed);
            at += 1;
        }
        hash.0
    }

    const fn fields(self, fields: &[PushField]) -> Self {
        let mut hash = self.number(fields.len() as u64);
        let mut at = 0;
        while at < fields.len() {
            let PushField { name, offset, size, members } = fields[at];
            hash = hash.text(name).number(offset as u64).number(size as u64).fields(members);
            at += 1;
        }
        hash
    }

    const fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    const fn number(self, number: u64) -> Self {
        self.all(&number.to_le_bytes())
    }

    const fn bytes(self, bytes: &[u8]) -> Self {
        self.number(bytes.len() as u64).all(bytes)
    }

    const fn all(self, bytes: &[u8]) -> Self {
        let mut hash = self.0;
        let mut at = 0;
        while at < bytes.len() {
            hash = (hash ^ bytes[at] as u128).wrapping_mul(Self::PRIME);
            at += 1;
        }
        Self(hash)
    }
}

#[expect(clippy::ptr_arg, reason = "constants cannot dereference a Cow")]
const fn slice<'a, T: Clone>(values: &'a Cow<'static, [T]>) -> &'a [T] {
    match values {
        Cow::Borrowed(values) => values,
        Cow::Owned(values) => values.as_slice(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_give_the_published_hashes() {
        let hash = |bytes: &[u8]| Identity(Identity::OFFSET).all(bytes).0;
        assert_eq!(hash(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(hash(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(hash(b"foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }
}
