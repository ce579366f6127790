"""Reductions, normalizations and other functions of rows."""

import numpy as np

from draw import FLOATS, Node, Operand, operator
from element_wise import opset

REDUCTIONS = "Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare".split()


@operator(*[f"Reduce{it}" for it in REDUCTIONS], weight=2)
def reduction(draw, name):
    kinds = FLOATS + [np.int32, np.int64]
    if name in ("ReduceMax", "ReduceMin"):
        kinds = kinds + [np.int8, np.uint8]
    positive = name in ("ReduceLogSum", "ReduceProd")
    kind = draw.pick(FLOATS if name.startswith("ReduceLog") or name in ("ReduceL2", "ReduceMean") else kinds)
    empty = 0 if name == "ReduceMean" else 0.04
    x = draw.tensor(kind, draw.shape(0, 5, empty=empty), 0.3 if positive else None, 2 if positive else None)
    if np.dtype(kind).kind in "iu":
        x = draw.integers(kind, x.shape, -3, 3)
    at = draw.pick([11, 12, 13, 18, 20])
    attributes = {"keepdims": draw.between(0, 1)} if draw.chance(0.7) else {}
    with_input = at >= (13 if name == "ReduceSum" else 18)
    axes = None if draw.chance(0.25) or not x.ndim else draw.axes(x.ndim)
    given = draw.given(x)
    if with_input:
        if draw.chance(0.3):
            attributes["noop_with_empty_axes"] = draw.between(0, 1)
        if axes is None and draw.chance(0.4):
            axes = []
        given += [] if axes is None else [draw.parameter(axes)]
    elif axes is not None:
        attributes["axes"] = axes
    return Node(name, at, given, attributes, error=4)


@operator("ArgMax", "ArgMin", weight=2)
def extreme(draw, name):
    kind = draw.pick(FLOATS + [np.int32, np.int8, np.uint8])
    x, at = draw.tensor(kind, draw.shape(1, 5, empty=0)), opset(draw, 11)
    if draw.chance(0.4):
        x = np.round(x.astype(np.float64)).clip(0, 2).astype(kind)
    attributes = {"axis": draw.axis(x.ndim)} if draw.chance(0.8) else {}
    attributes |= {"keepdims": draw.between(0, 1)} if draw.chance(0.6) else {}
    attributes |= {"select_last_index": draw.between(0, 1)} if at >= 12 and draw.chance(0.5) else {}
    return Node(name, at, draw.given(x), attributes)


@operator("Softmax", "LogSoftmax", "Hardmax", weight=2)
def softmax(draw, name):
    x = draw.tensor(draw.pick(FLOATS), draw.shape(1, 5), -6, 6)
    attributes = {"axis": draw.axis(x.ndim)} if draw.chance(0.8) else {}
    least = 11 if x.ndim == 1 else draw.pick([11, 13])
    # Up to version 12 the default is the second dimension.
    if x.ndim == 1 and not attributes:
        least = 13
    at = draw.pick([13, 17]) if least == 13 else draw.pick([11, 12])
    return Node(name, at, draw.given(x), attributes, error=4)


@operator("CumSum")
def running(draw, name):
    kind = draw.pick([np.float32, np.int32, np.int64])
    x = draw.tensor(kind, draw.shape(1, 4))
    attributes = {it: draw.between(0, 1) for it in ("exclusive", "reverse") if draw.chance(0.6)}
    axis = draw.parameter(draw.axis(x.ndim), draw.pick([np.int32, np.int64]))
    return Node(name, draw.pick([11, 14]), draw.given(x) + [axis], attributes, error=4)


@operator("TopK", weight=2)
def greatest(draw, name):
    x = draw.tensor(draw.pick(FLOATS + [np.int32, np.int64]), draw.shape(1, 4, 6))
    axis, at = draw.axis(x.ndim), draw.pick([10, 11, 18, 24])
    x = x.astype(np.float32) if at == 10 else x
    k = draw.between(0 if draw.chance(0.1) else 1, max(x.shape[axis], 1)) if x.shape[axis] else 0
    attributes = {} if axis == -1 else {"axis": axis}
    if at >= 11:
        attributes |= {"largest": draw.between(0, 1)} if draw.chance(0.6) else {}
    return Node(name, at, draw.given(x) + [draw.parameter([k])], attributes, outputs=2)


def channels(draw, kind, count, positive=False):
    return draw.tensor(kind, [count], 0.2 if positive else None)


@operator("BatchNormalization")
def batch(draw, name):
    kind, shape = draw.pick(FLOATS), draw.shape(2, 5)
    x, c = draw.tensor(kind, shape), shape[1]
    rest = [channels(draw, kind, c, positive) for positive in (False, False, False, True)]
    attributes = {"epsilon": draw.pick([1e-5, 0.1])} if draw.chance(0.5) else {}
    return Node(name, draw.pick([9, 14, 15]), draw.given(x, *rest, constants=0.4), attributes, error=8)


