//! Every case of a feature level, generated from the documents' support tables and from the operators' corner
//! cases.

use std::cell::OnceCell;

use dml::{AbstractOperator, FeatureLevel};
use dml_reference::Case as CornerCase;

mod cell;
mod filter;
mod id;
mod listed;
mod rules;

use cell::Cell;
pub use filter::Filter;
pub(crate) use filter::names_file;
pub use id::CaseId;
pub use listed::{Kind, Listed, Listing, listing};

/// The outcome that a case must have.
#[derive(Clone, Debug)]
pub enum Expectation {
    /// The operator executes, and its outputs match the reference's by the operator's comparison.
    Outputs(Box<CornerCase>),
    /// Compilation refuses it because of the feature level, naming the lowest level that accepts it, or that
    /// none does.
    NeedsLevel(Option<FeatureLevel>),
    /// Compilation refuses the descriptor, naming this field by its whole path, such as `OutputTensor.Sizes[3]`.
    InvalidField(String),
    /// The operator compiles and executes, but is refused if any one of its tensors is bound in this way.
    InvalidBinding(BadBinding),
}

/// A wrong way to bind a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadBinding {
    /// 4 bytes less than the tensor needs.
    TooSmall,
    /// At an offset that is not a multiple of 16.
    Unaligned,
    /// Reaching past the end of its buffer.
    OutOfBuffer,
    /// Not bound.
    Missing,
}

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its stable name.
    pub id: CaseId,
    /// The feature level of the device.
    pub level: FeatureLevel,
    /// The operator.
    pub operator: AbstractOperator,
    /// The outcome that it must have.
    pub expectation: Expectation,
}

impl Case {
    /// The kind of the case.
    pub fn kind(&self) -> Kind {
        match self.expectation {
            Expectation::Outputs(_) => Kind::Outputs,
            Expectation::InvalidBinding(_) => Kind::Binding,
            Expectation::NeedsLevel(_) | Expectation::InvalidField(_) => Kind::Refusal,
        }
    }
}

/// Every fixed case of `level`, in a fixed order.
pub fn generate(level: FeatureLevel) -> Vec<Case> {
    all(level, &Filter::default()).collect()
}

/// Every fixed case of `level` that passes the filter, generated one after the other.
pub fn all(level: FeatureLevel, filter: &Filter<'_>) -> impl Iterator<Item = Case> {
    let cells = Cell::all(level, filter).filter(move |cell| filter.may_complete(|| cell.prefix()));
    cells.flat_map(|cell| cell.cases()).filter(move |case| filter.is_match(&case.id))
}

/// The cases of `level` with outputs, in every combination of types: to search for mutations.
pub fn thorough(level: FeatureLevel) -> Vec<Case> {
    let everything = Filter::default();
    let accepting = Cell::all(level, &everything).filter(|cell| cell.refusal().is_none());
    let cases = accepting.flat_map(|cell| {
        let corners = cell.reference.thorough_cases(&cell.signature).into_iter();
        corners.map(|corner| cell.outputs(corner)).collect::<Vec<_>>()
    });
    cases.collect()
}

/// `count` times random cases for each operator that `level` accepts, each time with other types and ranks,
/// determined by `seed`. Cases that pass the filter are generated, one after the other.
pub fn random(
    level: FeatureLevel,
    filter: &Filter<'_>,
    count: u32,
    seed: u64,
) -> impl Iterator<Item = Case> {
    Cell::all(level, filter).flat_map(move |cell| {
        let is_accepted = OnceCell::new();
        let drawn = move |index| {
            // The name first, which is faster than the rest.
            let is_drawn = filter.is_match(&cell.random_id(seed, index))
                && *is_accepted.get_or_init(|| cell.refusal().is_none())
                && cell.has_random(seed, index);
            is_drawn.then(|| cell.random(seed, index))
        };
        (0..count).filter_map(drawn)
    })
}

/// Finds cases by their ids. Fast if ids come in the order of their cases.
#[derive(Default)]
pub struct Finder {
    recent: Option<Recent>,
}

/// The cases of the cell in which a case was found last.
struct Recent {
    cell: Cell,
    cases: Vec<Case>,
    /// The index after that case, where the next one is most likely found.
    next: usize,
}

impl Finder {
    /// The case with this id, also a random one or one that no run includes by itself; `None` if there is none.
    pub fn find(&mut self, id: &CaseId) -> Option<Case> {
        let cell = Cell::of(id)?;
        if let Some((seed, index)) = id.random() {
            return cell.refusal().is_none().then(|| cell.random(seed, index));
        }
        if !self.recent.as_ref().is_some_and(|recent| recent.cell.is_same(&cell)) {
            let cases = cell.all_cases();
            self.recent = Some(Recent { cell, cases, next: 0 });
        }
        let Recent { cases, next, .. } = self.recent.as_mut()?;
        let mut in_order = (*next..cases.len()).chain(0..*next);
        let found = in_order.find(|at| cases[*at].id.name == id.name)?;
        *next = found + 1;
        Some(cases[found].clone())
    }
}

