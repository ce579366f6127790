"""What operators read, and what they make of it, for every library that is asked."""

import numpy


def numbers(sizes, number, dtype="f4"):
    """An input of small whole numbers, of which products and sums are exact."""
    count = int(numpy.prod(sizes))
    return (numpy.arange(count) % (7 + 2 * number) - 3).astype(dtype).reshape(sizes)


def shares(sizes, most):
    """An input of numbers above 0 and up to `most`."""
    count = int(numpy.prod(sizes))
    return ((1 + numpy.arange(count) % 61) * (most / 64)).astype("f4").reshape(sizes)


def given(kind, request):
    """The inputs of an operator."""
    sizes, dtype = request["inputs"], request["dtype"]
    if kind == "attention":
        # Products of an eighth of the usual size make powers of many sizes.
        queries, keys = (numbers(it, at) / 8 for at, it in enumerate(sizes[:2]))
        return [queries, keys, shares(sizes[2], 1)]
    if kind == "lstm":
        _, weights, recurrence = sizes
        most = 2 / (weights[-1] + recurrence[-1])
        return [shares(it, 1 if at == 0 else most) for at, it in enumerate(sizes)]
    return [numbers(it, at, dtype) for at, it in enumerate(sizes)]


def expected(kind, inputs, parameters):
    """What an operator makes of its inputs, and how far off its elements may be."""
    a = inputs[0]
    if kind == "gemm":
        # Sums are rounded once where they are of half precision.
        return numpy.matmul(a.astype("f4"), inputs[1].astype("f4")), 1e-3 if a.dtype == "f2" else 0
    if kind == "reduce_rows":
        return a.sum(-1, keepdims=True), 0
    if kind == "softmax":
        return softmax(a), 1e-5
    if kind == "attention":
        return attention(*inputs, parameters["heads"], parameters["scale"]), 1e-5
    if kind == "lstm":
        return lstm(*inputs), 1e-5
    if kind.startswith("up_convolution"):
        return up_convolution(*inputs), 0
    return convolution(*inputs, parameters), 0


def softmax(a):
    powers = numpy.exp(a.astype("f8") - a.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def by_heads(tensor, heads):
    """A tensor of one batch, steps and elements, as heads, steps and elements."""
    steps, elements = tensor.shape[-2:]
    split = tensor.reshape(steps, heads, elements // heads)
    return numpy.ascontiguousarray(split.transpose(1, 0, 2))


def attention(queries, keys, values, heads, scale):
    """One head after the other: the scores of all would be large."""
    of_heads = zip(*(by_heads(it, heads) for it in (queries, keys, values)))
    found = [softmax((q @ k.T) * scale) @ v.astype("f8") for q, k, v in of_heads]
    return numpy.stack(found, 1).reshape(values.shape)


def lstm(inputs, weights, recurrence):
    """The hidden states of all steps. The gates are i, o, f and c."""
    sigmoid = lambda it: 1 / (1 + numpy.exp(-it))
    _, steps, sequences, _ = inputs.shape
    weights, recurrence = weights[0, 0].astype("f8"), recurrence[0, 0].astype("f8")
    hidden = cell = numpy.zeros((sequences, recurrence.shape[1]))
    states = []
    for step in range(steps):
        sums = inputs[0, step] @ weights.T + hidden @ recurrence.T
        i, o, f, c = numpy.split(sums, 4, 1)
        cell = sigmoid(f) * cell + sigmoid(i) * numpy.tanh(c)
        hidden = sigmoid(o) * numpy.tanh(cell)
        states.append(hidden)
    return numpy.stack(states)[:, None]


def convolution(inputs, filters, parameters):
    margin, stride, groups = (parameters[it] for it in ("margin", "stride", "groups"))
    around = numpy.pad(inputs[0], ((0, 0), (margin, margin), (margin, margin)))
    windows = numpy.lib.stride_tricks.sliding_window_view(around, filters.shape[2:], (1, 2))
    windows = windows[:, ::stride, ::stride]
    of_groups = zip(numpy.split(windows, groups), numpy.split(filters, groups))
    sums = [numpy.einsum("cyxij,fcij->fyx", it, of, optimize=True) for it, of in of_groups]
    return numpy.concatenate(sums)[None]


def up_convolution(inputs, filters):
    """Transposed, with windows that do not overlap."""
    found = numpy.einsum("cyx,cfij->fyixj", inputs[0], filters, optimize=True)
    channels, height, window, width, _ = found.shape
    return found.reshape(1, channels, height * window, width * window)
