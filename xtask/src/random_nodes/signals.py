"""Operators of signals, losses and others that are drawn with few attributes."""

import numpy as np

from draw import ANY, FLOATS, INTEGERS, NUMBERS, Node, operator
from element_wise import opset


@operator("Acos", "Asin", "Atanh", "Acosh", "Tan")
def inverse(draw, name):
    low, high = (1.1, 5) if name == "Acosh" else (-0.9, 0.9)
    x = draw.tensor(draw.pick(FLOATS), draw.shape(), low, high)
    return Node(name, opset(draw, 9), draw.given(x), error=4)


@operator("BitwiseNot")
def inverted(draw, name):
    return Node(name, opset(draw, 18), draw.given(draw.tensor(draw.pick(INTEGERS), draw.shape())))


@operator("Dropout")
def dropout(draw, name):
    at, x = draw.pick([7, 10, 12, 13, 22]), draw.tensor(draw.pick(FLOATS), draw.shape())
    attributes = {"ratio": 0.4} if at < 12 and draw.chance(0.5) else {}
    more = [draw.parameter(0.4, np.float32)] if at >= 12 and draw.chance(0.5) else []
    outputs = 2 if at >= 12 and draw.chance(0.5) else 1
    return Node(name, at, draw.given(x) + more, attributes, outputs)


@operator("CumProd")
def running(draw, name):
    x = draw.tensor(draw.pick([np.float32, np.int32, np.int64]), draw.shape(1, 4), -2, 2)
    attributes = {it: draw.between(0, 1) for it in ("exclusive", "reverse") if draw.chance(0.6)}
    return Node(name, 26, draw.given(x) + [draw.parameter(draw.axis(x.ndim))], attributes, error=4)


@operator("Det")
def determinant(draw, name):
    size = draw.between(1, 4)
    x = draw.tensor(np.float32, draw.shape(0, 2, empty=0) + [size, size])
    return Node(name, draw.pick([11, 22]), draw.given(x, constants=1), error=16)


@operator("AffineGrid")
def affine(draw, name):
    batch, spatial = draw.between(1, 2), draw.shape(2, 3, empty=0)
    rank = len(spatial)
    attributes = {"align_corners": draw.between(0, 1)} if draw.chance(0.7) else {}
    given = draw.given(draw.tensor(np.float32, [batch, rank, rank + 1]))
    return Node(name, 20, given + [draw.parameter([batch, draw.between(1, 3), *spatial])], attributes, error=4)


@operator("DFT", weight=2)
def fourier(draw, name):
    at, parts = draw.pick([17, 20]), draw.pick([1, 2])
    x = draw.tensor(np.float32, draw.shape(2, 3, 7, empty=0) + [parts])
    axis = draw.between(1 if at < 20 else 0, x.ndim - 2)
    attributes = {"axis": axis} if at < 20 else {}
    kind = draw.between(0, 2)
    attributes |= {"inverse": 1} if kind == 1 and parts == 2 else {}
    attributes |= {"onesided": 1} if kind == 2 and parts == 1 else {}
    length = draw.parameter(draw.between(1, 9)) if draw.chance(0.4) else None
    more = [length] if at < 20 else [length, draw.parameter(axis)]
    return Node(name, at, draw.given(x) + more, attributes, error=16)


@operator("STFT")
def short_time(draw, name):
    batch, length = draw.between(1, 2), draw.between(8, 24)
    frame = draw.between(2, 8)
    window = draw.tensor(np.float32, [frame], 0.1, 1) if draw.chance(0.6) else None
    given = draw.given(draw.tensor(np.float32, [batch, length, 1])) + [draw.parameter(draw.between(1, 4))]
    given += draw.given(window, constants=1) + [draw.parameter(frame)]
    attributes = {"onesided": draw.between(0, 1)} if draw.chance(0.6) else {}
    return Node(name, 17, given, attributes, error=16)


@operator("HannWindow", "HammingWindow", "BlackmanWindow")
def weights(draw, name):
    attributes = {"periodic": draw.between(0, 1)} if draw.chance(0.7) else {}
    return Node(name, 17, [draw.parameter(draw.between(2, 12))], attributes, error=4)


