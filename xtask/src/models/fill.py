"""fill.py MODEL FOLDER: a model without weights becomes one with them, with an input and ONNX Runtime's answer.

The models that the package `onnx` carries have the weights of ConstantOfShape nodes: all are alike, so that
every input has the same answer. Here they are drawn, with a fixed seed, as layers are usually initialized,
so that values stay of one size from layer to layer. A last Softmax goes: it would hide differences.
"""

import math
import pathlib
import sys
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper as arrays

# What only changes how weights are seen.
VIEWS = ("Reshape", "Unsqueeze")


def fan_in(shape, node, attributes):
    if node.op_type == "Conv":
        return math.prod(shape[1:])
    return shape[-1] if attributes.get("transB") else shape[-2]


# He's deviation is for what a Relu halves, and a sum of branches grows from one to the next.
SCALES = {"Relu": 1.0, "Mul": 1.0, "Sum": 0.3}


def drawn(random, shape, node, place, reader):
    """Values for what `node` takes in this place, of which `reader` takes the result."""

    def normal(deviation):
        return random.standard_normal(shape, dtype=np.float32) * np.float32(deviation)

    def around_one():
        return random.uniform(0.9, 1.1, shape).astype(np.float32)

    attributes = {it.name: onnx.helper.get_attribute_value(it) for it in node.attribute}
    match node.op_type, place:
        case "Conv" | "Gemm", 1:
            # He: the deviation that keeps the size of what passes a Relu.
            return normal(math.sqrt(2 / fan_in(shape, node, attributes)))
        case "BatchNormalization", 1:
            return around_one() * np.float32(SCALES.get(reader, math.sqrt(0.5)))
        case "BatchNormalization", 4:
            return around_one()
        case "Mul", _:
            return around_one()
        case "Conv" | "Gemm" | "BatchNormalization" | "Add", _:
            return normal(0.05)
    raise SystemExit(f"{node.op_type} takes weights in place {place}, for which there is no rule")


def use(readers, name):
    """The node that computes with the value, past those that change its shape, and the place there."""
    node, place = readers[name]
    return use(readers, node.output[0]) if node.op_type in VIEWS and place == 0 else (node, place)


def fill(model, random):
    graph = model.graph
    readers = {name: (node, place) for node in graph.node for place, name in enumerate(node.input)}
    constants = {it.name: it for it in graph.initializer}
    shapes = {name: tuple(it.dims) for name, it in constants.items() if it.data_type == onnx.TensorProto.FLOAT}
    made = [node for node in graph.node if node.op_type == "ConstantOfShape"]
    for node in made:
        shapes[node.output[0]] = tuple(arrays.to_array(constants[node.input[0]]).tolist())
    # Whole numbers are shapes, and stay; nobody reads those of the weights any more.
    gone = {node.input[0] for node in made}
    kept = [it for name, it in constants.items() if name not in shapes and name in readers and name not in gone]
    nodes = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    if nodes[-1].op_type == "Softmax":
        softmax = nodes.pop()
        nodes[-1].output[0] = softmax.output[0]
    inputs = [it for it in graph.input if it.name not in constants]
    weights = []
    for name, shape in shapes.items():
        if name in readers:
            node, place = use(readers, name)
            reader = readers[node.output[0]][0].op_type if node.output[0] in readers else None
            weights.append(arrays.from_array(drawn(random, shape, node, place, reader), name))
    # The rank of the Softmax's output need not be that of its input.
    output = onnx.ValueInfoProto(name=graph.output[0].name)
    output.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    filled = onnx.helper.make_graph(nodes, graph.name, inputs, [output], kept + weights)
    # From version 4 on, initializers are no inputs.
    return onnx.helper.make_model(filled, opset_imports=model.opset_import, ir_version=8)


def main():
    source, folder = map(pathlib.Path, sys.argv[1:])
    random = np.random.default_rng(zlib.crc32(source.stem.encode()))
    model = fill(onnx.load(source), random)
    shape = [it.dim_value for it in model.graph.input[0].type.tensor_type.shape.dim]
    values = random.standard_normal(shape, dtype=np.float32)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    np.save(data / "input_0.npy", values)
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    [answer] = session.run(None, {session.get_inputs()[0].name: values})
    if not np.isfinite(answer).all() or answer.std() == 0:
        raise SystemExit(f"{source.stem}: its answer tells nothing")
    np.save(data / "output_0.npy", answer)
    print(f"{source.stem}: filled; its answer's deviation is {answer.std():.2g}", file=sys.stderr)


main()
