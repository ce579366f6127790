//! Selects the cases of a run.

mod part;

use std::path::{Path, PathBuf};

use dml::core::operators;
use dml::{DataType, FeatureLevel};

use crate::cases::{self, Case, CaseId, Filter, Finder, Listed, Listing};
use crate::exit::Usage;
use crate::parallel;
use crate::pattern::Pattern;
use crate::results;

pub use part::{Sample, Shard};

/// The options that select cases.
#[derive(Clone, Debug, clap::Args)]
pub struct Selection {
    /// A feature level such as 5_1, or all
    #[arg(long, value_name = "L|all", default_value = "all", value_parser = parse_levels)]
    feature_level: Levels,
    /// Only cases whose id matches, such as '*/int64/*'
    #[arg(long, value_name = "GLOB")]
    filter: Option<Pattern>,
    /// How many random cases each operator has, at the highest of the levels
    #[arg(long, value_name = "N", default_value_t = 1)]
    random: u32,
    /// The seed of the random cases; their ids contain it
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Only the cases whose ids this file lists, one per line; # begins a comment
    #[arg(long, value_name = "FILE")]
    case_list: Option<PathBuf>,
    /// Only the I-th of N parts of the cases
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
}

#[derive(Clone, Debug)]
struct Levels(Vec<FeatureLevel>);

fn parse_levels(text: &str) -> Result<Levels, String> {
    if text == "all" {
        return Ok(Levels(FeatureLevel::ALL.to_vec()));
    }
    text.parse().map(|level| Levels(vec![level])).map_err(|error| format!("{error}, all"))
}

impl Selection {
    /// The cases, in a fixed order. With a list, levels and random cases are ignored.
    ///
    /// # Errors
    /// The list cannot be read or has an entry that is not an id, or no case is selected.
    pub fn cases(&self) -> anyhow::Result<Listing> {
        let listed = parallel::map(&self.sources()?, |source| {
            let mut listed = Vec::new();
            let list = |case| {
                listed.push(Listed::generated(case));
                Ok(())
            };
            let filter = Filter::new(self.filter.as_ref());
            self.visit_chosen(source, &filter, list).map(|_| listed)
        });
        let listed = listed.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
        let listed: Listing = listed.into_iter().flatten().collect();
        if listed.is_empty() { Err(self.no_case().into()) } else { Ok(listed) }
    }

    /// Calls `visit` with each of [`Self::cases`] as soon as it is generated.
    ///
    /// # Errors
    /// The errors of [`Self::cases`], and the first one of `visit`.
    pub fn try_for_each(
        &self,
        mut visit: impl FnMut(Case) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (sources, filter) = (self.sources()?, Filter::new(self.filter.as_ref()));
        let counts = sources.iter().map(|it| self.visit_chosen(it, &filter, &mut visit));
        let count: usize = counts.sum::<anyhow::Result<usize>>()?;
        if count == 0 { Err(self.no_case().into()) } else { Ok(()) }
    }

    /// The reason why no case is selected.
    fn no_case(&self) -> Usage {
        let filter = self.filter.as_ref().map(Pattern::glob);
        let suggestion = filter.map(suggestion).unwrap_or_default();
        let options = [
            filter.map(|glob| format!("--filter '{glob}'{suggestion}")),
            self.case_list.as_ref().map(|path| format!("--case-list {}", path.display())),
            self.shard.map(|shard| format!("--shard {shard}")),
        ];
        let options: Vec<String> = options.into_iter().flatten().collect();
        let levels = match self.feature_level.0.as_slice() {
            [level] => format!(" at feature level {level}"),
            _ => String::new(),
        };
        Usage(format!(
            "no case{levels} matches {}; ids are such as \
             5_1/diagonal_matrix/int64/rank3/offset_zero, and `dml-conformance list` prints all",
            options.join(" and ")
        ))
    }

