//! The rule of attention: which tensors hold queries, keys and values, and the sizes of all tensors.

use super::invalid;
use crate::error::Error;
use crate::schema::FieldKind;
use crate::schema::validated::Validated;
use crate::tensor::TensorLayout;
use crate::types::enums::MultiheadAttentionMaskType as MaskType;

/// The tensors that may hold queries, keys, or values. Exactly one of each list is given.
const QUERIES: [&str; 3] = ["QueryTensor", "StackedQueryKeyTensor", "StackedQueryKeyValueTensor"];
const KEYS: [&str; 4] =
    ["KeyTensor", "StackedQueryKeyTensor", "StackedKeyValueTensor", "StackedQueryKeyValueTensor"];
const VALUES: [&str; 3] = ["ValueTensor", "StackedKeyValueTensor", "StackedQueryKeyValueTensor"];

/// All sizes follow from the sizes of queries, keys and values, and from the number of heads.
pub(super) fn attention(operator: &Validated) -> Result<(), Error> {
    let sizes = Sizes::of(operator)?;
    partners_are_there(operator)?;
    for kind in [FieldKind::Input, FieldKind::Output] {
        for (path, tensor) in operator.present_tensors(kind) {
            let name = path.field.name;
            let (wanted, fit) = sizes.of_tensor(name);
            let given = inner(operator, name, tensor.sizes(), wanted.len())?;
            let first = tensor.sizes().len() - wanted.len();
            let is_wrong = |at: &usize| !fit.takes(*at, given[*at], wanted[*at]);
            if let Some(at) = (0..wanted.len()).find(is_wrong) {
                let path = format!("{name}.Sizes[{}]", first + at);
                let problem = "does not match the sizes of the other tensors";
                return Err(invalid(operator, path, given[at], problem, wanted[at]));
            }
        }
    }
    Ok(())
}

/// The only given tensor of `names`.
fn only<'a>(
    operator: &'a Validated,
    names: &[&'static str],
) -> Result<(&'static str, &'a TensorLayout), Error> {
    let mut found = None;
    for name in names {
        let Some(tensor) = operator.tensor(name)? else { continue };
        if let Some((other, _)) = found {
            let problem = format!("must not be given together with {other}");
            return Err(invalid(operator, *name, "a tensor", problem, "null"));
        }
        found = Some((*name, tensor));
    }
    let others = || format!("a tensor in this field, or in {}", names[1..].join(" or "));
    found.ok_or_else(|| {
        invalid(operator, names[0], "null", "is left out, and so are its alternatives", others())
    })
}

/// The last `count` sizes; all sizes before them must be 1.
fn inner<'a>(
    operator: &Validated,
    name: &str,
    sizes: &'a [u32],
    count: usize,
) -> Result<&'a [u32], Error> {
    let Some(first) = sizes.len().checked_sub(count) else {
        let (path, problem) = (format!("{name}.DimensionCount"), "is too small");
        return Err(invalid(operator, path, sizes.len(), problem, format!("{count} or more")));
    };
    match sizes[..first].iter().position(|size| *size != 1) {
        None => Ok(&sizes[first..]),
        Some(at) => {
            let path = format!("{name}.Sizes[{at}]");
            let problem =
                format!("is before the last {count} dimensions, where all sizes must be 1");
            Err(invalid(operator, path, sizes[at], problem, 1))
        }
    }
}

/// Checks tensors that must be given together or not at all.
fn partners_are_there(operator: &Validated) -> Result<(), Error> {
    let is_there = |name: &str| match operator.schema().has_field(name) {
        true => operator.tensor(name).map(|it| it.is_some()),
        false => Ok(false),
    };
    let missing = |name: &str, problem: &str| {
        Err(invalid(operator, name, "null", format!("is left out, {problem}"), "a tensor"))
    };
    match [is_there("PastKeyTensor")?, is_there("PastValueTensor")?] {
        [true, false] => return missing("PastValueTensor", "although there are earlier keys"),
        [false, true] => return missing("PastKeyTensor", "although there are earlier values"),
        [false, false] if is_there("PastSequenceLengthsTensor")? => {
            return missing("PastKeyTensor", "although there are lengths of earlier sequences");
        }
        _ => {}
    }
    let has_type = operator.uint("MaskType")? != MaskType::None.dml_value();
    match [has_type, is_there("MaskTensor")?] {
        [true, false] => missing("MaskTensor", "although there is a type of masks"),
        [false, true] => {
            let problem = "is given, although MaskType is NONE";
            Err(invalid(operator, "MaskTensor", "a tensor", problem, "null"))
        }
        _ => Ok(()),
    }
}

/// How a tensor's sizes may differ from the expected ones.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    Exact,
    /// Each size may be 1.
    Repeated,
    /// There may be more keys (dimension 2).
    More,
}

impl Fit {
    fn takes(self, at: usize, given: u32, wanted: u32) -> bool {
        given == wanted
            || self == Self::Repeated && given == 1
            || self == Self::More && at == 2 && given > wanted
    }
}

/// The sizes that `attention.toml` names, and the kind of mask.
struct Sizes {
    batches: u32,
    queries: u32,
    keys: u32,
    past: u32,
    heads: [u32; 2],
    elements: u32,
    of_value: u32,
    mask: Option<MaskType>,
    is_counted: bool,
}

