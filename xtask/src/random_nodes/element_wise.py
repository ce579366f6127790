"""Functions of each element, with broadcasting."""

import numpy as np

from draw import ANY, FLOATS, INTEGERS, NUMBERS, SIGNED, UNSIGNED, Node, operator

OPSETS = [7, 8, 9, 11, 13, 14, 17, 18, 21, 23, 25]


def opset(draw, least=7):
    return draw.pick([it for it in OPSETS if it >= least])


def two(draw, kind, special=0.0, **values):
    """Two tensors of one type whose shapes are broadcast to each other."""
    shape = draw.shape()
    shapes = [draw.broadcast(shape), shape] if draw.chance(0.5) else [shape, draw.broadcast(shape)]
    if draw.chance(0.2):
        shapes = [draw.broadcast(shape), draw.broadcast(shape)]
    return [draw.tensor(kind, it, special=special, **values) for it in shapes]


@operator("Add", "Sub", "Mul")
def arithmetic(draw, name):
    return Node(name, opset(draw), draw.given(*two(draw, draw.pick(NUMBERS), special=0.15)))


@operator("Div")
def division(draw, name):
    kind = draw.pick(NUMBERS)
    a, b = two(draw, kind)
    # Division of integers by 0 and of the least by -1 is undefined.
    b = np.where(b == 0, np.ones_like(b), b) if np.dtype(kind).kind in "iu" else b
    b = np.where(b == -1, np.ones_like(b), b) if np.dtype(kind).kind == "i" else b
    return Node(name, opset(draw), draw.given(a, b))


@operator("Mod", weight=2)
def modulus(draw, name):
    kind = draw.pick(NUMBERS)
    a, b = two(draw, kind)
    is_float = np.dtype(kind).kind == "f"
    b = np.where(np.abs(b.astype(np.float64)) < 0.3, np.ones_like(b), b)
    b = np.where(b == -1, np.ones_like(b), b) if np.dtype(kind).kind == "i" else b
    attributes = {"fmod": 1} if is_float or draw.chance(0.4) else {}
    return Node(name, opset(draw, 11), draw.given(a, b), attributes)


@operator("Pow", weight=2)
def power(draw, name):
    base, exponent = draw.pick(FLOATS + [np.int32, np.int64]), draw.pick(FLOATS + [np.int32, np.int64])
    a, b = two(draw, base, low=-3, high=3)
    b = draw.tensor(exponent, b.shape, low=0 if np.dtype(base).kind == "i" else -2, high=3)
    if np.dtype(exponent).kind == "f" and np.dtype(base).kind == "i":
        b = np.round(b)
    elif np.dtype(exponent).kind == "f":
        a = np.abs(a) + np.asarray(0.1, base)
    return Node(name, draw.pick([13, 15, 17]), draw.given(a, b))


@operator("Max", "Min", "Sum", "Mean")
def several(draw, name):
    kinds = NUMBERS if name in ("Max", "Min") else FLOATS
    kind, shape = draw.pick(kinds), draw.shape()
    shapes = [draw.broadcast(shape) for _ in range(draw.between(1, 4))]
    least = 13 if kind not in FLOATS else 8
    values = [draw.tensor(kind, it) for it in shapes]
    return Node(name, opset(draw, least), draw.given(*values))


