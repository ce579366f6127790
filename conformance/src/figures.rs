//! The errors that WebNN's tests allow for single operations, which a run of the cases shows beside the
//! errors that were found.

/// The error that an operation may have, for FLOAT32 and for FLOAT16.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Figure {
    /// Units in the last place.
    Ulp(u64, u64),
    /// An absolute difference.
    Difference(f64, f64),
}

use Figure::{Difference, Ulp};

const TRIGONOMETRIC: Figure = Difference(1.0 / 1024.0, 1.0 / 512.0);

/// The figures of the web platform tests. Operations that are not here are exact, as integers are everywhere,
/// or have a figure that depends on shapes.
static FIGURES: &[(&str, Figure)] = &[
    ("add", Ulp(1, 1)),
    ("sub", Ulp(1, 1)),
    ("mul", Ulp(1, 1)),
    ("div", Ulp(2, 2)),
    ("pow", Ulp(32, 2)),
    ("exp", Ulp(32, 1)),
    ("log", Difference(1.0 / 1024.0, 1.0 / 1024.0)),
    ("reciprocal", Ulp(2, 2)),
    ("sqrt", Ulp(1, 1)),
    ("sin", TRIGONOMETRIC),
    ("cos", TRIGONOMETRIC),
    ("tan", TRIGONOMETRIC),
    ("tanh", TRIGONOMETRIC),
    ("erf", TRIGONOMETRIC),
    ("elu", Ulp(18, 18)),
    ("gelu", Ulp(18, 18)),
    ("hardSigmoid", Ulp(2, 2)),
    ("hardSwish", Ulp(4, 4)),
    ("leakyRelu", Ulp(1, 2)),
    ("linear", Ulp(2, 2)),
    ("prelu", Ulp(1, 1)),
    ("sigmoid", Ulp(34, 10)),
    ("softplus", Ulp(18, 18)),
    ("softsign", Ulp(3, 3)),
    ("cast", Ulp(1, 1)),
    ("dequantizeLinear", Ulp(1, 1)),
    ("batchNormalization", Ulp(6, 6)),
    ("instanceNormalization", Ulp(840, 8400)),
    ("layerNormalization", Difference(1.0 / 1024.0, 1.0 / 512.0)),
    ("resample2d", Ulp(84, 10)),
];

/// The error that the operation with this name may have.
pub(crate) fn of_operation(name: &str) -> Option<Figure> {
    FIGURES.iter().find(|(it, _)| *it == name).map(|(_, figure)| *figure)
}

/// DirectML operators whose names differ from the operations'.
static OTHER_NAMES: &[(&str, &str)] = &[
    ("SUBTRACT", "sub"),
    ("MULTIPLY", "mul"),
    ("DIVIDE", "div"),
    ("RECIP", "reciprocal"),
    ("PARAMETERIZED_RELU", "prelu"),
];

/// The error that the results of one DirectML operator may have, by its name, if it is the same as a WebNN
/// operation with a single figure: such as `18` units in the last place, or `0.001` at most.
pub(crate) fn of_operator(operator: &str, data_type: &str) -> Option<String> {
    let kinds = ["ELEMENT_WISE_", "ACTIVATION_"];
    let name = kinds.iter().find_map(|kind| operator.strip_prefix(kind)).unwrap_or(operator);
    let other = OTHER_NAMES.iter().find(|(it, _)| *it == name).map(|(_, it)| *it);
    let plain = name.to_lowercase().replace('_', "");
    let is_same = |it: &str| other.map_or_else(|| it.to_lowercase() == plain, |other| it == other);
    match (FIGURES.iter().find(|(it, _)| is_same(it))?.1, data_type) {
        (Ulp(single, _), "FLOAT32") => Some(single.to_string()),
        (Ulp(_, half), "FLOAT16") => Some(half.to_string()),
        (Difference(single, _), "FLOAT32") => Some(format!("{single:.4} at most")),
        (Difference(_, half), "FLOAT16") => Some(format!("{half:.4} at most")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_have_the_figures_of_the_operation_that_is_the_same() {
        let of = |operator, data_type| of_operator(operator, data_type).unwrap_or_default();
        assert_eq!(of("ELEMENT_WISE_MULTIPLY", "FLOAT16"), "1");
        assert_eq!(of("ACTIVATION_SIGMOID", "FLOAT32"), "34");
        assert_eq!(of("ACTIVATION_HARD_SWISH", "FLOAT32"), "4");
        assert_eq!(of("ELEMENT_WISE_SIN", "FLOAT32"), "0.0010 at most");
        assert_eq!(of("ELEMENT_WISE_DIFFERENCE_SQUARE", "FLOAT32"), "");
    }
}