impl Sizes {
    fn of(operator: &Validated) -> Result<Self, Error> {
        let heads = heads(operator)?;
        let [query, key, value] = [
            operand(operator, &QUERIES, heads[0])?,
            operand(operator, &KEYS, heads[1])?,
            operand(operator, &VALUES, heads[1])?,
        ];
        let is_counted = operator.schema().has_field("PastSequenceLengthsTensor")
            && operator.tensor("PastSequenceLengthsTensor")?.is_some();
        let past = match operator.tensor("PastKeyTensor")? {
            Some(past) => inner(operator, "PastKeyTensor", past.sizes(), 4)?[2],
            None => 0,
        };
        if is_counted && query.steps != key.steps {
            let problem =
                "differs from the number of queries, although PastSequenceLengthsTensor is given";
            let path = format!("{}.Sizes[{}]", key.name, key.dimension);
            return Err(invalid(operator, path, key.steps, problem, query.steps));
        }
        Ok(Self {
            batches: query.batches,
            queries: query.steps,
            keys: key.steps,
            past,
            heads,
            elements: query.elements,
            of_value: value.elements,
            mask: MaskType::from_dml_value(operator.uint("MaskType")?),
            is_counted,
        })
    }

    /// The expected sizes of a tensor. They saturate; no tensor has sizes that large.
    fn of_tensor(&self, name: &str) -> (Vec<u32>, Fit) {
        let Self { batches: b, queries: s, keys: l, past: p, elements: d, of_value: v, .. } = *self;
        let [h, g] = self.heads;
        let [queries, keys, values] =
            [[h, d], [g, d], [g, v]].map(|[one, other]| one.saturating_mul(other));
        let all = p.saturating_add(l);
        let scores = (vec![b, h, s, all], Fit::Repeated);
        let present = if self.is_counted { (p, Fit::More) } else { (all, Fit::Exact) };
        let sizes = match name {
            "QueryTensor" => vec![b, s, queries],
            "KeyTensor" => vec![b, l, keys],
            "ValueTensor" => vec![b, l, values],
            "StackedQueryKeyTensor" => vec![b, s, h, 2, d],
            "StackedKeyValueTensor" => vec![b, l, g, 2, d],
            "StackedQueryKeyValueTensor" => vec![b, s, h, 3, d],
            "BiasTensor" => vec![queries.saturating_add(keys).saturating_add(values)],
            "MaskTensor" => match self.mask {
                Some(MaskType::KeySequenceEndStart) => vec![2, b],
                Some(MaskType::KeyQuerySequenceLengthStartEnd) => {
                    vec![b.saturating_mul(3).saturating_add(2)]
                }
                Some(MaskType::Boolean) => return scores,
                _ => vec![b],
            },
            "RelativePositionBiasTensor" => return scores,
            "PastKeyTensor" => vec![b, g, p, d],
            "PastValueTensor" => vec![b, g, p, v],
            "PastSequenceLengthsTensor" => vec![b],
            "OutputPresentKeyTensor" => return (vec![b, g, present.0, d], present.1),
            "OutputPresentValueTensor" => return (vec![b, g, present.0, v], present.1),
            _ => vec![b, s, h.saturating_mul(v)],
        };
        (sizes, Fit::Exact)
    }
}

/// The number of heads of queries, and of keys and values.
fn heads(operator: &Validated) -> Result<[u32; 2], Error> {
    let names = match operator.schema().has_field("HeadCount") {
        true => ["HeadCount", "HeadCount"],
        false => ["QueryHeadCount", "KeyValueHeadCount"],
    };
    let [queries, keys] = [operator.uint(names[0])?, operator.uint(names[1])?];
    for (name, count) in names.into_iter().zip([queries, keys]) {
        if count == 0 {
            return Err(invalid(operator, name, 0, "is too small", "1 or more"));
        }
    }
    let is_stacked = only(operator, &QUERIES)?.0 != QUERIES[0];
    if is_stacked && queries != keys {
        let problem = "differs from QueryHeadCount, although queries and keys are stacked";
        return Err(invalid(operator, names[1], keys, problem, queries));
    }
    if !queries.is_multiple_of(keys) {
        let problem = "does not divide QueryHeadCount";
        return Err(invalid(operator, names[1], keys, problem, format!("divisors of {queries}")));
    }
    Ok([queries, keys])
}

/// Queries, keys or values.
struct Steps {
    name: &'static str,
    /// The dimension of steps.
    dimension: usize,
    batches: u32,
    steps: u32,
    /// Elements of a step in a head.
    elements: u32,
}

fn operand(operator: &Validated, names: &[&'static str], heads: u32) -> Result<Steps, Error> {
    let (name, tensor) = only(operator, names)?;
    let (rank, count) = (tensor.sizes().len(), if name == names[0] { 3 } else { 5 });
    let sizes = inner(operator, name, tensor.sizes(), count)?;
    let last = sizes[count - 1];
    if count == 3 && !last.is_multiple_of(heads) {
        let (path, problem) =
            (format!("{name}.Sizes[{}]", rank - 1), "is not a multiple of the number of heads");
        return Err(invalid(operator, path, last, problem, format!("multiples of {heads}")));
    }
    let elements = if count == 3 { last / heads } else { last };
    let [batches, steps] = [sizes[0], sizes[1]];
    Ok(Steps { name, dimension: rank - count + 1, batches, steps, elements })
}
