//! How far results may be from what WebNN's tests expect.

use dml::DataType;
use dml_import::ElementType;

use super::json::{Graph, Operand, Operator, names};

/// A distance that is allowed: in units of the last place, or as a difference. Either is enough.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tolerance {
    pub(super) ulp: u64,
    pub(super) difference: f64,
}

/// What an operation allows with each type of its results.
enum Allowed {
    /// Units in the last place of FLOAT32 and of FLOAT16.
    Ulp(u64, u64),
    /// A difference of FLOAT32 and of FLOAT16.
    Difference(f64, f64),
    /// So many units for each element that a result is made of, and so many more.
    Elements(u64, u64, fn(&Operator, &Graph) -> Option<u64>),
    /// What a function says.
    Units(fn(&Operator, &Graph) -> Option<u64>),
}

use Allowed::{Difference, Elements, Ulp, Units};

const TRIGONOMETRIC: Allowed = Difference(1.0 / 1024.0, 1.0 / 512.0);

/// Web platform tests' figures. Operations that are not here are exact, as integers are everywhere.
static ALLOWED: &[(&str, Allowed)] = &[
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
    ("softmax", Elements(3, 3, along_axis)),
    ("cumulativeSum", Units(|it, graph| along_axis(it, graph)?.checked_sub(1))),
    ("matmul", Elements(2, 0, |it, graph| input(it, graph, "a")?.shape().last().copied())),
    ("gemm", Units(gemm)),
    ("reduceSum", Elements(1, 0, reduced)),
    ("reduceProduct", Elements(1, 0, reduced)),
    ("reduceL1", Elements(1, 0, reduced)),
    ("reduceMean", Elements(1, 2, reduced)),
    ("reduceSumSquare", Elements(2, 0, reduced)),
    ("reduceL2", Elements(2, 2, reduced)),
    ("reduceLogSum", Elements(1, 18, reduced)),
    ("reduceLogSumExp", Elements(2, 18, reduced)),
];

/// What the operations of a graph allow together where its results have this type.
pub(super) fn of(graph: &Graph, element: ElementType) -> Tolerance {
    let is_half = element == ElementType::Dml(DataType::Float16);
    let mut sum = Tolerance::default();
    for operator in &graph.operators {
        match ALLOWED.iter().find(|(name, _)| *name == operator.name).map(|(_, it)| it) {
            Some(Ulp(single, half)) => sum.ulp += if is_half { half } else { single },
            Some(Difference(single, half)) => {
                sum.difference += if is_half { half } else { single };
            }
            Some(Elements(each, more, count)) => {
                sum.ulp += each * count(operator, graph).unwrap_or(0) + more;
            }
            Some(Units(units)) => sum.ulp += units(operator, graph).unwrap_or(0),
            None => {}
        }
    }
    sum
}

/// Operators of DirectML that are not called as the operations are.
static OTHER_NAMES: &[(&str, &str)] = &[
    ("SUBTRACT", "sub"),
    ("MULTIPLY", "mul"),
    ("DIVIDE", "div"),
    ("RECIP", "reciprocal"),
    ("PARAMETERIZED_RELU", "prelu"),
];

/// What is allowed of the results of one operator of DirectML, by its name, where an operation of WebNN is
/// the same and its figure is a single one: such as `18` units in the last place, or `0.001` at most.
pub(crate) fn of_operator(operator: &str, data_type: &str) -> Option<String> {
    let kinds = ["ELEMENT_WISE_", "ACTIVATION_"];
    let name = kinds.iter().find_map(|kind| operator.strip_prefix(kind)).unwrap_or(operator);
    let other = OTHER_NAMES.iter().find(|(it, _)| *it == name).map(|(_, it)| *it);
    let plain = name.to_lowercase().replace('_', "");
    let is_same = |it: &str| other.map_or_else(|| it.to_lowercase() == plain, |other| it == other);
    match (&ALLOWED.iter().find(|(it, _)| is_same(it))?.1, data_type) {
        (Ulp(single, _), "FLOAT32") => Some(single.to_string()),
        (Ulp(_, half), "FLOAT16") => Some(half.to_string()),
        (Difference(single, _), "FLOAT32") => Some(format!("{single:.4} at most")),
        (Difference(_, half), "FLOAT16") => Some(format!("{half:.4} at most")),
        _ => None,
    }
}

fn input<'a>(operator: &Operator, graph: &'a Graph, name: &str) -> Option<&'a Operand> {
    let names = names(operator.argument(name)?).ok()?;
    graph.inputs.get(names.first()?)
}

impl Operand {
    fn shape(&self) -> &[u64] {
        &self.descriptor.shape
    }
}

fn size(shape: &[u64], axis: &serde_json::Value) -> Option<u64> {
    shape.get(usize::try_from(axis.as_u64()?).ok()?).copied()
}

fn along_axis(operator: &Operator, graph: &Graph) -> Option<u64> {
    size(input(operator, graph, "input")?.shape(), operator.argument("axis")?)
}

/// Two for each product that is summed up, one for each factor that is not 1 and one for what is added.
fn gemm(operator: &Operator, graph: &Graph) -> Option<u64> {
    let is_transposed = operator.argument("aTranspose").and_then(serde_json::Value::as_bool);
    let shape = input(operator, graph, "a")?.shape();
    let inner = shape.get(usize::from(!is_transposed.unwrap_or(false)))?;
    let is_factor = |name| {
        operator.argument(name).and_then(serde_json::Value::as_f64).is_some_and(|it| it != 1.0)
    };
    let (alpha, beta) = (is_factor("alpha"), is_factor("beta"));
    let is_added = operator.argument("c").is_some() && operator.argument("beta") != Some(&0.into());
    Some(2 * inner + u64::from(alpha) + u64::from(is_added) + u64::from(beta))
}

fn reduced(operator: &Operator, graph: &Graph) -> Option<u64> {
    let shape = input(operator, graph, "input")?.shape();
    match operator.argument("axes") {
        None => Some(shape.iter().product()),
        Some(axes) => axes.as_array()?.iter().map(|axis| size(shape, axis)).product(),
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
