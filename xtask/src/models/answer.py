"""answer.py MODEL FOLDER NAME INPUTS: the model's files with ONNX Runtime's outputs for seeded inputs, as a test.

INPUTS is JSON: the name, type, shape, least and greatest value of each input, in the model's order.
"""

import json
import pathlib
import shutil
import sys
import zlib

import numpy as np
import onnxruntime


def drawn(random, given):
    kind, shape = np.dtype(given["type"]), given["shape"]
    least, most = given["least"], given["most"]
    if kind.kind == "f":
        return np.asarray(random.random(shape) * (most - least) + least, kind)
    return np.asarray(random.integers(int(least), int(most), shape, endpoint=True), kind)


def main():
    source, folder, name = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    random = np.random.default_rng(zlib.crc32(name.encode()))
    values = {it["name"]: drawn(random, it) for it in json.loads(sys.argv[4])}
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    shutil.copy(source, folder / "model.onnx")
    # Weights in a file of their own keep its name.
    weights = source.with_name(source.name + ".data")
    if weights.is_file():
        shutil.copy(weights, folder)
    options = onnxruntime.SessionOptions()
    # Without warnings of what exporters have left in models.
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    if [it.name for it in session.get_inputs()] != list(values):
        raise SystemExit(f"{name}: its inputs are {[it.name for it in session.get_inputs()]}")
    for place, value in enumerate(values.values()):
        np.save(data / f"input_{place}.npy", value)
    for place, output in enumerate(session.run(None, values)):
        np.save(data / f"output_{place}.npy", output)


main()
