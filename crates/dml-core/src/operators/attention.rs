//! The sizes of attention, and the tensors that hold its queries, keys and values, read from its descriptor for
//! lowering and references.

use crate::error::Error;
use crate::schema::validated::Validated;
use crate::tensor::TensorLayout;
use crate::types::enums::MultiheadAttentionMaskType as MaskType;

/// A factor of attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Queries, which are compared with keys.
    Query,
    /// Keys, which weigh the values.
    Key,
    /// Values, whose weighted sum is the result.
    Value,
}

/// The tensor with the number of earlier keys of each sequence, in operators that have it.
pub const LENGTHS: &str = "PastSequenceLengthsTensor";

impl Role {
    /// The tensor with only this role, and the stacked tensors that include it, with its index in them.
    pub fn tensors(self) -> &'static [(&'static str, Option<u32>)] {
        const QK: &str = "StackedQueryKeyTensor";
        const KV: &str = "StackedKeyValueTensor";
        const QKV: &str = "StackedQueryKeyValueTensor";
        match self {
            Self::Query => &[("QueryTensor", None), (QK, Some(0)), (QKV, Some(0))],
            Self::Key => &[("KeyTensor", None), (QK, Some(1)), (KV, Some(0)), (QKV, Some(1))],
            Self::Value => &[("ValueTensor", None), (KV, Some(1)), (QKV, Some(2))],
        }
    }

    /// The tensor with earlier keys or values; `None` for queries.
    pub fn past(self) -> Option<&'static str> {
        match self {
            Self::Query => None,
            Self::Key => Some("PastKeyTensor"),
            Self::Value => Some("PastValueTensor"),
        }
    }

    /// The given tensor that holds this role, with its index in a stacked tensor.
    ///
    /// # Errors
    /// [`Error::Internal`]: the operator is not attention.
    pub fn tensor(
        self,
        operator: &Validated,
    ) -> Result<(&'static str, Option<u32>, &TensorLayout), Error> {
        for (name, place) in self.tensors() {
            if let Some(tensor) = operator.tensor(name)? {
                return Ok((name, *place, tensor));
            }
        }
        Err(Error::internal(operator.schema().name, format!("{self:?} is in no tensor")))
    }
}

/// The sizes that `attention.toml` names.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Sequences.
    pub batches: u32,
    /// Queries of a sequence.
    pub queries: u32,
    /// New keys of a sequence.
    pub new: u32,
    /// Earlier keys of a sequence.
    pub past: u32,
    /// Heads of queries.
    pub heads: u32,
    /// Heads of keys and values.
    pub groups: u32,
    /// Elements of a query and a key in a head.
    pub elements: u32,
    /// Elements of a value in a head.
    pub of_value: u32,
    /// The kind of the mask.
    pub mask: MaskType,
}

impl Sizes {
    /// The sizes of an operator.
    ///
    /// # Errors
    /// [`Error::Internal`]: the operator is not attention.
    pub fn of(operator: &Validated) -> Result<Self, Error> {
        let [heads, groups] = match operator.schema().has_field("HeadCount") {
            true => [operator.uint("HeadCount")?; 2],
            false => [operator.uint("QueryHeadCount")?, operator.uint("KeyValueHeadCount")?],
        };
        let of = |role: Role, heads: u32| {
            let (_, place, tensor) = role.tensor(operator)?;
            Ok::<_, Error>(match (place, tensor.sizes()) {
                (None, [.., batches, steps, elements]) => [*batches, *steps, elements / heads],
                (_, [batches, steps, .., elements]) => [*batches, *steps, *elements],
                _ => [1; 3],
            })
        };
        let [batches, queries, elements] = of(Role::Query, heads)?;
        let [_, new, _] = of(Role::Key, groups)?;
        let [_, _, of_value] = of(Role::Value, groups)?;
        let past = operator.tensor("PastKeyTensor")?.map(TensorLayout::sizes);
        let past = past.map_or(0, |sizes| sizes[sizes.len() - 2]);
        let mask = MaskType::from_dml_value(operator.uint("MaskType")?).unwrap_or(MaskType::None);
        Ok(Self { batches, queries, new, past, heads, groups, elements, of_value, mask })
    }

    /// The number of earlier and new keys together.
    pub fn keys(&self) -> u32 {
        self.past + self.new
    }

    /// The heads, steps, earlier steps, and elements of a step in a head, for a role.
    pub fn of_role(&self, role: Role) -> [u32; 4] {
        match role {
            Role::Query => [self.heads, self.queries, 0, self.elements],
            Role::Key => [self.groups, self.new, self.past, self.elements],
            Role::Value => [self.groups, self.new, self.past, self.of_value],
        }
    }

    /// The index of a role's first element in the bias.
    pub fn first_bias(&self, role: Role) -> u32 {
        match role {
            Role::Query => 0,
            Role::Key => self.heads * self.elements,
            Role::Value => (self.heads + self.groups) * self.elements,
        }
    }
}