@operator("Col2Im", weight=2)
def columns(draw, name):
    block = [draw.between(1, 3) for _ in range(2)]
    steps = [draw.between(1, 2) for _ in range(2)]
    strides, pads = [draw.between(1, 2) for _ in range(2)], [draw.between(0, 1) for _ in range(4)]
    reach = [(size - 1) * step + 1 for size, step in zip(block, steps)]
    image = [it + draw.between(0, 4) for it in reach]
    count = [(image[i] + pads[i] + pads[i + 2] - reach[i]) // strides[i] + 1 for i in range(2)]
    x = draw.tensor(np.float32, [draw.between(1, 2), draw.between(1, 2) * block[0] * block[1], count[0] * count[1]])
    attributes = {"strides": strides, "pads": pads, "dilations": steps}
    return Node(name, 18, draw.given(x) + [draw.parameter(image), draw.parameter(block)], attributes, error=4)


@operator("MaxRoiPool")
def region(draw, name):
    shape = [draw.between(1, 2), draw.between(1, 2), draw.between(4, 8), draw.between(4, 8)]
    count = draw.between(1, 3)
    corners = draw.random.integers(0, 4, [count, 2])
    ends = corners + draw.random.integers(1, 4, [count, 2])
    batch = draw.random.integers(0, shape[0], [count, 1])
    boxes = np.concatenate([batch, corners, ends], 1).astype(np.float32)
    attributes = {"pooled_shape": [draw.between(1, 3), draw.between(1, 3)]}
    attributes |= {"spatial_scale": draw.pick([0.5, 1.0])} if draw.chance(0.6) else {}
    return Node(name, draw.pick([1, 22]), draw.given(draw.tensor(np.float32, shape), boxes), attributes)


@operator("Upsample")
def enlarged(draw, name):
    at, mode = draw.pick([7, 9]), draw.pick(["nearest", "linear"])
    x = draw.tensor(np.float32, [draw.between(1, 2), draw.between(1, 2), draw.between(1, 4), draw.between(1, 4)])
    scales = [1.0, 1.0, draw.pick([1.0, 2.0, 3.0]), draw.pick([1.0, 2.0, 1.5])]
    if at < 9:
        return Node(name, at, draw.given(x), {"mode": mode, "scales": scales}, error=4)
    return Node(name, at, draw.given(x) + [draw.parameter(scales, np.float32)], {"mode": mode}, error=4)


@operator("RotaryEmbedding", weight=2)
def rotary(draw, name):
    kind, heads, half = draw.pick(FLOATS), draw.between(1, 3), draw.between(1, 3)
    batch, length, most = draw.between(1, 2), draw.between(1, 4), 8
    size, flat = 2 * half, draw.chance(0.4)
    x = draw.tensor(kind, [batch, length, heads * size] if flat else [batch, heads, length, size])
    attributes = {"num_heads": heads} if flat else {}
    attributes |= {"interleaved": draw.between(0, 1)} if draw.chance(0.5) else {}
    if half > 1 and draw.chance(0.4):
        half -= 1
        attributes["rotary_embedding_dim"] = 2 * half
    places = draw.random.integers(0, most, [batch, length]).astype(np.int64) if draw.chance(0.6) else None
    shape = [batch, length, half] if places is None else [most, half]
    return Node(name, 23, draw.given(x, draw.tensor(kind, shape), draw.tensor(kind, shape), places), attributes)


@operator("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", weight=2)
def loss(draw, name):
    batch, classes, more = draw.between(1, 3), draw.between(2, 4), draw.shape(0, 2, empty=0)
    x = draw.tensor(np.float32, [batch, classes, *more])
    labels = draw.random.integers(0, classes, [batch, *more]).astype(draw.pick([np.int64, np.int32]))
    weights = draw.tensor(np.float32, [classes], 0.1, 1) if draw.chance(0.5) else None
    attributes = {"reduction": draw.pick(["none", "mean", "sum"])} if draw.chance(0.8) else {}
    if labels.max() != labels.min() and draw.chance(0.4):
        attributes["ignore_index"] = int(labels.min())
    outputs = draw.between(1, 2) if name[0] == "S" else 1
    return Node(name, draw.pick([12, 13]), draw.given(x, labels, weights), attributes, outputs, error=8)


@operator("MaxUnpool")
def unpooled(draw, name):
    n, c, h, w = (draw.between(1, 3) for _ in range(4))
    size = 4 * h * w
    places = [draw.random.permutation(size)[: h * w] + (i * size) for i in range(n * c)]
    indices = np.reshape(places, [n, c, h, w]).astype(np.int64)
    x = draw.tensor(np.float32, [n, c, h, w])
    return Node(name, draw.pick([9, 11]), draw.given(x, indices), {"kernel_shape": [2, 2], "strides": [2, 2]})


@operator("Scatter")
def scattered(draw, name):
    shape = draw.shape(1, 3, empty=0)
    axis = draw.between(0, len(shape) - 1)
    sizes = list(shape)
    rows = np.argsort(draw.random.random(sizes), axis)
    kind = draw.pick(NUMBERS)
    given = draw.given(draw.tensor(kind, shape), rows.astype(np.int64), draw.tensor(kind, sizes))
    return Node(name, draw.pick([9, 10]), given, {"axis": axis})


@operator("BitCast")
def reinterpreted(draw, name):
    source = draw.pick([it for it in ANY if it != np.bool_])
    size = np.dtype(source).itemsize
    from onnx import helper

    target = draw.pick([it for it in NUMBERS if np.dtype(it).itemsize == size])
    to = helper.np_dtype_to_tensor_dtype(np.dtype(target))
    return Node(name, 26, draw.given(draw.tensor(source, draw.shape())), {"to": to})
