//! The network, a perceptron of two layers, as graphs of DirectML's operators.

use dml::core::graph::GraphValue;
use dml::{
    ActivationLogSoftmax1Desc, ActivationReluDesc, ActivationReluGradDesc, ActivationSoftmax1Desc,
    AdamOptimizerDesc, ArgmaxDesc, AxisDirection, DataType, ElementWiseIdentityDesc,
    ElementWiseMultiplyDesc, ElementWiseSubtractDesc, GemmDesc, GraphBuilder, GraphDesc,
    MatrixTransform, ReduceDesc, ReduceFunction, TensorDesc,
};

/// The number of points of a step; below, of coordinates of a point, of hidden elements, and of classes.
pub(crate) const BATCH: u32 = 64;
pub(crate) const FEATURES: u32 = 2;
const HIDDEN: u32 = 32;
pub(crate) const CLASSES: u32 = 3;

/// The weights and biases of both layers: rows, columns, and how far from 0 they are at first.
pub(crate) const PARAMETERS: [(u32, u32, f32); 4] =
    [(FEATURES, HIDDEN, 1.0), (1, HIDDEN, 0.5), (HIDDEN, CLASSES, 0.25), (1, CLASSES, 0.0)];
/// The number of states: each parameter and its two moments, and the number of the step.
pub(crate) const STATES: usize = 3 * PARAMETERS.len() + 1;

const LEARNING_RATE: f32 = 0.01;

/// Dimensions of rows and columns.
const ROWS: u32 = 2;
const COLUMNS: u32 = 3;

fn tensor(rows: u32, columns: u32) -> TensorDesc {
    TensorDesc::packed(DataType::Float32, &[1, 1, rows, columns])
}

/// The input and the output of a layer.
struct Layer {
    input: GraphValue,
    output: GraphValue,
}

/// Adds `a * b`, with one of them transposed.
fn product(
    graph: &mut GraphBuilder,
    [a, b]: [(GraphValue, u32, u32); 2],
    [trans_a, trans_b]: [MatrixTransform; 2],
) -> GraphValue {
    let sizes = |(_, rows, columns): (GraphValue, u32, u32), transform| match transform {
        MatrixTransform::Transpose => (columns, rows),
        _ => (rows, columns),
    };
    let output_tensor = tensor(sizes(a, trans_a).0, sizes(b, trans_b).1);
    let desc = GemmDesc {
        a_tensor: tensor(a.1, a.2),
        b_tensor: tensor(b.1, b.2),
        c_tensor: None,
        output_tensor,
        trans_a,
        trans_b,
        alpha: 1.0,
        beta: 0.0,
        fused_activation: None,
    };
    graph.operator(desc, &[a.0, b.0])
}

/// Adds `input * weights + biases` for each of `rows` rows.
fn layer(
    graph: &mut GraphBuilder,
    rows: u32,
    input: GraphValue,
    parameters: &[GraphValue],
    at: usize,
) -> Layer {
    let (inputs, outputs, _) = PARAMETERS[2 * at];
    let desc = GemmDesc {
        a_tensor: tensor(rows, inputs),
        b_tensor: tensor(inputs, outputs),
        // The same biases for every row.
        c_tensor: Some(tensor(rows, outputs).with_strides(&[0, 0, 0, 1])),
        output_tensor: tensor(rows, outputs),
        trans_a: MatrixTransform::None,
        trans_b: MatrixTransform::None,
        alpha: 1.0,
        beta: 1.0,
        fused_activation: None,
    };
    let output = graph.operator(desc, &[input, parameters[2 * at], parameters[2 * at + 1]]);
    Layer { input, output }
}

/// Adds both layers; the last outputs are the logits.
fn layers(
    graph: &mut GraphBuilder,
    rows: u32,
    features: GraphValue,
    parameters: &[GraphValue],
) -> [Layer; 2] {
    let first = layer(graph, rows, features, parameters, 0);
    let hidden = tensor(rows, HIDDEN);
    let relu = ActivationReluDesc { input_tensor: hidden.clone(), output_tensor: hidden };
    let hidden = graph.operator(relu, &[first.output]);
    let second = layer(graph, rows, hidden, parameters, 1);
    [first, second]
}

/// Adds the sum along some dimensions.
fn sum(
    graph: &mut GraphBuilder,
    input: GraphValue,
    of: (u32, u32),
    to: (u32, u32),
    axes: &[u32],
) -> GraphValue {
    let desc = ReduceDesc {
        function: ReduceFunction::Sum,
        input_tensor: tensor(of.0, of.1),
        output_tensor: tensor(to.0, to.1),
        axes: axes.to_vec(),
    };
    graph.operator(desc, &[input])
}

/// Adds `input * scale + bias`.
fn scaled(
    graph: &mut GraphBuilder,
    input: GraphValue,
    of: TensorDesc,
    scale_bias: [f32; 2],
) -> GraphValue {
    let desc = ElementWiseIdentityDesc {
        input_tensor: of.clone(),
        output_tensor: of,
        scale_bias: Some(scale_bias),
    };
    graph.operator(desc, &[input])
}

