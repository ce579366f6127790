"""One other library, measured on a whole model: `python3 whole.py PEERS LIBRARY MODEL DEVICE`.

PEERS is the folder that `install.py` fills, MODEL one with a model.onnx, and with inputs and outputs in
test_data_set_0. It prints one line:

    {"seconds": MEDIAN}, {"wrong": HOW} or {"reason": WHY THERE IS NO ANSWER}

The library is in a process of its own, since some crash and some hang, and what it prints is no answer.

It is a file `models/LIBRARY.py` with the folders of its `PACKAGES` below PEERS, and `prepare(file, inputs,
expected, device, work)`, which returns what runs the model once: host tensors in, host tensors out, in the order
of what is expected, on the device whose name begins with `device`. What it has to keep goes into the folder `work`.
It raises `ValueError` with the reason where it cannot.
"""

import importlib.util
import json
import os
import pathlib
import re
import select
import signal
import statistics
import sys
import tempfile
import time

# As `dml-conformance onnx --measure` measures.
LONG, FEWEST, MOST = 3.0, 3, 100
# For everything that the library does with one model, in seconds.
LIMIT = int(os.environ.get("DML_PEER_LIMIT", "300"))
# The tolerance for whole models: `|found - expected| <= ABSOLUTE + RELATIVE * |expected|`, except that one number
# in OF may differ by OUTLIER.
ABSOLUTE, RELATIVE, OUTLIER, OF = 1e-4, 1e-3, 0.02, 1000


def difference(found, expected):
    """What is wrong with an output."""
    import numpy

    found = numpy.asarray(found)
    if found.shape != expected.shape:
        return f"an output is {list(found.shape)}, must be {list(expected.shape)}"
    if expected.dtype.kind != "f":
        count = int((found != expected).sum())
        return f"{count} of {expected.size} whole numbers" if count else None
    found, expected = found.astype("f8"), expected.astype("f8")
    off = numpy.abs(found - expected)
    # A NaN is never within the tolerance.
    wrong = ~(off <= ABSOLUTE + RELATIVE * numpy.abs(expected))
    count = int(wrong.sum())
    if count == 0 or count <= expected.size // OF and (off[wrong] <= OUTLIER).all():
        return None
    return f"{count} of {expected.size} numbers, by {off[wrong].max():.1e}"


def measured(script, folder, device, work):
    """The answer, by the library that `script` has."""
    import numpy

    data = folder / "test_data_set_0"

    def tensors(what):
        files = (data / f"{what}_{number}.npy" for number in range(len(list(data.glob(f"{what}_*")))))
        return [numpy.load(file) for file in files]

    expected = tensors("output")
    run = script.prepare(folder / "model.onnx", tensors("input"), expected, device, work)
    found = run()
    if len(found) != len(expected):
        raise ValueError(f"it gives {len(found)} outputs of {len(expected)}")
    wrong = list(filter(None, map(difference, found, expected)))
    if wrong:
        return {"wrong": "; ".join(wrong)}
    times, begin = [], time.perf_counter()
    while len(times) < FEWEST or (time.perf_counter() - begin < LONG and len(times) < MOST):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return {"seconds": statistics.median(times)}


def answer(script, folder, device, work):
    try:
        return measured(script, folder, device, work)
    except Exception as error:
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        return {"reason": kind + short(str(error))}


def short(text):
    """Its first line, in a few words, and without folders, which are the machine's own business."""
    return re.sub(r"/\S*/", "", (text.splitlines() or [""])[0])[:150]


def of_child(tell, log, *arguments):
    """What the process of the library does."""
    # It ends with everything that it starts.
    os.setsid()
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    with os.fdopen(tell, "w") as pipe:
        json.dump(answer(*arguments), pipe)
    # Libraries are not shut down: some crash then.
    os._exit(0)


def isolated(work, *arguments):
    """The answer of a process of its own, or what has become of it."""
    log = work / "log"
    reads, tell = os.pipe()
    child = os.fork()
    if child == 0:
        of_child(tell, os.open(log, os.O_WRONLY | os.O_CREAT), *arguments, work)
    os.close(tell)
    status = None
    try:
        with os.fdopen(reads) as pipe:
            if not select.select([pipe], [], [], LIMIT)[0]:
                return {"reason": f"no answer after {LIMIT} s"}
            if text := pipe.read():
                return json.loads(text)
            status = os.waitpid(child, 0)[1]
    finally:
        if status is None:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
    last = log.read_text(errors="replace").strip().splitlines()[-1:]
    code = os.waitstatus_to_exitcode(status)
    how = f"crashes with {signal.Signals(-code).name}" if code < 0 else f"ends with {code}"
    return {"reason": ": ".join([how, *map(short, last)])}


def script_of(peers, library):
    """The script of a library, whose packages can be imported from now on."""
    file = pathlib.Path(__file__).parent / "models" / f"{library}.py"
    spec = importlib.util.spec_from_file_location(f"model_of_{library}", file)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    packages = [pathlib.Path(peers).resolve() / it for it in script.PACKAGES]
    if missing := [it.name for it in packages if not it.is_dir() or it.with_name(f"{it.name}.missing").is_file()]:
        raise ValueError(f"could not be had: {', '.join(missing)}")
    sys.path[:0] = map(str, packages)
    return script


def main():
    peers, library, folder, device = sys.argv[1:]
    try:
        script = script_of(peers, library)
    except ValueError as error:
        return print(json.dumps({"reason": str(error)}))
    with tempfile.TemporaryDirectory() as work:
        print(json.dumps(isolated(pathlib.Path(work), script, pathlib.Path(folder), device)))


if __name__ == "__main__":
    main()
