//! Which types and how many dimensions an operator's tensors have.

use dml_core::{DataType, MAX_DIMENSION_COUNT};

/// The data types and dimension counts of an operator's tensors.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Signature {
    /// One type for each of the operator's type parameters
    /// ([`Reference::type_parameters`](super::Reference::type_parameters)).
    pub types: Vec<DataType>,
    /// The dimensions of every tensor.
    pub rank: usize,
}

impl Signature {
    /// That of an operator with one type parameter.
    pub fn of(data_type: DataType, rank: usize) -> Self {
        Self { types: vec![data_type], rank }
    }

    /// The first type: that of every tensor where there is one parameter.
    ///
    /// # Panics
    /// There is none, which no operator has.
    pub fn data_type(&self) -> DataType {
        self.types[0]
    }

    /// Every signature that a descriptor can have where there are `type_parameters`, whether or not
    /// anything accepts it; ranks change first.
    pub fn all(type_parameters: usize) -> impl Iterator<Item = Self> {
        type_lists(type_parameters).into_iter().flat_map(|types| {
            (1..=MAX_DIMENSION_COUNT).map(move |rank| Self { types: types.clone(), rank })
        })
    }

    /// The names of the types, such as `FLOAT32-INT8`.
    pub fn type_names(&self) -> String {
        let names: Vec<&str> = self.types.iter().map(|it| it.name()).collect();
        names.join("-")
    }

    /// Reads the names of types as [`type_names`](Self::type_names) writes them; `None` where there
    /// is another name.
    pub fn from_names(names: &str, rank: usize) -> Option<Self> {
        let types = names.split('-').map(|name| name.parse().ok());
        Some(Self { types: types.collect::<Option<_>>()?, rank })
    }
}

/// Every list of so many types; the last one changes first.
fn type_lists(count: usize) -> Vec<Vec<DataType>> {
    (0..count).fold(vec![vec![]], |lists: Vec<Vec<DataType>>, _| {
        let with = |list: &[DataType], last| [list, &[last]].concat();
        lists.iter().flat_map(|list| DataType::ALL.map(|data_type| with(list, data_type))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_signatures_are_every_pair_of_types_at_every_rank() {
        assert_eq!(Signature::all(1).count(), 13 * 8);
        let mut pairs: Vec<_> = Signature::all(2).collect();
        assert_eq!(pairs.len(), 13 * 13 * 8);
        assert_eq!(pairs[7].rank, 8);
        assert_eq!(pairs[8].types, [DataType::ALL[0], DataType::ALL[1]]);
        pairs.sort();
        pairs.dedup();
        assert_eq!(pairs.len(), 13 * 13 * 8);
    }

    #[test]
    fn names_are_read_back() {
        for signature in Signature::all(2) {
            let names = signature.type_names();
            assert_eq!(Signature::from_names(&names, signature.rank), Some(signature), "{names}");
        }
        let cast = Signature { types: vec![DataType::Float32, DataType::Int8], rank: 4 };
        assert_eq!(cast.type_names(), "FLOAT32-INT8");
        for wrong in ["", "FLOAT32-", "FLOAT32_INT8", "INT7"] {
            assert_eq!(Signature::from_names(wrong, 4), None, "{wrong}");
        }
    }
}
