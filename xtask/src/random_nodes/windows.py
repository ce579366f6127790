"""Pooling, and other operators that look at places of an image."""

import numpy as np

from draw import FLOATS, Node, operator


def window(draw, rank, dilations=True, same=True):
    """Sizes of an image, the attributes of a window that fits, and its sizes.

    With `same`, automatic pads go with any strides and dilations; see judge.py.
    """
    kernel = [draw.between(1, 3) for _ in range(rank)]
    attributes = {"kernel_shape": kernel}
    steps = [draw.between(1, 2) if dilations else 1 for _ in range(rank)]
    reach = [(size - 1) * step + 1 for size, step in zip(kernel, steps)]
    sizes = [it + draw.between(0, 5 if rank < 3 else 2) for it in reach]
    if dilations and draw.chance(0.5):
        attributes["dilations"] = steps
    if draw.chance(0.6):
        attributes["strides"] = [draw.between(1, 3) for _ in range(rank)]
    if draw.chance(0.25):
        attributes["auto_pad"] = draw.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
        if attributes["auto_pad"] != "VALID" and not same:
            attributes.pop("dilations", None)
            strides = zip(attributes.get("strides", []), kernel)
            attributes |= {"strides": [min(it) for it in strides]} if "strides" in attributes else {}
    elif draw.chance(0.6):
        attributes["pads"] = [draw.between(0, it - 1) for it in kernel + kernel]
    return sizes, attributes, kernel


def image(draw, sizes):
    return [draw.between(1, 2), draw.between(1, 3), *sizes]


@operator("MaxPool", weight=6)
def greatest(draw, name):
    at = draw.pick([1, 8, 10, 11, 12, 22])
    sizes, attributes, _ = window(draw, draw.between(1, 3), at >= 10, same=False)
    kind = draw.pick(FLOATS + ([np.int8, np.uint8] if at >= 12 else []))
    attributes |= {"ceil_mode": 1} if at >= 10 and draw.chance(0.4) else {}
    attributes |= {"storage_order": draw.between(0, 1)} if at >= 8 and draw.chance(0.3) else {}
    outputs = 2 if at >= 8 and draw.chance(0.5) else 1
    x = draw.tensor(kind, image(draw, sizes))
    if outputs == 2 and attributes.get("storage_order"):
        x = draw.random.permutation(x.size).reshape(x.shape).astype(np.float32)
    return Node(name, at, draw.given(x), attributes, outputs)


@operator("AveragePool", weight=6)
def average(draw, name):
    at = draw.pick([7, 10, 11, 19, 22])
    sizes, attributes, _ = window(draw, draw.between(1, 3), at >= 19, same=False)
    attributes |= {"ceil_mode": 1} if at >= 10 and draw.chance(0.4) else {}
    attributes |= {"count_include_pad": draw.between(0, 1)} if draw.chance(0.6) else {}
    return Node(name, at, draw.given(draw.tensor(draw.pick(FLOATS), image(draw, sizes))), attributes, error=4)


@operator("LpPool", weight=2)
def root(draw, name):
    at = draw.pick([2, 11, 18, 22])
    sizes, attributes, _ = window(draw, draw.between(1, 3), at >= 18, same=False)
    attributes |= {"p": draw.between(1, 3)} if draw.chance(0.6) else {}
    attributes |= {"ceil_mode": 1} if at >= 18 and draw.chance(0.3) else {}
    return Node(name, at, draw.given(draw.tensor(np.float32, image(draw, sizes))), attributes, error=4)


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def whole(draw, name):
    sizes = draw.shape(1, 3, empty=0)
    kind = np.float32 if name == "GlobalLpPool" else draw.pick(FLOATS)
    attributes = {"p": draw.between(1, 3)} if name == "GlobalLpPool" else {}
    return Node(name, draw.pick([2, 11]), draw.given(draw.tensor(kind, image(draw, sizes))), attributes, error=4)


MODES = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]