    /// Visits those cases of `source` that pass the filter and are in the shard; returns how many.
    fn visit_chosen(
        &self,
        source: &Source,
        filter: &Filter<'_>,
        mut visit: impl FnMut(Case) -> anyhow::Result<()>,
    ) -> anyhow::Result<usize> {
        let is_chosen = |case: &Case| {
            if self.filter.is_none() && self.shard.is_none() {
                return true;
            }
            let id = case.id.to_string();
            self.filter.as_ref().is_none_or(|filter| filter.is_match(&id))
                && self.shard.is_none_or(|shard| shard.has(&id))
        };
        let mut count = 0;
        for case in source.cases(filter).filter(is_chosen) {
            visit(case)?;
            count += 1;
        }
        Ok(count)
    }

    /// Whether all levels are selected, and nothing restricts their cases.
    pub fn is_full(&self) -> bool {
        let all_levels = FeatureLevel::ALL.iter().all(|level| self.feature_level.0.contains(level));
        let narrowed = self.filter.is_some() || self.shard.is_some() || self.case_list.is_some();
        all_levels && !narrowed
    }

    /// The selection for a report.
    pub fn describe(&self) -> results::Selection {
        results::Selection {
            levels: self.feature_level.0.iter().map(ToString::to_string).collect(),
            filter: self.filter.as_ref().map(|filter| filter.glob().to_owned()),
            random: self.random,
            seed: self.seed,
            shard: self.shard.map(|shard| shard.to_string()),
            case_list: self.case_list.is_some(),
        }
    }

    /// Where the cases come from, in their order.
    fn sources(&self) -> Result<Vec<Source>, Usage> {
        let mut finder = Finder::default();
        if let Some(path) = &self.case_list {
            return Ok(vec![Source::Found(read_case_list(path, &mut finder)?)]);
        }
        if let Some(case) = self.named_case(&mut finder) {
            return Ok(vec![Source::Found(vec![case])]);
        }
        let levels = self.feature_level.0.iter().copied();
        let (count, seed) = (self.random, self.seed);
        let random = levels.clone().max().map(|level| Source::Random { level, count, seed });
        Ok(levels.map(Source::Level).chain(random).collect())
    }

    /// The case that the filter names in full: a random case then needs no `--random` and `--seed`.
    fn named_case(&self, finder: &mut Finder) -> Option<Case> {
        let id: CaseId = self.filter.as_ref()?.glob().parse().ok()?;
        if self.feature_level.0.contains(&id.level) { finder.find(&id) } else { None }
    }
}

/// Where cases come from.
enum Source {
    /// Cases that a list or the filter names by their ids.
    Found(Vec<Case>),
    /// The fixed cases of a level.
    Level(FeatureLevel),
    /// The random cases of a level.
    Random { level: FeatureLevel, count: u32, seed: u64 },
}

impl Source {
    /// The cases, generated one after the other. Those that the filter does not match may be left out.
    fn cases<'a>(&'a self, filter: &'a Filter<'_>) -> Box<dyn Iterator<Item = Case> + 'a> {
        match self {
            Self::Found(cases) => Box::new(cases.iter().cloned()),
            Self::Level(level) => Box::new(cases::all(*level, filter)),
            Self::Random { level, count, seed } => {
                Box::new(cases::random(*level, filter, *count, *seed))
            }
        }
    }
}

/// A question for a message about a glob that matches no id: names of operators and data types that are
/// similar to a part of it. Empty if there are none.
fn suggestion(glob: &str) -> String {
    const META: [char; 9] = ['*', '?', '[', ']', '{', '}', ',', '!', '\\'];
    let operators = dml_ops::OPERATORS.iter().map(|it| it.schema().name);
    let known: Vec<String> =
        operators.chain(DataType::ALL.map(DataType::name)).map(str::to_lowercase).collect();
    let parts: Vec<&str> = glob.split('/').collect();
    // In a complete id, the operator and the data type.
    let parts = if parts.len() == 5 { &parts[1..3] } else { &parts[..] };
    // Parts without wildcards, then words of the others.
    let (whole, patterns): (Vec<&str>, Vec<&str>) =
        parts.iter().copied().partition(|part: &&str| !part.contains(META));
    let whole = whole.into_iter().filter(|part| !known.iter().any(|name| name == part));
    let words = patterns.into_iter().flat_map(|part| part.split(META));
    let words = words.filter(|word| !known.iter().any(|name| name.contains(word)));
    whole
        .chain(words)
        .map(|part| dml::core::suggestion(part, known.iter().map(String::as_str)))
        .find(|text| !text.is_empty())
        .unwrap_or_default()
}

