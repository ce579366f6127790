"""Random choices, tensors and nodes, which follow from a seed and the number of a node."""

import dataclasses

import numpy as np

FLOATS = [np.float32, np.float16]
SIGNED = [np.int8, np.int16, np.int32, np.int64]
UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]
INTEGERS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTEGERS
ANY = NUMBERS + [np.bool_]

# Numbers on which implementations of a function disagree if any do.
SPECIAL = [np.inf, -np.inf, np.nan, -0.0, 0.5, -0.5, 1.5, 2.5, 1e-7, 60000.0]


@dataclasses.dataclass
class Operand:
    """An input of a node: part of the model if it is constant, else given to each run."""

    values: np.ndarray
    constant: bool = False


@dataclasses.dataclass
class Node:
    """A node with its inputs, of which None stands for one that is left out."""

    operator: str
    opset: int
    inputs: list
    attributes: dict = dataclasses.field(default_factory=dict)
    outputs: int = 1
    # How many times the usual error an output may have: sums of many products, cancelled differences.
    error: float = 1.0


class Draw:
    """The random choices of one node."""

    def __init__(self, seed, number):
        self.random = np.random.default_rng([seed, number])

    def chance(self, probability):
        return self.random.random() < probability

    def between(self, least, most):
        return int(self.random.integers(least, most + 1))

    def pick(self, choices):
        return choices[self.between(0, len(choices) - 1)]

    def some(self, choices, least=1):
        """A sorted part of the choices."""
        count = self.between(min(least, len(choices)), len(choices))
        return sorted(self.random.permutation(len(choices))[:count].tolist())

    def shape(self, least=0, most=5, size=5, empty=0.04):
        """Sizes of 1 to `size`; sometimes one of 0."""
        rank = self.between(least, most)
        if most == 5 and self.chance(0.06):
            return [self.between(1, 2) for _ in range(self.between(6, 8))]
        # Few elements: what is wrong is wrong for small tensors too.
        size = size if rank <= 3 else min(size, 4)
        sizes = [self.between(1, size) for _ in range(rank)]
        if rank and self.chance(empty):
            sizes[self.between(0, rank - 1)] = 0
        return sizes

    def broadcast(self, shape):
        """A shape that is broadcast to `shape`: sizes become 1, and leading ones are left out."""
        kept = shape[self.between(0, len(shape)) if self.chance(0.4) else 0 :]
        return [1 if self.chance(0.25) else size for size in kept]

    def axis(self, rank, beyond=0):
        """A dimension of `rank`, from either end."""
        axis = self.between(0, rank - 1 + beyond)
        return axis - rank - beyond if self.chance(0.4) else axis

    def axes(self, rank, least=1):
        """Some dimensions of `rank`, in any order and from either end."""
        found = self.random.permutation(self.some(range(rank), least)).tolist()
        return [axis - rank if self.chance(0.3) else axis for axis in found]

    def tensor(self, kind, shape, low=None, high=None, special=0.0):
        """Values of a type; of floats from -2 to 2, of integers small ones or all."""
        kind = np.dtype(kind)
        if kind == np.bool_:
            return self.random.random(shape) < 0.5
        if kind.kind in "iu":
            return self.integers(kind, shape, low, high)
        low, high = -2 if low is None else low, 2 if high is None else high
        values = self.random.random(shape) * (high - low) + low
        if low <= 0 and self.chance(0.25):
            values = np.round(values * 2) / 2
        values = np.asarray(values, dtype=np.float64)
        if self.chance(special):
            where = self.random.random(shape) < 0.3
            values = np.where(where, self.random.choice(SPECIAL, shape), values)
        return np.asarray(values).astype(kind)

    def integers(self, kind, shape, low=None, high=None):
        info = np.iinfo(kind)
        if low is None and high is None:
            small = self.chance(0.7)
            low = max(info.min, -9) if small else info.min
            high = 9 if small else info.max
        low = max(info.min, info.min if low is None else low)
        high = min(info.max, info.max if high is None else high)
        return np.asarray(self.random.integers(low, high, shape, dtype=kind, endpoint=True))

    def given(self, *values, constants=0.15):
        """Operands of data: given to the run, or rarely part of the model, all of them or one."""
        constant = [self.chance(constants) for _ in values]
        return [None if it is None else Operand(it, part) for it, part in zip(values, constant)]

    def parameter(self, values, kind=np.int64):
        """An operand that determines shapes: mostly part of the model, sometimes given to the run."""
        return Operand(np.asarray(values, dtype=kind), not self.chance(0.25))


OPERATORS = {}


def operator(*names, weight=1):
    """Registers a function that draws nodes of these operators: weight times as many as of others."""

    def register(function):
        for name in names:
            OPERATORS[name] = (function, weight)
        return function

    return register


def chosen(number):
    """The operator of the node of this number."""
    names = [name for name, (_, weight) in sorted(OPERATORS.items()) for _ in range(weight)]
    return names[number % len(names)]
