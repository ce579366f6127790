"""Operators that move elements: their results are exact."""

import numpy as np

from draw import ANY, FLOATS, NUMBERS, Node, operator
from element_wise import opset


def some(draw, least=1, most=5, **more):
    return draw.tensor(draw.pick(ANY), draw.shape(least, most, **more))


@operator("Transpose")
def transpose(draw, name):
    x = some(draw, 0)
    attributes = {} if draw.chance(0.2) else {"perm": draw.random.permutation(x.ndim).tolist()}
    attributes = attributes if x.ndim else {}
    return Node(name, opset(draw), draw.given(x), attributes)


@operator("Reshape", weight=2)
def reshape(draw, name):
    x = some(draw, 0)
    sizes, rest = [], x.size
    while rest > 1 and len(sizes) < 4:
        part = draw.pick([it for it in range(1, rest + 1) if rest % it == 0])
        sizes.append(part)
        rest //= part
    sizes = sizes + [rest] if x.size else list(x.shape)
    attributes, zero = {}, draw.chance(0.3) and x.size
    at = opset(draw)
    for place in range(len(sizes)):
        # A size of 0 stands for that of the input.
        if zero and place < x.ndim and sizes[place] == x.shape[place]:
            sizes[place] = 0
    if sizes and x.size and draw.chance(0.5):
        sizes[draw.between(0, len(sizes) - 1)] = -1
    if at >= 14 and 0 not in sizes and draw.chance(0.3):
        attributes["allowzero"] = 1
    if not x.size and at >= 14 and draw.chance(0.5):
        attributes["allowzero"] = 1
        sizes = [0, draw.between(1, 5)]
    return Node(name, at, draw.given(x) + [draw.parameter(sizes)], attributes)


@operator("Flatten")
def flatten(draw, name):
    x = some(draw)
    at = opset(draw)
    axis = draw.between(0, x.ndim)
    axis = axis - x.ndim if at >= 11 and axis < x.ndim and draw.chance(0.4) else axis
    return Node(name, at, draw.given(x), {} if draw.chance(0.2) else {"axis": axis})


@operator("Squeeze", "Unsqueeze", weight=2)
def units(draw, name):
    at, x = opset(draw), some(draw, 1, 4)
    if name == "Squeeze":
        shape = [1 if draw.chance(0.5) else it for it in x.shape]
        x = draw.tensor(x.dtype, shape)
        ones = [place for place, size in enumerate(shape) if size == 1]
        axes = [it - x.ndim if at >= 11 and draw.chance(0.3) else it for it in ones if draw.chance(0.7)]
    else:
        rank = x.ndim + draw.between(1, 2)
        axes = draw.random.permutation(rank)[: rank - x.ndim].tolist()
        axes = [it - rank if at >= 11 and draw.chance(0.3) else it for it in axes]
    if not axes:
        return Node("Squeeze", at, draw.given(x))
    if at < 13:
        return Node(name, at, draw.given(x), {"axes": axes})
    return Node(name, at, draw.given(x) + [draw.parameter(axes)])


@operator("Expand")
def expand(draw, name):
    shape = draw.shape(0, 5)
    x = draw.tensor(draw.pick(ANY), draw.broadcast(shape))
    wanted = [1 if draw.chance(0.2) else it for it in shape][draw.between(0, 1) if shape else 0 :]
    return Node(name, opset(draw, 8), draw.given(x) + [draw.parameter(wanted)])


@operator("Tile")
def tile(draw, name):
    x = some(draw, 0, 4)
    counts = [0 if draw.chance(0.03) else draw.between(1, 3) for _ in x.shape]
    return Node(name, opset(draw), draw.given(x) + [draw.parameter(counts)])


