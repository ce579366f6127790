"""Sums of products: matrices, convolutions, recurrent networks and attention."""

import numpy as np

from draw import FLOATS, Node, operator
from element_wise import opset
from windows import window


@operator("MatMul", weight=3)
def matrices(draw, name):
    kind = draw.pick(FLOATS + [np.int32, np.int64])
    rows, inner, columns = (draw.between(1, 6) for _ in range(3))
    inner = 0 if draw.chance(0.03) else inner
    batch = draw.shape(0, 2)
    a, b = draw.broadcast(batch) + [rows, inner], list(batch) + [inner, columns]
    if draw.chance(0.15):
        a = [inner]
    if draw.chance(0.15):
        b = [inner]
    low = (-9, 9) if np.dtype(kind).kind == "i" else (None, None)
    given = draw.given(draw.tensor(kind, a, *low), draw.tensor(kind, b, *low), constants=0.3)
    return Node(name, opset(draw, 9), given, error=4)


@operator("Gemm", weight=3)
def gemm(draw, name):
    kind, at = draw.pick(FLOATS + [np.int32]), opset(draw, 11)
    rows, inner, columns = (draw.between(1, 6) for _ in range(3))
    transposed = [draw.between(0, 1) for _ in range(2)]
    a = [inner, rows] if transposed[0] else [rows, inner]
    b = [columns, inner] if transposed[1] else [inner, columns]
    c = draw.broadcast([rows, columns]) if draw.chance(0.7) else None
    attributes = {it: 1 for it, is_set in zip(["transA", "transB"], transposed) if is_set}
    attributes |= {it: float(draw.pick([0, 1, 2, -1])) for it in ("alpha", "beta") if draw.chance(0.5)}
    low = (-9, 9) if kind is np.int32 else (None, None)
    c = None if c is None else draw.tensor(kind, c, *low)
    given = draw.given(draw.tensor(kind, a, *low), draw.tensor(kind, b, *low), c, constants=0.3)
    return Node(name, at, given, attributes, error=4)


EQUATIONS = [
    ("ij,jk->ik", 2), ("bij,bjk->bik", 2), ("ij,ij->", 2), ("i,j->ij", 2), ("ii->i", 1), ("ii->", 1), ("ij->ji", 1),
    ("ij->", 1), ("ij->j", 1), ("...ij,...jk->...ik", 2), ("bhid,bhjd->bhij", 2), ("ij,j", 2), ("bij->bj", 1),
    ("i,ij,j->", 3), ("ij,jk,kl->il", 3), ("...i,...i->...", 2), ("iij->ij", 1), ("ab,cd->acbd", 2),
]  # fmt: skip


@operator("Einsum", weight=2)
def einsum(draw, name):
    equation, _ = draw.pick(EQUATIONS)
    sizes = {letter: draw.between(1, 4) for letter in "abcdhijkl"}
    more, kind, parts = draw.shape(0, 2, empty=0), draw.pick([np.float32, np.float16, np.int32]), []
    for term in equation.split("->")[0].split(","):
        shape = list(more) if "..." in term else []
        parts.append(shape + [sizes[it] for it in term.replace("...", "")])
    low = (-9, 9) if kind is np.int32 else (None, None)
    return Node(name, 12, draw.given(*(draw.tensor(kind, it, *low) for it in parts)), {"equation": equation}, error=8)


@operator("MatMulInteger", "QLinearMatMul", weight=2)
def quantized(draw, name):
    rows, inner, columns = (draw.between(1, 6) for _ in range(3))
    batch = draw.shape(0, 1, empty=0)
    kinds = [draw.pick([np.uint8, np.int8]) for _ in range(2)]
    a = draw.integers(kinds[0], batch + [rows, inner], None, None)
    b = draw.integers(kinds[1], (batch if draw.chance(0.5) else []) + [inner, columns], None, None)
    zeros = [draw.integers(it, [], -9, 9) for it in kinds]
    if name == "MatMulInteger":
        zeros = [it if draw.chance(0.6) else None for it in zeros]
        return Node(name, 10, draw.given(a, b, constants=0.3) + draw.given(*zeros, constants=0.6))
    out = draw.pick([np.uint8, np.int8])
    scales = [np.float32(draw.pick([0.02, 0.05, 0.013])) for _ in range(3)]
    zeros.append(draw.integers(out, [], -9, 9))
    values = [a, scales[0], zeros[0], b, scales[1], zeros[1], np.float32(0.7), zeros[2]]
    return Node(name, draw.pick([10, 21]), draw.given(*values, constants=0.4))


@operator("Conv", weight=6)
def convolution(draw, name):
    kind, rank, groups = draw.pick(FLOATS), draw.between(1, 3), draw.pick([1, 1, 1, 2, 3])
    each = draw.between(1, 3)
    sizes, attributes, kernel = window(draw, rank)
    x = draw.tensor(kind, [draw.between(1, 2), groups * each, *sizes])
    filters = groups * draw.between(1, 3)
    weights = draw.tensor(kind, [filters, each, *kernel])
    bias = draw.tensor(kind, [filters]) if draw.chance(0.6) else None
    attributes |= {"group": groups} if groups > 1 else {}
    if draw.chance(0.3):
        attributes.pop("kernel_shape")
    return Node(name, draw.pick([1, 11, 22]), draw.given(x, weights, bias, constants=0.5), attributes, error=8)


