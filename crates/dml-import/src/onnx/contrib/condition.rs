//! Conditions of a definition's lines: `not bias`, `bits == 4 and zero_points`, `activation in Relu Tanh`,
//! `axis given`.

use super::{Call, Kind};

/// Whether all parts of a condition hold; `None` if it does not parse.
pub(super) fn holds(call: &Call<'_>, text: &str) -> Option<bool> {
    let parts = text.split(" and ").map(|part| part_holds(call, part.trim()));
    parts.collect::<Option<Vec<bool>>>().map(|all| all.into_iter().all(|it| it))
}

/// The names in a condition.
#[cfg(test)]
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(" and ").filter_map(|part| part.trim().trim_start_matches("not ").split(' ').next())
}

fn part_holds(call: &Call<'_>, text: &str) -> Option<bool> {
    if let Some(rest) = text.strip_prefix("not ") {
        return part_holds(call, rest).map(|it| !it);
    }
    let mut words = text.split_whitespace();
    let name = words.next()?;
    let given = |at: usize, all: &[bool]| all.get(at).copied().unwrap_or(false);
    if let Some(at) = call.head.inputs.iter().position(|input| input.name == name) {
        return Some(given(at, &call.inputs));
    }
    if let Some(at) = call.head.outputs.iter().position(|output| output.name == name) {
        return Some(given(at, &call.outputs));
    }
    let (_, kind) = call.head.attributes.iter().find(|attribute| attribute.0 == name)?;
    let operator = words.next();
    if *kind == Kind::Text {
        let text = call.attributes.text(name).filter(|it| !it.is_empty());
        return Some(match operator {
            Some(_) => words.any(|word| text.as_deref() == Some(word)),
            None => text.is_some(),
        });
    }
    let number = number(call, name, *kind);
    let Some(operator) = operator else { return Some(number.is_some_and(|number| number != 0.0)) };
    if operator == "given" {
        return Some(number.is_some());
    }
    let other: f64 = words.next()?.parse().ok()?;
    // A comparison with an attribute that is not given is false.
    let Some(number) = number else { return Some(false) };
    match operator {
        "==" => Some(number == other),
        "!=" => Some(number != other),
        "<" => Some(number < other),
        ">" => Some(number > other),
        _ => None,
    }
}

/// An attribute as a number; for a list its length.
#[expect(clippy::cast_precision_loss, reason = "it is compared with small numbers")]
fn number(call: &Call<'_>, name: &str, kind: Kind) -> Option<f64> {
    match kind {
        Kind::Int => call.attributes.int(name).map(|it| it as f64),
        Kind::Float => call.attributes.float(name).map(f64::from),
        Kind::Ints => call.attributes.ints(name).map(|it| it.len() as f64),
        Kind::Floats => call.attributes.floats(name).map(|it| it.len() as f64),
        _ => None,
    }
}