@operator("Concat")
def concat(draw, name):
    kind, shape = draw.pick(ANY), draw.shape(1, 5)
    axis = draw.axis(len(shape))
    place, parts = axis % len(shape), []
    for _ in range(draw.between(1, 5)):
        sizes = list(shape)
        sizes[place] = draw.between(0 if draw.chance(0.1) else 1, 4)
        parts.append(draw.tensor(kind, sizes))
    return Node(name, opset(draw, 11), draw.given(*parts), {"axis": axis})


@operator("Split", weight=2)
def split(draw, name):
    kind, shape, at = draw.pick(ANY), draw.shape(1, 5), opset(draw, 11)
    axis, count = draw.axis(len(shape)), draw.between(1, 4)
    attributes = {} if axis == 0 and draw.chance(0.5) else {"axis": axis}
    sizes = [draw.between(0 if draw.chance(0.15) else 1, 3) for _ in range(count)]
    equal = draw.chance(0.4)
    if equal:
        sizes = [draw.between(1, 3)] * count
        if at >= 18 and count > 1 and sizes[0] > 1 and draw.chance(0.4):
            sizes[-1] -= 1
    shape[axis % len(shape)] = sum(sizes)
    given = draw.given(draw.tensor(kind, shape))
    if equal:
        attributes |= {"num_outputs": count} if at >= 18 else {}
    elif at < 13:
        attributes["split"] = sizes
    else:
        given.append(draw.parameter(sizes))
    return Node(name, at, given, attributes, outputs=count)


@operator("Slice", weight=4)
def slices(draw, name):
    x = some(draw)
    at = draw.pick([1, 9, 10, 11, 13, 18])
    axes = draw.axes(x.ndim) if at >= 10 else sorted(draw.some(range(x.ndim)))
    bounds = []
    for axis in axes:
        size = x.shape[axis]
        start, end = (draw.between(-size - 2, size + 2) for _ in range(2))
        step = draw.pick([1, 1, 2, 3, -1, -2, 7]) if at >= 10 else 1
        far = draw.pick([2**31 - 1, 2**63 - 1] if step > 0 else [-(2**31), -(2**63)])
        bounds.append((start, far if draw.chance(0.15) else end, step))
    starts, ends, steps = ([it[which] for it in bounds] for which in range(3))
    if axes == list(range(len(axes))) and draw.chance(0.5):
        axes = None
    if at < 10:
        attributes = {"starts": starts, "ends": ends} | ({} if axes is None else {"axes": axes})
        return Node(name, at, draw.given(x), attributes)
    operands = [draw.parameter(it) for it in (starts, ends)]
    operands.append(None if axes is None else draw.parameter(axes))
    if any(it != 1 for it in steps) or draw.chance(0.5):
        operands.append(draw.parameter(steps))
    return Node(name, at, draw.given(x) + operands)


@operator("Pad", weight=4)
def pad(draw, name):
    at = draw.pick([2, 10, 11, 13, 18, 19, 21])
    kind = np.float32 if at < 11 else draw.pick(NUMBERS + [np.bool_] if at >= 13 else NUMBERS)
    x = draw.tensor(kind, draw.shape(1, 5))
    mode = draw.pick(["constant", "constant", "reflect", "edge"] + (["wrap"] if at >= 19 else []))
    axes = draw.axes(x.ndim) if at >= 18 and draw.chance(0.5) else None
    sizes = [x.shape[it] for it in axes] if axes is not None else x.shape
    most = [max(it - 1, 0) if mode == "reflect" else (2 if it else 0) for it in sizes]
    if mode == "constant":
        most = [2 for _ in sizes]
    pads = [min(draw.between(0, 2), it) for it in most + most]
    if mode == "constant" and draw.chance(0.25):
        for place, size in enumerate(sizes):
            pads[place] = -1 if size > 1 and draw.chance(0.5) else pads[place]
    attributes = {} if mode == "constant" and draw.chance(0.5) else {"mode": mode}
    if at < 11:
        attributes |= {"pads": pads} | ({"value": 1.5} if draw.chance(0.5) else {})
        return Node(name, at, draw.given(x), attributes)
    operands = [draw.parameter(pads)]
    value = draw.tensor(kind, []) if mode == "constant" and draw.chance(0.6) else None
    operands += draw.given(value, constants=0.6)
    if axes is not None:
        operands.append(draw.parameter(axes, draw.pick([np.int64, np.int32])))
    return Node(name, at, draw.given(x) + operands, attributes)