/// The ids of every fixed case, in the order of [`generate`].
#[cfg(test)]
pub(crate) static ALL_IDS: std::sync::LazyLock<Vec<String>> = std::sync::LazyLock::new(|| {
    let everything = Filter::default();
    let cases = FeatureLevel::ALL.into_iter().flat_map(|level| all(level, &everything));
    cases.map(|case| case.id.to_string()).collect()
});

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use dml::DataType;
    use dml::core::{MAX_DIMENSION_COUNT, operators};
    use dml_reference::Signature;

    use super::*;

    /// The cases of one operator.
    fn of_operator(level: FeatureLevel, operator: &str) -> Vec<Case> {
        let pattern = format!("*/{operator}/*").parse().unwrap();
        all(level, &Filter::new(Some(&pattern))).collect()
    }

    #[test]
    fn the_file_of_names_has_those_of_all_cases() {
        let names = ALL_IDS.iter().filter_map(|id| id.rsplit('/').next());
        assert_eq!(
            names_file(names),
            filter::NAMES,
            "run: cargo run -p dml-conformance -- names > conformance/src/cases/names.txt"
        );
    }

    #[test]
    fn ids_are_stable_and_unique() {
        let mut ids = ALL_IDS.clone();
        assert!(ids.contains(&"5_1/diagonal_matrix/int64/rank4/rule_strides_zero".to_owned()));
        assert!(ids.contains(&"2_0/diagonal_matrix/float32/rank4/doc_default_identity".to_owned()));
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }

    #[test]
    fn every_level_type_and_rank_has_a_case() {
        for level in FeatureLevel::ALL {
            let cases = of_operator(level, "diagonal_matrix");
            let ids: Vec<String> = cases.iter().map(|case| case.id.to_string()).collect();
            for data_type in DataType::ALL {
                for rank in 1..=MAX_DIMENSION_COUNT {
                    let data_type = data_type.name().to_lowercase();
                    let prefix = format!("{level}/diagonal_matrix/{data_type}/rank{rank}/");
                    assert!(ids.iter().any(|id| id.starts_with(&prefix)), "{prefix}");
                }
            }
        }
    }

    #[test]
    fn what_a_level_does_not_leave_out_or_nest_is_refused_there() {
        let name = "element_wise_dequantize_linear/int8-float32/rank4/values_left_out";
        for (level, is_refused) in [("6_1", true), ("6_2", false)] {
            let case = Finder::default().find(&format!("{level}/{name}").parse().unwrap());
            let needs = Expectation::NeedsLevel(Some(FeatureLevel::V6_2));
            assert_eq!(
                format!("{:?}", case.unwrap().expectation) == format!("{needs:?}"),
                is_refused
            );
        }
    }

    #[test]
    fn where_types_differ_each_type_and_rank_is_refused_once() {
        let is_refused = |case: &Case| matches!(case.expectation, Expectation::NeedsLevel(_));
        for level in FeatureLevel::ALL {
            let refused = of_operator(level, "cast").into_iter().filter(is_refused);
            let ids: Vec<CaseId> = refused.map(|case| case.id).collect();
            let takes = |types: &[DataType], rank| {
                let (types, reference) =
                    (types.to_vec(), dml_reference::find(operators::CAST.operator_type));
                let (signature, reference) = (Signature { types, rank }, reference.unwrap());
                Cell { reference, level, signature }.refusal().is_none()
            };
            let pairs = DataType::ALL.iter().flat_map(|a| DataType::ALL.map(|b| [*a, b]));
            let cells =
                pairs.flat_map(|types| (1..=MAX_DIMENSION_COUNT).map(move |it| (types, it)));
            let taken: Vec<_> = cells.filter(|(types, rank)| takes(types, *rank)).collect();
            for (at, data_type) in (0..2).flat_map(|at| DataType::ALL.map(|it| (at, it))) {
                let is_refused = ids.iter().any(|id| id.signature.types[at] == data_type);
                let is_taken = taken.iter().any(|(types, _)| types[at] == data_type);
                assert!(is_refused || is_taken, "{level}: {data_type:?} of tensor {at}");
            }
            for rank in 1..=MAX_DIMENSION_COUNT {
                let is_refused = ids.iter().any(|id| id.signature.rank == rank);
                let is_taken = taken.iter().any(|(_, it)| *it == rank);
                assert!(is_refused || is_taken, "{level}: rank {rank}");
            }
            assert!(ids.len() <= 2 * 13 + 8, "{level}: {}", ids.len());
        }
    }

    /// The operators that are visited for a glob, and how many cases are generated and chosen.
    fn visited(glob: &str) -> (HashSet<&'static str>, usize, usize) {
        let pattern = glob.parse().unwrap();
        let filter = Filter::new(Some(&pattern));
        let cells = |level| Cell::all(level, &filter);
        let levels = || FeatureLevel::ALL.into_iter();
        let operators = levels().flat_map(cells).map(|cell| cell.reference.schema().name).collect();
        let completed =
            levels().flat_map(cells).filter(|cell| filter.may_complete(|| cell.prefix()));
        let generated = completed.map(|cell| cell.cases().len()).sum();
        let chosen = levels().flat_map(|level| all(level, &filter)).count();
        (operators, generated, chosen)
    }

    #[test]
    fn a_filter_visits_the_operators_that_it_names_and_generates_their_cases_alone() {
        for (glob, word) in [
            ("*/diagonal_matrix*", "DIAGONAL_MATRIX"),
            ("*/diagonal_matrix/*", "DIAGONAL_MATRIX"),
            ("*matrix*", "MATRIX"),
            ("**/*_matrix1/**", "_MATRIX1"),
            ("{5,6}_?/cast*", "CAST"),
        ] {
            let (operators, generated, chosen) = visited(glob);
            assert!(operators.iter().all(|name| name.contains(word)), "{glob}: {operators:?}");
            assert!(chosen > 0 && generated == chosen, "{glob}: {generated} for {chosen}");
        }
        assert_eq!(visited("*/no_such_operator*"), (HashSet::new(), 0, 0));
        assert_eq!(visited("*/random_7_12x"), (HashSet::new(), 0, 0));
        // A name that several operators have leads to those, and random cases to all.
        assert_eq!(visited("*/random_7_*").0.len(), dml_ops::OPERATORS.len());
    }

    #[test]
    fn every_case_is_found_by_its_id() {
        let mut finder = Finder::default();
        let everything = Filter::default();
        let random = random(FeatureLevel::V6_4, &everything, 2, 7);
        for case in all(FeatureLevel::V4_1, &everything).chain(random) {
            let found = finder.find(&case.id).unwrap();
            // As text, since a NaN differs from itself.
            let fields = |case: &Case| format!("{:?}", case.operator.fields());
            assert_eq!((&found.id, fields(&found)), (&case.id, fields(&case)));
        }
        for unknown in [
            "5_1/no_operator/int64/rank3/offset_zero",
            "5_1/diagonal_matrix/int64/rank3/no_such_case",
            "5_1/diagonal_matrix/int64/rank9/offset_zero",
            "5_1/diagonal_matrix/int64-int64/rank3/offset_zero",
            "5_0/diagonal_matrix/int64/rank3/random_0_0",
        ] {
            assert!(finder.find(&unknown.parse().unwrap()).is_none(), "{unknown}");
        }
    }

    #[test]
    fn a_random_case_depends_on_its_name_alone() {
        let case = |id: &str| Finder::default().find(&id.parse().unwrap()).unwrap().operator;
        let id = "5_1/diagonal_matrix/int64/rank3/random_7_1";
        assert_eq!(case(id), case(id));
        assert_eq!(case(id), case("6_4/diagonal_matrix/int64/rank3/random_7_1"));
        assert_ne!(case(id), case("5_1/diagonal_matrix/int64/rank3/random_7_2"));
        assert_ne!(case(id), case("5_1/diagonal_matrix/int64/rank3/random_8_1"));
    }

    #[test]
    fn random_cases_are_of_each_operator_and_in_the_end_of_all_types() {
        let highest = FeatureLevel::HIGHEST;
        let everything = Filter::default();
        let operators = |count| -> HashSet<String> {
            random(highest, &everything, count, 0).map(|case| case.id.operator).collect()
        };
        assert_eq!(operators(1).len(), dml_ops::OPERATORS.len());
        let types = |cells: Vec<CaseId>| -> HashSet<_> {
            let of_one = cells.into_iter().filter(|id| id.operator == "element_wise_add");
            of_one.map(|id| id.signature.types).collect()
        };
        let accepted = Cell::all(highest, &everything).filter(|cell| cell.refusal().is_none());
        let accepted = types(accepted.map(|cell| cell.random(0, 0).id).collect());
        let pattern = "*/element_wise_add/*".parse().unwrap();
        let filter = Filter::new(Some(&pattern));
        assert_eq!(types(random(highest, &filter, 40, 0).map(|case| case.id).collect()), accepted);
    }
}
