"""measure.py FOLDER: what ONNX Runtime takes on the CPU for the models in the folder, as JSON.

The median of runs after a first one, with as many threads as the machine has, as `dml-conformance onnx --measure`
measures.
"""

import json
import os
import pathlib
import statistics
import sys
import time

import numpy as np
import onnxruntime

LONG, FEWEST, MOST = 3.0, 3, 100


def seconds(folder):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = os.cpu_count()
    # Without warnings of what exporters have left in models.
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    data = folder / "test_data_set_0"
    feeds = {it.name: np.load(data / f"input_{i}.npy") for i, it in enumerate(session.get_inputs())}
    session.run(None, feeds)
    times, begin = [], time.perf_counter()
    while len(times) < FEWEST or (time.perf_counter() - begin < LONG and len(times) < MOST):
        start = time.perf_counter()
        session.run(None, feeds)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main():
    folders = sorted(pathlib.Path(sys.argv[1]).iterdir())
    taken = {folder.name: seconds(folder) for folder in folders}
    print(json.dumps({"name": f"ONNX Runtime {onnxruntime.__version__} CPU", "seconds": taken}, indent=2))


main()
