//! The errors that WebNN's tests allow for results.

use dml::DataType;
use dml_import::ElementType;

use crate::figures::{self, Figure};

use super::json::{Graph, JsonOperand, Operator, names};

/// An allowed error: in units in the last place, or as a difference. Meeting either is enough.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tolerance {
    pub(super) ulp: u64,
    pub(super) difference: f64,
}

/// An operation's allowed error that depends on shapes.
enum Allowed {
    /// So many units for each element that contributes to a result, and so many more.
    Elements(u64, u64, fn(&Operator, &Graph) -> Option<u64>),
    /// The result of a function.
    Units(fn(&Operator, &Graph) -> Option<u64>),
}

use Allowed::{Elements, Units};

/// The figures of the web platform tests that depend on shapes.
static ALLOWED: &[(&str, Allowed)] = &[
    ("softmax", Elements(3, 3, along_axis)),
    ("cumulativeSum", Units(|it, graph| along_axis(it, graph)?.checked_sub(1))),
    ("matmul", Elements(2, 0, |it, graph| input(it, graph, "a")?.shape().last().copied())),
    ("gemm", Units(gemm)),
    ("conv2d", Elements(2, 0, taps)),
    ("convTranspose2d", Elements(2, 0, taps)),
    ("averagePool2d", Elements(1, 2, window)),
    ("l2Pool2d", Elements(1, 2, window)),
    ("reduceSum", Elements(1, 0, reduced)),
    ("reduceProduct", Elements(1, 0, reduced)),
    ("reduceL1", Elements(1, 0, reduced)),
    ("reduceMean", Elements(1, 2, reduced)),
    ("reduceSumSquare", Elements(2, 0, reduced)),
    ("reduceL2", Elements(2, 2, reduced)),
    ("reduceLogSum", Elements(1, 18, reduced)),
    ("reduceLogSumExp", Elements(2, 18, reduced)),
];

/// The sum of the errors that a graph's operations allow for results of this type.
pub(super) fn of(graph: &Graph, element: ElementType) -> Tolerance {
    let is_half = element == ElementType::Dml(DataType::Float16);
    let mut sum = Tolerance::default();
    for operator in &graph.operators {
        match figures::of_operation(&operator.name) {
            Some(Figure::Ulp(single, half)) => sum.ulp += if is_half { half } else { single },
            Some(Figure::Difference(single, half)) => {
                sum.difference += if is_half { half } else { single };
            }
            None => {}
        }
        match ALLOWED.iter().find(|(name, _)| *name == operator.name).map(|(_, it)| it) {
            Some(Elements(each, more, count)) => {
                sum.ulp += each * count(operator, graph).unwrap_or(0) + more;
            }
            Some(Units(units)) => sum.ulp += units(operator, graph).unwrap_or(0),
            None => {}
        }
    }
    sum
}

fn input<'a>(operator: &Operator, graph: &'a Graph, name: &str) -> Option<&'a JsonOperand> {
    let names = names(operator.argument(name)?).ok()?;
    graph.inputs.get(names.first()?)
}

impl JsonOperand {
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

/// Two for each product that is summed up, one for each factor that is not 1 and one for the addend.
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

/// The number of a filter's elements that are multiplied for an element of the output, as the web platform
/// tests count them, also for transposed convolutions: the spatial ones, times the input's channels in a
/// group.
fn taps(operator: &Operator, graph: &Graph) -> Option<u64> {
    let place = |name: &str, order: &str, dimension| {
        let layout = operator.argument(name).and_then(serde_json::Value::as_str);
        layout.unwrap_or(order).find(dimension)
    };
    let filter = input(operator, graph, "filter")?.shape();
    let order = if operator.name == "conv2d" { "oihw" } else { "iohw" };
    let of_filter = |dimension| filter.get(place("filterLayout", order, dimension)?).copied();
    let channels = input(operator, graph, "input")?.shape().get(place("inputLayout", "nchw", 'c')?);
    let groups = operator.argument("groups").and_then(serde_json::Value::as_u64).unwrap_or(1);
    Some(of_filter('h')? * of_filter('w')? * channels?.checked_div(groups)?)
}

/// The number of elements in a window: by default all of an image.
fn window(operator: &Operator, graph: &Graph) -> Option<u64> {
    if let Some(sizes) = operator.argument("windowDimensions") {
        return sizes.as_array()?.iter().map(serde_json::Value::as_u64).product();
    }
    let shape = input(operator, graph, "input")?.shape();
    let is_last = operator.argument("layout").and_then(serde_json::Value::as_str) == Some("nhwc");
    let first = if is_last { 1 } else { 2 };
    shape.get(first..first + 2).map(|sizes| sizes.iter().product())
}
