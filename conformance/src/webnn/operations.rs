//! The translation of WebNN's operations to ONNX: a row for each.

use anyhow::bail;
use dml::DataType;
use dml_import::ElementType;
use dml_import::onnx::proto::AttributeProto;

use super::attribute;
use super::model::Call;
use super::{layers, normalize, recurrent, shapes};

/// An operation.
struct OperationMapping {
    name: &'static str,
    mapping: Mapping,
}

enum Mapping {
    /// One operator, with these operands and attributes.
    Same(&'static str, &'static [&'static str], &'static [Setting]),
    /// An operator with truth values as output, which are UINT8 in WebNN.
    Test(&'static str, &'static [&'static str]),
    /// An operator on truth values, which are UINT8 in WebNN.
    Logic(&'static str, &'static [&'static str]),
    /// A function that translates the operation.
    Made(fn(&mut Call<'_>) -> anyhow::Result<Vec<String>>),
}

/// An option: WebNN's name, ONNX's, and its default.
enum Setting {
    Float(&'static str, &'static str, f32),
    Int(&'static str, &'static str, i64),
    Flag(&'static str, &'static str),
}

use Mapping::{Logic, Made, Same, Test};
use Setting::{Flag, Float, Int};

const UNARY: &[&str] = &["input"];
const BINARY: &[&str] = &["a", "b"];

const fn row(name: &'static str, mapping: Mapping) -> OperationMapping {
    OperationMapping { name, mapping }
}

static ROWS: &[OperationMapping] = &[
    row("abs", Same("Abs", UNARY, &[])),
    row("ceil", Same("Ceil", UNARY, &[])),
    row("cos", Same("Cos", UNARY, &[])),
    row("erf", Same("Erf", UNARY, &[])),
    row("exp", Same("Exp", UNARY, &[])),
    row("floor", Same("Floor", UNARY, &[])),
    row("identity", Same("Identity", UNARY, &[])),
    row("log", Same("Log", UNARY, &[])),
    row("neg", Same("Neg", UNARY, &[])),
    row("reciprocal", Same("Reciprocal", UNARY, &[])),
    row("roundEven", Same("Round", UNARY, &[])),
    row("sign", Same("Sign", UNARY, &[])),
    row("sin", Same("Sin", UNARY, &[])),
    row("sqrt", Same("Sqrt", UNARY, &[])),
    row("tan", Same("Tan", UNARY, &[])),
    row("add", Same("Add", BINARY, &[])),
    row("sub", Same("Sub", BINARY, &[])),
    row("mul", Same("Mul", BINARY, &[])),
    row("div", Same("Div", BINARY, &[])),
    row("max", Same("Max", BINARY, &[])),
    row("min", Same("Min", BINARY, &[])),
    row("pow", Same("Pow", BINARY, &[])),
    row("equal", Test("Equal", BINARY)),
    row("notEqual", Made(not_equal)),
    row("greater", Test("Greater", BINARY)),
    row("greaterOrEqual", Test("GreaterOrEqual", BINARY)),
    row("lesser", Test("Less", BINARY)),
    row("lesserOrEqual", Test("LessOrEqual", BINARY)),
    row("isNaN", Test("IsNaN", &["a"])),
    row("isInfinite", Test("IsInf", &["a"])),
    row("logicalNot", Logic("Not", &["a"])),
    row("logicalAnd", Logic("And", BINARY)),
    row("logicalOr", Logic("Or", BINARY)),
    row("logicalXor", Logic("Xor", BINARY)),
    row("where", Made(choose)),
    row("clamp", Made(clamp)),
    row("linear", Made(linear)),
    row("elu", Same("Elu", UNARY, &[Float("alpha", "alpha", 1.0)])),
    row("gelu", Same("Gelu", UNARY, &[])),
    row(
        "hardSigmoid",
        Same("HardSigmoid", UNARY, &[Float("alpha", "alpha", 0.2), Float("beta", "beta", 0.5)]),
    ),
    row("hardSwish", Same("HardSwish", UNARY, &[])),
    row("leakyRelu", Same("LeakyRelu", UNARY, &[Float("alpha", "alpha", 0.01)])),
    row("prelu", Same("PRelu", &["input", "slope"], &[])),
    row("relu", Made(relu)),
    row("sigmoid", Same("Sigmoid", UNARY, &[])),
    row("softmax", Same("Softmax", UNARY, &[Int("axis", "axis", -1)])),
    row("softplus", Same("Softplus", UNARY, &[])),
    row("softsign", Same("Softsign", UNARY, &[])),
    row("tanh", Same("Tanh", UNARY, &[])),
    row("cast", Made(cast)),
    row("concat", Made(shapes::concat)),
    row("expand", Made(shapes::expand)),
    row("gather", Same("Gather", &["input", "indices"], &[Int("axis", "axis", 0)])),
    row("gatherElements", Same("GatherElements", &["input", "indices"], &[Int("axis", "axis", 0)])),
    row("gatherND", Same("GatherND", &["input", "indices"], &[])),
    row(
        "scatterElements",
        Same("ScatterElements", &["input", "indices", "updates"], &[Int("axis", "axis", 0)]),
    ),
    row("scatterND", Same("ScatterND", &["input", "indices", "updates"], &[])),
    row("pad", Made(shapes::pad)),
    row("reshape", Made(shapes::reshape)),
    row("reverse", Made(shapes::reverse)),
    row("slice", Made(shapes::slice)),
    row("split", Made(shapes::split)),
    row("tile", Made(shapes::tile)),
    row("transpose", Made(shapes::transpose)),
    row("triangular", Made(shapes::triangular)),
    row("cumulativeSum", Made(shapes::cumulative_sum)),
    row("argMax", Made(|it| shapes::arg(it, "ArgMax"))),
    row("argMin", Made(|it| shapes::arg(it, "ArgMin"))),
    row("reduceL1", Made(|it| shapes::reduce(it, "ReduceL1"))),
    row("reduceL2", Made(|it| shapes::reduce(it, "ReduceL2"))),
    row("reduceLogSum", Made(|it| shapes::reduce(it, "ReduceLogSum"))),
    row("reduceLogSumExp", Made(|it| shapes::reduce(it, "ReduceLogSumExp"))),
    row("reduceMax", Made(|it| shapes::reduce(it, "ReduceMax"))),
    row("reduceMean", Made(|it| shapes::reduce(it, "ReduceMean"))),
    row("reduceMin", Made(|it| shapes::reduce(it, "ReduceMin"))),
    row("reduceProduct", Made(|it| shapes::reduce(it, "ReduceProd"))),
    row("reduceSum", Made(|it| shapes::reduce(it, "ReduceSum"))),
    row("reduceSumSquare", Made(|it| shapes::reduce(it, "ReduceSumSquare"))),
    row("quantizeLinear", Made(|it| shapes::quantized(it, "QuantizeLinear"))),
    row("dequantizeLinear", Made(|it| shapes::quantized(it, "DequantizeLinear"))),
    row("matmul", Same("MatMul", BINARY, &[])),
    row(
        "gemm",
        Same(
            "Gemm",
            &["a", "b", "c"],
            &[
                Float("alpha", "alpha", 1.0),
                Float("beta", "beta", 1.0),
                Flag("aTranspose", "transA"),
                Flag("bTranspose", "transB"),
            ],
        ),
    ),
    row("averagePool2d", Made(|it| layers::pool(it, "AveragePool"))),
    row("batchNormalization", Made(normalize::batch)),
    row("conv2d", Made(layers::convolution)),
    row("convTranspose2d", Made(layers::transposed_convolution)),
    row("gru", Made(recurrent::gru)),
    row("gruCell", Made(recurrent::gru_cell)),
    row("instanceNormalization", Made(normalize::instance)),
    row("l2Pool2d", Made(|it| layers::pool(it, "LpPool"))),
    row("layerNormalization", Made(normalize::layer)),
    row("lstm", Made(recurrent::lstm)),
    row("lstmCell", Made(recurrent::lstm_cell)),
    row("maxPool2d", Made(|it| layers::pool(it, "MaxPool"))),
    row("resample2d", Made(layers::resample)),
];

/// Adds the nodes of an operation; returns the values of its outputs.
pub(super) fn translate(mut call: Call<'_>) -> anyhow::Result<Vec<String>> {
    let name = &call.operator.name;
    let Some(row) = ROWS.iter().find(|row| row.name == *name) else {
        bail!("it is not an operation of WebNN that is known here");
    };
    let result = match &row.mapping {
        Same(op, names, given) => {
            let operands = operands(&call, names)?;
            let attributes = given.iter().map(|it| it.attribute(&call));
            let attributes = attributes.collect::<anyhow::Result<_>>()?;
            call.builder.node(op, &operands, attributes)
        }
        Test(op, names) => {
            let operands = operands(&call, names)?;
            let truth = call.builder.node(op, &operands, vec![]);
            call.builder.cast(&truth, UINT8)?
        }
        Logic(op, names) => {
            let operands = operands(&call, names)?;
            let truths =
                operands.iter().map(|operand| call.builder.cast(operand, ElementType::Bool));
            let truths = truths.collect::<anyhow::Result<Vec<_>>>()?;
            let truth = call.builder.node(op, &truths, vec![]);
            call.builder.cast(&truth, UINT8)?
        }
        Made(make) => return make(&mut call),
    };
    Ok(vec![result])
}

const UINT8: ElementType = ElementType::Dml(DataType::Uint8);

/// The operands; optional ones are at the end.
fn operands(call: &Call<'_>, names: &[&str]) -> anyhow::Result<Vec<String>> {
    let (first, rest) = names.split_at(names.len().min(2));
    let first = first.iter().map(|name| call.required(name));
    let rest = rest.iter().filter_map(|name| call.operand(name).transpose());
    first.chain(rest).collect()
}

impl Setting {
    fn attribute(&self, call: &Call<'_>) -> anyhow::Result<AttributeProto> {
        Ok(match self {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "rounds: WebNN's options are floats"
            )]
            Float(name, onnx, default) => {
                let given = call.number(name)?.map(|it| it.float() as f32);
                attribute::float(onnx, given.unwrap_or(*default))
            }
            Int(name, onnx, default) => {
                attribute::int(onnx, call.integer(name)?.unwrap_or(*default))
            }
            Flag(name, onnx) => attribute::int(onnx, call.flag(name).into()),
        })
    }
}

fn not_equal(call: &mut Call<'_>) -> anyhow::Result<Vec<String>> {
    let operands = operands(call, BINARY)?;
    let equal = call.builder.node("Equal", &operands, vec![]);
    let other = call.builder.node("Not", &[equal], vec![]);
    Ok(vec![call.builder.cast(&other, UINT8)?])
}

fn choose(call: &mut Call<'_>) -> anyhow::Result<Vec<String>> {
    let condition = call.required("condition")?;
    let operands = [call.required("trueValue")?, call.required("falseValue")?];
    let condition = call.builder.cast(&condition, ElementType::Bool)?;
    let [if_true, if_false] = operands;
    Ok(vec![call.builder.node("Where", &[condition, if_true, if_false], vec![])])
}

fn clamp(call: &mut Call<'_>) -> anyhow::Result<Vec<String>> {
    let (input, element) = (call.required("input")?, call.known("input")?.element);
    let mut operands = vec![input];
    for name in ["minValue", "maxValue"] {
        // WebNN ignores a bound that is NaN.
        let bound = call.number(name)?.filter(|it| !it.float().is_nan());
        let bound = bound.map(|bound| call.builder.constant(element, &[], &[bound])).transpose()?;
        operands.push(bound.unwrap_or_default());
    }
    Ok(vec![call.builder.node("Clip", &operands, vec![])])
}

/// The greater of each element and 0, also for integers, whose type is known.
fn relu(call: &mut Call<'_>) -> anyhow::Result<Vec<String>> {
    let input = call.required("input")?;
    let integer = call.known("input").ok().map(|known| known.element).filter(|it| it.is_integer());
    let Some(element) = integer else {
        return Ok(vec![call.builder.node("Relu", &[input], vec![])]);
    };
    let zero = call.builder.constant(element, &[], &[super::json::Number::Integer(0)])?;
    Ok(vec![call.builder.node("Max", &[input, zero], vec![])])
}

/// `alpha * x + beta`.
fn linear(call: &mut Call<'_>) -> anyhow::Result<Vec<String>> {
    let (mut value, element) = (call.required("input")?, call.known("input")?.element);
    for (name, operator, default) in [("alpha", "Mul", 1.0), ("beta", "Add", 0.0)] {
        let number = call.number(name)?.unwrap_or(super::json::Number::Float(default));
        let constant = call.builder.constant(element, &[], &[number])?;
        value = call.builder.node(operator, &[value, constant], vec![]);
    }
    Ok(vec![value])
}

fn cast(call: &mut Call<'_>) -> anyhow::Result<Vec<String>> {
    let element = super::json::element(call.text("type").unwrap_or_default())?;
    let input = call.required("input")?;
    Ok(vec![call.builder.cast(&input, element)?])
}