@operator("ConvTranspose", weight=6)
def transposed(draw, name):
    kind, rank, groups = np.float32, draw.between(1, 3), draw.pick([1, 1, 1, 2])
    each = draw.between(1, 2)
    sizes, attributes, kernel = window(draw, rank, same=False)
    x = draw.tensor(kind, [draw.between(1, 2), groups * each, *[min(it, 5) for it in sizes]])
    filters = draw.between(1, 3)
    weights = draw.tensor(kind, [groups * each, filters, *kernel])
    bias = draw.tensor(kind, [groups * filters]) if draw.chance(0.5) else None
    attributes |= {"group": groups} if groups > 1 else {}
    strides = attributes.get("strides", [1] * rank)
    if draw.chance(0.4):
        attributes["output_padding"] = [draw.between(0, it - 1) for it in strides]
    return Node(name, draw.pick([1, 11, 22]), draw.given(x, weights, bias, constants=0.5), attributes, error=8)


@operator("ConvInteger", "QLinearConv", weight=2)
def quantized_convolution(draw, name):
    rank, groups = draw.between(1, 2), draw.pick([1, 1, 2])
    each, filters = draw.between(1, 3), draw.between(1, 3) * groups
    sizes, attributes, kernel = window(draw, rank)
    attributes |= {"group": groups} if groups > 1 else {}
    kinds = [np.uint8, draw.pick([np.uint8, np.int8]) if name[0] == "Q" else np.uint8]
    x = draw.integers(kinds[0], [draw.between(1, 2), groups * each, *sizes], None, None)
    w = draw.integers(kinds[1], [filters, each, *kernel], None, None)
    zeros = [draw.integers(it, [], -9, 9) for it in kinds]
    if name == "ConvInteger":
        zeros = [it if draw.chance(0.6) else None for it in zeros]
        return Node(name, 10, draw.given(x, w, constants=0.3) + draw.given(*zeros, constants=0.6), attributes)
    each_filter = draw.chance(0.4)
    scale = draw.tensor(np.float32, [filters], 0.01, 0.05) if each_filter else np.float32(0.02)
    zero = draw.integers(kinds[1], [filters], 0, 0) if each_filter else zeros[1]
    values = [x, np.float32(0.05), zeros[0], w, scale, zero, np.float32(1.3), draw.integers(np.uint8, [], 0, 9)]
    bias = draw.integers(np.int32, [filters], -500, 500) if draw.chance(0.5) else None
    return Node(name, 10, draw.given(*values, bias, constants=1), attributes)


@operator("RNN", "GRU", "LSTM", weight=4)
def recurrent(draw, name):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[name]
    directions = draw.pick(["forward", "reverse", "bidirectional"])
    count, layout = (2 if directions == "bidirectional" else 1), 0
    steps, batch, size, hidden = (draw.between(1, 4) for _ in range(4))
    of = lambda *shape: draw.tensor(np.float32, shape, -1, 1)
    optional = lambda value: value if draw.chance(0.5) else None
    x, w = of(steps, batch, size), of(count, gates * hidden, size)
    values = [x, w, of(count, gates * hidden, hidden), optional(of(count, 2 * gates * hidden))]
    values.append(optional(draw.integers(np.int32, [batch], 1, steps)) if draw.chance(0.5) else None)
    values.append(optional(of(count, batch, hidden)))
    attributes = {"hidden_size": hidden} | ({"direction": directions} if directions != "forward" else {})
    if name == "LSTM":
        values += [optional(of(count, batch, hidden)), optional(of(count, 3 * hidden))]
    if name == "GRU" and draw.chance(0.5):
        attributes["linear_before_reset"] = 1
    if name != "LSTM" and draw.chance(0.2):
        attributes["clip"] = 0.5
    given = draw.given(x) + draw.given(*values[1:4], constants=0.8) + draw.given(*values[4:])
    return Node(name, draw.pick([7, 14, 22]), given, attributes, 3 if name == "LSTM" else 2, error=8)


@operator("Attention", weight=3)
def attention(draw, name):
    kind, heads = draw.pick(FLOATS), draw.between(1, 3)
    groups = draw.pick([1, 1, 2])
    batch, queries, keys, size, value = (draw.between(1, 4) for _ in range(5))
    of = lambda *shape: draw.tensor(kind, shape, -1, 1)
    flat = draw.chance(0.4)
    if flat:
        q, k = of(batch, queries, heads * groups * size), of(batch, keys, heads * size)
        v = of(batch, keys, heads * value)
        attributes = {"q_num_heads": heads * groups, "kv_num_heads": heads}
    else:
        q, k = of(batch, heads * groups, queries, size), of(batch, heads, keys, size)
        v, attributes = of(batch, heads, keys, value), {}
    mask = None
    if draw.chance(0.5):
        shape = draw.pick([[queries, keys], [1, 1, queries, keys], [batch, heads * groups, queries, keys]])
        mask = of(*shape) if draw.chance(0.6) else draw.tensor(np.bool_, shape)
        if mask.dtype == np.bool_:
            mask[..., 0] = True
    attributes |= {"is_causal": 1} if draw.chance(0.3) else {}
    attributes |= {"scale": 0.7} if draw.chance(0.3) else {}
    attributes |= {"softcap": 0.8} if draw.chance(0.2) else {}
    return Node(name, draw.pick([23, 24]), draw.given(q, k, v, mask), attributes, error=8)