@operator("DepthToSpace", "SpaceToDepth")
def blocks(draw, name):
    block = draw.between(1, 3)
    n, c, h, w = (draw.between(1, 3) for _ in range(4))
    at = opset(draw, 11)
    shape = [n, c * block * block, h, w] if name == "DepthToSpace" else [n, c, h * block, w * block]
    x = draw.tensor(draw.pick(FLOATS), shape)
    mode = {"mode": draw.pick(["DCR", "CRD"])} if name == "DepthToSpace" and draw.chance(0.7) else {}
    return Node(name, at, draw.given(x), {"blocksize": block} | mode)


@operator("Trilu", weight=2)
def triangle(draw, name):
    x = some(draw, 2, 4)
    attributes = {"upper": draw.between(0, 1)} if draw.chance(0.7) else {}
    k = [draw.parameter(draw.between(-7, 7))] if draw.chance(0.7) else []
    return Node(name, opset(draw, 14), draw.given(x) + k, attributes)


@operator("EyeLike")
def eye(draw, name):
    x = draw.tensor(draw.pick([np.float32, np.int32, np.int64, np.uint64]), draw.shape(2, 2, 7))
    attributes = {"k": draw.between(-8, 8)} if draw.chance(0.7) else {}
    attributes |= {"dtype": draw.pick([1, 6, 7, 13])} if draw.chance(0.5) else {}
    return Node(name, opset(draw, 9), draw.given(x), attributes)


@operator("Identity", "Shape", "Size")
def seen(draw, name):
    at, x = opset(draw), some(draw, 0)
    attributes = {}
    if name == "Shape" and at >= 15:
        attributes = {it: draw.between(-7, 7) for it in ("start", "end") if draw.chance(0.5)}
    return Node(name, at, draw.given(x), attributes)


@operator("Range")
def numbers(draw, name):
    kind = draw.pick([np.float32, np.int16, np.int32, np.int64])
    start, limit = draw.tensor(kind, [], -9, 9), draw.tensor(kind, [], -9, 9)
    step = np.asarray(draw.pick([1, 2, 3, -1, -2]), kind)
    return Node(name, opset(draw, 11), [draw.parameter(it, kind) for it in (start, limit, step)])


@operator("ConstantOfShape")
def constant(draw, name):
    from onnx import numpy_helper

    value = draw.tensor(draw.pick(NUMBERS), [1])
    attributes = {"value": numpy_helper.from_array(value)} if draw.chance(0.8) else {}
    return Node(name, opset(draw, 9), [draw.parameter(draw.shape(0, 4))], attributes)


@operator("ReverseSequence")
def reverse(draw, name):
    x = some(draw, 2, 4, empty=0)
    batch = draw.between(0, 1)
    lengths = draw.integers(np.int64, [x.shape[batch]], 0 if draw.chance(0.2) else 1, x.shape[1 - batch])
    attributes = {"batch_axis": batch, "time_axis": 1 - batch}
    attributes = {} if batch == 1 and draw.chance(0.5) else attributes
    return Node(name, 10, draw.given(x, lengths), attributes)


@operator("CenterCropPad", weight=2)
def center(draw, name):
    x = some(draw, 1, 4)
    axes = draw.axes(x.ndim) if draw.chance(0.5) else None
    shape = [draw.between(1, 7) for _ in (x.shape if axes is None else axes)]
    attributes = {} if axes is None else {"axes": axes}
    return Node(name, 18, draw.given(x) + [draw.parameter(shape)], attributes)
