//! Einsum: tensor contractions described by an equation.

use crate::error::{Error, Result, shortened};
use crate::graph::ops::contraction::Labelled;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::Value;
use crate::limits;
use crate::tensor::text;

/// A dimension of an equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Letter(char),
    /// A dimension of the ellipsis, counted from its last one.
    Dot(usize),
    /// The ellipsis: any number of dimensions.
    Dots,
}

/// An equation: the labels of each input, and those of the output if stated.
#[derive(Debug)]
pub(crate) struct Equation {
    inputs: Vec<Vec<Label>>,
    output: Option<Vec<Label>>,
}

impl Equation {
    /// Parses an equation such as `ij,jk->ik`; the error tells what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.len() > limits::EQUATION {
            return Err("has too many bytes");
        }
        let text: String = text.chars().filter(|it| *it != ' ').collect();
        let (inputs, output) = match text.split_once("->") {
            Some((inputs, output)) => (inputs, Some(term(output)?)),
            None => (text.as_str(), None),
        };
        let inputs = inputs.split(',').map(term).collect::<Result<Vec<_>, _>>()?;
        for (index, label) in output.iter().flatten().enumerate() {
            if output.iter().flatten().take(index).any(|it| it == label) {
                return Err("names a dimension of the output twice");
            }
            if *label != Label::Dots && !inputs.iter().flatten().any(|input| input == label) {
                return Err("names a dimension of the output that no input has");
            }
        }
        Ok(Self { inputs, output })
    }

    /// The output's labels: as stated, or the ellipsis followed by the letters that occur once, in order.
    fn output(&self) -> Vec<Label> {
        if let Some(output) = &self.output {
            return output.clone();
        }
        let all = || self.inputs.iter().flatten();
        let count = |letter| all().filter(|it| **it == Label::Letter(letter)).count();
        let letters = ('A'..='Z').chain('a'..='z').filter(|it| count(*it) == 1);
        std::iter::once(Label::Dots).chain(letters.map(Label::Letter)).collect()
    }
}

fn term(text: &str) -> Result<Vec<Label>, &'static str> {
    let mut labels = Vec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("...") {
            if labels.contains(&Label::Dots) {
                return Err("has dots twice in a term");
            }
            labels.push(Label::Dots);
            rest = after;
            continue;
        }
        if !letter.is_ascii_alphabetic() {
            return Err("is not an equation");
        }
        labels.push(Label::Letter(letter));
        rest = &rest[1..];
    }
    Ok(labels)
}

/// Products of the inputs, whose elements are matched by labels, summed over the labels that the output lacks.
/// Inputs are contracted from first to last.
#[derive(Debug)]
pub(crate) struct Einsum {
    pub(crate) equation: Equation,
}

impl Op for Einsum {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let terms = &self.equation.inputs;
        if terms.len() != operands.values.len() {
            let (given, accepted) = (operands.values.len(), format!("{}, as terms", terms.len()));
            return Err(operands.node.invalid("inputs", given, "is the wrong number", accepted));
        }
        let given = |index| operands.value(index, "inputs");
        let values = (0..terms.len()).map(given).collect::<Result<Vec<&Value>>>()?;
        let labels = values.iter().zip(terms).map(|(value, term)| labels(operands, value, term));
        let labels = labels.collect::<Result<Vec<Vec<Label>>>>()?;
        check_sizes(operands, &values, &labels)?;
        let dots = labels.iter().flatten().filter_map(|label| match label {
            Label::Dot(index) => Some(index + 1),
            _ => None,
        });
        let output = expanded(&self.equation.output(), dots.max().unwrap_or(0));
        let last = values.len().saturating_sub(1);
        let is_kept = |after: usize| {
            let (later, output) = (&labels[(after + 1).min(labels.len())..], &output);
            move |label| output.contains(&label) || later.iter().flatten().any(|it| *it == label)
        };
        let mut factors = values.iter().zip(&labels).map(|(value, own)| Labelled::new(value, own));
        let Some(first) = factors.next() else {
            return Err(operands.node.invalid("inputs", 0, "is the wrong number", "1 and more"));
        };
        let first = first?.summed(operands, is_kept(0))?;
        let product = (1..=last).zip(factors).try_fold(first, |product, (index, next)| {
            product.times(operands, next?, is_kept(index))
        })?;
        Ok(vec![product.seen(&output)?])
    }
}

/// The label of each dimension of an input.
fn labels(operands: &NodeInputs<'_>, value: &Value, term: &[Label]) -> Result<Vec<Label>> {
    let shape = value.shape()?;
    let letters = term.iter().filter(|it| **it != Label::Dots).count();
    let dots = shape.len().checked_sub(letters);
    match dots.filter(|dots| *dots == 0 || term.contains(&Label::Dots)) {
        Some(dots) => Ok(expanded(term, dots)),
        None => {
            let accepted = format!("{letters} dimensions, as its term has");
            Err(operands.node.invalid("inputs", text(shape), "does not fit", accepted))
        }
    }
}

/// The term with its ellipsis replaced by this number of dimensions.
fn expanded(term: &[Label], dots: usize) -> Vec<Label> {
    let expand = |label: &Label| match label {
        Label::Dots => (0..dots).rev().map(Label::Dot).collect(),
        other => vec![*other],
    };
    term.iter().flat_map(expand).collect()
}

/// Checks that dimensions with one label have one size, except that dimensions of the ellipsis are broadcast.
fn check_sizes(operands: &NodeInputs<'_>, values: &[&Value], labels: &[Vec<Label>]) -> Result<()> {
    let mut sizes: Vec<(Label, u64)> = Vec::new();
    for (value, labels) in values.iter().zip(labels) {
        for (label, size) in labels.iter().zip(value.shape()?) {
            let known = sizes.iter_mut().find(|(it, _)| it == label);
            match known {
                None => sizes.push((*label, *size)),
                Some((_, known)) if known == size => {}
                Some((Label::Dot(_), known)) if *known == 1 => *known = *size,
                Some((Label::Dot(_), _)) if *size == 1 => {}
                Some((_, known)) => return Err(unequal(operands, *size, *known)),
            }
        }
    }
    Ok(())
}

fn unequal(operands: &NodeInputs<'_>, given: u64, accepted: u64) -> Error {
    let problem = "is another size of the same dimension";
    operands.node.invalid("inputs", given, problem, shortened(&accepted.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_are_terms_of_letters() {
        let parsed = |text| Equation::parse(text).unwrap();
        let letters = |it: &[char]| it.iter().map(|it| Label::Letter(*it)).collect::<Vec<Label>>();
        assert_eq!(
            parsed(" i j , j k ").output(),
            [&[Label::Dots][..], &letters(&['i', 'k'])].concat()
        );
        assert_eq!(parsed("zx").output(), [&[Label::Dots][..], &letters(&['x', 'z'])].concat());
        assert_eq!(parsed("...ii->...i").output(), [Label::Dots, Label::Letter('i')]);
        assert_eq!(parsed("->").output(), []);
        for wrong in ["i->ii", "i->j", "i-j", "......", "i..", "i->j->k", "é", "1"] {
            assert!(Equation::parse(wrong).is_err(), "{wrong}");
        }
    }
}