@operator("InstanceNormalization")
def instance(draw, name):
    kind, shape = draw.pick(FLOATS), draw.shape(3, 5, empty=0)
    given = draw.given(draw.tensor(kind, shape), *(channels(draw, kind, shape[1]) for _ in range(2)))
    attributes = {"epsilon": draw.pick([1e-3, 0.1])}
    return Node(name, opset(draw), given, attributes, error=16)


@operator("LayerNormalization", "RMSNormalization", weight=2)
def layer(draw, name):
    kind, shape = draw.pick(FLOATS), draw.shape(1, 5, empty=0)
    axis = draw.axis(len(shape))
    attributes = {} if axis == -1 and draw.chance(0.5) else {"axis": axis}
    attributes["epsilon"] = draw.pick([1e-3, 0.1])
    row = shape[axis % len(shape) :]
    scale = draw.tensor(kind, row if draw.chance(0.8) else draw.broadcast(row))
    bias = draw.tensor(kind, row) if name[0] == "L" and draw.chance(0.6) else None
    given = draw.given(draw.tensor(kind, shape), scale, bias, constants=0.4)
    outputs = draw.pick([1, 1, 3]) if name[0] == "L" else 1
    return Node(name, draw.pick([17, 18, 22]) if name[0] == "L" else 23, given, attributes, outputs, error=16)


@operator("GroupNormalization")
def group(draw, name):
    kind, groups = draw.pick(FLOATS), draw.between(1, 3)
    shape = [draw.between(1, 2), groups * draw.between(1, 3)] + draw.shape(1, 3, empty=0)
    x = draw.tensor(kind, shape)
    rest = [channels(draw, kind, shape[1]) for _ in range(2)]
    return Node(name, 21, draw.given(x, *rest), {"num_groups": groups, "epsilon": 0.01}, error=16)


@operator("LRN")
def local(draw, name):
    x = draw.tensor(np.float32, draw.shape(4, 4, empty=0))
    known = {"alpha": [1e-4, 0.5], "beta": [0.75, 0.5], "bias": [1.0, 2.0]}
    attributes = {it: draw.pick(known[it]) for it in known if draw.chance(0.6)}
    return Node(name, draw.pick([1, 13]), draw.given(x), attributes | {"size": draw.pick([1, 3, 5])})


@operator("LpNormalization", "MeanVarianceNormalization")
def length(draw, name):
    if name == "LpNormalization":
        x = draw.tensor(np.float32, draw.shape(1, 4, empty=0), 0.2, 2)
        attributes = {"axis": draw.axis(x.ndim)} if draw.chance(0.8) else {}
        attributes |= {"p": draw.between(1, 2)} if draw.chance(0.6) else {}
        return Node(name, draw.pick([1, 22]), draw.given(x), attributes)
    x = draw.tensor(np.float32, [draw.between(2, 4) for _ in range(4)])
    attributes = {"axes": sorted(draw.some(range(4)))} if draw.chance(0.6) else {}
    return Node(name, draw.pick([9, 13]), draw.given(x), attributes, error=32)


@operator("QuantizeLinear", "DequantizeLinear", weight=4)
def quantize(draw, name):
    at = draw.pick([10, 13, 19, 21, 23])
    shape = draw.shape(1, 4, empty=0.02)
    axis = draw.axis(len(shape))
    place = axis % len(shape)
    form = draw.pick(["one", "axis"] if 13 <= at < 21 else ["one", "axis", "block"] if at >= 21 else ["one"])
    attributes = {} if form == "one" else {"axis": axis}
    scales = {"one": [], "axis": [shape[place]], "block": list(shape)}[form]
    if form == "block":
        block = draw.between(1, 3)
        shape[place], scales[place] = block * draw.between(1, 3), None
        scales[place] = shape[place] // block
        attributes["block_size"] = block
    kind = draw.pick([np.float32] if at < 19 else FLOATS)
    scale = draw.tensor(kind, scales, 0.05, 0.5)
    wide = [np.int16, np.uint16] if at >= 21 else []
    stored = draw.pick([np.int8, np.uint8] + wide)
    zero = draw.integers(stored, scales, -20, 20) if draw.chance(0.7) else None
    if name == "QuantizeLinear":
        if zero is None:
            stored = np.uint8
        low, high = (-40, 40) if draw.chance(0.3) else (-4, 4)
        return Node(name, at, draw.given(draw.tensor(kind, shape, low, high), scale, zero, constants=0.3), attributes)
    if draw.chance(0.15) and form != "block":
        stored, zero = np.int32, None
    x = draw.integers(stored, shape, None, None)
    return Node(name, at, draw.given(x, scale, zero, constants=0.3), attributes)


@operator("DynamicQuantizeLinear")
def dynamic(draw, name):
    x = draw.tensor(np.float32, draw.shape(1, 4, empty=0), -draw.between(0, 3), draw.between(0, 3) + 0.5)
    return Node(name, 11, [Operand(x)], outputs=3)
