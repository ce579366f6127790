"""Reads GGUF files, the format of llama.cpp: metadata, and tensors as FLOAT32 arrays.

The layout is that of version 3: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import math
import struct

import numpy as np

ALIGNMENT = 32
STRING, ARRAY = 8, 9
# The scalar types of metadata, as `struct` names them.
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
# Elements of one block of the quantized types.
BLOCK = 32


class Reader:
    """Reads values from the beginning of the bytes on."""

    def __init__(self, data):
        self.data, self.offset = data, 0

    def scalar(self, kind):
        [value] = struct.unpack_from("<" + kind, self.data, self.offset)
        self.offset += struct.calcsize("<" + kind)
        return value

    def string(self):
        length = self.scalar("Q")
        self.offset += length
        return bytes(self.data[self.offset - length : self.offset]).decode()

    def value(self, kind):
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            element, count = self.scalar("I"), self.scalar("Q")
            return [self.value(element) for _ in range(count)]
        return self.scalar(SCALARS[kind])


def f32(data, count):
    return data[: 4 * count].view("<f4")


def q4_1(data, count):
    """Blocks of a scale and a minimum, FLOAT16, and 16 bytes: the first 16 elements are their lower halves."""
    blocks = data[: count // BLOCK * 20].reshape(-1, 20)
    scale, least = blocks[:, :4].view("<f2").astype("f4").T[:, :, None]
    levels = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1)
    return scale * levels + least


def q8_0(data, count):
    """Blocks of a scale, FLOAT16, and 32 signed bytes."""
    blocks = data[: count // BLOCK * 34].reshape(-1, 34)
    return blocks[:, :2].view("<f2").astype("f4") * blocks[:, 2:].view("i1")


# Types of tensors by their numbers in the file.
DEQUANTIZE = {0: f32, 3: q4_1, 8: q8_0}


def read(path):
    """The metadata, and a function that gives the tensor of a name with its slowest dimension first."""
    data = np.memmap(path, mode="r")
    reader = Reader(data)
    magic, version = bytes(data[:4]), struct.unpack_from("<I", data, 4)[0]
    if (magic, version) != (b"GGUF", 3):
        raise SystemExit(f"{path}: not a GGUF file of version 3, but {magic} {version}")
    reader.offset = 8
    tensors, entries = reader.scalar("Q"), reader.scalar("Q")
    metadata = {reader.string(): reader.value(reader.scalar("I")) for _ in range(entries)}
    described = {}
    for _ in range(tensors):
        name, rank = reader.string(), reader.scalar("I")
        # The file has the fastest dimension first.
        shape = [reader.scalar("Q") for _ in range(rank)][::-1]
        described[name] = shape, reader.scalar("I"), reader.scalar("Q")
    alignment = metadata.get("general.alignment", ALIGNMENT)
    begin = math.ceil(reader.offset / alignment) * alignment

    def tensor(name):
        shape, kind, offset = described[name]
        if kind not in DEQUANTIZE:
            raise SystemExit(f"{path}: {name} has type {kind}; supported: {sorted(DEQUANTIZE)}")
        elements = DEQUANTIZE[kind](np.asarray(data[begin + offset :]), math.prod(shape))
        return elements.reshape(shape).astype("f4")

    return metadata, tensor
