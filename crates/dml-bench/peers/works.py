"""Models of one node each, for `once.py`: `python3 works.py FOLDER`.

FOLDER/NAME has model.onnx and, in test_data_set_0, inputs and outputs of zeros: only shapes matter. Prints the
names. Needs the package onnx.
"""

import pathlib
import sys

import numpy
import onnx
from onnx import helper

RANDOM = numpy.random.default_rng(0)


def weights(*shape, dtype="f4"):
    return (RANDOM.standard_normal(shape) * 0.1).astype(dtype)


def product(m, k, n, dtype="f4"):
    return node("MatMul", [(m, k)], [(m, n)], [weights(k, n, dtype=dtype)], dtype=dtype)


def convolution(channels, filters, size, width, groups=1):
    filter_ = weights(filters, channels // groups, width, width)
    shapes = [(1, channels, size, size)], [(1, filters, size, size)]
    return node("Conv", *shapes, [filter_], pads=[width // 2] * 4, group=groups)


def node(operator, inputs, outputs, constants=(), dtype="f4", opset=20, domain="", **attributes):
    return operator, inputs, outputs, constants, dtype, opset, domain, attributes


ROWS, ONE = [(4096, 1024)], [numpy.array([1])]
IMAGE = [(1, 64, 112, 112)]
WORKS = {
    "gemm-f32-1024": product(1024, 1024, 1024),
    "gemm-f16-1024": product(1024, 1024, 1024, "f2"),
    "gemv-f32-4096": product(1, 4096, 4096),
    "gemm-f32-8x4096": product(8, 4096, 4096),
    "conv-3x3-64": convolution(64, 64, 56, 3),
    "conv-1x1-256-64": convolution(256, 64, 56, 1),
    "conv-depthwise-3x3-144": convolution(144, 144, 56, 3, 144),
    "softmax-f32": node("Softmax", ROWS, ROWS),
    "layernorm-f32": node("LayerNormalization", ROWS, ROWS, [weights(1024), weights(1024)], axis=-1),
    "sum-of-rows": node("ReduceSum", ROWS, [(4096, 1)], ONE),
    "max-pool-3x3": node("MaxPool", IMAGE, [(1, 64, 56, 56)], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4),
    "transpose-f32": node("Transpose", ROWS, [(1024, 4096)], perm=[1, 0]),
    "gelu-f32": node("Gelu", ROWS, ROWS),
    "add-f32": node("Add", ROWS * 2, ROWS),
    "attention-f32": node(
        "MultiHeadAttention", [(1, 1024, 768)] * 3, [(1, 1024, 768)], domain="com.microsoft", num_heads=12
    ),
}


def write(folder, name, work):
    operator, inputs, outputs, constants, dtype, opset, domain, attributes = work
    kind = helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
    tensors = {}
    for what, shapes in ("input", inputs), ("output", outputs):
        names = [f"{what}_{number}" for number in range(len(shapes))]
        tensors[what] = [helper.make_tensor_value_info(*it) for it in zip(names, [kind] * len(names), shapes)]
        data = folder / name / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        for named, shape in zip(names, shapes):
            numpy.save(data / f"{named}.npy", numpy.zeros(shape, dtype))
    made = [onnx.numpy_helper.from_array(it, f"constant_{number}") for number, it in enumerate(constants)]
    taken = [it.name for it in [*tensors["input"], *made]]
    only = helper.make_node(operator, taken, [it.name for it in tensors["output"]], domain=domain, **attributes)
    graph = helper.make_graph([only], name, tensors["input"], tensors["output"], made)
    opsets = [helper.make_opsetid(*it) for it in [("", opset), ("com.microsoft", 1)]]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), folder / name / "model.onnx")


def main():
    folder = pathlib.Path(sys.argv[1])
    for name, work in WORKS.items():
        write(folder, name, work)
        print(name)


main()
