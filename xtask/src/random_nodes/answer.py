"""A node as a model, the answers of ONNX Runtime and of ONNX's reference implementation, and how near is right."""

import numpy as np
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from draw import OPERATORS

# Of a number of this type: the relative error that one operation may have.
USUAL = {np.dtype(np.float32): 1e-5, np.dtype(np.float16): 2e-3}
# Operators of these files move elements.
EXACT = ("movement", "indices")

onnxruntime.set_default_logger_severity(4)


def model(node):
    """The model, and the values of its inputs in order."""
    names, graph_inputs, initializers, values = [], [], [], []
    for place, operand in enumerate(node.inputs):
        if operand is None:
            names.append("")
            continue
        names.append(name := f"x{place}")
        if operand.constant:
            initializers.append(numpy_helper.from_array(operand.values, name))
            continue
        kind = helper.np_dtype_to_tensor_dtype(operand.values.dtype)
        graph_inputs.append(helper.make_tensor_value_info(name, kind, operand.values.shape))
        values.append(operand.values)
    while names and not names[-1]:
        names.pop()
    outputs = [f"y{place}" for place in range(node.outputs)]
    made = helper.make_node(node.operator, names, outputs, **node.attributes)
    given = [helper.make_empty_tensor_value_info(it) for it in outputs]
    graph = helper.make_graph([made], "one", graph_inputs, given, initializers)
    opsets = [helper.make_opsetid("", node.opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), values


def of_onnxruntime(made, values):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    # Whatever optimization would do to one node is no part of its meaning.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {it.name: value for it, value in zip(made.graph.input, values)})


def of_reference(made, values):
    with np.errstate(all="ignore"):
        found = ReferenceEvaluator(made).run(None, {it.name: value for it, value in zip(made.graph.input, values)})
    return [np.asarray(it) for it in found]


def attempt(run, made, values):
    """The answer, or the error."""
    try:
        return run(made, values), None
    except Exception as error:  # Of any kind: each library has its own.
        return None, error


def tolerance(node, outputs):
    """The errors that an output may have: |found - expected| <= absolute + relative * |expected|."""
    is_exact = OPERATORS[node.operator][0].__module__ in EXACT and "reduction" not in node.attributes
    floats = [it for it in outputs if it.dtype.kind == "f" and it.size]
    if is_exact or not floats:
        return {"relative": 0.0, "absolute": 0.0}
    kinds = {it.dtype for it in floats} | {it.values.dtype for it in node.inputs if it and it.values.dtype in USUAL}
    usual = max(USUAL.get(kind, 0.0) for kind in kinds)
    error = usual * (min(node.error, 4.0) if usual > 1e-4 else node.error)
    finite = [np.abs(it[np.isfinite(it)].astype(np.float64)) for it in floats]
    greatest = max((it.max() for it in finite if it.size), default=0.0)
    return {"relative": error, "absolute": error * max(1.0, greatest)}


def differ(node, some, others):
    """What is different in two answers, or None."""
    allowed = tolerance(node, others)
    for place, (a, b) in enumerate(zip(some, others)):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"output {place}: {a.dtype} {list(a.shape)} and {b.dtype} {list(b.shape)}"
        if a.dtype.kind == "f":
            near = np.isclose(a.astype(np.float64), b.astype(np.float64), allowed["relative"], allowed["absolute"], True)
        else:
            near = a == b
        if not np.all(near):
            first = tuple(np.argwhere(~near)[0])
            return f"output {place}, element {list(map(int, first))}: {a[first]} and {b[first]}"
    return None
