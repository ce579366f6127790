//! The types and ranks of an operator's tensors.

use dml_core::schema::OperatorSchema;
use dml_core::{DataType, MAX_DIMENSION_COUNT};

/// The data types and dimension counts of an operator's tensors.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Signature {
    /// One type per type parameter of the operator ([`OperatorSchema::type_parameters`]).
    pub types: Vec<DataType>,
    /// The rank of every tensor.
    pub rank: usize,
}

impl Signature {
    /// The signature of an operator with one type parameter.
    pub fn of(data_type: DataType, rank: usize) -> Self {
        Self { types: vec![data_type], rank }
    }

    /// The first type, which is the type of every tensor if there is one type parameter.
    ///
    /// # Panics
    /// There are no type parameters, which no operator has.
    pub fn data_type(&self) -> DataType {
        self.types[0]
    }

    /// The type of the operator's tensor `name`: its own, or that of the tensor whose type it shares.
    ///
    /// # Panics
    /// The operator has no such tensor, or another number of type parameters.
    pub fn type_of(&self, schema: &OperatorSchema, name: &str) -> DataType {
        let field =
            schema.fields.iter().find(|field| field.name == name).expect("a field of the row");
        let name = field.type_of.unwrap_or(name);
        let parameter =
            schema.type_parameters().position(|type_parameter| type_parameter.name == name);
        self.types[parameter.expect("a tensor of the row")]
    }

    /// All combinations of types that some feature level accepts, and those with one type that no level
    /// accepts, at every rank; ranks change first. Combinations of several refused types would be millions.
    pub fn all(schema: &OperatorSchema) -> impl Iterator<Item = Self> + use<> {
        type_lists(schema).into_iter().flat_map(|types| {
            (1..=MAX_DIMENSION_COUNT).map(move |rank| Self { types: types.clone(), rank })
        })
    }

    /// The names of the types, such as `FLOAT32-INT8`.
    pub fn type_names(&self) -> String {
        let names: Vec<&str> = self.types.iter().map(|data_type| data_type.name()).collect();
        names.join("-")
    }

    /// Parses names of types as [`type_names`](Self::type_names) writes them; `None` for unknown names.
    pub fn from_names(names: &str, rank: usize) -> Option<Self> {
        let types = names.split('-').map(|name| name.parse().ok());
        Some(Self { types: types.collect::<Option<_>>()?, rank })
    }
}

/// Combinations of a type for each parameter, with at most one type that no feature level accepts; the last
/// type changes first.
fn type_lists(schema: &OperatorSchema) -> Vec<Vec<DataType>> {
    let tensors = schema.tables.last().map_or(&[][..], |it| it.tensors);
    let is_taken = |name: &str, data_type| {
        tensors.iter().any(|tensor| tensor.field == name && tensor.data_types.contains(data_type))
    };
    let mut lists = vec![(vec![], false)];
    for parameter in schema.type_parameters() {
        let of = |(list, has_refused): &(Vec<DataType>, bool)| {
            let (list, has_refused) = (list.clone(), *has_refused);
            let with = move |data_type| {
                let is_refused = !is_taken(parameter.name, data_type);
                let list = [&list[..], &[data_type]].concat();
                (!(has_refused && is_refused)).then_some((list, has_refused || is_refused))
            };
            DataType::ALL.into_iter().filter_map(with)
        };
        lists = lists.iter().flat_map(of).collect();
    }
    lists.into_iter().map(|(list, _)| list).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dml_core::operators::{CAST, ELEMENT_WISE_ADD, ELEMENT_WISE_IF, MATRIX_MULTIPLY_INTEGER};

    #[test]
    fn all_signatures_are_types_that_go_together_or_all_but_one_at_every_rank() {
        assert_eq!(Signature::all(&ELEMENT_WISE_ADD).count(), 13 * 8);
        let mut pairs: Vec<_> = Signature::all(&CAST).collect();
        // Neither tensor accepts two of the types, so combinations of these are left out.
        assert_eq!(pairs.len(), (13 * 13 - 2 * 2) * 8);
        assert_eq!(pairs[7].rank, 8);
        assert_eq!(pairs[8].types, [DataType::ALL[0], DataType::ALL[1]]);
        pairs.sort();
        pairs.dedup();
        assert_eq!(pairs.len(), (13 * 13 - 2 * 2) * 8);
        // Two operands of 2 types and a result of 1 type: all are accepted, or all but one.
        let of_three = Signature::all(&MATRIX_MULTIPLY_INTEGER);
        assert_eq!(of_three.count(), (2 * 2 + 11 * 2 + 2 * 11 + 2 * 2 * 12) * 8);
    }

    #[test]
    fn a_tensor_has_its_own_type_or_that_of_another() {
        let signature = Signature { types: vec![DataType::Uint8, DataType::Int64], rank: 4 };
        let type_of = |name| signature.type_of(&ELEMENT_WISE_IF, name);
        assert_eq!(type_of("ConditionTensor"), DataType::Uint8);
        assert!(["ATensor", "BTensor", "OutputTensor"].map(type_of) == [DataType::Int64; 3]);
    }

    #[test]
    fn names_are_read_back() {
        for signature in Signature::all(&CAST) {
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
