//! Elements that are likely to reveal errors.

use dml_core::DataType;

use super::number::Number;
use super::random::EDGES as VALUES;

/// Elements of a type that are likely to reveal errors: for floats, zeros, ones, halves, both ends of the
/// normal and subnormal ranges and of every integer type, infinities and NaNs; for integers, the ends of the
/// ranges of their own type and of narrower types.
pub fn edges(data_type: DataType) -> Vec<u64> {
    if let Some((least, most)) = data_type.integer_range() {
        let powers = [7, 8, 11, 15, 16, 24, 31, 32, 53, 63].map(|it| 1_i128 << it);
        let near =
            powers.into_iter().flat_map(|power| [power - 1, power, power + 1, -power, -power - 1]);
        let edges = near.chain([0, 1, 2, 3, -1, -2, least, most, 65_519, 65_520]);
        let mut edges: Vec<u64> = edges
            .filter(|edge| (least..=most).contains(edge))
            .map(|edge| data_type.integer_bits(edge))
            .collect();
        edges.sort_unstable();
        edges.dedup();
        return edges;
    }
    let (digits, bits) = match data_type {
        DataType::Float16 => (10, 16),
        DataType::Float64 => (52, 64),
        _ => (23, 32),
    };
    let infinity = ((1_u64 << (bits - 1 - digits)) - 1) << digits;
    let format = [0, 1, 1 << (digits - 1), (1 << digits) - 1, 1 << digits, (1 << digits) + 1]
        .into_iter()
        .chain([infinity - 1, infinity, infinity + 1, infinity | 1 << (digits - 1)]);
    let values = [0.3, 2047.0, 65_503.999, 6.1e-5].into_iter().chain(VALUES);
    let exact = |it: f64| {
        let number = Number::decode(DataType::Float64, it.to_bits());
        number.encode(data_type)
    };
    let mut edges: Vec<u64> =
        format.chain(values.map(exact)).flat_map(|it| [it, it | 1 << (bits - 1)]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_elements_of_their_type_and_different() {
        for data_type in DataType::ALL {
            let edges = edges(data_type);
            assert!(edges.is_sorted_by(|a, b| a < b), "{data_type}");
            assert!(
                edges.iter().all(|edge| *edge <= u64::MAX >> (64 - data_type.bits())),
                "{data_type}"
            );
            let numbers: Vec<Number> =
                edges.iter().map(|edge| Number::decode(data_type, *edge)).collect();
            let is_float = data_type.integer_range().is_none();
            assert_eq!(numbers.contains(&Number::Nan), is_float);
            assert_eq!(numbers.contains(&Number::Infinite { negative: true }), is_float);
        }
    }
}
