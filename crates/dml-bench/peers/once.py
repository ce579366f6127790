"""One other library runs a model once, on a device that writes down what it is asked for:
`python3 once.py PEERS LIBRARY MODEL DEVICE OUTPUT`.

PEERS, LIBRARY, MODEL and DEVICE are those of `whole.py`; OUTPUT is the folder in which the driver has a file
`0/commands`. It prints one line:

    {"before": HOW MANY LINES THE FILE HAD BEFORE THE LAST RUN} or {"reason": WHY IT DID NOT RUN}

Nothing is computed there, so results are not looked at.
"""

import json
import os
import pathlib
import sys
import tempfile

import whole


def tensors(folder, what):
    # Imported here, from the library's own packages.
    import numpy

    files = sorted(folder.glob(f"test_data_set_0/{what}_*.npy"))
    return [numpy.load(file) for file in files]


def ran(script, folder, device, work, output):
    inputs, outputs = tensors(folder, "input"), tensors(folder, "output")
    run = script.prepare(folder / "model.onnx", inputs, outputs, device, work)
    run()
    commands = output / "0" / "commands"
    if not commands.is_file():
        raise ValueError("it leaves the node to the CPU")
    before = len(commands.read_text().splitlines())
    run()
    return before


def main():
    peers, library, *paths = sys.argv[1:]
    folder, device, output = pathlib.Path(paths[0]), paths[1], pathlib.Path(paths[2])
    try:
        script = whole.script_of(peers, library)
        with tempfile.TemporaryDirectory() as work:
            answer = {"before": ran(script, folder, device, pathlib.Path(work), output)}
    except Exception as error:
        answer = {"reason": whole.short(str(error)) or type(error).__name__}
    # Libraries print on the standard output, too: the answer is its last line.
    print(json.dumps(answer), flush=True)
    # Some libraries crash when they end.
    os._exit(0)


main()
