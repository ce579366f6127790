//! The cases of one operator at one feature level with tensors of one signature.

use dml::core::MAX_DIMENSION_COUNT;
use dml::core::schema::OperatorSchema;
use dml::{AbstractOperator, DataType, FeatureLevel};
use dml_reference::{Case as CornerCase, REFERENCES, Random, Reference, Signature};

use super::filter::Filter;
use super::{Case, CaseId, Expectation, id, rules};
use crate::documents::{self, Answer};

/// One operator at one level, with the types and the rank of its tensors.
pub(super) struct Cell {
    pub(super) reference: &'static dyn Reference,
    pub(super) level: FeatureLevel,
    pub(super) signature: Signature,
}

impl Cell {
    /// The cells of a level that have cases, for operators that pass the filter.
    pub(super) fn all(level: FeatureLevel, filter: &Filter<'_>) -> impl Iterator<Item = Self> {
        let passes =
            move |it: &&'static dyn Reference| filter.may_have_operator(level, it.schema());
        REFERENCES.iter().copied().filter(passes).flat_map(move |reference| {
            let parameters = Parameters::of(reference.schema(), level);
            let signatures = Signature::all(reference.schema());
            let signatures = signatures.filter(move |it| parameters.may_have_cases(it));
            signatures.map(move |signature| Self { reference, level, signature })
        })
    }

    pub(super) fn of(id: &CaseId) -> Option<Self> {
        let mut references = REFERENCES.iter().copied();
        let reference =
            references.find(|reference| reference.schema().name.to_lowercase() == id.operator)?;
        let (level, signature) = (id.level, id.signature.clone());
        let is_one = signature.types.len() == reference.schema().type_parameters().count()
            && (1..=MAX_DIMENSION_COUNT).contains(&signature.rank);
        is_one.then_some(Self { reference, level, signature })
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.reference.schema().operator_type == other.reference.schema().operator_type
            && (self.level, &self.signature) == (other.level, &other.signature)
    }

    /// The ids of its cases without their last part.
    pub(super) fn prefix(&self) -> String {
        id::prefix(self.level, &id::operator_word(self.reference.schema()), &self.signature)
    }

    fn case(&self, name: &str, operator: AbstractOperator, expectation: Expectation) -> Case {
        let level = self.level;
        let id = CaseId::new(level, self.reference.schema(), &self.signature, name);
        Case { id, level, operator, expectation }
    }

    /// The cases of a run: those of some types and ranks (`has_case` of the reference), and
    /// [some](Self::is_chosen_refusal) refusals.
    pub(super) fn cases(&self) -> Vec<Case> {
        if !self.is_chosen_refusal() && self.refusal().is_some() {
            return vec![];
        }
        self.refused().unwrap_or_else(|| {
            let corners = self.reference.chosen_cases(&self.signature);
            self.accepted(corners, rules::cases(self.reference, self.level, &self.signature))
        })
    }

    /// The cases that a run can select by name: every type at every rank.
    pub(super) fn all_cases(&self) -> Vec<Case> {
        self.refused().unwrap_or_else(|| {
            let corners = self.reference.cases(&self.signature);
            self.accepted(
                corners,
                rules::all(self.reference, self.level, &self.signature, &|_| true),
            )
        })
    }

    /// The case that the level refuses; `None` if it accepts the signature.
    fn refused(&self) -> Option<Vec<Case>> {
        let (name, needs) = self.refusal()?;
        let minimal = self.reference.minimal(&self.signature);
        Some(vec![self.case(name, minimal, Expectation::NeedsLevel(needs))])
    }

    fn accepted(&self, corners: Vec<CornerCase>, rules: Vec<rules::RuleCase>) -> Vec<Case> {
        let rules = rules.into_iter();
        let rules = rules.map(|rule| self.case(&rule.name, rule.operator, rule.expectation));
        corners.into_iter().map(|corner| self.outputs(corner)).chain(rules).collect()
    }