/// Adds the mean loss of the rows: minus the logarithm of the correct class's probability.
fn loss(graph: &mut GraphBuilder, shares: GraphValue, classes: GraphValue) -> GraphValue {
    let all = tensor(BATCH, CLASSES);
    let logarithms = ActivationLogSoftmax1Desc {
        input_tensor: all.clone(),
        output_tensor: all.clone(),
        axes: vec![COLUMNS],
    };
    let logarithms = graph.operator(logarithms, &[shares]);
    let right = ElementWiseMultiplyDesc {
        a_tensor: all.clone(),
        b_tensor: all.clone(),
        output_tensor: all,
    };
    let right = graph.operator(right, &[logarithms, classes]);
    let sum = sum(graph, right, (BATCH, CLASSES), (1, 1), &[ROWS, COLUMNS]);
    scaled(graph, sum, tensor(1, 1), [-1.0 / BATCH as f32, 0.0])
}

/// Adds the gradients of the mean loss, of all parameters in their order.
fn gradients(
    graph: &mut GraphBuilder,
    [first, second]: &[Layer; 2],
    classes: GraphValue,
    weights: GraphValue,
) -> [GraphValue; 4] {
    const NONE: MatrixTransform = MatrixTransform::None;
    const TRANSPOSE: MatrixTransform = MatrixTransform::Transpose;
    let all = tensor(BATCH, CLASSES);
    let shares = ActivationSoftmax1Desc {
        input_tensor: all.clone(),
        output_tensor: all.clone(),
        axes: vec![COLUMNS],
    };
    let shares = graph.operator(shares, &[second.output]);
    let difference = ElementWiseSubtractDesc {
        a_tensor: all.clone(),
        b_tensor: all.clone(),
        output_tensor: all.clone(),
    };
    let difference = graph.operator(difference, &[shares, classes]);
    let of_second = scaled(graph, difference, all, [1.0 / BATCH as f32, 0.0]);
    let given = (of_second, BATCH, CLASSES);
    let of_weights = product(graph, [(second.input, BATCH, HIDDEN), given], [TRANSPOSE, NONE]);
    let of_biases = sum(graph, of_second, (BATCH, CLASSES), (1, CLASSES), &[ROWS]);

    let of_hidden = product(graph, [given, (weights, HIDDEN, CLASSES)], [NONE, TRANSPOSE]);
    let hidden = tensor(BATCH, HIDDEN);
    let relu = ActivationReluGradDesc {
        input_tensor: hidden.clone(),
        input_gradient_tensor: hidden.clone(),
        output_gradient_tensor: hidden,
    };
    let of_first = graph.operator(relu, &[first.output, of_hidden]);
    let given = (of_first, BATCH, HIDDEN);
    let of_features = product(graph, [(first.input, BATCH, FEATURES), given], [TRANSPOSE, NONE]);
    let of_first_biases = sum(graph, of_first, (BATCH, HIDDEN), (1, HIDDEN), &[ROWS]);
    [of_features, of_first_biases, of_weights, of_biases]
}

/// A step of training. It reads the points of a batch, their classes and the states; it writes the loss and the states
/// after it: parameters, first moments, second moments, and the number of the next step.
pub(crate) fn step() -> GraphDesc {
    let mut graph = GraphBuilder::new();
    let [features, classes] = [graph.input(), graph.input()];
    let mut inputs = || [0; PARAMETERS.len()].map(|_| graph.input());
    let [parameters, first_moments, second_moments] = [inputs(), inputs(), inputs()];
    let number = graph.input();
    let layers = layers(&mut graph, BATCH, features, &parameters);
    let loss = loss(&mut graph, layers[1].output, classes);
    graph.output(loss);
    let gradients = gradients(&mut graph, &layers, classes, parameters[2]);
    let optimized: Vec<GraphValue> = (0..PARAMETERS.len())
        .map(|at| {
            let (rows, columns, _) = PARAMETERS[at];
            let all = || tensor(rows, columns);
            let desc = AdamOptimizerDesc {
                input_parameters_tensor: all(),
                input_first_moment_tensor: all(),
                input_second_moment_tensor: all(),
                gradient_tensor: all(),
                training_step_tensor: tensor(1, 1),
                output_parameters_tensor: all(),
                output_first_moment_tensor: all(),
                output_second_moment_tensor: all(),
                learning_rate: LEARNING_RATE,
                beta1: 0.9,
                beta2: 0.999,
                epsilon: 1e-7,
            };
            let inputs =
                [parameters[at], first_moments[at], second_moments[at], gradients[at], number];
            graph.operator(desc, &inputs)
        })
        .collect();
    for output in 0..3 {
        for value in &optimized {
            let value = graph.output_of(*value, output);
            graph.output(value);
        }
    }
    let next = scaled(&mut graph, number, tensor(1, 1), [1.0, 1.0]);
    graph.output(next);
    graph.finish()
}

/// The graph that classifies points: it reads the points and the parameters, and writes the class of each point.
pub(crate) fn classification(count: u32) -> GraphDesc {
    let mut graph = GraphBuilder::new();
    let features = graph.input();
    let parameters = [0; PARAMETERS.len()].map(|_| graph.input());
    let [_, last] = layers(&mut graph, count, features, &parameters);
    let class = ArgmaxDesc {
        input_tensor: tensor(count, CLASSES),
        output_tensor: TensorDesc::packed(DataType::Uint32, &[1, 1, count, 1]),
        axes: vec![COLUMNS],
        axis_direction: AxisDirection::Increasing,
    };
    let class = graph.operator(class, &[last.output]);
    graph.output(class);
    graph.finish()
}