@operator("Resize", weight=8)
def resize(draw, name):
    at = draw.pick([11, 13, 18, 19])
    mode = draw.pick(["nearest", "linear", "cubic"])
    sizes = [draw.between(1, 6) for _ in range(2)]
    shape = image(draw, sizes)
    attributes = {"mode": mode} if mode != "nearest" or draw.chance(0.5) else {}
    if draw.chance(0.8):
        modes = MODES + (["half_pixel_symmetric"] if at >= 19 else [])
        attributes["coordinate_transformation_mode"] = draw.pick(modes)
    if mode == "nearest" and draw.chance(0.7):
        attributes["nearest_mode"] = draw.pick(["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
    if mode == "cubic" and draw.chance(0.4):
        attributes["cubic_coeff_a"] = -0.5
    if mode != "nearest" and at >= 18 and draw.chance(0.3):
        attributes["antialias"] = 1
    if mode == "cubic" and draw.chance(0.3):
        attributes["exclude_outside"] = 1
    kind = draw.pick([np.float32, np.float32, np.uint8]) if mode == "nearest" else np.float32
    scales = [draw.pick([0.5, 0.75, 1.0, 1.5, 2.0, 2.25, 3.0]) for _ in range(2)]
    by_sizes, axes = draw.chance(0.5), at >= 18 and draw.chance(0.4)
    if axes:
        attributes["axes"] = [2, 3] if draw.chance(0.6) else [-2, -1]
    before = [] if axes else shape[:2]
    if by_sizes and attributes.get("axes") == [2, 3] and draw.chance(0.4):
        attributes["keep_aspect_ratio_policy"] = draw.pick(["not_larger", "not_smaller", "stretch"])
    wanted = before + [max(int(size * scale), 1) for size, scale in zip(sizes, scales)]
    scales = ([] if axes else [1.0, 1.0]) + scales
    # Sums of cubic weights cancel.
    rest = [None, draw.parameter(wanted)] if by_sizes else [draw.parameter(scales, np.float32)]
    if at == 11:
        rest = [draw.parameter([], np.float32), draw.parameter(wanted)] if by_sizes else rest
        return Node(name, at, draw.given(draw.tensor(kind, shape)) + [draw.parameter([], np.float32)] + rest, attributes, error=8)
    return Node(name, at, draw.given(draw.tensor(kind, shape)) + [None] + rest, attributes, error=8)


@operator("GridSample", weight=3)
def sampled(draw, name):
    shape = image(draw, [draw.between(1, 5), draw.between(1, 5)])
    grid = draw.tensor(np.float32, [shape[0], draw.between(1, 4), draw.between(1, 4), 2], -1.3, 1.3)
    at = draw.pick([16, 20])
    modes = ["bilinear", "nearest", "bicubic"] if at < 20 else ["linear", "nearest", "cubic"]
    attributes = {"mode": draw.pick(modes)} if draw.chance(0.8) else {}
    attributes |= {"padding_mode": draw.pick(["zeros", "border", "reflection"])} if draw.chance(0.7) else {}
    attributes |= {"align_corners": draw.between(0, 1)} if draw.chance(0.7) else {}
    return Node(name, at, draw.given(draw.tensor(np.float32, shape), grid), attributes, error=16)


@operator("RoiAlign", weight=2)
def regions(draw, name):
    shape = image(draw, [draw.between(3, 7), draw.between(3, 7)])
    count, at = draw.between(1, 3), draw.pick([10, 16])
    starts = draw.tensor(np.float32, [count, 2], 0, 3)
    boxes = np.concatenate([starts, starts + draw.tensor(np.float32, [count, 2], 0.5, 4)], 1)
    attributes = {"output_height": draw.between(1, 3), "output_width": draw.between(1, 3)}
    attributes |= {"sampling_ratio": draw.between(0, 2)} if draw.chance(0.7) else {}
    attributes |= {"spatial_scale": draw.pick([0.5, 1.0])} if draw.chance(0.5) else {}
    attributes |= {"mode": draw.pick(["avg", "max"])} if draw.chance(0.5) else {}
    if at >= 16 and draw.chance(0.6):
        attributes["coordinate_transformation_mode"] = draw.pick(["half_pixel", "output_half_pixel"])
    batch = draw.random.integers(0, shape[0], [count]).astype(np.int64)
    return Node(name, at, draw.given(draw.tensor(np.float32, shape), boxes, batch), attributes, error=16)
