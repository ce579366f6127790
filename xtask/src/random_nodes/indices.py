"""Gather, scatter, and outputs whose sizes follow from values."""

import numpy as np

from draw import ANY, Node, operator
from element_wise import opset


def places(draw, shape, size, kind=None):
    """Indices of a dimension, from either end."""
    kind = kind or draw.pick([np.int32, np.int64])
    low = -size if draw.chance(0.5) else 0
    return draw.random.integers(low, size, shape).astype(kind) if size else np.zeros(shape, kind)


@operator("Gather", weight=2)
def gather(draw, name):
    x = draw.tensor(draw.pick(ANY), draw.shape(1, 4, empty=0.02))
    axis = draw.axis(x.ndim)
    shape = draw.shape(0, 2) if x.shape[axis] else [0]
    indices = places(draw, shape, x.shape[axis])
    return Node(name, opset(draw, 11), draw.given(x, indices), {} if axis == 0 else {"axis": axis})


@operator("GatherElements", "ScatterElements", weight=2)
def elements(draw, name):
    shape = draw.shape(1, 4, empty=0)
    axis = draw.axis(len(shape))
    place = axis % len(shape)
    at = draw.pick([11, 13, 16, 18])
    kind = draw.pick(ANY)
    sizes = [draw.between(1, it) if draw.chance(0.3) else it for it in shape]
    sizes[place] = draw.between(1, 4 if name[0] == "G" else shape[place])
    indices = places(draw, sizes, shape[place])
    attributes = {} if axis == 0 and draw.chance(0.5) else {"axis": axis}
    if name[0] == "G":
        return Node(name, min(at, 13), draw.given(draw.tensor(kind, shape), indices), attributes)
    reduction = draw.pick(["none", "none", "add", "mul"] + (["max", "min"] if at >= 18 else [])) if at >= 16 else "none"
    if reduction == "none":
        # Updates of one element have no order.
        rows = np.argsort(draw.random.random([shape[place] if i == place else it for i, it in enumerate(sizes)]), place)
        indices = np.take(rows, range(sizes[place]), place).astype(indices.dtype)
        if draw.chance(0.4):
            indices -= np.asarray(shape[place], indices.dtype) * (draw.random.random(sizes) < 0.5)
    else:
        kind = draw.pick([np.float32, np.int32, np.int64])
        attributes["reduction"] = reduction
    data, updates = draw.tensor(kind, shape), draw.tensor(kind, sizes)
    given = draw.given(data) + draw.given(indices, constants=0.5) + draw.given(updates)
    return Node(name, at, given, attributes)


@operator("GatherND", "ScatterND", weight=2)
def coordinates(draw, name):
    shape, at = draw.shape(1, 4, empty=0), draw.pick([11, 12, 13, 16, 18])
    kind = draw.pick(ANY)
    if name[0] == "G":
        dims = draw.between(0, len(shape) - 1) if at >= 12 and draw.chance(0.5) else 0
        depth = draw.between(1, len(shape) - dims)
        outer = shape[:dims] + draw.shape(1 if not dims else 0, 2, empty=0)
        parts = [places(draw, outer + [1], it, np.int64) for it in shape[dims : dims + depth]]
        indices = np.concatenate(parts, -1)
        attributes = {"batch_dims": dims} if dims else {}
        return Node(name, min(at, 13), draw.given(draw.tensor(kind, shape), indices), attributes)
    depth = draw.between(1, len(shape))
    cells = int(np.prod(shape[:depth]))
    reduction = draw.pick(["none", "add", "mul"] + (["max", "min"] if at >= 18 else [])) if at >= 16 else "none"
    count = draw.between(1, min(cells, 6))
    flat = draw.random.permutation(cells)[:count] if reduction == "none" else draw.random.integers(0, cells, count)
    indices = np.stack(np.unravel_index(flat, shape[:depth]), -1).astype(np.int64)
    attributes = {}
    if reduction != "none":
        kind, attributes = draw.pick([np.float32, np.int32, np.int64]), {"reduction": reduction}
    given = draw.given(draw.tensor(kind, shape)) + draw.given(indices, constants=0.5)
    return Node(name, at, given + draw.given(draw.tensor(kind, [count] + shape[depth:])), attributes)


@operator("OneHot", weight=2)
def one_hot(draw, name):
    depth = draw.between(1, 5)
    shape = draw.shape(1, 3)
    # ONNX Runtime has kernels for few combinations of types.
    kind, result = draw.pick([(np.int64, np.float32), (np.int64, np.int64), (np.float32, np.int64)])
    indices = draw.random.integers(-depth - 1, depth + 1, shape).astype(kind)
    axis = draw.axis(len(shape) + 1)
    values = draw.tensor(result, [2])
    attributes = {} if axis == -1 else {"axis": axis}
    depth = draw.parameter(depth if draw.chance(0.5) else [depth])
    return Node(name, 11, draw.given(indices) + [depth] + draw.given(values), attributes)


@operator("Compress")
def compress(draw, name):
    x = draw.tensor(draw.pick(ANY), draw.shape(1, 4, empty=0))
    axis = None if draw.chance(0.3) else draw.axis(x.ndim)
    size = x.size if axis is None else x.shape[axis]
    condition = draw.tensor(np.bool_, [draw.between(1, size)])
    return Node(name, 11, draw.given(x, condition), {} if axis is None else {"axis": axis})


@operator("NonZero")
def nonzero(draw, name):
    kind = draw.pick([np.float32, np.int32, np.int64, np.bool_, np.uint8])
    x = draw.tensor(kind, draw.shape(0 if draw.chance(0.2) else 1, 4))
    return Node(name, draw.pick([9, 13]), draw.given(x * draw.tensor(np.bool_, x.shape).astype(kind)))


@operator("Unique")
def unique(draw, name):
    x = draw.tensor(draw.pick([np.float32, np.int64, np.int8]), draw.shape(1, 3, empty=0))
    x = np.round(x.astype(np.float64)).clip(-2, 2).astype(x.dtype)
    attributes = {"sorted": draw.between(0, 1)} if draw.chance(0.6) else {}
    attributes |= {"axis": draw.axis(x.ndim)} if draw.chance(0.5) else {}
    return Node(name, 11, draw.given(x), attributes, outputs=draw.between(1, 4))


@operator("NonMaxSuppression")
def suppression(draw, name):
    batches, boxes, classes = draw.between(1, 2), draw.between(1, 6), draw.between(1, 2)
    corners = draw.tensor(np.float32, [batches, boxes, 4], 0, 1)
    scores = draw.random.permutation(batches * boxes * classes).reshape(batches, classes, boxes) / 20.0
    limits = [np.int64([draw.between(0, 4)]), np.float32([draw.pick([0.1, 0.5])]), np.float32([0.2])]
    limits = limits[: draw.between(1, 3)]
    attributes = {"center_point_box": draw.between(0, 1)} if draw.chance(0.5) else {}
    given = draw.given(corners, scores.astype(np.float32)) + draw.given(*limits, constants=0.8)
    return Node(name, 11, given, attributes)
