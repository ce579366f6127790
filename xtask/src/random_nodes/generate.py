"""generate.py FOLDER --seed S --count N [--operator NAME]: random nodes as tests, in the layout of ONNX's own.

ONNX Runtime's CPU provider gives the expected outputs; where it has no kernel, ONNX's reference implementation does.
Nodes that neither computes are drawn again. `tolerance.json` has the error that a node's floats may have.
"""

import argparse
import collections
import json
import pathlib
import sys
import warnings

import numpy as np
import onnx

import element_wise, indices, movement, products, rows, signals, windows  # noqa: E401, F401 (they register operators)
from answer import attempt, model, of_onnxruntime, of_reference, tolerance
from draw import OPERATORS, Draw, chosen
from judge import WITHOUT_REFERENCE, reference_decides

# How often a number is drawn again until a library answers.
ATTEMPTS = 60


def expected(node, made, values, counts):
    """The right outputs, or None."""
    if reference_decides(node):
        found, _ = attempt(of_reference, made, values)
        counts["the reference decides"] += found is not None
        return found
    found, _ = attempt(of_onnxruntime, made, values)
    if found is not None:
        counts["answered by ONNX Runtime"] += 1
    elif node.operator not in WITHOUT_REFERENCE:
        found, _ = attempt(of_reference, made, values)
        counts["answered by the reference"] += found is not None
    return found


def write(folder, made, values, outputs, allowed):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(made, folder / "model.onnx")
    for name, tensors in (("input", values), ("output", outputs)):
        for place, tensor in enumerate(tensors):
            np.save(data / f"{name}_{place}.npy", tensor)
    (folder / "tolerance.json").write_text(json.dumps(allowed))


def generate(folder, seed, number, only, counts):
    name = only or chosen(number)
    draw = Draw(seed, number)
    for _ in range(ATTEMPTS):
        node = OPERATORS[name][0](draw, name)
        made, values = model(node)
        outputs = expected(node, made, values, counts)
        if outputs is None:
            counts["drawn again"] += 1
            continue
        write(folder / f"{number:05}_{node.operator}", made, values, outputs, tolerance(node, outputs))
        return
    sys.exit(f"no library computes any of {ATTEMPTS} nodes of {name}: its generator is wrong")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--count", type=int, required=True)
    arguments.add_argument("--operator")
    given = arguments.parse_args()
    warnings.simplefilter("ignore")
    counts = collections.Counter()
    for number in range(given.count):
        generate(given.folder, given.seed, number, given.operator, counts)
    print(f"{given.count} nodes of {1 if given.operator else len(OPERATORS)} operators:", dict(counts), file=sys.stderr)


main()