@operator("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
def comparison(draw, name):
    kinds = ANY if name == "Equal" else NUMBERS
    values = two(draw, draw.pick(kinds), special=0.2)
    return Node(name, opset(draw, 16 if name.endswith("OrEqual") else 11), draw.given(*values))


@operator("And", "Or", "Xor")
def logic(draw, name):
    return Node(name, opset(draw), draw.given(*two(draw, np.bool_)))


@operator("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bits(draw, name):
    return Node(name, opset(draw, 18), draw.given(*two(draw, draw.pick(INTEGERS))))


@operator("BitShift")
def shift(draw, name):
    kind = draw.pick(UNSIGNED)
    a, b = two(draw, kind)
    b = b % np.asarray(8 * np.dtype(kind).itemsize, kind)
    return Node(name, opset(draw, 11), draw.given(a, b), {"direction": draw.pick(["LEFT", "RIGHT"])})


@operator("Where")
def selection(draw, name):
    kind, shape = draw.pick(ANY), draw.shape()
    condition = draw.tensor(np.bool_, draw.broadcast(shape))
    a, b = (draw.tensor(kind, it, special=0.2) for it in (draw.broadcast(shape), shape))
    return Node(name, opset(draw, 9), draw.given(condition, a, b))


@operator("PRelu")
def slope(draw, name):
    kind, shape = draw.pick(FLOATS + [np.int32, np.int64, np.uint32]), draw.shape()
    x, slopes = draw.tensor(kind, shape), draw.tensor(kind, draw.broadcast(shape))
    return Node(name, opset(draw, 16), draw.given(x, slopes))


@operator("Abs", "Neg", "Sign", "Relu")
def of_numbers(draw, name):
    kinds = {"Neg": FLOATS + SIGNED, "Relu": FLOATS + SIGNED}.get(name, NUMBERS)
    x = draw.tensor(draw.pick(kinds), draw.shape(), special=0.2)
    return Node(name, opset(draw, 14), draw.given(x))


@operator("Ceil", "Floor", "Round", "Exp", "Sigmoid", "Tanh", "Erf", "Softplus", "Softsign", "HardSwish", "Mish")
@operator("Sin", "Cos", "Atan", "Sinh", "Cosh", "Asinh", "Sqrt", "Log", "Reciprocal")
def of_floats(draw, name):
    low, special = (0.05, 0.0) if name in ("Sqrt", "Log", "Reciprocal") else (-3, 0.25)
    special = 0.0 if name in ("Sin", "Cos", "Sinh", "Cosh", "HardSwish", "Mish") else special
    x = draw.tensor(draw.pick(FLOATS), draw.shape(), low=low, high=3, special=special)
    least = {"HardSwish": 14, "Mish": 18, "Round": 11, "Erf": 9, "Sinh": 9, "Cosh": 9, "Asinh": 9}.get(name, 7)
    return Node(name, opset(draw, least), draw.given(x))


@operator("LeakyRelu", "Elu", "Selu", "Celu", "HardSigmoid", "ThresholdedRelu", "Shrink", "Gelu", "Swish")
def activation(draw, name):
    known = {
        "LeakyRelu": ["alpha"],
        "Elu": ["alpha"],
        "Selu": ["alpha", "gamma"],
        "Celu": ["alpha"],
        "HardSigmoid": ["alpha", "beta"],
        "ThresholdedRelu": ["alpha"],
        "Shrink": ["bias", "lambd"],
        "Gelu": [],
        "Swish": ["alpha"],
    }[name]
    attributes = {it: draw.pick([0.25, 1.0, 1.5, 0.01]) for it in known if draw.chance(0.6)}
    if name == "Gelu" and draw.chance(0.6):
        attributes["approximate"] = draw.pick(["none", "tanh"])
    least = {"Celu": 12, "ThresholdedRelu": 10, "Shrink": 9, "Gelu": 20, "Swish": 24}.get(name, 7)
    kind = np.float32 if name == "Celu" else draw.pick(FLOATS)
    x = draw.tensor(kind, draw.shape(), low=-3, high=3)
    return Node(name, max(least, opset(draw)), draw.given(x), attributes)


@operator("Not", "IsNaN", "IsInf")
def of_kinds(draw, name):
    kind = np.bool_ if name == "Not" else draw.pick(FLOATS if name == "IsNaN" else [np.float32])
    names = ["detect_negative", "detect_positive"] if name == "IsInf" else []
    attributes = {it: draw.between(0, 1) for it in names if draw.chance(0.6)}
    return Node(name, opset(draw, 10), draw.given(draw.tensor(kind, draw.shape(), special=0.8)), attributes)


@operator("Clip", weight=2)
def clip(draw, name):
    kind = draw.pick(NUMBERS)
    x, bounds = draw.tensor(kind, draw.shape()), [draw.tensor(kind, []) for _ in range(2)]
    if draw.chance(0.2):
        attributes = {it: float(draw.between(-2, 2)) for it in ("min", "max") if draw.chance(0.7)}
        return Node(name, draw.pick([6, 7, 10]), draw.given(x.astype(np.float32)), attributes)
    bounds = [None if draw.chance(0.3) else it for it in bounds]
    return Node(name, opset(draw, 13), draw.given(x) + draw.given(*bounds, constants=0.5))


@operator("Cast", "CastLike", weight=3)
def cast(draw, name):
    source, target = draw.pick(ANY), draw.pick(ANY)
    # Floats beyond the range of integers become what the processor has.
    low, high = (0, 100) if np.dtype(target).kind == "u" else (-100, 100)
    from_float, to_integer = np.dtype(source).kind == "f", np.dtype(target).kind in "iu"
    x = draw.tensor(source, draw.shape(), **({"low": low, "high": high} if from_float and to_integer else {}))
    if name == "CastLike":
        return Node(name, draw.pick([15, 19, 21]), draw.given(x, draw.tensor(target, [1])))
    from onnx import helper

    return Node(name, opset(draw), draw.given(x), {"to": helper.np_dtype_to_tensor_dtype(np.dtype(target))})