/// The message for an id that no case has.
pub(crate) fn no_such_case(id: &CaseId) -> String {
    let text = format!("there is no case {id}");
    if operators::find(&id.operator).is_some() {
        return text;
    }
    let suggestion = operators::suggestion(&id.operator);
    format!("{text}: unknown operator {}{suggestion}", id.operator)
}

/// Reads a list of ids: one a line; empty lines and comments after `#` are ignored. An error names the line.
fn read_case_list(path: &Path, finder: &mut Finder) -> Result<Vec<Case>, Usage> {
    let usage = |problem: String| Usage(format!("--case-list: {}: {problem}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| usage(error.to_string()))?;
    let mut case = |(number, line): (usize, &str)| {
        let id: CaseId = line.parse().map_err(|error| usage(format!("line {number}: {error}")))?;
        let case = finder.find(&id);
        case.ok_or_else(|| usage(format!("line {number}: {}", no_such_case(&id))))
    };
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    (1..).zip(lines).filter(|(_, line)| !line.is_empty()).map(&mut case).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::sync::LazyLock;

    use super::*;
    use crate::cases::ALL_IDS;

    fn selection(levels: &[FeatureLevel]) -> Selection {
        let feature_level = Levels(levels.to_vec());
        Selection { feature_level, filter: None, random: 0, seed: 0, shard: None, case_list: None }
    }

    fn filter(text: &str) -> Option<Pattern> {
        Some(text.parse().unwrap())
    }

    fn ids(selection: &Selection) -> Vec<String> {
        selection.cases().unwrap().iter().map(|case| case.id.to_string()).collect()
    }

    #[test]
    fn shards_are_all_cases_and_share_none() {
        let all = selection(&[FeatureLevel::V3_0]);
        let shard =
            |text: &str| ids(&Selection { shard: Some(text.parse().unwrap()), ..all.clone() });
        let parts = ["1/3", "2/3", "3/3"].map(shard);
        let count = ids(&all).len();
        assert!(
            parts.iter().all(|part| part.len() > count / 4),
            "{:?}",
            parts.each_ref().map(Vec::len)
        );
        let mut union = parts.concat();
        assert_eq!(union.len(), count);
        let mut all = ids(&all);
        union.sort();
        all.sort();
        assert_eq!(union, all);
    }

    /// The ids that a list of this text chooses, or what is wrong with it.
    fn listed(text: &str) -> Result<Vec<String>, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let case_list = Some(file.path().to_owned());
        let listed = Selection { case_list, ..selection(&[FeatureLevel::V1_0]) }.cases();
        listed
            .map(|cases| cases.iter().map(|case| case.id.to_string()).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_list_has_ids_and_comments() {
        let id = "5_1/diagonal_matrix/int64/rank3/offset_zero";
        assert_eq!(listed(&format!("# chosen\n\n{id} # why\n")), Ok(vec![id.to_owned()]));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let error = |text: &str| listed(text).unwrap_err();
        assert!(error("\nnonsense\n").contains(": line 2: \"nonsense\" is not a case id;"));
        let unknown = "5_1/diagonal_matrix/int64/rank3/nothing";
        assert!(error(unknown).ends_with(&format!(": line 1: there is no case {unknown}")));
        let error = error("5_1/softmax/float32/rank3/values");
        let suggested =
            "/rank3/values: unknown operator softmax (did you mean ACTIVATION_SOFTMAX, ";
        assert!(error.contains(suggested), "{error}");
    }

    #[test]
    fn random_cases_are_of_the_highest_level() {
        let two = Selection { random: 1, ..selection(&[FeatureLevel::V2_1, FeatureLevel::V2_0]) };
        let ids = ids(&two);
        let random: Vec<_> = ids.iter().filter(|id| id.ends_with("/random_0_0")).collect();
        assert!(!random.is_empty() && random.iter().all(|id| id.starts_with("2_1/")), "{random:?}");
    }

    #[test]
    fn a_filter_that_is_an_id_needs_no_seed() {
        let id = "6_4/diagonal_matrix/int8/rank2/random_99_5";
        let one = Selection { filter: filter(id), ..selection(&FeatureLevel::ALL) };
        assert_eq!(ids(&one), [id]);
        let other_level = Selection { filter: filter(id), ..selection(&[FeatureLevel::V5_1]) };
        let error = other_level.cases().unwrap_err().to_string();
        let expected = format!("no case at feature level 5_1 matches --filter '{id}'; ids are");
        assert!(error.starts_with(&expected), "{error}");
    }

    #[test]
    fn cases_that_are_not_generated_are_those_that_the_filter_does_not_match() {
        // Enough to tell levels apart.
        let levels =
            [FeatureLevel::V3_0, FeatureLevel::V4_0, FeatureLevel::V5_1, FeatureLevel::V6_4];
        let is_of_levels =
            |id: &&str| levels.iter().any(|level| id.starts_with(&format!("{level}/")));
        let everything = ALL_IDS.iter().chain(&*RANDOM_IDS).map(String::as_str);
        let everything: Vec<&str> = everything.filter(is_of_levels).collect();
        for glob in [
            "*/diagonal_matrix*",
            "*/diagonal_matrix/*",
            "*/diagonal_matrix1/int*/rank[24]/*_in_*",
            "5_1/*/int64/*/offset_*",
            "[!123456]_?/*",
            "?_[!0]/{cast,*gather,split}/*/rank1/*",
            "6_4/gemm/float32/rank2/*",
            "*/rank8/refused_dimension_count",
            "[56]_?/**/values_nan",
            "6_4/*/random_0_0",
            "*/random_0_1",
            "*_0_1",
            "4_0/f*/**",
            "*/float32-int8/*",
            "\\5_1/fold/*",
            "3_0/*/uint?/*rank4*zero*",
            "5_1/tile/int8",
            "no such case",
        ] {
            let pattern: Pattern = glob.parse().unwrap();
            let matching = everything.iter().filter(|id| pattern.is_match(id));
            let filtered =
                Selection { filter: Some(pattern.clone()), random: 2, ..selection(&levels) };
            let filter = Filter::new(Some(&pattern));
            let sources = filtered.sources().unwrap();
            let generated = sources.iter().flat_map(|source| source.cases(&filter));
            let generated: Vec<String> = generated.map(|case| case.id.to_string()).collect();
            assert!(matching.copied().eq(generated.iter().map(String::as_str)), "{glob}");
        }
    }

    /// Two random cases of each operator, generated without a filter.
    static RANDOM_IDS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let everything = Filter::default();
        let random = cases::random(FeatureLevel::HIGHEST, &everything, 2, 0);
        random.map(|case| case.id.to_string()).collect()
    });

    #[test]
    fn a_filter_that_matches_nothing_is_answered_with_similar_names() {
        let error = |glob: &str| {
            let none = Selection { filter: filter(glob), ..selection(&FeatureLevel::ALL) };
            none.cases().unwrap_err().to_string()
        };
        for (glob, suggested) in [
            ("*/SOFTMAX/*", "'*/SOFTMAX/*' (did you mean activation_softmax, "),
            ("5_1/DIAGONAL_MATRIX/*", "(did you mean diagonal_matrix or diagonal_matrix1?)"),
            ("*/convolutoin/*", "(did you mean convolution"),
            ("*/gemm/flot32/*", "(did you mean float32"),
            ("*/int*/softmax/*", "(did you mean activation_softmax, "),
            ("*/diagnoal*", "(did you mean diagonal_matrix or"),
            ("*/tile/*/no_such_case", "'*/tile/*/no_such_case'; ids are such as"),
        ] {
            let error = error(glob);
            assert!(error.contains(suggested), "{error}");
        }
    }
}