    pub(super) fn outputs(&self, corner: CornerCase) -> Case {
        let (name, operator) = (corner.name.clone(), corner.operator.clone());
        if documents::ask(&operator, self.level) != Answer::Accepted {
            let needed = documents::needed_level(&operator);
            return self.case(&name, operator, Expectation::NeedsLevel(needed));
        }
        match documents::level_of_parts(&operator).filter(|needs| *needs > self.level) {
            Some(needs) => self.case(&name, operator, Expectation::NeedsLevel(Some(needs))),
            None => self.case(&name, operator, Expectation::Outputs(Box::new(corner))),
        }
    }

    /// Whether random cases with this index are drawn for the signature.
    pub(super) fn has_random(&self, seed: u64, index: u32) -> bool {
        // Small enough that no sum overflows.
        let number = seed.wrapping_add(u64::from(index)) % 65_536;
        self.reference.has_case(&self.signature)(usize::try_from(number).unwrap_or(0))
    }

    /// The id of a random case.
    pub(super) fn random_id(&self, seed: u64, index: u32) -> CaseId {
        CaseId::new(self.level, self.reference.schema(), &self.signature, &random_name(seed, index))
    }

    pub(super) fn random(&self, seed: u64, index: u32) -> Case {
        let name = random_name(seed, index);
        let (operator, types) = (self.reference.schema().name, self.signature.type_names());
        // Without the level, so that every level that accepts it has the same case.
        let seed = format!("{operator}/{types}/{}/{name}", self.signature.rank);
        let mut corner = self.reference.random(&mut Random::new(&seed), &self.signature);
        corner.name = name.into();
        self.outputs(corner)
    }

    /// Whether a refusal of this signature is a case. If all tensors have one type, each is. If types differ,
    /// each type of each tensor, and each rank, is refused once, together with the first types that the level
    /// accepts for the other tensors.
    fn is_chosen_refusal(&self) -> bool {
        let (schema, Signature { types, rank }) = (self.reference.schema(), &self.signature);
        let first = |name| documents::first(schema.name, self.level, name);
        let firsts: Vec<_> = schema.type_parameters().map(|field| first(field.name)).collect();
        let is_other_type =
            |(first, of): &(&Option<_>, &DataType)| first.is_some_and(|(it, _)| it != **of);
        let other_types = firsts.iter().zip(types).filter(is_other_type).count();
        let is_other_rank = firsts.iter().flatten().any(|(_, first)| first != rank);
        types.len() < 2 || other_types + usize::from(is_other_rank) < 2
    }

    /// The reason why the level refuses tensors of this signature, and the level that the refusal must name.
    pub(super) fn refusal(&self) -> Option<(&'static str, Option<FeatureLevel>)> {
        let minimal = self.reference.minimal(&self.signature);
        let case = match documents::ask(&minimal, self.level) {
            Answer::Accepted => return None,
            Answer::NoOperator => "refused_operator",
            Answer::NoDataType => "refused_data_type",
            Answer::NoRank => "refused_dimension_count",
        };
        Some((case, documents::needed_level(&minimal)))
    }
}

fn random_name(seed: u64, index: u32) -> String {
    format!("random_{seed}_{index}")
}

/// The types that a level accepts for each type parameter of an operator. Most combinations have no case,
/// which this shows before a descriptor is made.
struct Parameters {
    types: Vec<Vec<DataType>>,
    first: Vec<Option<DataType>>,
}

impl Parameters {
    fn of(schema: &OperatorSchema, level: FeatureLevel) -> Self {
        let name = schema.name;
        let types = schema
            .type_parameters()
            .map(|type_parameter| documents::types(name, level, type_parameter.name));
        let first = schema
            .type_parameters()
            .map(|type_parameter| documents::first(name, level, type_parameter.name));
        Self {
            types: types.collect(),
            first: first.map(|first| first.map(|(first, _)| first)).collect(),
        }
    }

    /// Whether the level may accept the signature, or refuse one type of it.
    fn may_have_cases(&self, signature: &Signature) -> bool {
        let types = || signature.types.iter();
        let differing = types().zip(&self.first).filter(|(it, first)| Some(**it) != **first);
        signature.types.len() < 2
            || types().zip(&self.types).all(|(it, accepted)| accepted.contains(it))
            || differing.count() < 2
    }
}
