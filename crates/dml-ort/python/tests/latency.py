"""latency.py FOLDER DML [NAME...]: what a run costs in one group, beside `dml run --repeat` of the same model.

The two take turns; a run copies inputs to the device and outputs back. Prints a table of medians. Models that need
more than one group, or the CPU provider, are left out.
"""

import pathlib
import re
import statistics
import subprocess
import sys
import time

import numpy as np

import graphs

ROUNDS = 7
# A turn has at least RUNS runs, and more if these take less than SECONDS.
RUNS, SECONDS = 20, 0.4


def of_provider(made, feeds, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        made.run(None, feeds)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def of_program(command):
    printed = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(re.search(r"median ([0-9.]+) ms", printed.stdout + printed.stderr)[1])


def main():
    folder, program, names = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    device = graphs.register()[-1]
    name = device.ep_metadata["name"]
    print(f"On {name}:\n\n| Model | ONNX Runtime, ms | `dml run`, ms | Ratio |\n|---|---|---|---|")
    for path in sorted(folder.iterdir()):
        if names and path.name not in names:
            continue
        source, data = str(path / "model.onnx"), path / "test_data_set_0"
        made = graphs.session(source, device)
        groups, others = graphs.assigned(made)
        if others or len(groups) != 1:
            continue
        files = {it.name: data / f"input_{i}.npy" for i, it in enumerate(made.get_inputs())}
        feeds = {key: np.load(file) for key, file in files.items()}
        made.run(None, feeds)
        inputs = [word for key, file in files.items() for word in ("--input", f"{key}={file}")]
        runs = max(RUNS, round(SECONDS / of_provider(made, feeds, RUNS) * 1e3))
        command = [program, "run", source, *inputs, "--device", name, "--repeat", str(runs)]
        turns = [(of_provider(made, feeds, runs), of_program(command)) for _ in range(ROUNDS)]
        own, other = (statistics.median(it) for it in zip(*turns))
        ratio = statistics.median(one / two for one, two in turns)
        print(f"| {path.name} | {own:.2f} | {other:.2f} | {ratio:.2f} |", flush=True)


main()
